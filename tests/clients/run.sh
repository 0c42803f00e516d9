#!/usr/bin/env bash
# Real clients against a server: tests/clients/run.sh [psql|dump|pgbench|python|node|go|java|rust|secure]...
#
# Starts `scaledb serve`: the binary that SCALEDB names, or one that is built here. With REFERENCE=1 it uses the server of PGHOST and
# PGPORT instead (what passes there and fails here is a miss). Installs what the clients need under target/clients, and tools
# from the system's packages if it may; says SKIPPED where one cannot be had. Fails if a case fails that README.md does not
# list as a known miss, if one passes that it lists (the list may only shrink), or if a client ends without a word.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/clients
results=$work/results
mkdir -p "$work"
: > "$results"

clients=("$@")
if [ ${#clients[@]} -eq 0 ]; then clients=(psql dump pgbench python node go java rust secure); fi

servers=()
trap 'for pid in "${servers[@]}"; do kill "$pid" 2> /dev/null || true; wait "$pid" 2> /dev/null || true; done' EXIT

# serve NAME ARGUMENT...: starts a server; its port goes to $port
serve() {
    local log=$work/$1.log
    shift
    # the port of a server before it is not this one's
    : > "$log"
    "$SCALEDB" serve "$@" > "$log" 2>&1 &
    servers+=($!)
    port=
    for _ in $(seq 100); do
        port=$(sed -n 's/^listening at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$log")
        [ -n "$port" ] && return
        sleep 0.1
    done
    cat "$log" >&2
    return 1
}

export PGUSER=${PGUSER:-postgres} PGDATABASE=${PGDATABASE:-postgres} PGCONNECT_TIMEOUT=20
if [ -z "${REFERENCE:-}" ]; then
    if [ -z "${SCALEDB:-}" ]; then
        (cd "$root" && cargo build --quiet --locked -p scaledb-cli)
        SCALEDB=$target/debug/scaledb
    fi
    serve server --port 0
    export PGHOST=127.0.0.1 PGPORT=$port
fi

skip() {
    echo "SKIPPED: $1 cannot be installed: $2 is not tested"
}

# from the system's packages, if it may
install() {
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return 0
    local get=(apt-get install -y -q --no-install-recommends "$1")
    "${get[@]}" > "$work/apt.log" 2>&1 || { apt-get update && "${get[@]}"; } > "$work/apt.log" 2>&1 || true
}

# need CLIENT TOOL=PACKAGE...: tools that are there, or that the system's packages have
need() {
    local client=$1 pair tool
    shift
    for pair in "$@"; do
        tool=${pair%%=*}
        command -v "$tool" > /dev/null || install "${pair#*=}"
        if ! command -v "$tool" > /dev/null; then
            skip "$tool" "$client"
            return 1
        fi
    done
}

# setup CLIENT WHAT COMMAND...: gets what a client needs from the registry of its language
setup() {
    local client=$1 what=$2 log=$work/setup-$1.log
    shift 2
    "$@" > "$log" 2>&1 && return
    tail -n 5 "$log" | sed 's/^/    /'
    if grep -q 'COMPILATION ERROR' "$log"; then
        echo "fail $client compiles"
    else
        skip "$what" "$client"
    fi
    return 1
}

# program CLIENT COMMAND...: runs cases; a program that dies takes cases with it, which must not go unnoticed
program() {
    local client=$1
    shift
    "$@" || echo "fail $client the_program_ends status $?"
}

# a copy of a client's directory, where its tools may write
copy() {
    mkdir -p "$work/$1"
    cp -r "$here/$1/." "$work/$1/"
    cd "$work/$1"
}

setup_python() {
    need "$1" python3=python3 || return 1
    copy python
    if [ ! -x "$work/venv/bin/pip" ]; then
        rm -rf "$work/venv"
        python3 -c 'import ensurepip' 2> /dev/null || install python3-venv
        setup "$1" "a virtual environment" python3 -m venv "$work/venv" || return 1
    fi
    setup "$1" "psycopg or asyncpg" \
        "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
}

run_python() {
    setup_python python || return 0
    program psycopg3 "$work/venv/bin/python" psycopg3.py
    program asyncpg "$work/venv/bin/python" asyncpg_.py
}

setup_node() {
    need "$1" node=nodejs npm=npm || return 1
    copy node
    setup "$1" "pg or postgres" npm install --silent --no-audit --no-fund
}

run_node() {
    setup_node node || return 0
    program node-postgres node --no-deprecation node_postgres.mjs
    program postgres.js node --no-deprecation postgres_js.mjs
}

run_go() {
    need go go=golang-go || return 0
    copy go
    setup go pgx go mod tidy || return 0
    program pgx go run .
}

setup_java() {
    need "$1" java=default-jdk-headless mvn=maven || return 1
    copy java
    setup "$1" pgjdbc mvn --quiet --batch-mode --no-transfer-progress compile
}

# the colours of Maven's output stand before the first line
java_cases() {
    mvn --quiet --batch-mode --no-transfer-progress exec:java -Dexec.mainClass="$1" 2>&1 | grep -aoE '(pass|fail) jdbc.*'
}

run_java() {
    setup_java java || return 0
    program jdbc java_cases Cases
}

run_rust() {
    copy rust
    export CARGO_TARGET_DIR=$work/rust-target
    setup rust tokio-postgres cargo fetch || return 0
    program tokio-postgres cargo run --quiet
}

run_psql() {
    need psql psql=postgresql-client || return 0
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

run_dump() {
    if [ -n "${REFERENCE:-}" ]; then
        echo "    not against the reference: it has other databases"
        return 0
    fi
    need dump pg_dump=postgresql-client psql=postgresql-client || return 0
    # shellcheck source=dump/cases.sh
    . "$here/dump/cases.sh"
}

run_pgbench() {
    need pgbench pgbench=postgresql || return 0
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

# SCRAM and TLS: a server of its own, which lets a user in over TLS only, and only with the password
run_secure() {
    if [ -n "${REFERENCE:-}" ]; then
        echo "    not against the reference: it has other users"
        return 0
    fi
    need secure openssl=openssl psql=postgresql-client || return 0
    local dir=$work/secure
    mkdir -p "$dir"
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
        -keyout "$dir/server.key" -out "$dir/server.crt" 2> "$dir/openssl.log"
    export SECRET=pencil PGSSLROOTCERT=$dir/server.crt
    cat > "$dir/scaledb.toml" << END
listen = ["127.0.0.1:0"]
[tls]
certificate = "server.crt"
key = "server.key"
[users]
ann = "$(echo "$SECRET" | "$SCALEDB" password)"
[[rule]]
over = "tls"
method = "scram"
END
    serve secure --config "$dir/scaledb.toml" || return 1
    export PGPORT=$port
    # attempt CASE PATTERN CONNECTION: the output of a query has to be as the pattern
    attempt() {
        local found
        found=$(PGPASSWORD=${4:-$SECRET} psql -X -At -c "select current_user" \
            "host=localhost user=ann dbname=$PGDATABASE $3" 2>&1) || true
        if grep -qE "$2" <<< "$found"; then
            echo "pass psql-secure $1"
        else
            echo "fail psql-secure $1 $(tr '\n' ' ' <<< "$found")"
        fi
    }
    attempt scram_over_tls '^ann$' "sslmode=verify-full"
    attempt the_channel_is_bound '^ann$' "sslmode=verify-full channel_binding=require"
    attempt a_wrong_password_is_refused 'password authentication failed for user "ann"' "sslmode=verify-full" wrong
    attempt without_tls_nobody_comes_in 'FATAL' "sslmode=disable"
    if setup_python psycopg3-secure; then program psycopg3-secure "$work/venv/bin/python" secure.py; fi
    if setup_node node-secure; then program node-secure node --no-deprecation secure.mjs; fi
    if setup_java jdbc-secure; then program jdbc-secure java_cases Secure; fi
    kill "${servers[-1]}"
}

for client in "${clients[@]}"; do
    echo "== $client"
    begin=$SECONDS
    (set +e; "run_$client") 2>&1 | tee "$work/client.log"
    cat "$work/client.log" >> "$results"
    if [ -z "${REFERENCE:-}" ] && ! grep -qE '^(pass|fail|SKIPPED)' "$work/client.log"; then
        echo "fail $client says_nothing" | tee -a "$results"
    fi
    echo "   $((SECONDS - begin)) s"
done

# rows of the table: | client | case | why |
known=$(sed -n 's/^| \([a-z.0-9-]*\) | `\([a-z0-9_]*\)` | .*/\1 \2/p' "$here/README.md" | sort)
failed=$(sed -n 's/^fail \([^ ]*\) \([^ ]*\).*/\1 \2/p' "$results" | sort)
passed=$(sed -n 's/^pass \([^ ]*\) \([^ ]*\).*/\1 \2/p' "$results" | sort)
new=$(comm -13 <(echo "$known") <(echo "$failed"))
mended=$(comm -12 <(echo "$known") <(echo "$passed"))
echo "== $(grep -c '^pass' "$results" || true) pass, $(grep -c '^fail' "$results" || true) fail, $SECONDS s"
grep '^SKIPPED' "$results" || true
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
