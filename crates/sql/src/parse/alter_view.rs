//! ALTER VIEW, which the general parser does not know.

use super::cursor::{Cursor, value};
use super::roles::RoleName;
use super::routine::{Name, name};
use scaledb_types::{Result, SqlError};

/// ALTER VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AlterView {
    pub(crate) if_exists: bool,
    pub(crate) name: Name,
    pub(crate) change: ViewChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ViewChange {
    Rename(String),
    Owner(RoleName),
    /// Options and their values.
    Set(Vec<(String, String)>),
    Reset(Vec<String>),
}

/// Reads what is behind ALTER VIEW.
///
/// # Errors
/// 42601; 0A000 for a change of a column.
pub(super) fn alter_view(at: &mut Cursor<'_>) -> Result<AlterView> {
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let name = name(at)?;
    let change = if at.accept("rename") {
        if !at.accept("to") {
            return Err(SqlError::unsupported("other names for the columns of a view are not supported")
                .hint(
                    "CREATE OR REPLACE VIEW cannot change them, either: drop the view, and create it again.",
                ));
        }
        ViewChange::Rename(at.name()?)
    } else if at.accept("owner") {
        at.expect("to")?;
        ViewChange::Owner(super::roles::role(at)?)
    } else if at.accept("set") {
        ViewChange::Set(options(at)?)
    } else if at.accept("reset") {
        ViewChange::Reset(super::cursor::names(at, true)?)
    } else if at.accept("alter") {
        at.rest();
        return Err(SqlError::unsupported("defaults of the columns of a view are not supported"));
    } else {
        return Err(at.unexpected());
    };
    Ok(AlterView { if_exists, name, change })
}

/// Options of a view in parentheses. One without a value is on.
fn options(at: &mut Cursor<'_>) -> Result<Vec<(String, String)>> {
    at.expect_sign("(")?;
    let mut options = Vec::new();
    loop {
        let name = at.name()?;
        let text = if at.accept_sign("=") { value(at)? } else { "true".to_owned() };
        options.push((name, text));
        if !at.accept_sign(",") {
            at.expect_sign(")")?;
            return Ok(options);
        }
    }
}
