//! Whether two answers are the same, as far as SQL says what they are.

use crate::answer::Answer;
use crate::generate::Statement;

/// What two servers have said to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same.
    Same,
    /// Not the same, but the standard leaves it open; what comes after cannot be compared.
    Open,
    /// One of them is wrong.
    Differ(Kind),
}

/// What kind of difference it is: a smaller script must show the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Other rows.
    Rows,
    /// The same rows in another order, where it is determined.
    Order,
    /// Other names or types of columns.
    Columns,
    /// Another tag.
    Tag,
    /// The first one fails, with such an SQLSTATE, and the second does not.
    OnlyFirst([u8; 5]),
    /// The second one fails, with such an SQLSTATE, and the first does not.
    OnlySecond([u8; 5]),
    /// Both fail, with these.
    Codes([u8; 5], [u8; 5]),
}

fn five(code: &str) -> [u8; 5] {
    let mut five = [b' '; 5];
    for (to, from) in five.iter_mut().zip(code.bytes()) {
        *to = from;
    }
    five
}

/// Failures of a value in some row: whether it is computed at all depends on the plan.
fn of_a_value(code: &str) -> bool {
    code.starts_with("22") || code == "21000"
}

/// Whether a feature is not there for some values only: `'infinity'::numeric::int4`.
fn cannot_be_made(code: &str, message: &str) -> bool {
    not_there(code) && ["cannot convert", "removing elements"].iter().any(|start| message.starts_with(start))
}

/// Whether a plan decides which values of a statement are computed: it reads tables, or constants stand in a part of
/// WITH. PostgreSQL computes those while it plans: `WITH w AS (UPDATE t SET a = 'a'::text::int) VALUES (1)` fails there
/// on an empty table, and the tag is that of VALUES and does not tell that no row was met, as [`met_no_row`] asks.
fn not_all(sql: &str) -> bool {
    sql.contains("from") || sql.contains("on conflict") || sql.starts_with("with")
}

/// Whether PostgreSQL may not have asked for a privilege: its planner leaves out what cannot matter to the answer,
/// such as a subquery that is added to NULL, or a table behind a condition that is never true.
fn never_read(sql: &str, code: &str, rows: usize) -> bool {
    code == "42501" && (rows == 0 || sql.contains("null"))
}

/// Whether a statement may have met no row: PostgreSQL computes what is made of constants even then.
fn met_no_row(tag: &str) -> bool {
    ["UPDATE 0", "MERGE 0", "ALTER TABLE"].contains(&tag)
}

/// Whether these are failures of values, or of a value and of a constraint: which of them comes first is open.
fn either_first(one: &str, two: &str) -> bool {
    let row = |code: &str| of_a_value(code) || code.starts_with("23");
    row(one) && row(two) && (of_a_value(one) || of_a_value(two))
}

/// Whether a failure says that a feature is not there: the manual lists them.
fn not_there(code: &str) -> bool {
    code == "0A000"
}

/// Whether a failure is one of the server itself, which no statement should meet.
fn internal(code: &str) -> bool {
    ["XX000", "panic"].contains(&code)
}

/// Whether the reference took a statement and then found no plan for it, as PostgreSQL 15 does for some outer joins
/// with LATERAL ("failed to build any 4-way joins"): a mistake of its own, which does not say what the answer is.
fn gave_up(reference: &Answer) -> bool {
    let no_plan = |message: &str| message.starts_with("failed to build any");
    matches!(reference, Answer::Failed { code, message } if code == "XX000" && no_plan(message))
}

/// Compares what a reference and another server have answered.
pub fn compare(statement: &Statement, sql: &str, reference: &Answer, other: &Answer) -> Verdict {
    if other.code().is_some_and(not_there) {
        return Verdict::Open;
    }
    if gave_up(reference) && !other.code().is_some_and(internal) {
        return Verdict::Open;
    }
    match (reference, other) {
        (Answer::Failed { code, .. }, Answer::Failed { code: found, .. }) => {
            let ours = internal(found);
            // of several mistakes about parameters without types, either may be reported
            if code == found || sql.starts_with("prepare") {
                Verdict::Same
            } else if !ours && (of_a_value(code) || of_a_value(found)) && not_all(sql) {
                Verdict::Open
            } else if either_first(code, found)
                || code.starts_with("23") && found.starts_with("23")
                || late_arbiter(sql, code)
                || late_arbiter(sql, found)
            {
                // which row comes first
                Verdict::Open
            } else {
                Verdict::Differ(Kind::Codes(five(code), five(found)))
            }
        }
        (Answer::Failed { code, message }, Answer::Done { tag, .. }) => {
            let untyped = code == "42P18" && sql.starts_with("prepare");
            let value = of_a_value(code) || cannot_be_made(code, message);
            // ScaleDB has one order of text: COLLATE changes nothing
            let collated = code == "42P21";
            let open = value && (not_all(sql) || met_no_row(tag)) || untyped || collated;
            let open = open || checked_by_row(sql, code) || late_arbiter(sql, code);
            if open { Verdict::Open } else { Verdict::Differ(Kind::OnlyFirst(five(code))) }
        }
        (Answer::Done { rows, .. }, Answer::Failed { code, .. }) => {
            let open = of_a_value(code) && not_all(sql)
                || checked_by_row(sql, code)
                || never_read(sql, code, rows.len());
            if open { Verdict::Open } else { Verdict::Differ(Kind::OnlySecond(five(code))) }
        }
        (
            Answer::Done { columns, rows, tag },
            Answer::Done { columns: other_columns, rows: other_rows, tag: other_tag },
        ) => {
            if !equal_rows(rows, other_rows) && !scales_agree(sql, rows, other_rows) {
                Verdict::Differ(Kind::Rows)
            } else if columns != other_columns {
                Verdict::Differ(Kind::Columns)
            } else if tag != other_tag {
                Verdict::Differ(Kind::Tag)
            } else if statement.ordered && rows != other_rows && !same_scales(rows, other_rows) {
                Verdict::Differ(Kind::Order)
            } else {
                Verdict::Same
            }
        }
    }
}

/// An UPDATE checks unique keys row by row: which rows it meets first decides.
fn checked_by_row(sql: &str, code: &str) -> bool {
    matches!(code, "23505" | "23P01") && sql.contains("update")
}

/// ON CONFLICT on a table with a constraint that is checked late: which of its indexes is looked at first, and which
/// part of WITH is run first, decides whether that is noticed.
fn late_arbiter(sql: &str, code: &str) -> bool {
    code == "55000" && sql.contains("on conflict")
}

/// Rows as text.
pub type Rows = Vec<Vec<Option<String>>>;
type Slice = [Vec<Option<String>>];

/// Whether these are the same rows, in whatever order.
pub fn equal_rows(one: &Slice, two: &Slice) -> bool {
    if one.len() != two.len() {
        return false;
    }
    let sorted = |rows: &Slice| {
        let mut rows = rows.to_vec();
        rows.sort();
        rows
    };
    sorted(one) == sorted(two)
}

/// Of equal numbers with other scales (1.0 and 1.00), these may show either.
fn scales_agree(sql: &str, one: &Slice, two: &Slice) -> bool {
    const CHOOSE: [&str; 12] = [
        "distinct",
        "group by",
        "union",
        "intersect",
        "except",
        "min(",
        "max(",
        "greatest(",
        "least(",
        "lag(",
        "lead(",
        "_value(",
    ];
    CHOOSE.iter().any(|word| sql.contains(word)) && equal_rows(&shortened(one), &shortened(two))
}

fn same_scales(one: &Slice, two: &Slice) -> bool {
    shortened(one) == shortened(two)
}

fn shortened(rows: &Slice) -> Rows {
    let short = |text: &String| {
        let number = text.contains('.') && text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
        if number { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.clone() }
    };
    rows.iter().map(|row| row.iter().map(|value| value.as_ref().map(short)).collect()).collect()
}
