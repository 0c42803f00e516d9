//! CREATE, REFRESH and ALTER MATERIALIZED VIEW.
//!
//! A materialized view is a table with a query. REFRESH deletes its rows, as TRUNCATE does, and inserts those of the
//! query; CONCURRENTLY it writes only the rows that differ. Both are part of their transaction, which depends on all
//! that the query has read. The statements that do it name the view in a way that no other statement can: read, it is
//! its query.

use super::super::Session;
use super::create::pseudo_type;
use crate::api::{Executed, Tag};
use crate::compiled::{Action, Held};
use crate::patience::{CHANGE_ATTEMPTS, STATEMENT_ATTEMPTS, STATEMENT_PATIENCE, sleep_before};
use crate::session::compile::{Compiling, compiled};
use crate::session::kept::Kept;
use crate::session::run::Target;
use scaledb_catalog::{ColumnDesc, IndexDesc, MaterializedDesc, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse as parse;
use scaledb_parse::materialized::{Alter, Create, Materialized, Refresh, marked};
use scaledb_planner::plan::BoundTable;
use scaledb_types::{Base, Result, SqlError, SqlState};
use sqlparser::ast::{AlterTableOperation, Statement};
use std::sync::Arc;
use std::time::Instant;

impl<E: Engine> Session<E> {
    /// Runs a statement about a materialized view. REFRESH writes many rows that others read, so that it is tried as
    /// long as any statement that writes.
    pub(in crate::session) fn run_materialized(
        &mut self,
        statement: &Materialized,
        alone: bool,
    ) -> Result<Executed> {
        let refreshes = matches!(statement, Materialized::Refresh(_));
        let (begin, deadline) = (Instant::now(), self.deadline());
        let mut attempt = 0;
        loop {
            let result = self.run_change(alone, |session| session.change_materialized(statement));
            attempt += CHANGE_ATTEMPTS;
            match result {
                Err(error)
                    if alone
                        && refreshes
                        && error.code() == SqlState::SERIALIZATION_FAILURE
                        && (attempt < STATEMENT_ATTEMPTS || begin.elapsed() < STATEMENT_PATIENCE) => {}
                other => return other,
            }
            sleep_before(attempt);
            let mut context = self.context();
            context.deadline = deadline;
            context.check_cancel()?;
        }
    }

    /// A statement about a materialized view.
    pub(in crate::session) fn change_materialized(&mut self, statement: &Materialized) -> Result<Tag> {
        match statement {
            Materialized::Create(create) => self.create_materialized(create),
            Materialized::Refresh(refresh) => self.refresh_materialized(refresh),
            Materialized::Alter(alter) => self.alter_materialized(alter),
        }
    }

    fn create_materialized(&mut self, create: &Create) -> Result<Tag> {
        const TAG: &str = "CREATE MATERIALIZED VIEW";
        let query = self.query_of(create)?;
        let Action::Plan(plan) = &query.action else { return Err(no_query()) };
        if plan.writes {
            let what = "materialized views must not use data-modifying statements in WITH";
            return Err(SqlError::unsupported(what));
        }
        if !query.params.is_empty() {
            let what = "materialized views may not be defined using bound parameters";
            return Err(SqlError::unsupported(what));
        }
        if self.is_of_temporary(plan) {
            let what = "materialized views must not use temporary tables or views";
            return Err(SqlError::unsupported(what));
        }
        if create.columns.len() > query.columns.iter().flatten().count() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "too many column names were specified"));
        }
        let schema = self.schema_for(create.schema.clone(), false)?;
        if scaledb_planner::bind::names::is_temporary(&schema) {
            return Err(SqlError::unsupported("temporary materialized views are not supported"));
        }
        self.begin_change()?;
        let name = super::cut(create.name.clone());
        if self.state.catalog.is_taken(&schema, &name) {
            let taken = self.name_is_taken(&schema, &name);
            if create.if_not_exists && taken.code() == SqlState::DUPLICATE_TABLE {
                self.skip(&format!("{taken}, skipping"), SqlState::DUPLICATE_TABLE);
                return Ok(Tag::plain(TAG));
            }
            return Err(taken);
        }
        let definition = self.definition(&query.text, plan, &schema);
        let mut desc = TableDesc::new(self.state.shared.new_oid(), schema, name);
        desc.materialized = Some(MaterializedDesc {
            query: definition.query,
            uses: definition.uses,
            path: definition.path,
            known: definition.known,
            populated: create.with_data,
        });
        for (number, column) in query.columns.iter().flatten().enumerate() {
            let given = create.columns.get(number).cloned().map(super::cut);
            let name = given.unwrap_or_else(|| column.name.clone());
            if desc.column(&name).is_some() {
                let what = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
            }
            if column.ty.base == Base::Record {
                return Err(pseudo_type(&name, column.ty));
            }
            self.state.check_type(column.ty)?;
            let attnum = desc.next_attnum;
            desc.columns.push(ColumnDesc::new(name, attnum, column.ty.oid(), column.ty.modifier()));
            desc.next_attnum += 1;
        }
        self.spread_materialized(&mut desc, create.options.as_deref())?;
        self.make_table(&mut desc)?;
        let desc = Arc::new(desc);
        self.put(Relation::Table(desc.clone()))?;
        if !create.with_data {
            return Ok(Tag::plain(TAG));
        }
        Ok(Tag::rows("SELECT", self.fill(&desc, TAG)?))
    }

    /// The query of a CREATE MATERIALIZED VIEW, compiled.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::session) fn query_of(&mut self, create: &Create) -> Result<Held> {
        let statement = parse::with_stack(&create.query, || parse::statement(&create.query))?;
        let Statement::Query(query) = statement else { return Err(no_query()) };
        self.compile(&query.to_string(), &[])
    }

    /// Where its rows are in a cluster, as WITH says it for any table.
    fn spread_materialized(&self, desc: &mut TableDesc, options: Option<&str>) -> Result<()> {
        let Some(options) = options else { return Ok(()) };
        let text = format!("CREATE TABLE t () WITH ({options})");
        let Statement::CreateTable(create) = parse::statement(&text)? else { return Err(no_query()) };
        let asked = super::spread::asked(&create, self.state.shared.engine.table_options())?;
        desc.spread = asked.of(desc)?;
        Ok(())
    }

    fn refresh_materialized(&mut self, refresh: &Refresh) -> Result<Tag> {
        const TAG: &str = "REFRESH MATERIALIZED VIEW";
        if self.transaction.is_read_only() {
            let what = format!("cannot execute {TAG} in a read-only transaction");
            return Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, what));
        }
        self.ensure_begun()?;
        let desc = self.materialized_named(refresh.schema.as_deref(), &refresh.name)?;
        self.state.check_owner(desc.oid)?;
        if refresh.concurrently && desc.is_unpopulated() {
            let what = "CONCURRENTLY cannot be used when the materialized view is not populated";
            return Err(SqlError::unsupported(what));
        }
        if refresh.concurrently && !refresh.with_data {
            let what = "CONCURRENTLY and WITH NO DATA options cannot be used together";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        if refresh.concurrently {
            self.refresh_beside(&desc)?;
            return Ok(Tag::plain(TAG));
        }
        let table = self.table(desc.oid)?;
        if self.replace_large(std::slice::from_ref(&table))?.is_empty() {
            self.note_writes();
            self.delete_all(&table)?;
        }
        self.set_populated(desc.oid, refresh.with_data)?;
        if refresh.with_data {
            self.fill(&desc, TAG)?;
        }
        Ok(Tag::plain(TAG))
    }

    /// The materialized view of a name.
    ///
    /// # Errors
    /// 42P01, 0A000.
    fn materialized_named(&self, schema: Option<&str>, name: &str) -> Result<Arc<TableDesc>> {
        match scaledb_planner::bind::names::find_relation(&self.state.catalog, &self.state.path, schema, name)
        {
            Some(Relation::Table(desc)) if desc.is_materialized() => Ok(desc.clone()),
            Some(_) => Err(SqlError::unsupported(format!("\"{name}\" is not a materialized view"))),
            None => {
                let what = format!(
                    "relation \"{}\" does not exist",
                    scaledb_planner::bind::names::shown(schema, name)
                );
                Err(SqlError::new(SqlState::UNDEFINED_TABLE, what))
            }
        }
    }

    /// Notes whether it may be read.
    fn set_populated(&mut self, oid: u32, populated: bool) -> Result<()> {
        let Some(desc) = self.state.catalog.table(oid) else { return Ok(()) };
        let mut desc = (**desc).clone();
        match &mut desc.materialized {
            Some(own) if own.populated != populated => own.populated = populated,
            _ => return Ok(()),
        }
        self.put(Relation::Table(Arc::new(desc)))
    }

    /// Inserts the rows of its query into a materialized view that has none. How many these are.
    fn fill(&mut self, desc: &TableDesc, words: &str) -> Result<u64> {
        let name = marked(&desc.schema, &desc.name);
        let text = format!("INSERT INTO {name} SELECT * FROM {name}");
        let filled = self.run_for(desc, words, &text);
        filled.map_err(|error| match error.code() {
            SqlState::UNIQUE_VIOLATION => not_unique(error, desc),
            _ => error,
        })
    }

    /// Deletes the rows that the query does not have any more, and inserts those that it has beside the others.
    ///
    /// # Errors
    /// 55000 without a unique index; 21000 if the query has a row twice; 23505.
    fn refresh_beside(&mut self, desc: &TableDesc) -> Result<()> {
        let table = self.table(desc.oid)?;
        let key = desc.indexes.iter().find(|index| identifies(desc, index)).ok_or_else(|| {
            let what =
                format!("cannot refresh materialized view \"{}.{}\" concurrently", desc.schema, desc.name);
            SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what).hint(
                "Create a unique index with no WHERE clause on one or more columns of the materialized view.",
            )
        })?;
        let words = "REFRESH MATERIALIZED VIEW CONCURRENTLY";
        let statements = super::differences::statements(desc, &table.types, key);
        self.run_for(desc, words, &statements.unidentified)?;
        let merged = self.run_for(desc, words, &statements.merge);
        merged.map(|_| ()).map_err(|error| super::differences::told(error, &desc.name))
    }

    /// Runs a statement that nobody has written, as a part of one about a materialized view.
    fn run_for(&mut self, desc: &TableDesc, words: &str, text: &str) -> Result<u64> {
        // what its query calls may do what its owner may, and sees what its owner sees
        self.as_owner_of(desc.oid, |session| session.run_as_owner(desc, words, text))
    }

    fn run_as_owner(&mut self, desc: &TableDesc, words: &str, text: &str) -> Result<u64> {
        let shown = format!("{words} {}", parse::lex::quoted(&desc.name));
        let number = self.state.shared.trace.number(&shown);
        let serial = self.state.shared.collected.serial();
        let planned = parse::with_stack(text, || {
            let ast = parse::statement(text)?;
            let compiling = Compiling {
                catalog: &self.state.catalog,
                lookup: &self.state,
                env: &self.env,
                text: "",
                types: Vec::new(),
                variables: None,
            };
            compiling.statement(&ast)
        })?;
        let planned = planned.ok_or_else(|| SqlError::internal("a statement without a plan"))?;
        let version = self.state.catalog.version;
        let compiled =
            compiled(&shown, number, serial, planned.action, planned.params, planned.columns, version);
        let compiled = Held::new(Arc::new(compiled));
        let mut rows = Kept::default();
        let mut explaining = self.explaining.take();
        let target = match &mut explaining {
            Some(explaining) => Target::Explain(explaining),
            None => Target::Keep(&mut rows),
        };
        let around = self.filling.replace(desc.oid);
        let count = self.run_plan(&compiled, &[], false, target);
        self.filling = around;
        self.explaining = explaining;
        count
    }

    fn alter_materialized(&mut self, alter: &Alter) -> Result<Tag> {
        let Statement::AlterTable(operations) = parse::statement(&alter.text)? else {
            return Err(SqlError::internal("another statement"));
        };
        let schema = alter.schema.as_deref();
        let found = scaledb_planner::bind::names::find_relation(
            &self.state.catalog,
            &self.state.path,
            schema,
            &alter.name,
        );
        if let Some(relation) = found
            && !matches!(relation, Relation::Table(desc) if desc.is_materialized())
        {
            let what = format!("\"{}\" is not a materialized view", alter.name);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        self.alter_table(&operations)?;
        Ok(Tag::plain("ALTER MATERIALIZED VIEW"))
    }

    /// Whether a change of a table may be made of a materialized view.
    ///
    /// # Errors
    /// 42809.
    pub(super) fn may_alter(&self, table: &BoundTable, operation: &AlterTableOperation) -> Result<()> {
        if !table.desc.is_materialized() {
            return Ok(());
        }
        let Some(action) = refused(operation) else { return Ok(()) };
        let what = format!("ALTER action {action} cannot be performed on relation \"{}\"", table.desc.name);
        Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
            .detail("This operation is not supported for materialized views."))
    }
}

/// What a change is called that materialized views do not take.
fn refused(operation: &AlterTableOperation) -> Option<&'static str> {
    use sqlparser::ast::AlterColumnOperation as Column;
    Some(match operation {
        AlterTableOperation::AddColumn { .. } => "ADD COLUMN",
        AlterTableOperation::DropColumn { .. } => "DROP COLUMN",
        AlterTableOperation::AddConstraint { .. } => "ADD CONSTRAINT",
        AlterTableOperation::DropConstraint { .. } => "DROP CONSTRAINT",
        AlterTableOperation::ValidateConstraint { .. } => "VALIDATE CONSTRAINT",
        AlterTableOperation::AlterColumn { op, .. } => match op {
            Column::SetNotNull => "ALTER COLUMN ... SET NOT NULL",
            Column::DropNotNull => "ALTER COLUMN ... DROP NOT NULL",
            Column::SetDefault { .. } | Column::DropDefault => "ALTER COLUMN ... SET DEFAULT",
            Column::SetDataType { .. } => "ALTER COLUMN ... SET DATA TYPE",
            Column::AddGenerated { .. } => "ALTER COLUMN ... ADD IDENTITY",
        },
        _ => return None,
    })
}

/// Whether no two rows of a table have the same values in the columns of an index, and these are columns.
fn identifies(desc: &TableDesc, index: &IndexDesc) -> bool {
    index.is_key() && !desc.has_expressions(index)
}

/// What PostgreSQL says, which makes the indexes anew.
fn not_unique(error: SqlError, desc: &TableDesc) -> SqlError {
    let fields = error.fields();
    let own =
        fields.constraint.as_deref().filter(|name| desc.indexes.iter().any(|index| index.name == *name));
    let (Some(name), true) = (own, fields.table.as_deref() == Some(desc.name.as_str())) else { return error };
    let told = SqlError::new(SqlState::UNIQUE_VIOLATION, format!("could not create unique index \"{name}\""));
    let told = told.table(desc.schema.as_str(), desc.name.as_str()).constraint(name);
    match fields.detail.as_deref().and_then(|detail| detail.strip_suffix(" already exists.")) {
        Some(key) => told.detail(format!("{key} is duplicated.")),
        None => told,
    }
}

fn no_query() -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, "a materialized view is defined by a query")
}
