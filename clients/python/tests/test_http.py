"""The client and the worker over HTTP."""

from __future__ import annotations

from petrel_client import Client, Denied, InvalidRequest, NotFound, Unsupported

from . import client_contract, process_contract, worker_contract
from .place import URL, needs_server, until


@needs_server
class HttpClient(client_contract.ClientContract):
    address = URL or ""

    def test_key(self) -> None:
        """is denied with an unknown key"""
        with Client(self.address, key="nonsense") as client, self.assertRaises(Denied) as refused:
            client.get("019a8b2c-0000-7000-8000-000000000000")
        self.assertEqual((refused.exception.status, refused.exception.code), (401, "unauthenticated"))

    def test_within(self) -> None:
        """cannot be part of a transaction, and reports that"""
        with self.assertRaisesRegex(Unsupported, "postgresql://"):
            self.client.submit(self.type("a"), None, within=object())

    def test_schedules(self) -> None:
        """adds, pauses, resumes and removes schedules"""
        schedules = self.client.schedules
        added = schedules.add(self.type("nightly"), "30 2 * * *", {"full": True}, timezone="Europe/Berlin")
        self.assertEqual((added.schedule, added.timezone, added.enabled), ("30 2 * * *", "Europe/Berlin", True))
        self.assertIsNotNone(added.next_run_at)
        self.assertFalse(schedules.pause(added.id).enabled)
        self.assertTrue(schedules.resume(added.id).enabled)
        self.assertEqual(schedules.get(added.id).payload, {"full": True})
        self.assertIn(added.id, [schedule.id for schedule in schedules.list()])
        schedules.remove(added.id)
        self.assertNotIn(added.id, [schedule.id for schedule in schedules.list()])
        with self.assertRaises(InvalidRequest):
            schedules.add(self.type("nightly"), "nonsense")


@needs_server
class HttpWorker(worker_contract.WorkerContract):
    address = URL or ""

    def test_key(self) -> None:
        """stops by itself when the server refuses its key"""
        with Client(self.address, key="nonsense") as client:
            self.client = client
            worker = self.worker()
            worker.handle(lambda run: 1, self.type("a"))
            worker.start()
            until(lambda: worker._broken)
            with self.assertRaises(Denied):
                worker.stop()

    def test_registry(self) -> None:
        """takes nothing that the registry assigns to another runtime, or disables"""
        registry = self.client.registry
        worker = self.worker()
        worker.handle(lambda run: 1, f"{self.domain}.%")
        registry.put(self.type("go"), "go")
        registry.put(self.type("off"), "python", is_enabled=False)
        registry.put(self.type("py"), "python", description="ours")
        held = [self.submit(name, priority=1) for name in ("go", "off")]
        ours = self.submit("py")
        worker.start()
        self.ended(ours.id)
        self.assertEqual([self.client.get(run.id).status for run in held], ["pending", "pending"])
        self.assertEqual(registry.get(self.type("py")).description, "ours")
        registry.put(self.type("off"), "python")
        registry.remove(self.type("go"))
        for run in held:
            self.assertEqual(self.ended(run.id).status, "succeeded")
        with self.assertRaises(NotFound):
            registry.get(self.type("go"))
        self.assertIn(self.type("py"), [entry.workflow_name for entry in registry.list()])


@needs_server
class HttpProcesses(process_contract.ProcessContract):
    address = URL or ""
