//! Row-level security: which policies say something to a statement, and what they say of rows.
//!
//! ```text
//!  a scan of the table     USING            rows of which it is not true are not seen: conditions of the scan itself,
//!                                           in front of all that the statement says
//!  a row that is written   WITH CHECK       anything but true is an error
//! ```
//!
//! Of permissive policies one must hold, and there must be one; of restrictive ones each. What reads needs those for
//! SELECT, what writes and reads as well those for both.

use super::Binder;
use super::names::Naming;
use super::privileges::UseNumber;
use super::scope::{Scope, ScopeTable};
use crate::plan::expr::Expr;
use crate::plan::joins::Leaf;
use crate::plan::secured::{About, PolicyCheck, Secured};
use crate::plan::{BoundTable, Slot};
use scaledb_catalog::{PolicyCommand, PolicyDesc, PolicyExpression, TableDesc};
use scaledb_parse::lex::Lexer;
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::sync::Arc;

/// What a plan has found of policies while it was bound.
#[derive(Debug, Default)]
pub struct Policies {
    /// Tables that have row-level security.
    pub(super) tables: Vec<u32>,
    /// Tables whose policies are being bound.
    active: Vec<u32>,
    /// Tables that none but policies name.
    named_tables: Vec<(u32, scaledb_base::TableId)>,
    /// Views, types and routines that none but policies name.
    named_relations: Vec<u32>,
    /// Whether no policy is looked at: what a text means is asked, and no row is read.
    pub off: bool,
}

/// Which expression of a policy counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// USING.
    Using,
    /// WITH CHECK, or else USING.
    Check,
}

/// What policies say of a row.
struct Said {
    /// Of which one must hold.
    permissive: Expr,
    /// That must hold each, by name.
    restrictive: Vec<(String, Expr)>,
}

/// Whose policies count of a table that is written.
#[derive(Clone, Copy)]
pub(super) struct Securing {
    role: u32,
    by: Option<u32>,
}

impl Binder<'_> {
    /// For whom the policies of a table count, if they do: the role that counts for what is bound now.
    ///
    /// # Errors
    /// 42501 if policies would hide rows, and `row_security` is off.
    fn secured_for(&mut self, desc: &TableDesc, by: Option<u32>) -> Result<Option<Securing>> {
        if !desc.is_secured() || self.policies.off {
            return Ok(None);
        }
        if !self.policies.tables.contains(&desc.oid) {
            self.policies.tables.push(desc.oid);
        }
        let reader = self.lookup.reader();
        if reader.defines {
            return Ok(None);
        }
        let role = by.unwrap_or(reader.role);
        if !self.catalog.are_rows_secured(desc, role) {
            return Ok(None);
        }
        if !reader.row_security {
            let what =
                format!("query would be affected by row-level security policy for table \"{}\"", desc.name);
            let error = SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what);
            let owns = self.catalog.has_rights_of(role, self.catalog.owner_of(desc.oid));
            let hint =
                "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.";
            return Err(if owns { error.hint(hint) } else { error });
        }
        Ok(Some(Securing { role, by }))
    }

    /// Lets a scan in FROM have those rows only that policies show; `locks` if the rows are locked.
    ///
    /// # Errors
    /// 42501, 42P17.
    pub(super) fn secure_leaf(&mut self, leaf: &mut Leaf, locks: bool) -> Result<()> {
        let Some(table) = leaf.scanned().cloned() else { return Ok(()) };
        let Some(securing) = self.secured_for(&table.desc, self.uses.by())? else { return Ok(()) };
        let row = leaf.slots[..table.types.len()].to_vec();
        let mut quals = Vec::new();
        if locks {
            self.add_quals(&table, &row, securing, PolicyCommand::Update, &mut quals)?;
        }
        self.add_quals(&table, &row, securing, PolicyCommand::Select, &mut quals)?;
        leaf.secured = quals;
        Ok(())
    }

    /// Whose policies count of a table that is written.
    ///
    /// # Errors
    /// 42501.
    pub(super) fn secured_table(&mut self, desc: &TableDesc, uses: UseNumber) -> Result<Option<Securing>> {
        let by = self.uses.by_whom(uses);
        self.secured_for(desc, by)
    }

    /// What policies for a command show of the rows of a scan that are written; and what those for SELECT do, if the
    /// statement `reads` them.
    ///
    /// # Errors
    /// 42P17.
    pub(super) fn written_quals(
        &mut self,
        table: &Arc<BoundTable>,
        row: &[Slot],
        securing: Securing,
        command: Option<PolicyCommand>,
        reads: bool,
    ) -> Result<Vec<Expr>> {
        let mut quals = Vec::new();
        if let Some(command) = command {
            self.add_quals(table, row, securing, command, &mut quals)?;
        }
        if reads {
            self.add_quals(table, row, securing, PolicyCommand::Select, &mut quals)?;
        }
        Ok(quals)
    }

    fn add_quals(
        &mut self,
        table: &Arc<BoundTable>,
        row: &[Slot],
        securing: Securing,
        command: PolicyCommand,
        quals: &mut Vec<Expr>,
    ) -> Result<()> {
        let said = self.said_of(table, row, securing, command, Part::Using)?;
        let all = said.restrictive.into_iter().map(|(_, condition)| condition).chain([said.permissive]);
        let mut own = Vec::new();
        all.for_each(|condition| condition.into_conjuncts(&mut own));
        own.retain(|condition| !quals.iter().any(|known| known.same(condition)));
        quals.extend(own);
        Ok(())
    }

    /// Adds what must hold of a row that is written, by policies for a command.
    fn add_checks(
        &mut self,
        (table, row): (&Arc<BoundTable>, &[Slot]),
        securing: Securing,
        (command, part): (PolicyCommand, Part),
        about: About,
        checks: &mut Vec<PolicyCheck>,
    ) -> Result<()> {
        let said = self.said_of(table, row, securing, command, part)?;
        let mut own = vec![PolicyCheck { policy: None, about, condition: said.permissive }];
        let named = said.restrictive.into_iter();
        own.extend(named.map(|(name, condition)| PolicyCheck { policy: Some(name), about, condition }));
        for check in own {
            let known = |other: &PolicyCheck| {
                other.about == about && other.policy == check.policy && other.condition.same(&check.condition)
            };
            if !checks.iter().any(known) {
                // what it reads is as it was before the statement
                self.writes |= check.condition.needs_worker();
                checks.push(check);
            }
        }
        Ok(())
    }

    /// What must hold of a new row, by policies for INSERT or UPDATE; and by those for SELECT, if the statement `reads`
    /// the table.
    ///
    /// # Errors
    /// 42P17.
    pub(super) fn checks_of_new(
        &mut self,
        table: &Arc<BoundTable>,
        row: &[Slot],
        securing: Securing,
        command: PolicyCommand,
        reads: bool,
    ) -> Result<Vec<PolicyCheck>> {
        let mut checks = Vec::new();
        self.add_checks((table, row), securing, (command, Part::Check), About::New, &mut checks)?;
        if reads {
            let select = (PolicyCommand::Select, Part::Using);
            self.add_checks((table, row), securing, select, About::New, &mut checks)?;
        }
        Ok(checks)
    }

    /// What must hold of a row that is there before it is changed.
    ///
    /// # Errors
    /// 42P17.
    pub(super) fn checks_of_old(
        &mut self,
        table: &Arc<BoundTable>,
        row: &[Slot],
        securing: Securing,
        (command, reads): (PolicyCommand, bool),
        about: About,
    ) -> Result<Vec<PolicyCheck>> {
        let mut checks = Vec::new();
        self.add_checks((table, row), securing, (command, Part::Using), about, &mut checks)?;
        if reads {
            let select = (PolicyCommand::Select, Part::Using);
            self.add_checks((table, row), securing, select, about, &mut checks)?;
        }
        Ok(checks)
    }

    /// What the policies for a command say to a role of a row.
    fn said_of(
        &mut self,
        table: &Arc<BoundTable>,
        row: &[Slot],
        Securing { role, by }: Securing,
        command: PolicyCommand,
        part: Part,
    ) -> Result<Said> {
        let (mut permissive, mut restrictive) = (Vec::new(), Vec::new());
        for policy in table.desc.policies() {
            let is_for = policy.command == PolicyCommand::All || policy.command == command;
            let expression = match part {
                Part::Check if policy.check.is_some() => policy.check.as_ref(),
                _ => policy.using.as_ref(),
            };
            let Some(expression) = expression else { continue };
            if !is_for || !self.catalog.is_policy_for(policy, role) {
                continue;
            }
            let condition = self.expression_of_policy(table, row, (policy, expression), by)?;
            if policy.permissive {
                permissive.push(condition);
            } else {
                restrictive.push((policy.name.clone(), condition));
            }
        }
        let permissive = match permissive.len() {
            0 => {
                // without one that lets rows through, none is
                restrictive.clear();
                Expr::Const(Value::Bool(false))
            }
            1 => permissive.remove(0),
            _ => Expr::Or(permissive),
        };
        Ok(Said { permissive, restrictive })
    }

    /// Binds an expression of a policy over the slots of a row. What it names are no columns that the statement reads;
    /// what its subqueries read is read as the table itself is.
    fn expression_of_policy(
        &mut self,
        table: &BoundTable,
        row: &[Slot],
        (policy, expression): (&PolicyDesc, &PolicyExpression),
        by: Option<u32>,
    ) -> Result<Expr> {
        let oid = table.desc.oid;
        if self.policies.active.contains(&oid) && has_subquery(&expression.text) {
            let what = format!("infinite recursion detected in policy for relation \"{}\"", table.desc.name);
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
        }
        let ast = scaledb_parse::expression(&expression.text)?;
        let (view, _) = expression.as_view(&table.desc, policy);
        let counts = self.uses.counts(row);
        let before = self.uses.by();
        let (tables, relations) = (std::mem::take(&mut self.tables), std::mem::take(&mut self.relations));
        self.policies.active.push(oid);
        let bound = self.within_view(&view, by, |binder| {
            binder.deeper(|binder| binder.condition_of_row(table, row, &ast))
        });
        self.policies.active.pop();
        let own =
            (std::mem::replace(&mut self.tables, tables), std::mem::replace(&mut self.relations, relations));
        self.policies.named_tables.extend(own.0);
        self.policies.named_relations.extend(own.1);
        self.uses.act_for(before);
        self.uses.restore_counts(row, &counts);
        let condition = bound?;
        self.mark(&condition);
        Ok(condition)
    }

    /// A condition on a row whose columns are in these slots.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn condition_of_row(
        &mut self,
        table: &BoundTable,
        row: &[Slot],
        ast: &sqlparser::ast::Expr,
    ) -> Result<Expr> {
        let own = ScopeTable {
            schema: Some(table.desc.schema.clone()),
            name: table.desc.name.clone(),
            columns: Self::columns_of(table, row),
            own: true,
            ..ScopeTable::default()
        };
        self.scopes.push(Scope { tables: vec![own], ..Scope::default() });
        self.scope().clause = "policy expressions";
        let typed = self.expr(ast);
        self.scopes.pop();
        let mut condition = self.boolean(typed?, "POLICY")?;
        condition.simplify();
        Ok(condition)
    }

    /// Tables, and views, types and routines that the plan depends on, those that policies name last; what it has of
    /// row-level security.
    pub(super) fn finish_policies(&mut self) -> Option<Box<Secured>> {
        let Policies { tables, named_tables, named_relations, .. } = std::mem::take(&mut self.policies);
        for (oid, id) in named_tables {
            if !self.tables.iter().any(|(known, _)| *known == oid) {
                self.tables.push((oid, id));
            }
        }
        for oid in named_relations {
            if !self.relations.contains(&oid) {
                self.relations.push(oid);
            }
        }
        (!tables.is_empty()).then(|| Box::new(Secured { reader: self.lookup.reader(), tables }))
    }

    /// Binds an expression that is to be one of a policy, by names as they are now; with what its names mean.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new_expression_of_policy(
        &mut self,
        table: &BoundTable,
        ast: &sqlparser::ast::Expr,
    ) -> Result<Expr> {
        debug_assert!(matches!(self.naming, Naming::Statement), "a statement makes it");
        self.policies.off = true;
        let row = self.new_slots(table.types.len());
        self.condition_of_row(table, &row, ast)
    }
}

/// Whether a text has a subquery.
fn has_subquery(text: &str) -> bool {
    let words = ["select", "table", "values"];
    Lexer::new(text).any(|token| words.iter().any(|word| token.is(text, word)))
}
