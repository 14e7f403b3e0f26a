"""Takes ten gigabytes."""

from collections.abc import Mapping

from daemon.documents.confined import Room, run


def take(data: bytes, room: Room) -> tuple[str, Mapping[str, int]]:
    return str(len(bytearray(10 * 2**30))), {}


if __name__ == "__main__":
    run(take)
