"""A worker in a separate process, to be killed."""

import json
import logging
import os
import pathlib
import sys
import threading
import time

from petrel_client import ActiveRun, Client, Worker

from .place import Effects

settings = json.loads(sys.argv[1])
logging.basicConfig(level=logging.INFO)


def leave_with_parent() -> None:
    """A test run that is killed leaves no workers behind."""
    sys.stdin.read()
    os._exit(1)


threading.Thread(target=leave_with_parent, daemon=True).start()
effects = Effects(pathlib.Path(settings["effects"]))
OPTIONS = ("lease_seconds", "concurrency", "grace_seconds", "poll_seconds")
worker = Worker(
    Client(settings["url"]),
    settings["worker_id"],
    type_prefixes=[f"{settings['domain']}.%"],
    **{name: settings[name] for name in OPTIONS if name in settings},
)


@worker.handler(f"{settings['domain']}.count.v1")
def count(run: ActiveRun) -> None:
    effects.add(run.id)


@worker.handler(f"{settings['domain']}.hold.v1")
def hold(run: ActiveRun) -> object:
    """Waits until the file named in the payload exists."""
    effects.add("begin", worker.worker_id, run.attempt)
    while not os.path.exists(run.payload["until"]):
        time.sleep(0.02)
    effects.add("end", worker.worker_id, run.attempt)
    return {"by": worker.worker_id}


worker.run()
effects.add("stopped", worker.worker_id)
