"""Waiting until there may be work: until the tables say so (NOTIFY), somebody interrupts, or the time is over.

A notification is lost while nobody listens, and none tells that a run planned for later is due: whoever waits looks
for work after every wait, also one that ended by time. Where LISTEN does not work (some poolers), that is all.
"""

from __future__ import annotations

import json
import logging
import random
import selectors
import socket
import time
from typing import Any, List, Optional, Sequence

from .database import Database

log = logging.getLogger("petrel_client")

CHANNEL = "workflow_wake"
#: Workers that wake together do not ask together.
SPREAD_SECONDS = 0.02


class Wake:
    """Used by one thread; `interrupt` and `close` by any."""

    def __init__(self, database: Database, queues: Optional[Sequence[str]]) -> None:
        self._database = database
        self._queues = None if queues is None else frozenset(queues)
        self._connection: Any = None
        self._connect_at = 0.0
        self._warned = False
        self._ours, self._theirs = socket.socketpair()

    def listen(self) -> None:
        """Begins to listen, if it does not yet. Called before looking for work, so that what comes then is heard."""
        if self._connection is not None or time.monotonic() < self._connect_at:
            return
        try:
            self._connection = self._database.connect()
            with self._connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._warned = False
        except Exception as error:
            self._drop(error)

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds * random.uniform(0.75, 1.25)
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return
            try:
                readable = self._readable(left)
            except Exception as error:
                # A connection that is closed cannot be waited for.
                self._drop(error)
                continue
            if self._ours in readable:
                return
            if readable and self._heard():
                time.sleep(random.uniform(0, SPREAD_SECONDS))
                return

    def interrupt(self) -> None:
        """Ends this wait and all that follow."""
        self._theirs.send(b"!")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._ours.close()
        self._theirs.close()

    def _readable(self, seconds: float) -> List[Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._ours, selectors.EVENT_READ)
            if self._connection is not None:
                selector.register(self._connection, selectors.EVENT_READ)
            return [key.fileobj for key, _ in selector.select(seconds)]

    def _heard(self) -> bool:
        """Whether anything that came may mean work for us."""
        try:
            self._connection.poll()
        except Exception as error:
            self._drop(error)
            return False
        heard = [notify.payload for notify in self._connection.notifies]
        del self._connection.notifies[:]
        return any(self._concerns_us(payload) for payload in heard)

    def _concerns_us(self, payload: str) -> bool:
        try:
            wake = json.loads(payload)["wake"]
            queues = wake.get("queues")
        except (ValueError, TypeError, KeyError, AttributeError):
            return True
        if queues is None:
            # Most tell that something ended. Nothing at all means everything; control: what may be taken has changed.
            return not wake or "control" in wake
        return self._queues is None or not self._queues.isdisjoint(queues)

    def _drop(self, error: Exception) -> None:
        if not self._warned:
            log.warning("does not listen to Postgres, looks for work by time only: %s", error)
            self._warned = True
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._connect_at = time.monotonic() + random.uniform(2.0, 5.0)
