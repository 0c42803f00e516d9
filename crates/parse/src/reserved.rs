//! Names that PostgreSQL's grammar refuses and the parser takes: reserved words, and texts in quotes.

use super::{create_as, cursor, offset_of};
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::{AlterTableOperation, Ident, ObjectName, ObjectNamePart, SchemaName, Statement};

/// Words that are no names of tables and columns unless they are quoted.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization", "binary", "both",
    "case", "cast", "check", "collate", "collation", "column", "concurrently", "constraint", "create", "cross",
    "current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp",
    "current_user", "default", "deferrable", "desc", "distinct", "do", "else", "end", "except", "false", "fetch", "for",
    "foreign", "freeze", "from", "full", "grant", "group", "having", "ilike", "in", "initially", "inner", "intersect",
    "into", "is", "isnull", "join", "lateral", "leading", "left", "like", "limit", "localtime", "localtimestamp",
    "natural", "not", "notnull", "null", "offset", "on", "only", "or", "order", "outer", "overlaps", "placing",
    "primary", "references", "returning", "right", "select", "session_user", "similar", "some", "symmetric", "table",
    "tablesample", "then", "to", "trailing", "true", "union", "unique", "user", "using", "variadic", "verbose", "when",
    "where", "window", "with",
];

/// Refuses a new table, view or column with such a name.
///
/// # Errors
/// 42601.
pub(super) fn check(statement: &Statement, text: &str) -> Result<()> {
    match statement {
        Statement::CreateTable(create) => {
            create_as::check(create)?;
            check_last(&create.name, text)?;
            create.columns.iter().try_for_each(|column| check_name(&column.name, text))
        }
        Statement::CreateView(create) => {
            check_last(&create.name, text)?;
            create.columns.iter().try_for_each(|column| check_name(&column.name, text))
        }
        Statement::CreateSchema { schema_name, .. } => match schema_name {
            SchemaName::Simple(name) | SchemaName::NamedAuthorization(name, _) => check_last(name, text),
            SchemaName::UnnamedAuthorization(_) => Ok(()),
        },
        Statement::AlterTable(alter) => alter.operations.iter().try_for_each(|operation| match operation {
            AlterTableOperation::AddColumn { column_def, .. } => check_name(&column_def.name, text),
            AlterTableOperation::RenameColumn { new_column_name, .. } => check_name(new_column_name, text),
            _ => Ok(()),
        }),
        _ => Ok(()),
    }
}

/// The name behind all schemas: only that is a new one.
fn check_last(name: &ObjectName, text: &str) -> Result<()> {
    match &name.0[..] {
        // behind a point any word is a name
        [ObjectNamePart::Identifier(ident)] => check_name(ident, text),
        _ => Ok(()),
    }
}

fn check_name(name: &Ident, text: &str) -> Result<()> {
    let refused = match name.quote_style {
        None => RESERVED.binary_search(&&name.value.to_ascii_lowercase()[..]).is_ok(),
        Some(quote) => quote == '\'',
    };
    if !refused {
        return Ok(());
    }
    Err(refuse(name, text))
}

/// 42601 at a name.
#[cold]
fn refuse(name: &Ident, text: &str) -> SqlError {
    if name.span.start.line == 0 {
        return not_a_name(name);
    }
    let at = offset_of(text, name.span.start.line, name.span.start.column);
    cursor::syntax_at(text, Some((at, at + name.value.len())))
}

/// 42601 for a text in place of a name.
#[cold]
pub fn not_a_name(name: &Ident) -> SqlError {
    let what = format!("syntax error at or near \"{name}\"");
    SqlError::new(SqlState::SYNTAX_ERROR, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_order() {
        assert!(RESERVED.is_sorted());
    }
}
