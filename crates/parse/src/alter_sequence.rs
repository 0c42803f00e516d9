//! ALTER SEQUENCE, which the general parser does not know.

use super::cursor::Cursor;
use super::lex::Kind;
use scaledb_types::{Result, SqlError, SqlState};

/// The sequence, and what is to change about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    pub if_exists: bool,
    pub schema: Option<String>,
    pub name: String,
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Options(Box<Options>),
    RenameTo(String),
    OwnerTo(String),
    SetLogged,
}

/// The options of a sequence that a statement names; none is left as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The name of its type.
    pub ty: Option<String>,
    pub increment: Option<i64>,
    /// Inside: NO MINVALUE is none.
    pub min: Option<Option<i64>>,
    pub max: Option<Option<i64>>,
    pub start: Option<i64>,
    /// Inside: where to restart; at the start if nothing is said.
    pub restart: Option<Option<i64>>,
    pub cache: Option<i64>,
    pub cycle: Option<bool>,
    /// The parts of the name of a column, the column last; NONE is no part.
    pub owned_by: Option<Vec<String>>,
}

/// Reads what is behind the words ALTER SEQUENCE.
///
/// # Errors
/// 42601; 22003 for a number that no sequence has.
pub(super) fn alter_sequence(at: &mut Cursor<'_>) -> Result<AlterSequence> {
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let first = at.name()?;
    let (schema, name) = if at.accept_sign(".") { (Some(first), at.name()?) } else { (None, first) };
    let change = if at.accept("rename") {
        at.expect("to")?;
        Change::RenameTo(at.name()?)
    } else if at.accept("set") {
        if at.accept("logged") || at.accept("unlogged") {
            Change::SetLogged
        } else {
            return Err(at.unexpected());
        }
    } else if at.accept("owner") {
        at.expect("to")?;
        Change::OwnerTo(at.name()?)
    } else {
        Change::Options(Box::new(options(at)?))
    };
    Ok(AlterSequence { if_exists, schema, name, change })
}

/// The options of a sequence, to the end of the text.
///
/// # Errors
/// As [`alter_sequence`].
pub(super) fn options(at: &mut Cursor<'_>) -> Result<Options> {
    let mut options = Options::default();
    while at.ahead.is_some() {
        option(at, &mut options)?;
    }
    if options == Options::default() {
        return Err(at.unexpected());
    }
    Ok(options)
}

fn option(at: &mut Cursor<'_>, options: &mut Options) -> Result<()> {
    if at.accept("as") {
        let ty = at.name()?;
        once(&mut options.ty, ty)
    } else if at.accept("increment") {
        at.accept("by");
        let by = number(at)?;
        once(&mut options.increment, by)
    } else if at.accept("minvalue") {
        let min = number(at)?;
        once(&mut options.min, Some(min))
    } else if at.accept("maxvalue") {
        let max = number(at)?;
        once(&mut options.max, Some(max))
    } else if at.accept("start") {
        at.accept("with");
        let start = number(at)?;
        once(&mut options.start, start)
    } else if at.accept("restart") {
        let named = at.accept("with") || at.ahead.is_some_and(|token| token.kind == Kind::Number);
        let signed = at.ahead.is_some_and(|t| t.is_sign(at.text, "-") || t.is_sign(at.text, "+"));
        let restart = if named || signed { Some(number(at)?) } else { None };
        once(&mut options.restart, restart)
    } else if at.accept("cache") {
        let cache = number(at)?;
        once(&mut options.cache, cache)
    } else if at.accept("cycle") {
        once(&mut options.cycle, true)
    } else if at.accept("owned") {
        at.expect("by")?;
        let mut names = vec![at.name()?];
        while at.accept_sign(".") {
            names.push(at.name()?);
        }
        let none = names.len() == 1 && names[0] == "none";
        once(&mut options.owned_by, if none { Vec::new() } else { names })
    } else if at.accept("no") {
        if at.accept("minvalue") {
            once(&mut options.min, None)
        } else if at.accept("maxvalue") {
            once(&mut options.max, None)
        } else {
            at.expect("cycle")?;
            once(&mut options.cycle, false)
        }
    } else {
        Err(at.unexpected())
    }
}

fn once<T>(option: &mut Option<T>, value: T) -> Result<()> {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(SqlError::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options")),
    }
}

/// A number, perhaps with a sign.
fn number(at: &mut Cursor<'_>) -> Result<i64> {
    let minus = at.accept_sign("-");
    let _ = !minus && at.accept_sign("+");
    let token = at.ahead.filter(|token| token.kind == Kind::Number).ok_or_else(|| at.unexpected())?;
    let digits = token.of(at.text);
    at.next();
    let text = if minus { format!("-{digits}") } else { digits.to_owned() };
    text.parse()
        .map_err(|_| SqlError::out_of_range(format!("value \"{text}\" is out of range for type bigint")))
}
