#!/usr/bin/env bash
# Real clients against a server: tests/clients/run.sh [python|node|go|java|rust|psql|pgbench]...
#
# Builds and starts `scaledb serve`, or uses the server of PGHOST and PGPORT if REFERENCE=1 (what passes there and fails here is
# a miss). Installs what the clients need under target/clients. Fails if a case fails that README.md does not list
# as a known miss, or if one passes that it lists: the list may only shrink.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${CARGO_TARGET_DIR:-$root/target}/clients
results=$work/results
mkdir -p "$work"
: > "$results"

clients=("$@")
if [ ${#clients[@]} -eq 0 ]; then clients=(psql pgbench python node go java rust); fi

export PGUSER=${PGUSER:-postgres} PGDATABASE=${PGDATABASE:-postgres} PGCONNECT_TIMEOUT=20
if [ -z "${REFERENCE:-}" ]; then
    (cd "$root" && cargo build --quiet --locked -p scaledb-cli ${RELEASE:+--release})
    binary=${CARGO_TARGET_DIR:-$root/target}/${RELEASE:+release}
    binary=${binary%/}
    [ -n "${RELEASE:-}" ] || binary=$binary/debug
    "$binary/scaledb" serve --port 0 > "$work/server.log" 2>&1 &
    server=$!
    trap 'kill "$server" 2> /dev/null || true; wait "$server" 2> /dev/null || true' EXIT
    for _ in $(seq 100); do
        port=$(sed -n 's/^listening at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/server.log")
        [ -n "$port" ] && break
        sleep 0.1
    done
    if [ -z "$port" ]; then
        cat "$work/server.log" >&2
        exit 1
    fi
    export PGHOST=127.0.0.1 PGPORT=$port
fi

need() {
    for tool in "$@"; do
        if ! command -v "$tool" > /dev/null; then
            echo "skip: $tool is not installed"
            return 1
        fi
    done
}

# a copy of a client's directory, where its tools may write
copy() {
    mkdir -p "$work/$1"
    cp -r "$here/$1/." "$work/$1/"
    cd "$work/$1"
}

run_python() {
    need python3 || return 0
    copy python
    [ -d "$work/venv" ] || python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
    "$work/venv/bin/python" psycopg3.py
    "$work/venv/bin/python" asyncpg_.py
}

run_node() {
    need node npm || return 0
    copy node
    npm install --silent --no-audit --no-fund > /dev/null
    node --no-deprecation node_postgres.mjs
    node --no-deprecation postgres_js.mjs
}

run_go() {
    need go || return 0
    copy go
    go mod tidy 2> /dev/null
    go run .
}

run_java() {
    need java mvn || return 0
    copy java
    mvn --quiet --batch-mode --no-transfer-progress compile exec:java | grep -aoE '(pass|fail) jdbc .*'
}

run_rust() {
    copy rust
    CARGO_TARGET_DIR=$work/rust-target cargo run --quiet
}

run_psql() {
    need psql || return 0
    mkdir -p "$work/psql"
    for script in "$here"/psql/*.sql; do
        name=$(basename "$script" .sql)
        psql -X --no-psqlrc -v VERBOSITY=default -f - < "$script" > "$work/psql/$name.out" 2>&1 || true
        if [ -n "${REFERENCE:-}" ] && [ -n "${ACCEPT:-}" ]; then cp "$work/psql/$name.out" "$here/psql/$name.out"; fi
        if diff -u "$here/psql/$name.out" "$work/psql/$name.out" > "$work/psql/$name.diff"; then
            echo "pass psql $name"
        else
            echo "fail psql $name $(grep -c '^[-+][^-+]' "$work/psql/$name.diff") lines differ: see target/clients/psql/$name.diff"
        fi
    done
}

run_pgbench() {
    need pgbench || return 0
    try() {
        local name=$1
        shift
        if "$@" > "$work/pgbench-$name.log" 2>&1 && ! grep -qE 'aborted|failed: [1-9]' "$work/pgbench-$name.log"; then
            echo "pass pgbench $name"
        else
            echo "fail pgbench $name $(tail -n 1 "$work/pgbench-$name.log")"
        fi
    }
    try initialize pgbench -i -s 1 -q
    for mode in simple extended prepared; do
        try "select_$mode" pgbench -n -S -M $mode -c 4 -j 2 -t 500
        try "tpcb_$mode" pgbench -n -M $mode -c 4 -j 2 -t 100 --max-tries=1000
        try "simple_update_$mode" pgbench -n -N -M $mode -c 4 -j 2 -t 100 --max-tries=1000
    done
    try initialize_with_foreign_keys pgbench -i -s 1 -q --foreign-keys
    try initialize_on_the_server pgbench -i -I dtGvp -s 1 -q
}

for client in "${clients[@]}"; do
    echo "== $client"
    (set +e; "run_$client") 2>&1 | tee -a "$results"
done

# rows of the table: | client | case | why |
known=$(sed -n 's/^| \([a-z.0-9-]*\) | `\([a-z0-9_]*\)` | .*/\1 \2/p' "$here/README.md" | sort)
failed=$(sed -n 's/^fail \([^ ]*\) \([^ ]*\).*/\1 \2/p' "$results" | sort)
passed=$(sed -n 's/^pass \([^ ]*\) \([^ ]*\).*/\1 \2/p' "$results" | sort)
new=$(comm -13 <(echo "$known") <(echo "$failed"))
mended=$(comm -12 <(echo "$known") <(echo "$passed"))
echo "== $(grep -c '^pass' "$results" || true) pass, $(grep -c '^fail' "$results" || true) fail"
if [ -n "${new//[[:space:]]/}" ]; then
    echo "not known to fail:"
    echo "$new"
fi
if [ -n "${mended//[[:space:]]/}" ] && [ -z "${REFERENCE:-}" ]; then
    echo "known to fail, but these pass: remove them from README.md"
    echo "$mended"
    exit 1
fi
[ -z "${new//[[:space:]]/}" ]
