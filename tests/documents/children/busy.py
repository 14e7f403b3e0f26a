"""A child in an endless loop."""

from collections.abc import Mapping

from daemon.documents.parsing_child import ChildLimits, run_child


def turn(data: bytes, room: ChildLimits) -> tuple[str, Mapping[str, int]]:
    while True:
        pass


if __name__ == "__main__":
    run_child(turn)
