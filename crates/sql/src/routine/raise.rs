//! RAISE.

use super::interpret::Interpreter;
use super::runner::Runner;
use crate::api::Severity;
use scaledb_parse::plpgsql::{Level, Raise, RaiseOption, state_of, states_of};
use scaledb_types::{Result, SqlError, SqlState};

impl<R: Runner> Interpreter<'_, '_, R> {
    /// RAISE: tells the client something, or fails.
    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        let mut message = None;
        if let Some((parts, args)) = &raise.format {
            let mut text = parts[0].clone();
            for (arg, part) in args.iter().zip(&parts[1..]) {
                let value = self.text_of(arg)?;
                text.push_str(value.as_deref().unwrap_or("<NULL>"));
                text.push_str(part);
            }
            message = Some(text);
        }
        let mut state = raise.condition.as_ref().map(|(state, _)| *state);
        let mut error = SqlError::new(SqlState::RAISE_EXCEPTION, "");
        for (option, value) in &raise.options {
            let Some(text) = self.text_of(value)? else {
                let what = "RAISE statement option cannot be null";
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
            };
            let twice = |name: &str| {
                Err(SqlError::new(SqlState::SYNTAX_ERROR, format!("RAISE option already specified: {name}")))
            };
            let fields = error.fields_mut();
            match option {
                RaiseOption::Message if message.is_some() => return twice("MESSAGE"),
                RaiseOption::Message => message = Some(text),
                RaiseOption::Errcode if state.is_some() => return twice("ERRCODE"),
                RaiseOption::Errcode => {
                    let named = state_of(&text).or_else(|| states_of(&text).first().copied());
                    state = Some(named.ok_or_else(|| {
                        let what = format!("unrecognized exception condition \"{text}\"");
                        SqlError::new(SqlState::UNDEFINED_OBJECT, what)
                    })?);
                }
                RaiseOption::Detail => fields.detail = Some(text),
                RaiseOption::Hint => fields.hint = Some(text),
                RaiseOption::Column => fields.column = Some(text),
                RaiseOption::Constraint => fields.constraint = Some(text),
                RaiseOption::Datatype => fields.data_type = Some(text),
                RaiseOption::Table => fields.table = Some(text),
                RaiseOption::Schema => fields.schema = Some(text),
            }
        }
        let named = raise.condition.as_ref().map(|(_, name)| name.clone());
        let unnamed = || state.map(|state| state.as_str().to_owned());
        let message = message.or(named).or_else(unnamed).unwrap_or_else(|| "unhandled exception".to_owned());
        let (severity, default) = match raise.level {
            Level::Exception => {
                let fields = error.fields_mut();
                fields.code = state.unwrap_or(SqlState::RAISE_EXCEPTION);
                fields.message = message.into();
                return Err(error);
            }
            Level::Warning => (Severity::Warning, SqlState::WARNING),
            Level::Notice => (Severity::Notice, SqlState::SUCCESSFUL_COMPLETION),
            Level::Info => (Severity::Info, SqlState::SUCCESSFUL_COMPLETION),
            Level::Log => (Severity::Log, SqlState::SUCCESSFUL_COMPLETION),
            Level::Debug => (Severity::Debug, SqlState::SUCCESSFUL_COMPLETION),
        };
        let fields = error.fields_mut();
        fields.code = state.unwrap_or(default);
        fields.message = message.into();
        self.runner.notice(severity, error);
        Ok(())
    }
}
