"""The behaviour of the client, over HTTP and by SQL alike."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from petrel_client import Conflict, InvalidRequest, NotFound

from .place import PlaceCase


class ClientContract(PlaceCase):
    def test_submit_and_get(self) -> None:
        """submits a run with the defaults of the table and returns it"""
        payload = {"order": 7, "lines": [1.5, None, True, "ü 🐦"], "big": 2**53}
        submitted = self.client.submit(self.type("invoice"), payload)
        self.assertTrue(submitted.created)
        run = self.client.get(submitted.id or "")
        self.assertEqual(submitted.run, run)
        self.assertEqual(run.payload, payload)
        self.assertEqual(
            (run.type, run.status, run.priority, run.attempt, run.max_attempts, run.queue, run.result, run.ended),
            (self.type("invoice"), "pending", 100, 0, 3, "default", None, False),
        )
        assert run.run_at is not None and run.created_at is not None
        self.assertLess(abs(run.run_at - datetime.now(timezone.utc)), timedelta(minutes=1))

    def test_submit_with_everything(self) -> None:
        """submits key, priority, time, attempts and queue"""
        at = datetime(2031, 5, 17, 9, 30, tzinfo=timezone(timedelta(hours=2)))
        run = self.submit(
            "invoice", [1, 2], idempotency_key=f"k:{self.domain}", priority=7, run_at=at, max_attempts=9, queue="slow"
        )
        self.assertEqual(
            (run.payload, run.idempotency_key, run.priority, run.run_at, run.max_attempts, run.queue),
            ([1, 2], f"k:{self.domain}", 7, at, 9, "slow"),
        )

    def test_same_key(self) -> None:
        """adds nothing for a used key, and returns the run that has it"""
        first = self.client.submit(self.type("invoice"), {"n": 1}, idempotency_key=f"once:{self.domain}")
        second = self.client.submit(self.type("invoice"), {"n": 2}, idempotency_key=f"once:{self.domain}")
        self.assertEqual((first.created, second.created), (True, False))
        self.assertEqual(second.id, first.id)
        assert second.run is not None
        self.assertEqual((second.run.type, second.run.payload), (self.type("invoice"), {"n": 1}))
        self.assertEqual(self.event_types(first.id or ""), ["created"])

    def test_refusals(self) -> None:
        """reports mistakes in a run, and adds nothing"""
        for wrong, words in (
            ({"type": "email.send"}, "type"),
            ({"type": self.type("a"), "max_attempts": 0}, "max_attempts"),
            ({"type": self.type("a"), "idempotency_key": "k" * 513}, "idempotency_key"),
            ({"type": self.type("a"), "queue": ""}, "queue"),
            ({"type": self.type("a"), "priority": 2**40}, "priority|integer out of range"),
            ({"type": self.type("a"), "payload": "nul \0"}, "payload|Unicode"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex(InvalidRequest, words):
                self.client.submit(**{"payload": {}, **wrong})  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "time zone"):
            self.submit("a", run_at=datetime(2030, 1, 1))
        for payload in ({1, 2}, float("nan"), object()):
            with self.assertRaises((TypeError, ValueError)):
                self.submit("a", payload)
        self.assertEqual(len(self.client.list(type=f"{self.domain}.%")), 0)

    def test_list(self) -> None:
        """lists newest first, by type, prefix, status, key and queue, page by page"""
        runs = [self.submit(f"n{n % 2}", n, queue=self.domain) for n in range(5)]
        newest = [run.id for run in reversed(runs)]

        def ids(**rest: object) -> list:
            return [run.id for run in self.client.list(**rest)]  # type: ignore[arg-type]

        self.assertEqual(ids(type=f"{self.domain}.%"), newest)
        self.assertEqual(ids(queue=self.domain), newest)
        self.assertEqual(ids(type=self.type("n1")), [runs[3].id, runs[1].id])
        self.client.cancel(runs[2].id)
        self.assertEqual(ids(queue=self.domain, status="cancelled"), [runs[2].id])
        keyed = self.submit("n0", idempotency_key=f"l:{self.domain}")
        self.assertEqual(ids(idempotency_key=f"l:{self.domain}"), [keyed.id])
        self.assertEqual(ids(queue=self.domain, deleted=True), [])

        paged, before = [], None
        while True:
            page = self.client.list(queue=self.domain, limit=2, before=before)
            paged.append([run.id for run in page])
            before = page.next_before
            if before is None:
                break
        self.assertEqual(paged, [newest[:2], newest[2:4], newest[4:]])
        with self.assertRaises(InvalidRequest):
            self.client.list(before="nonsense")
        with self.assertRaises(ValueError):
            self.client.list(limit=0)

    def test_wild_characters(self) -> None:
        """treats an underscore and an escaped percent sign of a prefix as literal"""
        self.domain = f"t_{self.domain}"
        self.submit("a")
        self.client.submit(self.type("a").replace("_", "x"), None)
        self.client.submit(f"{self.domain}100%.b.v1", None)

        def types(filter: str) -> list:
            return sorted(run.type for run in self.client.list(type=filter))

        self.assertEqual(types(f"{self.domain}.%"), [self.type("a")])
        self.assertEqual(types(f"{self.domain}%"), [self.type("a"), f"{self.domain}100%.b.v1"])
        self.assertEqual(types(f"{self.domain}100\\%.%"), [f"{self.domain}100%.b.v1"])
        with self.assertRaisesRegex(ValueError, "only at the end"):
            types("%.v1")

    def test_cancel(self) -> None:
        """cancels a pending run, once"""
        run = self.submit("invoice")
        self.assertEqual(self.client.cancel(run.id).status, "cancelled")
        with self.assertRaises(Conflict) as refused:
            self.client.cancel(run.id)
        self.assertEqual(refused.exception.run_status, "cancelled")
        events = self.client.events(run.id)
        self.assertEqual([event.type for event in events], ["created", "cancelled"])
        self.assertTrue(all(event.at.tzinfo is timezone.utc for event in events))

    def test_unknown(self) -> None:
        """finds no run by an unknown id"""
        for id in ("019a8b2c-0000-7000-8000-000000000000", "nonsense"):
            for ask in (self.client.get, self.client.events, self.client.cancel):
                with self.subTest(f"{ask.__name__} {id}"), self.assertRaises(NotFound):
                    ask(id)

    def test_wait(self) -> None:
        """waits for the end of a run, up to the given time"""
        run = self.submit("invoice")
        with self.assertRaisesRegex(TimeoutError, "pending"):
            self.client.wait(run.id, timeout=0.2)
        self.client.cancel(run.id)
        self.assertTrue(self.client.wait(run.id, timeout=5).ended)
