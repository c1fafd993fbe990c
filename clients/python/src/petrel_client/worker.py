"""A worker: claims runs, passes each to its handler, and reports the outcome.

idle      created, not started. Handlers are added.
working   `start` or `run`: one thread claims as many runs as there are free threads to execute them, another renews
          their leases.
stopping  `stop`, or a signal in `run`: nothing is claimed any more; executing runs may end within the grace period.
          Runs that arrive in response to a pending claim are returned.
stopped   runs that did not end within the grace period were returned; nothing more is reported about them.

If the process is killed, its leases expire and other workers take its runs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import threading
import time
import uuid
from functools import partial
from typing import Callable, Optional, Sequence, Set, TypeVar

from .active_run import ActiveRun
from .backoff import reconnect_delay_seconds
from .client import Client
from .errors import InvalidRequest, PetrelError, Unavailable
from .handlers import Handler, Handlers
from .heartbeats import Heartbeats
from .hold import Hold
from .outcome import Completed, Outcome, Released, outcome_of, unusable_result
from .signals import hearing
from .transport import Claim, Claims, Wanted

log = logging.getLogger("petrel_client")

H = TypeVar("H", bound=Handler)

#: The maximum that the server returns in one response.
LARGEST_CLAIM = 100
#: How much longer than its wait for work a claim may take in transit.
CLAIM_MARGIN_SECONDS = 3.0


class Worker:
    """Executes runs by its handlers, `concurrency` at a time, each in a thread.

    worker_id: the holder of its runs; unique among workers. Default: made from host and process.
    type_prefixes: which runs to take: `["billing.%", "mail.welcome.v1"]`. Types without a handler are left to
        others. None: all types with a handler.
    lease_seconds: for how long a run stays leased without a heartbeat of this process.
    runtime: the runtime of this worker in the registry.
    build: which build of the program this is, such as a version or a commit. The history of its runs and the groups of
        its failures show it. Default: PETREL_WORKER_BUILD. Over HTTP only.
    queues: None takes from all.
    grace_seconds: how long runs may continue after a stop.
    poll_seconds: how long one claim waits for work. New work is noticed at once, over HTTP and by SQL.
    """

    def __init__(
        self,
        client: Client,
        worker_id: Optional[str] = None,
        *,
        type_prefixes: Optional[Sequence[str]] = None,
        lease_seconds: float = 30.0,
        concurrency: int = 4,
        runtime: str = "python",
        build: Optional[str] = None,
        queues: Optional[Sequence[str]] = None,
        grace_seconds: float = 20.0,
        poll_seconds: float = 2.0,
    ) -> None:
        if isinstance(type_prefixes, str) or isinstance(queues, str):
            raise TypeError("type_prefixes and queues are lists of texts")
        if lease_seconds < 1:
            raise ValueError(f"lease_seconds must be at least 1, not {lease_seconds}")
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {concurrency}")
        self.worker_id = worker_id or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._transport = client.transport
        self._type_prefixes = type_prefixes
        self._lease_seconds = lease_seconds
        self._concurrency = concurrency
        self._runtime = runtime
        self._build = build or os.environ.get("PETREL_WORKER_BUILD") or None
        self._queues = queues
        self._grace_seconds = grace_seconds
        self._poll_seconds = poll_seconds

        self._handlers = Handlers()
        self._heartbeats = Heartbeats()
        self._claims: Optional[Claims] = None
        self._claimer: Optional[threading.Thread] = None
        self._work: queue.SimpleQueue[Optional[Hold]] = queue.SimpleQueue()
        #: guards the held runs, and notifies when their number decreases
        self._freed = threading.Condition()
        self._holds: Set[Hold] = set()
        self._stopping = threading.Event()
        #: set at the end of the grace period: unanswered reports are given up
        self._over = threading.Event()
        self._broken: Optional[BaseException] = None
        self._on_broken: Callable[[], None] = lambda: None

    def handler(self, *types: str) -> Callable[[H], H]:
        """Makes a function the handler of these types; `billing.%` is every type that begins with `billing.`.

        If several match, the exact name wins, else the longest prefix.
        """

        def register(handler: H) -> H:
            self.handle(handler, *types)
            return handler

        return register

    def handle(self, handler: Handler, *types: str) -> None:
        """The same without the decorator."""
        if self._claimer is not None:
            raise RuntimeError("handlers are added before the worker starts")
        self._handlers.add(types, handler)

    def start(self) -> None:
        """Starts to work, in separate threads."""
        if self._claimer is not None:
            raise RuntimeError("this worker was started already; make a new one")
        wanted = Wanted(
            worker_id=self.worker_id,
            types=self._handlers.takes(self._type_prefixes),
            queues=self._queues,
            runtime=self._runtime,
            lease_seconds=self._lease_seconds,
            wait_seconds=self._poll_seconds,
            build=self._build,
        )
        self._claims = self._transport.claims(wanted)
        self._heartbeats.start()
        for n in range(self._concurrency):
            threading.Thread(target=self._execute_all, name=f"petrel-run-{n}", daemon=True).start()
        self._claimer = threading.Thread(target=self._claim_all, name="petrel-claims", daemon=True)
        self._claimer.start()
        log.info("%s takes %s", self.worker_id, ", ".join(str(type) for type in wanted.types))

    def stop(self, grace_seconds: Optional[float] = None) -> None:
        """Claims nothing more, waits for executing runs, and returns those that do not end in time.

        Raises the error that made the worker stop by itself, such as an unknown key.
        """
        self._stop(self._grace_seconds if grace_seconds is None else grace_seconds, lambda: False)

    def run(self) -> None:
        """Works until SIGTERM or SIGINT (Ctrl-C), then stops; a second signal ends the grace period."""
        with hearing() as heard:
            self._on_broken = heard.wake
            self.start()
            heard.wait()
            log.info("%s stops", self.worker_id)
            self._stop(self._grace_seconds, lambda: heard.count > 1)

    def _stop(self, grace_seconds: float, hurry: Callable[[], bool]) -> None:
        if self._claimer is None or self._claims is None:
            return
        self._stopping.set()
        # closed already, if the claiming thread has aborted
        with contextlib.suppress(OSError):
            self._claims.interrupt()
        until = time.monotonic() + grace_seconds
        with self._freed:
            self._freed.notify_all()
            while self._holds and time.monotonic() < until and not hurry():
                self._freed.wait(0.05)
        # A claim that is still waiting would take the returned runs again, so it must end first.
        self._claimer.join(self._poll_seconds + CLAIM_MARGIN_SECONDS)
        self._over.set()
        with self._freed:
            left = list(self._holds)
        for hold in left:
            self._give_back(hold)
        self._heartbeats.stop()
        for _ in range(self._concurrency):
            self._work.put(None)
        if self._broken is not None:
            raise self._broken

    def _claim_all(self) -> None:
        assert self._claims is not None
        tries = 0
        try:
            while True:
                free = self._wait_for_room()
                if free == 0:
                    return
                try:
                    claims = self._claims.take(min(free, LARGEST_CLAIM))
                except Unavailable as error:
                    tries += 1
                    log.warning("%s cannot claim: %s", self.worker_id, error)
                    self._stopping.wait(max(error.retry_after or 0.0, reconnect_delay_seconds(tries, 10.0)))
                    continue
                tries = 0
                for claim in claims:
                    self._accept(claim)
        except BaseException as error:
            # A retry would not help: a wrong key, an invalid filter, a missing grant, or a bug.
            log.error("%s cannot go on: %s", self.worker_id, error)
            self._broken = error
            self._stopping.set()
            self._on_broken()
        finally:
            self._claims.close()

    def _wait_for_room(self) -> int:
        """How many more runs can be executed; 0: the worker stops."""
        with self._freed:
            while not self._stopping.is_set() and len(self._holds) >= self._concurrency:
                self._freed.wait()
            return 0 if self._stopping.is_set() else self._concurrency - len(self._holds)

    def _accept(self, claim: Claim) -> None:
        hold = Hold(self._transport, claim, self._lease_seconds)
        if self._stopping.is_set():
            self._give_back(hold)
            return
        with self._freed:
            self._holds.add(hold)
        self._heartbeats.add(hold)
        self._work.put(hold)

    def _execute_all(self) -> None:
        while True:
            hold = self._work.get()
            if hold is None:
                return
            try:
                self._execute(hold)
            except Exception:
                log.exception("%s: its outcome could not be reported; its lease will run out", hold)
                hold.abandon()
            finally:
                self._heartbeats.remove(hold)
                with self._freed:
                    self._holds.discard(hold)
                    self._freed.notify_all()

    def _execute(self, hold: Hold) -> None:
        handler = self._handlers.find(hold.claim.run.type)
        if handler is None:
            # Not a failure of the run: another worker has its handler.
            log.warning("%s was claimed and has no handler here; it is given back", hold)
            self._give_back(hold)
            return
        outcome = outcome_of(handler, ActiveRun(hold, self._stopping))
        if hold.held:
            self._report(hold, outcome)
        else:
            log.info("%s is not held any more: its outcome is not reported", hold)

    def _report(self, hold: Hold, outcome: Outcome) -> None:
        """Until it is recorded, refused, or the grace period is over: work is not repeated because of a lost response.

        """
        tries = 0
        while not self._over.is_set():
            try:
                hold.report(partial(outcome.say, self._transport))
                return
            except Unavailable as error:
                tries += 1
                log.warning("%s: its outcome is not recorded yet: %s", hold, error)
                self._over.wait(reconnect_delay_seconds(tries))
            except InvalidRequest as error:
                if not isinstance(outcome, Completed):
                    raise
                outcome = unusable_result(error.message)
                log.warning("%s: %s", hold, outcome.failure.message)

    def _give_back(self, hold: Hold) -> None:
        try:
            if hold.report(partial(Released().say, self._transport)):
                log.info("%s is given back", hold)
        except PetrelError as error:
            log.warning("%s could not be given back; its lease will run out: %s", hold, error)
            hold.abandon()
