//! VACUUM, REINDEX and CLUSTER: nothing is to be done, but what they name has to be there.

use super::cursor::{Cursor, names, parenthesized};
use super::utility::Utility;
use scaledb_types::Result;

/// What a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Maintained {
    /// Tables that VACUUM names.
    Vacuumed(Vec<Name>),
    /// A table that CLUSTER names, perhaps with an index.
    Clustered(Option<(Name, Option<String>)>),
    Table(Name),
    Index(Name),
    Schema(String),
    Database(Option<String>),
}

/// A schema and a name.
pub type Name = (Option<String>, String);

impl Maintained {
    /// The tag of the statement, and what is told of it.
    pub fn told(&self) -> (&'static str, &'static str) {
        match self {
            Self::Vacuumed(_) => {
                ("VACUUM", "VACUUM does nothing: row versions are cleaned up in the background")
            }
            Self::Clustered(_) => {
                ("CLUSTER", "CLUSTER does nothing: rows are in memory, and have no order there")
            }
            _ => (
                "REINDEX",
                "REINDEX does nothing: indexes are made anew at each start, and keep no dead entries",
            ),
        }
    }
}

fn qualified(at: &mut Cursor<'_>) -> Result<Name> {
    let mut name = at.name()?;
    let mut schema = None;
    if at.accept_sign(".") {
        schema = Some(std::mem::replace(&mut name, at.name()?));
    }
    Ok((schema, name))
}

fn opens(at: &Cursor<'_>) -> bool {
    at.ahead.is_some_and(|token| token.is_sign(at.text, "("))
}

/// VACUUM.
pub(super) fn vacuum(at: &mut Cursor<'_>) -> Result<Utility> {
    if opens(at) {
        parenthesized(at)?;
    } else {
        for word in ["full", "freeze", "verbose"] {
            at.accept(word);
        }
        if !at.accept("analyze") {
            at.accept("analyse");
        }
    }
    let mut tables = Vec::new();
    while at.ahead.is_some() {
        tables.push(qualified(at)?);
        if opens(at) {
            names(at, true)?;
        }
        if !at.accept_sign(",") {
            break;
        }
    }
    at.end()?;
    Ok(Utility::Maintain(Box::new(Maintained::Vacuumed(tables))))
}

/// REINDEX.
pub(super) fn reindex(at: &mut Cursor<'_>) -> Result<Utility> {
    if opens(at) {
        parenthesized(at)?;
    }
    let kinds = ["index", "table", "schema", "database", "system"];
    let Some(kind) = kinds.into_iter().find(|kind| at.accept(kind)) else { return Err(at.unexpected()) };
    at.accept("concurrently");
    let about = match kind {
        "index" => Maintained::Index(qualified(at)?),
        "table" => Maintained::Table(qualified(at)?),
        "schema" => Maintained::Schema(at.name()?),
        _ => Maintained::Database(if at.ahead.is_some() { Some(at.name()?) } else { None }),
    };
    at.end()?;
    Ok(Utility::Maintain(Box::new(about)))
}

/// CLUSTER.
pub(super) fn cluster(at: &mut Cursor<'_>) -> Result<Utility> {
    if opens(at) {
        parenthesized(at)?;
    } else {
        at.accept("verbose");
    }
    if at.ahead.is_none() {
        return Ok(Utility::Maintain(Box::new(Maintained::Clustered(None))));
    }
    let first = qualified(at)?;
    // the index came first, once
    let about = if at.accept("on") {
        (qualified(at)?, Some(first.1))
    } else if at.accept("using") {
        (first, Some(at.name()?))
    } else {
        (first, None)
    };
    at.end()?;
    Ok(Utility::Maintain(Box::new(Maintained::Clustered(Some(about)))))
}
