//! Statements, but for loops and RAISE.

use super::super::lex::{Kind, name_of};
use super::block::Parser;
use super::{Diagnostic, Into, Line, Query, Return, Sql, Step, Target, VariableId};
use scaledb_types::{Result, SqlError, SqlState};

impl Parser<'_> {
    /// Statements, up to one of these words.
    pub(super) fn steps(&mut self, ends: &[&str]) -> Result<Vec<Line>> {
        let mut steps = Vec::new();
        loop {
            if self.at.ahead.is_none() {
                return Err(self.at.unexpected());
            }
            if self.next_is(ends) && !self.assigns() {
                return Ok(steps);
            }
            let number = self.line();
            let step = self.step()?;
            self.at.expect_sign(";")?;
            steps.push(Line { number, step });
        }
    }

    /// Whether the next token is a name that a value is assigned to.
    fn assigns(&self) -> bool {
        let Some(token) = self.at.ahead else { return false };
        let next = super::super::lex::Lexer::starting_at(self.at.text, token.end).next();
        next.is_some_and(|next| {
            let sign = next.of(self.at.text);
            next.kind == Kind::Operator && (sign.starts_with(":=") || sign.starts_with('='))
        })
    }

    fn step(&mut self) -> Result<Step> {
        if let Some(step) = self.labelled()? {
            return Ok(step);
        }
        let word = self.at.peek_word().map(str::to_ascii_lowercase);
        if word.is_none() || self.is_target() {
            return self.assignment();
        }
        let word = word.unwrap_or_default();
        match word.as_str() {
            "null" => {
                self.at.next();
                Ok(Step::Null)
            }
            "if" => {
                self.at.next();
                self.deeper(Self::conditional)
            }
            "case" => {
                self.at.next();
                self.deeper(Self::case)
            }
            "perform" => {
                self.at.next();
                let text = self.until(&[])?;
                Ok(Step::Perform(self.sql_statement(format!("SELECT {text}"))))
            }
            "execute" => {
                self.at.next();
                self.execute()
            }
            "raise" => {
                self.at.next();
                self.raise()
            }
            "return" => {
                self.at.next();
                self.returns()
            }
            "exit" | "continue" => {
                self.at.next();
                self.exit(word == "continue")
            }
            "assert" => {
                self.at.next();
                let condition = self.expression(&[","])?;
                let message = if self.at.accept_sign(",") { Some(self.expression(&[])?) } else { None };
                Ok(Step::Assert { condition, message })
            }
            "get" => {
                let line = self.line();
                self.at.next();
                self.diagnostics(line)
            }
            "call" => {
                let text = self.until(&[])?;
                Ok(Step::Sql { sql: self.sql_statement(text), into: None })
            }
            "open" => {
                self.at.next();
                self.open_cursor()
            }
            "fetch" | "move" => {
                self.at.next();
                self.fetch(word == "move")
            }
            "close" => {
                self.at.next();
                Ok(Step::Close(self.cursor_variable()?))
            }
            "commit" | "rollback" => {
                let what = "invalid transaction termination";
                Err(SqlError::new(SqlState::INVALID_TRANSACTION_TERMINATION, what))
            }
            "else" | "elsif" | "elseif" | "end" | "exception" | "then" | "when" => Err(self.at.unexpected()),
            _ => self.statement(),
        }
    }

    /// Whether what is next is a variable with a value assigned to it, a field of it or an element.
    fn is_target(&self) -> bool {
        if self.assigns() {
            return true;
        }
        let text = self.at.text;
        let mut tokens = self.at.ahead.into_iter().chain(self.at.behind());
        let first = tokens.next().and_then(|token| name_of(token, text));
        if first.is_none_or(|name| self.variable_named(&name).is_none() && !self.has_label(&name)) {
            return false;
        }
        let mut depth = 0usize;
        for token in tokens {
            if token.kind == Kind::Operator && depth == 0 {
                let sign = token.of(text);
                return sign.starts_with(":=") || sign.starts_with('=');
            }
            if token.is_sign(text, "[") {
                depth += 1;
            } else if token.is_sign(text, "]") {
                depth = depth.saturating_sub(1);
            } else if depth == 0 && !token.is_sign(text, ".") && name_of(token, text).is_none()
                || token.kind == Kind::Semicolon
            {
                return false;
            }
        }
        false
    }

    fn assignment(&mut self) -> Result<Step> {
        let target = self.target()?;
        if !self.accept_assignment() {
            return Err(self.at.unexpected());
        }
        let start = self.at.ahead;
        let value = self.expression(&[])?;
        self.refuse_constant(&target)?;
        let name = start
            .and_then(|token| name_of(token, self.at.text))
            .filter(|_| start.is_some_and(|token| token.of(self.at.text).len() == value.text.len()));
        match name.and_then(|name| self.variable_named(&name)) {
            Some(from) if target.field.is_none() && target.element.is_empty() => {
                Ok(Step::Copy { to: target.variable, from })
            }
            _ => Ok(Step::Assign { target, value }),
        }
    }

    /// A variable, a field of one, or an element of an array.
    pub(super) fn target(&mut self) -> Result<Target> {
        let name = if let Some(token) = self.at.ahead.filter(|token| token.kind == Kind::Param) {
            self.at.next();
            let number: usize = token.of(self.at.text)[1..].parse().unwrap_or(0);
            return number.checked_sub(1).map_or_else(
                || Err(self.at.unexpected()),
                |variable| Ok(Target { variable, field: None, element: Vec::new() }),
            );
        } else {
            self.at.name()?
        };
        let mut field = None;
        let variable = match self.variable_named(&name) {
            Some(variable) => {
                if self.at.accept_sign(".") {
                    field = Some(self.at.name()?);
                }
                variable
            }
            None if self.has_label(&name) && self.at.accept_sign(".") => {
                let behind = self.at.name()?;
                let found = self.variable_behind(&name, &behind).ok_or_else(|| no_variable(&behind))?;
                if self.at.accept_sign(".") {
                    field = Some(self.at.name()?);
                }
                found
            }
            None => return Err(no_variable(&name)),
        };
        let mut element = Vec::new();
        while self.at.accept_sign("[") {
            let subscript = self.expression(&["]"])?;
            element.push(subscript);
            self.at.expect_sign("]")?;
        }
        Ok(Target { variable, field, element })
    }

    pub(super) fn targets(&mut self) -> Result<Vec<Target>> {
        let mut targets = vec![self.target()?];
        while self.at.accept_sign(",") {
            targets.push(self.target()?);
        }
        targets.iter().try_for_each(|target| self.refuse_constant(target))?;
        Ok(targets)
    }

    /// # Errors
    /// 22005 for a constant.
    pub(super) fn refuse_constant(&self, target: &Target) -> Result<()> {
        let declaration = self.declaration(target.variable);
        if !declaration.constant {
            return Ok(());
        }
        let what = format!("variable \"{}\" is declared CONSTANT", declaration.name);
        Err(SqlError::new(SqlState::ERROR_IN_ASSIGNMENT, what))
    }

    /// What is behind INTO.
    fn into(&mut self) -> Result<Into> {
        let strict = self.at.accept("strict");
        Ok(Into { strict, targets: self.targets()? })
    }

    /// A statement of SQL, which may have INTO in it.
    fn statement(&mut self) -> Result<Step> {
        let first = self.at.peek_word().map(str::to_ascii_lowercase).unwrap_or_default();
        if !STATEMENTS.contains(&first.as_str()) {
            return Err(self.at.unexpected());
        }
        let start = self.at.ahead.map_or(self.at.text.len(), |token| token.start);
        let (mut depth, mut end, mut before) = (0usize, start, String::new());
        let mut found: Option<(String, Into)> = None;
        let mut rest = start;
        while let Some(token) = self.at.ahead {
            let text = self.at.text;
            if token.kind == Kind::Semicolon {
                break;
            }
            // INTO of INSERT and MERGE names a table
            let names_table = matches!(before.as_str(), "insert" | "merge");
            if depth == 0 && found.is_none() && token.is(text, "into") && !names_table {
                let head = text[start..token.start].to_owned();
                self.at.next();
                let into = self.into()?;
                rest = self.at.ahead.map_or(text.len(), |token| token.start);
                end = rest;
                found = Some((head, into));
                continue;
            }
            if token.is_sign(text, "(") || token.is_sign(text, "[") {
                depth += 1;
            } else if token.is_sign(text, ")") || token.is_sign(text, "]") {
                depth = depth.saturating_sub(1);
            }
            before = token.of(text).to_ascii_lowercase();
            end = token.end;
            self.at.next();
        }
        let text = self.at.text;
        let (whole, into) = match found {
            Some((head, into)) => (format!("{head} {}", &text[rest..end]), Some(into)),
            None => (text[start..end].to_owned(), None),
        };
        Ok(Step::Sql { sql: self.sql_statement(whole), into })
    }

    /// What is behind EXECUTE.
    fn execute(&mut self) -> Result<Step> {
        let text = self.expression(&["into", "using"])?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if into.is_none() && self.at.accept("into") {
                into = Some(self.into()?);
            } else if using.is_empty() && self.at.accept("using") {
                using = self.using(&["into"])?;
            } else {
                return Ok(Step::Execute { text, using, into });
            }
        }
    }

    /// Expressions with commas between them.
    pub(super) fn using(&mut self, ends: &[&str]) -> Result<Vec<Sql>> {
        let ends: Vec<&str> = ends.iter().copied().chain([","]).collect();
        let mut using = vec![self.expression(&ends)?];
        while self.at.accept_sign(",") {
            using.push(self.expression(&ends)?);
        }
        Ok(using)
    }

    /// A query behind FOR .. IN or RETURN QUERY, up to one of these words.
    pub(super) fn query(&mut self, ends: &[&str]) -> Result<Query> {
        if self.at.accept("execute") {
            let ends: Vec<&str> = ends.iter().copied().chain(["using"]).collect();
            let text = self.expression(&ends)?;
            let using = if self.at.accept("using") { self.using(&ends)? } else { Vec::new() };
            return Ok(Query::Dynamic(text, using));
        }
        let text = self.until(ends)?;
        Ok(Query::Static(self.sql_statement(text)))
    }

    /// What is behind IF, its END IF included.
    fn conditional(&mut self) -> Result<Step> {
        let mut branches = Vec::new();
        loop {
            let condition = self.expression(&["then"])?;
            self.at.expect("then")?;
            branches.push((condition, self.steps(&["elsif", "elseif", "else", "end"])?));
            if !self.at.accept("elsif") && !self.at.accept("elseif") {
                break;
            }
        }
        let otherwise = if self.at.accept("else") { self.steps(&["end"])? } else { Vec::new() };
        self.at.expect("end")?;
        self.at.expect("if")?;
        Ok(Step::If { branches, otherwise })
    }

    /// What is behind CASE, its END CASE included: all of it chooses the number of a branch.
    fn case(&mut self) -> Result<Step> {
        let operand = if self.next_is(&["when"]) { String::new() } else { self.until(&["when"])? };
        let mut choice =
            format!("CASE {}", if operand.is_empty() { operand } else { format!("({operand})") });
        let mut branches = Vec::new();
        while self.at.accept("when") {
            loop {
                let value = self.until(&[",", "then"])?;
                choice.push_str(&format!(" WHEN {value} THEN {}", branches.len()));
                if !self.at.accept_sign(",") {
                    break;
                }
            }
            self.at.expect("then")?;
            branches.push(self.steps(&["when", "else", "end"])?);
        }
        if branches.is_empty() {
            return Err(self.at.unexpected());
        }
        choice.push_str(" ELSE -1 END");
        let choice = self.sql(choice);
        let otherwise = if self.at.accept("else") { Some(self.steps(&["end"])?) } else { None };
        self.at.expect("end")?;
        self.at.expect("case")?;
        Ok(Step::Case { choice, branches, otherwise })
    }

    /// What is behind RETURN.
    fn returns(&mut self) -> Result<Step> {
        if self.at.accept("query") {
            return Ok(Step::ReturnQuery(self.query(&[])?));
        }
        if self.at.accept("next") {
            return Ok(Step::ReturnNext(self.returned()?));
        }
        Ok(Step::Return(self.returned()?))
    }

    fn returned(&mut self) -> Result<Return> {
        let Some(token) = self.at.ahead.filter(|token| token.kind != Kind::Semicolon) else {
            return Ok(Return::Plain);
        };
        let name = name_of(token, self.at.text);
        let sql = self.expression(&[])?;
        let alone = token.of(self.at.text).len() == sql.text.len();
        if let Some(rows) = self.first_of(&sql.text) {
            return Ok(Return::FirstOf(rows));
        }
        Ok(match name.filter(|_| alone).and_then(|name| self.variable_named(&name)) {
            Some(variable) => Return::Variable(variable),
            None => Return::Value(sql),
        })
    }

    /// The variables in `COALESCE(NEW, OLD)`, if all in it are rows that a trigger sees.
    fn first_of(&self, text: &str) -> Option<Vec<VariableId>> {
        let rest = text.get(8..).filter(|_| text[..8].eq_ignore_ascii_case("coalesce"))?;
        let inner = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
        let names = inner.split(',').map(|name| name.trim().to_ascii_lowercase());
        let rows = names.map(|name| {
            let known = matches!(name.as_str(), "new" | "old");
            known.then(|| self.variable_named(&name)).flatten()
        });
        rows.collect()
    }

    /// What is behind GET.
    fn diagnostics(&mut self, line: u32) -> Result<Step> {
        let stacked = self.at.accept("stacked");
        if !stacked {
            self.at.accept("current");
        }
        self.at.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.accept_assignment() {
                return Err(self.at.unexpected());
            }
            let name = self.at.name()?;
            let item = match (name.as_str(), stacked) {
                ("row_count", false) => Diagnostic::RowCount,
                ("pg_context", false) | ("pg_exception_context", true) => Diagnostic::Context,
                ("returned_sqlstate", true) => Diagnostic::State,
                ("message_text", true) => Diagnostic::Message,
                ("pg_exception_detail", true) => Diagnostic::Detail,
                ("pg_exception_hint", true) => Diagnostic::Hint,
                ("column_name", true) => Diagnostic::Column,
                ("constraint_name", true) => Diagnostic::Constraint,
                ("pg_datatype_name", true) => Diagnostic::Datatype,
                ("table_name", true) => Diagnostic::Table,
                ("schema_name", true) => Diagnostic::Schema,
                _ => {
                    let what = format!("unrecognized GET DIAGNOSTICS item: \"{name}\"");
                    return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
                }
            };
            items.push((target, item));
            if !self.at.accept_sign(",") {
                return Ok(Step::Diagnostics { stacked, items, line });
            }
        }
    }

    /// A piece of SQL that is an expression of its own.
    pub(super) fn sql_of(&mut self, text: &str) -> Sql {
        self.sql(text.to_owned())
    }
}

/// What statements of SQL in a body begin with.
const STATEMENTS: &[&str] = &[
    "alter", "analyze", "comment", "copy", "create", "delete", "drop", "explain", "grant", "insert",
    "listen", "lock", "merge", "notify", "refresh", "reset", "revoke", "select", "set", "show", "table",
    "truncate", "update", "values", "vacuum", "with",
];

/// 42601 for a name that is that of no variable.
pub(super) fn no_variable(name: &str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, format!("\"{name}\" is not a known variable"))
}
