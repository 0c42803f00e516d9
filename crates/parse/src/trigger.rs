//! CREATE TRIGGER and DROP TRIGGER.

use super::cursor::{Cursor, parenthesized};
use super::lex::text_of;
use super::routine::{Name, name};
use scaledb_catalog::{TriggerEvents, TriggerTiming};
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
    if at.accept("constraint") {
        return Err(SqlError::unsupported("constraint triggers are not supported"));
    }
    at.expect("trigger")?;
    let name = at.name()?;
    let timing = if at.accept("before") {
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
    if at.accept("from") || at.accept("deferrable") || at.accept("initially") {
        return Err(SqlError::unsupported("constraint triggers are not supported"));
    }
    if at.accept("referencing") {
        return Err(SqlError::unsupported("REFERENCING is not supported in CREATE TRIGGER"));
    }
    let mut for_each_row = false;
    if at.accept("for") {
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
        for_each_row,
        condition,
        function,
        arguments,
    })
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
