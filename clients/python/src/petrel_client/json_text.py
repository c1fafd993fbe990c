"""Encodes JSON for Petrel."""

from __future__ import annotations

import json
from typing import Any


def to_json(value: Any) -> str:
    """ValueError or TypeError for values that JSON cannot represent, including NaN."""
    return json.dumps(value, allow_nan=False)
