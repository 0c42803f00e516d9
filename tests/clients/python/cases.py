"""Runs cases and says which pass: one line each, for run.sh."""

import os
import traceback

HOST = os.environ["PGHOST"]
PORT = os.environ["PGPORT"]
USER = os.environ["PGUSER"]
DATABASE = os.environ["PGDATABASE"]


def report(client, name, error=None):
    if error is None:
        print(f"pass {client} {name}", flush=True)
    else:
        text = " ".join(str(error).split())[:200]
        print(f"fail {client} {name} {type(error).__name__}: {text}", flush=True)
        if os.environ.get("VERBOSE"):
            traceback.print_exception(error)
