//! CREATE and ALTER SEQUENCE.

use super::super::Session;
use super::position;
use crate::api::Tag;
use crate::system::printed::{names_relation, naming};
use scaledb_catalog::{Relation, SequenceDesc, TableDesc, ViewDesc};
use scaledb_engine::Engine;
use scaledb_parse::alter_sequence::{AlterSequence, Change, Options};
use scaledb_planner::bind::names::{check_database, find_relation, shown, split};
use scaledb_types::{Base, Result, SqlError, SqlState, Type};
use sqlparser::ast::{DataType, Expr as Ast, Ident, ObjectName, SequenceOptions};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    pub(super) fn create_sequence(
        &mut self,
        name: &ObjectName,
        temporary: bool,
        if_not_exists: bool,
        ty: Option<&DataType>,
        options: &[SequenceOptions],
        owned_by: Option<&ObjectName>,
    ) -> Result<Tag> {
        check_database(name, Some(&self.state.database_name))?;
        let (schema, name) = split(name)?;
        let schema = self.schema_for(schema, temporary)?;
        self.begin_change()?;
        if self.state.catalog.is_taken(&schema, &name) {
            let taken = self.name_is_taken(&schema, &name);
            if if_not_exists && taken.code() == SqlState::DUPLICATE_TABLE {
                self.skip(&format!("{taken}, skipping"), SqlState::DUPLICATE_TABLE);
                return Ok(Tag::plain("CREATE SEQUENCE"));
            }
            return Err(taken);
        }
        let ty = ty.map(|ty| self.data_type(ty)).transpose()?.unwrap_or(Type::INT8);
        if ty.array || !matches!(ty.base, Base::Int2 | Base::Int4 | Base::Int8) {
            return Err(not_an_integer());
        }
        let mut sequence = new_sequence(self.state.new_oid(&schema), &schema, &name, ty, options)?;
        if let Some(owner) = owned_by
            && owner.to_string().to_lowercase() != "none"
        {
            sequence.owned_by = Some(self.owning_column(owner.clone())?);
        }
        self.put(Relation::Sequence(Arc::new(sequence)))?;
        Ok(Tag::plain("CREATE SEQUENCE"))
    }

    /// The oid of the table and the number of the column that a name names.
    fn owning_column(&self, mut owner: ObjectName) -> Result<(u32, i16)> {
        let column = owner.0.pop().map(|part| part.to_string()).unwrap_or_default();
        if owner.0.is_empty() {
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, "invalid OWNED BY option")
                .hint("Specify OWNED BY table.column or OWNED BY NONE."));
        }
        let table = self.lookup_table(&owner)?;
        self.state.check_owner(table.desc.oid)?;
        let at = position(&table.desc, column.trim_matches('"'))?;
        Ok((table.desc.oid, table.desc.columns[at].attnum))
    }

    /// ALTER SEQUENCE.
    ///
    /// # Errors
    /// 42P01, 42809, 22023, 42601; 0A000 for SET.
    pub(in crate::session) fn alter_sequence(&mut self, alter: &AlterSequence) -> Result<Tag> {
        let tag = Tag::plain("ALTER SEQUENCE");
        self.begin_change()?;
        let found =
            find_relation(&self.state.catalog, &self.state.path, alter.schema.as_deref(), &alter.name);
        let Some(relation) = found.cloned() else {
            let what = format!("relation \"{}\" does not exist", shown(alter.schema.as_deref(), &alter.name));
            if alter.if_exists {
                self.skip(&format!("{what}, skipping"), SqlState::UNDEFINED_TABLE);
                return Ok(tag);
            }
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
        };
        let Relation::Sequence(desc) = &relation else {
            let what = format!("\"{}\" is not a sequence", alter.name);
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        };
        if !matches!(alter.change, Change::OwnerTo(_)) {
            self.state.check_owner(desc.oid)?;
        }
        match &alter.change {
            Change::Options(options) => self.change_sequence(desc, options)?,
            Change::RenameTo(name) => self.rename_other(&relation, name.clone())?,
            Change::OwnerTo(name) => {
                self.set_owner_of(&relation, &super::owner::named(name))?;
            }
            Change::SetLogged => return Err(SqlError::unsupported("sequences are always logged")),
        }
        Ok(tag)
    }

    /// Gives a sequence other options.
    pub(super) fn change_sequence(&mut self, desc: &Arc<SequenceDesc>, options: &Options) -> Result<()> {
        let mut changed = (**desc).clone();
        apply(&mut changed, options, false)?;
        let (last, _) = self.state.shared.last_value(desc)?;
        let restart = options.restart.map(|at| at.unwrap_or(changed.start));
        within(&changed, "RESTART", restart.unwrap_or(last))?;
        if let Some(owner) = &options.owned_by {
            self.may_be_owned(desc)?;
            changed.owned_by = match owner.is_empty() {
                true => None,
                false => {
                    let parts = owner.iter().map(|part| Ident::with_quote('"', part)).collect::<Vec<_>>();
                    Some(self.owning_column(ObjectName::from(parts))?)
                }
            };
        }
        match restart {
            Some(restart) => self.restart(changed, restart),
            None => self.put(Relation::Sequence(Arc::new(changed))),
        }
    }

    /// Gives the sequence of an identity column the type that the column gets.
    pub(super) fn retype_sequence(&mut self, column: (u32, i16), to: Type) -> Result<()> {
        let own = |relation: &Relation| match relation {
            Relation::Sequence(desc) if desc.owned_by == Some(column) => Some(desc.clone()),
            _ => None,
        };
        let Some(desc) = self.state.catalog.relations().find_map(own) else { return Ok(()) };
        if desc.type_oid == to.oid() {
            return Ok(());
        }
        self.change_sequence(&desc, &Options { ty: Some(to.sql_name()), ..Options::default() })
    }

    /// Restarts a sequence within the transaction. Others get its former values until the commit.
    pub(super) fn restart(&mut self, mut desc: SequenceDesc, value: i64) -> Result<()> {
        let shared = self.state.shared.clone();
        desc.restarted_as = Some(self.state.new_oid(&desc.schema));
        let desc = Arc::new(desc);
        self.put(Relation::Sequence(desc.clone()))?;
        shared.set_value(&desc, value, false)
    }

    /// The columns whose defaults name a sequence.
    pub(super) fn defaults_of(&self, sequence: u32) -> Vec<(TableDesc, usize)> {
        let catalog = &self.state.catalog;
        let takes = |default: &Option<String>| {
            default.as_deref().is_some_and(|text| names_relation(catalog, text, sequence))
        };
        let mut found = Vec::new();
        let views = catalog.views().filter(|view| !view.defaults.is_empty());
        let views: Vec<TableDesc> = views.map(|view| view.as_table()).collect();
        for table in catalog.tables().map(|table| &**table).chain(&views) {
            let columns = table.columns.iter().enumerate().filter(|(_, column)| takes(&column.default));
            found.extend(columns.map(|(at, _)| (table.clone(), at)));
        }
        found
    }

    /// Puts the name that a sequence is to have into the defaults that name it.
    pub(super) fn let_defaults_follow(&mut self, sequence: &SequenceDesc) -> Result<()> {
        // a default that names it as it is to be called is found no more
        while let Some((desc, at)) = self.defaults_of(sequence.oid).into_iter().next() {
            let text = desc.columns[at].default.as_deref().unwrap_or_default();
            let text = naming(&self.state.catalog, text, sequence.oid, &literal_of(sequence));
            self.put_default(desc, at, Some(text))?;
        }
        Ok(())
    }

    /// Gives a column of a table, or of a view in the form of one, another default.
    pub(super) fn put_default(
        &mut self,
        mut desc: TableDesc,
        at: usize,
        default: Option<String>,
    ) -> Result<()> {
        desc.columns[at].default = default;
        let Some(Relation::View(view)) = self.state.catalog.get(desc.oid) else {
            return self.put(Relation::Table(Arc::new(desc)));
        };
        let columns = desc.columns.into_iter();
        let defaults = columns.filter_map(|column| Some((column.attnum, column.default?))).collect();
        let view = ViewDesc { defaults, ..(**view).clone() };
        self.put(Relation::View(Arc::new(view)))
    }

    /// Whether the column that a sequence goes with may change.
    ///
    /// # Errors
    /// 0A000 for the sequence of an identity column.
    fn may_be_owned(&self, desc: &SequenceDesc) -> Result<()> {
        let Some((table, attnum)) = desc.owned_by else { return Ok(()) };
        let Some(Relation::Table(table)) = self.state.catalog.get(table) else { return Ok(()) };
        let identity = table.columns.iter().any(|c| c.attnum == attnum && c.identity.is_some());
        if !identity {
            return Ok(());
        }
        let detail = format!("Sequence \"{}\" is linked to table \"{}\".", desc.name, table.name);
        Err(SqlError::unsupported("cannot change ownership of identity sequence").detail(detail))
    }
}

/// The default that takes the next value of a sequence.
pub(super) fn next_of(sequence: &SequenceDesc) -> String {
    format!("nextval({}::regclass)", literal_of(sequence))
}

/// The literal that names a sequence in texts that are kept.
fn literal_of(sequence: &SequenceDesc) -> String {
    let quoted = |name: &str| name.replace('"', "\"\"").replace('\'', "''");
    format!("'\"{}\".\"{}\"'", quoted(&sequence.schema), quoted(&sequence.name))
}

/// A sequence with the options of a statement that creates it.
///
/// # Errors
/// 22023.
pub(super) fn new_sequence(
    oid: u32,
    schema: &str,
    name: &str,
    ty: Type,
    options: &[SequenceOptions],
) -> Result<SequenceDesc> {
    let mut sequence = SequenceDesc {
        oid,
        schema: schema.to_owned(),
        name: name.to_owned(),
        type_oid: ty.oid(),
        start: 1,
        increment: 1,
        min: 1,
        max: i64::MAX,
        cycle: false,
        cache: 1,
        owned_by: None,
        restarted_as: None,
        comments: Vec::new(),
    };
    apply(&mut sequence, &options_of(options)?, true)?;
    Ok(sequence)
}

fn options_of(asked: &[SequenceOptions]) -> Result<Options> {
    let mut options = Options::default();
    for option in asked {
        match option {
            SequenceOptions::IncrementBy(expr, _) => options.increment = Some(number(expr)?),
            SequenceOptions::MinValue(value) => options.min = Some(value.as_ref().map(number).transpose()?),
            SequenceOptions::MaxValue(value) => options.max = Some(value.as_ref().map(number).transpose()?),
            SequenceOptions::StartWith(expr, _) => options.start = Some(number(expr)?),
            SequenceOptions::Cache(expr) => options.cache = Some(number(expr)?),
            SequenceOptions::Cycle(no) => options.cycle = Some(!*no),
        }
    }
    Ok(options)
}

fn number(expr: &Ast) -> Result<i64> {
    let text = expr.to_string().replace(' ', "");
    text.parse().map_err(|_| SqlError::invalid_parameter(format!("\"{text}\" is no value for a sequence")))
}

/// The least and the greatest value of a type of integers, and its name.
fn bounds_of(type_oid: u32) -> (i64, i64, &'static str) {
    if type_oid == Type::INT2.oid() {
        (i16::MIN.into(), i16::MAX.into(), "smallint")
    } else if type_oid == Type::INT4.oid() {
        (i32::MIN.into(), i32::MAX.into(), "integer")
    } else {
        (i64::MIN, i64::MAX, "bigint")
    }
}

/// Gives a sequence the options of a statement; a new one gets the defaults of the others.
///
/// # Errors
/// 22023.
fn apply(sequence: &mut SequenceDesc, options: &Options, new: bool) -> Result<()> {
    let invalid = |what: String| Err(SqlError::invalid_parameter(what));
    // bounds that were those of the former type follow the type
    let (mut min_follows, mut max_follows) = (new, new);
    if let Some(name) = &options.ty {
        let ty = integer_type(name)?;
        let (least, greatest, _) = bounds_of(sequence.type_oid);
        (min_follows, max_follows) = (sequence.min == least, sequence.max == greatest);
        sequence.type_oid = ty.oid();
    }
    let (least, greatest, ty) = bounds_of(sequence.type_oid);
    sequence.increment = options.increment.unwrap_or(sequence.increment);
    if sequence.increment == 0 {
        return invalid("INCREMENT must not be zero".to_owned());
    }
    let ascends = sequence.increment > 0;
    sequence.cycle = options.cycle.unwrap_or(sequence.cycle);
    let out_of_range = |which: &str, value: i64| {
        invalid(format!("{which} ({value}) is out of range for sequence data type {ty}"))
    };
    match options.max {
        Some(Some(max)) => sequence.max = max,
        None if !max_follows => {}
        _ => sequence.max = if ascends || (max_follows && !new) { greatest } else { -1 },
    }
    if !(least..=greatest).contains(&sequence.max) {
        return out_of_range("MAXVALUE", sequence.max);
    }
    match options.min {
        Some(Some(min)) => sequence.min = min,
        None if !min_follows => {}
        _ => sequence.min = if ascends && (new || !min_follows) { 1 } else { least },
    }
    if !(least..=greatest).contains(&sequence.min) {
        return out_of_range("MINVALUE", sequence.min);
    }
    if sequence.min >= sequence.max {
        return invalid(format!("MINVALUE ({}) must be less than MAXVALUE ({})", sequence.min, sequence.max));
    }
    let first = if ascends { sequence.min } else { sequence.max };
    sequence.start = options.start.unwrap_or(if new { first } else { sequence.start });
    within(sequence, "START", sequence.start)?;
    if let Some(count) = options.cache
        && count <= 0
    {
        return invalid(format!("CACHE ({count}) must be greater than zero"));
    }
    sequence.cache = options.cache.unwrap_or(sequence.cache);
    Ok(())
}

/// # Errors
/// 22023 unless the value is between the bounds of the sequence.
fn within(sequence: &SequenceDesc, which: &str, value: i64) -> Result<()> {
    let what = if value < sequence.min {
        format!("{which} value ({value}) cannot be less than MINVALUE ({})", sequence.min)
    } else if value > sequence.max {
        format!("{which} value ({value}) cannot be greater than MAXVALUE ({})", sequence.max)
    } else {
        return Ok(());
    };
    Err(SqlError::invalid_parameter(what))
}

/// # Errors
/// 22023.
fn integer_type(name: &str) -> Result<Type> {
    Ok(match name {
        "smallint" | "int2" => Type::INT2,
        "integer" | "int" | "int4" => Type::INT4,
        "bigint" | "int8" => Type::INT8,
        _ => return Err(not_an_integer()),
    })
}

fn not_an_integer() -> SqlError {
    SqlError::invalid_parameter("sequence type must be smallint, integer, or bigint")
}
