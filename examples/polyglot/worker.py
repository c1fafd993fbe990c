#!/usr/bin/env python3
"""A worker in Python that needs only the standard library.

    OJS_URL=http://127.0.0.1:7070 python3 worker.py [queue …]      default: python

It asks for one job at a time and waits for it at the server, renews its lease while it works, and reports the result.
SIGTERM and Ctrl-C let the job at hand end. OJS_KEY: an API key, where the server wants one.
"""
import hashlib
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

SERVER = os.environ.get("OJS_URL", "http://127.0.0.1:7070")
QUEUES = sys.argv[1:] or ["python"]
WORKER = f"python-{os.getpid()}"
LEASE_MS = 30_000
WAIT_MS = 20_000

HANDLERS = {}


def handler(type):
    def register(function):
        HANDLERS[type] = function
        return function

    return register


@handler("text.measure")
def measure(job):
    [text] = job["args"]
    return {"text": text, "words": len(text.split()), "sha256": hashlib.sha256(text.encode()).hexdigest()}


@handler("text.check")
def check(job):
    """Every step sees the results of all previous steps, by their place in the chain."""
    measured, shouted, published = job["parent_results"]
    if measured["text"].upper() != shouted["text"]:
        raise ValueError(f"{shouted['text']!r} is not {measured['text']!r} in capitals")
    return {"checked": published["title"], "languages": [*published["languages"], "Python"]}


def post(path, body, timeout=10):
    headers = {"Content-Type": "application/openjobspec+json"}
    if "OJS_KEY" in os.environ:
        headers["Authorization"] = f"Bearer {os.environ['OJS_KEY']}"
    request = urllib.request.Request(f"{SERVER}/ojs/v1{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.load(response)


def patiently(path, body, timeout=10):
    """Retries until the server answers: a restarted server has lost nothing."""
    while True:
        try:
            return post(path, body, timeout)
        except urllib.error.HTTPError as error:
            problem = json.load(error)["error"]
            if not problem["retryable"]:
                raise RuntimeError(f"{problem['code']}: {problem['message']} ({problem['hint']})") from None
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            print(f"{SERVER} does not answer ({error}), trying again", file=sys.stderr)
        time.sleep(1)


def keep_alive(job, done):
    """Renews the lease three times in its length, so that long work is not given to another worker."""
    while not done.wait(LEASE_MS / 3000):
        patiently(
            "/workers/heartbeat",
            {"worker_id": WORKER, "active_jobs": [job["id"]], "visibility_timeout_ms": LEASE_MS},
        )


def report(job, path, body):
    # The attempt fences: had the lease ended and the job been started again, this would be refused.
    body = {"job_id": job["id"], "worker_id": WORKER, "attempt": job["attempt"], **body}
    try:
        answer = patiently(path, body)
        print(f"{job['type']} {job['id']}: {answer['state']}", flush=True)
    except RuntimeError as error:
        print(f"{job['type']} {job['id']}: {error}", file=sys.stderr)


def work(job):
    done = threading.Event()
    threading.Thread(target=keep_alive, args=(job, done), daemon=True).start()
    try:
        run = HANDLERS.get(job["type"])
        if run is None:
            error = {"code": "handler_not_found", "message": f"no handler for {job['type']}", "retryable": False}
            report(job, "/workers/nack", {"error": error})
        else:
            report(job, "/workers/ack", {"result": run(job)})
    except Exception as error:
        wrong = {"code": "handler_error", "type": type(error).__name__, "message": str(error)}
        report(job, "/workers/nack", {"error": wrong})
    finally:
        done.set()


def main():
    idle = False
    stopping = False

    def stop(*_):
        nonlocal stopping
        stopping = True
        if idle:
            sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    asked = {"queues": QUEUES, "worker_id": WORKER, "visibility_timeout_ms": LEASE_MS, "wait_ms": WAIT_MS}
    print(f"{WORKER} works on {', '.join(QUEUES)} of {SERVER}", flush=True)
    while not stopping:
        idle = True
        jobs = patiently("/workers/fetch", asked, timeout=WAIT_MS / 1000 + 10)["jobs"]
        idle = False
        for job in jobs:
            work(job)


main()
