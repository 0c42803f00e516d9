//! Blocks, declarations and handlers.

use super::super::cursor::Cursor;
use super::super::lex::{Kind, name_of, text_of};
use super::conditions::states_of;
use super::{
    Block, Condition, Declaration, DeclaredType, Handler, NameConflicts, Program, Scope, ScopeId, Sql,
    VariableId,
};
use scaledb_types::{Result, SqlError, SqlState, Type};

/// How deep statements are in each other at most.
const MAX_NESTING: usize = 64;

/// Reads a body from left to right.
pub(super) struct Parser<'a> {
    pub(super) at: Cursor<'a>,
    variables: Vec<Declaration>,
    scopes: Vec<Scope>,
    scope: Option<ScopeId>,
    pieces: usize,
    depth: usize,
    /// The labels of the loops around, the innermost last.
    pub(super) loops: Vec<Option<String>>,
    /// The line of a byte of the text, for those that ask from left to right.
    line: (usize, u32),
    /// Whether pieces of SQL are read, and the first mistake in one.
    checks: bool,
    pub(super) wrong: Option<SqlError>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(body: &'a str) -> Self {
        Self {
            at: Cursor::new(body),
            variables: Vec::new(),
            scopes: Vec::new(),
            scope: None,
            pieces: 0,
            depth: 0,
            loops: Vec::new(),
            line: (0, 1),
            checks: false,
            wrong: None,
        }
    }

    /// One that reads the pieces of SQL, too.
    pub(super) fn checking(body: &'a str) -> Self {
        Self { checks: true, ..Self::new(body) }
    }

    pub(super) fn finish(self, block: Block) -> Program {
        let Self { variables, scopes, pieces, .. } = self;
        Program { block, variables, scopes, pieces, ..Program::default() }
    }

    /// What lines in front of the block say that begin with `#`.
    pub(super) fn options(&mut self) -> Result<Option<NameConflicts>> {
        let mut conflicts = None;
        while self.at.accept_sign("#") {
            let option = self.at.name()?;
            let value = self.at.name()?;
            conflicts = match (option.as_str(), value.as_str()) {
                ("variable_conflict", "error") => Some(NameConflicts::Refused),
                ("variable_conflict", "use_column") => Some(NameConflicts::Column),
                ("variable_conflict", "use_variable") => Some(NameConflicts::Variable),
                ("print_strict_params", "on" | "off") => conflicts,
                _ => {
                    let what = format!("unrecognized option \"{option} {value}\"");
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                }
            };
        }
        Ok(conflicts)
    }

    /// The line that the next token is in.
    pub(super) fn line(&mut self) -> u32 {
        let to = self.at.ahead.map_or(self.at.text.len(), |token| token.start);
        let (from, line) = self.line;
        if to > from {
            let more = self.at.text.as_bytes()[from..to].iter().filter(|&&b| b == b'\n').count();
            self.line = (to, line + more as u32);
        }
        self.line.1
    }

    /// Runs `f` one level deeper.
    ///
    /// # Errors
    /// 54001.
    pub(super) fn deeper<R>(&mut self, f: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.depth >= MAX_NESTING {
            let what = format!("statements are nested deeper than {MAX_NESTING} levels");
            return Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, what));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Opens a scope within the one at hand, which is returned.
    pub(super) fn open(&mut self, label: Option<String>) -> Option<ScopeId> {
        let outer = self.scope.replace(self.scopes.len());
        self.scopes.push(Scope { outer, label, names: Vec::new() });
        outer
    }

    /// Goes back to a scope.
    pub(super) fn close(&mut self, outer: Option<ScopeId>) {
        self.scope = outer;
    }

    /// Adds a variable to the scope at hand.
    pub(super) fn declare(&mut self, name: &str, ty: DeclaredType) -> VariableId {
        let declaration = Declaration {
            name: name.to_owned(),
            ty,
            constant: false,
            not_null: false,
            default: None,
            cursor: None,
        };
        self.add(declaration)
    }

    pub(super) fn add(&mut self, declaration: Declaration) -> VariableId {
        let id = self.variables.len();
        if let Some(scope) = self.scope
            && !declaration.name.is_empty()
        {
            self.scopes[scope].names.push((declaration.name.clone(), id));
        }
        self.variables.push(declaration);
        id
    }

    /// The variable of a name, in the scopes around.
    pub(super) fn variable_named(&self, name: &str) -> Option<VariableId> {
        let mut scope = self.scope;
        while let Some(id) = scope {
            let Scope { outer, names, .. } = &self.scopes[id];
            if let Some((_, found)) = names.iter().rev().find(|(known, _)| known == name) {
                return Some(*found);
            }
            scope = *outer;
        }
        None
    }

    /// The variable of a name behind a label.
    pub(super) fn variable_behind(&self, label: &str, name: &str) -> Option<VariableId> {
        let mut scope = self.scope;
        while let Some(id) = scope {
            let Scope { outer, label: own, names } = &self.scopes[id];
            if own.as_deref() == Some(label) {
                return names.iter().rev().find(|(known, _)| known == name).map(|(_, found)| *found);
            }
            scope = *outer;
        }
        None
    }

    /// Whether a loop or block around has the label.
    pub(super) fn has_label(&self, label: &str) -> bool {
        let mut scope = self.scope;
        while let Some(id) = scope {
            if self.scopes[id].label.as_deref() == Some(label) {
                return true;
            }
            scope = self.scopes[id].outer;
        }
        false
    }

    pub(super) fn declaration(&self, id: VariableId) -> &Declaration {
        &self.variables[id]
    }

    /// An expression in the scope at hand.
    pub(super) fn sql(&mut self, text: impl Into<String>) -> Sql {
        let text = text.into();
        if self.checks && self.wrong.is_none() {
            let added = "SELECT ";
            self.wrong = mistake_in(&format!("{added}{text}"), added.len());
        }
        self.piece(text)
    }

    /// A statement in the scope at hand.
    pub(super) fn sql_statement(&mut self, text: impl Into<String>) -> Sql {
        let text = text.into();
        if self.checks && self.wrong.is_none() {
            self.wrong = mistake_in(&text, 0);
        }
        self.piece(text)
    }

    fn piece(&mut self, text: String) -> Sql {
        let scope = self.scope.unwrap_or(0);
        let visible = self.scopes.get(scope).map_or(0, |scope| scope.names.len());
        self.pieces += 1;
        Sql { text, number: self.pieces - 1, scope, visible }
    }

    /// `<<label>>`, if one is there.
    pub(super) fn label(&mut self) -> Result<Option<String>> {
        if !self.at.accept_sign("<<") {
            return Ok(None);
        }
        let label = self.at.name()?;
        self.at.expect_sign(">>")?;
        Ok(Some(label))
    }

    /// The label behind END, which must be the one at its begin.
    pub(super) fn end_label(&mut self, label: Option<&str>) -> Result<()> {
        if self.at.ahead.is_none_or(|token| token.kind == Kind::Semicolon) {
            return Ok(());
        }
        let name = self.at.name()?;
        let what = match label {
            Some(label) if label == name => return Ok(()),
            Some(label) => format!("end label \"{name}\" differs from block's label \"{label}\""),
            None => format!("end label \"{name}\" specified for unlabeled block"),
        };
        Err(SqlError::new(SqlState::SYNTAX_ERROR, what))
    }

    /// A block, from DECLARE or BEGIN to END.
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block> {
        self.deeper(|parser| {
            let outer = parser.open(label.clone());
            let mut declared = Vec::new();
            while parser.at.accept("declare") {
                while !parser.next_is(&["begin", "declare"]) {
                    declared.extend(parser.declaration_of_block()?);
                }
            }
            parser.at.expect("begin")?;
            let steps = parser.steps(&["exception", "end"])?;
            let mut handlers = Vec::new();
            if parser.at.accept("exception") {
                while parser.at.accept("when") {
                    handlers.push(parser.handler()?);
                }
                if handlers.is_empty() {
                    return Err(parser.at.unexpected());
                }
            }
            parser.at.expect("end")?;
            parser.end_label(label.as_deref())?;
            parser.close(outer);
            Ok(Block { label, declared, steps, handlers })
        })
    }

    /// Whether the next token is one of these words.
    pub(super) fn next_is(&self, words: &[&str]) -> bool {
        self.at.ahead.is_some_and(|token| words.iter().any(|word| token.is(self.at.text, word)))
    }

    /// A handler, behind its WHEN.
    fn handler(&mut self) -> Result<Handler> {
        let mut conditions = self.conditions()?;
        while self.at.accept("or") {
            conditions.extend(self.conditions()?);
        }
        self.at.expect("then")?;
        let outer = self.open(None);
        let state = self.declare("sqlstate", DeclaredType::Known(Type::TEXT));
        let message = self.declare("sqlerrm", DeclaredType::Known(Type::TEXT));
        let steps = self.steps(&["when", "end"])?;
        self.close(outer);
        Ok(Handler { conditions, state, message, steps })
    }

    /// What a name or a state means: a name may be that of several conditions.
    fn conditions(&mut self) -> Result<Vec<Condition>> {
        let name = self.at.name()?;
        match name.as_str() {
            "others" => Ok(vec![Condition::Others]),
            "sqlstate" => Ok(vec![Condition::State(self.state_literal()?)]),
            _ => match states_of(&name) {
                states if states.is_empty() => Err(no_condition(&name)),
                states => Ok(states.into_iter().map(Condition::State).collect()),
            },
        }
    }

    /// The literal behind SQLSTATE.
    pub(super) fn state_literal(&mut self) -> Result<SqlState> {
        let code = self.at.ahead.and_then(|token| text_of(token, self.at.text));
        let code = code
            .as_deref()
            .and_then(state_of)
            .ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code"))?;
        self.at.next();
        Ok(code)
    }

    /// A declaration; nothing if it gives a variable another name.
    fn declaration_of_block(&mut self) -> Result<Option<VariableId>> {
        let name = self.at.name()?;
        let scope = self.scope.unwrap_or(0);
        if self.scopes[scope].names.iter().any(|(known, _)| *known == name) {
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("duplicate declaration of \"{name}\""),
            ));
        }
        if self.at.accept("alias") {
            self.at.expect("for")?;
            let of = match self.at.ahead {
                Some(token) if token.kind == Kind::Param => {
                    self.at.next();
                    let number: usize = token.of(self.at.text)[1..].parse().unwrap_or(0);
                    number.checked_sub(1).filter(|at| *at < self.variables.len())
                }
                _ => {
                    let of = self.at.name()?;
                    self.variable_named(&of)
                }
            };
            let of = of.ok_or_else(|| {
                SqlError::new(SqlState::UNDEFINED_OBJECT, format!("variable \"{name}\" does not exist"))
            })?;
            self.scopes[scope].names.push((name, of));
            self.at.expect_sign(";")?;
            return Ok(None);
        }
        let constant = self.at.accept("constant");
        if !constant && let Some(scroll) = self.declares_cursor() {
            return self.bound_cursor(name, scroll).map(Some);
        }
        let ty = self.declared_type(false)?;
        let not_null = self.at.accept("not");
        if not_null {
            self.at.expect("null")?;
        }
        let default = if self.accept_assignment() || self.at.accept("default") {
            let text = self.until(&[])?;
            Some(self.sql(text))
        } else {
            None
        };
        self.at.expect_sign(";")?;
        if not_null && default.is_none() {
            let what = format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, what));
        }
        Ok(Some(self.add(Declaration { name, ty, constant, not_null, default, cursor: None })))
    }

    /// The type in a declaration; in a list of parameters it ends with a comma or a parenthesis, too.
    pub(super) fn declared_type(&mut self, in_list: bool) -> Result<DeclaredType> {
        let start = self.at.ahead.map_or(self.at.text.len(), |token| token.start);
        let (mut names, mut end, mut depth, mut dotted) = (Vec::new(), start, 0usize, true);
        while let Some(token) = self.at.ahead {
            let text = self.at.text;
            if depth == 0 {
                let word = ["not", "default", "collate"].iter().any(|word| token.is(text, word));
                let assigns = token.kind == Kind::Operator && token.of(text).starts_with([':', '=']);
                let listed = in_list && (token.is_sign(text, ",") || token.is_sign(text, ")"));
                if token.kind == Kind::Semicolon || word || assigns || listed {
                    break;
                }
                if token.is_sign(text, "%") {
                    self.at.next();
                    let row = self.at.accept("rowtype");
                    if !row {
                        self.at.expect("type")?;
                    }
                    return self.like(names, row);
                }
                if dotted && let Some(name) = name_of(token, text) {
                    names.push(name);
                }
                dotted = token.is_sign(text, ".");
            }
            if token.is_sign(text, "(") {
                depth += 1;
            } else if token.is_sign(text, ")") {
                depth = depth.saturating_sub(1);
            }
            end = token.end;
            self.at.next();
        }
        if self.at.accept("collate") {
            self.at.name()?;
        }
        let text = self.at.text[start..end].trim();
        if text.is_empty() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "missing data type declaration"));
        }
        Ok(match text.to_lowercase().as_str() {
            "record" => DeclaredType::Record,
            _ => DeclaredType::Named(text.to_owned()),
        })
    }

    fn like(&mut self, names: Vec<String>, row: bool) -> Result<DeclaredType> {
        if row {
            return Ok(DeclaredType::RowOf(names));
        }
        match &names[..] {
            [variable] => {
                let found = self.variable_named(variable).map(DeclaredType::LikeVariable);
                found.ok_or_else(|| {
                    let what = format!("variable \"{variable}\" does not exist");
                    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
                })
            }
            [label, variable] if self.variable_behind(label, variable).is_some() => Ok(self
                .variable_behind(label, variable)
                .map_or(DeclaredType::Record, DeclaredType::LikeVariable)),
            _ => Ok(DeclaredType::LikeColumn(names)),
        }
    }

    /// `:=`, or `=`, which may have signs of the expression right behind it.
    pub(super) fn accept_assignment(&mut self) -> bool {
        let Some(token) = self.at.ahead.filter(|token| token.kind == Kind::Operator) else { return false };
        let length = match token.of(self.at.text) {
            sign if sign.starts_with(":=") => 2,
            sign if sign.starts_with('=') => 1,
            _ => return false,
        };
        self.at.go_to(token.start + length);
        true
    }

    /// The text up to a semicolon or one of these words or signs that stands in no parenthesis and in no CASE.
    pub(super) fn until(&mut self, ends: &[&str]) -> Result<String> {
        let at = &mut self.at;
        let start = at.ahead.map_or(at.text.len(), |token| token.start);
        let (mut depth, mut cases, mut end) = (0usize, 0usize, start);
        while let Some(token) = at.ahead {
            let ends_here = |word: &str| token.is(at.text, word) || token.is_sign(at.text, word);
            if token.kind == Kind::Semicolon
                || depth == 0 && cases == 0 && ends.iter().any(|word| ends_here(word))
            {
                break;
            }
            if token.is_sign(at.text, "(") || token.is_sign(at.text, "[") {
                depth += 1;
            } else if token.is_sign(at.text, ")") || token.is_sign(at.text, "]") {
                depth = depth.saturating_sub(1);
            } else if token.is(at.text, "case") {
                cases += 1;
            } else if token.is(at.text, "end") {
                cases = cases.saturating_sub(1);
            }
            end = token.end;
            at.next();
        }
        if end == start {
            return Err(at.unexpected());
        }
        Ok(at.text[start..end].to_owned())
    }

    /// An expression up to one of these words or signs.
    pub(super) fn expression(&mut self, ends: &[&str]) -> Result<Sql> {
        let text = self.until(ends)?;
        Ok(self.sql(text))
    }
}

/// What is wrong with the syntax of a piece of SQL, whose first characters nobody has written.
fn mistake_in(text: &str, added: usize) -> Option<SqlError> {
    let read = crate::with_stack(text, || match crate::utility::parse(text) {
        Some(utility) => utility.map(drop),
        None => crate::statement(text).map(drop),
    });
    let mut error = read.err().filter(|error| error.code() == SqlState::SYNTAX_ERROR)?;
    if let Some(position) = error.fields_mut().position.take() {
        let position = position.saturating_sub(added as u32).max(1);
        error.fields_mut().internal = Some((position, text[added..].to_owned()));
    }
    Some(error)
}

/// The SQLSTATE that a text is.
pub fn state_of(code: &str) -> Option<SqlState> {
    let code: [u8; 5] = code.as_bytes().try_into().ok()?;
    let valid = code.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    valid.then(|| SqlState::new(&code))
}

/// 42704 for the name of a condition.
pub(super) fn no_condition(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{name}\""))
}
