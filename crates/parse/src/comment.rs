//! COMMENT ON.

use super::cursor::Cursor;
use super::lex::text_of;
use super::roles::RoleName;
use super::routine::{Kinds, Signature};
use scaledb_types::Result;

/// What is said, and about what; without a text what was said before is forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub subject: Subject,
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Relation {
        kind: &'static str,
        schema: Option<String>,
        name: String,
    },
    Column {
        schema: Option<String>,
        relation: String,
        column: String,
    },
    Constraint {
        name: String,
        schema: Option<String>,
        table: String,
    },
    Routine {
        kinds: Kinds,
        routine: Signature,
    },
    /// A domain, or a constraint of one.
    Domain {
        name: (Option<String>, String),
        constraint: Option<String>,
    },
    /// A type, which may be a domain.
    Type((Option<String>, String)),
    Trigger {
        name: String,
        schema: Option<String>,
        table: String,
    },
    Policy {
        name: String,
        schema: Option<String>,
        table: String,
    },
    /// An extension, by its name.
    Extension(String),
    Role(RoleName),
    Database(String),
    /// A schema, whose comments are not kept.
    Schema(String),
    /// Something that PostgreSQL brings along.
    Other,
}

/// Reads what is behind the word.
///
/// # Errors
/// 42601.
pub(super) fn comment(at: &mut Cursor<'_>) -> Result<Comment> {
    at.expect("on")?;
    let kinds = ["table", "view", "sequence", "index"];
    let subject = if at.accept("materialized") {
        at.expect("view")?;
        let (schema, name) = qualified(at)?;
        Subject::Relation { kind: "materialized view", schema, name }
    } else if let Some(kind) = kinds.into_iter().find(|kind| at.accept(kind)) {
        let (schema, name) = qualified(at)?;
        Subject::Relation { kind, schema, name }
    } else if at.accept("column") {
        let mut names = vec![at.name()?];
        while at.accept_sign(".") {
            names.push(at.name()?);
        }
        let (Some(column), Some(relation)) = (names.pop(), names.pop()) else {
            return Err(at.unexpected());
        };
        Subject::Column { schema: names.pop(), relation, column }
    } else if at.accept("constraint") {
        let name = at.name()?;
        at.expect("on")?;
        if at.accept("domain") {
            Subject::Domain { name: qualified(at)?, constraint: Some(name) }
        } else {
            let (schema, table) = qualified(at)?;
            Subject::Constraint { name, schema, table }
        }
    } else if at.accept("domain") {
        Subject::Domain { name: qualified(at)?, constraint: None }
    } else if at.accept("type") {
        let name = qualified(at)?;
        if at.ahead.is_some_and(|token| !token.is(at.text, "is")) {
            at.rest();
            return Ok(Comment { subject: Subject::Other, text: None });
        }
        Subject::Type(name)
    } else if at.accept("extension") {
        Subject::Extension(at.name()?)
    } else if at.accept("role") {
        Subject::Role(super::roles::role(at)?)
    } else if at.accept("schema") {
        Subject::Schema(at.name()?)
    } else if at.accept("database") {
        Subject::Database(at.name()?)
    } else if at.accept("trigger") {
        let name = at.name()?;
        at.expect("on")?;
        let (schema, table) = qualified(at)?;
        Subject::Trigger { name, schema, table }
    } else if at.accept("policy") {
        let name = at.name()?;
        at.expect("on")?;
        let (schema, table) = qualified(at)?;
        Subject::Policy { name, schema, table }
    } else if let Some(kinds) = super::routine::kinds(at) {
        Subject::Routine { kinds, routine: super::routine::signature(at)? }
    } else {
        super::absent::commented(at)?;
        at.rest();
        return Ok(Comment { subject: Subject::Other, text: None });
    };
    at.expect("is")?;
    let text = if at.accept("null") { None } else { Some(text(at)?) };
    Ok(Comment { subject, text })
}

fn qualified(at: &mut Cursor<'_>) -> Result<(Option<String>, String)> {
    let first = at.name()?;
    Ok(if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) })
}

fn text(at: &mut Cursor<'_>) -> Result<String> {
    let text = at.ahead.and_then(|token| text_of(token, at.text)).ok_or_else(|| at.unexpected())?;
    at.next();
    Ok(text)
}
