//! One state of the catalog.

use crate::access::{AccessDesc, RoleDesc};
use crate::databases::DatabaseDesc;
use crate::desc::{EnumDesc, ForeignKeyDesc, IndexDesc, Relation, SchemaDesc, TableDesc, ViewDesc};
use crate::domain::DomainDesc;
use crate::extensions::ExtensionDesc;
use crate::routine::RoutineDesc;
use scaledb_types::Type;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Oids below are PostgreSQL's own.
pub const FIRST_OID: u32 = 16_384;

/// The schema that is there from the start, and has no descriptor.
pub const PUBLIC: &str = "public";

/// A foreign key, seen from the table that it refers to.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The table that refers.
    pub from: Arc<TableDesc>,
    /// The number of the constraint there.
    pub number: usize,
}

impl Reference {
    /// The constraint.
    pub fn constraint(&self) -> &ForeignKeyDesc {
        &self.from.foreign_keys[self.number]
    }
}

/// One state of the catalog: cheap to copy, for descriptors are shared.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Counts the committed changes.
    pub version: u64,
    /// How many of them were of local relations alone: the store does not have them.
    pub(crate) unstored: u64,
    pub(crate) by_oid: BTreeMap<u32, Relation>,
    by_name: HashMap<(String, String), u32>,
    enums: BTreeMap<u32, (Arc<EnumDesc>, Type)>,
    /// What one is over has a smaller oid.
    domains: BTreeMap<u32, (Arc<DomainDesc>, Type)>,
    schemas: BTreeMap<String, Arc<SchemaDesc>>,
    routines: BTreeMap<u32, Arc<RoutineDesc>>,
    /// Oids of routines by their names, whatever their schemas.
    routines_by_name: HashMap<String, Vec<u32>>,
    pub(crate) extensions: BTreeMap<String, Arc<ExtensionDesc>>,
    /// Somebody has dropped `public`.
    without_public: bool,
    /// The database that the catalog is of, unless it is the first one.
    pub(crate) own: Option<u32>,
    pub(crate) databases: Arc<BTreeMap<u32, Arc<DatabaseDesc>>>,
    pub(crate) roles: Arc<BTreeMap<u32, Arc<RoleDesc>>>,
    /// By the object; those that have the defaults of their kind and are the first role's are not in it.
    pub(crate) access: BTreeMap<u32, Arc<AccessDesc>>,
}

impl Catalog {
    /// A catalog of these relations.
    pub fn new(version: u64, relations: impl IntoIterator<Item = Relation>) -> Self {
        let mut catalog = Self { version, ..Self::default() };
        relations.into_iter().for_each(|relation| catalog.put(relation));
        catalog
    }

    /// Adds a relation, or replaces the one of its oid.
    pub fn put(&mut self, relation: Relation) {
        let oid = relation.oid();
        self.remove(oid);
        // what the library makes is in `public`, whoever has dropped it
        self.without_public &= relation.schema() != PUBLIC;
        self.by_name.insert((relation.schema().to_owned(), relation.name().to_owned()), oid);
        self.by_oid.insert(oid, relation);
    }

    /// Adds an enum type, or replaces the one of its oid.
    pub fn put_enum(&mut self, desc: Arc<EnumDesc>) {
        self.remove_enum(desc.oid);
        self.by_name.insert((desc.schema.clone(), desc.name.clone()), desc.oid);
        self.enums.insert(desc.oid, (desc.clone(), desc.define()));
        self.define_domains(0, &[desc.oid, desc.array_oid]);
    }

    /// Adds a domain, or replaces the one of its oid.
    pub fn put_domain(&mut self, desc: Arc<DomainDesc>) {
        let oid = desc.oid;
        self.remove_domain(oid);
        self.by_name.insert((desc.schema.clone(), desc.name.clone()), oid);
        self.domains.insert(oid, (desc, Type::UNKNOWN));
        self.define_domains(oid, &[]);
    }

    /// Finds again what domains are, from one of an oid on: those that are over types of these oids, or over such
    /// domains.
    fn define_domains(&mut self, from: u32, changed: &[u32]) {
        let mut changed = changed.to_vec();
        let oids: Vec<u32> = self.domains.range(from..).map(|(oid, _)| *oid).collect();
        for oid in oids {
            let Some((desc, _)) = self.domains.get(&oid) else { continue };
            if oid != from && !changed.contains(&desc.type_oid) {
                continue;
            }
            let Some(base) = self.type_of_oid(desc.type_oid) else { continue };
            let ty = desc.define(base);
            changed.extend([oid, desc.array_oid]);
            if let Some((_, known)) = self.domains.get_mut(&oid) {
                *known = ty;
            }
        }
    }

    /// Removes a domain.
    pub fn remove_domain(&mut self, oid: u32) -> Option<Arc<DomainDesc>> {
        let (desc, _) = self.domains.remove(&oid)?;
        self.by_name.remove(&(desc.schema.clone(), desc.name.clone()));
        Some(desc)
    }

    /// Adds a schema, or replaces the one of its name.
    pub fn put_schema(&mut self, desc: Arc<SchemaDesc>) {
        debug_assert_ne!(desc.name, PUBLIC, "it has no descriptor");
        self.schemas.insert(desc.name.clone(), desc);
    }

    /// Whether there is the schema `public`.
    pub fn has_public(&self) -> bool {
        !self.without_public
    }

    /// Makes the schema `public` again, which has been dropped.
    pub fn put_public(&mut self) {
        self.without_public = false;
    }

    /// Removes a schema; what is in it is to be removed before.
    pub fn remove_schema(&mut self, name: &str) {
        debug_assert!(self.relations().all(|relation| relation.schema() != name), "schema {name} is empty");
        debug_assert!(self.enums().all(|desc| desc.schema != name), "schema {name} is empty");
        debug_assert!(self.domains().all(|desc| desc.schema != name), "schema {name} is empty");
        debug_assert!(self.routines().all(|desc| desc.schema != name), "schema {name} is empty");
        if name == PUBLIC {
            self.without_public = true;
        } else {
            self.schemas.remove(name);
        }
    }

    /// Adds a routine, or replaces the one of its oid.
    pub fn put_routine(&mut self, desc: Arc<RoutineDesc>) {
        self.remove_routine(desc.oid);
        self.routines_by_name.entry(desc.name.clone()).or_default().push(desc.oid);
        self.routines.insert(desc.oid, desc);
    }

    /// Removes a routine.
    pub fn remove_routine(&mut self, oid: u32) -> Option<Arc<RoutineDesc>> {
        let desc = self.routines.remove(&oid)?;
        if let Some(oids) = self.routines_by_name.get_mut(&desc.name) {
            oids.retain(|other| *other != oid);
            if oids.is_empty() {
                self.routines_by_name.remove(&desc.name);
            }
        }
        Some(desc)
    }

    /// The routine of an oid.
    pub fn routine(&self, oid: u32) -> Option<&Arc<RoutineDesc>> {
        self.routines.get(&oid)
    }

    /// The routines of a name, whatever their schemas.
    pub fn routines_named(&self, name: &str) -> impl Iterator<Item = &Arc<RoutineDesc>> {
        let oids = self.routines_by_name.get(name).into_iter().flatten();
        oids.filter_map(|oid| self.routines.get(oid))
    }

    /// All routines, by oid.
    pub fn routines(&self) -> impl Iterator<Item = &Arc<RoutineDesc>> {
        self.routines.values()
    }

    /// Removes an enum type.
    pub fn remove_enum(&mut self, oid: u32) -> Option<Arc<EnumDesc>> {
        let (desc, _) = self.enums.remove(&oid)?;
        self.by_name.remove(&(desc.schema.clone(), desc.name.clone()));
        Some(desc)
    }

    /// Removes a relation.
    pub fn remove(&mut self, oid: u32) -> Option<Relation> {
        let relation = self.by_oid.remove(&oid)?;
        self.by_name.remove(&(relation.schema().to_owned(), relation.name().to_owned()));
        Some(relation)
    }

    /// The relation of an oid.
    pub fn get(&self, oid: u32) -> Option<&Relation> {
        self.by_oid.get(&oid)
    }

    /// Whether this very descriptor is in the catalog.
    pub fn has(&self, relation: &Relation) -> bool {
        self.get(relation.oid()).is_some_and(|own| own.is(relation))
    }

    /// The table of an oid.
    pub fn table(&self, oid: u32) -> Option<&Arc<TableDesc>> {
        match self.by_oid.get(&oid) {
            Some(Relation::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// The relation of a name.
    pub fn lookup(&self, schema: &str, name: &str) -> Option<&Relation> {
        self.by_oid.get(&self.oid_named(schema, name)?)
    }

    /// The enum type of a name.
    pub fn enum_named(&self, schema: &str, name: &str) -> Option<&Arc<EnumDesc>> {
        self.enum_of(self.oid_named(schema, name)?)
    }

    /// The enum type of an oid.
    pub fn enum_of(&self, oid: u32) -> Option<&Arc<EnumDesc>> {
        self.enums.get(&oid).map(|(desc, _)| desc)
    }

    /// The domain of a name.
    pub fn domain_named(&self, schema: &str, name: &str) -> Option<&Arc<DomainDesc>> {
        self.domain_of(self.oid_named(schema, name)?)
    }

    /// The domain of an oid.
    pub fn domain_of(&self, oid: u32) -> Option<&Arc<DomainDesc>> {
        self.domains.get(&oid).map(|(desc, _)| desc)
    }

    /// The schema and the name of the enum type or domain of an oid.
    pub fn own_type(&self, oid: u32) -> Option<(&str, &str)> {
        let of_enum = self.enum_of(oid).map(|desc| (&*desc.schema, &*desc.name));
        of_enum.or_else(|| self.domain_of(oid).map(|desc| (&*desc.schema, &*desc.name)))
    }

    /// The oid of the enum type or domain of a name.
    pub fn own_type_named(&self, schema: &str, name: &str) -> Option<u32> {
        self.oid_named(schema, name).filter(|oid| self.own_type(*oid).is_some())
    }

    /// The schema of a name, of those that somebody made.
    pub fn schema_named(&self, name: &str) -> Option<&Arc<SchemaDesc>> {
        self.schemas.get(name)
    }

    /// The schemas that somebody made, by name.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<SchemaDesc>> {
        self.schemas.values()
    }

    /// Whether the relation, enum type, domain or routine of an oid has the same descriptor in a later catalog, and is
    /// found there by whatever name it was found by: no schema has since got something of its name, which a search path
    /// may lead to first. (Those of temporary relations are in the path of one session only, which makes what is in
    /// them.)
    pub fn finds_same(&self, now: &Self, oid: u32) -> bool {
        if !self.has_same_access(now, oid) {
            return false;
        }
        if let Some(routine) = self.routine(oid) {
            // arguments choose among all routines of the name
            let same = |(a, b): (&Arc<RoutineDesc>, &Arc<RoutineDesc>)| Arc::ptr_eq(a, b);
            let name = &routine.name;
            return self.routines_named(name).count() == now.routines_named(name).count()
                && self.routines_named(name).zip(now.routines_named(name)).all(same);
        }
        let name = match self.own_type(oid) {
            Some((_, name)) => name,
            None => match self.get(oid) {
                Some(relation) => relation.name(),
                None => return false,
            },
        };
        let is_new =
            |schema: &str| now.oid_named(schema, name).is_some() && self.oid_named(schema, name).is_none();
        self.has_same(now, oid)
            && !is_new(PUBLIC)
            && (now.schemas.is_empty() || !now.schemas.keys().any(|schema| is_new(schema)))
    }

    /// Whether the same may do the same with an object in another catalog.
    pub fn has_same_access(&self, other: &Self, oid: u32) -> bool {
        match (self.access.get(&oid), other.access.get(&oid)) {
            // a catalog that was read again has its own
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            (None, None) => true,
            _ => false,
        }
    }

    fn oid_named(&self, schema: &str, name: &str) -> Option<u32> {
        // a tuple of borrowed strings cannot be looked up in a map of owned ones; names are short
        self.by_name.get(&(schema.to_owned(), name.to_owned())).copied()
    }

    /// Whether relations, enum types and domains of an oid have the same descriptor in another catalog.
    pub fn has_same(&self, other: &Self, oid: u32) -> bool {
        if let Some(own) = self.domain_of(oid) {
            return other.domain_of(oid).is_some_and(|desc| Arc::ptr_eq(own, desc));
        }
        match (self.enum_of(oid), other.enum_of(oid)) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (Some(_), None) => false,
            (None, _) => self.get(oid).is_some_and(|relation| other.has(relation)),
        }
    }

    /// The index of a name, and its table. Primary keys are indexes, too, but have no `IndexDesc`.
    pub fn index(&self, schema: &str, name: &str) -> Option<(&Arc<TableDesc>, Option<&IndexDesc>)> {
        self.tables().filter(|t| t.schema == schema).find_map(|table| {
            if table.primary_key.as_ref().is_some_and(|key| key.name == name) {
                return Some((table, None));
            }
            table.indexes.iter().find(|index| index.name == name).map(|index| (table, Some(index)))
        })
    }

    /// Whether a relation, a type or an index has this name.
    pub fn is_taken(&self, schema: &str, name: &str) -> bool {
        self.oid_named(schema, name).is_some() || self.index(schema, name).is_some()
    }

    /// All relations, by oid.
    pub fn relations(&self) -> impl Iterator<Item = &Relation> {
        self.by_oid.values()
    }

    /// All enum types, by oid.
    pub fn enums(&self) -> impl Iterator<Item = &Arc<EnumDesc>> {
        self.enums.values().map(|(desc, _)| desc)
    }

    /// All domains, by oid.
    pub fn domains(&self) -> impl Iterator<Item = &Arc<DomainDesc>> {
        self.domains.values().map(|(desc, _)| desc)
    }

    /// The type of an oid: one that is always there, an enum type, a domain, or arrays of one.
    pub fn type_of_oid(&self, oid: u32) -> Option<Type> {
        if oid < FIRST_OID {
            return Type::from_oid(oid);
        }
        let of_array = || {
            let enums = self.enums.values().map(|(desc, ty)| (desc.array_oid, ty));
            let mut all = enums.chain(self.domains.values().map(|(desc, ty)| (desc.array_oid, ty)));
            all.find_map(|(array, ty)| if array == oid { ty.to_array() } else { None })
        };
        self.type_of_own(oid).or_else(of_array)
    }

    /// The enum type or domain of an oid.
    fn type_of_own(&self, oid: u32) -> Option<Type> {
        let of_enum = self.enums.get(&oid).map(|(_, ty)| *ty);
        of_enum.or_else(|| self.domains.get(&oid).map(|(_, ty)| *ty))
    }

    /// The enum type or domain of a name, or the type of arrays of one, which has a low line before the name.
    pub fn type_named(&self, schema: &str, name: &str) -> Option<Type> {
        let by_name = |name: &str| self.type_of_own(self.oid_named(schema, name)?);
        by_name(name).or_else(|| by_name(name.strip_prefix('_')?)?.to_array())
    }

    /// The numbers under which values of sequences were noted that another catalog does not name any more: the
    /// sequences have been dropped or restarted.
    pub fn values_gone<'a>(&'a self, now: &'a Self) -> impl Iterator<Item = u32> + 'a {
        self.relations().filter_map(|relation| match relation {
            Relation::Sequence(before) => match now.get(before.oid) {
                Some(Relation::Sequence(after)) if after.value_id() == before.value_id() => None,
                _ => Some(before.value_id()),
            },
            _ => None,
        })
    }

    /// All views, by oid.
    pub fn views(&self) -> impl Iterator<Item = &Arc<ViewDesc>> {
        self.by_oid.values().filter_map(|relation| match relation {
            Relation::View(view) => Some(view),
            _ => None,
        })
    }

    /// What all views and materialized views are defined by, by oid.
    pub fn definitions(&self) -> impl Iterator<Item = Arc<ViewDesc>> {
        self.by_oid.values().filter_map(Relation::definition)
    }

    /// All tables, by oid.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDesc>> {
        self.by_oid.values().filter_map(|relation| match relation {
            Relation::Table(table) => Some(table),
            _ => None,
        })
    }

    /// All that may have triggers, by oid: tables, and those views that have some, in the form of tables.
    pub fn triggering(&self) -> impl Iterator<Item = Cow<'_, TableDesc>> {
        self.by_oid.values().filter_map(|relation| match relation {
            Relation::Table(table) => Some(Cow::Borrowed(&**table)),
            Relation::View(view) if !view.triggers.is_empty() => Some(Cow::Owned(view.as_table())),
            Relation::View(_) | Relation::Sequence(_) => None,
        })
    }

    /// The foreign keys that refer to a table.
    pub fn references_to(&self, table: u32) -> Vec<Reference> {
        let mut found = Vec::new();
        for from in self.tables() {
            for (number, key) in from.foreign_keys.iter().enumerate() {
                if key.table == table {
                    found.push(Reference { from: from.clone(), number });
                }
            }
        }
        found
    }

    /// The greatest oid in use.
    pub fn max_oid(&self) -> u32 {
        let of_relations = self.by_oid.values().flat_map(|relation| relation.oids());
        let of_enums = self.enums().flat_map(|desc| desc.oids());
        let of_domains = self.domains().flat_map(|desc| desc.oids());
        let of_schemas = self.schemas().map(|desc| desc.oid);
        let of_routines = self.routines.keys().copied();
        let of_roles = self.roles.keys().copied();
        let of_defaults = self.access.values().flat_map(|access| access.defaults.iter().map(|each| each.oid));
        let of_databases = self.databases.keys().copied();
        let of_extensions = self.extensions().map(|desc| desc.oid);
        let others = of_routines.chain(of_roles).chain(of_defaults).chain(of_databases).chain(of_extensions);
        of_relations
            .chain(of_enums)
            .chain(of_domains)
            .chain(of_schemas)
            .chain(others)
            .max()
            .unwrap_or(0)
            .max(FIRST_OID)
    }
}
