"""The same for asyncio: each call runs in a thread of the loop's executor, without the interpreter's lock.

    client = await occult.asyncio.Client.connect(["redis://127.0.0.1:6379"], datacenter=0)
    session = client.session()
    await session.set("key", "value")

A session does one thing after the other, also if several tasks share it.
"""

import asyncio
from typing import Any, Callable, Iterable, Optional

from . import _occult

__all__ = ["Client", "Session"]


class Client:
    """Connections to a cluster."""

    def __init__(self, client: _occult.Client) -> None:
        self._client = client

    @classmethod
    async def connect(cls, seeds: Iterable[str], **options: Any) -> "Client":
        """Connects; the options are those of occult.Client."""
        return cls(await asyncio.to_thread(_occult.Client, list(seeds), **options))

    def session(self, token: Optional[str] = None) -> "Session":
        """A session that knows of nothing, or what the token says."""
        return Session(self._client.session(token))


class Session:
    """What one client does, one thing after the other."""

    def __init__(self, session: _occult.Session) -> None:
        self._session = session

    async def get(self, key: Any) -> Optional[bytes]:
        return await asyncio.to_thread(self._session.get, key)

    async def get_many(self, keys: Iterable[Any]) -> list:
        return await asyncio.to_thread(self._session.get_many, list(keys))

    async def set(self, key: Any, value: Any) -> None:
        await asyncio.to_thread(self._session.set, key, value)

    async def delete(self, key: Any) -> bool:
        return await asyncio.to_thread(self._session.delete, key)

    async def transaction(self, run: Callable[[_occult.Transaction], Any]) -> Any:
        """Runs a transaction; `run` is a plain function, and runs in the thread: it must not await."""
        return await asyncio.to_thread(self._session.transaction, run)

    def token(self) -> str:
        return self._session.token()

    def add_token(self, token: str) -> None:
        self._session.add_token(token)

    def metrics(self) -> dict:
        return self._session.metrics()
