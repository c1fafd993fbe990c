r"""Type filters: names such as `billing.invoice.v1`, and prefixes such as `billing.%`.

A text without `%` is a name, verbatim. In a text with `%`, one at the end makes the rest a prefix, and `\%`, `\_` and
`\\` mean the second character. An underscore is literal, never "any character".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class TypeFilter:
    """`text` is the whole name, or the prefix of names."""

    text: str
    is_prefix: bool

    @classmethod
    def parse(cls, written: str) -> TypeFilter:
        if not isinstance(written, str) or written == "" or "\0" in written:
            raise ValueError(f"a type must be a string of at least one character, not {written!r}")
        if "%" not in written:
            return cls(written, False)
        name = ""
        at = 0
        while at < len(written):
            character = written[at]
            if character == "%":
                if at == len(written) - 1:
                    return cls(name, True)
                raise ValueError(
                    f"'%' is allowed only at the end of a type: {written!r}; one of the name is written '\\%'"
                )
            if character == "\\":
                at += 1
                if written[at : at + 1] not in ("%", "_", "\\"):
                    raise ValueError(
                        f"a backslash beside a '%' stands before '%', '_' or another backslash: {written!r}"
                    )
            name += written[at]
            at += 1
        return cls(name, False)

    def matches(self, type: str) -> bool:
        return type.startswith(self.text) if self.is_prefix else type == self.text

    def meet(self, other: TypeFilter) -> Optional[TypeFilter]:
        """The types that both match; None if there are none."""
        if other.is_prefix and self.text.startswith(other.text):
            return self
        if self.is_prefix and other.text.startswith(self.text):
            return other
        return self if self == other else None

    def __str__(self) -> str:
        """In the notation of `parse`."""
        if self.is_prefix:
            return self.like
        return _escaped(self.text) if "%" in self.text else self.text

    @property
    def like(self) -> str:
        """The pattern for LIKE, with literal underscores escaped."""
        return _escaped(self.text) + ("%" if self.is_prefix else "")


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)
