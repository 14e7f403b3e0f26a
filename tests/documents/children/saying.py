"""A child that prints the file unchanged."""

import sys

if __name__ == "__main__":
    sys.stdout.buffer.write(sys.stdin.buffer.read())
