"""Connections by psycopg2, and the mapping of its errors to errors.py."""

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
    """Statements in separate transactions, on pooled connections."""

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
            # Detects a peer that vanished: without these settings a thread would wait for hours.
            "keepalives_idle": 15,
            "keepalives_interval": 5,
            "keepalives_count": 3,
        }.items():
            self._settings.setdefault(name, value)
        # psycopg2 sends a termination message on close, which would end the session of the parent process. It sends
        # none when a connection is only freed.
        self._pool: Pool[Any] = Pool(self.connect, lambda connection: connection.close(), lambda connection: None)

    def connect(self) -> Any:
        try:
            connection = self._psycopg2.connect(**self._settings)
            connection.autocommit = True
            with connection.cursor() as cursor:
                # Waiting for another client's lock must not delay the heartbeats of all other runs.
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
                    # The connection is broken, or its state is unknown: the pool closes it.
                    raise_ours(error)
                failed = error
        raise_ours(failed)

    def close(self) -> None:
        self._pool.close()


def rows_within(within: Any, statement: str, values: Mapping[str, Any], columns: Sequence[str]) -> List[Row]:
    """The same in the caller's transaction, on their connection or cursor; commit and rollback are the caller's."""
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
    # The caller's cursor may return rows as mappings.
    return [
        tuple(row[name] for name in columns) if isinstance(row, Mapping) else tuple(row) for row in cursor.fetchall()
    ]


#: By prefix of the SQLSTATE; the longest match decides.
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
    """Raises the error that corresponds to a psycopg2 error."""
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
    """The server's code for the same."""
    words = {InvalidRequest: "invalid_request", Conflict: "conflict", Denied: "permission_denied"}
    return words.get(kind, "unavailable" if kind is Unavailable else "database_error")
