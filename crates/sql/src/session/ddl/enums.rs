//! CREATE TYPE .. AS ENUM, ALTER TYPE and DROP TYPE.
//!
//! Columns name their type by its oid, and rows have the orders of labels. What is kept as text (defaults, CHECK
//! constraints, views) has the names of types and labels in it: it is changed with them where that is certain, and
//! what would not mean the same any more is a reason to refuse the change.

use super::super::Session;
use super::own_types::OwnType;
use super::{MAX_NAME, new_name};
use crate::api::Tag;
use scaledb_catalog::{EnumDesc, LabelDesc, ObjectKind};
use scaledb_engine::Engine;
use scaledb_parse::alter_type::{AlterType, Change, Neighbour};
use scaledb_parse::lex::quoted;
use scaledb_planner::bind::literal::literal_text;
use scaledb_planner::bind::names::{check_database, find_own_type, is_temporary, shown, split};
use scaledb_types::enums::MAX_LABEL_LENGTH;
use scaledb_types::{Result, SqlError, SqlState, Type};
use sqlparser::ast::{Expr as Ast, Ident, ObjectName, UserDefinedTypeRepresentation};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// CREATE TYPE.
    pub(super) fn create_type(
        &mut self,
        name: &ObjectName,
        representation: Option<&UserDefinedTypeRepresentation>,
    ) -> Result<Tag> {
        use UserDefinedTypeRepresentation::{Composite, Enum, Range, SqlDefinition};
        let labels = match representation {
            Some(Enum { labels }) => labels,
            Some(Composite { .. }) => return Err(SqlError::unsupported("composite types are not supported")),
            Some(Range { .. }) => return Err(SqlError::unsupported("range types are not supported")),
            Some(SqlDefinition { .. }) | None => {
                return Err(SqlError::unsupported("base types are not supported"));
            }
        };
        check_database(name, Some(&self.state.database_name))?;
        let (schema, name) = split(name)?;
        let schema = self.schema_for(schema, false)?;
        if is_temporary(&schema) {
            return Err(SqlError::unsupported("temporary types are not supported"));
        }
        let name = new_name(&Ident::with_quote('"', name));
        self.begin_change()?;
        self.check_free_type(&schema, &name)?;
        let new_oid = || self.state.shared.new_oid();
        let mut desc = EnumDesc { oid: new_oid(), array_oid: new_oid(), schema, name, labels: Vec::new() };
        for label in labels {
            if label.quote_style != Some('\'') {
                let what = format!("syntax error at or near \"{label}\": a label is a text");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
            check_label(&label.value)?;
            if desc.labels.iter().any(|known| known.text == label.value) {
                let what = format!("enum label \"{}\" used more than once", label.value);
                return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
            }
            let order = desc.order_at(desc.labels.len()).ok_or_else(no_room)?;
            desc.labels.push(LabelDesc { oid: new_oid(), order, text: label.value.clone() });
        }
        self.put_enum(desc);
        Ok(Tag::plain("CREATE TYPE"))
    }

    /// ALTER TYPE.
    ///
    /// # Errors
    /// 42704, 42710, 22023, 42602; 0A000 if a text that is kept names what is to get another name; 54000.
    pub(in crate::session) fn alter_type(&mut self, alter: &AlterType) -> Result<Tag> {
        self.begin_change()?;
        let own = self.own_type_named(alter.schema.as_deref(), &alter.name)?;
        if !matches!(alter.change, Change::OwnerTo(_)) {
            self.state.check_owner(own.oid())?;
        }
        match &alter.change {
            Change::RenameTo(name) => {
                self.rename_type(&own, new_name(&Ident::with_quote('"', name)))?;
                return Ok(Tag::plain("ALTER TYPE"));
            }
            Change::OwnerTo(name) => {
                let owner = super::owner::named(name);
                self.set_owner(ObjectKind::Type, own.oid(), Some(own.schema()), &owner)?;
                return Ok(Tag::plain("ALTER TYPE"));
            }
            Change::AddValue { .. } | Change::RenameValue { .. } => {}
        }
        let OwnType::Enum(desc) = own else {
            let what = format!("{} is not an enum", quoted(own.name()));
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        };
        let mut desc = (*desc).clone();
        match &alter.change {
            Change::AddValue { label, if_not_exists, neighbour } => {
                check_label(label)?;
                if desc.labels.iter().any(|known| known.text == *label) {
                    let what = format!("enum label \"{label}\" already exists");
                    if !if_not_exists {
                        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
                    }
                    self.skip(&format!("{what}, skipping"), SqlState::DUPLICATE_OBJECT);
                    return Ok(Tag::plain("ALTER TYPE"));
                }
                let place = place_of(&desc, neighbour.as_ref())?;
                let order = desc.order_at(place).ok_or_else(no_room)?;
                let oid = self.state.shared.new_oid();
                desc.labels.insert(place, LabelDesc { oid, order, text: label.clone() });
                // rows that others read have no such label before this commits
                self.put_enum(desc);
            }
            Change::RenameValue { from, to } => self.rename_label(desc, from, to)?,
            Change::RenameTo(_) | Change::OwnerTo(_) => {}
        }
        Ok(Tag::plain("ALTER TYPE"))
    }

    fn rename_label(&mut self, mut desc: EnumDesc, from: &str, to: &str) -> Result<()> {
        check_label(to)?;
        let at = place(&desc, from)?;
        if desc.labels.iter().any(|known| known.text == to) {
            let what = format!("enum label \"{to}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
        }
        to.clone_into(&mut desc.labels[at].text);
        let oid = desc.oid;
        // the default of a column of this type is a label of it, if it is a text
        self.change_texts(
            OwnType::Enum(Arc::new(desc)),
            &|column, text| match scaledb_parse::expression(text) {
                Ok(ast) if column == Some(oid) && is_label(&ast, from) => {
                    text.replacen(&as_literal(from), &as_literal(to), 1)
                }
                _ => text.to_owned(),
            },
        )
    }

    /// DROP TYPE.
    pub(super) fn drop_types(&mut self, if_exists: bool, names: &[ObjectName], cascade: bool) -> Result<Tag> {
        let (mut cascaded, mut types) = (Vec::new(), Vec::new());
        for name in names {
            let (schema, name) = split(name)?;
            match self.own_type_named(schema.as_deref(), &name) {
                Ok(own) => {
                    self.check_may_drop(own.oid(), own.schema())?;
                    types.push(own);
                }
                Err(error) if error.code() == SqlState::WRONG_OBJECT_TYPE => {
                    let ty = Type::by_typname(&name).unwrap_or(Type::UNKNOWN).sql_name();
                    let what = format!("cannot drop type {ty} because it is required by the database system");
                    return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what));
                }
                Err(_) if if_exists => {
                    let shown = shown(schema.as_deref(), &name);
                    let what = format!("type \"{shown}\" does not exist, skipping");
                    self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
                }
                Err(error) => return Err(error),
            }
        }
        self.drop_types_together(types, cascade, &mut cascaded)?;
        self.tell_of_cascade(&cascaded);
        Ok(Tag::plain("DROP TYPE"))
    }

    /// # Errors
    /// 42704 if there is no type of this name, 42809 if it is one of the system.
    fn own_type_named(&self, schema: Option<&str>, name: &str) -> Result<OwnType> {
        // types that are always there come before all others
        let system = Type::by_typname(name).filter(|_| schema.is_none_or(|schema| schema == "pg_catalog"));
        if let Some(ty) = system {
            let what = format!("{} is not an enum", ty.sql_name());
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        let catalog = &self.state.catalog;
        let oid = find_own_type(catalog, &self.state.path, schema, name);
        oid.and_then(|oid| OwnType::of(catalog, oid)).ok_or_else(|| {
            let what = format!("type \"{}\" does not exist", shown(schema, name));
            SqlError::new(SqlState::UNDEFINED_OBJECT, what)
        })
    }

    fn put_enum(&mut self, desc: EnumDesc) {
        self.put_type(OwnType::Enum(Arc::new(desc)));
    }
}

/// # Errors
/// 42602.
fn check_label(label: &str) -> Result<()> {
    debug_assert_eq!(MAX_LABEL_LENGTH, MAX_NAME, "labels are names");
    if label.len() > MAX_LABEL_LENGTH {
        let what = format!("invalid enum label \"{label}\"");
        let detail = format!("Labels must be {MAX_LABEL_LENGTH} bytes or less.");
        return Err(SqlError::new(SqlState::INVALID_NAME, what).detail(detail));
    }
    Ok(())
}

/// 54000: between two labels of a type there is no order left.
fn no_room() -> SqlError {
    let what = "no further label fits between two labels of this type";
    let hint = "Create a new type with all labels, and change the columns to it.";
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what).hint(hint)
}

/// The place of a label.
fn place(desc: &EnumDesc, label: &str) -> Result<usize> {
    desc.labels
        .iter()
        .position(|known| known.text == label)
        .ok_or_else(|| SqlError::invalid_parameter(format!("\"{label}\" is not an existing enum label")))
}

/// The place of a new label.
fn place_of(desc: &EnumDesc, neighbour: Option<&Neighbour>) -> Result<usize> {
    match neighbour {
        None => Ok(desc.labels.len()),
        Some(neighbour) => Ok(place(desc, &neighbour.label)? + usize::from(neighbour.after)),
    }
}

/// Whether an expression is this text, perhaps with a type behind it.
fn is_label(ast: &Ast, label: &str) -> bool {
    match ast {
        Ast::Value(value) => literal_text(&value.value) == Some(label),
        Ast::Cast { expr, .. } => matches!(&**expr, Ast::Value(_)) && is_label(expr, label),
        _ => false,
    }
}

fn as_literal(label: &str) -> String {
    format!("'{}'", label.replace('\'', "''"))
}
