"""JSON as it goes out."""

from __future__ import annotations

import json
from typing import Any


def to_json(value: Any) -> str:
    """ValueError or TypeError for what JSON cannot say, NaN too."""
    return json.dumps(value, allow_nan=False)
