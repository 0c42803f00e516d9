#!/usr/bin/env python3
"""What durability costs: TPC-C in memory and in a directory by turns, with and without checkpoints; medians.

    cargo build --release -p scaledb-cli && python3 bench/durability.py target/release/scaledb DIRECTORY

DIRECTORY is made for each run and removed after it; it decides which disk is measured.
"""
import json
import re
import shutil
import statistics
import subprocess
import sys

COMMON = ["--json", "--no-check", "--warmup", "1", "--reserve", "3000"]
# MiB of log between checkpoints: never, and so often that one is always being written
MODES = {"in memory": None, "durable": 0, "durable, checkpoints": 64}


def run(binary: str, threads: int, seconds: str, directory: str, checkpoint: "int | None") -> dict:
    command = [binary, "bench", "tpcc", "--threads", str(threads), "--warehouses", str(threads)]
    command += ["--seconds", seconds] + COMMON
    if checkpoint is not None:
        shutil.rmtree(directory, ignore_errors=True)
        command += ["--directory", directory, "--checkpoint", str(checkpoint)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["report"]


def main() -> None:
    binary, directory = sys.argv[1], sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    seconds = sys.argv[4] if len(sys.argv) > 4 else "5"
    print("| threads | mode | txn/s | min - max | of memory | of durable | log bytes/txn | commit p50 / p99 us | sync p50 / p99 us |")
    print("|---|---|---|---|---|---|---|---|---|")
    recovery = []
    for threads in (1, 2):
        reports = {mode: [] for mode in MODES}
        for _ in range(rounds):
            for mode, checkpoint in MODES.items():
                reports[mode].append(run(binary, threads, seconds, directory, checkpoint))
                if mode == "durable":
                    recovery.append(check(binary, directory))
        base = statistics.median(r["commits_per_second"] for r in reports["in memory"])
        durable = statistics.median(r["commits_per_second"] for r in reports["durable"])
        for mode, these in reports.items():
            rate = [r["commits_per_second"] for r in these]
            middle = statistics.median(rate)
            log = [r["log"] for r in these if r.get("log")]
            cells = ["-", "-", "-"]
            if log:
                new_orders = [r["classes"][0]["latency"] for r in these]
                of = lambda rows, name: statistics.median(row[name] for row in rows)
                cells = [
                    f"{of(log, 'bytes_per_transaction'):,.0f}",
                    f"{of(new_orders, 'p50_us'):,.0f} / {of(new_orders, 'p99_us'):,.0f}",
                    f"{of(log, 'sync_p50_us'):,.0f} / {of(log, 'sync_p99_us'):,.0f}",
                ]
            print(
                f"| {threads} | {mode} | {middle:,.0f} | {min(rate):,.0f} - {max(rate):,.0f} | {middle / base:.2f} "
                f"| {middle / durable:.2f} | " + " | ".join(cells) + " |",
                flush=True,
            )
    print("\nRecovery (`scaledb check`), one line each:")
    for line in recovery:
        print("   ", line)
    shutil.rmtree(directory, ignore_errors=True)


def check(binary: str, directory: str) -> str:
    done = subprocess.run([binary, "check", directory], capture_output=True, text=True, check=True)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if re.search("second|/s", line)]
    return " ".join(line.strip() for line in lines)


if __name__ == "__main__":
    main()
