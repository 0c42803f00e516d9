//! Advisory locks: numbers that applications agree upon.

use super::context::Context;
use scaledb_locks::{Mode, Tag};
use scaledb_types::{Result, SqlState, Value};

/// What a function of this file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    mode: Mode,
    does: Does,
    /// Until the end of the transaction.
    transaction: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Take,
    Try,
    GiveBack,
}

/// The function of a name; `None` if it is none of these.
fn parse(name: &str) -> Option<Call> {
    let rest = name.strip_prefix("pg_")?;
    let (does, rest) = match rest.strip_prefix("try_") {
        Some(rest) => (Does::Try, rest.strip_prefix("advisory_")?),
        None => (Does::Take, rest.strip_prefix("advisory_")?),
    };
    let (does, rest) = match rest.strip_prefix("unlock") {
        Some(rest) => (Does::GiveBack, rest),
        None => (does, rest),
    };
    let (transaction, rest) = match rest.strip_prefix("xact_") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let rest = if does == Does::GiveBack { rest } else { rest.strip_prefix("lock")? };
    let mode = match rest {
        "" => Mode::Exclusive,
        "_shared" => Mode::Share,
        _ => return None,
    };
    Some(Call { mode, does, transaction })
}

/// Calls a function; `None` if it is none of these.
pub(crate) fn call(context: &Context<'_>, name: &str, args: &[Value]) -> Option<Result<Value>> {
    if !name.contains("advisory") {
        return None;
    }
    if name == "pg_advisory_unlock_all" {
        context.host.give_locks_back();
        return Some(Ok(Value::text("")));
    }
    let Call { mode, does, transaction } = parse(name)?;
    let tag = match args {
        [Value::Int8(key)] => Tag::Advisory { key: *key as u64, pair: false },
        [Value::Int4(a), Value::Int4(b)] => {
            Tag::Advisory { key: u64::from(*a as u32) << 32 | u64::from(*b as u32), pair: true }
        }
        // the functions are strict: a NULL argument makes them NULL
        _ => return Some(Ok(Value::Null)),
    };
    Some(match does {
        Does::GiveBack => {
            let released = context.host.give_lock_back(tag, mode);
            if !released {
                let what = format!("you don't own a lock of type {}", mode.name());
                context.host.warn(SqlState::WARNING, &what);
            }
            Ok(Value::Bool(released))
        }
        Does::Try if transaction => context.host.take_lock(tag, mode).map(Value::Bool),
        Does::Try => context.host.keep_lock(tag, mode).map(Value::Bool),
        Does::Take => {
            let taken = match transaction {
                true => context.host.take_lock(tag, mode),
                false => context.host.keep_lock(tag, mode),
            };
            match taken {
                Ok(true) => Ok(()),
                Ok(false) => context.wait_or_give_up(tag, mode, !transaction),
                Err(error) => Err(error),
            }
            .map(|()| Value::text(""))
        }
    })
}
