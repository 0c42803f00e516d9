//! REFRESH MATERIALIZED VIEW CONCURRENTLY, as statements.
//!
//! The rows that there are and those of the query are joined where they are the same in all columns. What is left over
//! on one side goes, or comes:
//!
//! ```text
//!  rows that there are   rows of the query
//!  1 a                   1 a                the same: nothing is written
//!  2 b                   2 c                2 b goes, 2 c comes
//!  3 d                                      goes
//!  null e                null e             goes and comes: a key with NULL is not compared
//! ```

use scaledb_catalog::{IndexDesc, TableDesc};
use scaledb_parse::lex::quoted;
use scaledb_parse::materialized::marked;
use scaledb_types::{Base, SqlError, SqlState, Type};

/// What a row that the query has twice is reported by: no setting has such a name.
const TWICE: &str = "a row twice: ";

/// What is to be run, one behind the other.
pub(super) struct Statements {
    /// Deletes the rows that have NULL in their keys.
    pub(super) unidentified: String,
    /// Deletes the rows that are not the query's, and inserts those of it that are not there.
    pub(super) merge: String,
}

/// The statements for a materialized view that has a key. `types` are those of all its columns.
pub(super) fn statements(desc: &TableDesc, types: &[Type], key: &IndexDesc) -> Statements {
    let rows = marked(&desc.schema, &desc.name);
    let columns: Vec<(String, Type)> = desc
        .columns
        .iter()
        .zip(types)
        .filter(|(column, _)| !column.hidden)
        .map(|(column, ty)| (quoted(&column.name), *ty))
        .collect();
    let keys: Vec<usize> = key
        .columns
        .iter()
        .filter_map(|part| desc.visible().position(|column| column.attnum == part.attnum))
        .collect();
    let list =
        |prefix: &str| (1..=columns.len()).map(|at| format!("{prefix}{at}")).collect::<Vec<_>>().join(", ");
    let all = |separator: &str, each: &dyn Fn(usize) -> String, of: &[usize]| {
        of.iter().map(|&at| each(at)).collect::<Vec<_>>().join(separator)
    };
    let every: Vec<usize> = (0..columns.len()).collect();
    let same = |at: usize| {
        let ty = columns[at].1;
        let (own, new) = (exact(&format!("o{}", at + 1), ty), exact(&format!("n{}", at + 1), ty));
        format!("{own} IS NOT DISTINCT FROM {new}")
    };
    let others: Vec<usize> =
        every.iter().copied().filter(|at| !keys.contains(at) || !is_exact(columns[*at].1)).collect();
    let mut on = vec![all(" AND ", &|at| format!("o{0} = n{0}", at + 1), &keys)];
    on.extend(others.iter().map(|&at| same(at)));
    let partition = all(", ", &|at| exact(&format!("n{}", at + 1), columns[at].1), &every);
    let whole = all(" AND ", &|at| format!("n{} IS NOT NULL", at + 1), &every);
    let no_key = all(", ", &|at| format!("CASE WHEN false THEN o{0} END AS k{0}", at + 1), &keys);
    let own_key = all(", ", &|at| format!("o{0} AS k{0}", at + 1), &keys);
    let found = all(" AND ", &|at| format!("m.{} = s.k{}", columns[at].0, at + 1), &keys);
    let names = all(", ", &|at| columns[at].0.clone(), &every);
    let (old, new) = (list("o"), list("n"));
    let read = all(", ", &|at| columns[at].0.clone(), &every);
    // the rows themselves are read where the name has no mark
    let plain = format!("{}.{}", quoted(&desc.schema), quoted(&desc.name));
    let merge = format!(
        "WITH d AS MATERIALIZED (SELECT * FROM \
           (SELECT true AS old, {old} FROM (SELECT {read} FROM {plain}) AS r ({old})) AS o \
           FULL JOIN (SELECT true AS new, row_number() OVER (PARTITION BY {partition}) AS again, {new} \
             FROM (SELECT * FROM {rows}) AS q ({new})) AS n \
           ON {on} WHERE old IS NULL OR new IS NULL OR again > 1) \
         MERGE INTO {rows} AS m USING \
           (SELECT true AS gone, {own_key}, {new} FROM d WHERE new IS NULL \
            UNION ALL SELECT false, {no_key}, {new} FROM d WHERE new AND CASE WHEN again > 1 AND {whole} \
              THEN current_setting('{TWICE}' || ROW({new})::text) IS NULL ELSE true END) AS s \
         ON {found} \
         WHEN MATCHED AND s.gone THEN DELETE \
         WHEN NOT MATCHED AND NOT s.gone THEN INSERT ({names}) VALUES ({new})",
        on = on.join(" AND "),
    );
    let is_null = all(" OR ", &|at| format!("{} IS NULL", columns[at].0), &keys);
    Statements { unidentified: format!("DELETE FROM {rows} WHERE {is_null}"), merge }
}

/// Whether values of a type that are equal are the same.
fn is_exact(ty: Type) -> bool {
    let exact = matches!(
        ty.base,
        Base::Bool
            | Base::Int2
            | Base::Int4
            | Base::Int8
            | Base::Text
            | Base::Varchar
            | Base::Date
            | Base::Timestamp
            | Base::Timetz
            | Base::Money
            | Base::Bit
            | Base::Varbit
            | Base::Timestamptz
            | Base::Uuid
            | Base::Inet
            | Base::Cidr
            | Base::Macaddr
            | Base::Macaddr8
            | Base::Bytea
            | Base::Enum(_)
    );
    exact && !ty.array
}

/// What is compared of a column, so that values are the same and not only equal, as `1.0` and `1.00` are.
fn exact(column: &str, ty: Type) -> String {
    if is_exact(ty) { column.to_owned() } else { format!("{column}::text") }
}

/// The error of the statement as that of REFRESH.
pub(super) fn told(error: SqlError, name: &str) -> SqlError {
    let marked = error.message().split_once(TWICE);
    let Some((_, row)) = marked.filter(|_| error.code() == SqlState::UNDEFINED_OBJECT) else { return error };
    let what =
        format!("new data for materialized view \"{name}\" contains duplicate rows without any null columns");
    let row = row.strip_suffix('"').unwrap_or(row);
    SqlError::new(SqlState::CARDINALITY_VIOLATION, what).detail(format!("Row: {row}"))
}
