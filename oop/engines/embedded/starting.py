"""Threads are started by a thread that nothing interrupts.

`threading.Thread.start` waits, in Python code and with a lock, until the new thread runs. An interrupt (Ctrl-C) there
can leave the lock held, and the new thread then waits for it for ever. Signals reach only the main thread. So another
thread, made for this purpose alone, starts the threads. Starting that one is a single call into C.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence


def start_threads(threads: Sequence[threading.Thread], failed: Callable[[BaseException], None]) -> None:
    """Start these threads from another thread, soon after this returns. If that fails, ``failed`` is called with the
    error.

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
