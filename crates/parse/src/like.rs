//! LIKE among the columns of CREATE TABLE, of which the general parser knows little: the tokens are put as the default
//! of a column without a name (see `marked`), and read here.

use super::cursor::Cursor;
use scaledb_types::Result;
use sqlparser::ast::{ColumnDef, ColumnOption, Expr, Value};

/// The relation whose columns are meant, and what else of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like {
    pub schema: Option<String>,
    pub name: String,
    included: Vec<Part>,
}

/// What may be included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Comments,
    /// There is nothing of this kind.
    Compression,
    Constraints,
    Defaults,
    Generated,
    Identity,
    Indexes,
    /// As compression.
    Statistics,
    /// As compression.
    Storage,
}

impl Part {
    const ALL: [(&'static str, Self); 9] = [
        ("comments", Self::Comments),
        ("compression", Self::Compression),
        ("constraints", Self::Constraints),
        ("defaults", Self::Defaults),
        ("generated", Self::Generated),
        ("identity", Self::Identity),
        ("indexes", Self::Indexes),
        ("statistics", Self::Statistics),
        ("storage", Self::Storage),
    ];
}

impl Like {
    pub fn includes(&self, part: Part) -> bool {
        self.included.contains(&part)
    }
}

/// What a column stands for, if it stands for LIKE.
///
/// # Errors
/// 42601.
pub fn like_of(column: &ColumnDef) -> Result<Option<Like>> {
    if !column.name.value.is_empty() {
        return Ok(None);
    }
    let text = column.options.iter().find_map(|option| match &option.option {
        ColumnOption::Default(Expr::Value(value)) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    });
    let Some(text) = text else { return Ok(None) };
    let mut at = Cursor::new(text);
    let first = at.name()?;
    let (schema, name) = if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) };
    let mut included = Vec::new();
    while at.ahead.is_some() {
        let includes = at.accept("including");
        if !includes {
            at.expect("excluding")?;
        }
        let parts: Vec<Part> = if at.accept("all") {
            Part::ALL.iter().map(|(_, part)| *part).collect()
        } else {
            let found = Part::ALL.iter().find(|(word, _)| at.accept(word));
            vec![found.ok_or_else(|| at.unexpected())?.1]
        };
        included.retain(|part| !parts.contains(part));
        if includes {
            included.extend(parts);
        }
    }
    Ok(Some(Like { schema, name, included }))
}
