"""A client like those written for these tables before Petrel: psycopg2, a new connection for every statement, the
schema only as search_path, times of the local clock without a zone, and no condition on reports.

It represents existing clients, which ignore newer features.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import random
import uuid
from typing import Any, Iterator, List, Optional, Sequence, Tuple

Claimed = Tuple[str, str, Any, int, int]


class PlainSql:
    def __init__(self, dsn: str, worker_id: str = "plain", lease_seconds: int = 30) -> None:
        self.dsn = dsn
        self.worker_id = worker_id
        self.lease_seconds = lease_seconds

    def submit(
        self,
        type: str,
        payload: Any,
        key: Optional[str] = None,
        priority: int = 100,
        max_attempts: int = 3,
        run_in: float = 0,
    ) -> str:
        """The new run's id, or "" if the key is used."""
        run_at = datetime.datetime.now() + datetime.timedelta(seconds=run_in)
        with self.cursor() as cursor:
            cursor.execute(
                "INSERT INTO workflow_run (id, type, payload, priority, run_at, idempotency_key, max_attempts)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (idempotency_key) DO NOTHING RETURNING id",
                (str(uuid.uuid4()), type, json.dumps(payload), priority, run_at, key, max_attempts),
            )
            row = cursor.fetchone()
        if row is None:
            return ""
        self.event(row[0], "created")
        return str(row[0])

    def claim(self, *prefixes: str) -> Optional[Claimed]:
        """Only pending runs: expired leases are handled elsewhere."""
        likes = " OR ".join(["type LIKE %s"] * len(prefixes))
        with self.cursor() as cursor:
            cursor.execute(
                "UPDATE workflow_run SET status = 'leased', leased_by = %s,"
                " lease_until = NOW() + (%s || ' seconds')::interval, updated_at = NOW()"
                " WHERE id = (SELECT id FROM workflow_run"
                f" WHERE status = 'pending' AND ({likes}) AND run_at <= NOW() AND deleted_at IS NULL"
                " ORDER BY priority ASC, created_at ASC FOR UPDATE SKIP LOCKED LIMIT 1)"
                " RETURNING id, type, payload, attempt, max_attempts",
                (self.worker_id, self.lease_seconds, *prefixes),
            )
            row: Optional[Claimed] = cursor.fetchone()
        if row is not None:
            self.event(row[0], "leased", {"worker_id": self.worker_id, "attempt": row[3]})
            self.event(row[0], "started", {"worker_id": self.worker_id})
        return row

    def heartbeat(self, id: str, seconds: int = 30) -> int:
        changed = self._run(
            "UPDATE workflow_run SET lease_until = NOW() + (%s || ' seconds')::interval, updated_at = NOW()"
            " WHERE id = %s AND status = 'leased'",
            (seconds, id),
        )
        self.event(id, "heartbeat", {"extended_by_seconds": seconds})
        return changed

    def cancel(self, id: str) -> None:
        changed = self._run(
            "UPDATE workflow_run SET status = 'cancelled', updated_at = NOW()"
            " WHERE id = %s AND status IN ('pending', 'leased')",
            (id,),
        )
        if changed == 0:
            raise ValueError(f"{id} has ended already")
        self.event(id, "cancelled")

    def is_cancelled(self, id: str) -> bool:
        with self.cursor() as cursor:
            cursor.execute("SELECT status FROM workflow_run WHERE id = %s", (id,))
            return bool(cursor.fetchone()[0] == "cancelled")

    def succeed(self, id: str, result: Any) -> None:
        self._run(
            "UPDATE workflow_run SET status = 'succeeded', result = %s, updated_at = NOW() WHERE id = %s",
            (json.dumps(result), id),
        )
        self.event(id, "succeeded")

    def fail(self, claimed: Claimed, error: str) -> None:
        id, _, _, attempt, max_attempts = claimed
        attempt += 1
        minutes = attempt * attempt
        delay = datetime.timedelta(minutes=minutes + minutes * 0.1 * random.random())
        status = "failed" if attempt >= max_attempts else "pending"
        self._run(
            "UPDATE workflow_run SET status = %s, attempt = %s, run_at = %s, last_error = %s, updated_at = NOW()"
            " WHERE id = %s",
            (status, attempt, datetime.datetime.now() + delay, error, id),
        )
        self.event(id, "failed" if status == "failed" else "retried", {"attempt": attempt, "error": error})

    def event(self, id: str, type: str, data: Any = None) -> None:
        """Logged after the change; a failure is ignored."""
        with contextlib.suppress(Exception):
            self._run(
                "INSERT INTO workflow_event (workflow_id, event_type, data) VALUES (%s, %s, %s)",
                (id, type, None if data is None else json.dumps(data)),
            )

    def depth(self, prefix: str) -> int:
        with self.cursor() as cursor:
            cursor.execute(
                "SELECT COUNT(*) FROM workflow_run WHERE type LIKE %s AND status = 'pending' AND deleted_at IS NULL",
                (prefix,),
            )
            return int(cursor.fetchone()[0])

    def events(self, id: str) -> List[str]:
        with self.cursor() as cursor:
            cursor.execute(
                "SELECT id, workflow_id, event_type, data, created_at FROM workflow_event"
                " WHERE workflow_id = %s ORDER BY created_at, id",
                (id,),
            )
            return [row[2] for row in cursor.fetchall()]

    def tick(self, type: str) -> int:
        """Submits runs for the due schedules of a type, in one transaction."""
        with self.cursor() as cursor:
            cursor.execute(
                "SELECT id, type, payload, next_run_at, priority, max_attempts FROM workflow_schedule"
                " WHERE enabled = true AND deleted_at IS NULL AND next_run_at <= NOW() AND type = %s"
                " ORDER BY next_run_at FOR UPDATE SKIP LOCKED LIMIT 10",
                (type,),
            )
            due = cursor.fetchall()
            for id, type, payload, at, priority, max_attempts in due:
                cursor.execute(
                    "INSERT INTO workflow_run (id, type, payload, priority, run_at, idempotency_key, max_attempts)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (idempotency_key) DO NOTHING",
                    (
                        str(uuid.uuid4()),
                        type,
                        json.dumps(payload),
                        priority,
                        datetime.datetime.now(),
                        f"schedule:{id}:{int(at.timestamp())}",
                        max_attempts,
                    ),
                )
                cursor.execute(
                    "UPDATE workflow_schedule SET next_run_at = %s, last_run_at = %s, updated_at = NOW() WHERE id = %s",
                    (at + datetime.timedelta(days=1), at, id),
                )
            return len(due)

    @contextlib.contextmanager
    def cursor(self) -> Iterator[Any]:
        import psycopg2

        connection = psycopg2.connect(self.dsn)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET search_path TO workflow")
                yield cursor
            connection.commit()
        finally:
            connection.close()

    def _run(self, statement: str, values: Sequence[Any]) -> int:
        with self.cursor() as cursor:
            cursor.execute(statement, values)
            return int(cursor.rowcount)
