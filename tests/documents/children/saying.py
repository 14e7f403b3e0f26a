"""Says whatever the file says, as it is."""

import sys

if __name__ == "__main__":
    sys.stdout.buffer.write(sys.stdin.buffer.read())
