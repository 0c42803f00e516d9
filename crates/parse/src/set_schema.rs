//! ALTER TABLE, VIEW, SEQUENCE and TYPE .. SET SCHEMA, which the general parser does not know.

use super::cursor::Cursor;
use super::lex::Lexer;
use scaledb_types::Result;

/// What moves, and to which schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSchema {
    pub kind: Kind,
    pub if_exists: bool,
    pub schema: Option<String>,
    pub name: String,
    pub to: String,
}

/// What is said to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Table,
    View,
    Materialized,
    Sequence,
    Type,
}

impl Kind {
    /// Those that one word says.
    const ALL: [Self; 4] = [Self::Table, Self::View, Self::Sequence, Self::Type];

    /// Its word in statements and messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Materialized => "materialized view",
            Self::Sequence => "sequence",
            Self::Type => "type",
        }
    }

    /// The command tag.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Table => "ALTER TABLE",
            Self::View => "ALTER VIEW",
            Self::Materialized => "ALTER MATERIALIZED VIEW",
            Self::Sequence => "ALTER SEQUENCE",
            Self::Type => "ALTER TYPE",
        }
    }

    pub fn is_type(self) -> bool {
        self == Self::Type
    }

    /// Whether a relation of a kind may be meant: ALTER TABLE takes them all.
    pub fn takes(self, kind: &str) -> bool {
        self == Self::Table || self.word() == kind
    }
}

/// Whether a statement that begins with ALTER ends with SET SCHEMA and a name, and is about something that can move.
pub(super) fn is_set_schema(text: &str) -> bool {
    let tokens: Vec<_> = Lexer::new(text).collect();
    let kind = tokens.get(1).is_some_and(|token| Kind::ALL.iter().any(|kind| token.is(text, kind.word())));
    match &tokens[..] {
        [.., set, schema, _] if kind => set.is(text, "set") && schema.is(text, "schema"),
        _ => false,
    }
}

/// Reads what is behind the word ALTER.
///
/// # Errors
/// 42601.
pub(super) fn set_schema(at: &mut Cursor<'_>) -> Result<SetSchema> {
    let kind = Kind::ALL.into_iter().find(|kind| at.accept(kind.word())).ok_or_else(|| at.unexpected())?;
    let if_exists = kind != Kind::Type && at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    if kind == Kind::Table {
        at.accept("only");
    }
    let first = at.name()?;
    let (schema, name) = if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) };
    at.expect("set")?;
    at.expect("schema")?;
    Ok(SetSchema { kind, if_exists, schema, name, to: at.name()? })
}
