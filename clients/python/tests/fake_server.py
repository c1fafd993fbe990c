"""A server that returns scripted replies, and records the requests."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union


class Asked(NamedTuple):
    method: str
    path: str
    body: Any
    headers: Dict[str, str]


class Answer(NamedTuple):
    status: int = 200
    body: Any = None
    headers: Tuple[Tuple[str, str], ...] = ()
    #: the connection is closed after the reply, without an announcement
    hang_up: bool = False


#: Disconnects without a reply.
NOTHING = None

Reply = Union[Answer, None]


def error(http_status: int, code: str, retryable: bool = False, **details: Any) -> Answer:
    error = {"code": code, "message": f"{code}!", "retryable": retryable, "hint": "do better", "details": details}
    return Answer(http_status, {"error": error})


class FakeServer:
    """`answers` are used one after another; then `otherwise` decides."""

    def __init__(self, *answers: Reply, otherwise: Optional[Callable[[Asked], Reply]] = None) -> None:
        self.asked: List[Asked] = []
        self.connections = 0
        self._answers = list(answers)
        self._otherwise = otherwise or (lambda asked: Answer())
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def paths(self) -> List[str]:
        return [asked.path for asked in self.asked]

    def _next(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            if self._answers:
                return self._answers.pop(0)
        return self._otherwise(asked)

    def _handler(self) -> Any:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                fake.connections += 1

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                text = self.rfile.read(length)
                asked = Asked(self.command, self.path, json.loads(text) if text else None, dict(self.headers.items()))
                reply = fake._next(asked)
                if reply is None:
                    self.close_connection = True
                    return
                data = b"" if reply.body is None else json.dumps(reply.body).encode()
                self.send_response(reply.status)
                self.send_header("Content-Length", str(len(data)))
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = reply.hang_up

            do_GET = do_POST = do_PUT = do_DELETE = _answer

            def handle(self) -> None:
                # The other side may have disconnected.
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def finish(self) -> None:
                with contextlib.suppress(ConnectionError):
                    super().finish()

            def log_message(self, *_: Any) -> None: ...

        return Handler
