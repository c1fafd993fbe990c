"""Guarantees when worker processes are killed and raced, over HTTP and by SQL alike."""

from __future__ import annotations

import signal
from collections import Counter

from .place import PlaceCase, until

ENDED_BY_ANOTHER = ("retried", "leased", "started", "succeeded")


class ProcessContract(PlaceCase):
    def test_killed(self) -> None:
        """a run whose worker is killed with SIGKILL is finished by another, and the attempt is counted"""
        go = self.folder / "go"
        run = self.submit("hold", {"until": str(go)})
        first = self.process("first", lease_seconds=2, concurrency=1)
        until(self.effects.lines)
        first.kill()
        second = self.process("second", lease_seconds=5)
        until(self.effects.lines, lambda lines: len(lines) == 2)
        go.touch()
        found = self.ended(run.id)
        self.assertEqual((found.status, found.attempt, found.result), ("succeeded", 1, {"by": "second"}))
        self.assertEqual(self.effects.lines(), ["begin first 0", "begin second 1", "end second 1"])
        events = [event for event in self.client.events(run.id) if event.type != "heartbeat"]
        types = [event.type for event in events]
        # A claim that took longer than its client would wait is returned before: that does not cost an attempt.
        self.assertEqual((types[:3], types[-3:]), (["created", "leased", "started"], [*ENDED_BY_ANOTHER][1:]))
        self.assertEqual(
            [event.data["error"]["code"] for event in events if event.type == "retried"], ["lease_expired"]
        )
        self.assertEqual(second.terminate(), 0)

    def test_terminated(self) -> None:
        """a worker that gets SIGTERM ends the runs it holds, takes nothing more, and exits with 0"""
        go = self.folder / "go"
        run = self.submit("hold", {"until": str(go)})
        worker = self.process("polite", lease_seconds=5)
        until(self.effects.lines)
        worker.signal()
        # Its stop cannot be observed directly: a stopping worker takes nothing more.
        go.touch()
        self.assertEqual(worker.wait(), 0)
        later = self.submit("count")
        self.assertEqual(self.effects.lines(), ["begin polite 0", "end polite 0", "stopped polite"])
        self.assertEqual(self.client.get(run.id).status, "succeeded")
        self.assertEqual(self.client.get(later.id).status, "pending")

    def test_terminated_stuck(self) -> None:
        """a worker that gets SIGTERM returns runs that exceed its grace period, and another takes them at once"""
        go = self.folder / "go"
        run = self.submit("hold", {"until": str(go)})
        worker = self.process("stuck", lease_seconds=60, grace_seconds=0.3)
        until(self.effects.lines)
        self.assertEqual(worker.terminate(), 0)
        self.assertEqual([self.client.get(run.id).status, self.client.get(run.id).attempt], ["pending", 0])
        go.touch()
        self.process("next")
        self.assertEqual(self.ended(run.id).result, {"by": "next"})

    def test_terminated_twice(self) -> None:
        """a worker that gets SIGTERM again does not wait for the end of its grace period"""
        run = self.submit("hold", {"until": str(self.folder / "never")})
        worker = self.process("hurried", lease_seconds=60, grace_seconds=60)
        until(self.effects.lines)
        until(worker.signalled_to_death)
        # A signal after the worker has stopped finds the process without a handler.
        self.assertIn(worker.wait(), (0, -signal.SIGTERM))
        self.assertEqual([self.client.get(run.id).status, self.client.get(run.id).attempt], ["pending", 0])

    def test_race(self) -> None:
        """four workers on 200 runs execute each of them once"""
        ids = {self.submit("count", n).id for n in range(200)}
        for n in range(4):
            self.process(f"racer-{n}")
        until(lambda: self.client.list(type=self.type("count"), status="pending", limit=1), lambda page: not len(page))
        done = until(self.effects.lines, lambda lines: len(lines) >= 200)
        self.assertEqual(Counter(done), Counter(ids))
        until(lambda: self.client.list(type=self.type("count"), status="leased", limit=1), lambda page: not len(page))
        page = self.client.list(type=self.type("count"), status="succeeded", limit=200)
        self.assertEqual((len(page), {run.attempt for run in page}), (200, {0}))
