"""The client: submit, read and cancel runs. One object serves all threads of a process."""

from __future__ import annotations

import ssl
import time
from datetime import datetime
from types import TracebackType
from typing import Any, List, Optional, Type

from .errors import Unsupported
from .http.exchange import Exchange
from .http.transport import HttpTransport
from .json_text import to_json
from .registry import Registry
from .run import Event, Page, Run, Submitted
from .schedules import Schedules
from .transport import Listing, Submission, Transport
from .type_filter import TypeFilter

#: Interval of the polls of `wait`, initial and maximal.
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 0.05, 1.0


class Client:
    """Petrel at `url`: `http://127.0.0.1:7070` for its server, `postgresql://…` for its database.

    Both offer the same operations. By SQL, `submit` can be part of your own transaction (`within=`); over HTTP there
    are also `schedules` and `registry`. Connections are opened when needed, and reused.

    key: an API key, if the server requires one.
    timeout: the maximum in seconds for one request or statement.
    retries: how often a repeatable request is sent again when there is no response.
    """

    def __init__(
        self,
        url: str,
        *,
        key: Optional[str] = None,
        timeout: float = 10.0,
        retries: int = 4,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._exchange: Optional[Exchange] = None
        self.transport: Transport
        if url.startswith(("http://", "https://")):
            self._exchange = Exchange(url, key=key, timeout=timeout, retries=retries, ssl_context=ssl_context)
            self.transport = HttpTransport(self._exchange)
        elif url.startswith("sqlite:"):
            raise ValueError("a SQLite store is reached through its server: give the server's http:// address")
        else:
            # Only here: HTTP needs only the standard library.
            from .sql.database import Database
            from .sql.transport import SqlTransport

            self.transport = SqlTransport(Database(url, timeout=timeout))

    def submit(
        self,
        type: str,
        payload: Any,
        *,
        idempotency_key: Optional[str] = None,
        priority: Optional[int] = None,
        run_at: Optional[datetime] = None,
        max_attempts: Optional[int] = None,
        queue: Optional[str] = None,
        within: Any = None,
    ) -> Submitted:
        """Stores a run. No worker needs to be running.

        type: dotted, ending in its version: `billing.invoice.v1`.
        payload: anything that JSON can represent.
        idempotency_key: a second submit with it adds nothing, permanently. A submit with a key is sent again when
            the response is lost; without one it is sent once.
        priority: smaller is earlier; default 100.
        run_at: the earliest start, a time with a time zone.
        max_attempts: executions in total; default 3.
        within: a psycopg2 connection or cursor of yours (only by SQL). The run exists once you commit, and never
            existed if you roll back.
        """
        if run_at is not None and run_at.utcoffset() is None:
            raise ValueError("run_at needs a time zone: datetime.now(timezone.utc) + timedelta(minutes=5)")
        return self.transport.submit(
            Submission(
                type=type,
                payload_json=to_json(payload),
                idempotency_key=idempotency_key,
                priority=priority,
                run_at=run_at,
                max_attempts=max_attempts,
                queue=queue,
            ),
            within,
        )

    def get(self, id: str) -> Run:
        """The current state of the run; NotFound."""
        return self.transport.get(id)

    def list(
        self,
        *,
        type: Optional[str] = None,
        status: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        queue: Optional[str] = None,
        deleted: bool = False,
        limit: int = 50,
        before: Optional[str] = None,
    ) -> Page:
        """Submitted runs, newest first. `type` may be a prefix such as `billing.%`."""
        if not 1 <= limit <= 200:
            raise ValueError(f"limit is from 1 to 200, not {limit}")
        return self.transport.list(
            Listing(
                type=None if type is None else TypeFilter.parse(type),
                status=status,
                idempotency_key=idempotency_key,
                queue=queue,
                deleted=deleted,
                limit=limit,
                before=before,
            )
        )

    def events(self, id: str) -> List[Event]:
        """The whole history of the run, oldest first."""
        return self.transport.events(id)

    def cancel(self, id: str) -> Run:
        """Ends the run, or asks the worker that holds it to stop. Conflict: it had already ended."""
        return self.transport.cancel(id)

    def wait(self, id: str, *, timeout: Optional[float] = None) -> Run:
        """Waits until the run has ended, and returns it; TimeoutError."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = FIRST_LOOK_SECONDS
        while True:
            run = self.get(id)
            if run.ended:
                return run
            if until is not None and time.monotonic() + pause > until:
                raise TimeoutError(f"run {id} is still {run.status} after {timeout} s")
            time.sleep(pause)
            pause = min(pause * 1.5, LAST_LOOK_SECONDS)

    @property
    def schedules(self) -> Schedules:
        """Schedules that submit runs."""
        return Schedules(self._http("schedules"))

    @property
    def registry(self) -> Registry:
        """The registry: which runtime may take a type."""
        return Registry(self._http("the registry"))

    def close(self) -> None:
        self.transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _http(self, what: str) -> Exchange:
        if self._exchange is None:
            raise Unsupported(f"{what} are managed over HTTP", hint="give the Client the server's http:// address")
        return self._exchange
