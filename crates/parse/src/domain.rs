//! CREATE, ALTER and DROP DOMAIN, of which the general parser knows the beginnings.

use super::cursor::{Cursor, parenthesized};
use super::routine::{Name, name};
use scaledb_types::{Result, SqlError, SqlState};

/// A statement about domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainStatement {
    Create { name: Name, of: String, qualities: Vec<Quality> },
    Alter { name: Name, change: Change },
    Drop { if_exists: bool, names: Vec<Name>, cascade: bool },
}

/// What is said of a new domain behind its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quality {
    Collate(Name),
    Default(String),
    /// Whether NULL is refused.
    NotNull(bool),
    Check(Check),
}

/// A condition, and its name if it has got one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: Option<String>,
    pub expression: String,
}

/// What ALTER DOMAIN changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// None to drop it.
    Default(Option<String>),
    NotNull(bool),
    AddCheck {
        check: Check,
        not_valid: bool,
    },
    DropConstraint {
        name: String,
        if_exists: bool,
    },
    RenameConstraint {
        from: String,
        to: String,
    },
    ValidateConstraint(String),
    RenameTo(String),
    OwnerTo(super::roles::RoleName),
    SetSchema(String),
}

/// Whether a statement is about domains.
pub(super) fn is_about(text: &str) -> bool {
    let mut at = Cursor::new(text);
    at.next();
    at.accept("domain")
}

/// Words that end a type or a default, where they stand in no parenthesis.
const ENDS: [&str; 10] = [
    "constraint",
    "not",
    "null",
    "check",
    "default",
    "collate",
    "primary",
    "unique",
    "references",
    "generated",
];

/// The text up to one of [`ENDS`], which it may begin with if it is an expression.
fn up_to_end<'a>(at: &mut Cursor<'a>, expression: bool) -> Result<&'a str> {
    let start = at.ahead.ok_or_else(|| at.unexpected())?.start;
    let (mut end, mut depth, mut after_is) = (start, 0usize, false);
    while let Some(token) = at.ahead {
        let ends = ENDS.iter().any(|word| token.is(at.text, word));
        if depth == 0 && ends && !after_is && (end > start || !expression) {
            break;
        }
        let sign = token.of(at.text);
        // what stands between CASE and END is no end either
        if matches!(sign, "(" | "[") || token.is(at.text, "case") {
            depth += 1;
        } else if matches!(sign, ")" | "]") || token.is(at.text, "end") {
            depth = depth.saturating_sub(1);
        }
        after_is = token.is(at.text, "is");
        end = token.end;
        at.next();
    }
    if end == start {
        return Err(at.unexpected());
    }
    Ok(&at.text[start..end])
}

/// Reads what is behind CREATE.
///
/// # Errors
/// 42601, and what no domain can have.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<DomainStatement> {
    at.expect("domain")?;
    let name = self::name(at)?;
    at.accept("as");
    let of = up_to_end(at, false)?.to_owned();
    let mut qualities = Vec::new();
    while at.ahead.is_some() {
        let constraint = if at.accept("constraint") { Some(at.name()?) } else { None };
        qualities.push(quality(at, constraint)?);
    }
    Ok(DomainStatement::Create { name, of, qualities })
}

fn quality(at: &mut Cursor<'_>, constraint: Option<String>) -> Result<Quality> {
    let named = constraint.is_some();
    if at.accept("not") {
        at.expect("null")?;
        return Ok(Quality::NotNull(true));
    }
    if at.accept("null") {
        return Ok(Quality::NotNull(false));
    }
    if at.ahead.is_some_and(|token| token.is(at.text, "check")) {
        let check = check(at, constraint)?;
        if at.accept("no") {
            at.expect("inherit")?;
            let what = "check constraints for domains cannot be marked NO INHERIT";
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
        }
        return Ok(Quality::Check(check));
    }
    if at.accept("default") {
        return Ok(Quality::Default(up_to_end(at, true)?.to_owned()));
    }
    if !named && at.accept("collate") {
        return Ok(Quality::Collate(name(at)?));
    }
    for (word, kind) in [("primary", "primary key"), ("unique", "unique"), ("references", "foreign key")] {
        if at.accept(word) {
            let what = format!("{kind} constraints not possible for domains");
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
    }
    if at.accept("generated") {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, "generated columns not possible for domains"));
    }
    Err(at.unexpected())
}

fn check(at: &mut Cursor<'_>, name: Option<String>) -> Result<Check> {
    at.expect("check")?;
    if !at.ahead.is_some_and(|token| token.is_sign(at.text, "(")) {
        return Err(at.unexpected());
    }
    Ok(Check { name, expression: parenthesized(at)?.trim().to_owned() })
}

/// Reads what is behind ALTER.
///
/// # Errors
/// 42601, and what no domain can have.
pub(super) fn alter(at: &mut Cursor<'_>) -> Result<DomainStatement> {
    at.expect("domain")?;
    let name = self::name(at)?;
    let change = if at.accept("set") {
        if at.accept("default") {
            let text = at.rest().trim();
            if text.is_empty() {
                return Err(at.unexpected());
            }
            Change::Default(Some(text.to_owned()))
        } else if at.accept("schema") {
            Change::SetSchema(at.name()?)
        } else {
            at.expect("not")?;
            at.expect("null")?;
            Change::NotNull(true)
        }
    } else if at.accept("drop") {
        if at.accept("default") {
            Change::Default(None)
        } else if at.accept("not") {
            at.expect("null")?;
            Change::NotNull(false)
        } else {
            at.expect("constraint")?;
            let if_exists = if_exists(at)?;
            let constraint = at.name()?;
            cascade(at);
            Change::DropConstraint { name: constraint, if_exists }
        }
    } else if at.accept("add") {
        add(at)?
    } else if at.accept("rename") {
        let constraint = if at.accept("constraint") { Some(at.name()?) } else { None };
        at.expect("to")?;
        let to = at.name()?;
        match constraint {
            Some(from) => Change::RenameConstraint { from, to },
            None => Change::RenameTo(to),
        }
    } else if at.accept("validate") {
        at.expect("constraint")?;
        Change::ValidateConstraint(at.name()?)
    } else {
        at.expect("owner")?;
        at.expect("to")?;
        Change::OwnerTo(super::roles::role(at)?)
    };
    Ok(DomainStatement::Alter { name, change })
}

fn add(at: &mut Cursor<'_>) -> Result<Change> {
    let constraint = if at.accept("constraint") { Some(at.name()?) } else { None };
    for (word, kind) in [("primary", "primary key"), ("unique", "unique"), ("foreign", "foreign key")] {
        if at.accept(word) {
            let what = format!("{kind} constraints not possible for domains");
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
    }
    if at.accept("exclude") {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, "exclusion constraints not possible for domains"));
    }
    let check = check(at, constraint)?;
    let not_valid = at.accept("not");
    if not_valid {
        at.expect("valid")?;
    }
    Ok(Change::AddCheck { check, not_valid })
}

/// Reads what is behind DROP.
///
/// # Errors
/// 42601.
pub(super) fn drop_domain(at: &mut Cursor<'_>) -> Result<DomainStatement> {
    at.expect("domain")?;
    let if_exists = if_exists(at)?;
    let mut names = vec![name(at)?];
    while at.accept_sign(",") {
        names.push(name(at)?);
    }
    Ok(DomainStatement::Drop { if_exists, names, cascade: cascade(at) })
}

fn if_exists(at: &mut Cursor<'_>) -> Result<bool> {
    let given = at.accept("if");
    if given {
        at.expect("exists")?;
    }
    Ok(given)
}

fn cascade(at: &mut Cursor<'_>) -> bool {
    let given = at.accept("cascade");
    if !given {
        at.accept("restrict");
    }
    given
}

impl DomainStatement {
    /// The command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Create { .. } => "CREATE DOMAIN",
            Self::Alter { .. } => "ALTER DOMAIN",
            Self::Drop { .. } => "DROP DOMAIN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_defaults_end_where_the_next_quality_begins() {
        let text = "create domain s.d as timestamp(3) with time zone collate \"C\" default case when 1 is null then 2 end \
                    not null constraint c check (value is not null and (value > 'a)'))";
        let mut at = Cursor::new(text);
        at.next();
        let DomainStatement::Create { name, of, qualities } = create(&mut at).unwrap() else {
            panic!("CREATE")
        };
        assert_eq!(name, (Some("s".to_owned()), "d".to_owned()));
        assert_eq!(of, "timestamp(3) with time zone");
        let check = Check {
            name: Some("c".to_owned()),
            expression: "value is not null and (value > 'a)')".to_owned(),
        };
        let default = Quality::Default("case when 1 is null then 2 end".to_owned());
        let collate = Quality::Collate((None, "C".to_owned()));
        assert_eq!(qualities, [collate, default, Quality::NotNull(true), Quality::Check(check)]);
        for text in ["create domain d", "create domain d int check value > 0", "create domain d int default"]
        {
            let mut at = Cursor::new(text);
            at.next();
            assert_eq!(create(&mut at).unwrap_err().code(), SqlState::SYNTAX_ERROR, "{text}");
        }
        let mut at = Cursor::new("create domain d int default null null");
        at.next();
        let DomainStatement::Create { qualities, .. } = create(&mut at).unwrap() else { panic!("CREATE") };
        assert_eq!(qualities, [Quality::Default("null".to_owned()), Quality::NotNull(false)]);
    }
}
