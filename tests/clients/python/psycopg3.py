"""psycopg 3: text and binary, prepared statements, pipelines, COPY, cursors."""

import datetime
import decimal
import ipaddress
import threading
import time
import uuid

import psycopg
from psycopg import errors
from psycopg.types.range import Range

from cases import DATABASE, HOST, PORT, USER, report

DSN = f"host={HOST} port={PORT} user={USER} dbname={DATABASE}"
CASES = []


def case(f):
    CASES.append(f)
    return f


@case
def select_one(c):
    assert c.execute("select 1").fetchone() == (1,)
    assert c.info.server_version >= 140000


@case
def parameters_as_text(c):
    row = c.execute("select %s::int, %s::text, %s::float8", (42, "x'y", 1.5)).fetchone()
    assert row == (42, "x'y", 1.5), row


@case
def functions_procedures_and_triggers(c):
    c.execute("create table stock (item text primary key, n int not null)")
    c.execute("""create function take(i text, k int) returns int language plpgsql as $$
        declare rest int;
        begin
            update stock set n = n - k where item = i returning n into strict rest;
            if rest < 0 then
                raise exception 'only % of %', rest + k, i using errcode = 'check_violation', hint = 'Take less.';
            end if;
            return rest;
        end $$""")
    c.execute("create procedure put(i text, k int, inout total int default 0) language plpgsql as "
              "$$ begin insert into stock values (i, k) on conflict (item) do update set n = stock.n + k "
              "returning n into total; end $$")
    c.execute("create function up() returns trigger language plpgsql as "
              "$$ begin new.item := upper(new.item); raise notice 'stored %', new.item; return new; end $$")
    c.execute("create trigger up before insert on stock for each row execute function up()")
    heard = []
    c.add_notice_handler(lambda notice: heard.append(notice.message_primary))
    assert c.execute("call put(%s, %s)", ("nut", 5)).fetchone() == (5,)
    assert c.execute("call put(%s, %s, null)", ("NUT", 2)).fetchone() == (7,)
    assert heard == ["stored NUT", "stored NUT"], heard
    for prepare in (True, False):
        assert c.execute("select take(%s, %s)", ("NUT", 1), prepare=prepare).fetchone()[0] in (5, 6)
    try:
        c.execute("select take(%s, %s)", ("NUT", 100))
        raise AssertionError("there are not so many")
    except errors.CheckViolation as error:
        assert error.diag.message_hint == "Take less.", error.diag.message_hint
        assert "PL/pgSQL function take(text,integer) line 6 at RAISE" in error.diag.context, error.diag.context
    c.execute("drop table if exists stock; drop function take, up; drop procedure put")


@case
def parameters_as_binary(c):
    cursor = c.cursor(binary=True)
    row = cursor.execute("select %b::int8, %b::text, %b::bool", (42, "é", True)).fetchone()
    assert row == (42, "é", True), row


@case
def types_come_back_as_they_went(c):
    values = [
        ("int2", 7), ("int4", -8), ("int8", 1 << 40), ("float4", 1.5), ("float8", -2.25), ("bool", False),
        ("numeric", decimal.Decimal("123.4500")), ("text", "text"), ("varchar", "v"), ("bytea", b"\x00\xff"),
        ("date", datetime.date(2024, 2, 29)), ("time", datetime.time(1, 2, 3, 4)),
        ("timestamp", datetime.datetime(2024, 1, 2, 3, 4, 5, 6)), ("interval", datetime.timedelta(days=3, seconds=5)),
        ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")), ("int4[]", [1, 2, None]), ("text[]", ["a", "b,c"]),
        ("jsonb", {"a": [1, None]}),
    ]
    for binary in (False, True):
        cursor = c.cursor(binary=binary)
        for name, value in values:
            given = psycopg.types.json.Jsonb(value) if name == "jsonb" else value
            found = cursor.execute(f"select %s::{name}", (given,)).fetchone()[0]
            assert found == value, (name, binary, found)


@case
def ranges_come_back_as_they_went(c):
    utc = datetime.timezone.utc
    values = [
        ("int4range", Range(1, 5)), ("int8range", Range(None, 5)), ("numrange", Range(decimal.Decimal("1.50"), None, "()")),
        ("daterange", Range(datetime.date(2024, 1, 1), datetime.date(2024, 2, 1))), ("int4range", Range(empty=True)),
        ("tsrange", Range(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2), "[]")),
        ("tstzrange", Range(datetime.datetime(2024, 1, 1, tzinfo=utc), datetime.datetime(2024, 1, 2, tzinfo=utc))),
        ("int4range[]", [Range(1, 5), Range(None, None, "()")]),
    ]
    for binary in (False, True):
        cursor = c.cursor(binary=binary)
        for name, value in values:
            found = cursor.execute(f"select %s::{name}", (value,)).fetchone()[0]
            assert found == value, (name, binary, found)


@case
def addresses_and_times_with_zones_come_back_as_they_went(c):
    values = [
        ("inet", ipaddress.ip_address("1.2.3.4")), ("inet", ipaddress.ip_interface("::1/64")),
        ("cidr", ipaddress.ip_network("10.0.0.0/8")), ("inet[]", [ipaddress.ip_address("::1"), None]),
        ("timetz", datetime.time(1, 2, 3, 500, tzinfo=datetime.timezone(datetime.timedelta(hours=-8)))),
    ]
    for binary in (False, True):
        cursor = c.cursor(binary=binary)
        for name, value in values:
            for place in ("%s", "%b", "%t"):
                found = cursor.execute(f"select {place}::{name}", (value,)).fetchone()[0]
                assert found == value, (name, binary, place, found)
    oids = [d.type_code for d in c.execute("select %s::inet, '10/8'::cidr, '10:00+02'::timetz, B'1', '$1'::money",
                                           (ipaddress.ip_address("1.2.3.4"),)).description]
    assert oids == [869, 650, 1266, 1560, 790], oids


@case
def bookings_do_not_overlap(c):
    c.execute("create extension if not exists btree_gist")
    c.execute("create table psy_b (room int, span int4range, exclude using gist (room with =, span with &&))")
    c.execute("insert into psy_b values (%s, %s)", (1, Range(1, 5)))
    try:
        c.execute("insert into psy_b values (%s, %s)", (1, Range(4, 9)))
        raise AssertionError("two bookings overlap")
    except errors.ExclusionViolation as error:
        assert error.diag.constraint_name == "psy_b_room_span_excl", error.diag.constraint_name
        assert "conflicts with existing key (room, span)=(1, [1,5))" in error.diag.message_detail
    c.execute("insert into psy_b values (1, %s) on conflict do nothing", (Range(4, 9),))
    assert c.execute("select count(*) from psy_b").fetchone() == (1,)
    c.execute("drop table psy_b")


@case
def a_statement_prepares_itself(c):
    for n in range(12):
        assert c.execute("select %s::int + 1", (n,)).fetchone() == (n + 1,)


@case
def a_transaction_commits_or_not(c):
    c.execute("create table psy_t (id int primary key, v text)")
    with c.transaction():
        c.execute("insert into psy_t values (1, 'a')")
    try:
        with c.transaction():
            c.execute("insert into psy_t values (2, 'b')")
            raise psycopg.Rollback
    except psycopg.Rollback:
        pass
    assert c.execute("select * from psy_t").fetchall() == [(1, "a")]
    c.execute("drop table psy_t")


@case
def savepoints_nest(c):
    c.execute("create table psy_s (id int primary key)")
    with c.transaction():
        c.execute("insert into psy_s values (1)")
        try:
            with c.transaction():
                c.execute("insert into psy_s values (1)")
        except errors.UniqueViolation:
            pass
        c.execute("insert into psy_s values (2)")
    assert c.execute("select count(*) from psy_s").fetchone() == (2,)
    c.execute("drop table psy_s")


@case
def errors_carry_their_fields(c):
    c.execute("create table psy_e (id int primary key)")
    c.execute("insert into psy_e values (1)")
    try:
        c.execute("insert into psy_e values (1)")
        raise AssertionError("no error")
    except errors.UniqueViolation as error:
        assert error.sqlstate == "23505"
        assert error.diag.constraint_name == "psy_e_pkey", error.diag.constraint_name
        assert error.diag.table_name == "psy_e"
    try:
        c.execute("selec 1")
        raise AssertionError("no error")
    except errors.SyntaxError as error:
        assert error.diag.statement_position == "1"
    c.execute("drop table psy_e")


@case
def a_failed_transaction_waits_for_its_end(c):
    c.autocommit = False
    try:
        c.execute("select 1/0")
    except errors.DivisionByZero:
        pass
    try:
        c.execute("select 1")
        raise AssertionError("no error")
    except errors.InFailedSqlTransaction:
        pass
    c.rollback()
    assert c.execute("select 1").fetchone() == (1,)
    c.rollback()
    c.autocommit = True


@case
def many_rows_are_inserted(c):
    c.execute("create table psy_m (id int primary key, v text)")
    c.cursor().executemany("insert into psy_m values (%s, %s)", [(n, str(n)) for n in range(500)])
    assert c.execute("select count(*), max(id) from psy_m").fetchone() == (500, 499)
    c.execute("drop table psy_m")


@case
def pipelines_answer_in_order(c):
    with c.pipeline() as pipeline:
        cursors = [c.execute("select %s::int", (n,)) for n in range(100)]
        pipeline.sync()
        assert [cursor.fetchone()[0] for cursor in cursors] == list(range(100))


@case
def an_error_ends_a_pipeline_up_to_its_sync(c):
    try:
        with c.pipeline():
            c.execute("select 1")
            c.execute("select 1/0")
            c.execute("select 2")
        raise AssertionError("no error")
    except errors.DivisionByZero:
        pass
    assert c.execute("select 3").fetchone() == (3,)


@case
def copy_goes_in_and_out(c):
    c.execute("create table psy_c (id int, v text)")
    with c.cursor().copy("copy psy_c from stdin") as copy:
        for n in range(1000):
            copy.write_row((n, f"v\t{n}" if n % 2 else None))
    with c.cursor().copy("copy psy_c to stdout") as copy:
        rows = list(copy.rows())
    assert len(rows) == 1000 and rows[1] == ("1", "v\t1") and rows[2] == ("2", None), rows[:3]
    c.execute("drop table psy_c")


@case
def copy_goes_in_and_out_as_binary(c):
    c.execute("create table psy_b (id int, v text)")
    with c.cursor().copy("copy psy_b from stdin (format binary)") as copy:
        copy.set_types(["int4", "text"])
        for n in range(100):
            copy.write_row((n, str(n)))
    with c.cursor().copy("copy psy_b to stdout (format binary)") as copy:
        copy.set_types(["int4", "text"])
        assert list(copy.rows())[99] == (99, "99")
    c.execute("drop table psy_b")


@case
def a_copy_that_fails_leaves_nothing(c):
    c.execute("create table psy_f (id int)")
    try:
        with c.cursor().copy("copy psy_f from stdin") as copy:
            copy.write("1\nno number\n")
        raise AssertionError("no error")
    except errors.InvalidTextRepresentation:
        pass
    assert c.execute("select count(*) from psy_f").fetchone() == (0,)
    c.execute("drop table psy_f")


@case
def cursors_on_the_server(c):
    with c.transaction():
        with c.cursor(name="cur") as cursor:
            cursor.execute("select n from generate_series(1, 1000) n")
            assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
            assert len(cursor.fetchall()) == 997


@case
def a_query_is_cancelled(c):
    timer = threading.Timer(0.3, c.cancel)
    timer.start()
    begun = time.monotonic()
    try:
        c.execute("select count(*) from generate_series(1, 30000) a, generate_series(1, 30000) b")
        raise AssertionError("no error")
    except errors.QueryCanceled:
        pass
    assert time.monotonic() - begun < 10
    timer.join()
    assert c.execute("select 1").fetchone() == (1,)


@case
def large_values_pass(c):
    text = "x" * 1_000_000
    assert c.execute("select %s::text", (text,)).fetchone() == (text,)


@case
def many_rows_come(c):
    assert len(c.execute("select n, n::text from generate_series(1, 20000) n").fetchall()) == 20000


@case
def several_statements_at_once(c):
    cursor = c.execute("select 1; select 2")
    assert cursor.fetchone() == (1,) and cursor.nextset() and cursor.fetchone() == (2,)


@case
def notifications_come_while_nothing_is_asked(c):
    c.execute("listen p3_news")
    with psycopg.connect(DSN, autocommit=True) as other:
        timer = threading.Timer(0.2, lambda: other.execute("select pg_notify('p3_news', n::text) from generate_series(1, 3) n"))
        timer.start()
        heard = [(n.channel, n.payload, n.pid) for n in c.notifies(timeout=20, stop_after=3)]
        timer.join()
        assert heard == [("p3_news", str(n), other.info.backend_pid) for n in (1, 2, 3)], heard
        # one in a transaction hears when that has ended
        c.execute("begin")
        other.execute("notify p3_news, 'later'")
        c.execute("select 1")
        c.execute("commit")
        assert [n.payload for n in c.notifies(timeout=20, stop_after=1)] == ["later"]
    c.execute("unlisten *")


for f in CASES:
    try:
        with psycopg.connect(DSN, autocommit=True, connect_timeout=20) as connection:
            connection.execute("set statement_timeout = '30s'")
            f(connection)
        report("psycopg3", f.__name__)
    except Exception as error:
        report("psycopg3", f.__name__, error)
