//! `SELECT .. INTO t FROM ..` is CREATE TABLE AS: the clause stands in the first SELECT of the query.

use scaledb_types::{Result, SqlError};
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{SelectInto, SetExpr, Statement};

/// A statement, as CREATE TABLE AS if it is SELECT INTO.
///
/// # Errors
/// 0A000 for a table that is not logged.
pub(super) fn rewrite(statement: Statement) -> Result<Statement> {
    let Statement::Query(mut query) = statement else { return Ok(statement) };
    let Some(into) = take_into(&mut query.body) else { return Ok(Statement::Query(query)) };
    if into.unlogged {
        return Err(SqlError::unsupported("SELECT INTO UNLOGGED is not supported"));
    }
    let create = CreateTableBuilder::new(into.name).temporary(into.temporary).query(Some(query));
    Ok(Statement::CreateTable(create.build()))
}

/// Takes the clause out of the first SELECT.
fn take_into(mut body: &mut SetExpr) -> Option<SelectInto> {
    loop {
        body = match body {
            SetExpr::Select(select) => return select.into.take(),
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &mut query.body,
            _ => return None,
        };
    }
}
