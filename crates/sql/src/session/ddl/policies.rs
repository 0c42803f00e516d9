//! CREATE, ALTER and DROP POLICY, and ALTER TABLE .. ROW LEVEL SECURITY.

use super::super::Session;
use super::new_name;
use super::owner::no_role_is_public;
use crate::api::{Severity, Tag};
use scaledb_catalog::{
    EVERYBODY, PolicyCommand, PolicyDesc, PolicyExpression, Relation, RowSecurityDesc, TableDesc,
};
use scaledb_engine::Engine;
use scaledb_parse::policy::{AlterPolicy, CreatePolicy, PolicyStatement, SecureRows, SecurityChange};
use scaledb_parse::roles::RoleName;
use scaledb_parse::routine::Name;
use scaledb_parse::with_stack;
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::Lookup as _;
use scaledb_planner::bind::names::{find_relation, is_schema, is_temporary, no_schema, shown};
use scaledb_planner::bind::noted::Noted;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::Ident;
use std::sync::Arc;

/// 42601.
fn wrong(what: &'static str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, what)
}

fn no_policy(name: &str, table: &str) -> SqlError {
    let what = format!("policy \"{name}\" for table \"{table}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
}

fn has_policy(name: &str, table: &str) -> SqlError {
    let what = format!("policy \"{name}\" for table \"{table}\" already exists");
    SqlError::new(SqlState::DUPLICATE_OBJECT, what)
}

/// The policy of a name.
fn named<'t>(table: &'t TableDesc, name: &str) -> Result<&'t PolicyDesc> {
    let found = table.policies().iter().find(|policy| policy.name == name);
    found.ok_or_else(|| no_policy(name, &table.name))
}

impl<E: Engine> Session<E> {
    /// A statement about policies.
    ///
    /// # Errors
    /// 42P01, 42809 and 42501 for the table, 42704 and 42710 for the policy; what is wrong with its expressions.
    pub(in crate::session) fn change_policies(&mut self, statement: &PolicyStatement) -> Result<Tag> {
        match statement {
            PolicyStatement::Create(create) => self.create_policy(create),
            PolicyStatement::Alter(alter) => self.alter_policy(alter),
            PolicyStatement::Rename { name, table, to, .. } => self.rename_policy(name, table, to),
            PolicyStatement::Drop { name, if_exists, table } => self.drop_policy(name, table, *if_exists),
            PolicyStatement::Secure(secure) => self.secure_rows(secure),
        }
    }

    /// The relation of a name.
    fn with_policies(&self, (schema, name): &Name) -> Result<Relation> {
        let found = find_relation(&self.state.catalog, &self.state.path, schema.as_deref(), name);
        found.cloned().ok_or_else(|| {
            let path = &self.state.path;
            if let Some(schema) =
                schema.as_deref().filter(|schema| !is_schema(&self.state.catalog, path, schema))
            {
                return no_schema(schema);
            }
            let what = format!("relation \"{}\" does not exist", shown(schema.as_deref(), name));
            SqlError::new(SqlState::UNDEFINED_TABLE, what)
        })
    }

    /// The table of a name, which is the current role's.
    fn own_table(&self, name: &Name) -> Result<Arc<TableDesc>> {
        let relation = self.with_policies(name)?;
        self.state.check_owner(relation.oid())?;
        match relation {
            Relation::Table(table) if !table.is_materialized() => Ok(table),
            other => {
                let what = format!("\"{}\" is not a table", other.name());
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
        }
    }

    /// The roles that a policy is for.
    fn roles_of_policy(&self, names: &[RoleName]) -> Result<Vec<u32>> {
        if names.is_empty() {
            return Ok(vec![EVERYBODY]);
        }
        let mut roles = Vec::with_capacity(names.len());
        for name in names {
            if no_role_is_public(name) {
                if names.len() > 1 {
                    let what = "ignoring specified roles other than PUBLIC";
                    let hint = "All roles are members of the PUBLIC role.";
                    let warning = SqlError::invalid_parameter(what).hint(hint);
                    self.state.notice(Severity::Warning, warning);
                }
                return Ok(vec![EVERYBODY]);
            }
            let role = self.role_of(name)?;
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        Ok(roles)
    }

    fn create_policy(&mut self, create: &CreatePolicy) -> Result<Tag> {
        use PolicyCommand as Command;
        if matches!(create.command, Command::Select | Command::Delete) && create.check.is_some() {
            return Err(wrong("WITH CHECK cannot be applied to SELECT or DELETE"));
        }
        if create.command == Command::Insert && create.using.is_some() {
            return Err(wrong("only WITH CHECK expression allowed for INSERT"));
        }
        self.begin_change()?;
        let roles = self.roles_of_policy(&create.roles)?;
        let table = self.own_table(&create.table)?;
        let name = new_name(&Ident::with_quote('"', create.name.as_str()));
        let using = self.expression_of_policy(&table, create.using.as_deref())?;
        let check = self.expression_of_policy(&table, create.check.as_deref())?;
        if named(&table, &name).is_ok() {
            return Err(has_policy(&name, &table.name));
        }
        let (permissive, command) = (create.permissive, create.command);
        let oid = self.state.new_oid(&table.schema);
        let policy = PolicyDesc { oid, name, permissive, command, roles, using, check, comment: None };
        self.change_row_security(&table, |own| own.policies.push(policy))?;
        Ok(Tag::plain("CREATE POLICY"))
    }

    fn alter_policy(&mut self, alter: &AlterPolicy) -> Result<Tag> {
        self.begin_change()?;
        let roles = if alter.roles.is_empty() { None } else { Some(self.roles_of_policy(&alter.roles)?) };
        let table = self.own_table(&alter.table)?;
        let using = self.expression_of_policy(&table, alter.using.as_deref())?;
        let check = self.expression_of_policy(&table, alter.check.as_deref())?;
        let policy = named(&table, &alter.name)?;
        if matches!(policy.command, PolicyCommand::Select | PolicyCommand::Delete) && check.is_some() {
            return Err(wrong("only USING expression allowed for SELECT, DELETE"));
        }
        if policy.command == PolicyCommand::Insert && using.is_some() {
            return Err(wrong("only WITH CHECK expression allowed for INSERT"));
        }
        let mut changed = policy.clone();
        changed.roles = roles.unwrap_or(changed.roles);
        changed.using = using.or(changed.using);
        changed.check = check.or(changed.check);
        self.put_policy(&table, changed)?;
        Ok(Tag::plain("ALTER POLICY"))
    }

    fn rename_policy(&mut self, name: &str, table: &Name, to: &str) -> Result<Tag> {
        self.begin_change()?;
        let table = self.own_table(table)?;
        let to = new_name(&Ident::with_quote('"', to));
        if named(&table, &to).is_ok() {
            return Err(has_policy(&to, &table.name));
        }
        let policy = named(&table, name)?;
        self.put_policy(&table, PolicyDesc { name: to, ..policy.clone() })?;
        Ok(Tag::plain("ALTER POLICY"))
    }

    fn drop_policy(&mut self, name: &str, table: &Name, if_exists: bool) -> Result<Tag> {
        let tag = Tag::plain("DROP POLICY");
        self.begin_change()?;
        let relation = match self.with_policies(table) {
            Err(error) if if_exists => {
                self.skip(&format!("{}, skipping", error.message()), SqlState::SUCCESSFUL_COMPLETION);
                return Ok(tag);
            }
            relation => relation?,
        };
        let found = match &relation {
            Relation::Table(table) => named(table, name).map(|policy| (table.clone(), policy.oid)),
            other => Err(no_policy(name, other.name())),
        };
        match found {
            Err(_) if if_exists => {
                let relation = relation.name();
                let what = format!("policy \"{name}\" for relation \"{relation}\" does not exist, skipping");
                self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
            }
            found => {
                let (table, oid) = found?;
                self.state.check_owner_as(table.oid, "relation", &table.name)?;
                self.change_row_security(&table, |own| own.policies.retain(|policy| policy.oid != oid))?;
            }
        }
        Ok(tag)
    }

    fn secure_rows(&mut self, secure: &SecureRows) -> Result<Tag> {
        let tag = Tag::plain("ALTER TABLE");
        self.begin_change()?;
        let relation = match self.with_policies(&secure.table) {
            Err(error) if secure.if_exists => {
                self.skip(&format!("{}, skipping", error.message()), SqlState::SUCCESSFUL_COMPLETION);
                return Ok(tag);
            }
            relation => relation?,
        };
        self.state.check_owner(relation.oid())?;
        let table = match relation {
            Relation::Table(table) if !table.is_materialized() => table,
            other => {
                let does = match secure.changes.first() {
                    Some(SecurityChange::Enabled(false)) => "DISABLE ROW SECURITY",
                    Some(SecurityChange::Forced(true)) => "FORCE ROW SECURITY",
                    Some(SecurityChange::Forced(false)) => "NO FORCE ROW SECURITY",
                    _ => "ENABLE ROW SECURITY",
                };
                let what =
                    format!("ALTER action {does} cannot be performed on relation \"{}\"", other.name());
                let detail = format!("This operation is not supported for {}s.", other.kind());
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).detail(detail));
            }
        };
        self.change_row_security(&table, |own| {
            for change in &secure.changes {
                match *change {
                    SecurityChange::Enabled(enabled) => own.enabled = enabled,
                    SecurityChange::Forced(forced) => own.forced = forced,
                }
            }
        })?;
        Ok(tag)
    }

    /// Puts a policy in the place of the one that has its oid.
    pub(super) fn put_policy(&mut self, table: &Arc<TableDesc>, policy: PolicyDesc) -> Result<()> {
        self.change_row_security(table, |own| {
            own.policies.retain(|other| other.oid != policy.oid);
            own.policies.push(policy);
        })
    }

    pub(super) fn change_row_security(
        &mut self,
        table: &Arc<TableDesc>,
        change: impl FnOnce(&mut RowSecurityDesc),
    ) -> Result<()> {
        self.check_not_pending(table.oid, "ALTER TABLE")?;
        let mut desc = (**table).clone();
        desc.change_row_security(change);
        self.put(Relation::Table(Arc::new(desc)))
    }

    /// An expression of a policy of a table, as it is kept.
    fn expression_of_policy(
        &self,
        table: &Arc<TableDesc>,
        text: Option<&str>,
    ) -> Result<Option<PolicyExpression>> {
        let Some(text) = text else { return Ok(None) };
        let kept = with_stack(text, || {
            let ast = scaledb_parse::expression(text)?;
            let kept = self.kept_query(&ast.to_string());
            let bound = self.state.unmade(table)?;
            let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
            binder.noted = Some(Vec::new());
            binder.new_expression_of_policy(&bound, &ast)?;
            let catalog = &self.state.catalog;
            let of_temporary = |oid: u32| {
                catalog.get(oid).is_some_and(|relation| is_temporary(relation.schema()))
                    && !is_temporary(&table.schema)
            };
            let tables: Vec<u32> = binder.tables.iter().map(|(oid, _)| *oid).collect();
            if tables.iter().chain(&binder.relations).any(|&oid| of_temporary(oid)) {
                let what = "a policy of a table that is not temporary cannot name a temporary relation";
                return Err(SqlError::unsupported(what));
            }
            let mut columns: Vec<(u32, i16)> = Vec::new();
            for noted in binder.noted.iter().flatten() {
                match noted {
                    Noted::Column(_, origin, _) => columns.push(*origin),
                    Noted::Star(_, all) => columns.extend(all.iter().map(|column| column.origin)),
                    Noted::Relation(..) => {}
                }
            }
            columns.retain(|(oid, _)| *oid != 0);
            columns.sort_unstable();
            columns.dedup();
            let numbered = tables.iter().filter_map(|&oid| Some((oid, catalog.table(oid)?.next_attnum)));
            let views = binder.relations.iter().filter_map(|&oid| match catalog.get(oid) {
                Some(Relation::View(view)) => Some((oid, i16::try_from(view.columns.len() + 1).ok()?)),
                _ => None,
            });
            let hidden =
                |known: &String| known == "pg_catalog" || is_temporary(known) && !is_temporary(&table.schema);
            Ok(PolicyExpression {
                text: kept,
                known: numbered.chain(views).collect(),
                uses: tables.into_iter().chain(binder.relations).collect(),
                path: self.state.path.iter().filter(|known| !hidden(known)).cloned().collect(),
                columns,
            })
        });
        kept.map(Some)
    }

    /// COMMENT ON POLICY.
    ///
    /// # Errors
    /// 42P01, 42704, 42501.
    pub(super) fn comment_on_policy(&mut self, name: &str, table: &Name, text: Option<&str>) -> Result<()> {
        let relation = self.with_policies(table)?;
        let Relation::Table(table) = &relation else { return Err(no_policy(name, relation.name())) };
        let policy = named(table, name)?.clone();
        self.state.check_owner_as(table.oid, "relation", &table.name)?;
        let comment = text.filter(|text| !text.is_empty()).map(str::to_owned);
        self.put_policy(table, PolicyDesc { comment, ..policy })
    }

    /// The policies of all tables that need something, each with its table.
    pub(super) fn policies_that(
        &self,
        needs: impl Fn(&PolicyDesc) -> bool,
    ) -> Vec<(Arc<TableDesc>, PolicyDesc)> {
        let tables = self.state.catalog.tables().filter(|table| table.row_security.is_some());
        let each = tables.flat_map(|table| table.policies().iter().map(move |policy| (table, policy)));
        each.filter(|(_, policy)| needs(policy))
            .map(|(table, policy)| (table.clone(), policy.clone()))
            .collect()
    }

    /// Drops policies that need what is dropped, but for those of tables that go with it; without `cascade` that stays.
    ///
    /// # Errors
    /// 2BP01.
    pub(super) fn drop_policies_that(
        &mut self,
        needs: impl Fn(&PolicyDesc) -> bool,
        together: &[u32],
        (what, cascade): (&str, bool),
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        for (table, policy) in self.policies_that(needs) {
            if together.contains(&table.oid) {
                continue;
            }
            let user = format!("policy {} on table {}", policy.name, table.name);
            if !cascade {
                return Err(super::alter::depends(what, &user));
            }
            cascaded.push(user);
            // it may have lost another one just now
            let Some(table) = self.state.catalog.table(table.oid).cloned() else { continue };
            self.change_row_security(&table, |own| own.policies.retain(|other| other.oid != policy.oid))?;
        }
        Ok(())
    }

    /// Drops the policies that name a column of a table, which is about to lose it; without `cascade` it stays.
    ///
    /// # Errors
    /// 2BP01.
    pub(super) fn drop_policies_over(
        &mut self,
        desc: &mut TableDesc,
        attnum: i16,
        cascade: bool,
    ) -> Result<()> {
        let (oid, what) = (desc.oid, format!("column {} of table {}", desc.column_name(attnum), desc.name));
        let mut cascaded = Vec::new();
        let needs = |policy: &PolicyDesc| policy.reads(oid, attnum);
        self.drop_policies_that(needs, &[oid], (&what, cascade), &mut cascaded)?;
        // its own are changed with it
        for policy in desc.policies().iter().filter(|policy| needs(policy)) {
            let user = format!("policy {} on table {}", policy.name, desc.name);
            if !cascade {
                return Err(super::alter::depends(&what, &user));
            }
            cascaded.push(user);
        }
        desc.change_row_security(|own| own.policies.retain(|policy| !needs(policy)));
        self.tell_of_cascade(&cascaded);
        Ok(())
    }

    /// DROP OWNED: no policy is for a role any more; one that was for nobody else goes.
    pub(super) fn drop_policies_for(&mut self, role: u32) -> Result<()> {
        for (table, policy) in self.policies_that(|policy| policy.roles.contains(&role)) {
            let Some(table) = self.state.catalog.table(table.oid).cloned() else { continue };
            self.change_row_security(&table, |own| {
                for other in own.policies.iter_mut().filter(|other| other.oid == policy.oid) {
                    other.roles.retain(|known| *known != role);
                }
                own.policies.retain(|other| !other.roles.is_empty());
            })?;
        }
        Ok(())
    }
}
