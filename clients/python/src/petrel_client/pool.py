"""A pool of open connections. Each is used by one thread at a time."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import Callable, Generic, Iterator, List, TypeVar

T = TypeVar("T")


class Pool(Generic[T]):
    """forget: called in a forked process for connections that belong to its parent."""

    def __init__(self, open: Callable[[], T], close: Callable[[T], None], forget: Callable[[T], None]) -> None:
        self._open = open
        self._close = close
        self._forget = forget
        self._lock = threading.Lock()
        self._idle: List[T] = []
        self._closed = False
        self._pid = os.getpid()

    @contextmanager
    def take(self) -> Iterator[T]:
        """A connection for the block. It is reused unless the block raises; then it is closed."""
        connection = self._next()
        try:
            yield connection
        except BaseException:
            self._close(connection)
            raise
        with self._lock:
            if not self._closed and self._pid == os.getpid():
                self._idle.append(connection)
                return
        self._close(connection)

    def close(self) -> None:
        """Connections in use are closed when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self._close(connection)

    def _next(self) -> T:
        with self._lock:
            if self._pid != os.getpid():
                # Two processes on one socket would read each other's answers.
                for connection in self._idle:
                    self._forget(connection)
                self._idle, self._pid = [], os.getpid()
            if self._closed:
                raise RuntimeError("this client is closed")
            if self._idle:
                return self._idle.pop()
        return self._open()
