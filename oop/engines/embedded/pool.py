"""A pool of threads for an engine. A thread that waits for the pool's tasks runs some of them meanwhile.

With ``threads`` = n there are n - 1 threads beside the one that reads the result, which runs tasks itself when it has
nothing else to do. Tasks handle their own errors (`Exception`). Anything else that escapes from a task, an interrupt or
``sys.exit``, is kept as the pool's ``failure`` and raised in the reader's thread.

Nothing here waits for a lock that an interrupted thread could have left held: queues and locks are those of C.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from oop.engines.embedded.bell import Bell
from oop.engines.embedded.starting import start_threads
from oop.errors import OopError

Task = Callable[[], None]

_PATIENCE = 1.0  # seconds after which to check whether the threads still exist


class Pool:
    """Threads start with the first task, and end when the pool is closed. ``bell`` rings when a task has been submitted
    or has ended, and when the pool fails or closes."""

    def __init__(self, threads: int, bell: Bell | None = None) -> None:
        self.threads = threads
        self.failure: BaseException | None = None
        self._bell = bell or Bell()
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()  # None tells a thread to end
        self._unfinished = 0
        self._count = threading.Lock()
        self._closed = False
        self._threads: list[threading.Thread] = []

    def submit(self, task: Task) -> None:
        with self._count:
            self._unfinished += 1
        self._tasks.put(task)
        self._bell.ring()
        if not self._threads and self.threads > 1:
            self._start()

    def _start(self) -> None:
        self._threads = [
            threading.Thread(target=self._work, name=f"oop-worker-{i}", daemon=True) for i in range(1, self.threads)
        ]
        start_threads(self._threads, self._fail)

    def _fail(self, error: BaseException) -> None:
        self.failure = self.failure or error
        self._bell.ring()

    def help(self) -> None:
        """Run a task in this thread. If none waits but one is running elsewhere, wait for a change first."""
        self.check()
        try:
            task = self._tasks.get_nowait()
        except Empty:
            if not self.is_idle and not self._bell.wait(_PATIENCE):
                self._look_after_threads()
            return
        if task is None:  # the pool is closed, and this None is meant for a thread
            self._tasks.put(task)
            return
        self._run(task)
        self.check()

    def check(self) -> None:
        """Raise what escaped from a task, if anything did."""
        if self.failure is not None:
            raise self.failure

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def is_idle(self) -> bool:
        """Is there no task left, or no thread that would run one?"""
        return self._closed or not self._unfinished

    def close(self) -> None:
        """Forget the tasks that wait, and let the threads end. It does not wait for the threads, because a garbage
        collection may call it in any thread and with any lock held."""
        self._closed = True
        for _ in range(1, self.threads):
            self._tasks.put(None)
        self._bell.ring()

    def rest(self) -> None:
        """Wait until no task is running; the pool must be closed."""
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _run(self, task: Task) -> None:
        try:
            task()
        except BaseException as error:
            self.failure = self.failure or error
        finally:
            with self._count:
                self._unfinished -= 1
            self._bell.ring()

    def _work(self) -> None:
        try:
            while (task := self._tasks.get()) is not None:
                if not self._closed:
                    self._run(task)
        except BaseException as error:  # an exception was thrown into this thread from outside, between two tasks
            self._fail(error)

    def _look_after_threads(self) -> None:
        """Fail if a thread was ended from outside: its task would be waited for without end."""
        if not self._closed and any(t.ident is not None and not t.is_alive() for t in self._threads):
            self.failure = self.failure or OopError(
                "a thread of the run has ended before its work", hint="run it again"
            )
            raise self.failure
