"""Turns round and round."""

from collections.abc import Mapping

from daemon.documents.confined import Room, run


def turn(data: bytes, room: Room) -> tuple[str, Mapping[str, int]]:
    while True:
        pass


if __name__ == "__main__":
    run(turn)
