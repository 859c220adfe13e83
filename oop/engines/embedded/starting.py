"""Threads are started by a thread that nothing interrupts.

`threading.Thread.start` waits, in Python code and with a lock, until the new thread runs. An interrupt (Ctrl-C) there
can leave the lock held, and the new thread then waits for it for ever. Signals reach the main thread alone. So a thread
that exists for nothing else starts the others; starting that one is a single call into C.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence


def start_threads(threads: Sequence[threading.Thread], failed: Callable[[BaseException], None]) -> None:
    """Start these threads soon, from another thread. ``failed`` is called with the error if that is not possible.

    >>> ran = threading.Event()
    >>> start_threads([threading.Thread(target=ran.set)], failed=print)
    >>> ran.wait(10)
    True
    """

    def start() -> None:
        try:
            for thread in threads:
                thread.start()
        except BaseException as error:
            failed(error)

    _thread.start_new_thread(start, ())
