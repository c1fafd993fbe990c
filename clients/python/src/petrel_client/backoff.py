"""Delays before a retry."""

from __future__ import annotations

import random


def retry_delay_seconds(attempt: int) -> float:
    """The retry model of the inbox: attempt² minutes plus up to 10 %. `attempt`: failures so far, from 1."""
    base = attempt * attempt * 60.0
    return base + base * 0.1 * random.random()


def reconnect_delay_seconds(tries: int, longest: float = 5.0) -> float:
    """A random delay up to a bound that doubles, so that many clients do not return at the same moment."""
    return random.uniform(0.02, min(longest, 0.1 * 2.0 ** min(tries, 16)))
