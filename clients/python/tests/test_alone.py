"""Tests that need neither Petrel's server nor its database."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
import unittest
from typing import Any, Dict

from petrel_client import (
    ActiveRun,
    Client,
    Conflict,
    Denied,
    InvalidRequest,
    NotFound,
    PetrelError,
    Unavailable,
    Worker,
)
from petrel_client.backoff import retry_delay_seconds
from petrel_client.http.exchange import _readable
from petrel_client.type_filter import TypeFilter

from .fake_server import NOTHING, Answer, Asked, FakeServer, error
from .place import until

RUN = {
    "id": "019a8b2c-0000-7000-8000-000000000000",
    "type": "billing.invoice.v1",
    "payload": {"order": 7},
    "status": "pending",
    "priority": 100,
    "run_at": "2030-01-01T00:00:00.123Z",
    "idempotency_key": None,
    "attempt": 0,
    "max_attempts": 3,
    "created_at": "2030-01-01T00:00:00Z",
    "queue": "default",
    "a_field_of_the_future": True,
}
CREATED = Answer(201, {"id": RUN["id"], "created": True, "run": RUN})


class Filters(unittest.TestCase):
    def test_parse(self) -> None:
        r"""a filter is a name, or a prefix that ends in %; \%, \_ and \\ are literal"""
        for written, text, is_prefix in (
            ("billing.invoice.v1", "billing.invoice.v1", False),
            ("billing.%", "billing.", True),
            ("%", "", True),
            ("a_b.%", "a_b.", True),
            (r"a\_b.%", "a_b.", True),
            (r"100\%.%", "100%.", True),
            (r"100\%", "100%", False),
            (r"back\slash", r"back\slash", False),
            (r"back\\slash.%", "back\\slash.", True),
        ):
            with self.subTest(written):
                filter = TypeFilter.parse(written)
                self.assertEqual((filter.text, filter.is_prefix), (text, is_prefix))
                self.assertEqual(TypeFilter.parse(str(filter)), filter)
        for wrong in ("", "a%b", "%%", "a\\b.%", "%\\", "nul\0"):
            with self.subTest(wrong), self.assertRaises(ValueError):
                TypeFilter.parse(wrong)

    def test_meet(self) -> None:
        """the intersection of two filters is the narrower one, or nothing"""
        for one, other, both in (
            ("billing.%", "billing.invoice.v1", "billing.invoice.v1"),
            ("billing.%", "billing.eu.%", "billing.eu.%"),
            ("billing.%", "mail.%", None),
            ("a.v1", "a.v1", "a.v1"),
            ("a.v1", "a.v11", None),
            ("%", "mail.%", "mail.%"),
        ):
            for left, right in ((one, other), (other, one)):
                meet = TypeFilter.parse(left).meet(TypeFilter.parse(right))
                self.assertEqual(None if meet is None else str(meet), both)

    def test_backoff(self) -> None:
        """a run waits attempt² minutes plus up to 10 %"""
        for attempt, minutes in ((1, 1), (2, 4), (3, 9)):
            delays = [retry_delay_seconds(attempt) / 60 for _ in range(1000)]
            self.assertTrue(all(minutes <= delay <= minutes * 1.1 for delay in delays))
            self.assertGreater(max(delays) - min(delays), minutes * 0.05)


class Requests(unittest.TestCase):
    def serve(self, *answers: Any, **rest: Any) -> FakeServer:
        server = FakeServer(*answers, **rest)
        self.addCleanup(server.close)
        return server

    def client(self, server: FakeServer, **rest: Any) -> Client:
        client = Client(server.url, **rest)
        self.addCleanup(client.close)
        return client

    def test_keep_alive(self) -> None:
        """requests of one thread share a connection, and a closed one is replaced transparently"""
        server = self.serve(*[Answer(body={"run": RUN})] * 5, Answer(body={"run": RUN}, hang_up=True))
        client = self.client(server, retries=0)
        for _ in range(6):
            client.get("x")
        self.assertEqual(server.connections, 1)
        [connection] = client._exchange._pool._idle  # type: ignore[union-attr]
        until(lambda: _readable(connection._inner.sock))
        server._answers = [CREATED]
        client.submit("a.v1", 1)
        self.assertEqual(server.connections, 2)

    def test_retries(self) -> None:
        """a repeatable request is sent again when there is no response or the server is busy"""
        server = self.serve(NOTHING, error(503, "unavailable", True), error(429, "rate_limited", True), CREATED)
        submitted = self.client(server).submit("a.v1", {"x": 1}, idempotency_key="k")
        self.assertEqual((submitted.created, len(server.asked)), (True, 4))
        self.assertTrue(all(asked.body == server.asked[0].body for asked in server.asked))
        self.assertEqual(server.asked[0].body, {"type": "a.v1", "payload": {"x": 1}, "idempotency_key": "k"})

    def test_sent_once(self) -> None:
        """a submit without a key is sent once, whatever happens"""
        for answer in (NOTHING, error(503, "unavailable", True)):
            server = self.serve(answer, CREATED)
            with self.assertRaises(Unavailable):
                self.client(server).submit("a.v1", {})
            self.assertEqual(len(server.asked), 1)

    def test_retry_after(self) -> None:
        """waits as long as Retry-After requires, and leaves long waits to the caller"""
        server = self.serve(Answer(429, None, (("Retry-After", "1"),)), Answer(body={"run": RUN}))
        began = time.monotonic()
        self.client(server).get("x")
        self.assertGreaterEqual(time.monotonic() - began, 1)
        server = self.serve(Answer(503, None, (("Retry-After", "3600"),)))
        with self.assertRaises(Unavailable) as refused:
            self.client(server).get("x")
        self.assertEqual((refused.exception.retry_after, len(server.asked)), (3600, 1))

    def test_gives_up(self) -> None:
        """gives up after its retries and names the unreachable server"""
        server = self.serve(otherwise=lambda asked: NOTHING)
        with self.assertRaisesRegex(Unavailable, f"{server.url} does not answer"):
            self.client(server, retries=2).get("x")
        self.assertEqual(len(server.asked), 3)
        with self.assertRaises(Unavailable):
            Client("http://127.0.0.1:9", retries=0).get("x")
        slow = self.serve(otherwise=lambda asked: time.sleep(1) or Answer())  # type: ignore[func-returns-value]
        with self.assertRaises(Unavailable):
            self.client(slow, retries=0, timeout=0.1).get("x")

    def test_errors(self) -> None:
        """the class of an error indicates the remedy, its fields contain the server's reply"""
        for status, kind in (
            (400, InvalidRequest),
            (401, Denied),
            (403, Denied),
            (404, NotFound),
            (409, Conflict),
            (413, InvalidRequest),
            (422, InvalidRequest),
            (500, PetrelError),
        ):
            with self.subTest(status), self.assertRaises(kind) as raised:
                self.client(self.serve(error(status, "word", path="type")), retries=0).get("x")
            wrong = raised.exception
            self.assertEqual((wrong.code, wrong.status, wrong.details), ("word", status, {"path": "type"}))
            self.assertEqual(str(wrong), "word! (do better)")
        with self.assertRaisesRegex(PetrelError, "HTTP 404"):
            self.client(self.serve(Answer(404, None))).get("x")

    def test_cancel_twice(self) -> None:
        """a cancel whose response was lost is not mistaken for another client's"""
        done = {**RUN, "status": "cancelled"}
        server = self.serve(NOTHING, error(409, "conflict", status="cancelled"), Answer(body={"run": done}))
        self.assertEqual(self.client(server).cancel("x").status, "cancelled")
        with self.assertRaises(Conflict):
            self.client(self.serve(error(409, "conflict", status="cancelled"))).cancel("x")

    def test_key_and_path(self) -> None:
        """sends its key, and keeps the path of the base URL"""
        server = self.serve(Answer(body={"run": RUN}))
        with Client(f"{server.url}/petrel/", key="secret") as client:
            client.get("a/b")
        self.assertEqual(server.asked[0].path, "/petrel/v1/runs/a%2Fb")
        self.assertEqual(server.asked[0].headers["Authorization"], "Bearer secret")

    def test_fork(self) -> None:
        """a forked process opens new connections"""
        server = self.serve(otherwise=lambda asked: Answer(body={"run": RUN}))
        client = self.client(server)
        client.get("x")
        pid = os.fork()
        if pid == 0:
            try:
                client.get("x")
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        client.get("x")
        self.assertEqual((server.connections, len(server.asked)), (2, 3))

    def test_addresses(self) -> None:
        """refuses invalid addresses"""
        for url in ("http://", "sqlite:petrel.db"):
            with self.subTest(url), self.assertRaises(ValueError):
                Client(url)

    def test_standard_library(self) -> None:
        """needs only the standard library over HTTP, and names the missing driver for SQL"""
        source = pathlib.Path(__file__).parent.parent / "src"
        code = f"""
import sys; sys.path.insert(0, {str(source)!r})
import petrel_client
petrel_client.Client("http://127.0.0.1:9")
try:
    petrel_client.Client("postgresql://localhost/app")
except petrel_client.MissingDriver as error:
    print(error)
"""
        # -S: only the packages that come with Python
        reported = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
        self.assertRegex(reported.stdout, "needs psycopg2 to work by SQL .*python3-psycopg2")


class Reports(unittest.TestCase):
    """A worker whose server shows rare behaviour."""

    def work(self, replies: Dict[str, Any], type: str = "billing.invoice.v1", **options: Any) -> FakeServer:
        """One run is handed out; `replies` are those of its reports, by the last part of their path. The last one is
        repeated.
        """
        claim = {**RUN, "type": type, "status": "leased", "epoch": 4, "parent_results": None}
        handed = []

        def answer(asked: Asked) -> Any:
            word = asked.path.rpartition("/")[2]
            if word == "claim":
                if handed:
                    time.sleep(0.02)
                    return Answer(body={"runs": []})
                handed.append(True)
                return Answer(body={"runs": [claim]})
            left = replies[word]
            reply = left.pop(0) if len(left) > 1 else left[0]
            return reply(asked) if callable(reply) else reply

        server = FakeServer(otherwise=answer)
        self.addCleanup(server.close)
        client = Client(server.url)
        self.addCleanup(client.close)
        handler = options.pop("handler", lambda run: [run.payload["order"]])
        worker = Worker(client, "w", type_prefixes=["billing.%"], poll_seconds=0, **options)
        worker.handle(handler, "billing.invoice.v1")
        worker.start()
        self.addCleanup(worker.stop, 5)
        return server

    def reported(self, server: FakeServer, count: int) -> list:
        reports = until(
            lambda: [asked for asked in server.asked if not asked.path.endswith("/claim")],
            lambda found: len(found) >= count,
        )
        return [(asked.path.rpartition("/")[2], asked.body) for asked in reports]

    def test_reports_again(self) -> None:
        """repeats the report of a result until it is answered"""
        server = self.work({"complete": [NOTHING, error(503, "unavailable", True), Answer(body={"run": RUN})]})
        body = {"worker_id": "w", "epoch": 4, "result": [7]}
        self.assertEqual(self.reported(server, 3), [("complete", body)] * 3)

    def test_lost(self) -> None:
        """reports nothing more about a run that it has lost"""
        server = self.work({"complete": [error(409, "conflict", status="leased")]})
        self.reported(server, 1)
        until(lambda: len([path for path in server.paths() if path.endswith("/claim")]), lambda claims: claims > 3)
        self.assertEqual(len(self.reported(server, 1)), 1)

    def test_no_handler(self) -> None:
        """returns a run without a handler, instead of failing it"""
        server = self.work({"release": [Answer(body={"run": RUN})]}, type="billing.refund.v1")
        self.assertEqual(self.reported(server, 1), [("release", {"worker_id": "w", "epoch": 4})])

    def test_unstorable(self) -> None:
        """fails a run whose result the server refuses"""
        server = self.work({"complete": [error(413, "payload_too_large")], "fail": [Answer(body={"run": RUN})]})
        [_, (word, body)] = self.reported(server, 2)
        self.assertEqual((word, body["retryable"], body["error"]["code"]), ("fail", False, "invalid_result"))

    def test_log(self) -> None:
        """logs lines under its lease, many with one request"""

        def charge(run: ActiveRun) -> None:
            run.log("charged", level="warn", fields={"amount": 20})
            run.log_lines([{"text": "printed", "stream": "stdout"}] * 501)

        stored = Answer(body={"stored": 1})
        server = self.work(
            {"log": [stored, stored, stored], "complete": [Answer(body={"run": RUN})]}, handler=charge
        )
        first, second, third, _ = self.reported(server, 4)
        lines = [{"text": "charged", "level": "warn", "fields": {"amount": 20}}]
        self.assertEqual(first, ("log", {"worker_id": "w", "epoch": 4, "lines": lines}))
        self.assertEqual([len(body["lines"]) for _, body in (second, third)], [500, 1])

    def test_own_heartbeat(self) -> None:
        """does not shorten a lease that the handler has extended"""
        beats: list = []

        def long(run: ActiveRun) -> None:
            run.heartbeat(300)
            until(lambda: len(beats), lambda count: count > 1)

        def answer(asked: Asked) -> Answer:
            beats.append(asked.body["lease_seconds"])
            return Answer(body={"status": "leased", "cancel_requested": False})

        server = self.work(
            {"heartbeat": [answer], "complete": [Answer(body={"run": RUN})]}, handler=long, lease_seconds=1
        )
        self.reported(server, 3)
        self.assertTrue(all(290 < seconds <= 300 for seconds in beats), beats)
