"""A run as its handler sees it."""

from __future__ import annotations

import threading
from typing import Any, Optional, Sequence

from .hold import Hold
from .transport import LogLine


class ActiveRun:
    """The work of a handler, and the state of its lease.

    The lease is renewed automatically while the handler runs. `id` is the same on every attempt: use it as the
    idempotency key of effects.
    """

    def __init__(self, hold: Hold, stopping: threading.Event) -> None:
        run = hold.claim.run
        self._hold = hold
        self._stopping = stopping
        self.id: str = run.id
        self.type: str = run.type
        self.payload: Any = run.payload
        #: failed executions before this one: 0 the first time
        self.attempt: int = run.attempt
        self.max_attempts: int = run.max_attempts
        self.idempotency_key: Optional[str] = run.idempotency_key
        self.queue: str = run.queue
        #: the workflow it is a step of, and which step
        self.instance_id: Optional[str] = run.instance_id
        self.node: Optional[str] = run.node
        #: results of the steps before it; only over HTTP
        self.parent_results: Any = hold.claim.parent_results

    @property
    def lost(self) -> bool:
        """The worker no longer holds the run; the result of this handler will not be recorded."""
        return self._hold.lost

    @property
    def stopping(self) -> bool:
        """The worker is shutting down: finish within its grace period, or raise `Release`."""
        return self._stopping.is_set()

    def is_cancelled(self) -> bool:
        """Whether the run was cancelled. Asks Petrel at most twice a second; it can be called in a loop."""
        return self._hold.look()

    def heartbeat(self, seconds: Optional[float] = None) -> None:
        """Renews the lease now, for its usual length, or `seconds` if that is longer.

        LeaseLost: stop, the run is no longer held.
        """
        self._hold.beat(seconds)

    def log(self, text: str, *, level: str = "info", fields: Any = None) -> None:
        """Stores a line in the log of this run, which `petrel logs` prints; `level`: debug, info, warn or error.

        `fields` is any JSON up to 4 KiB. Only over HTTP. Each call is a request: `log_lines` sends many lines at once.
        LeaseLost: stop, the run is no longer held.
        """
        self.log_lines([{"text": text, "level": level, "fields": fields}])

    def log_lines(self, lines: Sequence[LogLine]) -> None:
        """Lines with `text`, and if wanted `level`, `fields`, `at` (RFC 3339) and `stream` (stdout or stderr)."""
        self._hold.log([{name: value for name, value in line.items() if value is not None} for line in lines])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type} {self.id} attempt {self.attempt}>"
