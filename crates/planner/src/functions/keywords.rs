//! The words of SQL, as `pg_get_keywords` lists them: clients quote names that are among them.

use scaledb_types::Value;

/// Words, separated by blanks: how they are reserved, and whether AS may be left out before one that names a column.
type Words = (u8, bool, &'static str);

/// The words of PostgreSQL 15, in the order of the alphabet within each row.
#[rustfmt::skip]
const WORDS: &[Words] = &[
    (b'U', true,
        "abort absolute access action add admin after aggregate also alter always asensitive assertion assignment at \
        atomic attach attribute backward before begin breadth by cache call called cascade cascaded catalog chain \
        characteristics checkpoint class close cluster columns comment comments commit committed compression \
        configuration conflict connection constraints content continue conversion copy cost csv cube current cursor \
        cycle data database deallocate declare defaults deferred definer delete delimiter delimiters depends depth \
        detach dictionary disable discard document domain double drop each enable encoding encrypted enum escape \
        event exclude excluding exclusive execute explain expression extension external family finalize first \
        following force forward function functions generated global granted groups handler header hold identity if \
        immediate immutable implicit import include including increment index indexes inherit inherits inline input \
        insensitive insert instead invoker isolation key label language large last leakproof level listen load local \
        location lock locked logged mapping match matched materialized maxvalue merge method minvalue mode move name \
        names new next nfc nfd nfkc nfkd no normalized nothing notify nowait nulls object of off oids old operator \
        option options ordinality others overriding owned owner parallel parameter parser partial partition passing \
        password plans policy preceding prepare prepared preserve prior privileges procedural procedure procedures \
        program publication quote range read reassign recheck recursive ref referencing refresh reindex relative \
        release rename repeatable replace replica reset restart restrict return returns revoke role rollback rollup \
        routine routines rows rule savepoint schema schemas scroll search security sequence sequences serializable \
        server session set sets share show simple skip snapshot sql stable standalone start statement statistics \
        stdin stdout storage stored strict strip subscription support sysid system tables tablespace temp template \
        temporary text ties transaction transform trigger truncate trusted type types uescape unbounded uncommitted \
        unencrypted unknown unlisten unlogged until update vacuum valid validate validator value version view views \
        volatile whitespace work wrapper write xml yes zone"),
    (b'U', false, "day filter hour minute month over second varying within without year"),
    (b'C', true,
        "between bigint bit boolean coalesce dec decimal exists extract float greatest grouping inout int integer \
        interval least national nchar none normalize nullif numeric out overlay position real row setof smallint \
        substring time timestamp treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest \
        xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable"),
    (b'C', false, "char character precision"),
    (b'T', true,
        "authorization binary collation concurrently cross current_schema freeze full ilike inner is join left like \
        natural outer right similar tablesample verbose"),
    (b'T', false, "isnull notnull overlaps"),
    (b'R', true,
        "all analyse analyze and any asc asymmetric both case cast check collate column constraint current_catalog \
        current_date current_role current_time current_timestamp current_user default deferrable desc distinct do \
        else end false foreign in initially lateral leading localtime localtimestamp not null only or placing \
        primary references select session_user some symmetric table then trailing true unique user using variadic \
        when"),
    (b'R', false,
        "array as create except fetch for from grant group having intersect into limit offset on order returning to \
        union where window with"),
];

/// All words, as rows of `pg_get_keywords`.
pub(super) fn keywords() -> Vec<Vec<Value>> {
    let words =
        WORDS.iter().flat_map(|&(code, bare, words)| words.split(' ').map(move |word| (word, code, bare)));
    let mut words: Vec<_> = words.collect();
    words.sort_unstable();
    let row = |(word, code, bare): (&str, u8, bool)| {
        let reserved = match code {
            b'U' => "unreserved",
            b'C' => "unreserved (cannot be function or type name)",
            b'T' => "reserved (can be function or type name)",
            _ => "reserved",
        };
        let label = if bare { "can be bare label" } else { "requires AS" };
        vec![
            Value::text(word),
            Value::Char(code),
            Value::Bool(bare),
            Value::text(reserved),
            Value::text(label),
        ]
    };
    words.into_iter().map(row).collect()
}
