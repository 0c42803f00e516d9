//! Local relations: those that one process of a shared database knows by itself, as no session of another one can name
//! them. They are the temporary ones of its sessions.
//!
//! ```text
//!  catalog of a process = what the store has  ∪  its local relations
//!  version              = stored version      +  changes of local relations alone
//! ```
//!
//! Their oids are not those of anything that another process makes, by a range that no other object is given oids of.

use crate::desc::Relation;
use crate::snapshot::{Catalog, FIRST_OID};
use std::ops::RangeInclusive;

/// The oids from here on are of local relations, and of what belongs to them.
pub const FIRST_LOCAL_OID: u32 = 1 << 31;

/// Processes have numbers of 8 bits, so each has so many local oids.
const OIDS_OF_PROCESS: u32 = FIRST_LOCAL_OID >> 8;

/// The local oids of a process.
pub fn local_oids(process: u8) -> RangeInclusive<u32> {
    let first = FIRST_LOCAL_OID + u32::from(process) * OIDS_OF_PROCESS;
    first..=first + (OIDS_OF_PROCESS - 1)
}

/// The `n`th local oid of a process; they come again.
pub fn local_oid(process: u8, n: u32) -> u32 {
    local_oids(process).start() + n % OIDS_OF_PROCESS
}

/// Whether an oid is of a local relation, in a shared database.
pub fn is_local(oid: u32) -> bool {
    oid >= FIRST_LOCAL_OID
}

impl Catalog {
    /// The version that the store has.
    pub fn stored_version(&self) -> u64 {
        self.version - self.unstored
    }

    /// The catalog is the next one behind another; the store has none of the change if `is_stored` is false.
    pub fn follow(&mut self, before: &Self, is_stored: bool) {
        self.version = before.version + 1;
        self.unstored = before.unstored + u64::from(!is_stored);
        debug_assert_eq!(self.stored_version(), before.stored_version() + u64::from(is_stored));
    }

    /// Takes the local relations of an earlier catalog of this process over into one that was read from the store, and
    /// leaves those out that are of what is not there any more.
    pub fn take_local(&mut self, earlier: &Self) {
        debug_assert_eq!(self.unstored, 0, "it comes from the store");
        self.version += earlier.unstored;
        self.unstored = earlier.unstored;
        let mut local: Vec<&Relation> =
            earlier.by_oid.range(FIRST_LOCAL_OID..).map(|(_, relation)| relation).collect();
        // a view may be of another one that is left out
        while let Some(at) = local.iter().position(|relation| !self.has_all_of(relation, &local)) {
            local.swap_remove(at);
        }
        for relation in local {
            let oid = relation.oid();
            self.put(relation.clone());
            if let Some(access) = earlier.access.get(&oid) {
                self.access.insert(oid, access.clone());
            }
        }
    }

    /// Whether the types, relations and routines that a local relation is of are there, in the catalog or among the
    /// local ones.
    fn has_all_of(&self, relation: &Relation, local: &[&Relation]) -> bool {
        let has = |oid: u32| {
            oid < FIRST_OID
                || self.get(oid).is_some()
                || self.routine(oid).is_some()
                || self.type_of_oid(oid).is_some()
                || local.iter().any(|other| other.oid() == oid)
        };
        match relation {
            Relation::Table(table) => {
                table.columns.iter().all(|column| has(column.type_oid))
                    && table.triggers.iter().all(|trigger| has(trigger.function))
                    && table.foreign_keys.iter().all(|key| has(key.table))
            }
            Relation::View(view) => {
                view.columns.iter().all(|(_, ty, _)| has(*ty))
                    && view.triggers.iter().all(|trigger| has(trigger.function))
                    && view.uses.iter().all(|oid| has(*oid))
            }
            Relation::Sequence(sequence) => sequence.owned_by.is_none_or(|(table, _)| has(table)),
        }
    }

    /// Whether something local has an oid.
    pub fn has_local_oid(&self, oid: u32) -> bool {
        let has = |relation: &Relation| match relation {
            Relation::Sequence(sequence) => sequence.oid == oid || sequence.value_id() == oid,
            other => other.oids().contains(&oid),
        };
        self.by_oid.range(FIRST_LOCAL_OID..).any(|(_, relation)| has(relation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desc::{ColumnDesc, EnumDesc, SequenceDesc, TableDesc, ViewDesc};
    use std::sync::Arc;

    fn table(oid: u32, name: &str, type_oid: u32) -> Relation {
        let mut desc = TableDesc::new(oid, "s".to_owned(), name.to_owned());
        let column = r#"{"attnum":1,"name":"a","type_oid":0,"typmod":-1,"not_null":false,"default":null}"#;
        let mut column: ColumnDesc = serde_json::from_str(column).expect("a column");
        column.type_oid = type_oid;
        desc.columns.push(column);
        Relation::Table(Arc::new(desc))
    }

    fn view(oid: u32, name: &str, uses: &[u32]) -> Relation {
        let text =
            r#"{"oid":1,"schema":"s","name":"v","columns":[["a",23,-1]],"query":"SELECT 1 AS a","uses":[]}"#;
        let desc: ViewDesc = serde_json::from_str(text).expect("a view");
        Relation::View(Arc::new(ViewDesc { oid, name: name.to_owned(), uses: uses.to_vec(), ..desc }))
    }

    fn mood() -> Arc<EnumDesc> {
        let (schema, name) = ("public".to_owned(), "mood".to_owned());
        Arc::new(EnumDesc { oid: 20_000, array_oid: 20_001, schema, name, labels: Vec::new() })
    }

    #[test]
    fn oids_of_processes_and_those_of_all_are_not_each_others() {
        assert!(!is_local(FIRST_LOCAL_OID - 1));
        for process in [0, 1, 63, 255] {
            let all = [local_oid(process, 0), local_oid(process, OIDS_OF_PROCESS - 1)];
            assert!(all.iter().all(|oid| is_local(*oid)), "{all:?}");
            assert_eq!(all[1] - all[0], OIDS_OF_PROCESS - 1);
            assert_eq!(local_oid(process, OIDS_OF_PROCESS), all[0], "they come again");
            if process < 255 {
                assert!(all[1] < local_oid(process + 1, 0));
            }
        }
        assert_eq!(local_oid(255, OIDS_OF_PROCESS - 1), u32::MAX);
    }

    #[test]
    fn versions_count_what_is_stored_and_what_is_not() {
        let stored = Catalog::new(7, []);
        let mut local = stored.clone();
        local.follow(&stored, false);
        assert_eq!((local.version, local.stored_version()), (8, 7));
        let mut both = local.clone();
        both.follow(&local, true);
        assert_eq!((both.version, both.stored_version()), (9, 8));
        // another process has made two changes
        let mut read = Catalog::new(10, []);
        read.take_local(&both);
        assert_eq!((read.version, read.stored_version()), (11, 10));
        assert!(read.version > both.version);
    }

    #[test]
    fn local_relations_stay_as_long_as_what_they_are_of() {
        let first = FIRST_LOCAL_OID;
        let mut here = Catalog::new(1, [table(16_384, "t", 23)]);
        here.put_enum(mood());
        for relation in [
            table(first, "plain", 23),
            table(first + 1, "of_moods", 20_000),
            table(first + 2, "of_arrays", 20_001),
            view(first + 3, "of_t", &[16_384]),
            view(first + 4, "of_of_t", &[first + 3]),
            view(first + 5, "of_plain", &[first]),
        ] {
            here.put(relation);
        }
        let names = |catalog: &Catalog| -> Vec<String> {
            let local = catalog.relations().filter(|relation| is_local(relation.oid()));
            local.map(|relation| relation.name().to_owned()).collect()
        };
        let mut same = Catalog::new(2, [table(16_384, "t", 23)]);
        same.put_enum(mood());
        same.take_local(&here);
        assert_eq!(names(&same), ["plain", "of_moods", "of_arrays", "of_t", "of_of_t", "of_plain"]);
        let mut without_t = Catalog::new(2, []);
        without_t.put_enum(mood());
        without_t.take_local(&here);
        assert_eq!(names(&without_t), ["plain", "of_moods", "of_arrays", "of_plain"]);
        let mut without_moods = Catalog::new(2, [table(16_384, "t", 23)]);
        without_moods.take_local(&here);
        assert_eq!(names(&without_moods), ["plain", "of_t", "of_of_t", "of_plain"]);
        assert!(without_moods.has_local_oid(first) && !without_moods.has_local_oid(first + 1));
    }

    #[test]
    fn the_sequence_of_a_column_goes_with_its_table() {
        let first = FIRST_LOCAL_OID;
        let text = r#"{"oid":1,"schema":"s","name":"q","type_oid":20,"start":1,"increment":1,"min":1,"max":9,"cycle":false,
            "owned_by":null}"#;
        let mut desc: SequenceDesc = serde_json::from_str(text).expect("a sequence");
        (desc.oid, desc.owned_by) = (first, Some((first + 1, 1)));
        let mut here = Catalog::new(1, [table(first + 1, "of_moods", 20_000)]);
        here.put_enum(mood());
        here.put(Relation::Sequence(Arc::new(desc)));
        let mut now = Catalog::new(2, []);
        now.take_local(&here);
        assert_eq!(now.relations().count(), 0);
    }
}
