#!/bin/sh
# Writes the answers of PostgreSQL 15 beside the cases. Needs a server of that version with the "C" collation; the usual
# variables (PGHOST, PGPORT, PGUSER) say where. Usage: regenerate.sh [FAMILY...]
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- $(cd cases && ls *.txt | sed 's/\.txt$//')
for family in "$@"; do
    {
        cat <<'SQL'
SET TimeZone = 'America/New_York';
SET DateStyle = 'ISO, MDY';
SET client_min_messages = error;
CREATE FUNCTION pg_temp.probe(expr text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    t text; v text; s text; m text;
BEGIN
    IF expr LIKE '%) from unnest(%' THEN
        expr := '(select ' || expr || ')';
    END IF;
    EXECUTE 'select pg_typeof(e)::text, case when e is null then null else format(''%s'', e) end from (select '
        || expr || ' as e) s' INTO t, v;
    v := replace(replace(replace(v, '\', '\\'), E'\n', '\n'), E'\t', '\t');
    RETURN t || E'\t' || coalesce(v, '\N');
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS s = RETURNED_SQLSTATE, m = MESSAGE_TEXT;
    m := replace(replace(replace(m, '\', '\\'), E'\n', '\n'), E'\t', '\t');
    RETURN '!' || s || E'\t' || m;
END $$;
CREATE TEMP TABLE cases (at int GENERATED ALWAYS AS IDENTITY, expr text);
COPY cases (expr) FROM STDIN WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02');
SQL
        grep -v -e '^#' -e '^$' "cases/$family.txt"
        echo '\.'
        echo "SELECT expr || E'\t' || pg_temp.probe(expr) FROM cases ORDER BY at;"
    } | psql -XqAt -v ON_ERROR_STOP=1 > "$family.tsv"
done
