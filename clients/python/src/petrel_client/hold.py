"""A worker's hold on a run.

held    from the claim on. Heartbeats are sent and an outcome may be reported.
lost    Petrel reported that the lease has ended: it expired and was taken, or another client cancelled or ended the
        run. Nothing more is reported about the run; its handler may check `lost` and stop.
ended   the outcome was recorded, or the run was returned.

Held changes once, to either of the others, which are final. Without a response the state stays: the caller retries,
and the run stays held, since only Petrel knows whether the lease has really been taken.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Callable, List, Optional

from .errors import LeaseLost, Unavailable
from .transport import Claim, LogLine, Transport

log = logging.getLogger("petrel_client")

#: `is_cancelled` asks Petrel no more often than this; in between it returns the last answer.
LOOK_SECONDS = 0.5


class Hold:
    def __init__(self, transport: Transport, claim: Claim, lease_seconds: float) -> None:
        self.claim = claim
        self.lease_seconds = lease_seconds
        self.lost = False
        self.cancelled = False
        self._transport = transport
        self._ended = False
        self._looked_at = float("-inf")
        #: the time until which the handler needs the lease, if that is longer
        self._wanted_until = float("-inf")
        # A heartbeat and a report do not overtake each other: one sent after the end would look like a lost lease.
        self._lock = threading.Lock()

    @property
    def held(self) -> bool:
        return not (self.lost or self._ended)

    def beat(self, seconds: Optional[float] = None) -> None:
        """Renews the lease. LeaseLost: it is held no longer; Unavailable: its state is unknown."""
        with self._lock:
            self._require()
            if seconds is not None:
                self._wanted_until = time.monotonic() + seconds
            try:
                self.cancelled |= self._transport.heartbeat(self.claim, self._seconds())
                self._looked_at = time.monotonic()
            except LeaseLost as error:
                self._lose(error)
                raise

    def log(self, lines: List[LogLine]) -> None:
        """LeaseLost: it is held no longer."""
        with self._lock:
            self._require()
            try:
                self._transport.log(self.claim, lines)
            except LeaseLost as error:
                self._lose(error)
                raise

    def look(self) -> bool:
        """Whether the run was cancelled, as far as known."""
        if self.cancelled or not self.held or time.monotonic() - self._looked_at < LOOK_SECONDS:
            return self.cancelled
        with self._lock:
            if self.held:
                try:
                    self.cancelled |= self._transport.check(self.claim, self._seconds())
                    self._looked_at = time.monotonic()
                except LeaseLost as error:
                    self._lose(error)
                except Unavailable as error:
                    log.debug("%s: cannot look whether it was cancelled: %s", self, error)
        return self.cancelled

    def report(self, say: Callable[[Claim], None]) -> bool:
        """Reports the outcome if the run is still held. False: it was not, and nothing has changed."""
        with self._lock:
            if not self.held:
                return False
            try:
                say(self.claim)
            except LeaseLost as error:
                self._lose(error)
                return False
            self._ended = True
            return True

    def abandon(self) -> None:
        """Reports nothing more; the lease will expire."""
        with self._lock:
            self._ended = True

    def _seconds(self) -> float:
        """Never shorter than the lease, which is renewed three times in its duration, nor than the handler requested.

        """
        return max(self.lease_seconds, round(self._wanted_until - time.monotonic(), 3))

    def _require(self) -> None:
        if not self.held:
            raise LeaseLost(f"{self} is no longer held", code="conflict")

    def _lose(self, error: LeaseLost) -> None:
        self.lost = True
        if error.run_status == "cancelled":
            self.cancelled = True
            log.info("%s was cancelled", self)
        else:
            log.warning("%s is lost: %s", self, error.message)

    def __str__(self) -> str:
        return f"{self.claim.run.type} {self.claim.run.id}"
