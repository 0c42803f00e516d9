# Cases of pg_dump and pg_restore, run by run_dump of ../run.sh: what schema.sql makes is written down by pg_dump, read
# into another server, and written down again. PostgreSQL is among the servers if POSTGRES=HOST:PORT names one in which
# databases may be made, or if its programs are installed here.
# shellcheck shell=bash disable=SC2154

dump=$work/dump
rm -rf "$dump"
mkdir -p "$dump"

# what differs each time, and where: the versions of both programs, and a key of each run
steady() {
    sed -E '/^-- Dumped (from|by) /d; /^\\(un)?restrict /d' "$1"
}

# PostgreSQL breaks the lines of views, and has spaces elsewhere in those that were printed and read before
words() {
    steady "$1" | tr -d '[:space:]' | fold -w 100
}

# verdict CASE DIFFERENCE: whether nothing differs, and no program has complained
verdict() {
    if [ -s "$2" ] || [ -s "$dump/complaints" ]; then
        echo "fail dump $1 $(cat "$dump/complaints" "$2" | head -n 3 | tr '\n' ' '): see target/clients/dump"
    else
        echo "pass dump $1"
    fi
    : > "$dump/complaints"
}

# same CASE FILE FILE
same() {
    diff <(steady "$2") <(steady "$3") > "$dump/$1.diff" || true
    verdict "$1" "$dump/$1.diff"
}

# same_words CASE FILE FILE: whatever spaces are between them
same_words() {
    diff <(words "$2") <(words "$3") > "$dump/$1.diff" || true
    verdict "$1" "$dump/$1.diff"
}

# what psql and pg_restore say of mistakes
complain() {
    grep -E 'ERROR|FATAL|WARNING|error:|warning:' >> "$dump/complaints" || true
}

load() {
    psql -X -q -o "$dump/load.out" -f "$1" "${@:2}" 2>&1 | complain
}

write() {
    local to=$1
    shift
    pg_dump "$@" > "$to" 2> "$dump/said" || echo "error: pg_dump ends with $?" >> "$dump/said"
    complain < "$dump/said"
}

# another server, which is empty; the one before is gone
another() {
    if [ -n "${other:-}" ]; then
        kill "$other" && wait "$other" 2> /dev/null
    fi
    serve dump-other --port 0
    other=${servers[-1]}
    export PGPORT=$port
    make_roles
}

# what a dump names, and does not have
make_roles() {
    local role
    for role in clerk auditor; do
        psql -X -q -d postgres -c "create role $role login" 2>&1 | grep -v "already exists" | complain
    done
}

# the rows of all tables, as COPY writes them
rows() {
    local table
    for table in public.person 'shop."Order"' shop.item public.bare '"Odd Name"."T 1"' public.later public.nested public.spent '"M 1"' shop.over_views shop.priced; do
        echo "$table"
        psql -X -q -c "copy (select * from $table order by 1, 2) to stdout"
    done
}

: > "$dump/complaints"
another
mine=$PGPORT mine_pid=$other other=
load "$here/dump/schema.sql"
write "$dump/first.sql"
rows > "$dump/first.rows"
[ -s "$dump/first.sql" ] || echo "there is no dump" > "$dump/first.diff"
touch "$dump/first.diff"
verdict dumps "$dump/first.diff"

# again CASE: what was read into the other server, written down again
again() {
    write "$dump/$1.sql"
    same "$1" "$dump/first.sql" "$dump/$1.sql"
}

another
load "$dump/first.sql"
again a_script_restores
rows > "$dump/again.rows"
same the_rows_are_equal "$dump/first.rows" "$dump/again.rows"

for format in custom directory; do
    PGPORT=$mine pg_dump --format=$format --file="$dump/first.$format" 2>&1 | complain
    another
    pg_restore --dbname="$PGDATABASE" "$dump/first.$format" 2>&1 | complain
    again "the_${format}_format_restores"
done

for how in inserts column-inserts; do
    PGPORT=$mine write "$dump/first.$how.sql" --$how
    another
    load "$dump/first.$how.sql"
    again "${how//-/_}_restore"
done

PGPORT=$mine write "$dump/first.schema.sql" --schema-only
PGPORT=$mine write "$dump/first.data.sql" --data-only
another
load "$dump/first.schema.sql"
load "$dump/first.data.sql"
# they are neither of the two
for view in spent '"M 1"' shop.over_views; do
    psql -X -q -c "refresh materialized view $view" 2>&1 | complain
done
again schema_and_data_restore_apart

PGPORT=$mine write "$dump/first.table.sql" --table=bare
another
load "$dump/first.table.sql"
write "$dump/again.table.sql"
same one_table_restores "$dump/first.table.sql" "$dump/again.table.sql"

PGPORT=$mine write "$dump/first.within.sql" --schema='"Odd Name"'
another
load "$dump/first.within.sql"
write "$dump/again.within.sql" --schema='"Odd Name"'
same one_schema_restores "$dump/first.within.sql" "$dump/again.within.sql"

another
pg_dumpall --globals-only > "$dump/globals.sql" 2> "$dump/said"
complain < "$dump/said"
grep -q "^CREATE ROLE $PGUSER;" "$dump/globals.sql" && grep -q "^ALTER ROLE clerk .* LOGIN" "$dump/globals.sql" && : > "$dump/globals.diff" || echo "no role" > "$dump/globals.diff"
verdict the_roles_are_dumped "$dump/globals.diff"

# several databases in one server: made by createdb, written down with and without their roles
another
createdb "shop 2" 2>&1 | complain
createdb --owner=clerk --encoding=UTF8 --template=template0 bank 2>&1 | complain
PGDATABASE="shop 2" load "$here/dump/schema.sql"
psql -X -q -d bank -c "create table account (id serial primary key, balance int); insert into account (balance) values (10), (20)" \
    -c "alter database bank set work_mem = '7MB'" -c "alter database bank connection limit 9" \
    -c "comment on database bank is 'the second'" -c "grant connect, create on database bank to auditor" 2>&1 | complain
write "$dump/create.sql" --create bank
pg_dumpall > "$dump/all.sql" 2> "$dump/said"
complain < "$dump/said"
psql -X -q -l > "$dump/list" 2>&1
grep -q "bank *| clerk" "$dump/list" && : > "$dump/list.diff" || cp "$dump/list" "$dump/list.diff"
verdict databases_are_listed "$dump/list.diff"

another
psql -X -q -d postgres -o "$dump/load.out" -f "$dump/create.sql" 2>&1 | complain
write "$dump/create.again.sql" --create bank
same a_dump_makes_its_database "$dump/create.sql" "$dump/create.again.sql"
dropdb bank 2>&1 | complain
psql -X -q -o "$dump/load.out" -f "$dump/all.sql" 2>&1 | grep -v "role .* already exists" | complain
pg_dumpall > "$dump/all.again.sql" 2> "$dump/said"
complain < "$dump/said"
same all_databases_restore "$dump/all.sql" "$dump/all.again.sql"

# a server of PostgreSQL, if there can be one: its port goes to $peer
peer=
postgres_server() {
    if [ -n "${POSTGRES:-}" ]; then
        peer_host=${POSTGRES%:*} peer=${POSTGRES#*:}
        return
    fi
    bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | tail -n 1)
    bin=${bin:-$(pg_config --bindir 2> /dev/null)}
    [ -x "$bin/initdb" ] || return 1
    # PostgreSQL does not run as root
    home=$dump/postgres as=()
    mkdir -p "$home"
    if [ "$(id -u)" = 0 ]; then
        id postgres > /dev/null 2>&1 && command -v runuser > /dev/null || return 1
        home=$(mktemp -d /tmp/dump-postgres.XXXXXX)
        chown postgres "$home"
        as=(runuser -u postgres --)
    fi
    peer_host=127.0.0.1 peer=$((20000 + RANDOM % 20000))
    ${as[@]+"${as[@]}"} "$bin/initdb" -A trust -U "$PGUSER" -E UTF8 --locale=C -D "$home/data" > "$dump/postgres.log" 2>&1 || return 1
    ${as[@]+"${as[@]}"} "$bin/pg_ctl" -D "$home/data" -l "$home/log" -o "-h 127.0.0.1 -k $home -p $peer -F" -w start \
        >> "$dump/postgres.log" 2>&1 || return 1
    trap stop_postgres EXIT
}

stop_postgres() {
    ${as[@]+"${as[@]}"} "$bin/pg_ctl" -D "$home/data" -m immediate stop >> "$dump/postgres.log" 2>&1
    rm -rf "$home"
}

if ! postgres_server; then
    skip "PostgreSQL's server" "dump between PostgreSQL and ScaleDB"
else
    here_port=$PGPORT here_host=$PGHOST
    export PGHOST=$peer_host PGPORT=$peer
    make_roles
    for database in dump_own dump_moved; do
        psql -X -q -d postgres -c "drop database if exists $database" -c "create database $database" 2>&1 | complain
    done
    export PGDATABASE=dump_own
    load "$here/dump/schema.sql"
    write "$dump/postgres.own.sql"
    export PGDATABASE=dump_moved
    load "$dump/first.sql"
    write "$dump/postgres.moved.sql"
    rows > "$dump/postgres.rows"
    same_words a_dump_restores_in_postgres "$dump/postgres.own.sql" "$dump/postgres.moved.sql"
    same the_rows_are_equal_in_postgres "$dump/first.rows" "$dump/postgres.rows"
    for database in dump_own dump_moved; do
        psql -X -q -d postgres -c "drop database $database" 2>&1 | complain
    done
    psql -X -q -d postgres -c "drop database if exists bank" -f "$dump/create.sql" 2>&1 | complain
    write "$dump/create.postgres.sql" --create bank
    dropdb bank 2>&1 | complain
    same_words a_dump_makes_its_database_in_postgres "$dump/create.sql" "$dump/create.postgres.sql"
    export PGHOST=$here_host PGPORT=$here_port PGDATABASE=postgres
    another
    load "$dump/postgres.own.sql"
    rows > "$dump/back.rows"
    same the_rows_of_postgres_are_equal "$dump/first.rows" "$dump/back.rows"
    write "$dump/back.sql"
    same_words a_dump_of_postgres_restores "$dump/postgres.own.sql" "$dump/back.sql"
fi
kill "$mine_pid" "$other"
