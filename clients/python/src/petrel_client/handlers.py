"""The handlers of a worker by type."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Callable, Dict, List, Optional, Sequence

from .active_run import ActiveRun
from .type_filter import TypeFilter

log = logging.getLogger("petrel_client")

#: Its return value is the run's result: anything that JSON can represent.
Handler = Callable[[ActiveRun], Any]


class Handlers:
    def __init__(self) -> None:
        self._by_filter: Dict[TypeFilter, Handler] = {}

    def add(self, types: Sequence[str], handler: Handler) -> None:
        if inspect.iscoroutinefunction(handler):
            raise TypeError("a handler is a plain function: each runs in a thread of its own")
        if not types:
            raise ValueError("a handler needs at least one type")
        for written in types:
            filter = TypeFilter.parse(written)
            if filter in self._by_filter:
                raise ValueError(f"there is a handler for {written!r} already")
            self._by_filter[filter] = handler

    def find(self, type: str) -> Optional[Handler]:
        """The handler with this exact name, else the one with the longest matching prefix."""
        fitting = [filter for filter in self._by_filter if filter.matches(type)]
        if not fitting:
            return None
        return self._by_filter[max(fitting, key=lambda filter: (not filter.is_prefix, len(filter.text)))]

    def takes(self, type_prefixes: Optional[Sequence[str]]) -> List[TypeFilter]:
        """The types to claim: those among `type_prefixes` that have a handler, so that no run is claimed in vain."""
        if not self._by_filter:
            raise ValueError("this worker has no handler: @worker.handler('billing.invoice.v1')")
        if type_prefixes is None:
            return list(self._by_filter)
        taken: Dict[TypeFilter, None] = {}
        for written in type_prefixes:
            wanted = TypeFilter.parse(written)
            meets = [wanted.meet(filter) for filter in self._by_filter]
            if not any(meets):
                log.warning("no handler takes %s: runs of it are left to others", written)
            taken.update((meet, None) for meet in meets if meet is not None)
        if not taken:
            raise ValueError(f"no handler takes any of {list(type_prefixes)}")
        return list(taken)
