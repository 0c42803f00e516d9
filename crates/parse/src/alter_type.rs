//! ALTER TYPE: the general parser knows it without OWNER TO and SET SCHEMA.

use super::cursor::Cursor;
use super::lex::text_of;
use scaledb_types::{Result, SqlError};

/// The type, and what is to change about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterType {
    pub schema: Option<String>,
    pub name: String,
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    AddValue { label: String, if_not_exists: bool, neighbour: Option<Neighbour> },
    RenameValue { from: String, to: String },
    RenameTo(String),
    OwnerTo(String),
}

/// Where among the labels a new one comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub label: String,
    /// Whether behind it.
    pub after: bool,
}

/// Reads what is behind the words ALTER TYPE.
///
/// # Errors
/// 42601; 0A000 for what is done to types that are not enum types.
pub(super) fn alter_type(at: &mut Cursor<'_>) -> Result<AlterType> {
    let first = at.name()?;
    let (schema, name) = if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) };
    let change = if at.accept("add") {
        if at.accept("attribute") {
            return Err(composite());
        }
        at.expect("value")?;
        let if_not_exists = at.accept("if");
        if if_not_exists {
            at.expect("not")?;
            at.expect("exists")?;
        }
        let label = label(at)?;
        let neighbour = match (at.accept("before"), at.accept("after")) {
            (false, false) => None,
            (_, after) => Some(Neighbour { label: self::label(at)?, after }),
        };
        Change::AddValue { label, if_not_exists, neighbour }
    } else if at.accept("rename") {
        if at.accept("attribute") {
            return Err(composite());
        }
        if at.accept("value") {
            let from = label(at)?;
            at.expect("to")?;
            Change::RenameValue { from, to: label(at)? }
        } else {
            at.expect("to")?;
            Change::RenameTo(at.name()?)
        }
    } else if at.accept("owner") {
        at.expect("to")?;
        Change::OwnerTo(at.name()?)
    } else if at.accept("drop") || at.accept("alter") {
        return Err(composite());
    } else {
        return Err(at.unexpected());
    };
    Ok(AlterType { schema, name, change })
}

fn composite() -> SqlError {
    SqlError::unsupported("composite types are not supported")
}

/// A label: a text.
fn label(at: &mut Cursor<'_>) -> Result<String> {
    let label = at.ahead.and_then(|token| text_of(token, at.text)).ok_or_else(|| at.unexpected())?;
    at.next();
    Ok(label)
}
