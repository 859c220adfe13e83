"""A pool of threads for an engine: tasks in, and whoever waits for them lends a hand.

With ``threads`` = n there are n - 1 threads beside the one that reads the result, which runs tasks itself when it has
nothing else to do. Tasks see to their own errors.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

Task = Callable[[], None]


class Pool:
    """Threads start with the first task, and end when the pool is closed."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._tasks: deque[Task] = deque()
        self._running = 0
        self._closed = False
        self._change = threading.Condition()
        self._threads: list[threading.Thread] = []

    def submit(self, task: Task) -> None:
        with self._change:
            self._tasks.append(task)
            self._change.notify()
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._work, name=f"oop-worker-{i}", daemon=True)
                    for i in range(1, self.threads)
                ]
                for thread in self._threads:
                    thread.start()

    def help(self) -> None:
        """Run a task here; if there is none but one is running elsewhere, wait for a change first."""
        with self._change:
            if not self._tasks and self._running:
                self._change.wait()
            if not self._tasks:
                return
            task = self._take()
        self._run(task)

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def is_idle(self) -> bool:
        with self._change:
            return not self._tasks and not self._running

    def close(self) -> None:
        """Forget what waits, and let the threads end. It does not wait for them: a collector may call it, in any thread
        and with any lock held."""
        with self._change:
            self._closed = True
            self._tasks.clear()
            self._change.notify_all()

    def rest(self) -> None:
        """Wait until no task is running; those that wait stay where they are."""
        with self._change:
            while self._running:
                self._change.wait()

    def _take(self) -> Task:
        self._running += 1
        return self._tasks.popleft()

    def _run(self, task: Task) -> None:
        try:
            task()
        finally:
            with self._change:
                self._running -= 1
                self._change.notify_all()

    def _work(self) -> None:
        while True:
            with self._change:
                while not self._tasks and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                task = self._take()
            self._run(task)
