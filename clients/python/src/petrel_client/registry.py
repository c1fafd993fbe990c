"""The registry, over HTTP: which runtime may take a type. A type that is not registered is open to all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Mapping, Optional
from urllib.parse import quote

from .http.exchange import Exchange
from .json_text import to_json


@dataclass(frozen=True)
class Entry:
    workflow_name: str
    runtime: str
    #: False: no worker may take it
    is_enabled: bool
    description: Optional[str]

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Entry:
        return cls(**{name: wire.get(name) for name in cls.__dataclass_fields__})  # type: ignore[arg-type]


class Registry:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def list(self) -> List[Entry]:
        answer = self._exchange.ask("GET", "/v1/registry", repeatable=True)
        return [Entry.from_wire(entry) for entry in answer["entries"]]

    def get(self, name: str) -> Entry:
        return Entry.from_wire(self._exchange.ask("GET", _path(name), repeatable=True)["entry"])

    def put(self, name: str, runtime: str, *, is_enabled: bool = True, description: Optional[str] = None) -> Entry:
        """From now on only workers of this runtime may take the type; with is_enabled=False, none may."""
        body = {"runtime": runtime, "is_enabled": is_enabled, "description": description}
        answer = self._exchange.ask("PUT", _path(name), to_json(body), repeatable=True)
        return Entry.from_wire(answer["entry"])

    def remove(self, name: str) -> None:
        self._exchange.ask("DELETE", _path(name), repeatable=False)


def _path(name: str) -> str:
    return f"/v1/registry/{quote(name, safe='')}"
