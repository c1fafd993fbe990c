"""Workers over HTTP and by SQL on one database, beside a server."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from petrel_client import ActiveRun, Client, HandlerFailure, Worker
from petrel_client.transport import Wanted
from petrel_client.type_filter import TypeFilter

from .place import DSN, URL, PlaceCase, needs_both, until


@needs_both
class Together(PlaceCase):
    address = DSN or ""

    def setUp(self) -> None:
        super().setUp()
        self.http = Client(URL or "")
        self.addCleanup(self.http.close)

    def test_either_way(self) -> None:
        """a run inserted by SQL is executed over HTTP, one submitted over HTTP by SQL; both see the same"""
        over_http = Worker(self.http, "over-http", poll_seconds=0.3, type_prefixes=[f"{self.domain}.a.%"])
        by_sql = Worker(self.client, "by-sql", poll_seconds=0.3, type_prefixes=[f"{self.domain}.b.%"])
        for worker in (over_http, by_sql):
            worker.handle(lambda run, by=worker.worker_id: [by, run.payload], "%")
            worker.start()
            self.addCleanup(worker.stop, 0)
        a = self.client.submit(f"{self.domain}.a.v1", 1)
        b = self.http.submit(f"{self.domain}.b.v1", 2)
        self.assertEqual(self.http.wait(a.id or "", timeout=45).result, ["over-http", 1])
        self.assertEqual(self.client.wait(b.id or "", timeout=45).result, ["by-sql", 2])
        for id in (a.id or "", b.id or ""):
            by_sql_seen, over_http_seen = self.client.get(id), self.http.get(id)
            # HTTP has milliseconds.
            for run in (by_sql_seen, over_http_seen):
                for name in ("run_at", "created_at"):
                    at = getattr(run, name)
                    object.__setattr__(run, name, at.replace(microsecond=at.microsecond // 1000 * 1000))
            self.assertEqual(by_sql_seen, over_http_seen)
            self.assertEqual(
                [(event.type, event.data) for event in self.client.events(id)],
                [(event.type, event.data) for event in self.http.events(id)],
            )

    def test_lost_for_ever(self) -> None:
        """a run that was taken by SQL and abandoned is ended by the server"""
        run = self.submit("poison", max_attempts=1)
        claims = self.client.transport.claims(
            Wanted("lost", [TypeFilter.parse(f"{self.domain}.%")], None, "python", 0.2, 0.01)
        )
        self.addCleanup(claims.close)
        self.assertEqual(len(until(lambda: claims.take(1))), 1)
        found = self.ended(run.id)
        self.assertEqual((found.status, found.attempt), ("failed", 1))

    def test_chain(self) -> None:
        """the steps of a chain are executed by SQL and over HTTP, and each begins when the previous one has ended"""
        by_sql = Worker(self.client, poll_seconds=0.3)
        over_http = Worker(self.http, poll_seconds=0.3)

        @by_sql.handler(f"{self.domain}.first")
        def first(run: ActiveRun) -> Any:
            return {"got": run.payload}

        @over_http.handler(f"{self.domain}.second")
        def second(run: ActiveRun) -> Any:
            return {"before": run.parent_results}

        for worker in (by_sql, over_http):
            worker.start()
            self.addCleanup(worker.stop, 0)
        steps = [{"type": f"{self.domain}.first", "args": [1]}, {"type": f"{self.domain}.second", "args": []}]
        id = self.ojs("/workflows", {"type": "chain", "steps": steps})["id"]
        found = until(lambda: self.ojs(f"/workflows/{id}"), lambda found: found["state"] not in ("pending", "running"))
        self.assertEqual(found["state"], "completed")
        self.assertEqual(found["steps"][0]["result"], {"got": [1]})
        self.assertEqual(list(found["steps"][1]["result"]["before"].values()), [{"got": [1]}])

    def test_category(self) -> None:
        """the category of a step's error is stored, by SQL and over HTTP, and it is not retried"""
        for client in (self.client, self.http):
            name = f"{self.domain}.forbidden"
            worker = Worker(client, poll_seconds=0.3)

            @worker.handler(name)
            def forbidden(run: ActiveRun) -> Any:
                if run.payload == ["own"]:
                    error = ValueError("not allowed")
                    error.category = "governance"  # type: ignore[attr-defined]
                    raise error
                raise HandlerFailure("not allowed", code="pii", category="governance", details={"rule": 7})

            worker.start()
            policy = {"max_attempts": 1}
            for args in (["own"], ["classed"]):
                steps = [{"type": name, "args": args, "options": {"retry": policy}}]
                id = self.ojs("/workflows", {"type": "chain", "steps": steps})["id"]
                found = until(lambda: self.ojs(f"/workflows/{id}"), lambda it: it["state"] not in ("pending", "running"))
                run = self.http.get(found["steps"][0]["job_id"])
                error = run.error or {}
                self.assertEqual((run.status, run.attempt, error.get("category")), ("failed", 1, "governance"))
                self.assertRegex(run.last_error or "", "^(ValueError: )?not allowed$")
                self.assertEqual(error["details"], {"type": "ValueError"} if args == ["own"] else {"rule": 7})
            worker.stop(0)

    def ojs(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{URL}/ojs/v1{path}", data, {"Content-Type": "application/openjobspec+json"})
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)
