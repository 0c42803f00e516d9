//! CREATE, ALTER and DROP DATABASE.

use super::cursor::{Cursor, literal};
use super::lex::Kind;
use super::roles::RoleName;
use scaledb_types::{Result, SqlError, SqlState};

/// A statement about databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseStatement {
    Create {
        name: String,
        options: Vec<DatabaseOption>,
    },
    Alter {
        name: String,
        options: Vec<DatabaseOption>,
    },
    Rename {
        from: String,
        to: String,
    },
    Owner {
        name: String,
        owner: RoleName,
    },
    /// ALTER DATABASE .. SET; without a setting RESET ALL, without a value RESET.
    Set {
        name: String,
        setting: Option<String>,
        value: Option<String>,
    },
    Drop {
        if_exists: bool,
        name: String,
        /// The sessions that are in it are ended.
        force: bool,
    },
}

/// What a database is made with, or is to be. Texts are as they were written; none is DEFAULT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseOption {
    /// In lower case, with a low line between two words.
    pub name: String,
    pub value: Option<String>,
    /// The place of the name, in characters, from 1.
    pub position: u32,
}

impl DatabaseStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE DATABASE",
            Self::Drop { .. } => "DROP DATABASE",
            _ => "ALTER DATABASE",
        }
    }

    /// Whether it runs in no transaction with others.
    pub fn is_alone(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Drop { .. })
    }
}

/// What is behind CREATE.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<DatabaseStatement> {
    at.expect("database")?;
    let name = at.name()?;
    at.accept("with");
    Ok(DatabaseStatement::Create { name, options: options(at)? })
}

/// What is behind ALTER.
pub(super) fn alter(at: &mut Cursor<'_>) -> Result<DatabaseStatement> {
    at.expect("database")?;
    let name = at.name()?;
    if at.accept("rename") {
        at.expect("to")?;
        return Ok(DatabaseStatement::Rename { from: name, to: at.name()? });
    }
    if at.accept("owner") {
        at.expect("to")?;
        return Ok(DatabaseStatement::Owner { name, owner: super::roles::role(at)? });
    }
    if at.accept("refresh") {
        at.expect("collation")?;
        at.expect("version")?;
        return Err(SqlError::unsupported("collations have no versions: texts are compared by their bytes"));
    }
    if at.accept("set") {
        if at.accept("tablespace") {
            return Err(SqlError::unsupported("tablespaces are not supported"));
        }
        let (setting, value) = super::utility::setting_and_value(at)?;
        return Ok(DatabaseStatement::Set { name, setting: Some(setting), value });
    }
    if at.accept("reset") {
        let setting = if at.accept("all") { None } else { Some(super::utility::setting(at)?) };
        return Ok(DatabaseStatement::Set { name, setting, value: None });
    }
    at.accept("with");
    Ok(DatabaseStatement::Alter { name, options: options(at)? })
}

/// What is behind DROP.
pub(super) fn drop_database(at: &mut Cursor<'_>) -> Result<DatabaseStatement> {
    at.expect("database")?;
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let name = at.name()?;
    let with = at.accept("with");
    let force = at.accept_sign("(");
    if with && !force {
        return Err(at.unexpected());
    }
    if force {
        at.expect("force")?;
        while at.accept_sign(",") {
            at.expect("force")?;
        }
        at.expect_sign(")")?;
    }
    Ok(DatabaseStatement::Drop { if_exists, name, force })
}

fn options(at: &mut Cursor<'_>) -> Result<Vec<DatabaseOption>> {
    let mut options: Vec<DatabaseOption> = Vec::new();
    while let Some(token) = at.ahead {
        let position = at.text[..token.start].chars().count() as u32 + 1;
        if token.kind != Kind::Word {
            return Err(at.unexpected());
        }
        let mut name = token.of(at.text).to_ascii_lowercase();
        at.next();
        if name == "connection" {
            at.expect("limit")?;
            "connection_limit".clone_into(&mut name);
        }
        at.accept_sign("=");
        let value = if at.accept("default") { None } else { Some(value(at)?) };
        if options.iter().any(|known| known.name == name) {
            let what = "conflicting or redundant options";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what).position(position));
        }
        options.push(DatabaseOption { name, value, position });
    }
    Ok(options)
}

fn value(at: &mut Cursor<'_>) -> Result<String> {
    if let Some(text) = literal(at) {
        at.next();
        return Ok(text);
    }
    let sign = if at.accept_sign("-") { "-" } else { "" };
    if at.ahead.is_some_and(|token| token.kind == Kind::Number) {
        let token = at.next().map_or("", |token| token.of(at.text));
        return Ok(format!("{sign}{token}"));
    }
    if sign.is_empty() { at.name() } else { Err(at.unexpected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<DatabaseStatement> {
        let mut at = Cursor::new(text);
        let word = at.peek_word().map(str::to_ascii_lowercase).unwrap_or_default();
        at.next();
        let statement = match word.as_str() {
            "create" => create(&mut at),
            "alter" => alter(&mut at),
            _ => drop_database(&mut at),
        }?;
        at.end().map(|()| statement)
    }

    fn options_of(text: &str) -> Vec<(String, Option<String>)> {
        match parsed(text) {
            Ok(DatabaseStatement::Create { options, .. } | DatabaseStatement::Alter { options, .. }) => {
                options.into_iter().map(|option| (option.name, option.value)).collect()
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn options_are_read_in_any_order_and_form() {
        let text = "CREATE DATABASE \"A b\" WITH OWNER = \"Ann\" template template0 ENCODING='UTF8' \
            CONNECTION LIMIT -1 is_template true LC_COLLATE DEFAULT";
        let expected = [
            ("owner", Some("Ann")),
            ("template", Some("template0")),
            ("encoding", Some("UTF8")),
            ("connection_limit", Some("-1")),
            ("is_template", Some("true")),
            ("lc_collate", None),
        ];
        let expected: Vec<_> =
            expected.into_iter().map(|(name, value)| (name.to_owned(), value.map(str::to_owned))).collect();
        assert_eq!(options_of(text), expected);
        assert!(options_of("ALTER DATABASE a").is_empty());
    }

    #[test]
    fn what_is_no_statement_is_a_syntax_error() {
        for text in [
            "CREATE DATABASE",
            "CREATE DATABASE a OWNER",
            "CREATE DATABASE a OWNER x OWNER y",
            "CREATE DATABASE a CONNECTION 5",
            "CREATE DATABASE a = 5",
            "DROP DATABASE a WITH",
            "DROP DATABASE a (FORCED)",
            "DROP DATABASE a, b",
            "ALTER DATABASE a RENAME b",
        ] {
            let error = parsed(text).expect_err(text);
            assert_eq!(error.code(), SqlState::SYNTAX_ERROR, "{text}: {error}");
        }
        let force = parsed("drop database if exists a with (force, force)").expect("it is one");
        assert_eq!(force, DatabaseStatement::Drop { if_exists: true, name: "a".to_owned(), force: true });
    }
}
