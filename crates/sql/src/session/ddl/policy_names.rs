//! Policies whose expressions name what gets another name or schema: their texts follow, as those of views do.

use super::super::Session;
use super::definition::Meaning;
use super::follow::{calls, edited, edits, is_same};
use crate::system::end_of_name;
use scaledb_catalog::{PolicyDesc, PolicyExpression, Relation, RoutineDesc, TableDesc, ViewDesc};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Lexer, Token, name_of, quoted};
use scaledb_planner::bind::noted::Noted;
use scaledb_types::{Result, SqlError, SqlState};
use std::ops::Range;
use std::sync::Arc;

/// An expression of a policy, and what it means before a change.
pub(super) struct OfPolicy {
    table: u32,
    policy: u32,
    /// Whether it is that of WITH CHECK.
    checks: bool,
    /// The expression as the condition of a view, and where it begins in the query.
    view: Arc<ViewDesc>,
    begin: usize,
    meaning: Meaning,
}

impl<E: Engine> Session<E> {
    /// What expressions of policies mean that use an object, or are of a table.
    pub(super) fn named_in_policies(&self, oid: u32) -> Vec<OfPolicy> {
        let uses = |table: &TableDesc, expression: &PolicyExpression| {
            table.oid == oid || expression.uses.contains(&oid)
        };
        let mut found = Vec::new();
        for (table, policy) in self.policies_that(|_| true) {
            let parts = [(false, &policy.using), (true, &policy.check)];
            for (checks, expression) in parts {
                let Some(expression) = expression.as_ref().filter(|own| uses(&table, own)) else { continue };
                let (view, begin) = expression.as_view(&table, &policy);
                if let Some(meaning) = self.meaning_of_query(&view) {
                    let (table, policy) = (table.oid, policy.oid);
                    found.push(OfPolicy { table, policy, checks, view, begin, meaning });
                }
            }
        }
        found
    }

    /// Behind a change: the expressions have the new names, and find what they name in the schema that it has moved to.
    ///
    /// # Errors
    /// 0A000 for one that would mean something else.
    fn let_policies_follow(
        &mut self,
        users: Vec<OfPolicy>,
        edits: impl Fn(&OfPolicy) -> Vec<(Range<usize>, String)>,
    ) -> Result<()> {
        for user in users {
            let Some(table) = self.state.catalog.table(user.table).cloned() else { continue };
            let Some(known) = table.policies().iter().find(|policy| policy.oid == user.policy) else {
                continue;
            };
            let mut policy = known.clone();
            let expression = if user.checks { &mut policy.check } else { &mut policy.using };
            let Some(expression) = expression else { continue };
            let mut edits = edits(&user);
            edits.retain(|(range, _)| range.start >= user.begin);
            if edits.is_empty() && table.name == user.view_of() {
                continue;
            }
            edited(&user.view.query, edits)[user.begin..].clone_into(&mut expression.text);
            let expression = expression.clone();
            let (view, _) = expression.as_view(&table, &policy);
            if !self.meaning_of_query(&view).is_some_and(|after| is_same(&after, &user.meaning)) {
                let what = format!(
                    "policy {} on table {} would not mean the same: it names what is changed",
                    policy.name, table.name
                );
                let hint = "Drop the policy, make the change, and create the policy again.";
                return Err(SqlError::unsupported(what).hint(hint));
            }
            self.put_policy(&table, policy)?;
        }
        Ok(())
    }

    /// Behind another name of a relation, or of a column of it.
    ///
    /// # Errors
    /// As [`Self::let_policies_follow`].
    pub(super) fn let_policies_follow_relation(
        &mut self,
        users: Vec<OfPolicy>,
        before: &Relation,
    ) -> Result<()> {
        let Some(now) = self.state.catalog.get(before.oid()).cloned() else { return Ok(()) };
        self.let_policies_follow(users, |user| {
            let mut all = edits(&user.view.query, &user.meaning.noted, before, &now);
            if user.table == now.oid() && before.name() != now.name() {
                all.extend(qualifiers(&user.view.query, &user.meaning.noted, before, &now));
                all.sort_by_key(|(range, _)| range.start);
                all.dedup_by_key(|(range, _)| range.start);
            }
            all
        })
    }

    /// Behind another name or schema of a routine.
    ///
    /// # Errors
    /// As [`Self::let_policies_follow`].
    pub(super) fn let_policies_follow_routine(
        &mut self,
        users: Vec<OfPolicy>,
        before: &RoutineDesc,
        name: &str,
    ) -> Result<()> {
        self.let_policies_follow(users, |user| match before.name == name {
            true => Vec::new(),
            false => calls(&user.view.query, &before.name, name),
        })
    }

    /// Lets policies that name something find it in another schema, too. They find nothing else there: only what they
    /// use.
    pub(super) fn let_policies_find(&mut self, oid: u32, to: &str) -> Result<()> {
        for (table, policy) in self.policies_that(|policy| policy.uses(oid)) {
            let mut policy = policy;
            for expression in policy.using.iter_mut().chain(&mut policy.check) {
                if expression.uses.contains(&oid) && !expression.path.iter().any(|known| known == to) {
                    expression.path.push(to.to_owned());
                }
            }
            // another policy of it may have changed just now
            let Some(table) = self.state.catalog.table(table.oid).cloned() else { continue };
            self.put_policy(&table, policy)?;
        }
        Ok(())
    }

    /// Refuses another type of a column that a policy names.
    ///
    /// # Errors
    /// 0A000.
    pub(super) fn refuse_policies_over(&self, table: &TableDesc, column: &str) -> Result<()> {
        let Some(at) = table.column(column) else { return Ok(()) };
        let attnum = table.columns[at].attnum;
        let users = self.policies_that(|policy: &PolicyDesc| policy.reads(table.oid, attnum));
        let Some((of, policy)) = users.first() else { return Ok(()) };
        let detail = format!("policy {} on table {} depends on column \"{column}\"", policy.name, of.name);
        let what = "cannot alter type of a column used in a policy definition";
        Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, what).detail(detail))
    }
}

impl OfPolicy {
    /// What its table was called.
    fn view_of(&self) -> String {
        let query = &self.view.query[..self.begin];
        let names: Vec<String> = Lexer::new(query).filter_map(|token| name_of(token, query)).collect();
        // behind SELECT and FROM stand the schema and the name, before WHERE
        names.get(names.len().saturating_sub(2)).cloned().unwrap_or_default()
    }
}

/// Where columns are named behind the name of their own table, which has got another one.
fn qualifiers(text: &str, noted: &[Noted], before: &Relation, now: &Relation) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    for noted in noted {
        let Noted::Column(span, (oid, _), _) = noted else { continue };
        if *oid != now.oid() {
            continue;
        }
        let start = scaledb_parse::offset_of(text, span.start.line, span.start.column);
        let end = end_of_name(text, start);
        let tokens: Vec<Token> =
            Lexer::starting_at(text, start).take_while(|token| token.end <= end).collect();
        if let [.., table, _, _] = tokens[..]
            && name_of(table, text).as_deref() == Some(before.name())
        {
            found.push((table.start..table.end, quoted(now.name())));
        }
    }
    found
}
