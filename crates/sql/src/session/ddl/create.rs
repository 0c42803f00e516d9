//! CREATE TABLE, INDEX, VIEW.

use super::super::Session;
use super::constraint::include;
use super::generated::unqualified;
use super::sequence::{new_sequence, next_of};
use super::spread::Asked;
use super::{new_name, position};
use crate::api::Tag;
use scaledb_catalog::{ColumnDesc, Identity, IndexDesc, KeyColumn, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::like::like_of;
use scaledb_parse::sequence::split_name;
use scaledb_parse::{self as parse, create_as};
use scaledb_planner::bind::names::{check_database, fold, is_temporary, split};
use scaledb_types::{Base, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{
    self, ColumnDef, ColumnOption, CreateIndex, CreateTable, DataType, Expr as Ast, GeneratedAs, ObjectName,
    SequenceOptions, Statement,
};
use std::sync::Arc;

/// A sequence that goes with a column.
struct Owned {
    column: String,
    ty: Type,
    options: Vec<SequenceOptions>,
}

impl<E: Engine> Session<E> {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Result<Tag> {
        if create.inherits.is_some() {
            return Err(SqlError::unsupported("inheritance is not supported"));
        }
        let executed = create_as::executed(create).map(|(name, arguments)| (fold(name), arguments));
        if create.like.is_some() || create.clone.is_some() && executed.is_none() {
            return Err(SqlError::unsupported("CREATE TABLE LIKE is not supported"));
        }
        let asked = super::spread::asked(create, self.state.shared.engine.table_options())?;
        check_database(&create.name, Some(&self.state.database_name))?;
        let (schema, name) = split(&create.name)?;
        let schema = self.schema_for(schema, create.temporary)?;
        if create.on_commit.is_some() && !is_temporary(&schema) {
            let what = "ON COMMIT can only be used on temporary tables";
            return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what));
        }
        self.begin_change()?;
        if self.state.catalog.is_taken(&schema, &name) {
            let taken = self.name_is_taken(&schema, &name);
            if create.if_not_exists && taken.code() == SqlState::DUPLICATE_TABLE {
                self.skip(&format!("{taken}, skipping"), SqlState::DUPLICATE_TABLE);
                let as_query = create.query.is_some() || executed.is_some();
                return Ok(Tag::plain(if as_query { "CREATE TABLE AS" } else { "CREATE TABLE" }));
            }
            return Err(taken);
        }
        let mut desc = TableDesc::new(self.state.new_oid(&schema), schema, name);
        if let Some(action) = create.on_commit {
            self.on_commit(desc.oid, action);
        }
        if create.query.is_some() || executed.is_some() {
            return self.create_table_as(desc, create, executed, &asked);
        }
        let (mut owned, mut copied) = (Vec::new(), Vec::new());
        for column in &create.columns {
            match like_of(column)? {
                Some(like) => copied.extend(self.like_columns(&mut desc, like)?),
                None => self.add_column(&mut desc, column, &mut owned)?,
            }
        }
        let columns = create.columns.iter().filter(|column| !column.name.value.is_empty());
        for column in columns.clone() {
            self.column_constraints(&mut desc, column)?;
        }
        let (references, others): (Vec<_>, Vec<_>) = create
            .constraints
            .iter()
            .partition(|constraint| matches!(constraint, ast::TableConstraint::ForeignKey(_)));
        for constraint in others {
            self.table_constraint(&mut desc, constraint)?;
        }
        for copied in copied {
            self.like_rest(&mut desc, copied)?;
        }
        // behind the keys, for they may refer to those of the table itself
        for column in columns {
            self.column_references(&mut desc, column)?;
        }
        for constraint in references {
            self.table_constraint(&mut desc, constraint)?;
        }
        for owned in owned {
            self.make_owned(&mut desc, owned)?;
        }
        super::rebuild::check_limits(&desc)?;
        desc.spread = asked.of(&desc)?;
        if let ast::CreateTableOptions::With(options) = &create.table_options {
            desc.parameters = super::spread::parameters(options);
        }
        self.check_expressions(&desc)?;
        self.make_table(&mut desc)?;
        let (oid, keys) = (desc.oid, desc.foreign_keys.clone());
        self.put(Relation::Table(Arc::new(desc)))?;
        for key in keys.iter().filter(|key| key.table != oid) {
            self.renew(key.table)?;
        }
        Ok(Tag::plain("CREATE TABLE"))
    }

    /// Gives a table a new descriptor with the same content: transactions that use the old one do not commit.
    pub(super) fn renew(&mut self, oid: u32) -> Result<()> {
        match self.state.catalog.table(oid) {
            Some(desc) => {
                let desc = Arc::new((**desc).clone());
                self.put(Relation::Table(desc))
            }
            None => Ok(()),
        }
    }

    fn create_table_as(
        &mut self,
        mut desc: TableDesc,
        create: &CreateTable,
        executed: Option<(String, Vec<String>)>,
        asked: &Asked,
    ) -> Result<Tag> {
        let (compiled, params) = match (&create.query, executed) {
            (_, Some((name, arguments))) => self.bound_by_name(&name, &arguments)?,
            (Some(query), None) => (self.compile(&query.to_string(), &[])?, Vec::new()),
            (None, None) => return Err(SqlError::internal("a table of no query")),
        };
        if create.query.is_none() && !matches!(parse::statement(&compiled.text)?, Statement::Query(_)) {
            let what = "prepared statement is not a SELECT";
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        let text = compiled.text.to_string();
        let columns = compiled.columns.clone().unwrap_or_default();
        for (number, column) in columns.iter().enumerate() {
            let name = create.columns.get(number).map_or_else(|| column.name.clone(), |c| new_name(&c.name));
            if desc.column(&name).is_some() {
                let what = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
            }
            not_of_system(&name)?;
            if column.ty.base == Base::Record {
                return Err(pseudo_type(&name, column.ty));
            }
            self.state.check_type(column.ty)?;
            let attnum = desc.next_attnum;
            desc.columns.push(ColumnDesc::new(name, attnum, column.ty.oid(), column.ty.modifier()));
            desc.next_attnum += 1;
        }
        if create.columns.len() > columns.len() {
            let what = "too many column names were specified";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        desc.spread = asked.of(&desc)?;
        if let ast::CreateTableOptions::With(options) = &create.table_options {
            desc.parameters = super::spread::parameters(options);
        }
        self.make_table(&mut desc)?;
        let target = format!("\"{}\".\"{}\"", desc.schema, desc.name.replace('"', "\"\""));
        let oid = desc.oid;
        self.put(Relation::Table(Arc::new(desc)))?;
        if create_as::is_without_data(create) {
            let plain = create.query.is_some();
            return Ok(if plain { Tag::plain("CREATE TABLE AS") } else { Tag::rows("SELECT", 0) });
        }
        let types: Vec<u32> = compiled.params.iter().map(|ty| ty.oid()).collect();
        let insert = self.compile(&format!("INSERT INTO {target} {text}"), &types)?;
        let mut rows = super::super::kept::Kept::default();
        let mut explaining = self.explaining.take();
        let target = match &mut explaining {
            Some(explaining) => super::super::run::Target::Explain(explaining),
            None => super::super::run::Target::Keep(&mut rows),
        };
        let around = self.filling.replace(oid);
        let count = self.run_plan(&insert, &params, false, target);
        self.filling = around;
        self.explaining = explaining;
        let count = count?;
        Ok(Tag::rows("SELECT", count))
    }

    /// Adds a column, without the constraints that name other things.
    fn add_column(&mut self, desc: &mut TableDesc, column: &ColumnDef, owned: &mut Vec<Owned>) -> Result<()> {
        let name = new_name(&column.name);
        if desc.column(&name).is_some() {
            let what = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
        }
        not_of_system(&name)?;
        let ty = self.data_type(&column.data_type)?;
        if matches!(ty.base, Base::Unknown | Base::Void | Base::Record | Base::Polymorphic(_)) {
            return Err(pseudo_type(&name, ty));
        }
        let mut described = ColumnDesc {
            name: name.clone(),
            attnum: desc.next_attnum,
            type_oid: ty.oid(),
            typmod: ty.modifier(),
            not_null: false,
            default: None,
            identity: None,
            generated: None,
            hidden: false,
            key: None,
        };
        if is_serial(&column.data_type) {
            described.not_null = true;
            owned.push(Owned { column: name.clone(), ty, options: Vec::new() });
        }
        let twice = |what: &str| {
            let what = format!("{what} specified for column \"{name}\" of table \"{}\"", desc.name);
            Err(SqlError::new(SqlState::SYNTAX_ERROR, what))
        };
        let mut nullable = false;
        for option in &column.options {
            match &option.option {
                ColumnOption::Null => nullable = true,
                ColumnOption::Collation(_) => parse::collation::check_type(ty)?,
                ColumnOption::NotNull => described.not_null = true,
                ColumnOption::Default(_) if described.default.is_some() => {
                    return twice("multiple default values");
                }
                ColumnOption::Default(expr) => {
                    described.default = self.kept_default(&described, expr);
                }
                ColumnOption::Generated { generated_as, sequence_options, generation_expr: None, .. } => {
                    if described.identity.is_some() {
                        return twice("multiple identity specifications");
                    }
                    check_identity_type(ty)?;
                    described.not_null = true;
                    described.identity = Some(match generated_as {
                        GeneratedAs::Always => Identity::Always,
                        _ => Identity::ByDefault,
                    });
                    let options = sequence_options.clone().unwrap_or_default();
                    owned.push(Owned { column: name.clone(), ty, options });
                }
                ColumnOption::Generated { .. } if described.generated.is_some() => {
                    return twice("multiple generation clauses");
                }
                ColumnOption::Generated { generation_expr: Some(expr), .. } => {
                    described.generated = Some(self.kept_expression(&unqualified(expr, desc)));
                }
                _ => {}
            }
        }
        let serial = is_serial(&column.data_type);
        if described.identity.is_some() && (serial || described.default.is_some()) {
            return twice("both default and identity");
        }
        if described.generated.is_some() && described.identity.is_some() {
            return twice("both identity and generation expression");
        }
        if described.generated.is_some() && (serial || described.default.is_some()) {
            return twice("both default and generation expression");
        }
        if serial && described.default.is_some() {
            return twice("multiple default values");
        }
        if nullable && described.not_null {
            let what = format!(
                "conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{}\"",
                desc.name
            );
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        desc.next_attnum += 1;
        desc.columns.push(described);
        Ok(())
    }

    /// Adds a column to a table that exists, with its sequence; constraints are the caller's.
    pub(super) fn add_column_later(&mut self, desc: &mut TableDesc, column: &ColumnDef) -> Result<()> {
        let mut owned = Vec::new();
        self.add_column(desc, column, &mut owned)?;
        for owned in owned {
            self.make_owned(desc, owned)?;
        }
        Ok(())
    }

    /// Makes the sequence of a serial or identity column.
    fn make_owned(&mut self, desc: &mut TableDesc, owned: Owned) -> Result<()> {
        let (named, options) = split_name(&owned.options);
        let name = match named {
            Some(named) => self.name_of_sequence(desc, &named)?,
            None => self.free_name(desc, &[&desc.name, &owned.column], "seq"),
        };
        let column = position(desc, &owned.column)?;
        let oid = self.state.new_oid(&desc.schema);
        let mut sequence = new_sequence(oid, &desc.schema, &name, owned.ty, &options)?;
        sequence.owned_by = Some((desc.oid, desc.columns[column].attnum));
        desc.columns[column].default = Some(next_of(&sequence));
        self.put(Relation::Sequence(Arc::new(sequence)))
    }

    /// The name that is asked for the sequence of an identity column.
    ///
    /// # Errors
    /// 42P07 if it is taken, 42P01 in another schema than the table's.
    fn name_of_sequence(&self, desc: &TableDesc, named: &ObjectName) -> Result<String> {
        let (schema, name) = split(named)?;
        if let Some(schema) = schema.filter(|schema| *schema != desc.schema) {
            let what = format!("relation \"{schema}.{}\" does not exist", desc.name);
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what)
                .detail("The sequence of an identity column is in the schema of its table."));
        }
        if self.state.catalog.is_taken(&desc.schema, &name) {
            return Err(self.name_is_taken(&desc.schema, &name));
        }
        Ok(name)
    }

    /// ADD GENERATED AS IDENTITY of an existing column.
    pub(super) fn add_identity(
        &mut self,
        desc: &mut TableDesc,
        column: &str,
        options: &[SequenceOptions],
    ) -> Result<()> {
        let at = position(desc, column)?;
        let ty = scaledb_planner::plan::column_type(&self.state.catalog, &desc.columns[at])?;
        self.make_owned(desc, Owned { column: column.to_owned(), ty, options: options.to_vec() })
    }

    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<Tag> {
        match &create.using {
            // what hash indexes do, ordered ones do, too
            None | Some(ast::IndexType::BTree | ast::IndexType::Hash) => {}
            Some(other) => {
                let name = other.to_string().to_lowercase();
                return Err(SqlError::unsupported(format!("indexes of type {name} are not supported")));
            }
        }
        if create.concurrently {
            self.check_no_block("CREATE INDEX CONCURRENTLY")?;
        }
        self.begin_change()?;
        let table = self.lookup_table(&create.table_name)?;
        self.state.check_owner(table.desc.oid)?;
        self.check_may_create_in(&table.desc.schema)?;
        let mut desc = (*table.desc).clone();
        let mut columns = Vec::new();
        for column in &create.columns {
            columns.push(self.index_column(&mut desc, &column.column, create.predicate.as_ref())?);
        }
        for (number, column) in columns.iter().enumerate() {
            if columns[..number].iter().any(|other| other.attnum == column.attnum) {
                let what = "an index with a column or an expression twice is not supported";
                return Err(SqlError::unsupported(what));
            }
        }
        let names = desc.key_names(&columns);
        let name = match &create.name {
            Some(name) => split(name)?.1,
            None => {
                let mut parts = vec![desc.name.as_str()];
                let included: Vec<String> = create.include.iter().map(fold).collect();
                parts.extend(names.iter().chain(&included).map(String::as_str));
                self.free_name(&desc, &parts, "idx")
            }
        };
        if self.state.catalog.is_taken(&desc.schema, &name) {
            let what = format!("relation \"{name}\" already exists");
            if create.if_not_exists {
                self.skip(&format!("{what}, skipping"), SqlState::DUPLICATE_TABLE);
                return Ok(Tag::plain("CREATE INDEX"));
            }
            return Err(SqlError::new(SqlState::DUPLICATE_TABLE, what));
        }
        let oid = self.state.new_oid(&desc.schema);
        self.check_not_pending(desc.oid, "CREATE INDEX")?;
        let condition = create.predicate.as_ref();
        let predicate = condition.map(|condition| self.index_predicate(&mut desc, condition)).transpose()?;
        desc.indexes.push(IndexDesc {
            oid,
            name,
            columns,
            unique: create.unique,
            constraint: false,
            primary: false,
            deferrable: None,
            engine: String::new(),
            predicate,
            nulls_not_distinct: create.nulls_distinct == Some(false),
            exclusion: None,
        });
        let included: Vec<String> = create.include.iter().map(fold).collect();
        include(&mut desc, Some(oid), &included)?;
        let mut values = Self::identity(&table);
        // what is computed takes its place
        values.resize(desc.columns.len(), scaledb_planner::plan::expr::Expr::Const(Value::Null));
        self.as_owner_of(table.desc.oid, |session| session.rebuild(&table, desc, values))?;
        Ok(Tag::plain("CREATE INDEX"))
    }
}

/// A column of an index, with its direction.
pub(super) fn key_column(desc: &TableDesc, column: &ast::OrderByExpr) -> Result<KeyColumn> {
    let mut expr = &column.expr;
    while let Ast::Nested(inner) | Ast::Collate { expr: inner, .. } = expr {
        expr = inner;
    }
    let Ast::Identifier(ident) = expr else {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, "a key of a constraint is made of columns"));
    };
    let at = position(desc, &scaledb_planner::bind::names::fold(ident))?;
    Ok(directed(desc.columns[at].attnum, column))
}

/// A column of a number, with the direction that is written behind it.
pub(super) fn directed(attnum: i16, column: &ast::OrderByExpr) -> KeyColumn {
    let descending = column.options.asc == Some(false);
    KeyColumn { attnum, descending, nulls_first: column.options.nulls_first.unwrap_or(descending) }
}

fn is_serial(ty: &DataType) -> bool {
    let DataType::Custom(name, _) = ty else { return false };
    let name = name.to_string().to_lowercase();
    matches!(name.as_str(), "serial" | "serial4" | "bigserial" | "serial8" | "smallserial" | "serial2")
}

/// 42P16 for a type that no column has.
pub(super) fn pseudo_type(column: &str, ty: Type) -> SqlError {
    let what = format!("column \"{column}\" has pseudo-type {}", ty.sql_name());
    SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what)
}

/// An identity column counts in an integer type.
///
/// # Errors
/// 22023.
pub(super) fn check_identity_type(ty: Type) -> Result<()> {
    if matches!(ty.base, Base::Int2 | Base::Int4 | Base::Int8) && !ty.array && ty.domain.is_none() {
        return Ok(());
    }
    Err(SqlError::invalid_parameter("identity column type must be smallint, integer, or bigint"))
}

/// # Errors
/// 42701 for the name of a column that each table of PostgreSQL has.
pub(super) fn not_of_system(name: &str) -> Result<()> {
    if !["tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"].contains(&name) {
        return Ok(());
    }
    let what = format!("column name \"{name}\" conflicts with a system column name");
    Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what))
}
