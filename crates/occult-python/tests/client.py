"""Run by crates/occult-lab/tests/python.rs against a cluster in two datacenters; `make test-occult` builds the wheel."""

import asyncio
import json
import os
import threading

import occult
import occult.asyncio

SEEDS = os.environ["OCCULT_SEEDS"].split(",")
NEAR = json.loads(os.environ["OCCULT_ADDRESSES"])


def client(datacenter):
    return occult.Client(SEEDS, datacenter=datacenter, addresses=NEAR[datacenter])


def test_sessions():
    east, west = client(0), client(1)
    session = east.session()
    session.set("key", b"\x00value")
    assert session.get("key") == b"\x00value"
    assert session.get(b"nothing") is None
    assert session.get_many(["key", "nothing"]) == [b"\x00value", None]
    assert west.session(session.token()).get("key") == b"\x00value"
    assert session.delete("key") and not session.delete("key")
    assert west.session(session.token()).get("key") is None
    assert session.metrics()["writes"] == 3
    for wrong in [lambda: west.session("no token"), lambda: occult.Client(["redis://127.0.0.1:1"])]:
        try:
            wrong()
        except occult.Error:
            continue
        raise AssertionError("no error")
    try:
        session.set("key", 7)
    except ValueError:
        pass
    else:
        raise AssertionError("no error")


def test_transactions():
    clients = [client(0), client(1)]

    def add(transaction):
        value = int(transaction.get("counter") or 0)
        transaction.set("counter", str(value + 1))
        transaction.set("copy", str(value + 1))
        return value + 1

    tokens = []

    def work(datacenter):
        session = clients[datacenter].session()
        for _ in range(10):
            session.transaction(add)
        tokens.append(session.token())

    threads = [threading.Thread(target=work, args=(number % 2,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session = clients[0].session()
    for token in tokens:
        session.add_token(token)
    assert session.get_many(["counter", "copy"]) == [b"40", b"40"]

    class Own(Exception):
        pass

    def fail(transaction):
        transaction.set("counter", "0")
        raise Own

    try:
        session.transaction(fail)
    except Own:
        pass
    else:
        raise AssertionError("no error")
    assert session.get("counter") == b"40"
    kept = []
    try:
        session.transaction(lambda transaction: (kept.append(transaction), session.get("counter")))
    except occult.Error as error:
        assert "use the transaction" in str(error)
    else:
        raise AssertionError("no error")
    try:
        kept[0].get("counter")
    except occult.Error:
        pass
    else:
        raise AssertionError("a transaction that is over was used")


async def test_asyncio():
    there = await occult.asyncio.Client.connect(SEEDS, datacenter=1, addresses=NEAR[1])
    session = there.session()
    await asyncio.gather(*(session.set(f"async-{number}", str(number)) for number in range(8)))
    values = await session.get_many([f"async-{number}" for number in range(8)])
    assert values == [str(number).encode() for number in range(8)]
    total = await session.transaction(lambda transaction: int(transaction.get("async-3")) + 1)
    assert total == 4
    assert await session.delete("async-3")
    assert await there.session(session.token()).get("async-3") is None


test_sessions()
test_transactions()
asyncio.run(test_asyncio())
print("ok")
