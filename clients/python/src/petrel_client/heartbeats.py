"""Renews the leases of all runs that a worker holds, three times per lease. One thread for all."""

from __future__ import annotations

import logging
import random
import threading
import time
from typing import Dict

from .errors import LeaseLost
from .hold import Hold

log = logging.getLogger("petrel_client")


class Heartbeats:
    def __init__(self) -> None:
        self._due: Dict[Hold, float] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="petrel-heartbeats", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, hold: Hold) -> None:
        with self._changed:
            self._due[hold] = time.monotonic() + hold.lease_seconds / 3
            self._changed.notify()

    def remove(self, hold: Hold) -> None:
        with self._changed:
            self._due.pop(hold, None)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                hold = min(self._due, key=self._due.__getitem__, default=None)
                now = time.monotonic()
                if hold is None or self._due[hold] > now:
                    self._changed.wait(None if hold is None else self._due[hold] - now)
                    continue
            pause = self._beat(hold)
            with self._changed:
                if hold in self._due:
                    if hold.held:
                        self._due[hold] = time.monotonic() + pause
                    else:
                        del self._due[hold]

    def _beat(self, hold: Hold) -> float:
        """Seconds until the next heartbeat."""
        try:
            hold.beat()
        except LeaseLost:
            pass
        except Exception as error:
            log.warning("%s: no heartbeat: %s", hold, error)
            return min(1.0, hold.lease_seconds / 6) * random.uniform(0.5, 1.0)
        return hold.lease_seconds / 3
