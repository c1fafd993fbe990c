"""The client and the worker by SQL, as the least-privileged role. No Petrel process is needed for any of this."""

from __future__ import annotations

import contextlib
from datetime import datetime, timezone
from typing import Any, Iterator

from petrel_client import Conflict, InvalidRequest, Unsupported
from petrel_client.transport import Wanted
from petrel_client.type_filter import TypeFilter

from . import client_contract, process_contract, worker_contract
from .place import DSN, needs_postgres, until


@needs_postgres
class SqlClient(client_contract.ClientContract):
    address = DSN or ""

    @contextlib.contextmanager
    def connection(self, **rest: Any) -> Iterator[Any]:
        import psycopg2

        connection = psycopg2.connect(self.address, **rest)
        try:
            yield connection
        finally:
            connection.close()

    def test_within(self) -> None:
        """submits in the caller's transaction: a rollback leaves nothing, a commit everything"""
        with self.connection() as connection:
            gone = self.client.submit(self.type("a"), 1, idempotency_key=f"tx:{self.domain}", within=connection)
            self.assertTrue(gone.created)
            self.assertEqual(len(self.client.list(type=self.type("a"))), 0)
            connection.rollback()
            with connection, connection.cursor() as cursor:
                kept = self.client.submit(self.type("a"), 2, idempotency_key=f"tx:{self.domain}", within=cursor)
                again = self.client.submit(self.type("a"), 3, idempotency_key=f"tx:{self.domain}", within=cursor)
            self.assertEqual((kept.created, again.created, again.id), (True, False, kept.id))
        self.assertEqual([(run.id, run.payload) for run in self.client.list(type=self.type("a"))], [(kept.id, 2)])
        self.assertEqual(self.event_types(kept.id or ""), ["created"])

    def test_within_refused(self) -> None:
        """leaves a transaction whose submit was refused to the caller"""
        with self.connection() as connection:
            with self.assertRaises(InvalidRequest) as refused:
                self.client.submit("email.send", {}, within=connection)
            self.assertEqual(refused.exception.details["column"], "type")
            self.assertRegex(refused.exception.hint or "", "billing.invoice.v1")
            connection.rollback()
            self.client.submit(self.type("a"), 1, within=connection)
            connection.commit()
        self.assertEqual(len(self.client.list(type=self.type("a"))), 1)

    def test_within_any_cursor(self) -> None:
        """accepts cursors that return mappings or named tuples, and sessions in any time zone"""
        import psycopg2.extras

        for factory in (psycopg2.extras.RealDictCursor, psycopg2.extras.NamedTupleCursor, psycopg2.extras.DictCursor):
            with self.connection(cursor_factory=factory, options="-c timezone=America/New_York") as connection:
                submitted = self.client.submit(self.type("a"), {"x": 1}, within=connection)
                connection.commit()
            assert submitted.run is not None
            self.assertEqual(self.client.get(submitted.run.id), submitted.run)
            self.assertEqual(submitted.run.payload, {"x": 1})

    def test_actor(self) -> None:
        """records which role did what"""
        run = self.submit("a")
        self.client.cancel(run.id)
        with self.connection() as connection:
            role = connection.info.user
        self.assertEqual([event.actor for event in self.client.events(run.id)], [role, role])

    def test_http_only(self) -> None:
        """cannot manage schedules and the registry, and names the connection that can"""
        for name in ("schedules", "registry"):
            with self.assertRaisesRegex(Unsupported, "http://"):
                getattr(self.client, name)

    def test_broken_connections(self) -> None:
        """continues after the server has closed its connections"""
        self.submit("a")
        with self.connection() as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE application_name = 'petrel-client' AND usename = current_user AND pid <> pg_backend_pid()"
            )
            self.assertGreaterEqual(cursor.fetchone()[0], 1)
        self.assertEqual(len(self.client.list(type=self.type("a"))), 1)
        self.submit("a", idempotency_key=f"b:{self.domain}")


@needs_postgres
class SqlWorker(worker_contract.WorkerContract):
    address = DSN or ""

    def claims(self, worker_id: str, **rest: Any) -> Any:
        claims = self.client.transport.claims(
            Wanted(
                **{
                    "worker_id": worker_id,
                    "types": [TypeFilter.parse(f"{self.domain}.%")],
                    "queues": None,
                    "runtime": "python",
                    "lease_seconds": 30.0,
                    "wait_seconds": 0.01,
                    **rest,
                }
            )
        )
        self.addCleanup(claims.close)
        return claims

    def test_exhausted(self) -> None:
        """ends a run whose last attempt was lost, and is not blocked by it"""
        poison = self.submit("poison", max_attempts=1, priority=1)
        [lost] = self.claims("lost", lease_seconds=0.05).take(1)
        self.assertEqual(lost.run.id, poison.id)
        healthy = self.submit("healthy", priority=2)
        until(lambda: lost.run.lease_until, lambda at: at < datetime.now(timezone.utc))
        [claim] = self.claims("next").take(1)
        self.assertEqual(claim.run.id, healthy.id)
        found = self.ended(poison.id)
        self.assertEqual((found.status, found.attempt), ("failed", 1))
        self.assertEqual(self.event_types(poison.id), ["created", "leased", "started", "failed"])

    def test_taken_over(self) -> None:
        """takes over an expired lease, counted as a failed attempt; the late worker changes nothing"""
        run = self.submit("a")
        transport = self.client.transport
        [late] = self.claims("late", lease_seconds=0.05).take(1)
        [claim] = until(lambda: self.claims("next").take(1))
        self.assertEqual((claim.run.id, claim.run.attempt), (run.id, 1))
        self.assertNotEqual(claim.epoch, late.epoch)
        for say in (
            lambda: transport.heartbeat(late, 30),
            lambda: transport.complete(late, "1"),
            lambda: transport.release(late),
        ):
            with self.assertRaises(Conflict) as refused:
                say()
            self.assertEqual(refused.exception.run_status, "leased")
        transport.complete(claim, '"mine"')
        self.assertEqual(self.client.get(run.id).result, "mine")

    def test_statements_by_index(self) -> None:
        """claims along the index of the table, however many runs are pending"""
        from petrel_client.sql.transport import _claim_of

        statement, values = _claim_of(
            Wanted("w", [TypeFilter.parse("billing.%"), TypeFilter.parse("a.b.v1")], ["default"], "python", 30, 1)
        )
        database = self.client.transport._database  # type: ignore[attr-defined]
        rows = database.rows(
            f"SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; EXPLAIN {statement}",
            {**values, "limit": 1, "refused": []},
        )
        plan = "\n".join(row[0] for row in rows)
        self.assertRegex(plan, r"Index Scan using idx_workflow_run_claim on workflow_run c")
        self.assertNotRegex(plan, r"(?m)^\s*->\s*Sort")

    def test_no_listen(self) -> None:
        """finds work by polling where it cannot listen"""
        worker = self.worker(poll_seconds=0.2)
        worker.handle(lambda run: 1, self.type("a"))
        worker.start()
        worker._claims._wake._connect_at = float("inf")  # type: ignore[union-attr]
        until(lambda: worker._claims._wake._connection is not None)  # type: ignore[union-attr]
        worker._claims._wake._connection.close()  # type: ignore[union-attr]
        self.assertEqual(self.ended(self.submit("a").id).status, "succeeded")


@needs_postgres
class SqlProcesses(process_contract.ProcessContract):
    address = DSN or ""
