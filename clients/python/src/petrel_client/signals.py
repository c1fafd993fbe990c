"""SIGTERM and SIGINT, while a worker runs in the main thread."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from typing import Any, Dict, Iterator


class Heard:
    """Counts signals. The handler only counts and writes a byte: it may have interrupted code that holds a lock."""

    def __init__(self) -> None:
        self.count = 0
        self._ours, self._theirs = socket.socketpair()
        self._theirs.setblocking(False)

    def wait(self) -> None:
        """Waits for the first signal, or for `wake`."""
        self._ours.recv(1)

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            self._theirs.send(b"!")

    def on_signal(self, *_: Any) -> None:
        self.count += 1
        self.wake()

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()


@contextlib.contextmanager
def hearing() -> Iterator[Heard]:
    """Signals reach only the main thread; in other threads there are none."""
    heard = Heard()
    before: Dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for name in (signal.SIGTERM, signal.SIGINT):
                before[name] = signal.signal(name, heard.on_signal)
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        heard.close()
