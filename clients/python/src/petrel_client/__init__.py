"""Submit and execute runs of Petrel, a durable workflow engine: over HTTP, or by SQL in your own transaction.

>>> from petrel_client import Client, Worker
"""

from .active_run import ActiveRun
from .client import Client
from .errors import (
    Conflict,
    Denied,
    InvalidRequest,
    LeaseLost,
    MissingDriver,
    NotFound,
    PetrelError,
    Unavailable,
    Unsupported,
)
from .failures import HandlerFailure, NonRetryable, Release, Retryable
from .registry import Entry, Registry
from .run import Event, Page, Run, Submitted
from .schedules import Schedule, Schedules
from .worker import Worker

__all__ = [
    "ActiveRun",
    "Client",
    "Conflict",
    "Denied",
    "Entry",
    "Event",
    "HandlerFailure",
    "InvalidRequest",
    "LeaseLost",
    "MissingDriver",
    "NonRetryable",
    "NotFound",
    "Page",
    "PetrelError",
    "Registry",
    "Release",
    "Retryable",
    "Run",
    "Schedule",
    "Schedules",
    "Submitted",
    "Unavailable",
    "Unsupported",
    "Worker",
]
