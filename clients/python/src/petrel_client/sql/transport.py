"""The operations as statements on the tables."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..backoff import retry_delay_seconds
from ..errors import Conflict, InvalidRequest, LeaseLost, NotFound, Unavailable, Unsupported
from ..run import RUN_FIELDS, Event, Page, Run, Submitted, moment
from ..transport import Claim, Failure, Listing, LogLine, Submission, Wanted
from . import statements
from .database import Database, Row, rows_within
from .wake import Wake

#: How often a repeatable statement is sent again when the connection breaks.
RETRIES = 2
#: Categories that no policy retries. Over HTTP the server decides; here the client does.
NEVER_AGAIN = ("timeout", "validation", "governance")


class SqlTransport:
    def __init__(self, database: Database) -> None:
        self._database = database

    def submit(self, submission: Submission, within: Any) -> Submitted:
        values: Dict[str, Any] = {
            "type": submission.type,
            "payload": submission.payload_json,
            "idempotency_key": submission.idempotency_key,
        }
        for name in ("priority", "run_at", "max_attempts", "queue"):
            value = getattr(submission, name)
            if value is not None:
                values[name] = value
        casts = {"payload": "::jsonb"}
        statement = statements.SUBMIT.format(
            columns=", ".join(values), values=", ".join(f"%({name})s{casts.get(name, '')}" for name in values)
        )
        if within is not None:
            return _submitted(
                rows_within(within, statement, values, RUN_FIELDS),
                lambda: rows_within(within, statements.BY_KEY, values, RUN_FIELDS),
            )
        try:
            added = self._rows(statement, values, repeatable=submission.idempotency_key is not None)
        except Conflict:
            # The run of this key was pruned at this moment: the key stays used.
            added = []
        return _submitted(added, lambda: self._rows(statements.BY_KEY, values))

    def get(self, id: str) -> Run:
        found = self._rows(statements.GET, {"id": _uuid(id)})
        if not found:
            raise _not_found(id)
        return _run(found[0])

    def list(self, listing: Listing) -> Page:
        values: Dict[str, Any] = {"deleted": listing.deleted, "limit": listing.limit + 1}
        conditions: List[str] = []
        for name in ("status", "idempotency_key", "queue"):
            value = getattr(listing, name)
            if value is not None:
                values[name] = value
                conditions.append(f"AND r.{name} = %({name})s")
        if listing.type is not None:
            values["type"] = listing.type.like if listing.type.is_prefix else listing.type.text
            conditions.append("AND r.type LIKE %(type)s" if listing.type.is_prefix else "AND r.type = %(type)s")
        if listing.before is not None:
            values["before_at"], values["before_id"] = _place(listing.before)
            conditions.append("AND (r.created_at, r.id) < (%(before_at)s, %(before_id)s::uuid)")
        found = self._rows(statements.LIST.format(conditions=" ".join(conditions)), values)
        runs = [_run(row) for row in found[: listing.limit]]
        last = runs[-1] if len(found) > listing.limit else None
        return Page(
            runs,
            None if last is None or last.created_at is None else f"{last.created_at.isoformat()}|{last.id}",
        )

    def events(self, id: str) -> List[Event]:
        self.get(id)
        return [
            # an event always has a time
            Event(type, moment(at), actor, _json(data))  # type: ignore[arg-type]
            for type, at, actor, data in self._rows(statements.EVENTS, {"id": id})
        ]

    def cancel(self, id: str) -> Run:
        cancelled = self._rows(statements.CANCEL, {"id": _uuid(id)}, repeatable=False)
        if cancelled:
            return _run(cancelled[0])
        status = self.get(id).status
        raise Conflict(f"run {id} is {status}", code="conflict", details={"run_id": id, "status": status})

    def claims(self, wanted: Wanted) -> SqlClaims:
        return SqlClaims(self._database, wanted)

    def heartbeat(self, claim: Claim, lease_seconds: float) -> bool:
        return bool(self._of_lease(statements.HEARTBEAT, claim, lease_seconds=lease_seconds))

    def check(self, claim: Claim, lease_seconds: float) -> bool:
        return bool(self._of_lease(statements.CHECK, claim))

    def log(self, claim: Claim, lines: List[LogLine]) -> None:
        raise Unsupported("lines are logged over HTTP only", hint="give the Worker an http:// address for that")

    def complete(self, claim: Claim, result_json: str) -> None:
        self._of_lease(statements.COMPLETE, claim, result=result_json)

    def fail(self, claim: Claim, failure: Failure) -> None:
        attempt = claim.run.attempt + 1
        final = failure.retryable is False or attempt >= claim.run.max_attempts
        if failure.retryable is None and failure.category in NEVER_AGAIN:
            final = True
        delay_seconds = failure.delay_seconds
        if delay_seconds is None:
            delay_seconds = retry_delay_seconds(attempt)
        self._of_lease(
            statements.FAIL,
            claim,
            status="failed" if final else "pending",
            attempt=attempt,
            delay_seconds=0 if final else delay_seconds,
            # Postgres stores no text with a NUL in it.
            last_error=_last_error(claim, failure, final).replace("\0", "\\0"),
        )

    def release(self, claim: Claim) -> None:
        self._of_lease(statements.RELEASE, claim)

    def close(self) -> None:
        self._database.close()

    def _of_lease(self, statement: str, claim: Claim, **values: Any) -> Any:
        """The first value of the result. No row: the run is held no longer. Sent once: the caller repeats it."""
        held = {"id": claim.run.id, "worker_id": claim.worker_id, "epoch": claim.epoch}
        rows = self._database.rows(statement, {**held, **values})
        if rows:
            return rows[0][0]
        found = self._database.rows(statements.STATUS, held)
        status = found[0][0] if found else None
        raise LeaseLost(
            f"run {claim.run.id} is no longer held by {claim.worker_id}: it is {status or 'gone'}",
            code="conflict",
            details={"run_id": claim.run.id, "status": status},
        )

    def _rows(self, statement: str, values: Dict[str, Any], *, repeatable: bool = True) -> List[Row]:
        left = RETRIES if repeatable else 0
        while True:
            try:
                return self._database.rows(statement, values)
            except Unavailable:
                # After a restart of the server, idle connections turn out to be broken one after another.
                if left == 0:
                    raise
                left -= 1


class SqlClaims:
    """Claims with one statement, and waits in between for a notification of the tables."""

    def __init__(self, database: Database, wanted: Wanted) -> None:
        self._database = database
        self._wait_seconds = wanted.wait_seconds
        self._worker_id = wanted.worker_id
        self._statement, self._values = _claim_of(wanted)
        self._wake = Wake(database, wanted.queues)

    def take(self, limit: int) -> List[Claim]:
        self._wake.listen()
        refused: List[str] = []
        while True:
            rows = self._database.rows(self._statement, {**self._values, "limit": limit, "refused": refused})
            claims = [Claim(_run(rest), self._worker_id, epoch, None) for _, epoch, *rest in rows if epoch is not None]
            if claims:
                return sorted(claims, key=lambda claim: (claim.run.priority, str(claim.run.created_at)))
            if not rows:
                self._wake.wait(self._wait_seconds)
                return []
            refused += [id for id, *_ in rows]

    def interrupt(self) -> None:
        self._wake.interrupt()

    def close(self) -> None:
        self._wake.close()


def _claim_of(wanted: Wanted) -> Tuple[str, Dict[str, Any]]:
    values: Dict[str, Any] = {
        "worker_id": wanted.worker_id,
        "lease_seconds": wanted.lease_seconds,
        "runtime": wanted.runtime,
    }
    types: List[str] = []
    names = [type.text for type in wanted.types if not type.is_prefix]
    if names:
        values["names"] = names
        types.append("c.type = ANY (%(names)s)")
    for n, prefix in enumerate(type for type in wanted.types if type.is_prefix):
        values[f"prefix{n}"] = prefix.like
        types.append(f"c.type LIKE %(prefix{n})s")
    queues = ""
    if wanted.queues is not None:
        values["queues"] = list(wanted.queues)
        queues = "AND c.queue = ANY (%(queues)s)"
    return statements.CLAIM.format(types=f"({' OR '.join(types)})", queues=queues), values


def _submitted(added: Sequence[Row], by_key: Callable[[], Sequence[Row]]) -> Submitted:
    found = added or by_key()
    run = _run(found[0]) if found else None
    return Submitted(None if run is None else run.id, bool(added), run)


def _run(row: Sequence[Any]) -> Run:
    wire = dict(zip(RUN_FIELDS, row))
    for name in ("payload", "result", "error"):
        wire[name] = _json(wire[name])
    return Run.from_wire(wire)


def _json(text: Optional[str]) -> Any:
    return None if text is None else json.loads(text)


def _last_error(claim: Claim, failure: Failure, final: bool) -> str:
    """Only a text can be stored. For a step that has ended, the engine reads further fields from it."""
    if failure.category is None or claim.run.instance_id is None or not final:
        return failure.message
    fields = {"message": failure.message, "code": failure.code, "category": failure.category}
    return json.dumps(fields if failure.details is None else {**fields, "details": failure.details})


def _uuid(id: str) -> str:
    try:
        return str(uuid.UUID(str(id)))
    except ValueError:
        raise _not_found(id) from None


def _not_found(id: str) -> NotFound:
    return NotFound(f"there is no run {id}", code="not_found", details={"run_id": str(id)})


def _place(before: str) -> Tuple[datetime, str]:
    """Parses the start of a page: the `next_before` of the previous one."""
    try:
        at, id = before.split("|")
        return datetime.fromisoformat(at), str(uuid.UUID(id))
    except ValueError:
        raise InvalidRequest(
            "before must be the next_before of a page",
            code="invalid_request",
            details={"parameter": "before"},
        ) from None
