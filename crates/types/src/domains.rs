//! Domains: names for a type with a condition on its values.
//!
//! A value of a domain is one of its base type, and nothing that handles values knows domains: a [`crate::Type`] says
//! in its other fields what the values are, and beside them which domain is meant. What a domain demands of a value
//! stands in the catalog, and is checked where a value becomes one of the domain.
//!
//! Definitions are interned as those of enum types are, and stay until the process ends.

use crate::func::quote_ident;
use crate::ty::Type;
use scaledb_sync::lock::Mutex;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

/// What a definition says.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Content {
    oid: u32,
    array: u32,
    name: Box<str>,
    base: Type,
}

struct Definition {
    /// Its place among the definitions of the process.
    number: u32,
    /// The name as SQL has it.
    sql: Box<str>,
    content: Content,
}

/// A domain, as one definition says it.
#[derive(Clone, Copy)]
pub struct DomainType(&'static Definition);

static DEFINITIONS: LazyLock<Mutex<HashMap<&'static Content, DomainType>>> = LazyLock::new(Mutex::default);

impl DomainType {
    /// The domain of these oids, of itself and of arrays of it, with this name, over a type that may be a domain.
    pub fn define(oid: u32, array: u32, name: &str, base: Type) -> Self {
        let content = Content { oid, array, name: name.into(), base };
        let mut definitions = DEFINITIONS.lock();
        if let Some(known) = definitions.get(&content) {
            return *known;
        }
        let number = u32::try_from(definitions.len()).unwrap_or(u32::MAX);
        let sql = quote_ident(name).into_owned().into_boxed_str();
        let defined: &'static Definition = Box::leak(Box::new(Definition { number, sql, content }));
        definitions.insert(&defined.content, Self(defined));
        Self(defined)
    }

    /// Its oid.
    pub fn oid(self) -> u32 {
        self.0.content.oid
    }

    /// The oid of the type of arrays of it.
    pub fn array_oid(self) -> u32 {
        self.0.content.array
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        &self.0.content.name
    }

    /// Its name as SQL has it.
    pub fn sql(self) -> &'static str {
        &self.0.sql
    }

    /// The type that it is over, which may be another domain.
    pub fn base(self) -> Type {
        self.0.content.base
    }

    /// The domain, the one that it is over, and so on, down to one that is over no other.
    pub fn chain(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |domain| domain.base().as_domain())
    }
}

impl PartialEq for DomainType {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for DomainType {}

impl PartialOrd for DomainType {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DomainType {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.number.cmp(&other.0.number)
    }
}

impl Hash for DomainType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

impl fmt::Debug for DomainType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Array, Env, Value, find_cast};
    use std::sync::Arc;

    #[test]
    fn a_domain_is_another_type_with_the_values_of_its_base() {
        let base = Type::varchar(3);
        let domain = Type::of_domain(DomainType::define(80_000, 80_001, "Short", base));
        assert_eq!(DomainType::define(80_000, 80_001, "Short", base), domain.as_domain().unwrap());
        assert_ne!(domain, base);
        assert!(domain.same(base));
        assert_eq!((domain.value_type(), domain.plain()), (base, Type::VARCHAR));
        assert_eq!((domain.oid(), domain.modifier(), domain.with_typmod(-1)), (80_000, -1, domain));
        assert_eq!((domain.to_string(), domain.name()), ("\"Short\"".to_owned(), "Short".to_owned()));
        let error = find_cast(Type::TEXT, domain, crate::Context::Assignment).unwrap();
        let error = error.apply(&Value::text("long one"), &Env::default()).unwrap_err();
        assert_eq!(error.to_string(), "value too long for type character varying(3)");
    }

    #[test]
    fn arrays_of_a_domain_and_domains_over_arrays_differ() {
        let domain = DomainType::define(80_010, 80_011, "pos", Type::INT4);
        let array = Type::of_domain(domain).to_array().unwrap();
        assert_eq!((array.oid(), array.to_string(), array.name()), (80_011, "pos[]".into(), "_pos".into()));
        assert_eq!((array.as_domain(), array.element()), (None, Some(Type::of_domain(domain))));
        let over = Type::of_domain(DomainType::define(80_012, 80_013, "list", array));
        assert_eq!((over.oid(), over.to_string(), over.to_array()), (80_012, "list".into(), None));
        assert_eq!(over.element(), Some(Type::of_domain(domain)));
        let more = Type::of_domain(DomainType::define(80_014, 80_015, "list2", over));
        assert_eq!(more.element(), Some(Type::of_domain(domain)));
        let chain: Vec<u32> = more.as_domain().unwrap().chain().map(DomainType::oid).collect();
        assert_eq!(chain, [80_014, 80_012]);
        assert_eq!(over.array_of_domain(), None);
        assert_eq!(array.array_of_domain(), Some(domain));
        // values have no domains in them
        let value = Value::Array(Arc::new(Array::new(Type::of_domain(domain), vec![Value::Int4(1)])));
        assert_eq!(value, Value::parse("{1}", over, &Env::default()).unwrap());
        let Value::Array(value) = value else { panic!("an array") };
        assert_eq!(value.element(), Type::INT4);
    }
}
