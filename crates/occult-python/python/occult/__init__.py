"""Causal consistency and transactions over Redis Cluster with liboccult.so.

    import occult

    client = occult.Client(["redis://127.0.0.1:6379"], datacenter=0)
    session = client.session()
    session.set("album:access", "friends only")
    session.get("album:access")              # b"friends only"

    def move(transaction):
        bob = transaction.get("students:b")
        transaction.delete("students:b")
        transaction.set("students:c", bob or b"")

    session.transaction(move)                # runs again after a conflict
    occult.Client(..., datacenter=1).session(session.token())

`occult.asyncio` has the same for asyncio.
"""

from ._occult import (
    Client,
    ConflictError,
    Error,
    LossUnknownError,
    LostWriteError,
    Session,
    Transaction,
    UnknownError,
)

__all__ = [
    "Client",
    "ConflictError",
    "Error",
    "LossUnknownError",
    "LostWriteError",
    "Session",
    "Transaction",
    "UnknownError",
]
