//! What is wrong with a body that can be seen before it runs.

use super::{Loaded, Returns, Slot};
use scaledb_parse::plpgsql::{Block, Line, Return, Step, Target};
use scaledb_types::{Result, SqlError, SqlState};

/// Looks at the RETURNs of a body, and at what GET DIAGNOSTICS assigns to.
///
/// # Errors
/// 42804 for a RETURN that does not fit what the routine returns; 42601 for one without a value, and for a row that is
/// to be assigned to.
pub(super) fn returns(loaded: &Loaded) -> Result<()> {
    block(loaded, &loaded.program.block)
}

fn block(loaded: &Loaded, block: &Block) -> Result<()> {
    steps(loaded, &block.steps)?;
    block.handlers.iter().try_for_each(|handler| steps(loaded, &handler.steps))
}

fn steps(loaded: &Loaded, lines: &[Line]) -> Result<()> {
    lines.iter().try_for_each(|line| step(loaded, &line.step))
}

fn step(loaded: &Loaded, step: &Step) -> Result<()> {
    match step {
        Step::Block(inner) => block(loaded, inner),
        Step::If { branches, otherwise } => {
            branches.iter().try_for_each(|(_, inner)| steps(loaded, inner))?;
            steps(loaded, otherwise)
        }
        Step::Case { branches, otherwise, .. } => {
            branches.iter().chain(otherwise).try_for_each(|inner| steps(loaded, inner))
        }
        Step::Loop { steps: inner, .. }
        | Step::While { steps: inner, .. }
        | Step::ForRange { steps: inner, .. }
        | Step::ForQuery { steps: inner, .. }
        | Step::ForCursor { steps: inner, .. }
        | Step::ForEach { steps: inner, .. } => steps(loaded, inner),
        Step::Return(returned) => check(loaded, returned),
        Step::ReturnNext(_) if !loaded.set => Err(mismatch("cannot use RETURN NEXT in a non-SETOF function")),
        Step::ReturnNext(returned) => next(loaded, returned),
        Step::ReturnQuery(_) if !loaded.set => {
            Err(mismatch("cannot use RETURN QUERY in a non-SETOF function"))
        }
        Step::Diagnostics { items, .. } => items.iter().try_for_each(|(target, _)| scalar(loaded, target)),
        _ => Ok(()),
    }
}

fn scalar(loaded: &Loaded, target: &Target) -> Result<()> {
    match loaded.places[target.variable] {
        Slot::Row { .. } | Slot::Record(_) if target.field.is_none() => {
            let name = &loaded.program.variables[target.variable].name;
            let what = format!("\"{name}\" is not a scalar variable");
            Err(SqlError::new(SqlState::SYNTAX_ERROR, what))
        }
        _ => Ok(()),
    }
}

fn check(loaded: &Loaded, returned: &Return) -> Result<()> {
    let plain = matches!(returned, Return::Plain);
    let by_parameters = matches!(loaded.returns, Returns::Value(_, Some(_)) | Returns::Row(_, Some(_)));
    match &loaded.returns {
        _ if loaded.set && !plain => {
            Err(mismatch("RETURN cannot have a parameter in function returning set")
                .hint("Use RETURN NEXT or RETURN QUERY."))
        }
        _ if loaded.set => Ok(()),
        _ if by_parameters && !plain => {
            Err(mismatch("RETURN cannot have a parameter in function with OUT parameters"))
        }
        Returns::Nothing if !plain => {
            Err(mismatch("RETURN cannot have a parameter in function returning void"))
        }
        Returns::Nothing => Ok(()),
        _ if plain && !by_parameters => {
            Err(SqlError::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\""))
        }
        _ => Ok(()),
    }
}

fn next(loaded: &Loaded, returned: &Return) -> Result<()> {
    let plain = matches!(returned, Return::Plain);
    let by_parameters = matches!(loaded.returns, Returns::Value(_, Some(_)) | Returns::Row(_, Some(_)));
    match (by_parameters, plain) {
        (true, false) => Err(mismatch("RETURN NEXT cannot have a parameter in function with OUT parameters")),
        (false, true) => Err(SqlError::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\"")),
        _ => Ok(()),
    }
}

#[cold]
fn mismatch(what: &'static str) -> SqlError {
    SqlError::new(SqlState::DATATYPE_MISMATCH, what)
}
