"""The behaviour of a worker, over HTTP and by SQL alike."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timezone
from typing import Any, List

from petrel_client import ActiveRun, LeaseLost, NonRetryable, Release, Retryable

from .place import PlaceCase, until


class WorkerContract(PlaceCase):
    def test_executes(self) -> None:
        """passes each run to the handler of its name, else of its longest prefix, and records the result"""
        worker = self.worker(type_prefixes=[f"{self.domain}.%"])
        worker.handle(lambda run: ["any", run.type], f"{self.domain}.%")
        worker.handle(lambda run: ["mail", run.type], f"{self.domain}.mail.%")

        @worker.handler(self.type("mail.welcome"))
        def welcome(run: ActiveRun) -> Any:
            return {"to": run.payload["to"], "attempt": run.attempt, "of": run.max_attempts}

        runs = [self.submit(name, {"to": "ada"}) for name in ("invoice", "mail.other", "mail.welcome")]
        worker.start()
        self.assertEqual(
            [self.ended(run.id).result for run in runs],
            [
                ["any", self.type("invoice")],
                ["mail", self.type("mail.other")],
                {"to": "ada", "attempt": 0, "of": 3},
            ],
        )
        run = self.client.get(runs[2].id)
        self.assertEqual((run.status, run.attempt), ("succeeded", 0))
        self.assertEqual(self.event_types(run.id), ["created", "leased", "started", "succeeded"])

    def test_wakes(self) -> None:
        """notices at once a run that arrives while it waits"""
        worker = self.worker(poll_seconds=3)
        worker.handle(lambda run: 1, self.type("a"))
        worker.start()
        self.ended(self.submit("a").id)
        began = time.monotonic()
        self.ended(self.submit("a").id)
        self.assertLess(time.monotonic() - began, 1.5)

    def test_order(self) -> None:
        """takes the smaller priority first, and nothing before its time"""
        done: List[str] = []
        worker = self.worker(concurrency=1)
        worker.handle(lambda run: done.append(run.payload), self.type("a"))
        self.submit("a", "later", priority=200)
        self.submit("a", "first", priority=1)
        last = self.submit("a", "last", priority=300)
        never = self.submit("a", "never", run_at=datetime(2040, 1, 1, tzinfo=timezone.utc))
        worker.start()
        self.ended(last.id)
        self.assertEqual((done, self.client.get(never.id).status), (["first", "later", "last"], "pending"))

    def test_failure(self) -> None:
        """counts a failed attempt and retries after a minute plus up to 10 %"""
        worker = self.worker()

        @worker.handler(self.type("a"))
        def fails(run: ActiveRun) -> Any:
            raise RuntimeError("no route to \ud800 host\0")

        run = self.submit("a")
        worker.start()
        found = until(lambda: self.client.get(run.id), lambda run: run.attempt == 1)
        self.assertEqual(found.status, "pending")
        self.assertRegex(found.last_error or "", r"RuntimeError: no route to \? host")
        assert found.run_at is not None
        wait = (found.run_at - datetime.now(timezone.utc)).total_seconds()
        self.assertTrue(50 < wait <= 66, wait)
        self.assertEqual(self.event_types(run.id), ["created", "leased", "started", "retried"])

    def test_retryable(self) -> None:
        """retries when the handler requests it, until the attempts are used up"""
        worker = self.worker()

        @worker.handler(self.type("a"))
        def fails(run: ActiveRun) -> Any:
            self.effects.add(run.attempt)
            raise Retryable("busy", code="busy", details={"load": 9}, delay_seconds=0)

        run = self.submit("a", max_attempts=3)
        worker.start()
        found = self.ended(run.id)
        self.assertEqual((found.status, found.attempt, found.last_error), ("failed", 3, "busy"))
        self.assertEqual(self.effects.lines(), ["0", "1", "2"])
        self.assertEqual(
            self.event_types(run.id),
            ["created", *["leased", "started", "retried"] * 2, "leased", "started", "failed"],
        )

    def test_non_retryable(self) -> None:
        """fails for good on NonRetryable errors, and on results that JSON cannot represent"""
        worker = self.worker()

        @worker.handler(self.type("hopeless"))
        def fails(run: ActiveRun) -> Any:
            raise NonRetryable("no such order", details={"odd": object()})

        worker.handle(lambda run: {1, 2}, self.type("set"))
        worker.handle(lambda run: float("inf"), self.type("infinite"))
        worker.handle(lambda run: "nul \0", self.type("nul"))
        runs = [self.submit(name) for name in ("hopeless", "set", "infinite", "nul")]
        worker.start()
        found = [self.ended(run.id) for run in runs]
        self.assertEqual([(run.status, run.attempt) for run in found], [("failed", 1)] * 4)
        self.assertEqual(found[0].last_error, "no such order")
        for run in found[1:]:
            self.assertRegex(run.last_error or "", "the handler's result cannot be recorded: ")

    def test_foreign_types(self) -> None:
        """does not take types without a handler, though its prefix covers them"""
        worker = self.worker(type_prefixes=[f"{self.domain}.%"])
        worker.handle(lambda run: 1, self.type("mine"))
        other = self.submit("other")
        worker.start()
        self.ended(self.submit("mine").id)
        self.assertEqual(self.event_types(other.id), ["created"])

    def test_prefixes(self) -> None:
        """treats escaped underscores, percent signs and backslashes of its prefixes as literal"""
        d = self.domain
        worker = self.worker(type_prefixes=[f"{d}_x.%", f"{d}100\\%.%", f"{d}\\\\b.%"])
        worker.handle(lambda run: run.type, "%")
        near = [self.client.submit(f"{d}{name}.a.v1", None, priority=1) for name in ("yx", "100z", "zb", "\\\\b")]
        ours = [self.client.submit(f"{d}{name}.a.v1", None) for name in ("_x", "100%", "\\b")]
        worker.start()
        for run in ours:
            self.ended(run.id or "")
        self.assertEqual([self.client.get(run.id or "").status for run in near], ["pending"] * 4)

    def test_queues(self) -> None:
        """takes from its queues only"""
        worker = self.worker(queues=[self.domain])
        worker.handle(lambda run: run.queue, f"{self.domain}.%")
        other = self.submit("a", priority=1)
        run = self.submit("a", queue=self.domain)
        worker.start()
        self.assertEqual(self.ended(run.id).result, self.domain)
        self.assertEqual(self.client.get(other.id).status, "pending")

    def test_heartbeat(self) -> None:
        """holds a run by its heartbeats for longer than its lease, and by a handler's own heartbeat"""
        worker = self.worker(lease_seconds=3)

        @worker.handler(self.type("long"))
        def long(run: ActiveRun) -> Any:
            self.effects.add(run.attempt)
            run.heartbeat(2)
            time.sleep(4)
            return run.lost

        run = self.submit("long")
        worker.start()
        found = self.ended(run.id)
        self.assertEqual((found.status, found.attempt, found.result), ("succeeded", 0, False))
        self.assertEqual(self.effects.lines(), ["0"])
        self.assertGreaterEqual(self.event_types(run.id).count("heartbeat"), 3)

    def test_cancel(self) -> None:
        """notifies a handler that its run was cancelled; whatever it does then, the run stays cancelled"""
        worker = self.worker()
        ended = threading.Event()

        @worker.handler(f"{self.domain}.%")
        def patient(run: ActiveRun) -> Any:
            self.effects.add("begin")
            until(run.is_cancelled)
            self.effects.add("cancelled")
            if run.type == self.type("raises"):
                raise RuntimeError("stopped")
            return "too late"

        worker.start()
        for name in ("returns", "raises"):
            run = self.submit(name)
            until(self.effects.lines, lambda lines: lines[-1:] == ["begin"])
            self.client.cancel(run.id)
            until(self.effects.lines, lambda lines: lines[-1:] == ["cancelled"])
            self.ended(run.id)
        worker.stop(5)
        ended.set()
        for run in self.client.list(type=f"{self.domain}.%"):
            self.assertEqual((run.status, run.result), ("cancelled", None))
            self.assertEqual(self.event_types(run.id)[-1], "cancelled")

    def test_lost(self) -> None:
        """learns that its lease is lost, and its result is not recorded"""
        worker = self.worker("late", lease_seconds=1, concurrency=1)
        other = self.worker("other")
        other.handle(lambda run: "second", self.type("a"))
        seen: List[Any] = []

        @worker.handler(self.type("a"))
        def loses(run: ActiveRun) -> Any:
            # As if this process had been suspended: its lease expires, and the run is taken from it.
            worker._heartbeats.remove(run._hold)
            other.start()
            until(lambda: self.client.get(run.id), lambda found: found.attempt == 1)
            try:
                run.heartbeat()
            except LeaseLost as error:
                seen.append((run.lost, run.is_cancelled(), error.run_status in ("pending", "leased", "succeeded")))
            return "first"

        run = self.submit("a")
        worker.start()
        found = self.ended(run.id)
        self.assertEqual((found.status, found.attempt, found.result), ("succeeded", 1, "second"))
        until(lambda: seen)
        self.assertEqual(seen, [(True, False, True)])
        worker.stop(5)
        self.assertEqual(self.client.get(run.id).result, "second")

    def test_stop(self) -> None:
        """lets runs end within the grace period, and returns the others without counting an attempt"""
        let_go = threading.Event()
        self.addCleanup(let_go.set)
        worker = self.worker()

        @worker.handler(f"{self.domain}.%")
        def work(run: ActiveRun) -> Any:
            self.effects.add("begin")
            if run.type == self.type("stuck"):
                let_go.wait(20)
                return "too late"
            until(lambda: run.stopping)
            if run.type == self.type("hands"):
                raise Release()
            return "in time"

        runs = [self.submit(name) for name in ("quick", "hands", "stuck")]
        worker.start()
        until(self.effects.lines, lambda lines: len(lines) == 3)
        worker.stop(1.0)
        found = [self.client.get(run.id) for run in runs]
        self.assertEqual([run.status for run in found], ["succeeded", "pending", "pending"])
        self.assertEqual([run.attempt for run in found], [0, 0, 0])
        self.assertEqual(found[1].leased_by, None)
        let_go.set()
        self.assertEqual(self.event_types(runs[2].id), ["created", "leased", "started", "returned"])

    def test_misuse(self) -> None:
        """refuses invalid handlers and settings"""
        worker = self.worker(type_prefixes=[f"{self.domain}.%"])
        with self.assertRaisesRegex(ValueError, "no handler"):
            worker.start()
        worker.handle(lambda run: 1, "elsewhere.a.v1")
        with self.assertRaisesRegex(ValueError, "no handler takes any"):
            worker.start()
        with self.assertRaisesRegex(ValueError, "already"):
            worker.handle(lambda run: 1, "elsewhere.a.v1")

        async def handler(run: ActiveRun) -> None: ...

        with self.assertRaises(TypeError):
            worker.handle(handler, "a.b.v1")
        with self.assertRaises(ValueError):
            self.worker(lease_seconds=0.1)
        with self.assertRaises(TypeError):
            self.worker(type_prefixes="billing.%")
