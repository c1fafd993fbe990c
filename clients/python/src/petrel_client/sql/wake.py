"""Waits until there may be work: until a notification (NOTIFY), an interrupt, or a time-out.

A notification is lost while no client listens, and none announces that a scheduled run is due: the caller looks for
work after every wait, including one that timed out. Where LISTEN does not work (some poolers), it only polls.
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
#: So that workers woken together do not query at the same moment.
SPREAD_SECONDS = 0.02


class Wake:
    """Used by one thread; `interrupt` and `close` by any thread."""

    def __init__(self, database: Database, queues: Optional[Sequence[str]]) -> None:
        self._database = database
        self._queues = None if queues is None else frozenset(queues)
        self._connection: Any = None
        self._connect_at = 0.0
        self._warned = False
        self._ours, self._theirs = socket.socketpair()

    def listen(self) -> None:
        """Starts to listen, if it does not yet. Called before looking for work, so that no later notification is
        missed.
        """
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
                # A closed connection cannot be waited for.
                self._drop(error)
                continue
            if self._ours in readable:
                return
            if readable and self._heard():
                time.sleep(random.uniform(0, SPREAD_SECONDS))
                return

    def interrupt(self) -> None:
        """Ends this wait and all later ones."""
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
        """Whether any notification may mean work for this worker."""
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
            # Most report an end. An empty one may mean anything; control: the rules for claims have changed.
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
