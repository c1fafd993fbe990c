"""Connections by psycopg2, and its errors in the words of errors.py."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

from ..errors import Conflict, Denied, InvalidRequest, MissingDriver, PetrelError, Unavailable
from ..pool import Pool

Row = Tuple[Any, ...]


def driver() -> ModuleType:
    try:
        import psycopg2
        import psycopg2.extensions
    except ImportError as error:
        raise MissingDriver(
            "petrel_client needs psycopg2 to work by SQL",
            hint="`apt-get install python3-psycopg2` for /usr/bin/python3, or `pip install psycopg2-binary`; "
            "over HTTP it is not needed",
        ) from error
    return psycopg2  # type: ignore[no-any-return]


class Database:
    """Statements of our own, each its own transaction, on connections that are kept open."""

    def __init__(self, dsn: str, *, timeout: float) -> None:
        self._psycopg2 = driver()
        self._timeout = timeout
        try:
            self._settings = self._psycopg2.extensions.parse_dsn(dsn)
        except self._psycopg2.ProgrammingError as error:
            raise ValueError(f"not an address of Postgres: {str(error).strip()}") from error
        for name, value in {
            "application_name": "petrel-client",
            "connect_timeout": max(2, round(timeout)),
            # A peer that vanished without a word is noticed: without these a thread would wait for hours.
            "keepalives_idle": 15,
            "keepalives_interval": 5,
            "keepalives_count": 3,
        }.items():
            self._settings.setdefault(name, value)
        # psycopg2 says goodbye when it closes, which would end the session of the process that forked us. It keeps
        # quiet when it only frees one.
        self._pool: Pool[Any] = Pool(self.connect, lambda connection: connection.close(), lambda connection: None)

    def connect(self) -> Any:
        try:
            connection = self._psycopg2.connect(**self._settings)
            connection.autocommit = True
            with connection.cursor() as cursor:
                # Waiting for somebody's lock must not hold up the heartbeats of everything else.
                cursor.execute("SELECT set_config('statement_timeout', %s, false)", (str(round(self._timeout * 1000)),))
            return connection
        except self._psycopg2.Error as error:
            raise_ours(error)

    def rows(self, statement: str, values: Mapping[str, Any]) -> List[Row]:
        failed = None
        with self._pool.take() as connection:
            try:
                with connection.cursor() as cursor:
                    cursor.execute(statement, values)
                    return list(cursor.fetchall())
            except self._psycopg2.Error as error:
                if connection.closed or error.pgcode is None:
                    # The connection is gone, or nobody knows: the pool closes it.
                    raise_ours(error)
                failed = error
        raise_ours(failed)

    def close(self) -> None:
        self._pool.close()


def rows_within(within: Any, statement: str, values: Mapping[str, Any], columns: Sequence[str]) -> List[Row]:
    """The same in the caller's transaction, on their connection or cursor; commit and rollback stay theirs."""
    if hasattr(within, "execute") and hasattr(within, "fetchall"):
        return _executed(within, statement, values, columns)
    with within.cursor() as cursor:
        return _executed(cursor, statement, values, columns)


def _executed(cursor: Any, statement: str, values: Mapping[str, Any], columns: Sequence[str]) -> List[Row]:
    try:
        cursor.execute(statement, values)
    except Exception as error:
        if getattr(error, "diag", None) is None:
            raise
        raise_ours(error)
    # The caller's cursor may be one whose rows are mappings.
    return [
        tuple(row[name] for name in columns) if isinstance(row, Mapping) else tuple(row) for row in cursor.fetchall()
    ]


#: By the first letters of the SQLSTATE; the longest that fits decides.
_CLASSES: Dict[str, Any] = {
    "22": InvalidRequest,
    "23": InvalidRequest,
    "23505": Conflict,
    "28": Denied,
    "42501": Denied,
    # serialization, deadlock, locks and timeouts, resources, shutdown, broken connections
    "08": Unavailable,
    "25006": Unavailable,
    "40": Unavailable,
    "53": Unavailable,
    "55P03": Unavailable,
    "57": Unavailable,
}


def raise_ours(error: Any) -> NoReturn:
    """Raises what a psycopg2 error means."""
    code: Optional[str] = getattr(error, "pgcode", None) or getattr(error, "sqlstate", None)
    diag = error.diag
    message = (getattr(diag, "message_primary", None) or str(error)).strip()
    if code is None:
        kind: Any = Unavailable
    else:
        kind = next((_CLASSES[code[:n]] for n in (5, 2) if code[:n] in _CLASSES), PetrelError)
    details = {
        name: value
        for name, value in (
            ("column", getattr(diag, "column_name", None)),
            ("constraint", getattr(diag, "constraint_name", None)),
            ("sqlstate", code),
        )
        if value is not None
    }
    hint = getattr(diag, "message_hint", None)
    if code in ("42P01", "3F000", "42703"):
        hint = "is this Petrel's database? `petrel migrate` makes its tables"
    raise kind(message, code=_code(kind), details=details, hint=hint) from error


def _code(kind: Any) -> str:
    """The server's word for the same."""
    words = {InvalidRequest: "invalid_request", Conflict: "conflict", Denied: "permission_denied"}
    return words.get(kind, "unavailable" if kind is Unavailable else "database_error")
