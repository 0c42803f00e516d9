//! Cursors: their declarations, OPEN, FETCH, MOVE, CLOSE, and FOR over one.

use super::super::lex::{Kind, name_of};
use super::block::Parser;
use super::step::no_variable;
use super::{
    BoundCursor, Count, Declaration, DeclaredType, Direction, Movement, Opened, Sql, Step, Target, VariableId,
};
use scaledb_types::{Result, SqlError, SqlState, Type};

impl Parser<'_> {
    /// Whether what is next in a declaration is a cursor with its query: SCROLL, NO SCROLL or neither, which is read.
    pub(super) fn declares_cursor(&mut self) -> Option<Option<bool>> {
        let text = self.at.text;
        let mut behind = self.at.behind();
        let mut follows = |word: &str| behind.next().is_some_and(|token| token.is(text, word));
        if self.next_is(&["cursor"]) {
            self.at.next();
            return Some(None);
        }
        if self.next_is(&["scroll"]) && follows("cursor") {
            self.at.next();
            self.at.next();
            return Some(Some(true));
        }
        if self.next_is(&["no"]) && follows("scroll") && follows("cursor") {
            for _ in 0..3 {
                self.at.next();
            }
            return Some(Some(false));
        }
        None
    }

    /// A declaration behind CURSOR.
    pub(super) fn bound_cursor(&mut self, name: String, scroll: Option<bool>) -> Result<VariableId> {
        // what it is called if nobody gives it another name
        let own = format!("'{}'", name.replace('\'', "''"));
        let outer = self.open(None);
        let mut parameters = Vec::new();
        if self.at.accept_sign("(") {
            loop {
                let parameter = self.at.name()?;
                let ty = self.declared_type(true)?;
                parameters.push(self.declare(&parameter, ty));
                if !self.at.accept_sign(",") {
                    break;
                }
            }
            self.at.expect_sign(")")?;
        }
        if !self.at.accept("for") {
            self.at.expect("is")?;
        }
        let text = self.until(&[])?;
        let query = self.sql_statement(text);
        self.close(outer);
        self.at.expect_sign(";")?;
        let default = Some(self.sql(own));
        let cursor = Some(Box::new(BoundCursor { parameters, query, scroll }));
        let ty = DeclaredType::Known(Type::REFCURSOR);
        Ok(self.add(Declaration { name, ty, constant: false, not_null: false, default, cursor }))
    }

    /// A variable that is a cursor, as far as its declaration says.
    pub(super) fn cursor_variable(&mut self) -> Result<VariableId> {
        let Target { variable, field, element } = self.target()?;
        match self.is_cursor(variable) && field.is_none() && element.is_empty() {
            true => Ok(variable),
            false => {
                let name = &self.declaration(variable).name;
                let what = format!("variable \"{name}\" must be of type cursor or refcursor");
                Err(SqlError::new(SqlState::DATATYPE_MISMATCH, what))
            }
        }
    }

    fn is_cursor(&self, variable: VariableId) -> bool {
        let mut declaration = self.declaration(variable);
        while let DeclaredType::LikeVariable(of) = declaration.ty {
            declaration = self.declaration(of);
        }
        match &declaration.ty {
            DeclaredType::Known(ty) => *ty == Type::REFCURSOR,
            DeclaredType::Named(text) => {
                let text = text.to_ascii_lowercase();
                text.strip_prefix("pg_catalog.").unwrap_or(&text) == "refcursor"
            }
            _ => false,
        }
    }

    /// SCROLL and NO SCROLL, or neither.
    fn scroll(&mut self) -> Result<Option<bool>> {
        if self.at.accept("no") {
            self.at.expect("scroll")?;
            return Ok(Some(false));
        }
        Ok(self.at.accept("scroll").then_some(true))
    }

    /// What is behind OPEN.
    pub(super) fn open_cursor(&mut self) -> Result<Step> {
        let cursor = self.cursor_variable()?;
        if self.declaration(cursor).cursor.is_some() {
            let arguments = self.arguments_of(cursor)?;
            return Ok(Step::Open { cursor, opened: Opened::Bound(arguments) });
        }
        let scroll = self.scroll()?;
        self.at.expect("for")?;
        let query = self.query(&[])?;
        Ok(Step::Open { cursor, opened: Opened::Query { query, scroll } })
    }

    /// The values of the parameters of a cursor that has a query.
    fn arguments_of(&mut self, cursor: VariableId) -> Result<Vec<(VariableId, Sql)>> {
        let Declaration { name, cursor: bound, .. } = self.declaration(cursor);
        let wrong = |what: String| Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        let (name, parameters) =
            (name.clone(), bound.as_ref().map(|bound| bound.parameters.clone()).unwrap_or_default());
        let given = self.at.accept_sign("(");
        match (parameters.is_empty(), given) {
            (true, true) => return wrong(format!("cursor \"{name}\" has no arguments")),
            (true, false) => return Ok(Vec::new()),
            (false, false) => return wrong(format!("cursor \"{name}\" has arguments")),
            (false, true) => {}
        }
        let mut arguments: Vec<(VariableId, Sql)> = Vec::with_capacity(parameters.len());
        for number in 0..parameters.len() {
            let parameter = match self.named_argument()? {
                Some(named) => {
                    let known = parameters.iter().find(|known| self.declaration(**known).name == named);
                    match known {
                        Some(known) => *known,
                        None => {
                            return wrong(format!("cursor \"{name}\" has no argument named \"{named}\""));
                        }
                    }
                }
                None => parameters[number],
            };
            if arguments.iter().any(|(known, _)| *known == parameter) {
                let twice = &self.declaration(parameter).name;
                let what =
                    format!("value for parameter \"{twice}\" of cursor \"{name}\" specified more than once");
                return wrong(what);
            }
            let value = self.expression(&[",", ")"])?;
            arguments.push((parameter, value));
            let more = self.at.accept_sign(",");
            if !more && number + 1 < parameters.len() {
                return wrong(format!("not enough arguments for cursor \"{name}\""));
            }
            if more && number + 1 == parameters.len() {
                return wrong(format!("too many arguments for cursor \"{name}\""));
            }
        }
        self.at.expect_sign(")")?;
        Ok(arguments)
    }

    /// The name in `name := value`, which is read up to the value.
    fn named_argument(&mut self) -> Result<Option<String>> {
        let text = self.at.text;
        let sign = self.at.behind().next().filter(|token| token.kind == Kind::Operator);
        let Some(sign) = sign.filter(|sign| sign.of(text).starts_with(":=")) else {
            return Ok(None);
        };
        let name = self.at.name()?;
        self.at.go_to(sign.start + 2);
        Ok(Some(name))
    }

    /// What is behind FETCH or MOVE.
    pub(super) fn fetch(&mut self, moves: bool) -> Result<Step> {
        let (movement, several) = self.movement()?;
        let cursor = self.cursor_variable()?;
        if moves {
            return Ok(Step::Move { cursor, movement });
        }
        if several {
            return Err(SqlError::unsupported("FETCH statement cannot return multiple rows"));
        }
        self.at.expect("into")?;
        Ok(Step::Fetch { cursor, movement, targets: self.targets()? })
    }

    /// Where FETCH goes, up to the cursor, and whether that may be several rows.
    fn movement(&mut self) -> Result<(Movement, bool)> {
        let one = |direction, number| Movement { direction, count: Count::Number(number) };
        let next = self.at.ahead.and_then(|token| name_of(token, self.at.text));
        let is_variable = next.is_some_and(|name| self.variable_named(&name).is_some());
        let (movement, several) = if self.at.accept("next") {
            (one(Direction::Forward, 1), false)
        } else if self.at.accept("prior") {
            (one(Direction::Backward, 1), false)
        } else if self.at.accept("first") {
            (one(Direction::Absolute, 1), false)
        } else if self.at.accept("last") {
            (one(Direction::Absolute, -1), false)
        } else if self.at.accept("absolute") {
            (Movement { direction: Direction::Absolute, count: self.count()? }, false)
        } else if self.at.accept("relative") {
            (Movement { direction: Direction::Relative, count: self.count()? }, false)
        } else if self.at.accept("all") {
            (Movement { direction: Direction::Forward, count: Count::All }, true)
        } else if self.at.accept("forward") {
            self.so_many(Direction::Forward)?
        } else if self.at.accept("backward") {
            self.so_many(Direction::Backward)?
        } else if self.next_is(&["from", "in"]) {
            (one(Direction::Forward, 1), false)
        } else if is_variable {
            return Ok((one(Direction::Forward, 1), false));
        } else {
            (Movement { direction: Direction::Forward, count: self.count()? }, true)
        };
        if !self.at.accept("from") && !self.at.accept("in") {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "expected FROM or IN"));
        }
        Ok((movement, several))
    }

    /// What may be behind FORWARD and BACKWARD.
    fn so_many(&mut self, direction: Direction) -> Result<(Movement, bool)> {
        if self.next_is(&["from", "in"]) {
            return Ok((Movement { direction, count: Count::Number(1) }, false));
        }
        let count = if self.at.accept("all") { Count::All } else { self.count()? };
        Ok((Movement { direction, count }, true))
    }

    fn count(&mut self) -> Result<Count> {
        Ok(Count::Computed(self.expression(&["from", "in"])?))
    }

    /// Whether what is behind FOR is `row IN cursor`.
    pub(super) fn is_over_cursor(&self) -> bool {
        let text = self.at.text;
        let mut tokens = self.at.ahead.into_iter().chain(self.at.behind());
        let ends = tokens.find(|token| token.kind == Kind::Semicolon || token.is(text, "in"));
        if ends.is_none_or(|token| token.kind == Kind::Semicolon) {
            return false;
        }
        let name = tokens.next().and_then(|token| name_of(token, text));
        let follows = tokens.next().is_some_and(|token| token.is(text, "loop") || token.is_sign(text, "("));
        let variable = name.and_then(|name| self.variable_named(&name));
        follows && variable.is_some_and(|variable| self.is_cursor(variable))
    }

    /// FOR over a cursor, behind FOR.
    pub(super) fn for_cursor(&mut self, label: Option<String>) -> Result<Step> {
        let wrong = |what: &str| Err(SqlError::new(SqlState::SYNTAX_ERROR, what.to_owned()));
        let name = self.at.name()?;
        if self.at.ahead.is_some_and(|token| token.is_sign(self.at.text, ",")) {
            return wrong("cursor FOR loop must have only one target variable");
        }
        self.at.expect("in")?;
        let cursor = self.at.name()?;
        let cursor = self.variable_named(&cursor).ok_or_else(|| no_variable(&cursor))?;
        if self.declaration(cursor).cursor.is_none() {
            return wrong("cursor FOR loop must use a bound cursor variable");
        }
        let arguments = self.arguments_of(cursor)?;
        self.at.expect("loop")?;
        // the row is a variable of the loop, whatever is outside of it
        let variable = self.declare(&name, DeclaredType::Record);
        let record = Target { variable, field: None, element: Vec::new() };
        Ok(Step::ForCursor { steps: self.rest_of_loop(label.as_deref())?, label, record, cursor, arguments })
    }
}
