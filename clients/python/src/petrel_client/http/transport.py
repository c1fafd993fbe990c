"""The operations as requests to /v1."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NoReturn, Union
from urllib.parse import quote

from ..errors import Conflict, LeaseLost, NotFound, Unsupported
from ..run import Event, Page, Run, Submitted, moment
from ..transport import Claim, Failure, Listing, LogLine, Submission, Wanted
from .exchange import Exchange


#: Lines of one request.
MOST_LINES = 500


class HttpTransport:
    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange

    def submit(self, submission: Submission, within: Any) -> Submitted:
        if within is not None:
            raise Unsupported(
                "a transaction cannot reach over HTTP",
                hint="give the Client a postgresql:// address for that",
            )
        body = {
            "type": submission.type,
            "idempotency_key": submission.idempotency_key,
            "priority": submission.priority,
            "run_at": None if submission.run_at is None else submission.run_at.isoformat(),
            "max_attempts": submission.max_attempts,
            "queue": submission.queue,
        }
        given = json.dumps({name: value for name, value in body.items() if value is not None})
        # The payload has already been checked and encoded, and is sent unchanged.
        answer = self.exchange.ask(
            "POST",
            "/v1/runs",
            f'{given[:-1]}, "payload": {submission.payload_json}}}',
            repeatable=submission.idempotency_key is not None,
        )
        run = answer.get("run")
        return Submitted(answer["id"], answer["created"], None if run is None else Run.from_wire(run))

    def get(self, id: str) -> Run:
        return Run.from_wire(self.exchange.ask("GET", _path(id), repeatable=True)["run"])

    def list(self, listing: Listing) -> Page:
        query = {
            "type": None if listing.type is None else str(listing.type),
            "status": listing.status,
            "idempotency_key": listing.idempotency_key,
            "queue": listing.queue,
            "deleted": "true" if listing.deleted else None,
            "limit": listing.limit,
            "before": listing.before,
        }
        answer = self.exchange.ask("GET", "/v1/runs", query=query, repeatable=True)
        return Page([Run.from_wire(run) for run in answer["runs"]], answer["next_before"])

    def events(self, id: str) -> List[Event]:
        answer = self.exchange.ask("GET", _path(id, "/events"), repeatable=True)
        return [
            # an event always has a time
            Event(event["type"], moment(event["at"]), event["actor"], event["data"])  # type: ignore[arg-type]
            for event in answer["events"]
        ]

    def cancel(self, id: str) -> Run:
        try:
            return Run.from_wire(self.exchange.ask("POST", _path(id, "/cancel"), "{}", repeatable=True)["run"])
        except Conflict as error:
            if error.details.get("resent") and error.run_status == "cancelled":
                # Our own first attempt, whose response was lost.
                return self.get(id)
            raise

    def claims(self, wanted: Wanted) -> HttpClaims:
        return HttpClaims(self.exchange, wanted)

    def heartbeat(self, claim: Claim, lease_seconds: float) -> bool:
        # A heartbeat that arrives later than a third of the lease is useless.
        timeout = min(self.exchange.timeout, max(1.0, lease_seconds / 3))
        answer = self._of_lease(claim, "heartbeat", {"lease_seconds": _seconds(lease_seconds)}, timeout=timeout)
        return bool(answer.get("cancel_requested"))

    def check(self, claim: Claim, lease_seconds: float) -> bool:
        # Reading the run would need the scope read; a worker's key may have only work.
        return self.heartbeat(claim, lease_seconds)

    def log(self, claim: Claim, lines: List[LogLine]) -> None:
        for first in range(0, len(lines), MOST_LINES):
            self._of_lease(claim, "log", {"lines": lines[first : first + MOST_LINES]})

    def complete(self, claim: Claim, result_json: str) -> None:
        self._of_lease(claim, "complete", _build(claim), result_json=result_json)

    def fail(self, claim: Claim, failure: Failure) -> None:
        details = dict(failure.details or {})
        if failure.delay_seconds is not None:
            details["retry_delay_ms"] = round(failure.delay_seconds * 1000)
        error = {"message": failure.message, "code": failure.code, "details": details}
        if failure.category is not None:
            error["category"] = failure.category
        body = {"error": error} if failure.retryable is None else {"error": error, "retryable": failure.retryable}
        self._of_lease(claim, "fail", {**body, **_build(claim)})

    def release(self, claim: Claim) -> None:
        self._of_lease(claim, "release", {})

    def close(self) -> None:
        self.exchange.close()

    def _of_lease(
        self,
        claim: Claim,
        verb: str,
        rest: Any,
        *,
        result_json: Union[str, None] = None,
        timeout: Union[float, None] = None,
    ) -> Any:
        """Sent once: the caller that holds the lease repeats it as long as that makes sense."""
        body = json.dumps({"worker_id": claim.worker_id, "epoch": claim.epoch, **rest})
        if result_json is not None:
            body = f'{body[:-1]}, "result": {result_json}}}'
        path = _path(claim.run.id, f"/{verb}")
        try:
            return self.exchange.ask("POST", path, body, repeatable=True, retries=0, timeout=timeout)
        except (Conflict, NotFound) as error:
            _lost(error)


class HttpClaims:
    """The server delays its response until there is work."""

    def __init__(self, exchange: Exchange, wanted: Wanted) -> None:
        self._exchange = exchange
        self._wanted = wanted

    def take(self, limit: int) -> List[Claim]:
        wanted = self._wanted
        body = {
            "worker_id": wanted.worker_id,
            "types": [str(type) for type in wanted.types],
            "runtime": wanted.runtime,
            "lease_seconds": _seconds(wanted.lease_seconds),
            "limit": limit,
            "wait_seconds": _seconds(wanted.wait_seconds),
        }
        if wanted.queues is not None:
            body["queues"] = list(wanted.queues)
        timeout = self._exchange.timeout + wanted.wait_seconds
        answer = self._exchange.ask("POST", "/v1/runs/claim", json.dumps(body), repeatable=False, timeout=timeout)
        return [
            Claim(Run.from_wire(run), wanted.worker_id, run["epoch"], run.get("parent_results"), wanted.build)
            for run in answer["runs"]
        ]

    def interrupt(self) -> None:
        """Work may be on its way already: disconnecting now would lose it until its lease ends."""

    def close(self) -> None: ...


def _path(id: str, rest: str = "") -> str:
    return f"/v1/runs/{quote(str(id), safe='')}{rest}"


def _build(claim: Claim) -> Dict[str, str]:
    return {} if claim.build is None else {"build": claim.build}


def _seconds(value: float) -> Union[int, float]:
    """Whole seconds are written as integers."""
    return int(value) if value == int(value) else value


def _lost(error: Union[Conflict, NotFound]) -> NoReturn:
    raise LeaseLost(
        error.message, code=error.code, details=error.details, hint=error.hint, status=error.status
    ) from error
