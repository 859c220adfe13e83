"""A bell, which any thread may ring and one thread waits for.

`threading.Event` and `Condition` run Python code while they hold a lock. An interrupt (Ctrl-C) there leaves the lock
held, and every other thread waits for ever. Here each step is one call into C, which an interrupt cannot cut in two.
"""

from __future__ import annotations

import threading


class Bell:
    """A ring is kept until somebody waits for it. Several rings that nobody has waited for count as one.

    >>> bell = Bell()
    >>> bell.ring()
    >>> bell.wait(10), bell.wait(0.001)
    (True, False)
    """

    def __init__(self) -> None:
        self._silent = threading.Lock()  # held until it rings
        self._silent.acquire()

    def ring(self) -> None:
        """Ring it. This may be called anywhere: by a collector, in a signal handler, with any lock held."""
        if self._silent.locked():
            try:
                self._silent.release()
            except RuntimeError:  # another thread rang it just now
                return

    def wait(self, seconds: float) -> bool:
        """Wait until it rings, but no longer than this; True if it rang."""
        return self._silent.acquire(timeout=seconds)
