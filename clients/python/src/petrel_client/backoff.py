"""How long to wait before trying again."""

from __future__ import annotations

import random


def retry_delay_seconds(attempt: int) -> float:
    """The inbox's own model: attempt² minutes and up to 10 % on top. `attempt`: failures so far, from 1."""
    base = attempt * attempt * 60.0
    return base + base * 0.1 * random.random()


def reconnect_delay_seconds(tries: int, longest: float = 5.0) -> float:
    """Somewhere between nothing and a bound that doubles, so that many clients do not come back together."""
    return random.uniform(0.02, min(longest, 0.1 * 2.0 ** min(tries, 16)))
