"""A run at the time it was read, its events, and the results of submitting and listing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any, Iterator, List, Mapping, Optional

#: Final statuses.
ENDED = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True)
class Run:
    """One unit of work. The names are those of the table; times are in UTC."""

    id: str
    type: str
    payload: Any
    #: pending, leased, succeeded, failed or cancelled
    status: str
    #: smaller is earlier
    priority: int
    run_at: Optional[datetime]
    idempotency_key: Optional[str]
    #: failed executions so far: 0 while the first one runs
    attempt: int
    #: executions in total, not retries
    max_attempts: int
    leased_by: Optional[str]
    lease_until: Optional[datetime]
    last_error: Optional[str]
    result: Any
    created_at: Optional[datetime]
    deleted_at: Optional[datetime]
    queue: str
    tenant: Optional[str]
    #: the workflow and the step that this run belongs to; None for a bare run
    instance_id: Optional[str]
    node: Optional[str]
    #: cancelled, and its worker has not stopped yet
    cancel_requested: bool
    #: the last failure: code, message and further details
    error: Optional[Mapping[str, Any]]

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Run:
        """Ignores fields that a newer server adds."""
        known = {name: wire.get(name) for name in RUN_FIELDS}
        for name in ("run_at", "lease_until", "created_at", "deleted_at"):
            known[name] = moment(known[name])
        known["cancel_requested"] = bool(known["cancel_requested"])
        return cls(**known)  # type: ignore[arg-type]


RUN_FIELDS = tuple(field.name for field in fields(Run))


@dataclass(frozen=True)
class Event:
    """One entry of a run's history: created, leased, started, heartbeat, retried, succeeded, failed, cancelled, …"""

    type: str
    at: datetime
    actor: Optional[str]
    data: Any


@dataclass(frozen=True)
class Submitted:
    """The result of a submit."""

    #: None only if the key belongs to a run that retention has removed
    id: Optional[str]
    #: False: the idempotency key was already used, and nothing was added
    created: bool
    #: the run, new or found by its key
    run: Optional[Run]


@dataclass(frozen=True)
class Page:
    """Runs, newest first. `next_before` is the `before` of the next page; None: this is the last page."""

    runs: List[Run]
    next_before: Optional[str]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, at: int) -> Run:
        return self.runs[at]


def moment(value: Any) -> Optional[datetime]:
    """A time from HTTP or psycopg2, in UTC."""
    if value is None:
        return None
    if isinstance(value, str):
        # Python before 3.11 does not parse the Z.
        value = datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith("Z") else value)
    assert isinstance(value, datetime)
    if value.year == datetime.max.year:
        # `infinity`, which cannot be converted between zones.
        return value.replace(tzinfo=timezone.utc)
    return value.astimezone(timezone.utc)
