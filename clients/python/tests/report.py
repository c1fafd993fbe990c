"""Runs test modules and prints a line of JSON as each test ends. `--list`: only lists them.

python3 -m tests.report [--list] tests.test_http …
"""

from __future__ import annotations

import json
import logging
import sys
import unittest
from typing import Any, Iterator, List


def tests_in(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_in(item)
        else:
            yield item


def say(test: Any, outcome: str, text: str = "") -> None:
    print(json.dumps({"id": test.id(), "title": test.shortDescription(), "outcome": outcome, "text": text}), flush=True)


class Lines(unittest.TestResult):
    """A test whose subtests failed has failed; it is reported once."""

    def __init__(self) -> None:
        super().__init__()
        self._wrong: List[str] = []

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._wrong = []
        self._skipped = ""

    def addFailure(self, test: Any, error: Any) -> None:
        super().addFailure(test, error)
        self._wrong.append(self.failures[-1][1])

    def addError(self, test: Any, error: Any) -> None:
        super().addError(test, error)
        self._wrong.append(self.errors[-1][1])

    def addSubTest(self, test: Any, subtest: Any, error: Any) -> None:
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._wrong.append(f"{subtest}: {self._exc_info_to_string(error, test)}")  # type: ignore[attr-defined]

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._skipped = reason

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        if self._wrong:
            say(test, "failed", "\n".join(self._wrong))
        else:
            say(test, "skipped" if self._skipped else "passed", self._skipped)


if __name__ == "__main__":
    listing = sys.argv[1] == "--list"
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[2 if listing else 1 :])
    if listing:
        for test in tests_in(suite):
            say(test, "listed")
    else:
        logging.basicConfig(level=logging.ERROR)
        suite.run(Lines())
