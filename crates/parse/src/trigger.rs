//! CREATE TRIGGER and DROP TRIGGER.

use super::cursor::{Cursor, parenthesized};
use super::lex::text_of;
use super::routine::{Name, name};
use scaledb_catalog::{Initially, TriggerEvents, TriggerTiming};
use scaledb_types::{Result, SqlError, SqlState};

/// CREATE TRIGGER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateTrigger {
    pub replaces: bool,
    pub name: String,
    pub timing: TriggerTiming,
    pub events: TriggerEvents,
    /// Columns behind UPDATE OF.
    pub columns: Vec<String>,
    pub table: Name,
    /// Whether it is a constraint.
    pub is_constraint: bool,
    pub deferrable: Option<Initially>,
    /// The names of what it sees of all rows of a statement.
    pub old_table: Option<String>,
    pub new_table: Option<String>,
    pub for_each_row: bool,
    pub condition: Option<String>,
    pub function: Name,
    pub arguments: Vec<String>,
}

/// DROP TRIGGER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropTrigger {
    pub if_exists: bool,
    pub name: String,
    pub table: Name,
}

/// Whether a statement is CREATE or DROP of a trigger.
pub(super) fn is_about_triggers(text: &str) -> bool {
    let mut at = Cursor::new(text);
    at.next();
    if at.accept("or") {
        at.accept("replace");
    }
    at.accept("trigger") || at.accept("constraint") && at.accept("trigger")
}

/// What is behind CREATE.
pub(super) fn create(at: &mut Cursor<'_>) -> Result<CreateTrigger> {
    let replaces = at.accept("or");
    if replaces {
        at.expect("replace")?;
    }
    let is_constraint = at.accept("constraint");
    if is_constraint && replaces {
        return Err(SqlError::unsupported("CREATE OR REPLACE CONSTRAINT TRIGGER is not supported"));
    }
    at.expect("trigger")?;
    let name = at.name()?;
    let timing = if is_constraint {
        at.expect("after")?;
        TriggerTiming::After
    } else if at.accept("before") {
        TriggerTiming::Before
    } else if at.accept("instead") {
        at.expect("of")?;
        TriggerTiming::InsteadOf
    } else {
        at.expect("after")?;
        TriggerTiming::After
    };
    let (mut events, mut columns) = (TriggerEvents::default(), Vec::new());
    loop {
        if at.accept("insert") {
            events.insert = true;
        } else if at.accept("delete") {
            events.delete = true;
        } else if at.accept("truncate") {
            events.truncate = true;
        } else {
            at.expect("update")?;
            if std::mem::replace(&mut events.update, true) {
                let what = "duplicate trigger events specified";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            if at.accept("of") {
                columns = super::cursor::names(at, false)?;
            }
        }
        if !at.accept("or") {
            break;
        }
    }
    at.expect("on")?;
    let table = self::name(at)?;
    if is_constraint && at.accept("from") {
        return Err(SqlError::unsupported("FROM is not supported in CREATE CONSTRAINT TRIGGER"));
    }
    let deferrable = if is_constraint { deferrable(at)? } else { None };
    let (old_table, new_table) = if is_constraint { (None, None) } else { transitions(at)? };
    let mut for_each_row = is_constraint;
    if is_constraint {
        at.expect("for")?;
        at.accept("each");
        at.expect("row")?;
    } else if at.accept("for") {
        at.accept("each");
        for_each_row = at.accept("row");
        if !for_each_row {
            at.expect("statement")?;
        }
    }
    let condition = if at.accept("when") { Some(parenthesized(at)?.trim().to_owned()) } else { None };
    at.expect("execute")?;
    if !at.accept("function") {
        at.expect("procedure")?;
    }
    let function = self::name(at)?;
    at.expect_sign("(")?;
    let mut arguments = Vec::new();
    while !at.accept_sign(")") {
        // what is no text means what it looks like
        let token = at.next().ok_or_else(|| at.unexpected())?;
        arguments.push(text_of(token, at.text).unwrap_or_else(|| token.of(at.text).to_owned()));
        if !at.accept_sign(",") {
            at.expect_sign(")")?;
            break;
        }
    }
    Ok(CreateTrigger {
        replaces,
        name,
        timing,
        events,
        columns,
        table,
        is_constraint,
        deferrable,
        old_table,
        new_table,
        for_each_row,
        condition,
        function,
        arguments,
    })
}

/// When a constraint trigger fires.
fn deferrable(at: &mut Cursor<'_>) -> Result<Option<Initially>> {
    let (mut deferrable, mut initially) = (None, None);
    let wrong = |what: &str| Err(SqlError::new(SqlState::SYNTAX_ERROR, what.to_owned()));
    loop {
        let is_not = at.accept("not");
        if is_not && at.accept("valid") {
            return Err(SqlError::unsupported("TRIGGER constraints cannot be marked NOT VALID"));
        } else if is_not || at.peek_word().is_some_and(|word| word.eq_ignore_ascii_case("deferrable")) {
            at.expect("deferrable")?;
            if deferrable.replace(!is_not).is_some_and(|before| before == is_not) {
                return wrong("conflicting constraint properties");
            }
        } else if at.accept("initially") {
            let when = match at.accept("deferred") {
                true => Initially::Deferred,
                false => at.expect("immediate").map(|()| Initially::Immediate)?,
            };
            if initially.replace(when).is_some_and(|before| before != when) {
                return wrong("conflicting constraint properties");
            }
        } else {
            break;
        }
    }
    match (deferrable, initially) {
        (Some(false), Some(Initially::Deferred)) => {
            wrong("constraint declared INITIALLY DEFERRED must be DEFERRABLE")
        }
        (Some(true), initially) => Ok(Some(initially.unwrap_or(Initially::Immediate))),
        (_, Some(Initially::Deferred)) => Ok(Some(Initially::Deferred)),
        _ => Ok(None),
    }
}

/// The names behind REFERENCING, of the rows as they were and as they are.
fn transitions(at: &mut Cursor<'_>) -> Result<(Option<String>, Option<String>)> {
    let mut names = (None, None);
    if !at.accept("referencing") {
        return Ok(names);
    }
    loop {
        let (name, word) = if at.accept("old") {
            (&mut names.0, "OLD")
        } else if at.accept("new") {
            (&mut names.1, "NEW")
        } else {
            return Err(at.unexpected());
        };
        if at.accept("row") {
            let what = "ROW variable naming in the REFERENCING clause is not supported";
            return Err(
                SqlError::unsupported(what).hint("Use OLD TABLE or NEW TABLE for naming transition tables.")
            );
        }
        at.expect("table")?;
        at.accept("as");
        if name.replace(at.name()?).is_some() {
            let what = format!("{word} TABLE cannot be specified multiple times");
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
        }
        let next = at.peek_word();
        if !next.is_some_and(|word| word.eq_ignore_ascii_case("old") || word.eq_ignore_ascii_case("new")) {
            break;
        }
    }
    Ok(names)
}

/// What is behind DROP.
pub(super) fn drop_trigger(at: &mut Cursor<'_>) -> Result<DropTrigger> {
    at.expect("trigger")?;
    let if_exists = at.accept("if");
    if if_exists {
        at.expect("exists")?;
    }
    let name = at.name()?;
    at.expect("on")?;
    let table = self::name(at)?;
    if !at.accept("cascade") {
        at.accept("restrict");
    }
    Ok(DropTrigger { if_exists, name, table })
}

/// ALTER TRIGGER .. RENAME TO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameTrigger {
    pub name: String,
    pub table: Name,
    pub to: String,
}

/// ALTER TABLE .. ENABLE or DISABLE TRIGGER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnableTriggers {
    pub table: Name,
    pub if_exists: bool,
    /// The trigger; all if none is named.
    pub name: Option<String>,
    /// Whether foreign keys are meant, too: ALL.
    pub references: bool,
    pub enabled: bool,
    /// Whether they fire where rows of another server are applied, too: ALWAYS.
    pub always: bool,
}

/// What is behind ALTER.
pub(super) fn rename_trigger(at: &mut Cursor<'_>) -> Result<RenameTrigger> {
    at.expect("trigger")?;
    let name = at.name()?;
    at.expect("on")?;
    let table = self::name(at)?;
    at.expect("rename")?;
    at.expect("to")?;
    Ok(RenameTrigger { name, table, to: at.name()? })
}

/// Whether a statement is ALTER TABLE .. ENABLE or DISABLE TRIGGER.
pub(super) fn enables_triggers(text: &str) -> bool {
    let mut at = Cursor::new(text);
    at.next();
    at.accept("table") && enable_triggers_of(&mut at).is_some()
}

/// What is behind ALTER.
pub(super) fn enable_triggers(at: &mut Cursor<'_>) -> Result<EnableTriggers> {
    at.expect("table")?;
    enable_triggers_of(at).ok_or_else(|| at.unexpected())
}

fn enable_triggers_of(at: &mut Cursor<'_>) -> Option<EnableTriggers> {
    let if_exists = at.accept("if");
    if if_exists && !at.accept("exists") {
        return None;
    }
    at.accept("only");
    let table = self::name(at).ok()?;
    let enabled = at.accept("enable");
    if !enabled && !at.accept("disable") {
        return None;
    }
    let always = enabled && at.accept("always");
    if !at.accept("trigger") {
        return None;
    }
    let all = at.accept("all");
    let name = if all || at.accept("user") { None } else { Some(at.name().ok()?) };
    Some(EnableTriggers { table, if_exists, name, references: all, enabled, always })
}
