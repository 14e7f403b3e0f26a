"""A silent child that does not end."""

import signal

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()
