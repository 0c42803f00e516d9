"""asyncpg: binary everywhere, its own type introspection, statement cache."""

import asyncio
import datetime
import decimal
import uuid

import asyncpg

from cases import DATABASE, HOST, PORT, USER, report

CASES = []


def case(f):
    CASES.append(f)
    return f


@case
async def select_one(c):
    assert await c.fetchval("select 1") == 1


@case
async def parameters_are_binary(c):
    row = await c.fetchrow("select $1::int, $2::text, $3::float8", 42, "é", 1.5)
    assert tuple(row) == (42, "é", 1.5)


@case
async def types_come_back_as_they_went(c):
    values = [
        ("int2", 7), ("int4", -8), ("int8", 1 << 40), ("float8", -2.25), ("bool", False),
        ("numeric", decimal.Decimal("123.4500")), ("text", "text"), ("varchar", "v"), ("bytea", b"\x00\xff"),
        ("date", datetime.date(2024, 2, 29)), ("time", datetime.time(1, 2, 3, 4)),
        ("timestamp", datetime.datetime(2024, 1, 2, 3, 4, 5, 6)), ("interval", datetime.timedelta(days=3, seconds=5)),
        ("timestamptz", datetime.datetime(2024, 1, 2, 3, 4, 5, 6, datetime.timezone.utc)),
        ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")), ("json", '{"a": 1}'), ("jsonb", '{"a": 1}'),
    ]
    for name, value in values:
        found = await c.fetchval(f"select $1::{name}", value)
        assert found == value, (name, found)


@case
async def arrays_come_back_as_they_went(c):
    assert await c.fetchval("select $1::int4[]", [1, 2, None]) == [1, 2, None]
    assert await c.fetchval("select $1::text[]", ["a", "b,c"]) == ["a", "b,c"]


@case
async def ranges_come_back_as_they_went(c):
    utc = datetime.timezone.utc
    values = [
        ("int4range", asyncpg.Range(1, 5)), ("int8range", asyncpg.Range(None, 5)), ("int4range", asyncpg.Range(empty=True)),
        ("numrange", asyncpg.Range(decimal.Decimal("1.50"), None, lower_inc=False)),
        ("daterange", asyncpg.Range(datetime.date(2024, 1, 1), datetime.date(2024, 2, 1))),
        ("tsrange", asyncpg.Range(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2), upper_inc=True)),
        ("tstzrange", asyncpg.Range(datetime.datetime(2024, 1, 1, tzinfo=utc), None)),
    ]
    for name, value in values:
        found = await c.fetchval(f"select $1::{name}", value)
        assert found == value, (name, found)
    assert await c.fetchval("select $1::int4range[]", [asyncpg.Range(1, 2)]) == [asyncpg.Range(1, 2)]


@case
async def records_come_with_their_types(c):
    row = await c.fetchval("select row(1, 'a'::text, 2.50, null::int, row(true, 7::int8))")
    assert tuple(row)[:4] == (1, "a", decimal.Decimal("2.50"), None), row
    assert tuple(row[4]) == (True, 7), row
    rows = await c.fetchval("select array(select row(n, n::text) from generate_series(1, 2) n)")
    assert [tuple(row) for row in rows] == [(1, "1"), (2, "2")], rows


@case
async def listeners_are_called(c):
    heard = asyncio.Queue()
    await c.add_listener("apg_news", lambda connection, pid, channel, payload: heard.put_nowait((channel, payload)))
    other = await asyncpg.connect(host=HOST, port=PORT, user=USER, database=DATABASE)
    async with other.transaction():
        await other.execute("select pg_notify($1, $2)", "apg_news", "é")
        await other.execute("notify apg_news")
    for payload in ("é", ""):
        assert await asyncio.wait_for(heard.get(), 20) == ("apg_news", payload)
    await other.close()
    await c.execute("unlisten *")


@case
async def statements_are_prepared(c):
    statement = await c.prepare("select $1::int + 1 as n")
    assert [a.name for a in statement.get_attributes()] == ["n"]
    for n in range(20):
        assert await statement.fetchval(n) == n + 1


@case
async def transactions_commit_or_not(c):
    await c.execute("create table apg_t (id int primary key)")
    async with c.transaction():
        await c.execute("insert into apg_t values ($1)", 1)
    try:
        async with c.transaction():
            await c.execute("insert into apg_t values ($1)", 2)
            raise ValueError
    except ValueError:
        pass
    assert await c.fetch("select id from apg_t") == [(1,)]
    await c.execute("drop table apg_t")


@case
async def savepoints_nest(c):
    await c.execute("create table apg_s (id int primary key)")
    async with c.transaction():
        await c.execute("insert into apg_s values (1)")
        try:
            async with c.transaction():
                await c.execute("insert into apg_s values (1)")
        except asyncpg.UniqueViolationError as error:
            assert error.constraint_name == "apg_s_pkey"
    assert await c.fetchval("select count(*) from apg_s") == 1
    await c.execute("drop table apg_s")


@case
async def cursors_read_in_parts(c):
    async with c.transaction():
        found = []
        async for row in c.cursor("select n from generate_series(1, 500) n", prefetch=50):
            found.append(row[0])
        assert found == list(range(1, 501))


@case
async def many_are_inserted(c):
    await c.execute("create table apg_m (id int primary key, v text)")
    await c.executemany("insert into apg_m values ($1, $2)", [(n, str(n)) for n in range(500)])
    assert await c.fetchval("select count(*) from apg_m") == 500
    await c.execute("drop table apg_m")


@case
async def copies_are_binary(c):
    await c.execute("create table apg_c (id int, v text)")
    records = [(n, None if n % 3 else str(n)) for n in range(1000)]
    assert await c.copy_records_to_table("apg_c", records=records) == "COPY 1000"
    assert [tuple(row) for row in await c.fetch("select * from apg_c order by id")] == records
    await c.execute("drop table apg_c")


@case
async def a_query_is_cancelled(c):
    try:
        await asyncio.wait_for(c.execute("select count(*) from generate_series(1, 30000) a, generate_series(1, 30000) b"), 0.3)
        raise AssertionError("no timeout")
    except asyncio.TimeoutError:
        pass
    assert await c.fetchval("select 1") == 1


@case
async def errors_are_told(c):
    try:
        await c.fetchval("select $1::int / 0", 1)
        raise AssertionError("no error")
    except asyncpg.DivisionByZeroError:
        pass
    assert await c.fetchval("select 2") == 2


@case
async def a_connection_is_reset_for_the_next(c):
    await c.execute("set application_name = 'x'")
    await c.reset()
    assert await c.fetchval("select 1") == 1


async def main():
    for f in CASES:
        connection = None
        try:
            connection = await asyncpg.connect(host=HOST, port=int(PORT), user=USER, database=DATABASE, timeout=20)
            await asyncio.wait_for(f(connection), 60)
            report("asyncpg", f.__name__)
        except Exception as error:
            report("asyncpg", f.__name__, error)
        finally:
            if connection is not None:
                connection.terminate()


asyncio.run(main())
