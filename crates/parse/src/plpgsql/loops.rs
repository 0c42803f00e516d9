//! Labels, loops, and what leaves them.

use super::super::lex::{Kind, Lexer};
use super::block::Parser;
use super::{DeclaredType, Line, Range, Step};
use scaledb_types::{Result, SqlError, SqlState, Type};

impl Parser<'_> {
    /// What may have a label: a block or a loop.
    pub(super) fn labelled(&mut self) -> Result<Option<Step>> {
        let label = self.label()?;
        let is = |parser: &Self, word: &str| parser.next_is(&[word]);
        if is(self, "begin") || is(self, "declare") {
            return Ok(Some(Step::Block(self.block(label)?)));
        }
        let word = ["loop", "while", "for", "foreach"].into_iter().find(|word| is(self, word));
        let Some(word) = word else {
            return if label.is_none() { Ok(None) } else { Err(self.at.unexpected()) };
        };
        self.at.next();
        self.deeper(|parser| {
            let outer = parser.open(label.clone());
            let step = match word {
                "loop" => Step::Loop { steps: parser.rest_of_loop(label.as_deref())?, label },
                "while" => {
                    let condition = parser.expression(&["loop"])?;
                    parser.at.expect("loop")?;
                    Step::While { condition, steps: parser.rest_of_loop(label.as_deref())?, label }
                }
                "for" => parser.for_loop(label)?,
                _ => parser.for_each(label)?,
            };
            parser.close(outer);
            Ok(Some(step))
        })
    }

    /// What is behind LOOP, its END LOOP included.
    pub(super) fn rest_of_loop(&mut self, label: Option<&str>) -> Result<Vec<Line>> {
        self.loops.push(label.map(str::to_owned));
        let steps = self.steps(&["end"])?;
        self.loops.pop();
        self.at.expect("end")?;
        self.at.expect("loop")?;
        self.end_label(label)?;
        Ok(steps)
    }

    fn for_loop(&mut self, label: Option<String>) -> Result<Step> {
        if let Some(end) = self.range_ends() {
            let name = self.at.name()?;
            self.at.expect("in")?;
            let reverse = self.at.accept("reverse");
            let from = self.at.ahead.map_or(self.at.text.len(), |token| token.start);
            let text = self.at.text[from..end.min(self.at.text.len())].trim().to_owned();
            if text.is_empty() {
                return Err(self.at.unexpected());
            }
            let from = self.sql_of(&text);
            self.at.go_to(end + 2);
            let to = self.expression(&["by", "loop"])?;
            let by = if self.at.accept("by") { Some(self.expression(&["loop"])?) } else { None };
            self.at.expect("loop")?;
            // the bounds are outside of its scope
            let variable = self.declare(&name, DeclaredType::Known(Type::INT4));
            let range = Range { variable, from, to, by, reverse };
            return Ok(Step::ForRange { steps: self.rest_of_loop(label.as_deref())?, label, range });
        }
        if self.is_over_cursor() {
            return self.for_cursor(label);
        }
        let mut targets = vec![self.loop_target()?];
        while self.at.accept_sign(",") {
            targets.push(self.loop_target()?);
        }
        self.at.expect("in")?;
        let query = self.query(&["loop"])?;
        self.at.expect("loop")?;
        Ok(Step::ForQuery { steps: self.rest_of_loop(label.as_deref())?, label, targets, query })
    }

    fn loop_target(&mut self) -> Result<super::Target> {
        let known = self.at.ahead.and_then(|token| super::super::lex::name_of(token, self.at.text));
        let known = known.is_some_and(|name| self.variable_named(&name).is_some() || self.has_label(&name));
        if !known {
            let what =
                "loop variable of loop over rows must be a record variable or list of scalar variables";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let target = self.target()?;
        self.refuse_constant(&target)?;
        Ok(target)
    }

    /// Where the two points of `a .. b` stand, if a FOR has them before its LOOP.
    fn range_ends(&self) -> Option<usize> {
        let (text, start) = (self.at.text, self.at.ahead?.start);
        let mut depth = 0usize;
        for token in Lexer::starting_at(text, start) {
            match token.kind {
                Kind::Semicolon | Kind::Open => return None,
                _ if token.is(text, "loop") => return None,
                Kind::Punct if depth == 0 && token.of(text) == "." && text[token.end..].starts_with('.') => {
                    return Some(token.start);
                }
                Kind::Punct => match token.of(text) {
                    "(" | "[" => depth += 1,
                    ")" | "]" => depth = depth.saturating_sub(1),
                    _ => {}
                },
                _ => {}
            }
        }
        None
    }

    fn for_each(&mut self, label: Option<String>) -> Result<Step> {
        let target = self.target()?;
        let mut slice = 0;
        if self.at.accept("slice") {
            let number = self.at.ahead.and_then(|token| token.of(self.at.text).parse().ok());
            slice = number.ok_or_else(|| self.at.unexpected())?;
            self.at.next();
        }
        self.at.expect("in")?;
        self.at.expect("array")?;
        let array = self.expression(&["loop"])?;
        self.at.expect("loop")?;
        Ok(Step::ForEach { steps: self.rest_of_loop(label.as_deref())?, label, target, slice, array })
    }

    /// What is behind EXIT or CONTINUE.
    pub(super) fn exit(&mut self, continues: bool) -> Result<Step> {
        let has_label =
            self.at.ahead.is_some_and(|token| token.kind != Kind::Semicolon) && !self.next_is(&["when"]);
        let label = if has_label { Some(self.at.name()?) } else { None };
        if let Some(label) = &label
            && !self.has_label(label)
        {
            let what = format!(
                "there is no label \"{label}\" attached to any block or loop enclosing this statement"
            );
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let word = if continues { "CONTINUE" } else { "EXIT" };
        let refused = match &label {
            None if self.loops.is_empty() && continues => {
                Some(format!("{word} cannot be used outside a loop"))
            }
            None if self.loops.is_empty() => {
                Some(format!("{word} cannot be used outside a loop, unless it has a label"))
            }
            Some(label) if continues && !self.loops.contains(&Some(label.clone())) => {
                Some(format!("block label \"{label}\" cannot be used in {word}"))
            }
            _ => None,
        };
        if let Some(refused) = refused {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, refused));
        }
        let when = if self.at.accept("when") { Some(self.expression(&[])?) } else { None };
        Ok(Step::Exit { label, when, continues })
    }
}
