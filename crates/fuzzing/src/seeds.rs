//! Sound inputs of each target, from which others are made, and words of their languages.

use scaledb_types::Base;

/// Statements: those of the golden tests, and some for what they leave out.
pub fn sql() -> Vec<Vec<u8>> {
    let golden = [
        include_str!("../../sql/tests/slt/select.sql"),
        include_str!("../../sql/tests/slt/write.sql"),
        include_str!("../../sql/tests/slt/ddl.sql"),
    ];
    let lines = golden.iter().flat_map(|text| text.lines());
    lines.chain(STATEMENTS.iter().copied()).map(|line| line.as_bytes().to_vec()).collect()
}

const STATEMENTS: &[&str] = &[
    "select repeat('ab', 1000) || lpad('x', 5000, 'yz'), string_agg(x, ',') from t",
    "select * from generate_series(1, 100000) g order by g desc limit 5",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 1000) select sum(n) from r",
    "select (select (select max(n) from t where id = c.t)) from c where exists (select 1 from t where t.id = c.id)",
    "select case when id > 1 then array[id, n] else '{}' end, j->'k'->>0, j #> '{k,1}' from c left join t on t.id = c.t",
    "insert into t values (1, 2, 'x', true, '2020-02-30', 1e3) on conflict (id) do update set n = t.n + excluded.n returning *",
    "update t set (n, x) = (n * 2, x || 'y') from c where c.t = t.id and c.j @> '{\"k\": [1]}' returning t.*, c.a[1:2]",
    "delete from t using c where c.t = t.id; rollback",
    "begin; savepoint a; insert into t (id) values (9); rollback to a; release a; commit",
    "select to_char(now(), 'YYYY-MM-DD HH24:MI:SS.US'), to_number('1,2.3', '9G9D9'), to_date('05 Dec 2000', 'DD Mon YYYY')",
    "select 9223372036854775807 + 1, 1.0 / 3, 10::numeric ^ 100, sqrt(2), exp(700), ln(0.5), factorial(20)",
    "select regexp_replace('abc', '(a)(b*)', '\\2\\1', 'g'), 'x' ~ '^[a-z]+$', x like '%o_', x similar to '(o|t)%' from t",
    "select date '2024-02-29' + interval '1 year 2 mons 3 days 04:05:06', age(timestamp '2001-04-10', '1957-06-13')",
    "prepare p (int, text) as select $1 + 1, $2 || 'x'; execute p (1, 'y'); deallocate p",
    "begin; declare q cursor for select * from t; fetch 2 from q; move backward 1 in q; close q; commit",
    "create table z (a int generated always as identity, b text default 'x' check (b <> ''), unique (b)); drop table z",
    "alter table t add column y int default 5; alter table t drop column y; create unique index t_q on t (q desc, x)",
    "explain analyze select t.x, count(*), rank() over (partition by b order by n) from t group by t.x, b, n having count(*) > 0",
    "set datestyle = 'ISO, DMY'; show all; set search_path = public, pg_catalog; reset all",
    "select c.relname, a.attname, format_type(a.atttypid, a.atttypmod) from pg_class c join pg_attribute a on a.attrelid = c.oid",
    "select nextval('s'), currval('s'), setval('s', 10), pg_typeof(1), version(), current_user, current_setting('work_mem')",
    "select unnest(array[1, 2, 3]), jsonb_build_object('a', 1, 'b', array['x']), json_agg(t) from t group by 1",
    "select jsonb_path_query(j, '$.** ? (@ > $x)', '{\"x\": 1}'), j @? 'strict $.k[last]', j @@ '$.k == 1' from c",
    "select * from t where n between 5 and 20 and x in ('one', 'two', null) or not b is distinct from true order by 1 nulls first",
    "copy (select * from t) to stdout with (format csv, header, force_quote *)",
    "select E'\\x41\\u00e9\\n', U&'d\\0061t', $$a$$, $x$b$x$, B'101', X'1F', 'a' 'b' -- comment\n/* nested /* one */ */",
];

/// Words of SQL.
pub const SQL_WORDS: &[&str] = &[
    " select ",
    " from ",
    " where ",
    " group by ",
    " order by ",
    " limit ",
    " offset ",
    " union all ",
    " and ",
    " or ",
    " not ",
    " is null ",
    " in (",
    " between ",
    " case when ",
    " then ",
    " end ",
    " exists (",
    "(",
    ")",
    "((((((((",
    "))))",
    ",",
    ";",
    "::",
    "::text",
    "::int[]",
    "::jsonb",
    "::numeric(1000, 500)",
    "::interval",
    "::date",
    "::bytea",
    "[1]",
    "{}",
    " t ",
    " c ",
    " w ",
    " v ",
    " *",
    " id ",
    " n ",
    " x ",
    " $1 ",
    " null ",
    " true ",
    "'",
    "''",
    "$$",
    "--",
    "/*",
    "*/",
    "- ",
    "|| ",
    "/ 0 ",
    "% 0",
    " ^ 99999 ",
    " << 100 ",
    " repeat('x', 2000000000) ",
    " lpad('', 2000000000) ",
    " generate_series(1, 1000000000) ",
    " -9223372036854775808 ",
    " 1e131071 ",
    " 'infinity' ",
    " 'NaN' ",
    " array[",
    " row(",
    " over (partition by ",
    " with recursive r as (",
    " join ",
    " left join ",
    " using (id) ",
    " on true ",
    " lateral ",
    " distinct ",
    " all ",
    " any (",
    " cast(",
    " as ",
    " returning * ",
    " on conflict do nothing ",
    " values (",
    " insert into t ",
    " update t set ",
    " delete from t ",
    " create table ",
    " drop table ",
    " alter table t ",
    " begin ",
    " commit ",
    " rollback ",
    " savepoint ",
    "\u{0}",
    "\u{feff}",
    "é",
    "🦀",
];

/// Data of COPY, with the two bytes in front that choose a statement and the size of pieces.
pub fn copy() -> Vec<Vec<u8>> {
    let mut binary = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    binary.extend_from_slice(
        b"\0\x06\0\0\0\x04\0\0\0\x07\0\0\0\x08\0\0\0\0\0\0\0\x09\0\0\0\x01x\0\0\0\x01\x01",
    );
    binary.extend_from_slice(b"\xff\xff\xff\xff\0\0\0\x0a\0\x01\0\0\0\0\0\x02\0\x05\xff\xff");
    let mut nulls = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x0d".to_vec();
    nulls.extend_from_slice(&[0xff; 13 * 4 + 2]);
    let texts: [(u8, &[u8]); 9] = [
        (0, b"10\t5\ta\\tb\\x41\\101\tt\t2020-01-01\t1.5\n11\t\\N\t\\\\\tf\t\\N\t\\N\n\\.\n"),
        (1, b"id,n,x\n10,5,\"a \"\"quoted\"\", b\nc\"\n11,,\n"),
        (2, b"10,1,'{1,2}','{\"a\": [1, \\'x\\']}'\n11,x,x,x\n"),
        (3, b"1\t1.5\t2e10\t\\\\x0102\t00000000-0000-0000-0000-000000000001\t10:00\t2020-01-01 10:00\t2020-01-01 10:00+02\t1 day\tabc\tde\t{a,\"b c\"}\t[1]\n"),
        (4, b"1;1.5;2e10;\\x0102;00000000-0000-0000-0000-000000000001;10:00;2020-01-01 10:00;2020-01-01 10:00+02;1 day;abc;de;{a};[1]\r\n"),
        (5, &binary),
        (7, &nulls),
        (0, b"10\t5\ta\tt\t\\N\t\\N\r\n"),
        (6, b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\0\0\x18\0\0\0\x01\0\0\0\0\0\0\0\x17\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x03\x01{}\xff\xff"),
    ];
    let cut = [1_u8, 7, 200];
    texts.iter().flat_map(|(which, data)| cut.map(|cut| [&[*which, cut], *data].concat())).collect()
}

/// Words of the formats of COPY.
pub const COPY_WORDS: &[&str] = &[
    "\\N", "\\.", "\n", "\r\n", "\t", ",", "\"", "\\", "\\x", "\\777", "{", "}", "{{", "PGCOPY\n", "10", "x",
];

/// Texts of values, with the bytes in front that choose a type and a format: each of them as each type.
pub fn values() -> Vec<Vec<u8>> {
    let types = u8::try_from(Base::all().count() * 2).unwrap_or(u8::MAX);
    let texts = VALUES.iter().map(|text| text.as_bytes());
    let all: Vec<&[u8]> = texts.chain(BINARY.iter().copied()).collect();
    (0..types)
        .flat_map(|which| {
            all.iter().flat_map(move |data| [0, 1].map(|format| [&[which, format], *data].concat()))
        })
        .collect()
}

const VALUES: &[&str] = &[
    "1",
    "-32768",
    "9223372036854775807",
    "1.50",
    "-1e-300",
    "NaN",
    "Infinity",
    "-infinity",
    "1e1000",
    "true",
    "",
    "text é",
    "\\x00ff",
    "a\\000b",
    "2024-02-29",
    "4713-11-24 BC",
    "5874897-12-31",
    "294276-12-31 23:59:59.999999",
    "2020-01-01 10:00:00+02:30",
    "10:00:00 America/New_York",
    "24:00:00",
    "1 year -2 mons 3 days 04:05:06.7",
    "P1Y2M3DT4H5M6S",
    "@ 1 hour ago",
    "00000000-0000-0000-0000-0000000000ff",
    "{1,2,NULL}",
    "{{1,2},{3,4}}",
    "[2:3]={1,2}",
    "{\"a b\",\"\\\"\"}",
    "{\"k\": [1, 2.50, null, {\"a\": \"\\u00e9\"}]}",
    "[]",
    "\"x\"",
    "12345678901234567890.0123456789",
    "strict $.a[*, 1 to last - 1] ? (@.b == $a[0] + -2 && exists (@.** ? (@ like_regex \"^x\" flag \"i\")))",
    "($.k.keyvalue().value.keyvalue().id % 3).type() starts with \"n\" || !($.a[$a[0]].size() > 1.5e1)",
    "$.**{1 to last}.b ? ((@.datetime() < \"10.03.2017\".datetime(\"dd.mm.yyyy\")) is unknown)",
];

const BINARY: &[&[u8]] = &[
    &[0, 0, 0, 7],
    &[0, 0, 0, 0, 0, 0, 0, 9],
    &[1],
    &[0; 16],
    b"\x01{\"a\": 1}",
    // numeric 12345.67
    &[0, 3, 0, 1, 0, 0, 0, 2, 0, 1, 9, 41, 26, 44],
    &[0, 0, 0, 0, 0xc0, 0, 0, 0],
    // int4[] {1, NULL}
    b"\0\0\0\x01\0\0\0\x01\0\0\0\x17\0\0\0\x02\0\0\0\x01\0\0\0\x04\0\0\0\x01\xff\xff\xff\xff",
    // text[] {a}
    b"\0\0\0\x01\0\0\0\0\0\0\0\x19\0\0\0\x01\0\0\0\x01\0\0\0\x01a",
];

/// Words of values.
pub const VALUE_WORDS: &[&str] = &[
    "0",
    "9",
    "-",
    "+",
    ".",
    "e",
    "E",
    ":",
    "-99999999999999999999",
    "{",
    "}",
    ",",
    "\"",
    "\\",
    "\\u",
    "\\ud800",
    "[",
    "]",
    "NULL",
    "null",
    "infinity",
    "BC",
    " AM",
    "am",
    " Z",
    "+15:59",
    "Europe/Berlin",
    "epoch",
    "year",
    "mon",
    "day",
    "P",
    "T",
    "1e131072",
    "0000000000000000000000000000000000000000",
    "$",
    "@",
    ".**",
    "[last]",
    " ? (",
    " == ",
    ".keyvalue()",
    ".datetime()",
    " ",
    "\t",
];

/// Changes of files: see the target.
pub fn log() -> Vec<Vec<u8>> {
    (0..=255_u8).map(|i| vec![i, i.wrapping_mul(31), i % 64, i, i.wrapping_mul(7)]).collect()
}

/// Messages of a client.
pub fn session() -> Vec<Vec<u8>> {
    let bind = |portal: &str, statement: &str, formats: &[u16], values: &[&[u8]]| {
        let mut body = [portal.as_bytes(), b"\0", statement.as_bytes(), b"\0"].concat();
        body.extend(u16::try_from(formats.len()).unwrap_or(0).to_be_bytes());
        body.extend(formats.iter().flat_map(|format| format.to_be_bytes()));
        body.extend(u16::try_from(values.len()).unwrap_or(0).to_be_bytes());
        for value in values {
            body.extend(u32::try_from(value.len()).unwrap_or(0).to_be_bytes());
            body.extend_from_slice(value);
        }
        body.extend(b"\0\x01\0\x01");
        message(b'B', &body)
    };
    let query = |text: &str| message(b'Q', format!("{text}\0").as_bytes());
    let parse = |name: &str, text: &str, types: &[u8]| {
        message(b'P', &[format!("{name}\0{text}\0").as_bytes(), types].concat())
    };
    let execute = |portal: &str, rows: u32| {
        message(b'E', &[format!("{portal}\0").as_bytes(), &rows.to_be_bytes()].concat())
    };
    let describe = |what: char, name: &str| message(b'D', format!("{what}{name}\0").as_bytes());
    let close = |what: char, name: &str| message(b'C', format!("{what}{name}\0").as_bytes());
    let (sync, flush) = (message(b'S', b""), message(b'H', b""));
    let unnamed = [
        parse("", "select $1::int + id, x from t where id < $2", b"\0\x02\0\0\0\x17\0\0\0\0"),
        bind("", "", &[1, 0], &[b"\0\0\0\x05", b"3"]),
        describe('P', ""),
        execute("", 0),
        sync.clone(),
    ];
    let named = [
        parse("s", "insert into t (id, x) values ($1, $2) returning *", b"\0\0"),
        describe('S', "s"),
        bind("p", "s", &[], &[b"77", b"text"]),
        flush.clone(),
        execute("p", 1),
        execute("p", 1),
        close('P', "p"),
        close('S', "s"),
        sync.clone(),
    ];
    let in_parts = [
        query("begin"),
        parse("", "select * from generate_series(1, 20)", b"\0\0"),
        bind("p", "", &[], &[]),
        execute("p", 7),
        flush,
        execute("p", 7),
        sync.clone(),
        query("fetch 2 from p; commit"),
    ];
    let copies = [
        query("copy t (id, x) from stdin"),
        message(b'd', b"100\ta\n101\tb\n"),
        message(b'd', b"\\.\n"),
        message(b'c', b""),
        query("copy t to stdout with (format binary)"),
        query("copy t from stdin"),
        message(b'f', b"no\0"),
    ];
    let wrong = [
        query("select 1; select 1 / 0; select 2"),
        parse("", "selec", b"\0\0"),
        execute("", 0),
        sync,
        message(b'F', b"\0\0\0\x01\0\0\0\0\0\0"),
        query(""),
        message(b'X', b""),
    ];
    let all = [&unnamed[..], &named, &in_parts, &copies, &wrong];
    let mut seeds: Vec<Vec<u8>> = all.iter().map(|messages| messages.concat()).collect();
    seeds.extend(sql().iter().take(40).map(|text| message(b'Q', &[text, &b"\0"[..]].concat())));
    seeds
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap_or(0);
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

/// Connections from their first byte, with the byte in front that chooses what must be proved.
pub fn startup() -> Vec<Vec<u8>> {
    let packet = |code: u32, rest: &[u8]| {
        let length = u32::try_from(rest.len() + 8).unwrap_or(0);
        [&length.to_be_bytes(), &code.to_be_bytes(), rest].concat()
    };
    let code = |low: u32| 1234 << 16 | low;
    let login = |minor: u32| {
        packet(3 << 16 | minor, b"user\0ann\0database\0x\0options\0-c work_mem=1MB\0_pq_.x\x001\0\0")
    };
    let scram = [&b"SCRAM-SHA-256\0\0\0\0\x18"[..], b"n,,n=,r=abcdefghijklmnop"].concat();
    let proof = b"c=biws,r=abcdefghijklmnop,p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let query = message(b'Q', b"select 1\0");
    let seeds: [(u8, Vec<Vec<u8>>); 8] = [
        (0, vec![login(0), query.clone()]),
        (0, vec![login(2), query.clone(), message(b'X', b"")]),
        (0, vec![packet(code(5679), b""), login(0), query.clone()]),
        (0, vec![packet(code(5680), b""), packet(code(5679), b""), login(9)]),
        (0, vec![packet(code(5678), b"\0\0\0\x01\0\0\0\x02")]),
        (1, vec![login(0), message(b'p', b"secret\0"), query]),
        (2, vec![login(0), message(b'p', &scram), message(b'p', proof)]),
        (0, vec![packet(2 << 16, b"user\0ann\0\0")]),
    ];
    seeds.into_iter().map(|(method, packets)| [&[method][..], &packets.concat()].concat()).collect()
}
