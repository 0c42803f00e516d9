//! Which privileges a statement needs: collected while its names are resolved.

use super::Binder;
use super::names::{Naming, is_temporary};
use crate::plan::needs::{Need, Needs};
use crate::plan::{BoundTable, Slot};
use scaledb_catalog::{Catalog, ObjectKind, Privileges, Relation};
use std::collections::BTreeSet;
use std::ops::Range;

/// A relation that a statement reads or writes.
#[derive(Clone, Debug)]
struct Use {
    need: Need,
    /// The slots that have its columns: SELECT is needed on those that are named.
    slots: Vec<Held>,
    /// Whether its rows are read, be it only to be counted: one that is written is read where its columns are named.
    reads: bool,
    /// The use of the view that it is written through: it is read if that is.
    through: Option<UseNumber>,
}

/// A slot that has a column.
#[derive(Clone, Copy, Debug)]
struct Held {
    attnum: i16,
    slot: Slot,
    /// How often the slot had been named before: by the query of a view, whose column has the slot now.
    before: u32,
}

/// What a statement uses, and which of its slots are named in its text.
#[derive(Debug, Default)]
pub struct Uses {
    all: Vec<Use>,
    /// How often slots are named.
    named: Vec<u32>,
    /// WITH queries that only read, by their numbers, with the uses that they consist of.
    ctes: Vec<(usize, Range<usize>)>,
    /// The WITH queries that are referred to.
    read: BTreeSet<usize>,
    /// While the query of a view is bound: its owner, whose privileges count there.
    by: Option<u32>,
}

/// What is used, by its place among all.
#[derive(Clone, Copy, Debug)]
pub struct UseNumber(usize);

impl Uses {
    /// Notes that a slot is named.
    pub fn name(&mut self, slot: Slot) {
        if self.named.len() <= slot {
            self.named.resize(slot + 1, 0);
        }
        self.named[slot] += 1;
    }

    fn times_named(&self, slot: Slot) -> u32 {
        self.named.get(slot).copied().unwrap_or(0)
    }

    /// A use has columns in these slots.
    fn hold(&mut self, UseNumber(number): UseNumber, slots: impl Iterator<Item = (i16, Slot)>) {
        let held: Vec<Held> =
            slots.map(|(attnum, slot)| Held { attnum, slot, before: self.times_named(slot) }).collect();
        self.all[number].slots.extend(held);
    }

    fn push(&mut self, kind: ObjectKind, object: u32, whole: Privileges) -> UseNumber {
        let need = Need { kind, object, whole, columns: Vec::new(), by: self.by };
        self.all.push(Use { need, slots: Vec::new(), reads: false, through: None });
        UseNumber(self.all.len() - 1)
    }

    /// Whose privileges count for what is bound now, if not those of the role that runs the statement.
    pub fn by(&self) -> Option<u32> {
        self.by
    }

    /// The privileges of a role count from here on: the owner's of the view whose query is bound.
    pub fn act_for(&mut self, role: Option<u32>) {
        self.by = role;
    }

    /// Whose privileges count for a use, if not those of the role that runs the statement.
    pub fn by_whom(&self, UseNumber(number): UseNumber) -> Option<u32> {
        self.all[number].need.by
    }

    /// Whether what is used is read, as far as the statement is bound: a column of it has been named.
    pub fn is_read(&self, UseNumber(number): UseNumber) -> bool {
        let Use { slots, reads, through, .. } = &self.all[number];
        match through {
            Some(view) => self.is_read(*view),
            None => *reads || slots.iter().any(|held| self.times_named(held.slot) > held.before),
        }
    }

    /// How often slots have been named.
    pub fn counts(&self, slots: &[Slot]) -> Vec<u32> {
        slots.iter().map(|&slot| self.times_named(slot)).collect()
    }

    /// Forgets how often slots have been named since.
    pub fn restore_counts(&mut self, slots: &[Slot], counts: &[u32]) {
        for (&slot, &count) in slots.iter().zip(counts) {
            if let Some(times) = self.named.get_mut(slot) {
                *times = count;
            }
        }
    }

    /// How many uses there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The uses behind the first ones are those of a WITH query that only reads.
    pub fn of_cte(&mut self, number: usize, first: usize) {
        self.ctes.push((number, first..self.all.len()));
    }

    /// Notes that a WITH query is referred to.
    pub fn reads_cte(&mut self, number: usize) {
        self.read.insert(number);
    }

    /// What the statement needs, if anything. A WITH query that only reads, and that nobody refers to, is not run.
    pub fn finish(self) -> Option<Box<Needs>> {
        let idle: Vec<Range<usize>> = self
            .ctes
            .iter()
            .filter(|(number, _)| !self.read.contains(number))
            .map(|(_, uses)| uses.clone())
            .collect();
        let mut needs: Vec<Need> = Vec::with_capacity(self.all.len());
        // which of them are read
        let mut read_ones = vec![false; self.all.len()];
        for (at, Use { need, slots, reads, through }) in self.all.iter().enumerate() {
            if idle.iter().any(|uses| uses.contains(&at)) {
                continue;
            }
            let mut need = need.clone();
            let read = slots.iter().filter(|held| self.times_named(held.slot) > held.before);
            let mut columns: Vec<i16> = read.map(|held| held.attnum).collect();
            columns.sort_unstable();
            columns.dedup();
            read_ones[at] = match through {
                Some(UseNumber(view)) => read_ones[*view],
                None => *reads || !columns.is_empty(),
            };
            if read_ones[at] {
                need.columns.push((Privileges::SELECT, columns));
            }
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
        // who may not look into a schema is not told of what is in it
        needs.sort_by_key(|need| need.kind != ObjectKind::Schema);
        let of_others = needs.iter().any(|need| need.by.is_some());
        (!needs.is_empty()).then(|| Box::new(Needs { all: needs, of_others }))
    }
}

impl Binder<'_> {
    /// Notes that the statement names something in a schema. What is kept as a text has looked into it before.
    pub(super) fn looks_into(&mut self, schema: &str) {
        if !matches!(self.naming, Naming::Statement) || is_temporary(schema) {
            return;
        }
        if let Some(oid) = self.catalog.schema_oid(schema) {
            self.uses.push(ObjectKind::Schema, oid, Privileges::USAGE);
        }
    }

    /// Notes that the statement reads a relation, whose columns are in these slots.
    pub(super) fn reads_relation(
        &mut self,
        relation: &Relation,
        slots: impl Iterator<Item = (i16, Slot)>,
    ) -> UseNumber {
        self.looks_into(relation.schema());
        let number = self.uses.push(Catalog::kind_of_relation(relation), relation.oid(), Privileges::NONE);
        self.uses.hold(number, slots);
        self.uses.all[number.0].reads = true;
        number
    }

    /// Notes that rows of a relation are locked, if a clause says so: as if they were changed.
    pub(super) fn locks_relation(&mut self, number: UseNumber, alias: &str) {
        if !self.locking.within(alias).is_empty() {
            self.needs_on_columns(number, Privileges::UPDATE, Vec::new());
        }
    }

    /// Notes that the statement writes to a relation: what it needs on all of it.
    pub(super) fn writes_relation(&mut self, relation: &Relation, whole: Privileges) -> UseNumber {
        self.looks_into(relation.schema());
        self.uses.push(Catalog::kind_of_relation(relation), relation.oid(), whole)
    }

    /// Notes that the statement writes through a view to what that reads. Who reads of the view needs SELECT on all
    /// columns that its query names.
    pub(super) fn writes_behind(
        &mut self,
        relation: &Relation,
        whole: Privileges,
        view: UseNumber,
    ) -> UseNumber {
        let number = self.uses.push(Catalog::kind_of_relation(relation), relation.oid(), whole);
        self.uses.all[number.0].through = Some(view);
        number
    }

    /// Notes that columns of what is used are in these slots.
    pub(super) fn has_columns(&mut self, number: UseNumber, slots: impl Iterator<Item = (i16, Slot)>) {
        self.uses.hold(number, slots);
    }

    /// Notes that the columns of a table that is written are in these slots, too.
    pub(super) fn has_row(&mut self, number: UseNumber, table: &BoundTable, row: &[Slot]) {
        let columns = table.desc.columns.iter().map(|column| column.attnum);
        self.uses.hold(number, columns.zip(row.iter().copied()));
    }

    /// Notes that the statement needs a privilege on all of a table that is written.
    pub(super) fn needs(&mut self, number: UseNumber, privilege: Privileges) {
        let whole = &mut self.uses.all[number.0].need.whole;
        *whole = whole.and(privilege);
    }

    /// Notes that the statement needs a privilege on columns of a table that is written; on all of it, if there are
    /// none.
    pub(super) fn needs_on(
        &mut self,
        number: UseNumber,
        privilege: Privileges,
        table: &BoundTable,
        positions: impl Iterator<Item = usize>,
    ) {
        let columns = positions.map(|position| table.desc.columns[position].attnum).collect();
        self.needs_on_columns(number, privilege, columns);
    }

    pub(super) fn needs_on_columns(&mut self, number: UseNumber, privilege: Privileges, columns: Vec<i16>) {
        let need = &mut self.uses.all[number.0].need;
        match need.columns.iter_mut().find(|(known, _)| *known == privilege) {
            Some((_, known)) => known.extend(columns),
            None => need.columns.push((privilege, columns)),
        }
    }

    /// Notes that the statement calls a routine.
    pub(super) fn calls_routine(&mut self, schema: &str, oid: u32) {
        self.looks_into(schema);
        // by whoever runs the statement, within views as well
        let by = self.uses.by.take();
        self.uses.push(ObjectKind::Routine, oid, Privileges::EXECUTE);
        self.uses.by = by;
    }

    /// Notes that a slot is named by the text of the statement, or of a view.
    pub(super) fn names_slot(&mut self, slot: Slot) {
        // a constraint, a default or a generated column reads what its table may
        if !matches!(self.naming, Naming::Kept) {
            self.uses.name(slot);
        }
    }
}
