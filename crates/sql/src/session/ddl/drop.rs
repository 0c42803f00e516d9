//! DROP and TRUNCATE.

use super::super::Session;
use super::alter::depends;
use crate::api::{Severity, Tag};
use crate::exec::context::Host;
use scaledb_catalog::{ObjectKind, Privileges, Relation, Returned, RoutineDesc, TriggerTiming, row_type};
use scaledb_engine::{Engine, Order, Range, Worker};
use scaledb_parse::absent::{Absent, DropAbsent, there};
use scaledb_parse::marked;
use scaledb_planner::bind::names::{find_relation, is_schema, parse_type, shown, split};
use scaledb_planner::plan::BoundTable;
use scaledb_row::Projection;
use scaledb_types::{Context, Result, SqlError, SqlState};
use sqlparser::ast::{ObjectName, ObjectType, Statement};
use std::ops::ControlFlow;
use std::sync::Arc;

/// TRUNCATE deletes the rows of tables that have at most so many; larger ones it replaces by new tables, so that no
/// transaction has to remember all their rows. (Fewer in tests, whose tables are small.)
const FEW: usize = if cfg!(debug_assertions) { 100 } else { 10_000 };

impl<E: Engine> Session<E> {
    pub(super) fn drop_objects(
        &mut self,
        kind: ObjectType,
        if_exists: bool,
        names: &[ObjectName],
        cascade: bool,
    ) -> Result<Tag> {
        let (names, concurrently) = match names {
            [first, names @ ..] if marked::mark_of(first) == Some(marked::CONCURRENTLY) => (names, true),
            names => (names, false),
        };
        if concurrently {
            if names.len() > 1 {
                let what = "DROP INDEX CONCURRENTLY does not support dropping multiple objects";
                return Err(SqlError::unsupported(what));
            }
            if cascade {
                return Err(SqlError::unsupported("DROP INDEX CONCURRENTLY does not support CASCADE"));
            }
            self.check_no_block("DROP INDEX CONCURRENTLY")?;
        }
        self.begin_change()?;
        let (word, tag) = match kind {
            ObjectType::Table => ("table", "DROP TABLE"),
            ObjectType::View => ("view", "DROP VIEW"),
            ObjectType::MaterializedView => ("materialized view", "DROP MATERIALIZED VIEW"),
            ObjectType::Sequence => ("sequence", "DROP SEQUENCE"),
            ObjectType::Index => ("index", "DROP INDEX"),
            ObjectType::Schema => return self.drop_schemas(if_exists, names, cascade),
            ObjectType::Type => return self.drop_types(if_exists, names, cascade),
            other => return Err(SqlError::unsupported(format!("DROP {other} is not supported"))),
        };
        let mut dropped = Vec::new();
        for name in names {
            if kind == ObjectType::Index {
                self.drop_index(name, if_exists)?;
                continue;
            }
            match self.lookup(name)? {
                Some(relation) if relation.kind() == word => {
                    self.check_may_drop(relation.oid(), relation.schema())?;
                    dropped.push(relation);
                }
                Some(relation) => {
                    let what = format!("\"{}\" is not a {word}", relation.name());
                    return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).hint(format!(
                        "Use DROP {} to remove a {}.",
                        relation.kind().to_uppercase(),
                        relation.kind()
                    )));
                }
                None => {
                    let (schema, name) = split(name)?;
                    let shown = scaledb_planner::bind::names::shown(schema.as_deref(), &name);
                    if !if_exists {
                        let what = format!("{word} \"{shown}\" does not exist");
                        return Err(SqlError::new(SqlState::UNDEFINED_TABLE, what));
                    }
                    self.skip(
                        &format!("{word} \"{shown}\" does not exist, skipping"),
                        SqlState::SUCCESSFUL_COMPLETION,
                    );
                }
            }
        }
        let oids: Vec<u32> = dropped.iter().map(Relation::oid).collect();
        let mut cascaded = Vec::new();
        for relation in dropped {
            self.drop_relation(&relation, &oids, cascade, &mut cascaded)?;
        }
        self.tell_of_cascade(&cascaded);
        Ok(Tag::plain(tag))
    }

    /// DROP .. IF EXISTS of what there cannot be.
    ///
    /// # Errors
    /// 42809 for a relation or a type of another kind, 25006.
    pub(in crate::session) fn drop_absent(&mut self, drop: &DropAbsent) -> Result<Tag> {
        if self.transaction.is_read_only() {
            let what = format!("cannot execute {} in a read-only transaction", drop.tag);
            return Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, what));
        }
        self.ensure_begun()?;
        for object in &drop.objects {
            let what = self.why_absent(object)?;
            self.skip(&format!("{what}, skipping"), SqlState::SUCCESSFUL_COMPLETION);
        }
        Ok(Tag::plain(drop.tag))
    }

    fn why_absent(&self, object: &Absent) -> Result<String> {
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let schemas =
            object.schema.iter().chain(object.table.iter().filter_map(|(schema, _)| schema.as_ref()));
        for schema in schemas {
            if !is_schema(catalog, path, schema) {
                return Ok(format!("schema \"{schema}\" does not exist"));
            }
        }
        let mut types = Vec::new();
        for ty in &object.types {
            match parse_type(catalog, path, ty) {
                Ok(ty) => types.push(ty),
                Err(error) => return Ok(error.message().to_owned()),
            }
        }
        // what goes through text is no cast of its own
        if let ([from, to], true) = (&types[..], object.is_cast)
            && !from.is_text()
            && !to.is_text()
            && scaledb_types::cast::find_cast(*from, *to, Context::Explicit).is_some()
        {
            return Err(there(&object.what));
        }
        if let Some((schema, name)) = &object.table
            && find_relation(catalog, path, schema.as_deref(), name).is_none()
        {
            return Ok(format!("relation \"{}\" does not exist", shown(schema.as_deref(), name)));
        }
        let schema = object.schema.as_deref();
        if let Some(name) = &object.other
            && find_relation(catalog, path, schema, name).is_some()
        {
            let what = format!("\"{name}\" is not a foreign table");
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
        }
        let ends = object.what.contains("does not exist");
        Ok(if ends { object.what.clone() } else { format!("{} does not exist", object.what) })
    }

    /// The notice of what has gone with what was dropped.
    pub(super) fn tell_of_cascade(&self, cascaded: &[String]) {
        let notice = match cascaded {
            [] => return,
            [one] => SqlError::new(SqlState::SUCCESSFUL_COMPLETION, format!("drop cascades to {one}")),
            many => {
                let what = format!("drop cascades to {} other objects", many.len());
                let each: Vec<String> = many.iter().map(|one| format!("drop cascades to {one}")).collect();
                SqlError::new(SqlState::SUCCESSFUL_COMPLETION, what).detail(each.join("\n"))
            }
        };
        self.state.notice(Severity::Notice, notice);
    }

    /// Drops a relation; with `cascade` what needs it, too, which `cascaded` then names.
    pub(in crate::session) fn drop_relation(
        &mut self,
        relation: &Relation,
        together: &[u32],
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let oid = relation.oid();
        // gone with another one
        if self.state.catalog.get(oid).is_none() {
            return Ok(());
        }
        let what = format!("{} {}", relation.kind(), relation.name());
        let mut views: Vec<Relation> = self
            .state
            .catalog
            .relations()
            .filter(|other| other.reads(oid))
            .filter(|other| other.oid() != oid && !together.contains(&other.oid()))
            .cloned()
            .collect();
        views.sort_by_key(Relation::oid);
        if cascade && matches!(relation, Relation::View(_)) {
            // first: views may have been replaced by ones that name each other
            self.remove(oid)?;
        }
        for view in views {
            if !cascade {
                return Err(depends(&what, &format!("{} {}", view.kind(), view.name())));
            }
            if self.state.catalog.get(view.oid()).is_some() {
                cascaded.push(format!("{} {}", view.kind(), view.name()));
            }
            self.drop_relation(&view, together, true, cascaded)?;
        }
        // a view that reads it, and that it reads, may have taken it along
        if self.state.catalog.get(oid).is_none() && matches!(relation, Relation::Table(_)) {
            return Ok(());
        }
        let own = [together, &[oid]].concat();
        self.drop_policies_that(|policy| policy.uses(oid), &own, (&what, cascade), cascaded)?;
        let over = |desc: &RoutineDesc| {
            let takes = desc.parameters.iter().any(|parameter| parameter.type_oid == row_type(oid));
            (desc.returns == Returned::Row(oid) || takes) && !together.contains(&desc.oid)
        };
        self.drop_routines_over(&what, over, cascade, cascaded)?;
        if let Relation::Sequence(sequence) = relation {
            self.drop_defaults(sequence.oid, None, &what, cascade, cascaded)?;
        }
        if let Relation::Table(desc) = relation {
            self.check_not_pending(oid, "DROP TABLE")?;
            let references = self.state.catalog.references_to(oid);
            let user = references.iter().find(|r| r.from.oid != oid && !together.contains(&r.from.oid));
            if let Some(user) = user.filter(|_| !cascade) {
                let by = format!("constraint {} on table {}", user.constraint().name, user.from.name);
                return Err(depends(&what, &by));
            }
            for user in references.iter().filter(|r| r.from.oid != oid && !together.contains(&r.from.oid)) {
                cascaded.push(format!("constraint {} on table {}", user.constraint().name, user.from.name));
            }
            self.drop_references(oid, None)?;
            let owned: Vec<u32> = self
                .state
                .catalog
                .relations()
                .filter(
                    |other| matches!(other, Relation::Sequence(s) if s.owned_by.is_some_and(|o| o.0 == oid)),
                )
                .map(Relation::oid)
                .collect();
            for sequence in owned {
                self.drop_defaults(sequence, Some((relation, together)), &what, cascade, cascaded)?;
                self.remove(sequence)?;
            }
            // transactions that read the tables it referred to need not know
            let table = self.state.table_of(desc)?;
            self.transaction.dropped.push(table.info.clone());
        }
        self.remove(oid)
    }

    /// Drops the defaults that take values of a sequence, but for those of what is dropped with it.
    fn drop_defaults(
        &mut self,
        sequence: u32,
        with: Option<(&Relation, &[u32])>,
        what: &str,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let gone = |oid: u32| with.is_some_and(|(of, all)| of.oid() == oid || all.contains(&oid));
        while let Some((desc, at)) = self.defaults_of(sequence).into_iter().find(|(desc, _)| !gone(desc.oid))
        {
            let kind = self.state.catalog.get(desc.oid).map_or("table", Relation::kind);
            let column = &desc.columns[at].name;
            let user = format!("default value for column {column} of {kind} {}", desc.name);
            if !cascade {
                return Err(depends(what, &user));
            }
            cascaded.push(user);
            self.put_default(desc, at, None)?;
        }
        Ok(())
    }

    /// Drops the foreign keys of others that refer to a table, or to a column of it.
    pub(super) fn drop_references(&mut self, oid: u32, column: Option<i16>) -> Result<()> {
        for reference in self.state.catalog.references_to(oid) {
            if reference.from.oid == oid && column.is_none() {
                continue;
            }
            let name = reference.constraint().name.clone();
            let used = column.is_none_or(|column| reference.constraint().referred.contains(&column));
            let current = self.state.catalog.table(reference.from.oid).cloned();
            if used && let Some(from) = current {
                self.check_not_pending(from.oid, "DROP TRIGGER")?;
                let mut desc = (*from).clone();
                desc.foreign_keys.retain(|key| key.name != name);
                self.put(Relation::Table(Arc::new(desc)))?;
            }
        }
        Ok(())
    }

    fn drop_index(&mut self, name: &ObjectName, if_exists: bool) -> Result<()> {
        let (schema, name) = split(name)?;
        let schema = self.schema_of_index(schema.as_deref(), &name);
        let index = schema.and_then(|schema| self.state.catalog.index(&schema, &name));
        let Some((desc, index)) = index else {
            if if_exists {
                self.skip(
                    &format!("index \"{name}\" does not exist, skipping"),
                    SqlState::SUCCESSFUL_COMPLETION,
                );
                return Ok(());
            }
            let what = format!("index \"{name}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
        };
        if !self.may_drop(desc.oid, &desc.schema) {
            return Err(self.state.not_owner_of("index", &name));
        }
        if index.is_none_or(|index| index.constraint) {
            return Err(SqlError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!(
                    "cannot drop index {name} because constraint {name} on table {} requires it",
                    desc.name
                ),
            )
            .hint(format!("You can drop constraint {name} on table {} instead.", desc.name)));
        }
        self.check_not_pending(desc.oid, "DROP INDEX")?;
        let (table, oid) = (desc.oid, index.map_or(0, |index| index.oid));
        let table = self.table(table)?;
        self.drop_index_of(&table, oid)
    }

    /// TRUNCATE: there are no rows behind it, unless the transaction rolls back.
    pub(in crate::session) fn truncate(&mut self, statement: &Statement) -> Result<Tag> {
        let Statement::Truncate(truncate) = statement else {
            return Err(SqlError::internal("not a TRUNCATE"));
        };
        if self.transaction.is_read_only() {
            let what = "cannot execute TRUNCATE TABLE in a read-only transaction";
            return Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, what));
        }
        let cascade = matches!(truncate.cascade, Some(sqlparser::ast::CascadeOption::Cascade));
        let restart = matches!(truncate.identity, Some(sqlparser::ast::TruncateIdentityOption::Restart));
        self.ensure_begun()?;
        let mut tables = Vec::new();
        for target in &truncate.table_names {
            let table = self.lookup_table(&target.name)?;
            if table.desc.is_materialized() {
                let what = format!("\"{}\" is not a table", table.desc.name);
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what));
            }
            tables.push(table);
        }
        for table in &tables {
            self.state.check_privilege(ObjectKind::Table, table.desc.oid, Privileges::TRUNCATE)?;
        }
        // those that refer to the tables must go along
        let mut at = 0;
        while at < tables.len() {
            for reference in self.state.catalog.references_to(tables[at].desc.oid) {
                if tables.iter().any(|table| table.desc.oid == reference.from.oid) {
                    continue;
                }
                if !cascade {
                    return Err(SqlError::unsupported(
                        "cannot truncate a table referenced in a foreign key constraint",
                    )
                    .detail(format!(
                        "Table \"{}\" references \"{}\".",
                        reference.from.name, tables[at].desc.name
                    ))
                    .hint(format!(
                        "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                        reference.from.name
                    )));
                }
                self.state.check_privilege(ObjectKind::Table, reference.from.oid, Privileges::TRUNCATE)?;
                let what = format!("truncate cascades to table \"{}\"", reference.from.name);
                self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
                tables.push(self.table(reference.from.oid)?);
            }
            at += 1;
        }
        for table in &tables {
            self.check_not_pending(table.desc.oid, "TRUNCATE")?;
        }
        for table in &tables {
            self.fire_truncate(table, TriggerTiming::Before)?;
        }
        self.transaction.truncated.extend(tables.iter().map(|table| table.desc.oid));
        let replaced = self.replace_large(&tables)?;
        for table in &tables {
            if !replaced.contains(&table.desc.oid) {
                self.note_writes();
                self.delete_all(table)?;
            }
            if restart {
                let sequences: Vec<_> = self
                    .state
                    .catalog
                    .relations()
                    .filter_map(|relation| match relation {
                        Relation::Sequence(s) if s.owned_by.is_some_and(|o| o.0 == table.desc.oid) => {
                            Some(s.clone())
                        }
                        _ => None,
                    })
                    .collect();
                for sequence in sequences {
                    self.restart((*sequence).clone(), sequence.start)?;
                }
            }
        }
        for table in &tables {
            self.fire_truncate(table, TriggerTiming::After)?;
        }
        Ok(Tag::plain("TRUNCATE TABLE"))
    }

    /// Gives tables of many rows new, empty ones of the engine; the old ones are emptied behind the commit. The oids of
    /// those that were replaced.
    pub(super) fn replace_large(&mut self, tables: &[Arc<BoundTable>]) -> Result<Vec<u32>> {
        let mut large = Vec::new();
        for table in tables {
            // the library names a table of the engine by its id
            let may_change = self.may_change(table.desc.oid).is_ok();
            if may_change && self.goes_behind() && !self.has_at_most(FEW, table)? {
                large.push(table.desc.oid);
            }
        }
        if large.is_empty() {
            return Ok(large);
        }
        self.begin_change()?;
        self.bar_everywhere(&large)?;
        for table in tables.iter().filter(|table| large.contains(&table.desc.oid)) {
            let mut desc = (*table.desc).clone();
            self.make_table(&mut desc)?;
            self.transaction.touch(&[(desc.oid, table.info.id)], 0);
            self.transaction.dropped.push(table.info.clone());
            self.put(Relation::Table(Arc::new(desc)))?;
        }
        Ok(large)
    }

    /// Deletes all rows of a table.
    pub(in crate::session) fn delete_all(&mut self, table: &BoundTable) -> Result<()> {
        self.transaction.touch(&[(table.desc.oid, table.info.id)], 0);
        let none = Projection::existence();
        let Some(worker) = self.worker.as_mut() else { return Err(SqlError::internal("no worker")) };
        let mut rows = Vec::new();
        let scanned = worker.scan(table.info.id, Range::ALL, Order::Forward, &none, |row, _, _| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        let deleted = scanned
            .and_then(|()| rows.iter().try_for_each(|&row| worker.delete_at(table.info.id, row).map(|_| ())));
        deleted.map_err(|error| self.state.engine_error(error))
    }
}
