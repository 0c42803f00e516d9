//! Views and materialized views whose queries name what gets another name: their texts follow.
//!
//! ```text
//!  ALTER TABLE t RENAME TO u          SELECT t.a FROM t            SELECT t.a FROM u AS t
//!  ALTER TABLE t RENAME a TO c        SELECT a FROM t WHERE a > 0  SELECT c AS a FROM t WHERE c > 0
//!  ALTER FUNCTION f RENAME TO g       SELECT f(a) AS f FROM t      SELECT g(a) AS f FROM t
//! ```
//!
//! What the names mean is noted before the change, and again in the text that is to be kept: if that is not the same,
//! the change is refused.

use super::super::Session;
use super::definition::Meaning;
use super::policy_names::OfPolicy;
use crate::system::end_of_name;
use scaledb_catalog::{Relation, RoutineDesc, ViewDesc};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Lexer, quoted};
use scaledb_parse::named::Tokens;
use scaledb_planner::bind::noted::Noted;
use scaledb_types::{Result, SqlError};
use sqlparser::ast::{AlterTableOperation, ObjectName};
use std::ops::Range;
use std::sync::Arc;

/// Where views name a relation that gets another name, or a column that does.
pub(super) struct Named {
    oid: u32,
    before: Relation,
    users: Vec<(Arc<ViewDesc>, Meaning)>,
    policies: Vec<OfPolicy>,
}

/// What names in a text mean, in the order in which they were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Relation(u32),
    Column(u32, i16),
    Star(usize),
}

fn key(noted: &Noted) -> Key {
    match noted {
        Noted::Relation(_, oid, _) => Key::Relation(*oid),
        Noted::Column(_, (oid, number), _) => Key::Column(*oid, *number),
        Noted::Star(_, columns) => Key::Star(columns.len()),
    }
}

impl<E: Engine> Session<E> {
    /// Before a change of a table: where views name it, if the change gives it, or a column of it, another name.
    pub(super) fn named_where(
        &self,
        name: &ObjectName,
        operations: &[AlterTableOperation],
    ) -> Result<Option<Named>> {
        let renames = |operation: &AlterTableOperation| {
            use AlterTableOperation as Op;
            matches!(operation, Op::RenameTable { .. } | Op::RenameColumn { .. })
        };
        if !operations.iter().any(renames) {
            return Ok(None);
        }
        match self.lookup(name)? {
            Some(relation @ Relation::Table(_)) => Ok(Some(self.named_in_views(&relation))),
            // the others have a way of their own
            _ => Ok(None),
        }
    }

    /// Where views name a relation.
    pub(super) fn named_in_views(&self, before: &Relation) -> Named {
        let oid = before.oid();
        let users: Vec<Arc<ViewDesc>> =
            self.state.catalog.definitions().filter(|view| view.uses.contains(&oid)).collect();
        let mut found = Vec::new();
        for view in users {
            if let Some(meaning) = self.meaning_of_query(&view) {
                found.push((view, meaning));
            }
        }
        let policies = self.named_in_policies(oid);
        Named { oid, before: before.clone(), users: found, policies }
    }

    /// Behind the change: the texts of the views have the new names.
    ///
    /// # Errors
    /// 0A000 for one that would mean something else.
    pub(super) fn let_names_follow(&mut self, named: Option<Named>) -> Result<()> {
        let Some(Named { oid, before, users, policies }) = named else { return Ok(()) };
        let Some(now) = self.state.catalog.get(oid).cloned() else { return Ok(()) };
        self.let_policies_follow_relation(policies, &before)?;
        for (view, meaning) in users {
            let edits = edits(&view.query, &meaning.noted, &before, &now);
            if edits.is_empty() {
                continue;
            }
            let mut changed = (*view).clone();
            changed.query = edited(&view.query, edits);
            let changed = Arc::new(changed);
            if !self.meaning_of_query(&changed).is_some_and(|after| is_same(&after, &meaning)) {
                let what = format!(
                    "\"{}\" cannot be changed so: {} names it",
                    before.name(),
                    self.kind_and_name(&view)
                );
                return Err(SqlError::unsupported(what)
                    .hint("Drop the view, make the change, and create the view again."));
            }
            self.put_definition(&changed)?;
        }
        Ok(())
    }
}

impl<E: Engine> Session<E> {
    /// Before a routine gets another name or schema: what the queries of views mean that call it.
    pub(super) fn calls_in_views(&self, routine: u32) -> Vec<(Arc<ViewDesc>, Meaning)> {
        let users = self.state.catalog.definitions().filter(|view| view.uses.contains(&routine));
        users.filter_map(|view| self.meaning_of_query(&view).map(|meaning| (view, meaning))).collect()
    }

    /// Behind it: their texts call it by its new name.
    ///
    /// # Errors
    /// 0A000 for one that would mean something else.
    pub(super) fn let_calls_follow(
        &mut self,
        users: Vec<(Arc<ViewDesc>, Meaning)>,
        before: &RoutineDesc,
        name: &str,
    ) -> Result<()> {
        for (view, meaning) in users {
            let edits = if before.name == name { Vec::new() } else { calls(&view.query, &before.name, name) };
            let mut changed = (*view).clone();
            changed.query = edited(&view.query, edits);
            let changed = Arc::new(changed);
            if !self.meaning_of_query(&changed).is_some_and(|after| is_same(&after, &meaning)) {
                let what = format!(
                    "{} would not mean the same: it names {}",
                    self.kind_and_name(&view),
                    self.signature_of(before)
                );
                return Err(SqlError::unsupported(what).hint("Drop it, make the change, and make it again."));
            }
            if changed.query != view.query {
                self.put_definition(&changed)?;
            }
        }
        Ok(())
    }
}

pub(super) fn is_same(after: &Meaning, before: &Meaning) -> bool {
    after.columns == before.columns
        && after.named == before.named
        && after.noted.iter().map(key).eq(before.noted.iter().map(key))
}

/// Another name where a function of a name is called.
pub(super) fn calls(text: &str, before: &str, now: &str) -> Vec<(Range<usize>, String)> {
    let tokens = Tokens::of(text);
    let is_alias = |at: usize| {
        let words = ["as", "with", "recursive"];
        at.checked_sub(1).is_some_and(|behind| words.iter().any(|word| tokens.is(behind, word)))
    };
    let is_call = |at: usize| tokens.word(at).as_deref() == Some(before) && tokens.sign(at + 1, "(");
    let found = (0..tokens.all.len()).filter(|&at| is_call(at) && !is_alias(at));
    found.map(|at| (tokens.all[at].start..tokens.all[at].end, quoted(now))).collect()
}

/// What is to be replaced in a text, from its start to its end.
pub(super) fn edits(
    text: &str,
    noted: &[Noted],
    before: &Relation,
    now: &Relation,
) -> Vec<(Range<usize>, String)> {
    let start = |span: &sqlparser::tokenizer::Span| {
        scaledb_parse::offset_of(text, span.start.line, span.start.column)
    };
    let mut edits = Vec::new();
    for noted in noted {
        match noted {
            Noted::Relation(span, oid, has_alias) if *oid == now.oid() && before.name() != now.name() => {
                let last = last_name(text, start(span));
                let alias = match has_alias {
                    true => String::new(),
                    false => format!(" AS {}", quoted(before.name())),
                };
                edits.push((last, format!("{}{alias}", quoted(now.name()))));
            }
            Noted::Column(span, (oid, number), is_item) if *oid == now.oid() => {
                let (Some(old), Some(new)) = (column_name(before, *number), column_name(now, *number)) else {
                    continue;
                };
                if old != new {
                    let alias = if *is_item { format!(" AS {}", quoted(old)) } else { String::new() };
                    edits.push((last_name(text, start(span)), format!("{}{alias}", quoted(new))));
                }
            }
            _ => {}
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    // what is bound twice is noted twice
    edits.dedup_by_key(|(range, _)| range.start);
    edits
}

/// The last part of a name that begins at a byte.
fn last_name(text: &str, start: usize) -> Range<usize> {
    let end = end_of_name(text, start);
    let parts = Lexer::starting_at(text, start).take_while(|token| token.end <= end);
    parts.last().map_or(start..end, |token| token.start..end)
}

fn column_name(relation: &Relation, number: i16) -> Option<&str> {
    match relation {
        Relation::Table(table) => Some(table.columns[table.position(number)?].name.as_str()),
        Relation::View(view) => {
            let at = usize::try_from(number).ok()?.checked_sub(1)?;
            view.columns.get(at).map(|(name, ..)| name.as_str())
        }
        Relation::Sequence(_) => None,
    }
}

pub(super) fn edited(text: &str, edits: Vec<(Range<usize>, String)>) -> String {
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        out.push_str(&text[copied..range.start]);
        out.push_str(&new);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    out
}
