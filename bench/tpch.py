#!/usr/bin/env python3
"""TPC-H's queries on ScaleDB and PostgreSQL, by turns: the times of both, and whether the answers are equal.

    pip install tpchgen-cli && tpchgen-cli csv -s 0.1 --output-dir=/tmp/tpch
    python3 bench/tpch.py /tmp/tpch --start target/release/scaledb
    python3 bench/tpch.py /tmp/tpch --connect 'host=127.0.0.1 port=5432' 'host=127.0.0.1 port=5433 user=postgres'

--start runs both servers for as long as this takes, PostgreSQL with the settings of postgres.py. --connect takes two
that run: ScaleDB first, as psql takes them. Tables are made and loaded first, unless --loaded says that they are there,
with primary keys, and with indexes of the foreign keys unless --keys-only is given. Each query runs on the one and then
on the other, --runs times; the medians are printed. A query that takes longer than --limit seconds is cut off.
"""
import argparse
import contextlib
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator

import postgres

TABLES = {
    "region": "r_regionkey int primary key, r_name char(25) not null, r_comment varchar(152)",
    "nation": "n_nationkey int primary key, n_name char(25) not null, n_regionkey int not null,"
    " n_comment varchar(152)",
    "supplier": "s_suppkey int primary key, s_name char(25) not null, s_address varchar(40) not null,"
    " s_nationkey int not null, s_phone char(15) not null, s_acctbal numeric(15,2) not null,"
    " s_comment varchar(101) not null",
    "part": "p_partkey int primary key, p_name varchar(55) not null, p_mfgr char(25) not null,"
    " p_brand char(10) not null, p_type varchar(25) not null, p_size int not null, p_container char(10) not null,"
    " p_retailprice numeric(15,2) not null, p_comment varchar(23) not null",
    "partsupp": "ps_partkey int, ps_suppkey int, ps_availqty int not null, ps_supplycost numeric(15,2) not null,"
    " ps_comment varchar(199) not null, primary key (ps_partkey, ps_suppkey)",
    "customer": "c_custkey int primary key, c_name varchar(25) not null, c_address varchar(40) not null,"
    " c_nationkey int not null, c_phone char(15) not null, c_acctbal numeric(15,2) not null,"
    " c_mktsegment char(10) not null, c_comment varchar(117) not null",
    "orders": "o_orderkey int primary key, o_custkey int not null, o_orderstatus char(1) not null,"
    " o_totalprice numeric(15,2) not null, o_orderdate date not null, o_orderpriority char(15) not null,"
    " o_clerk char(15) not null, o_shippriority int not null, o_comment varchar(79) not null",
    "lineitem": "l_orderkey int, l_partkey int not null, l_suppkey int not null, l_linenumber int,"
    " l_quantity numeric(15,2) not null, l_extendedprice numeric(15,2) not null, l_discount numeric(15,2) not null,"
    " l_tax numeric(15,2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null,"
    " l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null,"
    " l_shipinstruct char(25) not null, l_shipmode char(10) not null, l_comment varchar(44) not null,"
    " primary key (l_orderkey, l_linenumber)",
}
INDEXES = [
    "nation (n_regionkey)", "supplier (s_nationkey)", "partsupp (ps_suppkey)", "customer (c_nationkey)",
    "orders (o_custkey)", "lineitem (l_partkey, l_suppkey)", "lineitem (l_suppkey)",
]


def psql(connection: str, *arguments: str, limit: float | None = None) -> str:
    """What psql prints; raises if a statement fails."""
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *arguments, connection]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit).stdout


def load(connection: str, data: pathlib.Path, indexes: bool) -> float:
    """Makes the tables; the seconds that this has taken."""
    start = time.monotonic()
    for table, columns in TABLES.items():
        file = data / f"{table}.csv"
        psql(connection, "-c", f"drop table if exists {table}", "-c", f"create table {table} ({columns})",
             "-c", f"\\copy {table} from '{file}' with (format csv, header true)")
    for index in INDEXES if indexes else []:
        psql(connection, "-c", f"create index on {index}")
    psql(connection, "-c", "analyze")
    return time.monotonic() - start


def ask(connection: str, query: str, limit: float) -> tuple[float | None, list[str] | str]:
    """The seconds that a query has taken as psql tells them, and its rows; or why there are none."""
    try:
        out = psql(connection, "-c", f"set statement_timeout = {int(limit * 1000)}", "-c", "\\timing on",
                   "-c", query, limit=limit + 30)
    except subprocess.CalledProcessError as error:
        return None, error.stderr.strip().splitlines()[0]
    except subprocess.TimeoutExpired:
        return None, "does not end"
    *rows, last = out.strip().splitlines()
    found = re.match(r"Time: ([\d.]+) ms", last)
    return float(found.group(1)) / 1000, [line for line in rows if not line.startswith("Time:")]


def same(left: list[str], right: list[str]) -> bool:
    """Whether rows are equal, numbers by their values."""
    def fields(rows: list[str]) -> list[list[object]]:
        return [[round(float(f), 4) if re.fullmatch(r"-?\d+\.\d+", f) else f.rstrip() for f in row.split("|")]
                for row in rows]
    return fields(left) == fields(right)


@contextlib.contextmanager
def started(binary: str, port: int) -> Iterator[list[str]]:
    """Both servers, and how psql reaches them."""
    programs = postgres.programs_of(None)
    root = pathlib.Path(tempfile.mkdtemp(prefix="scaledb-bench-", dir="/dev/shm"))
    root.chmod(0o755)
    servers: list[postgres.Server] = []
    try:
        servers.append(postgres.start_scaledb(programs, binary, root / "scaledb", port))
        servers.append(postgres.start_postgres(programs, root / "postgres", port + 1))
        yield [server.parameters("postgres") for server in servers]
    finally:
        for server in servers:
            server.stop()
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--start", metavar="BINARY", help="the command scaledb; both servers are started")
    where.add_argument("--connect", nargs=2, metavar=("SCALEDB", "POSTGRES"), help="two servers that run")
    parser.add_argument("--port", type=int, default=54320, help="the first of two, with --start")
    parser.add_argument("--loaded", action="store_true", help="the tables are there")
    parser.add_argument("--keys-only", action="store_true", help="no indexes but those of primary keys")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--queries", type=int, nargs="*", default=list(range(1, 23)))
    args = parser.parse_args()
    if args.connect:
        compare(args, args.connect)
        return
    with started(args.start, args.port) as servers:
        compare(args, servers)


def compare(args: argparse.Namespace, servers: list[str]) -> None:
    """Prints the table."""
    parts = re.split(r"^-- (\d+)\n", (pathlib.Path(__file__).parent / "tpch.sql").read_text(), flags=re.M)
    queries = {int(number): text.strip() for number, text in zip(parts[1::2], parts[2::2])}
    if not args.loaded:
        seconds = [load(server, args.data, not args.keys_only) for server in servers]
        print(f"loading: {seconds[0]:.1f} s, {seconds[1]:.1f} s", flush=True)
    print("query   ScaleDB  PostgreSQL  ratio  answers")
    totals = [0.0, 0.0]
    for number in args.queries:
        times: list[list[float]] = [[], []]
        rows: list[list[str] | str] = ["", ""]
        for _ in range(args.runs):
            for side, server in enumerate(servers):
                if isinstance(rows[side], str) and rows[side]:
                    continue
                seconds, rows[side] = ask(server, queries[number], args.limit)
                if seconds is not None:
                    times[side].append(seconds)
        medians = [statistics.median(side) if side else None for side in times]
        shown = [f"{median:.3f}" if median is not None else "-" for median in medians]
        failed = [r for r in rows if isinstance(r, str)]
        if failed:
            verdict, ratio = "; ".join(failed), ""
        else:
            verdict = "equal" if same(rows[0], rows[1]) else "DIFFERENT"
            ratio = f"{medians[1] / medians[0]:.2f}"
        for side, median in enumerate(medians):
            totals[side] += median if median is not None else args.limit
        print(f"{number:5} {shown[0]:>9} {shown[1]:>11} {ratio:>6}  {verdict}", flush=True)
    print(f"total {totals[0]:9.3f} {totals[1]:11.3f} {totals[1] / totals[0]:6.2f}")


if __name__ == "__main__":
    main()
