"""A child that allocates ten gigabytes."""

from collections.abc import Mapping

from daemon.documents.parsing_child import ChildLimits, run_child


def take(data: bytes, room: ChildLimits) -> tuple[str, Mapping[str, int]]:
    return str(len(bytearray(10 * 2**30))), {}


if __name__ == "__main__":
    run_child(take)
