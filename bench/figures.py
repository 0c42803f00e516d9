#!/usr/bin/env python3
"""Measures the workloads of docs/benchmarks.md: all of them in turn, several rounds, medians.

    cargo build --release -p scaledb-cli && python3 bench/figures.py target/release/scaledb

Prints a table: transactions per second by the wall clock and by processor time (for busy machines), the
percentage of attempts that ended in a conflict, and tree node locks per committed insert.
"""
import json
import statistics
import subprocess
import sys

# memory is taken ahead: its first touch would be measured otherwise
COMMON = ["--no-check", "--warmup", "1"]
RUNS = [
    ("tpcc", 1, ["--warehouses", "1", "--reserve", "3000"]),
    ("tpcc", 2, ["--warehouses", "2", "--reserve", "3000"]),
    ("tpcc", 2, ["--warehouses", "1", "--reserve", "3000"]),
    ("tpcc", 2, ["--warehouses", "2", "--index-updates", "synchronous", "--reserve", "3000"]),
    ("tpcc-np", 2, ["--warehouses", "2", "--reserve", "3000"]),
    ("tpcc-nd", 2, ["--warehouses", "2", "--reserve", "3000"]),
    ("tpcc-nd", 2, ["--warehouses", "1", "--reserve", "3000"]),
    ("ycsb-16", 1, ["--reserve", "3000"]),
    ("ycsb-16", 2, ["--reserve", "3000"]),
    ("ycsb-1", 1, ["--reserve", "3000"]),
    ("ycsb-1", 2, ["--reserve", "3000"]),
    ("ycsb-read-insert", 1, ["--read-ratio", "50", "--reserve", "12000"]),
    ("ycsb-read-insert", 1, ["--read-ratio", "50", "--index-updates", "synchronous", "--reserve", "12000"]),
    ("ycsb-read-insert", 2, ["--read-ratio", "50", "--reserve", "12000"]),
    ("ycsb-read-insert", 2, ["--read-ratio", "50", "--index-updates", "synchronous", "--reserve", "12000"]),
    ("smallbank", 2, ["--reserve", "3000"]),
]


def main() -> None:
    binary = sys.argv[1] if len(sys.argv) > 1 else "target/release/scaledb"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seconds = sys.argv[3] if len(sys.argv) > 3 else "4"
    results = [[] for _ in RUNS]
    for _ in range(rounds):
        for (workload, threads, options), reports in zip(RUNS, results):
            command = [binary, "bench", workload, "--json", "--threads", str(threads), "--seconds", seconds]
            done = subprocess.run(command + options + COMMON, capture_output=True, text=True, check=True)
            reports.append(json.loads(done.stdout)["report"])
    print("| workload | threads | txn/s | min - max | txn/s of processor time | conflicts % | locks per insert |")
    print("|---|---|---|---|---|---|---|")
    for (workload, threads, options), reports in zip(RUNS, results):
        rate = [r["commits_per_second"] for r in reports]
        cpu = [r.get("commits_per_cpu_second") or 0 for r in reports]
        aborts = [r["abort_percent"] for r in reports]
        locks = [per_insert(r["tables"]) for r in reports]
        name = " ".join([workload] + [o.lstrip("-") for o in options[:-2]])
        print(
            f"| {name} | {threads} | {statistics.median(rate):,.0f} | {min(rate):,.0f} - {max(rate):,.0f} "
            f"| {statistics.median(cpu):,.0f} | {statistics.median(aborts):.2f} | {statistics.median(locks):.3f} |"
        )


def per_insert(tables: list) -> float:
    """Tree nodes locked for each entry that reached a tree, since the database was opened (loading included)."""
    inserted = sum(t.get("merged", 0) + t.get("synchronous", 0) for t in tables)
    return sum(t.get("node_locks", 0) for t in tables) / max(inserted, 1)


if __name__ == "__main__":
    main()
