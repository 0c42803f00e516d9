#!/usr/bin/env python3
"""Makes the .slt files: runs the statements of each .sql file on a PostgreSQL 15 and notes what it answers.

usage: generate.py HOST PORT USER [FILE...]
"""

import pathlib
import re
import subprocess
import sys


def statements(text):
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return [part.strip() for part in re.split(r";[ ]*\n", text) if part.strip()]


def main():
    host, port, user, *files = sys.argv[1:]
    here = pathlib.Path(__file__).parent
    for path in [pathlib.Path(f) for f in files] or sorted(here.glob("*.sql")):
        parts = statements(path.read_text() + "\n")
        base = ["psql", "-XqAt", "-h", host, "-p", port, "-U", user]
        subprocess.run([*base, "-d", "postgres", "-c", "drop database if exists slt"], check=True)
        subprocess.run([*base, "-d", "postgres", "-c", "create database slt"], check=True)
        script = "".join(f"\\echo ##\n{part};\n" for part in parts)
        options = ["-P", "null=NULL", "-v", "VERBOSITY=sqlstate"]
        done = subprocess.run([*base, "-d", "slt", *options], input=script, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        answers = done.stdout.split("##\n")[1:]
        out = []
        for part, answer in zip(parts, answers, strict=True):
            rows = [line for line in answer.splitlines() if not re.match(r"NOTICE|WARNING|LINE|DETAIL|HINT", line)]
            error = re.match(r"ERROR:\s+(\w{5})", rows[0]) if rows else None
            returns = re.match(r"(?i)(select|with|values|show|table|fetch|call)\b", part) or "returning" in part.lower() \
                or part.lower().startswith("execute") and rows
            if error:
                out.append(f"statement error {error[1]}\n{part}\n")
            elif returns:
                out.append("\n".join(["query", part, "----", *rows, ""]))
            else:
                out.append(f"statement ok\n{part}\n")
        path.with_suffix(".slt").write_text("\n".join(out))


main()
