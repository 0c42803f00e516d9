//! `pg_depend`: what would have to go with what, or could not go before it.
//!
//! What depends on parts of the system is left out, as in PostgreSQL: these are always there.

use super::pg_attrdef::defaults;
use crate::system::Facts;
use crate::system::oids::{
    PG_ATTRDEF, PG_CLASS, PG_CONSTRAINT, PG_EXTENSION, PG_NAMESPACE, PG_POLICY, PG_PROC, PG_REWRITE,
    PG_TRIGGER, PG_TYPE, SCHEMAS, row_type, rule_of, schema_oid,
};
use crate::system::printed::sequence_of;
use crate::system::seen::{Object, objects_of};
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{
    Catalog, DomainDesc, EnumDesc, FIRST_OID, ForeignKeyDesc, IndexDesc, PUBLIC, Relation, Returned,
    RoutineDesc, SequenceDesc, TableDesc, TriggerDesc, ViewDesc,
};
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_depend", oid: 2608, rows,
    columns: &[
        ("classid", Type::OID), ("objid", Type::OID), ("objsubid", Type::INT4), ("refclassid", Type::OID),
        ("refobjid", Type::OID), ("refobjsubid", Type::INT4), ("deptype", Type::CHAR),
    ],
};

/// An object: its catalog, its oid, the number of a column of it.
type Address = (u32, u32, i16);

/// The dependent is in the way.
const NORMAL: u8 = b'n';
/// The dependent goes along.
const AUTO: u8 = b'a';
/// The dependent is a part.
const INTERNAL: u8 = b'i';

/// The dependent came with an extension.
const OF_EXTENSION: u8 = b'e';

struct Depends<'c> {
    catalog: &'c Catalog,
    rows: Vec<Row>,
}

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let catalog = facts.catalog();
    let mut depends = Depends { catalog, rows: Vec::new() };
    for relation in catalog.relations() {
        depends.within((PG_CLASS, relation.oid(), 0), relation.schema());
        match relation {
            Relation::Table(table) => depends.table(table),
            Relation::Sequence(sequence) => depends.sequence(sequence),
            Relation::View(view) => depends.view(view),
        }
    }
    for default in defaults(catalog) {
        let own = (PG_ATTRDEF, default.oid, 0);
        depends.on(own, (PG_CLASS, default.relation, default.number), AUTO);
        depends.expression(own, default.text);
        // the value becomes one of the domain
        if default.ty.as_domain().is_some() {
            depends.on_type(own, default.ty.oid());
        }
    }
    catalog.enums().for_each(|desc| depends.of_enum(desc));
    catalog.domains().for_each(|desc| depends.of_domain(desc));
    catalog.routines().for_each(|desc| depends.routine(desc));
    for desc in catalog.extensions() {
        let own = (PG_EXTENSION, desc.oid, 0);
        depends.within(own, &desc.schema);
        desc.members.iter().for_each(|member| depends.on((PG_PROC, *member, 0), own, OF_EXTENSION));
    }
    Ok(depends.rows)
}

impl Depends<'_> {
    fn on(&mut self, (class, oid, part): Address, (on_class, on, on_part): Address, kind: u8) {
        self.rows.push(
            Row::of(&TABLE)
                .oid("classid", class)
                .oid("objid", oid)
                .int4("objsubid", i32::from(part))
                .oid("refclassid", on_class)
                .oid("refobjid", on)
                .int4("refobjsubid", i32::from(on_part))
                .letter("deptype", kind),
        );
    }

    fn within(&mut self, own: Address, schema: &str) {
        let of_system = SCHEMAS.iter().any(|(known, _)| *known == schema && *known != PUBLIC);
        if !of_system {
            self.on(own, (PG_NAMESPACE, schema_oid(self.catalog, schema), 0), NORMAL);
        }
    }

    /// On a type, of arrays perhaps.
    fn on_type(&mut self, own: Address, oid: u32) {
        if oid >= FIRST_OID {
            self.on(own, (PG_TYPE, oid, 0), NORMAL);
        }
    }

    fn expression(&mut self, own: Address, text: &str) {
        let mut objects = objects_of(self.catalog, text);
        objects.extend(sequence_of(self.catalog, text).map(Object::Relation));
        let mut known = Vec::new();
        for object in objects {
            let on = match object {
                Object::Relation(oid) => (PG_CLASS, oid, 0),
                Object::Type(oid) => (PG_TYPE, oid, 0),
                Object::Routine(oid) => (PG_PROC, oid, 0),
            };
            if !known.contains(&on) {
                known.push(on);
                self.on(own, on, NORMAL);
            }
        }
    }

    fn table(&mut self, table: &TableDesc) {
        let whole = (PG_CLASS, table.oid, 0);
        self.on((PG_TYPE, row_type(table.oid), 0), whole, INTERNAL);
        for column in table.visible() {
            self.on_type((PG_CLASS, table.oid, column.attnum), column.type_oid);
        }
        if let Some(key) = &table.primary_key {
            self.key(table, key.oid, key.columns.iter().map(|column| column.attnum));
        }
        table.indexes.iter().for_each(|index| self.index(table, index));
        for check in &table.checks {
            let own = (PG_CONSTRAINT, check.oid, 0);
            self.on(own, whole, AUTO);
            self.expression(own, &check.expression);
        }
        table.foreign_keys.iter().for_each(|key| self.foreign_key(table, key));
        if let Some(view) = table.definition() {
            self.rule(&view);
        }
        self.triggers(whole, &table.triggers);
        self.policies(whole, table);
    }

    fn policies(&mut self, whole: Address, table: &TableDesc) {
        for policy in table.policies() {
            let own = (PG_POLICY, policy.oid, 0);
            self.on(own, whole, AUTO);
            let mut known = vec![whole];
            for expression in policy.expressions() {
                let columns = expression.columns.iter().map(|&(oid, attnum)| (PG_CLASS, oid, attnum));
                let catalog = self.catalog;
                let others = expression.uses.iter().filter_map(|&oid| match () {
                    () if catalog.get(oid).is_some() => Some((PG_CLASS, oid, 0)),
                    () if catalog.routine(oid).is_some() => Some((PG_PROC, oid, 0)),
                    () if catalog.own_type(oid).is_some() => Some((PG_TYPE, oid, 0)),
                    () => None,
                });
                for on in columns.chain(others).collect::<Vec<_>>() {
                    if !known.contains(&on) {
                        known.push(on);
                        self.on(own, on, NORMAL);
                    }
                }
            }
        }
    }

    fn triggers(&mut self, whole: (u32, u32, i16), triggers: &[TriggerDesc]) {
        for trigger in triggers {
            let own = (PG_TRIGGER, trigger.oid, 0);
            self.on(own, whole, AUTO);
            self.on(own, (PG_PROC, trigger.function, 0), NORMAL);
            trigger.condition.iter().for_each(|text| self.expression(own, text));
        }
    }

    /// A constraint with an index that is a part of it.
    fn key(&mut self, table: &TableDesc, oid: u32, columns: impl Iterator<Item = i16>) {
        for column in columns {
            self.on((PG_CONSTRAINT, oid, 0), (PG_CLASS, table.oid, column), AUTO);
        }
        self.on((PG_CLASS, oid, 0), (PG_CONSTRAINT, oid, 0), INTERNAL);
    }

    fn index(&mut self, table: &TableDesc, index: &IndexDesc) {
        let columns = index.columns.iter().map(|column| column.attnum);
        if index.constraint {
            return self.key(table, index.oid, columns);
        }
        let own = (PG_CLASS, index.oid, 0);
        let (computed, plain): (Vec<i16>, Vec<i16>) =
            columns.partition(|column| table.key_expression(*column).is_some());
        for column in plain {
            self.on(own, (PG_CLASS, table.oid, column), AUTO);
        }
        if !computed.is_empty() || index.predicate.is_some() {
            self.on(own, (PG_CLASS, table.oid, 0), AUTO);
        }
        for text in computed.iter().filter_map(|column| table.key_expression(*column)) {
            self.expression(own, text);
        }
        index.predicate.iter().for_each(|predicate| self.expression(own, &predicate.text));
    }

    fn foreign_key(&mut self, table: &TableDesc, key: &ForeignKeyDesc) {
        let own = (PG_CONSTRAINT, key.oid, 0);
        for &column in &key.columns {
            self.on(own, (PG_CLASS, table.oid, column), AUTO);
        }
        for &column in &key.referred {
            self.on(own, (PG_CLASS, key.table, column), NORMAL);
        }
        if let Some(index) = super::pg_constraint::index_of(self.catalog, key) {
            self.on(own, (PG_CLASS, index, 0), NORMAL);
        }
    }

    fn sequence(&mut self, sequence: &SequenceDesc) {
        let Some((table, attnum)) = sequence.owned_by else { return };
        let column = self.catalog.table(table).and_then(|t| t.position(attnum).map(|at| &t.columns[at]));
        let identity = column.is_some_and(|column| column.identity.is_some());
        let kind = if identity { INTERNAL } else { AUTO };
        self.on((PG_CLASS, sequence.oid, 0), (PG_CLASS, table, attnum), kind);
    }

    fn view(&mut self, view: &ViewDesc) {
        let whole = (PG_CLASS, view.oid, 0);
        self.on((PG_TYPE, row_type(view.oid), 0), whole, INTERNAL);
        for (number, (_, oid, _)) in (1..).zip(&view.columns) {
            self.on_type((PG_CLASS, view.oid, number), *oid);
        }
        self.rule(view);
        self.triggers(whole, &view.triggers);
    }

    /// The rule that has the query of a view or a materialized view.
    fn rule(&mut self, view: &ViewDesc) {
        let rule = (PG_REWRITE, rule_of(view.oid), 0);
        self.on(rule, (PG_CLASS, view.oid, 0), INTERNAL);
        for &oid in &view.uses {
            let class = if self.catalog.own_type(oid).is_some() {
                PG_TYPE
            } else if self.catalog.routine(oid).is_some() {
                PG_PROC
            } else {
                PG_CLASS
            };
            self.on(rule, (class, oid, 0), NORMAL);
        }
    }

    fn of_enum(&mut self, desc: &EnumDesc) {
        self.within((PG_TYPE, desc.oid, 0), &desc.schema);
        self.on((PG_TYPE, desc.array_oid, 0), (PG_TYPE, desc.oid, 0), INTERNAL);
    }

    fn of_domain(&mut self, desc: &DomainDesc) {
        let own = (PG_TYPE, desc.oid, 0);
        self.within(own, &desc.schema);
        self.on((PG_TYPE, desc.array_oid, 0), own, INTERNAL);
        self.on_type(own, desc.type_oid);
        desc.default.iter().for_each(|text| self.expression(own, text));
        for check in &desc.checks {
            let constraint = (PG_CONSTRAINT, check.oid, 0);
            self.on(constraint, own, AUTO);
            self.expression(constraint, &check.expression);
        }
    }

    fn routine(&mut self, desc: &RoutineDesc) {
        let own = (PG_PROC, desc.oid, 0);
        self.within(own, &desc.schema);
        match desc.returns {
            Returned::Value(oid) => self.on_type(own, oid),
            Returned::Row(oid) => self.on(own, (PG_TYPE, row_type(oid), 0), NORMAL),
            Returned::Nothing | Returned::Trigger | Returned::Parameters | Returned::Record => {}
        }
        for parameter in &desc.parameters {
            self.on_type(own, parameter.type_oid);
            parameter.default.iter().for_each(|text| self.expression(own, text));
        }
    }
}
