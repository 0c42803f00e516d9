#!/usr/bin/env python3
"""ScaleDB beside PostgreSQL: pgbench, TPC-C in SQL, contention and schema changes, by turns, with the processor time of
the servers.

    cargo build --release -p scaledb-cli && python3 bench/postgres.py target/release/scaledb

Both servers are started here, keep their files in memory (PostgreSQL without fsync, full_page_writes and
synchronous_commit), run every transaction serializable, and are asked through a Unix socket. Each workload runs on
the one and then on the other; while one is measured, the other is idle. Prints a table as soon as its lines are known.

Processor time is what the system has counted for all processes of a server, user and system, while it was asked. The
clients' is not in it, although they share the machine.
"""
import argparse
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PARTS = ["pgbench", "contention", "large", "tpcc"]
TICK = os.sysconf("SC_CLK_TCK")
# places in what `stat` returns: user and system time of a process, and of its children that have ended
UTIME, STIME, CUTIME, CSTIME = range(10, 14)
# where distributions keep PostgreSQL's programs
PLACES = ["/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin", "/usr/local/bin", "/usr/bin"]
POSTGRES = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "default_transaction_isolation": "serializable",
    "shared_buffers": "2GB",
    "max_wal_size": "8GB",
    "max_connections": "100",
    # serializable TPC-B with several clients runs out of the default
    "max_pred_locks_per_transaction": "4096",
    # tables are vacuumed before each run; a vacuum in the background would run while the other server is measured
    "autovacuum": "off",
    "listen_addresses": "",
}
PGBENCH = {
    "select-only, prepared": ["--select-only", "--protocol=prepared"],
    "select-only, simple": ["--select-only", "--protocol=simple"],
    "TPC-B, prepared": ["--protocol=prepared"],
    "TPC-B, simple": ["--protocol=simple"],
    "TPC-B in a function, prepared": ["--protocol=prepared", "-f", "tpcb.sql"],
}
# the transaction of TPC-B as one statement, which is one round trip
FUNCTION = """
CREATE FUNCTION tpcb(of_account int, of_teller int, of_branch int, delta int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    balance int;
BEGIN
    UPDATE pgbench_accounts SET abalance = abalance + delta WHERE aid = of_account;
    SELECT abalance INTO balance FROM pgbench_accounts WHERE aid = of_account;
    UPDATE pgbench_tellers SET tbalance = tbalance + delta WHERE tid = of_teller;
    UPDATE pgbench_branches SET bbalance = bbalance + delta WHERE bid = of_branch;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
        VALUES (of_teller, of_branch, of_account, delta, CURRENT_TIMESTAMP);
    RETURN balance;
END
$$
"""
CALL = """
\\set account random(1, 100000 * :scale)
\\set branch random(1, :scale)
\\set teller random(1, 10 * :scale)
\\set delta random(-5000, 5000)
SELECT tpcb(:account, :teller, :branch, :delta);
"""
# one transaction each, run by clients that are in each other's way
CONTENTION = {
    "one row, plain UPDATE": "UPDATE hot SET n = n + 1 WHERE id = 1;\n",
    "one row, SELECT FOR UPDATE, UPDATE": (
        "BEGIN;\nSELECT n FROM hot WHERE id = 1 FOR UPDATE;\nUPDATE hot SET n = n + 1 WHERE id = 1;\nCOMMIT;\n"
    ),
    "job queue, SKIP LOCKED": (
        "BEGIN;\n"
        "SELECT id AS job FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED \\gset\n"
        "DELETE FROM jobs WHERE id = :job;\n"
        "COMMIT;\n"
    ),
    "booking of a room, EXCLUDE": (
        "\\set room random(1, 1000)\n"
        "\\set start random(1, 1000000)\n"
        "INSERT INTO booking VALUES (:room, int4range(:start, :start + 10)) ON CONFLICT DO NOTHING;\n"
    ),
}
# made anew before each run
CONTENDED = """
DROP TABLE IF EXISTS hot, jobs, booking;
CREATE TABLE hot (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO hot VALUES (1, 0);
CREATE TABLE jobs (id int PRIMARY KEY, payload text);
INSERT INTO jobs SELECT g, 'job' FROM generate_series(1, 200000) g;
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TABLE booking (room int, span int4range, EXCLUDE USING gist (room WITH =, span WITH &&));
"""
# statements over a million rows, one after the other
LARGE = {
    "INSERT ... SELECT": "INSERT INTO large SELECT g, g % 1000, 'text ' || g FROM generate_series(1, 1000000) g",
    "CREATE INDEX": "CREATE INDEX large_a ON large (a)",
    "CREATE INDEX beside 4 writers": "CREATE INDEX large_b ON large (b)",
    "ADD COLUMN with a default": "ALTER TABLE large ADD COLUMN c int NOT NULL DEFAULT 7",
    "DROP COLUMN": "ALTER TABLE large DROP COLUMN c",
    "UPDATE of all rows": "UPDATE large SET a = a + 1",
    "DELETE of half": "DELETE FROM large WHERE id % 2 = 0",
}
WRITER = "\\set id random(1, 1000000)\nUPDATE large SET a = a + 1 WHERE id = :id;\n"


class Server:
    """A server that runs: how it is reached, and what processor time it has taken."""

    def __init__(self, name: str, process: subprocess.Popen, directory: pathlib.Path, port: int):
        self.name, self.process, self.directory, self.port = name, process, directory, port

    def seconds(self) -> float:
        """Processor time of the process, its children, and the children that have ended."""
        pid = self.process.pid
        own = stat(pid)
        total = sum(own[UTIME : CSTIME + 1])
        for child in children(pid):
            fields = stat(child)
            if fields:
                total += fields[UTIME] + fields[STIME]
        return total / TICK

    def settled(self) -> float:
        """The same, when the processes of the last clients have ended."""
        while True:
            before = len(children(self.process.pid))
            time.sleep(0.3)
            if len(children(self.process.pid)) == before:
                return self.seconds()

    def parameters(self, database: str) -> str:
        return f"host={self.directory} port={self.port} user=postgres dbname={database}"

    def stop(self) -> None:
        # a fast shutdown of PostgreSQL: at once, whoever is connected
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def stat(pid: int) -> "list[int]":
    """The numbers of /proc/PID/stat behind the name and the state; none if there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    # index 0 is the second field behind the name, which proc(5) counts as the fourth
    return [int(field) for field in text.rsplit(")", 1)[1].split()[1:]]


def children(pid: int) -> "list[int]":
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except OSError:
            pass
    return found


def wait_for(programs: pathlib.Path, server: Server) -> Server:
    for _ in range(300):
        ready = [programs / "pg_isready", "-q", "-h", server.directory, "-p", str(server.port)]
        if subprocess.run(ready, check=False).returncode == 0:
            return server
        if server.process.poll() is not None:
            sys.exit(f"{server.name} has ended: see {server.directory}/log")
        time.sleep(0.1)
    server.stop()
    sys.exit(f"{server.name} does not answer")


def programs_of(directory: "str | None") -> pathlib.Path:
    """Where PostgreSQL's programs are."""
    places = [directory] if directory else PLACES
    programs = next((pathlib.Path(place) for place in places if os.path.exists(f"{place}/postgres")), None)
    return programs or sys.exit("PostgreSQL is not found: --programs names its directory")


def start_scaledb(programs: pathlib.Path, binary: str, directory: pathlib.Path, port: int) -> Server:
    directory.mkdir()
    command = [binary, "serve", "--listen", "127.0.0.1", "--port", str(port), "--socket", str(directory)]
    with open(directory / "log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    return wait_for(programs, Server("ScaleDB", process, directory, port))


def start_postgres(programs: pathlib.Path, directory: pathlib.Path, port: int) -> Server:
    directory.mkdir()
    # PostgreSQL refuses to run as root
    user = {}
    if os.geteuid() == 0:
        entry = pwd.getpwnam("postgres")
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        os.chown(directory, entry.pw_uid, entry.pw_gid)
    data = directory / "data"
    initdb = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
    with open(directory / "log", "w") as log:
        subprocess.run(initdb, stdout=log, stderr=log, check=True, cwd=directory, **user)
        command = [programs / "postgres", "-D", data, "-k", directory, "-p", str(port)]
        for name, value in POSTGRES.items():
            command += ["-c", f"{name}={value}"]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=directory, **user)
    return wait_for(programs, Server("PostgreSQL", process, directory, port))


class Measured:
    def __init__(self, rate: float, transactions: int, failed: int, cpu: float):
        self.rate, self.cpu = rate, cpu / max(transactions, 1) * 1e6
        self.failed = failed / max(transactions + failed, 1) * 100


def pgbench(programs: pathlib.Path, server: Server, options: "list[str]", clients: int, seconds: int) -> Measured:
    threads = min(clients, os.cpu_count() or 1)
    where = ["-h", server.directory, "-p", str(server.port), "-U", "postgres"]
    # what pgbench does by itself before a run, done before the processor time is looked at
    tidy = ["-c", "VACUUM pgbench_branches", "-c", "VACUUM pgbench_tellers", "-c", "TRUNCATE pgbench_history"]
    if "-f" not in options or "tpcb.sql" in options:
        subprocess.run([programs / "psql", "-q", *where, *tidy, "postgres"], capture_output=True, check=True)
    command = [programs / "pgbench", *where, "--no-vacuum"]
    command += ["-c", str(clients), "-j", str(threads), "-T", str(seconds), "--max-tries=1000"]
    before = server.settled()
    root = server.directory.parent
    done = subprocess.run(command + options + ["postgres"], capture_output=True, text=True, check=False, cwd=root)
    if done.returncode != 0:
        sys.exit(f"pgbench on {server.name} failed:\n{done.stderr}")
    cpu = server.settled() - before

    def number(pattern: str) -> float:
        found = re.search(pattern, done.stdout)
        return float(found.group(1)) if found else 0.0

    rate = number(r"tps = ([\d.]+)")
    transactions = int(number(r"actually processed: (\d+)"))
    # attempts that were run again
    failed = int(number(r"total number of retries: (\d+)"))
    return Measured(rate, transactions, failed, cpu)


def psql(programs: pathlib.Path, server: Server, *statements: str) -> float:
    """Runs statements; the seconds that they took."""
    command = [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", server.directory, "-p", str(server.port)]
    command += ["-U", "postgres", "postgres"]
    for statement in statements:
        command += ["-c", statement]
    since = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{server.name} refuses {statements[-1]!r}:\n{done.stderr}")
    return time.monotonic() - since


def contention(programs: pathlib.Path, server: Server, script: pathlib.Path, clients: int, seconds: int) -> Measured:
    psql(programs, server, *[statement for statement in CONTENDED.split(";") if statement.strip()])
    return pgbench(programs, server, ["--protocol=prepared", "-f", str(script)], clients, seconds)


def large(programs: pathlib.Path, server: Server, root: pathlib.Path) -> "dict[str, float]":
    """The seconds of each statement."""
    took = {}
    psql(programs, server, "DROP TABLE IF EXISTS large", "CREATE TABLE large (id int PRIMARY KEY, a int, b text)")
    script = root / "writer.sql"
    script.write_text(WRITER)
    for name, statement in LARGE.items():
        writers = None
        if "writers" in name:
            command = [programs / "pgbench", "-n", "-c", "4", "-j", "1", "-T", "600", "--max-tries=0", "-f", script]
            command += ["-h", server.directory, "-p", str(server.port), "-U", "postgres", "postgres"]
            writers = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
        took[name] = psql(programs, server, statement)
        if writers:
            running = writers.poll() is None
            writers.terminate()
            writers.wait()
            if not running:
                sys.exit(f"the writers beside {name!r} on {server.name} have failed")
    psql(programs, server, "DROP TABLE large")
    return took


def tpcc(binary: str, server: Server, database: str, clients: int, seconds: int) -> Measured:
    command = [binary, "bench", "tpcc", "--sql", "wire", "--connect", server.parameters(database)]
    command += ["--threads", str(clients), "--warehouses", str(clients)]
    command += ["--seconds", str(seconds), "--warmup", "2", "--no-check", "--json"]
    # what is measured ends with the command, and is as long as it was told: the processor time at its begin is
    # looked up afterwards
    times, done = [], threading.Event()

    def watch() -> None:
        while not done.is_set():
            times.append((time.monotonic(), server.seconds()))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    end = time.monotonic()
    done.set()
    watcher.join()
    if ended.returncode != 0:
        sys.exit(f"TPC-C on {server.name} failed:\n{ended.stderr}")
    report = json.loads(ended.stdout)["report"]
    begin = max((cpu for at, cpu in times if at <= end - report["seconds"]), default=times[0][1])
    transactions = sum(row["commits"] + row["rollbacks"] for row in report["classes"])
    conflicts = sum(row["conflicts"] for row in report["classes"])
    return Measured(report["commits_per_second"], transactions, conflicts, times[-1][1] - begin)


def line(workload: str, clients: int, of: "dict[str, list[Measured]]") -> None:
    middle = lambda name, field: statistics.median(getattr(m, field) for m in of[name])
    ours, theirs = "ScaleDB", "PostgreSQL"
    cells = [workload, str(clients)]
    cells += [f"{middle(name, 'rate'):,.0f}" for name in (ours, theirs)]
    cells.append(f"{middle(ours, 'rate') / max(middle(theirs, 'rate'), 1e-9):.2f}")
    cells += [f"{middle(name, 'cpu'):,.1f}" for name in (ours, theirs)]
    cells.append(f"{middle(theirs, 'cpu') / max(middle(ours, 'cpu'), 1e-9):.2f}")
    cells += [f"{middle(name, 'failed'):.2f}" for name in (ours, theirs)]
    print("| " + " | ".join(cells) + " |", flush=True)


def measure(arguments: argparse.Namespace, programs: pathlib.Path, root: pathlib.Path) -> None:
    ours = start_scaledb(programs, arguments.binary, root / "scaledb", arguments.port)
    theirs = None
    try:
        theirs = start_postgres(programs, root / "postgres", arguments.port + 1)
        print("| workload | clients | ScaleDB tps | PostgreSQL tps | ratio | ScaleDB CPU us/txn | PostgreSQL CPU us/txn "
              "| ratio | ScaleDB retried % | PostgreSQL retried % |")
        print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
        if "pgbench" in arguments.only:
            for server in (ours, theirs):
                fill = [programs / "pgbench", "-i", "-q", "-s", str(arguments.scale), "-h", server.directory]
                fill += ["-p", str(server.port), "-U", "postgres", "postgres"]
                subprocess.run(fill, capture_output=True, check=True)
                psql(programs, server, FUNCTION)
            (root / "tpcb.sql").write_text(CALL.replace(":scale", str(arguments.scale)))
            for workload in arguments.workloads:
                options = PGBENCH[workload]
                for clients in arguments.clients:
                    of = {ours.name: [], theirs.name: []}
                    for _ in range(arguments.rounds):
                        for server in (ours, theirs):
                            found = pgbench(programs, server, options, clients, arguments.seconds)
                            of[server.name].append(found)
                    line(workload, clients, of)
        if "contention" in arguments.only:
            for workload, text in CONTENTION.items():
                script = root / "contention.sql"
                script.write_text(text)
                for clients in [6, 32]:
                    of = {ours.name: [], theirs.name: []}
                    for _ in range(arguments.rounds):
                        for server in (ours, theirs):
                            found = contention(programs, server, script, clients, arguments.seconds)
                            of[server.name].append(found)
                    line(workload, clients, of)
        if "large" in arguments.only:
            rounds = {ours.name: [], theirs.name: []}
            for _ in range(arguments.rounds):
                for server in (ours, theirs):
                    rounds[server.name].append(large(programs, server, root))
            print("\n| a million rows | ScaleDB s | PostgreSQL s |\n|---|---|---|")
            for name in LARGE:
                cells = [statistics.median(took[name] for took in rounds[server.name]) for server in (ours, theirs)]
                print(f"| {name} | {cells[0]:.2f} | {cells[1]:.2f} |", flush=True)
        ours.stop()
        if "tpcc" in arguments.only:
            of = {ours.name: [], theirs.name: []}
            for number in range(arguments.rounds):
                ours = start_scaledb(programs, arguments.binary, root / f"scaledb{number}", arguments.port)
                of[ours.name].append(tpcc(arguments.binary, ours, "tpcc", 2, arguments.tpcc_seconds))
                ours.stop()
                database = f"tpcc{number}"
                create = [programs / "createdb", "-h", theirs.directory, "-p", str(theirs.port), "-U", "postgres"]
                subprocess.run(create + [database], check=True)
                of[theirs.name].append(tpcc(arguments.binary, theirs, database, 2, arguments.tpcc_seconds))
            line("TPC-C, 2 warehouses", 2, of)
    finally:
        ours.stop()
        if theirs:
            theirs.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", default="target/release/scaledb")
    parser.add_argument("--seconds", type=int, default=5, help="of each run of pgbench")
    parser.add_argument("--tpcc-seconds", type=int, default=20, help="of each run of TPC-C")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each, of which the median is printed")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32], help="of pgbench")
    parser.add_argument("--scale", type=int, default=32, help="of pgbench")
    parser.add_argument("--workloads", choices=list(PGBENCH), nargs="+", default=list(PGBENCH), help="of pgbench")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--programs", help="the directory of PostgreSQL's programs")
    parser.add_argument("--directory", default="/dev/shm", help="where the servers' directories are made")
    parser.add_argument("--port", type=int, default=54310, help="the first of two")
    arguments = parser.parse_args()
    arguments.binary = shutil.which(arguments.binary) or sys.exit(f"there is no {arguments.binary}")
    programs = programs_of(arguments.programs)
    root = pathlib.Path(tempfile.mkdtemp(prefix="scaledb-bench-", dir=arguments.directory))
    try:
        root.chmod(0o755)
        measure(arguments, programs, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
