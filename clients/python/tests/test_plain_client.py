"""A client independent of Petrel, as the least-privileged role, beside a server.

Its assumptions hold, and its mistakes do no harm.
"""

from __future__ import annotations

import datetime
import threading
from collections import Counter
from typing import Any, List

from .place import DSN, PlaceCase, needs_both, until
from .plain_sql import PlainSql


@needs_both
class PlainClient(PlaceCase):
    address = DSN or ""

    def setUp(self) -> None:
        super().setUp()
        self.plain = PlainSql(self.address, "plain-1")
        self.prefix = f"{self.domain}.%"

    def claim(self, plain: Any = None) -> Any:
        return (plain or self.plain).claim(self.prefix, "other.%")

    def test_whole_life(self) -> None:
        """produces once per key, claims by prefix, sends heartbeats and completes; each event is recorded once"""
        id = self.plain.submit(self.type("invoice"), {"order": 7}, f"k:{self.domain}")
        self.assertEqual(self.plain.submit(self.type("invoice"), {"order": 8}, f"k:{self.domain}"), "")
        self.assertEqual(self.plain.depth(self.prefix), 1)
        self.assertEqual(self.claim(), (id, self.type("invoice"), {"order": 7}, 0, 3))
        self.assertIsNone(self.claim())
        self.assertEqual(self.plain.heartbeat(id), 1)
        self.assertFalse(self.plain.is_cancelled(id))
        self.plain.succeed(id, {"paid": True})
        self.assertEqual(self.plain.heartbeat(id), 0)
        with self.assertRaises(ValueError):
            self.plain.cancel(id)
        run = self.client.get(id)
        self.assertEqual((run.status, run.result, run.leased_by), ("succeeded", {"paid": True}, None))
        self.assertEqual(self.plain.events(id), ["created", "leased", "started", "heartbeat", "succeeded"])
        self.assertEqual(self.event_types(id), ["created", "leased", "started", "heartbeat", "succeeded"])

    def test_failures(self) -> None:
        """fails three times, with delays of one minute², and then for good"""
        id = self.plain.submit(self.type("a"), {})
        for failures in (1, 2, 3):
            claimed = self.claim()
            self.assertEqual(claimed[3], failures - 1)
            self.plain.fail(claimed, f"no {failures}")
            run = self.client.get(id)
            self.assertEqual((run.attempt, run.last_error), (failures, f"no {failures}"))
            if failures < 3:
                assert run.run_at is not None
                wait = (run.run_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 60
                self.assertTrue(failures**2 - 0.2 < wait < failures**2 * 1.1 + 0.1, wait)
                self.assertIsNone(self.claim())
                self.plain._run("UPDATE workflow_run SET run_at = NOW() WHERE id = %s", (id,))
        self.assertEqual(self.client.get(id).status, "failed")
        story = ["leased", "started", "retried"]
        self.assertEqual(self.plain.events(id), ["created", *story, *story, "leased", "started", "failed"])

    def test_cancel_sticks(self) -> None:
        """a cancel during the run is final, whether its worker fails or completes afterwards"""
        for end in ("fail", "succeed"):
            id = self.plain.submit(self.type(end), {})
            claimed = self.claim()
            self.plain.cancel(id)
            self.assertTrue(self.plain.is_cancelled(id))
            if end == "fail":
                self.plain.fail(claimed, "stopped")
            else:
                self.plain.succeed(id, "too late")
            run = self.client.get(id)
            self.assertEqual((run.status, run.attempt, run.result), ("cancelled", 0, None))
            self.assertEqual(self.plain.events(id), ["created", "leased", "started", "cancelled"])

    def test_crash(self) -> None:
        """a run whose worker vanished is taken again, though these workers never check for expired leases"""
        id = self.plain.submit(self.type("a"), {})
        late = self.claim(PlainSql(self.address, "late", lease_seconds=0))
        again = until(self.claim)
        self.assertEqual((again[0], again[3]), (id, 1))
        # The late worker reports an attempt that is counted already.
        self.plain.fail(late, "late")
        run = self.client.get(id)
        self.assertEqual((run.status, run.attempt, run.leased_by), ("leased", 1, "plain-1"))
        self.plain.succeed(id, "again")
        self.plain.succeed(id, "late")
        self.assertEqual(self.client.get(id).result, "again")
        self.assertEqual(
            self.plain.events(id),
            ["created", "leased", "started", "retried", "leased", "started", "succeeded"],
        )

    def test_later(self) -> None:
        """a run scheduled by the local clock is due at that time"""
        id = self.plain.submit(self.type("a"), {}, run_in=3600)
        self.assertIsNone(self.claim())
        run = self.client.get(id)
        assert run.run_at is not None
        wait = run.run_at - datetime.datetime.now(datetime.timezone.utc)
        self.assertLess(abs(wait.total_seconds() - 3600), 60)

    def test_schedule(self) -> None:
        """fires a schedule in parallel with the server, and its run is submitted once"""
        type = self.type("nightly")
        self.plain._run(
            "INSERT INTO workflow_schedule (type, payload, schedule, timezone, next_run_at)"
            " VALUES (%s, %s, %s, %s, %s)",
            (type, "{}", "0 3 * * *", "UTC", datetime.datetime.now() - datetime.timedelta(seconds=1)),
        )
        tickers = [threading.Thread(target=self.plain.tick, args=(type,)) for _ in range(3)]
        for ticker in tickers:
            ticker.start()
        for ticker in tickers:
            ticker.join()
        page = until(lambda: self.client.list(type=type), len)
        self.assertEqual(len(page), 1)
        self.assertRegex(page[0].idempotency_key or "", r"^schedule:[0-9a-f-]{36}:\d+$")
        self.assertEqual(self.event_types(page[0].id), ["created"])

    def test_pollers(self) -> None:
        """four pollers on 24 runs execute each once"""
        ids = [self.plain.submit(self.type("a"), n) for n in range(24)]
        done: List[str] = []

        def poll(n: int) -> None:
            plain = PlainSql(self.address, f"poller-{n}")
            while True:
                claimed = self.claim(plain)
                if claimed is None:
                    return
                done.append(claimed[0])
                plain.succeed(claimed[0], n)

        pollers = [threading.Thread(target=poll, args=(n,)) for n in range(4)]
        for poller in pollers:
            poller.start()
        for poller in pollers:
            poller.join()
        self.assertEqual(Counter(done), Counter(ids))
        page = self.client.list(type=self.type("a"), status="succeeded", limit=200)
        self.assertEqual((len(page), {run.attempt for run in page}), (24, {0}))
