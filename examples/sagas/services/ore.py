#!/usr/bin/env python3
"""Imports of trades, and packages for the grid: a domain service in Python, with only the standard library.

    NATS_URL   default nats://127.0.0.1:4222
    DATA       folder of the SQLite file, default the current one
    PREFIX     as `petrel server --nats-prefix` has it, default none

    python3 examples/sagas/services/ore.py
"""

import csv
import json
import os
import signal
import sqlite3
import sys
import time

from nats_text import Disconnected, Nats, url_from_environment

TABLES = """
CREATE TABLE IF NOT EXISTS import (
  import_id INTEGER PRIMARY KEY AUTOINCREMENT, portfolio TEXT, published INTEGER NOT NULL DEFAULT 0, step_id TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS trade (trade_id TEXT, notional REAL, import_id INTEGER);
CREATE TABLE IF NOT EXISTS package (
  package_id INTEGER PRIMARY KEY AUTOINCREMENT, bundle_id INTEGER, step_id TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS petrel_step (step_id TEXT PRIMARY KEY, answer TEXT NOT NULL)
"""


def execute_import(db, body, step_id):
    with open(body["file"], newline="", encoding="utf-8") as file:
        trades = [(row["trade"], float(row["notional"])) for row in csv.DictReader(file)]
    insert = "INSERT INTO import (portfolio, step_id) VALUES (?, ?)"
    import_id = db.execute(insert, (body["portfolio"], step_id)).lastrowid
    db.executemany("INSERT INTO trade VALUES (?, ?, ?)", [(*trade, import_id) for trade in trades])
    return {"import_id": import_id, "trades": len(trades)}


def roll_back_import(db, body, _step_id):
    db.execute("DELETE FROM trade WHERE import_id = ?", (body["import_id"],))
    db.execute("DELETE FROM import WHERE import_id = ?", (body["import_id"],))


def publish_import(db, body, _step_id):
    row = db.execute("SELECT portfolio FROM import WHERE import_id = ?", (body["import_id"],)).fetchone()
    if row is None:
        raise ValueError(f"there is no import {body['import_id']}")
    if row[0] == "frozen":
        raise ValueError("the portfolio is frozen")
    db.execute("UPDATE import SET published = 1 WHERE import_id = ?", (body["import_id"],))


def prepare_package(db, body, step_id):
    insert = "INSERT INTO package (bundle_id, step_id) VALUES (?, ?)"
    return {"package_id": db.execute(insert, (body["bundle_id"], step_id)).lastrowid}


def discard_package(db, body, _step_id):
    db.execute("DELETE FROM package WHERE package_id = ?", (body["package_id"],))


HANDLERS = {
    "ore.v1.ore.import.execute": execute_import,
    "ore.v1.ore.import.rollback": roll_back_import,
    "ore.v1.ore.import.publish": publish_import,
    "ore.v1.packages.prepare": prepare_package,
    "ore.v1.packages.discard": discard_package,
}


def once(db, step_id, handler, body):
    """The effect and its key in one transaction; a second copy gets the answer of the first."""
    db.execute("BEGIN IMMEDIATE")
    try:
        row = db.execute("SELECT answer FROM petrel_step WHERE step_id = ?", (step_id,)).fetchone()
        if row is None:
            answer = json.dumps(handler(db, body, step_id))
            db.execute("INSERT INTO petrel_step VALUES (?, ?)", (step_id, answer))
        else:
            answer = row[0]
        db.execute("COMMIT")
        return answer
    except BaseException:
        db.execute("ROLLBACK")
        raise


def serve(db, message, handler):
    """The completion of a command; None: it is not a command, or the database is away and the command should come again."""
    step_id = message.headers.get("x-workflow-step-id")
    instance_id = message.headers.get("x-workflow-instance-id")
    if not step_id or not instance_id:
        return None
    completion = {"workflow_instance_id": instance_id, "step_id": step_id, "success": True}
    try:
        answer = once(db, step_id, handler, json.loads(message.data))
        return {**completion, "result_json": answer, "error_message": ""}
    except sqlite3.Error as error:
        print(f"ore: {error}", file=sys.stderr, flush=True)
        return None
    except Exception as error:  # any error: nothing of it is stored
        return {**completion, "success": False, "result_json": "", "error_message": str(error)}


def main():
    prefix = os.environ.get("PREFIX")
    under = (lambda subject: f"{prefix}.{subject}") if prefix else (lambda subject: subject)
    handlers = {under(subject): handler for subject, handler in HANDLERS.items()}
    folder = os.environ.get("DATA", ".")
    os.makedirs(folder, exist_ok=True)
    # isolation_level None: transactions begin and end explicitly.
    db = sqlite3.connect(os.path.join(folder, "ore.db"), timeout=5, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(TABLES)
    nats = Nats(url_from_environment(), "ore")
    for subject in handlers:
        nats.subscribe(subject, "ore")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    nats.connect()
    print("ore: ready", flush=True)
    while True:
        try:
            message = nats.next()
            completion = serve(db, message, handlers[message.subject]) if message.subject in handlers else None
            if completion is not None:
                tell(nats, under("workflow.v1.events.step-completed"), json.dumps(completion).encode())
        except Disconnected:
            nats.connect()


def tell(nats, subject, completion):
    """Waits until the stream has it. A connection that breaks meanwhile loses nothing: the command comes again."""
    while not nats.publish_acknowledged(subject, completion):
        time.sleep(0.2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
