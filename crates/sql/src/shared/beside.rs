//! Changes of the catalog that need not wait for each other.
//!
//! Two changes of one catalog conflict at their commits, for one may need what the other takes away. Most that happen
//! beside an application are of another kind: a session makes or drops a temporary table, which nobody else knows; a
//! database is made or dropped, which belongs to the catalogs of all others. What another change has read, made or
//! dropped is not among those, so it commits on top of them, if it leaves alone what temporary tables may name.

use scaledb_catalog::{Catalog, Relation};
use scaledb_planner::bind::names::is_temporary;
use std::sync::Arc;

/// A changed catalog with what others have committed since the change began, with the catalog `begun`: none if that may
/// matter to the change, or the change to that.
pub(crate) fn beside(changed: &Catalog, begun: &Catalog, now: &Catalog) -> Option<Catalog> {
    let own = changed.own_database();
    let is_same_for_all = changed.has_same_common(begun)
        && begun.has_same_roles(now)
        && begun.database(own) == now.database(own)
        && begun.has_same_access(now, own);
    if !is_same_for_all || !has_same_but_relations(begun, now) {
        return None;
    }
    let new: Vec<&Relation> = now.relations().filter(|relation| !begun.has(relation)).collect();
    let gone: Vec<&Relation> =
        begun.relations().filter(|relation| now.get(relation.oid()).is_none()).collect();
    let is_theirs = |relation: &&Relation| {
        let left_alone = match (begun.get(relation.oid()), changed.get(relation.oid())) {
            (None, None) => true,
            (Some(before), Some(after)) => before.is(after),
            _ => false,
        };
        is_temporary(relation.schema()) && left_alone
    };
    // a view may read any table
    let is_no_view = |relation: &&Relation| !matches!(relation, Relation::View(_));
    let may_stand = new.is_empty() || new.iter().all(is_no_view) && takes_nothing_away(begun, changed);
    if !may_stand || !new.iter().chain(&gone).all(is_theirs) {
        return None;
    }
    let of_relations = |oid: u32| new.iter().chain(&gone).any(|relation| relation.oid() == oid);
    let of_others = |oid: u32| now.is_database(oid) || begun.is_database(oid) || of_relations(oid);
    let mut accesses = begun.accesses().chain(now.accesses()).map(|access| access.object);
    if !accesses.all(|object| begun.has_same_access(now, object) || of_others(object)) {
        return None;
    }
    let mut catalog = changed.clone();
    catalog.take_common(now);
    for relation in gone {
        catalog.remove(relation.oid());
    }
    for relation in new {
        catalog.put(relation.clone());
        if let Some(access) = now.access(relation.oid()) {
            catalog.put_access((**access).clone());
        }
    }
    Some(catalog)
}

/// Whether two catalogs of a database have the same types, routines, schemas and extensions.
fn has_same_but_relations(a: &Catalog, b: &Catalog) -> bool {
    has_types_and_routines_of(a, b)
        && has_types_and_routines_of(b, a)
        && a.schemas().eq(b.schemas())
        && a.extensions().eq(b.extensions())
        && a.has_public() == b.has_public()
}

/// Whether the types and routines of a catalog are in another one, as they are.
fn has_types_and_routines_of(a: &Catalog, other: &Catalog) -> bool {
    let is_there = |oid: u32| a.has_same(other, oid);
    let routine = |oid: u32| other.routine(oid);
    a.enums().all(|desc| is_there(desc.oid))
        && a.domains().all(|desc| is_there(desc.oid))
        && a.routines().all(|desc| routine(desc.oid).is_some_and(|known| Arc::ptr_eq(known, desc)))
}

/// Whether a change has left alone what a temporary table of another session may name: types, routines, and relations
/// by their names.
fn takes_nothing_away(begun: &Catalog, changed: &Catalog) -> bool {
    let has_its_name = |relation: &Relation| {
        changed
            .get(relation.oid())
            .is_some_and(|known| (known.schema(), known.name()) == (relation.schema(), relation.name()))
    };
    has_types_and_routines_of(begun, changed)
        && begun.relations().all(|relation| is_temporary(relation.schema()) || has_its_name(relation))
}
