#!/usr/bin/env python3
"""ScaleDB beside other programs, by turns: the ratios of their rates, with their spread.

    bench/peers/peers.py --rounds 9 \\
        --run 'ours=target/release/scaledb bench tpcc --threads 1 --warehouses 1 --seconds 5 --no-check --json' \\
        --json ours=report.commits_per_second \\
        --run 'theirs=/path/to/their/benchmark --its-options' --rate 'theirs=([0-9.e+]+) txns/sec'

It builds nothing and knows no other program: it runs what it is pointed at, and is told where the rate stands in the
output, as a path in JSON (--json) or as a regular expression whose first group is the rate (--rate; the last match
counts; standard output and error are one text). The first --run is what the others are compared with.

A rate by itself says little on a machine that others use, and nothing beside a rate of another hour. So in each round
all run, one after the other, the order turning from round to round; a ratio is one of two runs of the same round, and
what is printed is the median of the ratios, their quartiles, the least and the greatest. A run that fails, or takes
longer than --limit, ends the comparison: a round that lacks one has no ratio.
"""
import argparse
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
from dataclasses import dataclass, field


class Wrong(Exception):
    """What was asked for cannot be done; the text says why."""


@dataclass
class Contestant:
    name: str
    command: list
    pattern: "re.Pattern | None" = None
    path: "list | None" = None
    rates: list = field(default_factory=list)

    def rate_in(self, output: str, standard: str) -> float:
        try:
            if self.path is not None:
                value = json.loads(standard)
                for key in self.path:
                    value = value[int(key)] if isinstance(value, list) else value[key]
                rate = float(value)
            else:
                found = [match.group(1) for match in self.pattern.finditer(output)]
                if not found:
                    raise Wrong(f"{self.name}: nothing in its output matches '{self.pattern.pattern}':\n{tail(output)}")
                rate = float(found[-1].replace(",", ""))
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise Wrong(f"{self.name}: its output has no rate there ({error}):\n{tail(output)}") from error
        if not 0 < rate < float("inf"):
            raise Wrong(f"{self.name}: a rate of {rate} compares with nothing")
        return rate


def tail(text: str) -> str:
    return text[-2000:].strip()


def run(contestant: Contestant, limit: float) -> float:
    try:
        process = subprocess.Popen(
            contestant.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise Wrong(f"{contestant.name}: {error}") from error
    try:
        standard, errors = process.communicate(timeout=limit)
    except BaseException as error:
        # its own children, too: they would run beside the next one
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Wrong(f"{contestant.name}: it had not ended after {limit:g} s") from error
        raise
    output = standard + errors
    if process.returncode != 0:
        raise Wrong(f"{contestant.name}: it ended with {process.returncode}:\n{tail(output)}")
    return contestant.rate_in(output, standard)


def spread(values: list) -> dict:
    ordered = sorted(values)
    low, _, high = statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    return {
        "median": statistics.median(ordered),
        "lower_quartile": low,
        "upper_quartile": high,
        "least": ordered[0],
        "greatest": ordered[-1],
    }


def compare(contestants: list, rounds: int, limit: float, tell) -> dict:
    for number in range(rounds):
        turn = number % len(contestants)
        for contestant in contestants[turn:] + contestants[:turn]:
            rate = run(contestant, limit)
            contestant.rates.append(rate)
            tell(f"round {number + 1} of {rounds}: {contestant.name} {rate:,.0f}")
    first = contestants[0]
    return {
        "processor": processor(),
        "rounds": rounds,
        "runs": [{"name": c.name, "command": c.command, "rates": c.rates, **spread(c.rates)} for c in contestants],
        "ratios": [
            {"of": first.name, "to": c.name, **spread([ours / theirs for ours, theirs in zip(first.rates, c.rates)])}
            for c in contestants[1:]
        ],
    }


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    except OSError:
        model = "unknown"
    return f"{len(os.sched_getaffinity(0))} cores of {model}"


def shown(result: dict) -> str:
    lines = [result["processor"], ""]
    for one in result["runs"]:
        lines.append(f"{one['name']:<24} {one['median']:>14,.0f} per second, median of {result['rounds']}")
    lines.append("")
    for ratio in result["ratios"]:
        lines.append(
            f"{ratio['of'] + ' / ' + ratio['to']:<24} {ratio['median']:>8.3f}"
            f"   quartiles {ratio['lower_quartile']:.3f} to {ratio['upper_quartile']:.3f}"
            f"   all {ratio['least']:.3f} to {ratio['greatest']:.3f}"
        )
    return "\n".join(lines)


def named(texts: list, option: str) -> dict:
    pairs = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not (separator and name and value):
            raise Wrong(f"{option} wants NAME=..., not '{text}'")
        if name in pairs:
            raise Wrong(f"{option} has {name} twice")
        pairs[name] = value
    return pairs


def contestants_of(args) -> list:
    runs, rates, paths = named(args.run, "--run"), named(args.rate, "--rate"), named(args.json, "--json")
    for name in [*rates, *paths]:
        if name not in runs:
            raise Wrong(f"there is no --run {name}=...")
    contestants = []
    for name, command in runs.items():
        if (name in rates) == (name in paths):
            raise Wrong(f"{name} wants one of --rate and --json")
        try:
            words = shlex.split(command)
            pattern = re.compile(rates[name]) if name in rates else None
        except (ValueError, re.error) as error:
            raise Wrong(f"{name}: {error}") from error
        if not words:
            raise Wrong(f"{name}: there is no command")
        if pattern is not None and pattern.groups < 1:
            raise Wrong(f"{name}: --rate wants a group in parentheses, which is the rate")
        contestants.append(Contestant(name, words, pattern, paths[name].split(".") if name in paths else None))
    if len(contestants) < 2:
        raise Wrong("a comparison needs two runs")
    return contestants


def main(arguments: "list | None" = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="append", default=[], metavar="NAME=COMMAND", help="what runs; no shell reads it")
    parser.add_argument("--rate", action="append", default=[], metavar="NAME=REGEX", help="its group is the rate")
    parser.add_argument("--json", action="append", default=[], metavar="NAME=PATH", help="where the rate is: a.b.0")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="the longest time of a run")
    parser.add_argument("--out", metavar="FILE", help="all rates and ratios, as JSON")
    args = parser.parse_args(arguments)
    try:
        if args.rounds < 1:
            raise Wrong("--rounds: at least one")
        contestants = contestants_of(args)
        result = compare(contestants, args.rounds, args.limit, lambda line: print(line, file=sys.stderr, flush=True))
    except Wrong as wrong:
        print(f"peers: {wrong}", file=sys.stderr)
        return 2
    print(shown(result))
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
