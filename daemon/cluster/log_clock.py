"""Clock of the log, kept by each daemon: machines whose clocks differ by minutes agree about the time."""

from __future__ import annotations

from daemon.engine.clock import Clock, SystemClock, boot_time


class LogClock(SystemClock):
    """Unix time of the log's database; until it was measured, this machine's.

    Between measurements it follows the time since boot, so a step of this machine's clock does not move it.
    """

    def __init__(self, machine: Clock | None = None) -> None:
        self._machine = machine or SystemClock()
        self._since_boot = self._machine.now() - boot_time()
        self.measured = False

    def now(self) -> float:
        return boot_time() + self._since_boot

    @property
    def offset(self) -> float:
        """Seconds by which the log's clock is ahead of this machine's."""
        return self.now() - self._machine.now()

    def measure(self, log_time: float, asked: float, answered: float) -> None:
        """Take the log's time from an answer; `asked` and `answered` are boot times around it.

        The true distance lies between two bounds. One within them is kept: slow answers do not shake it.
        """
        least, most = log_time - answered, log_time - asked
        if not self.measured:
            self._since_boot = (least + most) / 2
        self._since_boot = min(max(self._since_boot, least), most)
        self.measured = True
