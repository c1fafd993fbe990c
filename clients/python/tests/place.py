"""The environment of the tests, and shared helpers: unique types, effects on disk, worker processes, waiting."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from typing import Any, Callable, List, Optional, TypeVar

from petrel_client import Client, PetrelError, Run, Submitted, Worker

URL = os.environ.get("PETREL_TEST_URL")
DSN = os.environ.get("PETREL_TEST_DSN")

T = TypeVar("T")

needs_server = unittest.skipIf(URL is None, "needs PETREL_TEST_URL")
needs_postgres = unittest.skipIf(DSN is None, "needs PETREL_TEST_DSN")
needs_both = unittest.skipIf(URL is None or DSN is None, "needs PETREL_TEST_URL and PETREL_TEST_DSN")


def until(look: Callable[[], T], wanted: Callable[[T], Any] = bool, seconds: float = 45.0) -> T:
    """Polls until the condition is true."""
    give_up_at = time.monotonic() + seconds
    while True:
        found = look()
        if wanted(found):
            return found
        if time.monotonic() > give_up_at:
            raise AssertionError(f"not as wanted within {seconds} s: {found!r}")
        time.sleep(0.02)


class Effects:
    """Lines that handlers append to a file, in any process."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def add(self, *words: object) -> None:
        line = " ".join(str(word) for word in words) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def lines(self) -> List[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


class PlaceCase(unittest.TestCase):
    """Each test has unique types, so that all can share one server. `address` is HTTP or SQL."""

    address: str

    def setUp(self) -> None:
        self.client = Client(self.address)
        self.addCleanup(self.client.close)
        self.domain = f"t{uuid.uuid4().hex[:10]}"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.effects = Effects(self.folder / "effects")

    def type(self, name: str) -> str:
        return f"{self.domain}.{name}.v1"

    def submit(self, name: str, payload: Any = None, **rest: Any) -> Run:
        submitted: Submitted = self.client.submit(self.type(name), payload, **rest)
        assert submitted.run is not None
        return submitted.run

    def worker(self, worker_id: Optional[str] = None, **rest: Any) -> Worker:
        """Not started. Stopped at the end of the test at the latest."""
        worker = Worker(self.client, worker_id, **{"poll_seconds": 0.3, **rest})
        self.addCleanup(self._stop, worker)
        return worker

    def _stop(self, worker: Worker) -> None:
        # The test itself reports why it failed.
        with contextlib.suppress(PetrelError):
            worker.stop(0)

    def process(self, worker_id: str, **settings: Any) -> WorkerProcess:
        process = WorkerProcess(
            {
                "url": self.address,
                "worker_id": worker_id,
                "domain": self.domain,
                "effects": str(self.effects.path),
                "poll_seconds": 0.3,
                **settings,
            }
        )
        self.addCleanup(process.kill)
        return process

    def ended(self, id: str, seconds: float = 45.0) -> Run:
        return self.client.wait(id, timeout=seconds)

    def event_types(self, id: str) -> List[str]:
        return [event.type for event in self.client.events(id)]


class WorkerProcess:
    """worker_process.py with these settings."""

    def __init__(self, settings: Any) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "tests.worker_process", json.dumps(settings)],
            cwd=pathlib.Path(__file__).parent.parent,
            # Open as long as this process runs.
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def kill(self) -> None:
        """SIGKILL: it stops at once."""
        self._popen.kill()
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stderr):
            if stream is not None:
                stream.close()

    def terminate(self) -> int:
        """SIGTERM, and its exit code."""
        self._popen.send_signal(signal.SIGTERM)
        return self.wait()

    def signal(self) -> None:
        self._popen.send_signal(signal.SIGTERM)

    def signalled_to_death(self) -> bool:
        """Another SIGTERM, and whether the process has ended."""
        self.signal()
        return self._popen.poll() is not None

    def wait(self, seconds: float = 45.0) -> int:
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            assert self._popen.stderr is not None
            raise AssertionError(f"still there: {self._popen.stderr.read()!r}") from None
