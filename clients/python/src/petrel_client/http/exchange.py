"""One request and its response, over pooled connections, with retries where that is safe.

A request is retried if there was no response, or the response asked for a retry, and it is `repeatable`: repeating it
has no further effect. The delay is that of Retry-After, or else random with a doubling bound.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import select
import ssl
import time
from typing import Any, Dict, Mapping, Optional, Tuple, Type
from urllib.parse import urlencode, urlsplit

from ..backoff import reconnect_delay_seconds
from ..errors import Conflict, Denied, InvalidRequest, NotFound, PetrelError, Unavailable
from ..pool import Pool

#: A longer wait requested by the server is left to the caller.
LONGEST_WAIT_SECONDS = 60.0
#: A connection idle for longer may be closed by the server at any moment.
FRESH_SECONDS = 2.0

Reply = Tuple[int, http.client.HTTPMessage, bytes]

_CLASSES: Dict[int, Type[PetrelError]] = {
    401: Denied,
    403: Denied,
    404: NotFound,
    409: Conflict,
    429: Unavailable,
}


class Exchange:
    def __init__(
        self,
        url: str,
        *,
        key: Optional[str],
        timeout: float,
        retries: int,
        ssl_context: Optional[ssl.SSLContext],
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"not an address such as http://127.0.0.1:7070: {url!r}")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._retries = retries
        self._context = ssl_context
        self._headers = {"Accept": "application/json", "User-Agent": "petrel-client-python"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key}"
        # Closing a copy of a socket does not close it for the process with the other copy.
        self._pool: Pool[_Connection] = Pool(self._open, _Connection.close, _Connection.close)

    def ask(
        self,
        method: str,
        path: str,
        body: Optional[str] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        repeatable: bool,
        retries: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """The JSON of the response. Errors have `details["resent"]` if an earlier attempt may have been executed."""
        retries = self._retries if retries is None else retries
        target = self._path + path
        given = {name: value for name, value in (query or {}).items() if value is not None}
        if given:
            target += "?" + urlencode(given)
        tries = 0
        resent = False
        while True:
            try:
                status, headers, text = self._send(method, target, body, repeatable, timeout or self.timeout)
                if status < 400:
                    return json.loads(text) if text else None
                raise _error(status, headers, text, resent)
            except Unavailable as error:
                tries += 1
                wait = error.retry_after
                if not repeatable or tries > retries or (wait or 0) > LONGEST_WAIT_SECONDS:
                    raise
                resent = resent or error.status is None
                time.sleep(reconnect_delay_seconds(tries) if wait is None else wait + reconnect_delay_seconds(1))

    def close(self) -> None:
        self._pool.close()

    def _open(self) -> _Connection:
        return _Connection(
            http.client.HTTPSConnection(self._host, self._port, context=self._context)
            if self._secure
            else http.client.HTTPConnection(self._host, self._port)
        )

    def _send(self, method: str, target: str, body: Optional[str], repeatable: bool, timeout: float) -> Reply:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            with self._pool.take() as connection:
                return connection.send(method, target, body, headers, timeout, repeatable)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise Unavailable(f"{self.url} does not answer: {reason}", hint="is `petrel server` running?") from error


class _Connection:
    def __init__(self, inner: http.client.HTTPConnection) -> None:
        self._inner = inner
        self._used_at = 0.0

    def send(
        self,
        method: str,
        target: str,
        body: Optional[str],
        headers: Mapping[str, str],
        timeout: float,
        repeatable: bool,
    ) -> Reply:
        inner = self._inner
        stale = time.monotonic() - self._used_at > FRESH_SECONDS
        if inner.sock is not None and (_readable(inner.sock) or (stale and not repeatable)):
            # Closed by the other side, or about to be: a request that must not be sent twice gets a new connection,
            # which cannot break for that reason.
            inner.close()
        inner.timeout = timeout
        if inner.sock is not None:
            inner.sock.settimeout(timeout)
        inner.request(method, target, None if body is None else body.encode(), dict(headers))
        response = inner.getresponse()
        text = response.read()
        self._used_at = time.monotonic()
        return response.status, response.headers, text

    def close(self) -> None:
        self._inner.close()


def _readable(sock: Any) -> bool:
    """No request is pending, so the socket can only become readable when the connection ends."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])


def _error(status: int, headers: http.client.HTTPMessage, text: bytes, resent: bool) -> PetrelError:
    try:
        error = json.loads(text)["error"]
        error = error if isinstance(error, dict) else {"message": str(error)}
    except (ValueError, TypeError, KeyError):
        error = {"message": text.decode("utf-8", "replace")[:200] or f"HTTP {status}"}
    details = dict(error.get("details") or {})
    if resent:
        details["resent"] = True
    rest: Dict[str, Any] = {
        "code": str(error.get("code", f"http_{status}")),
        "details": details,
        "hint": error.get("hint"),
        "status": status,
    }
    message = str(error.get("message", f"HTTP {status}"))
    if status == 429 or status >= 502 or (status >= 500 and error.get("retryable") is True):
        return Unavailable(message, retry_after=_retry_after(headers.get("Retry-After")), **rest)
    kind = _CLASSES.get(status, InvalidRequest if status < 500 else PetrelError)
    return kind(message, **rest)


def _retry_after(header: Optional[str]) -> Optional[float]:
    """Seconds, or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
