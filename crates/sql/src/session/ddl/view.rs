//! CREATE VIEW and ALTER VIEW.

use super::super::Session;
use super::create::{not_of_system, pseudo_type};
use super::definition::Definition;
use super::new_name;
use crate::api::Tag;
use scaledb_catalog::{CheckOption, Relation, ViewDesc};
use scaledb_engine::Engine;
use scaledb_parse::alter_view::{AlterView, ViewChange};
use scaledb_parse::lex::quoted;
use scaledb_parse::with_stack;
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::names::{check_database, find_relation, fold, shown, split};
use scaledb_planner::bind::updatable::{Updatable, Why};
use scaledb_types::{Base, Result, SqlError, SqlState};
use sqlparser::ast::{self, CreateView, Expr as Ast, Ident, Statement};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    pub(super) fn create_view(&mut self, create: &CreateView) -> Result<Tag> {
        if create.materialized {
            // OR REPLACE and TEMPORARY are not for those
            let what = "syntax error at or near \"MATERIALIZED\"";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let text = create.query.to_string();
        self.state.defines.set(true);
        let compiled = self.compile(&text, &[]);
        self.state.defines.set(false);
        let compiled = compiled?;
        let crate::compiled::Action::Plan(plan) = &compiled.action else {
            return Err(SqlError::unsupported("views must not contain SELECT INTO"));
        };
        if create.columns.len() > compiled.columns.iter().flatten().count() {
            let what = "CREATE VIEW specifies more column names than columns";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        check_database(&create.name, Some(&self.state.database_name))?;
        let (schema, name) = split(&create.name)?;
        let of_temporary = self.is_of_temporary(plan);
        if of_temporary && !create.temporary {
            self.skip(&format!("view \"{name}\" will be a temporary view"), SqlState::WARNING);
        }
        let schema = self.schema_for(schema, create.temporary || of_temporary)?;
        self.begin_change()?;
        let mut oid = self.state.new_oid(&schema);
        let mut replaced: Option<Arc<ViewDesc>> = None;
        if self.state.catalog.is_taken(&schema, &name) {
            match self.state.catalog.lookup(&schema, &name) {
                Some(Relation::View(view)) if create.or_replace => {
                    self.state.check_owner(view.oid)?;
                    oid = view.oid;
                    replaced = Some(view.clone());
                }
                Some(_) if create.or_replace => {
                    let what = format!("\"{name}\" is not a view");
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
                }
                _ if create.if_not_exists => return Ok(Tag::plain("CREATE VIEW")),
                _ => return Err(self.name_is_taken(&schema, &name)),
            }
        }
        let mut columns: Vec<(String, u32, i32)> = Vec::new();
        for (number, column) in compiled.columns.iter().flatten().enumerate() {
            let name = create.columns.get(number).map_or_else(|| column.name.clone(), |c| new_name(&c.name));
            if columns.iter().any(|(known, ..)| *known == name) {
                let what = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
            }
            if column.ty.base == Base::Record {
                return Err(pseudo_type(&name, column.ty));
            }
            self.state.check_type(column.ty)?;
            columns.push((name, column.ty.oid(), column.ty.modifier()));
        }
        if let Some(replaced) = &replaced {
            may_replace(&replaced.columns, &columns)?;
        }
        let Definition { query, uses, path, known } = self.definition(&text, plan, &schema);
        let mut view = ViewDesc {
            oid,
            schema,
            name,
            columns,
            query,
            uses,
            path,
            known,
            security_invoker: None,
            security_barrier: None,
            check_option: None,
            defaults: Vec::new(),
            triggers: Vec::new(),
            comments: Vec::new(),
        };
        if let Some(replaced) = replaced {
            view.defaults.clone_from(&replaced.defaults);
            view.triggers.clone_from(&replaced.triggers);
            view.comments.clone_from(&replaced.comments);
        }
        set_options(&mut view, &options_of(&create.options)?)?;
        let view = Arc::new(view);
        self.check_check_option(&view)?;
        self.put(Relation::View(view))?;
        Ok(Tag::plain("CREATE VIEW"))
    }

    /// ALTER VIEW.
    ///
    /// # Errors
    /// 42P01, 42809 for what is no view, 42501, 42P07; 22023 for an option that there is not.
    pub(in crate::session) fn alter_view(&mut self, alter: &AlterView) -> Result<Tag> {
        let tag = Tag::plain("ALTER VIEW");
        self.begin_change()?;
        let (schema, name) = (alter.name.0.as_deref(), &alter.name.1);
        let found = find_relation(&self.state.catalog, &self.state.path, schema, name).cloned();
        let view = match &found {
            Some(Relation::View(view)) => view,
            Some(_) => {
                let what = format!("\"{name}\" is not a view");
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
            }
            None => {
                let what = format!("relation \"{}\" does not exist", shown(schema, name));
                if !alter.if_exists {
                    return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
                }
                self.skip(&format!("{what}, skipping"), SqlState::UNDEFINED_TABLE);
                return Ok(tag);
            }
        };
        let relation = Relation::View(view.clone());
        if !matches!(alter.change, ViewChange::Owner(_)) {
            self.state.check_owner(view.oid)?;
        }
        match &alter.change {
            ViewChange::Owner(owner) => self.set_owner_of(&relation, owner)?,
            ViewChange::Rename(name) => {
                let named = format!("{}.{}", quoted(&view.schema), quoted(&view.name));
                let text = format!("ALTER TABLE {named} RENAME TO {}", quoted(name));
                let Statement::AlterTable(renames) = scaledb_parse::statement(&text)? else {
                    return Err(SqlError::internal("another statement"));
                };
                self.alter_table(&renames)?;
            }
            ViewChange::Set(options) => {
                let mut changed = (**view).clone();
                set_options(&mut changed, options)?;
                let changed = Arc::new(changed);
                self.check_check_option(&changed)?;
                self.put(Relation::View(changed))?;
            }
            ViewChange::Reset(names) => {
                let mut changed = (**view).clone();
                if names.iter().any(|name| name == "security_invoker") {
                    changed.security_invoker = None;
                }
                if names.iter().any(|name| name == "security_barrier") {
                    changed.security_barrier = None;
                }
                changed.check_option =
                    changed.check_option.filter(|_| !names.iter().any(|name| name == "check_option"));
                self.put(Relation::View(Arc::new(changed)))?;
            }
            ViewChange::RenameColumn(old, new) => self.rename_column_of_view(view, old, new)?,
            ViewChange::Default(column, text) => {
                let default = text.as_deref().map(scaledb_parse::expression).transpose()?;
                self.set_default_of_view(view, column, default.as_ref())?;
            }
        }
        Ok(tag)
    }

    /// How a view can be written through, or why not.
    fn examine(&self, view: &Arc<ViewDesc>) -> Result<std::result::Result<Updatable, Why>> {
        with_stack(&view.query, || {
            Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new()).examine(view)
        })
    }

    /// # Errors
    /// 0A000 for WITH CHECK OPTION of a view that cannot be written through.
    fn check_check_option(&self, view: &Arc<ViewDesc>) -> Result<()> {
        if view.check_option.is_none() {
            return Ok(());
        }
        let why = match self.examine(view)? {
            Ok(own) => own.without_columns(),
            Err(why) => Some(why),
        };
        let Some(why) = why else { return Ok(()) };
        let what = "WITH CHECK OPTION is supported only on automatically updatable views";
        Err(SqlError::unsupported(what).hint(why))
    }

    /// ALTER VIEW .. RENAME COLUMN.
    ///
    /// # Errors
    /// 42703, 42701; 0A000 for a name that other views cannot follow.
    pub(super) fn rename_column_of_view(&mut self, view: &Arc<ViewDesc>, old: &str, new: &str) -> Result<()> {
        let Some(at) = view.column(old) else {
            let what = format!("column \"{old}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, what));
        };
        let new = new_name(&Ident::with_quote('"', new));
        not_of_system(&new)?;
        if view.column(&new).is_some() {
            let what = format!("column \"{new}\" of relation \"{}\" already exists", view.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
        }
        let named = self.named_in_views(&Relation::View(view.clone()));
        let mut changed = (**view).clone();
        changed.columns[at].0 = new;
        self.put(Relation::View(Arc::new(changed)))?;
        self.let_names_follow(Some(named))?;
        // USING, and stars of subqueries, name columns without a place in the text
        let users: Vec<_> =
            self.state.catalog.definitions().filter(|user| user.uses.contains(&view.oid)).collect();
        for user in users {
            if !self.means_the_same(&user) {
                let what =
                    format!("\"{}\" cannot be changed so: {} names it", view.name, self.kind_and_name(&user));
                return Err(SqlError::unsupported(what)
                    .hint("Drop the view, make the change, and create the view again."));
            }
        }
        Ok(())
    }

    /// ALTER VIEW .. ALTER COLUMN .. SET DEFAULT and DROP DEFAULT.
    ///
    /// # Errors
    /// 42703; what is wrong with the expression.
    pub(super) fn set_default_of_view(
        &mut self,
        view: &Arc<ViewDesc>,
        column: &str,
        default: Option<&Ast>,
    ) -> Result<()> {
        let Some(at) = view.column(column) else {
            let what = format!("column \"{column}\" of relation \"{}\" does not exist", view.name);
            return Err(SqlError::new(SqlState::UNDEFINED_COLUMN, what));
        };
        let number = i16::try_from(at + 1).map_err(|_| SqlError::internal("too many columns"))?;
        let mut changed = (**view).clone();
        changed.defaults.retain(|(known, _)| *known != number);
        if let Some(text) = default.and_then(|ast| self.kept_default(&view.as_table().columns[at], ast)) {
            changed.defaults.push((number, text));
            changed.defaults.sort_by_key(|(number, _)| *number);
        }
        self.check_expressions(&changed.as_table())?;
        self.put(Relation::View(Arc::new(changed)))
    }
}

/// 42P16 unless they are the same, and new ones behind them.
fn may_replace(old: &[(String, u32, i32)], new: &[(String, u32, i32)]) -> Result<()> {
    let invalid = |what: String| Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what));
    if new.len() < old.len() {
        return invalid("cannot drop columns from view".to_owned());
    }
    for ((before, oid, typmod), (after, new_oid, new_typmod)) in old.iter().zip(new) {
        if before != after {
            return invalid(format!("cannot change name of view column \"{before}\" to \"{after}\""));
        }
        if (oid, typmod) != (new_oid, new_typmod) {
            return invalid(format!("cannot change data type of view column \"{before}\""));
        }
    }
    Ok(())
}

/// What WITH says before the query of a view.
///
/// # Errors
/// 0A000 for what is no option with a value.
fn options_of(options: &ast::CreateTableOptions) -> Result<Vec<(String, String)>> {
    let ast::CreateTableOptions::With(options) = options else { return Ok(Vec::new()) };
    let mut all: Vec<(String, String)> = Vec::with_capacity(options.len());
    for option in options {
        let ast::SqlOption::KeyValue { key, value } = option else {
            return Err(SqlError::unsupported("this option of a view is not supported"));
        };
        all.push((fold(key), value.to_string().trim_matches('\'').to_owned()));
    }
    Ok(all)
}

/// Sets options of a view.
///
/// # Errors
/// 22023 for an option that there is not, or twice, 0A000 for one that is not supported.
fn set_options(view: &mut ViewDesc, options: &[(String, String)]) -> Result<()> {
    for (number, (name, value)) in options.iter().enumerate() {
        if options[..number].iter().any(|(known, _)| known == name) {
            let what = format!("parameter \"{name}\" specified more than once");
            return Err(SqlError::invalid_parameter(what));
        }
        if name == "check_option" {
            view.check_option = Some(match value.to_lowercase().as_str() {
                "local" => CheckOption::Local,
                "cascaded" => CheckOption::Cascaded,
                _ => {
                    let what = format!("invalid value for enum option \"check_option\": {value}");
                    return Err(SqlError::invalid_parameter(what)
                        .detail("Valid values are \"local\" and \"cascaded\"."));
                }
            });
            continue;
        }
        let on = match value.to_lowercase().as_str() {
            "true" | "on" | "1" | "yes" => true,
            "false" | "off" | "0" | "no" => false,
            _ => {
                let what = format!("invalid value for boolean option \"{name}\": {value}");
                return Err(SqlError::invalid_parameter(what));
            }
        };
        match name.as_str() {
            "security_invoker" => view.security_invoker = Some(on),
            "security_barrier" => view.security_barrier = Some(on),
            _ => return Err(SqlError::invalid_parameter(format!("unrecognized parameter \"{name}\""))),
        }
    }
    Ok(())
}
