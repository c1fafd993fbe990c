"""NATS by its text protocol, with only the standard library: enough for a service that takes commands and answers.

Not for speed: one connection, one command at a time, everything in the order it comes.
"""

import collections
import json
import os
import socket
import time
import urllib.parse
import uuid

Message = collections.namedtuple("Message", "subject reply headers data status")


class Disconnected(Exception):
    pass


class Nats:
    def __init__(self, url, name):
        parsed = urllib.parse.urlsplit(url)
        self._host, self._port = parsed.hostname, parsed.port or 4222
        self._about = {
            "verbose": False,
            "pedantic": False,
            "headers": True,
            "no_responders": True,
            "name": name,
            "lang": "python",
            "version": "1",
        }
        if parsed.username is not None:
            self._about["user"] = urllib.parse.unquote(parsed.username)
            self._about["pass"] = urllib.parse.unquote(parsed.password or "")
        self._socket = None
        self._buffer = b""
        self._subjects = []
        self._waiting = collections.deque()

    def subscribe(self, subject, group):
        """Takes effect from the next connect on, and after every one."""
        self._subjects.append((subject, group))

    def connect(self):
        """Tries until it succeeds. Messages that were received but not yet delivered are dropped: they come again."""
        while True:
            try:
                self._open()
                return
            except (OSError, Disconnected):
                time.sleep(0.2)

    def next(self):
        """The next message of a subscription."""
        while not self._waiting:
            self._read()
        return self._waiting.popleft()

    def publish_acknowledged(self, subject, data, timeout=2.0):
        """Waits for JetStream's answer. True: a stream has stored the message."""
        inbox = f"{self._inbox}.{uuid.uuid4().hex}"
        self._send(f"PUB {subject} {inbox} {len(data)}".encode(), data)
        give_up_at = time.monotonic() + timeout
        put_back = []
        try:
            while time.monotonic() < give_up_at:
                if not self._waiting and not self._read(give_up_at - time.monotonic()):
                    continue
                message = self._waiting.popleft() if self._waiting else None
                if message is None:
                    continue
                if message.subject != inbox:
                    put_back.append(message)
                    continue
                # 503: no responder, so there is no stream (yet).
                return message.status is None and "error" not in json.loads(message.data)
            return False
        finally:
            self._waiting.extendleft(reversed(put_back))

    def close(self):
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self):
        self.close()
        self._buffer = b""
        self._waiting.clear()
        self._socket = socket.create_connection((self._host, self._port), timeout=5)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self._line(5).startswith(b"INFO "):
            raise Disconnected("not a NATS server")
        self._send(b"CONNECT " + json.dumps(self._about).encode())
        self._inbox = f"_INBOX.{uuid.uuid4().hex}"
        self._send(f"SUB {self._inbox}.* 1".encode())
        for number, (subject, group) in enumerate(self._subjects, start=2):
            self._send(f"SUB {subject} {group} {number}".encode())
        self._send(b"PING")
        while self._line(5) != b"PONG":
            pass

    def _send(self, line, payload=None):
        data = line + b"\r\n" + (b"" if payload is None else payload + b"\r\n")
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Disconnected(str(error)) from error

    def _read(self, timeout=None):
        """One line of the protocol. False: none came in time."""
        try:
            line = self._line(timeout)
        except socket.timeout:
            return False
        word, _, rest = line.partition(b" ")
        if word == b"PING":
            self._send(b"PONG")
        elif word == b"MSG":
            subject, _sid, *reply, size = rest.decode().split(" ")
            self._waiting.append(Message(subject, reply, {}, self._take(int(size)), None))
        elif word == b"HMSG":
            subject, _sid, *reply, head, size = rest.decode().split(" ")
            payload = self._take(int(size))
            headers, status = parse_headers(payload[: int(head)].decode())
            self._waiting.append(Message(subject, reply, headers, payload[int(head) :], status))
        elif word == b"-ERR":
            raise Disconnected(rest.decode())
        return True

    def _line(self, timeout):
        while b"\r\n" not in self._buffer:
            self._receive(timeout)
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    def _take(self, size):
        # The rest of a message that has begun arrives within a moment.
        while len(self._buffer) < size + 2:
            self._receive(5)
        payload, self._buffer = self._buffer[:size], self._buffer[size + 2 :]
        return payload

    def _receive(self, timeout):
        self._socket.settimeout(timeout)
        try:
            data = self._socket.recv(65536)
        except socket.timeout:
            raise
        except OSError as error:
            raise Disconnected(str(error)) from error
        if data == b"":
            raise Disconnected("the server closed the connection")
        self._buffer += data


def parse_headers(text):
    """Headers by name in lower case, and the status of a status message."""
    first, *lines = text.split("\r\n")
    status = first[len("NATS/1.0") :].strip() or None
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return headers, status


def url_from_environment():
    return os.environ.get("NATS_URL", "nats://127.0.0.1:4222")
