//! ALTER VIEW, which the general parser does not know.

use super::cursor::{Cursor, value};
use super::roles::RoleName;
use super::routine::{Name, name};
use scaledb_types::Result;

/// ALTER VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterView {
    pub if_exists: bool,
    pub name: Name,
    pub change: ViewChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewChange {
    Rename(String),
    Owner(RoleName),
    /// Options and their values.
    Set(Vec<(String, String)>),
    Reset(Vec<String>),
    RenameColumn(String, String),
    /// A column, and the expression that is its default; none if it is to have none.
    Default(String, Option<String>),
}

/// Reads what is behind ALTER VIEW.
///
/// # Errors
/// 42601.
pub(super) fn alter_view(at: &mut Cursor<'_>) -> Result<AlterView> {
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let name = name(at)?;
    let change = if at.accept("rename") {
        if at.accept("to") {
            ViewChange::Rename(at.name()?)
        } else {
            at.accept("column");
            let old = at.name()?;
            at.expect("to")?;
            ViewChange::RenameColumn(old, at.name()?)
        }
    } else if at.accept("owner") {
        at.expect("to")?;
        ViewChange::Owner(super::roles::role(at)?)
    } else if at.accept("set") {
        ViewChange::Set(options(at)?)
    } else if at.accept("reset") {
        ViewChange::Reset(super::cursor::names(at, true)?)
    } else if at.accept("alter") {
        at.accept("column");
        let column = at.name()?;
        if at.accept("drop") {
            at.expect("default")?;
            ViewChange::Default(column, None)
        } else {
            at.expect("set")?;
            at.expect("default")?;
            ViewChange::Default(column, Some(at.rest().trim().to_owned()))
        }
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
