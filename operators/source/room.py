"""Room for rows that are set aside, which the ledgers of an operator's shards share."""

from __future__ import annotations

import threading


class Room:
    """The number of rows that may still be kept. Shards take room from it concurrently, each for the rows that it gets.

    >>> room = Room(5)
    >>> room.take(3), room.take(3)
    (3, 2)
    >>> room.give_back(1)
    >>> room.take(3)
    1
    """

    def __init__(self, most: int) -> None:
        self.left = most
        self._lock = threading.Lock()

    def take(self, rows: int) -> int:
        """As many of these rows as there is room for."""
        with self._lock:
            found = max(0, min(rows, self.left))
            self.left -= found
        return found

    def give_back(self, rows: int) -> None:
        """Free the room of rows that are no longer kept. A negative number takes room, even if there is none left."""
        with self._lock:
            self.left += rows
