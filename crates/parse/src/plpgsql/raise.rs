//! RAISE.

use super::super::lex::Kind;
use super::block::{Parser, no_condition};
use super::conditions::states_of;
use super::{Level, Raise, RaiseOption, Step, literal};
use scaledb_types::{Result, SqlError, SqlState};

impl Parser<'_> {
    /// What is behind RAISE.
    pub(super) fn raise(&mut self) -> Result<Step> {
        let ends = |parser: &Self| parser.at.ahead.is_none_or(|token| token.kind == Kind::Semicolon);
        if ends(self) {
            return Ok(Step::Reraise);
        }
        let levels = [
            ("debug", Level::Debug),
            ("log", Level::Log),
            ("info", Level::Info),
            ("notice", Level::Notice),
            ("warning", Level::Warning),
            ("exception", Level::Exception),
        ];
        let level = levels.into_iter().find(|(word, _)| self.at.accept(word));
        let level = level.map_or(Level::Exception, |(_, level)| level);
        let mut raise = Raise { level, format: None, condition: None, options: Vec::new() };
        let format = literal(&self.at);
        if let Some(format) = format {
            self.at.next();
            let mut args = Vec::new();
            while self.at.accept_sign(",") {
                args.push(self.expression(&[",", "using"])?);
            }
            // %% is a percent sign
            let parts = format.replace("%%", "\0");
            let parts: Vec<String> = parts.split('%').map(|part| part.replace('\0', "%")).collect();
            let what = match (parts.len() - 1).cmp(&args.len()) {
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Less => Some("too many parameters specified for RAISE"),
                std::cmp::Ordering::Greater => Some("too few parameters specified for RAISE"),
            };
            if let Some(what) = what {
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            raise.format = Some((parts, args));
        } else if self.at.accept("sqlstate") {
            let state = self.state_literal()?;
            raise.condition = Some((state, state.as_str().to_owned()));
        } else if !ends(self) && !self.next_is(&["using"]) {
            let name = self.at.name()?;
            let state = states_of(&name).first().copied().ok_or_else(|| no_condition(&name))?;
            raise.condition = Some((state, name));
        }
        if self.at.accept("using") {
            loop {
                let name = self.at.name()?;
                let option = match name.as_str() {
                    "message" => RaiseOption::Message,
                    "detail" => RaiseOption::Detail,
                    "hint" => RaiseOption::Hint,
                    "errcode" => RaiseOption::Errcode,
                    "column" => RaiseOption::Column,
                    "constraint" => RaiseOption::Constraint,
                    "datatype" => RaiseOption::Datatype,
                    "table" => RaiseOption::Table,
                    "schema" => RaiseOption::Schema,
                    _ => {
                        let what = format!("unrecognized RAISE statement option: \"{name}\"");
                        return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                    }
                };
                if !self.accept_assignment() {
                    return Err(self.at.unexpected());
                }
                let value = self.expression(&[","])?;
                raise.options.push((option, value));
                if !self.at.accept_sign(",") {
                    break;
                }
            }
        }
        Ok(Step::Raise(Box::new(raise)))
    }
}
