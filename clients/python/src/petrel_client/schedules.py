"""Schedules that submit runs, over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, List, Mapping, Optional
from urllib.parse import quote

from .http.exchange import Exchange
from .json_text import to_json
from .run import moment


@dataclass(frozen=True)
class Schedule:
    id: str
    type: str
    payload: Any
    #: five fields of cron
    schedule: str
    timezone: str
    enabled: bool
    next_run_at: Optional[datetime]
    last_run_at: Optional[datetime]
    priority: int
    max_attempts: int

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Schedule:
        known = {name: wire.get(name) for name in cls.__dataclass_fields__}
        for name in ("next_run_at", "last_run_at"):
            known[name] = moment(known[name])
        return cls(**known)  # type: ignore[arg-type]


class Schedules:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def add(
        self,
        type: str,
        schedule: str,
        payload: Any = None,
        *,
        timezone: str = "UTC",
        priority: Optional[int] = None,
        max_attempts: Optional[int] = None,
    ) -> Schedule:
        """`schedule`: five fields of cron, interpreted in `timezone`."""
        body = {"type": type, "schedule": schedule, "payload": {} if payload is None else payload}
        rest = {"timezone": timezone, "priority": priority, "max_attempts": max_attempts}
        body.update({name: value for name, value in rest.items() if value is not None})
        answer = self._exchange.ask("POST", "/v1/schedules", to_json(body), repeatable=False)
        return Schedule.from_wire(answer["schedule"])

    def list(self) -> List[Schedule]:
        """Those of the inbox; the server lists other kinds as well."""
        found: List[Schedule] = []
        after: Optional[str] = None
        while True:
            query = "" if after is None else f"&after={quote(after, safe='')}"
            answer = self._exchange.ask("GET", f"/v1/schedules?limit=1000{query}", repeatable=True)
            found += [Schedule.from_wire(one) for one in answer["schedules"] if one.get("kind", "inbox") == "inbox"]
            after = answer.get("next_after")
            if after is None:
                return found

    def get(self, id: str) -> Schedule:
        return self._one("GET", id)

    def pause(self, id: str) -> Schedule:
        return self._one("POST", id, "/pause")

    def resume(self, id: str) -> Schedule:
        return self._one("POST", id, "/resume")

    def remove(self, id: str) -> None:
        self._exchange.ask("DELETE", f"/v1/schedules/{quote(id, safe='')}", repeatable=False)

    def _one(self, method: str, id: str, rest: str = "") -> Schedule:
        body = None if method == "GET" else "{}"
        answer = self._exchange.ask(method, f"/v1/schedules/{quote(id, safe='')}{rest}", body, repeatable=True)
        return Schedule.from_wire(answer["schedule"])
