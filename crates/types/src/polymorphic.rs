//! The polymorphic pseudo-types: what a parameter has that takes any type, arrays of any type, and so on.
//!
//! A call says which types they are. `anyelement` and its kin are one type in a call; `anycompatible` and its kin are
//! the type that all of their arguments become.

use crate::error::{Result, SqlError, SqlState};
use crate::func::common_type;
use crate::ty::{Base, Category, Row, Type};

/// A polymorphic type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is the PostgreSQL type of that name")]
pub enum Polymorphic {
    Element,
    Array,
    NonArray,
    Enum,
    Range,
    Compatible,
    CompatibleArray,
    CompatibleNonArray,
    CompatibleRange,
}

const fn row(name: &'static str, oid: u32) -> Row {
    Row { name, sql: name, oid, array: 0, len: 4, category: Category::Pseudo, preferred: false }
}

impl Polymorphic {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Element,
        Self::Array,
        Self::NonArray,
        Self::Enum,
        Self::Range,
        Self::Compatible,
        Self::CompatibleArray,
        Self::CompatibleNonArray,
        Self::CompatibleRange,
    ];

    pub(crate) fn row(self) -> &'static Row {
        match self {
            Self::Element => const { &row("anyelement", 2283) },
            Self::Array => const { &row("anyarray", 2277) },
            Self::NonArray => const { &row("anynonarray", 2776) },
            Self::Enum => const { &row("anyenum", 3500) },
            Self::Range => const { &row("anyrange", 3831) },
            Self::Compatible => const { &row("anycompatible", 5077) },
            Self::CompatibleArray => const { &row("anycompatiblearray", 5078) },
            Self::CompatibleNonArray => const { &row("anycompatiblenonarray", 5079) },
            Self::CompatibleRange => const { &row("anycompatiblerange", 5080) },
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether it is of the family whose arguments become one type.
    pub fn is_compatible(self) -> bool {
        matches!(
            self,
            Self::Compatible | Self::CompatibleArray | Self::CompatibleNonArray | Self::CompatibleRange
        )
    }

    /// Whether its arguments are ranges.
    pub fn is_range(self) -> bool {
        matches!(self, Self::Range | Self::CompatibleRange)
    }

    /// The type of the elements of arrays of this type, as a VARIADIC parameter takes them.
    pub fn element(self) -> Option<Self> {
        match self {
            Self::Array => Some(Self::Element),
            Self::CompatibleArray => Some(Self::Compatible),
            _ => None,
        }
    }

    /// The one whose type a call is to be asked for, if a result has this type.
    pub fn of_type(ty: Type) -> Option<Self> {
        match ty.base {
            Base::Polymorphic(polymorphic) => Some(polymorphic),
            _ => None,
        }
    }
}

/// What polymorphic types are in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    element: Option<Type>,
    range: Option<Type>,
    compatible: Option<Type>,
    compatible_range: Option<Type>,
}

/// 42804.
fn mismatch(what: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::DATATYPE_MISMATCH, what.into())
}

fn is_unknown(ty: Type) -> bool {
    ty.base == Base::Unknown && !ty.array
}

/// The type that all have which are known. The outer None says that they disagree.
fn alike(types: impl Iterator<Item = Type>) -> Option<Option<Type>> {
    let mut found: Option<Type> = None;
    for ty in types.filter(|ty| !is_unknown(*ty)).map(Type::plain) {
        match found {
            Some(before) if !before.same(ty) => return None,
            _ => found = Some(ty),
        }
    }
    Some(found)
}

impl Inferred {
    /// What polymorphic types are in a call with arguments for parameters of these types. `None`: no call takes such
    /// arguments together.
    pub fn of_call(arguments: &[(Polymorphic, Type)]) -> Option<Self> {
        let of = |wanted: Polymorphic| {
            arguments.iter().filter(move |(declared, _)| *declared == wanted).map(|(_, ty)| ty.value_type())
        };
        let has = |wanted: Polymorphic| arguments.iter().any(|(declared, _)| *declared == wanted);
        let known_arrays = |wanted| of(wanted).filter(|ty| !is_unknown(*ty)).all(|ty| ty.element().is_some());
        let known_ranges =
            |wanted| of(wanted).filter(|ty| !is_unknown(*ty)).all(|ty| ty.as_range().is_some());
        if !known_arrays(Polymorphic::Array)
            || !known_arrays(Polymorphic::CompatibleArray)
            || !known_ranges(Polymorphic::Range)
            || !known_ranges(Polymorphic::CompatibleRange)
        {
            return None;
        }
        let elements = of(Polymorphic::Element)
            .chain(of(Polymorphic::NonArray))
            .chain(of(Polymorphic::Enum))
            .chain(of(Polymorphic::Array).filter_map(Type::element))
            .chain(of(Polymorphic::Range).filter_map(|ty| ty.as_range().map(|range| range.subtype())));
        let element = alike(elements)?;
        let range = alike(of(Polymorphic::Range))?;
        if let Some(element) = element {
            let is_enum = matches!(element.base, Base::Enum(_)) && !element.array;
            if has(Polymorphic::NonArray) && element.array || has(Polymorphic::Enum) && !is_enum {
                return None;
            }
        }
        let mut together: Vec<Type> =
            of(Polymorphic::Compatible).chain(of(Polymorphic::CompatibleNonArray)).collect();
        together.extend(of(Polymorphic::CompatibleArray).map(|ty| ty.element().unwrap_or(ty)));
        let compatible_range = alike(of(Polymorphic::CompatibleRange))?;
        let subtype = compatible_range.and_then(|ty| ty.as_range()).map(|range| range.subtype());
        together.extend(subtype);
        let compatible = match together.is_empty() {
            true => None,
            false => Some(common_type(&together, "anycompatible").ok()?.plain()),
        };
        let is_array = compatible.is_some_and(|ty| ty.array);
        // the bounds of a range do not become others
        if has(Polymorphic::CompatibleNonArray) && is_array
            || subtype.is_some_and(|subtype| compatible.is_some_and(|ty| !ty.same(subtype)))
        {
            return None;
        }
        Some(Self { element, range, compatible, compatible_range })
    }

    /// The type that a polymorphic one is.
    ///
    /// # Errors
    /// 42804 if nothing says it.
    pub fn resolve(&self, ty: Polymorphic) -> Result<Type> {
        let array = |element: Type| {
            element.to_array().ok_or_else(|| {
                let what = format!("could not find array type for data type {}", element.sql_name());
                SqlError::new(SqlState::UNDEFINED_OBJECT, what)
            })
        };
        let element = || {
            let what = "could not determine polymorphic type because input has type unknown";
            self.element.ok_or_else(|| mismatch(what))
        };
        let compatible = || Ok(self.compatible.unwrap_or(Type::TEXT));
        let unknown = |name: &str| {
            mismatch(format!("could not determine polymorphic type {name} because input has type unknown"))
        };
        match ty {
            Polymorphic::Element | Polymorphic::NonArray | Polymorphic::Enum => element(),
            Polymorphic::Array => element().and_then(array),
            Polymorphic::Range => self.range.ok_or_else(|| unknown("anyrange")),
            Polymorphic::Compatible | Polymorphic::CompatibleNonArray => compatible(),
            Polymorphic::CompatibleArray => compatible().and_then(array),
            Polymorphic::CompatibleRange => {
                self.compatible_range.ok_or_else(|| unknown("anycompatiblerange"))
            }
        }
    }
}

/// Looks whether calls with parameters of these types say what a result of this type is.
///
/// # Errors
/// 42P13.
pub fn check_result(result: Type, parameters: &[Type]) -> Result<()> {
    let Some(wanted) = Polymorphic::of_type(result) else { return Ok(()) };
    let mut given = parameters.iter().filter_map(|ty| Polymorphic::of_type(*ty));
    let says = given.any(|given| match wanted.is_range() {
        true => given == wanted,
        false => given.is_compatible() == wanted.is_compatible(),
    });
    if says {
        return Ok(());
    }
    let inputs = match wanted {
        Polymorphic::Range => "anyrange or anymultirange",
        Polymorphic::CompatibleRange => "anycompatiblerange or anycompatiblemultirange",
        _ if wanted.is_compatible() => {
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
        }
        _ => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
    };
    let detail =
        format!("A result of type {} requires at least one input of type {inputs}.", result.sql_name());
    Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, "cannot determine result data type")
        .detail(detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_say_what_polymorphic_types_are() {
        let texts = Type::TEXT.to_array().unwrap();
        let call = [(Polymorphic::Element, Type::UNKNOWN), (Polymorphic::Array, texts)];
        let inferred = Inferred::of_call(&call).unwrap();
        assert_eq!(inferred.resolve(Polymorphic::Element).unwrap(), Type::TEXT);
        assert_eq!(inferred.resolve(Polymorphic::Array).unwrap(), texts);
        assert!(
            Inferred::of_call(&[(Polymorphic::Element, Type::INT4), (Polymorphic::Array, texts)]).is_none()
        );
        let call = [(Polymorphic::Compatible, Type::INT4), (Polymorphic::Compatible, Type::NUMERIC)];
        let inferred = Inferred::of_call(&call).unwrap();
        assert_eq!(inferred.resolve(Polymorphic::CompatibleArray).unwrap().sql_name(), "numeric[]");
        let unknown = Inferred::of_call(&[(Polymorphic::Element, Type::UNKNOWN)]).unwrap();
        assert_eq!(unknown.resolve(Polymorphic::Element).unwrap_err().code(), SqlState::DATATYPE_MISMATCH);
    }
}
