"""A child with endless output after a success."""

import sys

if __name__ == "__main__":
    sys.stdout.write('{"refused": "", "noted": {}}\n')
    while True:
        sys.stdout.write("flood " * 10_000)
