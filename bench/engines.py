#!/usr/bin/env python3
"""Compares the engines, and Cicada with itself: the figures of docs/engines.md.

    cargo build --release -p scaledb-cli --features ablations
    python3 bench/engines.py target/release/scaledb [rounds [seconds]]

Everything in turn, several rounds, medians. All with memory taken ahead (--reserve), threads not pinned.
"""
import json
import statistics
import subprocess
import sys

RESERVE = ["--reserve", "3000"]
NP, Y16, Y1 = "tpcc-np", "ycsb-16", "ycsb-1"
# name, workload, threads, options: on both engines
BOTH = [
    ("TPC-C, 1 thread, 1 warehouse", "tpcc", 1, []),
    ("TPC-C, 2 threads, 1 warehouse", "tpcc", 2, ["--warehouses", "1"]),
    ("TPC-C, 2 threads, 2 warehouses", "tpcc", 2, ["--warehouses", "2"]),
    ("TPC-C, 2 threads, 4 warehouses", "tpcc", 2, ["--warehouses", "4"]),
    ("New-Order + Payment, 2 threads, 2 warehouses", NP, 2, ["--warehouses", "2"]),
    *(
        (f"YCSB, 16 requests, {ratio} % reads, skew {theta}", Y16, 2, ["--read-ratio", str(ratio), "--theta", str(theta)])
        for ratio in (50, 95)
        for theta in (0, 0.8, 0.99)
    ),
    ("YCSB, 1 request, 50 % reads, skew 0.99", Y1, 2, ["--read-ratio", "50"]),
    ("YCSB, 1 request, 95 % reads, skew 0.99", Y1, 2, ["--read-ratio", "95"]),
    ("YCSB-E, scans of 1-100 records", "ycsb-e", 2, []),
    ("SmallBank", "smallbank", 2, []),
]
UNIFORM = ["--read-ratio", "95", "--theta", "0"]
# Cicada alone: title, workload, options of each column
SIZES = (8, 40, 100, 200, 400, 1000, 2000)
INLINING = [
    (f"{size} bytes", Y16, [*UNIFORM, "--records", "500000", "--field-bytes", str(size)]) for size in SIZES
]
CONTENDED = ["--read-ratio", "50", "--theta", "0.99"]
TECHNIQUES = ("wait", "latest", "sort", "precheck")
INTERVALS = (10, 100, 1000, 10000, 100000)
BACKOFFS = (0, 500, 2000, 10000, 50000, 200000)
REGULATED = [
    ("TPC-C, 1 warehouse", "tpcc", ["--warehouses", "1"]),
    ("New-Order + Payment, 1 warehouse", NP, ["--warehouses", "1"]),
    ("YCSB, 1 request, 50 % reads, 1,000 records", Y1, ["--read-ratio", "50", "--records", "1000"]),
]


def cicada(*options: str) -> list:
    return ["--engine", "cicada", *options]


def main() -> None:
    binary = sys.argv[1] if len(sys.argv) > 1 else "target/release/scaledb"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    seconds = sys.argv[3] if len(sys.argv) > 3 else "2"
    runs = {}

    def plan(*key, workload, threads=2, options=()):
        runs[key] = (workload, threads, list(options))

    for name, workload, threads, options in BOTH:
        plan("both", name, "acc", workload=workload, threads=threads, options=options)
        plan("both", name, "cicada", workload=workload, threads=threads, options=[*options, *cicada()])
    for name, workload, options in INLINING:
        plan("inline", name, "inlined up to 2,000", workload=workload, options=[*options, *cicada("--inline-bytes", "2000")])
        plan("inline", name, "up to 216 (default)", workload=workload, options=[*options, *cicada()])
        plan("inline", name, "never", workload=workload, options=[*options, *cicada("--inline-bytes", "0")])
    plan("without", "nothing", workload=Y16, options=[*CONTENDED, *cicada()])
    for technique in TECHNIQUES:
        plan("without", technique, workload=Y16, options=[*CONTENDED, *cicada("--without", technique)])
    for warehouses in ("1", "2"):
        for interval in INTERVALS:
            options = ["--warehouses", warehouses, *cicada("--quiescence", str(interval))]
            plan("gc", warehouses, interval, workload="tpcc", options=options)
    for name, workload, options in REGULATED:
        plan("backoff", name, "regulated", workload=workload, options=[*options, *cicada()])
        for backoff in BACKOFFS:
            fixed = cicada("--backoff", str(backoff))
            plan("backoff", name, backoff, workload=workload, options=[*options, *fixed])

    rates, aborts = {key: [] for key in runs}, {key: [] for key in runs}
    staleness = {"acc": [], "cicada": []}
    for _ in range(rounds):
        for key, (workload, threads, options) in runs.items():
            command = [binary, "bench", workload, "--json", "--threads", str(threads), "--seconds", seconds]
            command += ["--warmup", "1", "--no-check", *RESERVE, *options]
            report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["report"]
            rates[key].append(report["commits_per_second"])
            aborts[key].append(report["abort_percent"])
        for engine, found in staleness.items():
            command = [binary, "bench", "staleness", "--json", "--seconds", seconds, "--engine", engine]
            found.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    rate = {key: statistics.median(values) for key, values in rates.items()}
    abort = {key: statistics.median(values) for key, values in aborts.items()}

    print("| workload | ACC | Cicada | Cicada / ACC | conflicts %, ACC / Cicada |\n|---|---|---|---|---|")
    for name, *_ in BOTH:
        acc, other = ("both", name, "acc"), ("both", name, "cicada")
        print(f"| {name} | {rate[acc]:,.0f} | {rate[other]:,.0f} | {rate[other] / rate[acc]:.2f} | {abort[acc]:.2f} / {abort[other]:.2f} |")
    print("\n| rows | never inlined | up to 216 bytes | up to 2,000 bytes |\n|---|---|---|---|")
    for name, *_ in INLINING:
        never, default, always = (rate["inline", name, k] for k in ("never", "up to 216 (default)", "inlined up to 2,000"))
        print(f"| {name} | {never:,.0f} | {default / never - 1:+.0%} | {always / never - 1:+.0%} |")
    print("\n| without | txn/s | difference | conflicts % |\n|---|---|---|---|")
    base = rate["without", "nothing"]
    for technique in ("nothing", *TECHNIQUES):
        key = ("without", technique)
        print(f"| {technique} | {rate[key]:,.0f} | {rate[key] / base - 1:+.1%} | {abort[key]:.2f} |")
    print("\n| quiescence | " + " | ".join(f"{i / 1000:g} ms" for i in INTERVALS) + " |\n|---|" + "---|" * len(INTERVALS))
    for warehouses in ("1", "2"):
        print(f"| {warehouses} warehouses | " + " | ".join(f"{rate['gc', warehouses, i]:,.0f}" for i in INTERVALS) + " |")
    print("\n| longest pause | regulated | " + " | ".join(f"{b / 1000:g} us" for b in BACKOFFS) + " |\n|---|---|" + "---|" * len(BACKOFFS))
    for name, *_ in REGULATED:
        keys = [("backoff", name, k) for k in ("regulated", *BACKOFFS)]
        print(f"| {name} | " + " | ".join(f"{rate[k]:,.0f} ({abort[k]:.1f} %)" for k in keys) + " |")
    print("\n| snapshots are old | mean | p50 | p99.9 |\n|---|---|---|---|")
    for engine, found in staleness.items():
        median = lambda field: statistics.median(f[field] for f in found)
        print(f"| {engine} | {median('mean_us'):,.0f} us | {median('p50_us'):,.0f} us | {median('p999_us'):,.0f} us |")


if __name__ == "__main__":
    main()
