//! Types: what a column, a parameter or an expression can be.

use crate::domains::DomainType;
use crate::enums::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::polymorphic::Polymorphic;
use crate::range::RangeType;
use std::fmt;

/// A type without its modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is the PostgreSQL type of that name")]
pub enum Base {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Varchar,
    /// `char(n)`: blank-padded; trailing blanks do not count in comparisons.
    Bpchar,
    Name,
    /// `"char"`: one byte.
    Char,
    Bytea,
    Date,
    Time,
    Timetz,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    Inet,
    Cidr,
    Macaddr,
    Macaddr8,
    Bit,
    Varbit,
    Money,
    Json,
    Jsonb,
    Jsonpath,
    Oid,
    Xid,
    Regclass,
    Regtype,
    Regproc,
    Regnamespace,
    Regrole,
    Regprocedure,
    Int2vector,
    Oidvector,
    /// The name of a portal.
    Refcursor,
    /// A literal whose type its surroundings decide.
    Unknown,
    /// What a function returns that returns nothing.
    Void,
    /// A row of anything.
    Record,
    /// What a call says: of parameters and results of routines only.
    Polymorphic(Polymorphic),
    /// The values between two bounds.
    Range(RangeType),
    /// A type that CREATE TYPE .. AS ENUM has made.
    Enum(EnumType),
}

/// A type's letter in `pg_type.typcategory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Category {
    /// Arrays.
    Array = b'A',
    /// bool.
    Boolean = b'B',
    /// Dates and times.
    DateTime = b'D',
    /// Enum types.
    Enum = b'E',
    /// Addresses of networks.
    Network = b'I',
    /// Numbers.
    Numeric = b'N',
    /// Types of functions only.
    Pseudo = b'P',
    /// Ranges.
    Range = b'R',
    /// Text.
    String = b'S',
    /// interval.
    Timespan = b'T',
    /// The rest.
    User = b'U',
    /// Strings of bits.
    Bits = b'V',
    /// unknown.
    Unknown = b'X',
    /// `"char"`.
    Internal = b'Z',
}

/// What is fixed about a [`Base`].
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// As `format_type` prints it, without a modifier.
    pub(crate) sql: &'static str,
    pub(crate) oid: u32,
    pub(crate) array: u32,
    pub(crate) len: i16,
    pub(crate) category: Category,
    pub(crate) preferred: bool,
}

use Category as C;

macro_rules! rows {
    ($(($base:ident, $name:literal, $sql:literal, ($oid:literal, $array:literal), $len:literal, $category:path,
        $preferred:literal),)*) => {
        /// The types that are always there, but for ranges.
        const ALL: [Base; 44] = [$(Base::$base),*];

        impl Base {
            fn row(self) -> &'static Row {
                match self {
                    $(Self::$base => &Row {
                        name: $name,
                        sql: $sql,
                        oid: $oid,
                        array: $array,
                        len: $len,
                        category: $category,
                        preferred: $preferred,
                    },)*
                    Self::Range(range) => range.row(),
                    Self::Polymorphic(ty) => ty.row(),
                    Self::Enum(definition) => definition.row(),
                }
            }
        }
    };
}

#[rustfmt::skip]
rows![
    (Bool, "bool", "boolean", (16, 1000), 1, C::Boolean, true),
    (Int2, "int2", "smallint", (21, 1005), 2, C::Numeric, false),
    (Int4, "int4", "integer", (23, 1007), 4, C::Numeric, false),
    (Int8, "int8", "bigint", (20, 1016), 8, C::Numeric, false),
    (Float4, "float4", "real", (700, 1021), 4, C::Numeric, false),
    (Float8, "float8", "double precision", (701, 1022), 8, C::Numeric, true),
    (Numeric, "numeric", "numeric", (1700, 1231), -1, C::Numeric, false),
    (Text, "text", "text", (25, 1009), -1, C::String, true),
    (Varchar, "varchar", "character varying", (1043, 1015), -1, C::String, false),
    (Bpchar, "bpchar", "character", (1042, 1014), -1, C::String, false),
    (Name, "name", "name", (19, 1003), 64, C::String, false),
    (Char, "char", "\"char\"", (18, 1002), 1, C::Internal, false),
    (Bytea, "bytea", "bytea", (17, 1001), -1, C::User, false),
    (Date, "date", "date", (1082, 1182), 4, C::DateTime, false),
    (Time, "time", "time without time zone", (1083, 1183), 8, C::DateTime, false),
    (Timetz, "timetz", "time with time zone", (1266, 1270), 12, C::DateTime, false),
    (Timestamp, "timestamp", "timestamp without time zone", (1114, 1115), 8, C::DateTime, false),
    (Timestamptz, "timestamptz", "timestamp with time zone", (1184, 1185), 8, C::DateTime, true),
    (Interval, "interval", "interval", (1186, 1187), 16, C::Timespan, true),
    (Uuid, "uuid", "uuid", (2950, 2951), 16, C::User, false),
    (Inet, "inet", "inet", (869, 1041), -1, C::Network, true),
    (Cidr, "cidr", "cidr", (650, 651), -1, C::Network, false),
    (Macaddr, "macaddr", "macaddr", (829, 1040), 6, C::User, false),
    (Macaddr8, "macaddr8", "macaddr8", (774, 775), 8, C::User, false),
    (Bit, "bit", "bit", (1560, 1561), -1, C::Bits, false),
    (Varbit, "varbit", "bit varying", (1562, 1563), -1, C::Bits, true),
    (Money, "money", "money", (790, 791), 8, C::Numeric, false),
    (Json, "json", "json", (114, 199), -1, C::User, false),
    (Jsonb, "jsonb", "jsonb", (3802, 3807), -1, C::User, false),
    (Jsonpath, "jsonpath", "jsonpath", (4072, 4073), -1, C::User, false),
    (Oid, "oid", "oid", (26, 1028), 4, C::Numeric, true),
    (Xid, "xid", "xid", (28, 1011), 4, C::User, false),
    (Regclass, "regclass", "regclass", (2205, 2210), 4, C::Numeric, false),
    (Regtype, "regtype", "regtype", (2206, 2211), 4, C::Numeric, false),
    (Regproc, "regproc", "regproc", (24, 1008), 4, C::Numeric, false),
    (Regnamespace, "regnamespace", "regnamespace", (4089, 4090), 4, C::Numeric, false),
    (Regrole, "regrole", "regrole", (4096, 4097), 4, C::Numeric, false),
    (Regprocedure, "regprocedure", "regprocedure", (2202, 2207), 4, C::Numeric, false),
    (Int2vector, "int2vector", "int2vector", (22, 1006), -1, C::Array, false),
    (Oidvector, "oidvector", "oidvector", (30, 1013), -1, C::Array, false),
    (Refcursor, "refcursor", "refcursor", (1790, 2201), -1, C::User, false),
    (Unknown, "unknown", "unknown", (705, 0), -2, C::Unknown, false),
    (Void, "void", "void", (2278, 0), 4, C::Pseudo, false),
    (Record, "record", "record", (2249, 2287), -1, C::Pseudo, false),
];

impl Base {
    /// The base types that are always there, which enum types are not.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().chain(RangeType::ALL.map(Self::Range))
    }
}

/// A type: a base, whether it is an array of it, and a modifier such as the `20` of `varchar(20)`; and the domain, if
/// it is one, or is arrays of one: the other fields say what its values are.
///
/// `==` compares the modifier and the domain as well; [`Type::same`] does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type {
    /// The type, or that of the elements if it is an array.
    pub base: Base,
    /// Whether it is an array.
    pub array: bool,
    /// PostgreSQL's `atttypmod`: -1 if there is none. Of a domain, that of its base.
    pub typmod: i32,
    /// The domain that is meant.
    pub domain: Option<DomainType>,
}

/// The largest `n` of `varchar(n)` and `char(n)`.
pub const MAX_CHAR_LENGTH: i32 = 10_485_760;
/// The largest `n` of `bit(n)` and `bit varying(n)`.
const MAX_BIT_LENGTH: i32 = 83_886_080;
/// The largest precision of `numeric(p, s)`.
pub const MAX_NUMERIC_PRECISION: i32 = 1_000;
/// What PostgreSQL adds to the modifiers of text and numeric.
const HEADER: i32 = 4;
/// Fractional digits of a second that are kept.
pub(crate) const MAX_TIME_PRECISION: i32 = 6;
/// All fields of an interval, in its modifier.
const INTERVAL_FULL_RANGE: i32 = 0x7FFF;
/// No precision of the seconds, in an interval's modifier.
const INTERVAL_FULL_PRECISION: i32 = 0xFFFF;

macro_rules! types {
    ($($name:ident = $base:ident),*) => {
        /// The types without a modifier.
        impl Type {
            $(#[doc = concat!("The type `", stringify!($name), "`.")]
            pub const $name: Self = Self::of(Base::$base);)*
        }
    };
}

types!(
    BOOL = Bool,
    INT2 = Int2,
    INT4 = Int4,
    INT8 = Int8,
    FLOAT4 = Float4,
    FLOAT8 = Float8,
    NUMERIC = Numeric,
    TEXT = Text,
    VARCHAR = Varchar,
    BPCHAR = Bpchar,
    NAME = Name,
    CHAR = Char,
    BYTEA = Bytea,
    DATE = Date,
    TIME = Time,
    TIMETZ = Timetz,
    TIMESTAMP = Timestamp,
    TIMESTAMPTZ = Timestamptz,
    INTERVAL = Interval,
    UUID = Uuid,
    INET = Inet,
    CIDR = Cidr,
    MACADDR = Macaddr,
    MACADDR8 = Macaddr8,
    BIT = Bit,
    VARBIT = Varbit,
    MONEY = Money,
    JSON = Json,
    JSONB = Jsonb,
    JSONPATH = Jsonpath,
    OID = Oid,
    XID = Xid,
    REGCLASS = Regclass,
    REGTYPE = Regtype,
    REGPROC = Regproc,
    REGNAMESPACE = Regnamespace,
    REGROLE = Regrole,
    REGPROCEDURE = Regprocedure,
    INT2VECTOR = Int2vector,
    OIDVECTOR = Oidvector,
    REFCURSOR = Refcursor,
    UNKNOWN = Unknown,
    VOID = Void,
    RECORD = Record
);

impl Type {
    /// The type without a modifier.
    pub const fn of(base: Base) -> Self {
        Self { base, array: false, typmod: -1, domain: None }
    }

    /// An enum type.
    pub const fn of_enum(definition: EnumType) -> Self {
        Self::of(Base::Enum(definition))
    }

    /// The array of a type.
    pub const fn array_of(base: Base) -> Self {
        Self { base, array: true, typmod: -1, domain: None }
    }

    /// `varchar(n)`.
    pub const fn varchar(n: i32) -> Self {
        Self { base: Base::Varchar, array: false, typmod: n + HEADER, domain: None }
    }

    /// `char(n)`.
    pub const fn bpchar(n: i32) -> Self {
        Self { base: Base::Bpchar, array: false, typmod: n + HEADER, domain: None }
    }

    /// `numeric(precision, scale)`.
    pub const fn numeric(precision: i32, scale: i32) -> Self {
        let typmod = ((precision << 16) | (scale & 0x7FF)) + HEADER;
        Self { base: Base::Numeric, array: false, typmod, domain: None }
    }

    /// A domain.
    pub fn of_domain(domain: DomainType) -> Self {
        Self { domain: Some(domain), ..domain.base() }
    }

    /// This type with another modifier. The one of a domain is a part of the domain.
    #[must_use]
    pub const fn with_typmod(self, typmod: i32) -> Self {
        if self.domain.is_some() { self } else { Self { typmod, ..self } }
    }

    /// The modifier that something of this type has beside its type, as `atttypmod` does: a domain's is its own.
    pub const fn modifier(self) -> i32 {
        if self.domain.is_some() { -1 } else { self.typmod }
    }

    /// The type of the values as such: that of a domain's base.
    #[must_use]
    pub const fn value_type(self) -> Self {
        Self { domain: None, ..self }
    }

    /// What a domain is over in the end; other types as they are, arrays of domains among them.
    #[must_use]
    pub fn without_domain(self) -> Self {
        self.as_domain().map_or(self, |domain| domain.chain().last().unwrap_or(domain).base())
    }

    /// The type of the values as such, without a modifier.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { typmod: -1, domain: None, ..self }
    }

    /// The type as functions return it: without its modifier. Only `char(n)` keeps its length, as values are kept
    /// without the blanks that it says they end with.
    pub fn of_result(self) -> Self {
        if self.base == Base::Bpchar { self.value_type() } else { self.plain() }
    }

    /// The domain that it is, which may be over arrays; None of arrays of one.
    pub fn as_domain(self) -> Option<DomainType> {
        self.domain.filter(|domain| !self.array || domain.base().array)
    }

    /// The domain that it is arrays of.
    pub fn array_of_domain(self) -> Option<DomainType> {
        self.domain.filter(|domain| self.array && !domain.base().array)
    }

    /// Whether two types differ in nothing but modifiers, and domains of the same values.
    pub fn same(self, other: Self) -> bool {
        self.base == other.base && self.array == other.array
    }

    /// The definition of an enum type; None of other types, and of arrays.
    pub fn as_enum(self) -> Option<EnumType> {
        match self.base {
            Base::Enum(definition) if !self.array => Some(definition),
            _ => None,
        }
    }

    /// The type of the elements, if it is an array (or `int2vector`, `oidvector`).
    pub fn element(self) -> Option<Self> {
        if let Some(domain) = self.as_domain() {
            return domain.base().element();
        }
        match self.base {
            _ if self.array => Some(Self { array: false, ..self }),
            Base::Int2vector => Some(Self::INT2),
            Base::Oidvector => Some(Self::OID),
            _ => None,
        }
    }

    /// The array type of this type; the modifier goes along. None for arrays and pseudo types.
    pub fn to_array(self) -> Option<Self> {
        (!self.array && self.base.row().array != 0).then_some(Self { array: true, ..self })
    }

    /// The OID in `pg_type`.
    pub fn oid(self) -> u32 {
        match (self.as_domain(), self.domain) {
            (Some(domain), _) => return domain.oid(),
            (None, Some(domain)) => return domain.array_oid(),
            (None, None) => {}
        }
        let row = self.base.row();
        if self.array { row.array } else { row.oid }
    }

    /// The type of an OID in `pg_type`, among those that are always there.
    pub fn from_oid(oid: u32) -> Option<Self> {
        if oid == 0 {
            return None;
        }
        let all = Base::all().chain(Polymorphic::ALL.map(Base::Polymorphic));
        all.into_iter().find_map(|base| match base.row() {
            row if oid == row.oid => Some(Self::of(base)),
            row if oid == row.array && row.array != 0 => Some(Self::array_of(base)),
            _ => None,
        })
    }

    /// `pg_type.typname`: `int4`, `_int4`.
    pub fn name(self) -> String {
        let name = self.domain.map_or(self.base.row().name, DomainType::name);
        if self.is_array() { format!("_{name}") } else { name.to_owned() }
    }

    /// Whether it is the type of arrays of another, which a domain over arrays is not.
    fn is_array(self) -> bool {
        self.array && self.as_domain().is_none()
    }

    /// `pg_type.typlen`: bytes, -1 if they vary.
    #[allow(clippy::len_without_is_empty, reason = "it is PostgreSQL's word, and no type is empty")]
    pub fn len(self) -> i16 {
        if self.array { -1 } else { self.base.row().len }
    }

    /// `pg_type.typcategory`.
    pub fn category(self) -> Category {
        if self.array { Category::Array } else { self.base.row().category }
    }

    /// `pg_type.typispreferred`: whether its category prefers it.
    pub fn is_preferred(self) -> bool {
        !self.array && self.domain.is_none() && self.base.row().preferred
    }

    /// Whether values of it are kept as [`crate::Value::Text`].
    pub fn is_text(self) -> bool {
        !self.array
            && matches!(
                self.base,
                Base::Text
                    | Base::Varchar
                    | Base::Bpchar
                    | Base::Name
                    | Base::Json
                    | Base::Refcursor
                    | Base::Unknown
            )
    }

    /// Whether every text is a value of it as it stands: a `name` is cut, JSON is checked, and a `char` loses blanks.
    pub fn takes_any_text(self) -> bool {
        let takes = matches!(self.base, Base::Text | Base::Varchar | Base::Refcursor | Base::Unknown);
        !self.array && takes && self.typmod < 0
    }

    /// Whether values of it are kept as [`crate::Value::Oid`].
    pub fn is_oid(self) -> bool {
        !self.array
            && matches!(
                self.base,
                Base::Oid
                    | Base::Xid
                    | Base::Regclass
                    | Base::Regtype
                    | Base::Regproc
                    | Base::Regnamespace
                    | Base::Regrole
                    | Base::Regprocedure
            )
    }

    /// The `n` of `varchar(n)` or `char(n)`.
    pub fn char_length(self) -> Option<usize> {
        let text = matches!(self.base, Base::Varchar | Base::Bpchar);
        (text && self.typmod >= HEADER).then_some((self.typmod - HEADER) as usize)
    }

    /// The `n` of `bit(n)` or `bit varying(n)`.
    pub fn bit_length(self) -> Option<usize> {
        (matches!(self.base, Base::Bit | Base::Varbit) && self.typmod > 0).then_some(self.typmod as usize)
    }

    /// Precision and scale of `numeric(p, s)`.
    pub fn precision_scale(self) -> Option<(i32, i32)> {
        if self.base != Base::Numeric || self.typmod < HEADER {
            return None;
        }
        let packed = self.typmod - HEADER;
        // the scale has 11 bits and a sign
        Some(((packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024))
    }

    /// Fractional digits of the seconds, if they are limited.
    pub fn time_precision(self) -> Option<u32> {
        let precision = match self.base {
            Base::Time | Base::Timetz | Base::Timestamp | Base::Timestamptz => self.typmod,
            Base::Interval if self.typmod >= 0 => self.typmod & INTERVAL_FULL_PRECISION,
            _ => return None,
        };
        (0..=MAX_TIME_PRECISION).contains(&precision).then_some(precision as u32)
    }

    /// The fields of an interval that its modifier keeps; None if all.
    pub(crate) fn interval_range(self) -> Option<i32> {
        if self.base != Base::Interval || self.typmod < 0 {
            return None;
        }
        let range = (self.typmod >> 16) & INTERVAL_FULL_RANGE;
        (range != INTERVAL_FULL_RANGE).then_some(range)
    }

    /// The type with the modifiers that were written behind its name.
    ///
    /// # Errors
    ///
    /// 22023 if they make no sense, 42601 if the type takes none.
    pub fn with_modifiers(self, modifiers: &[i32]) -> Result<Self> {
        if modifiers.is_empty() {
            return Ok(self);
        }
        if self.domain.is_some() {
            let message = format!("type modifier is not allowed for type \"{}\"", self.name());
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        let typmod = match (self.base, modifiers) {
            (Base::Varchar | Base::Bpchar, &[n]) => {
                let name = if self.base == Base::Varchar { "varchar" } else { "char" };
                if n < 1 {
                    return Err(bad(format!("length for type {name} must be at least 1")));
                }
                if n > MAX_CHAR_LENGTH {
                    return Err(bad(format!("length for type {name} cannot exceed {MAX_CHAR_LENGTH}")));
                }
                n + HEADER
            }
            (Base::Bit | Base::Varbit, &[n]) => {
                let name = self.base.row().name;
                if n < 1 {
                    return Err(bad(format!("length for type {name} must be at least 1")));
                }
                if n > MAX_BIT_LENGTH {
                    return Err(bad(format!("length for type {name} cannot exceed {MAX_BIT_LENGTH}")));
                }
                n
            }
            (Base::Numeric, &[precision]) => return self.with_modifiers(&[precision, 0]),
            (Base::Numeric, &[precision, scale]) => {
                if !(1..=MAX_NUMERIC_PRECISION).contains(&precision) {
                    return Err(bad(format!(
                        "NUMERIC precision {precision} must be between 1 and {MAX_NUMERIC_PRECISION}"
                    )));
                }
                if !(-1_000..=1_000).contains(&scale) {
                    return Err(bad(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
                }
                Self::numeric(precision, scale).typmod
            }
            (Base::Numeric, _) => return Err(bad("invalid NUMERIC type modifier")),
            (Base::Time | Base::Timetz | Base::Timestamp | Base::Timestamptz, &[precision]) => {
                let zoned = matches!(self.base, Base::Timestamptz | Base::Timetz);
                let zone = if zoned { " WITH TIME ZONE" } else { "" };
                let name = if matches!(self.base, Base::Time | Base::Timetz) { "TIME" } else { "TIMESTAMP" };
                if precision < 0 {
                    return Err(bad(format!("{name}({precision}){zone} precision must not be negative")));
                }
                precision.min(MAX_TIME_PRECISION)
            }
            (Base::Interval, &[precision]) => {
                if precision < 0 {
                    return Err(bad(format!("INTERVAL({precision}) precision must not be negative")));
                }
                (INTERVAL_FULL_RANGE << 16) | precision.min(MAX_TIME_PRECISION)
            }
            (Base::Varchar | Base::Bpchar | Base::Time | Base::Timetz | Base::Timestamp, _)
            | (Base::Timestamptz | Base::Interval | Base::Bit | Base::Varbit, _) => {
                return Err(bad("invalid type modifier"));
            }
            _ => {
                let message = format!("type modifier is not allowed for type \"{}\"", self.base.row().name);
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
        };
        Ok(Self { typmod, ..self })
    }

    /// The type of a name that may have several words, modifiers and brackets:
    /// `character varying(20)`, `timestamp(3) with time zone`, `_int4`, `int4[]`, `"char"`, `pg_catalog.int8`.
    ///
    /// # Errors
    ///
    /// 42704 if there is none, 42601 if it is no name, and those of [`Type::with_modifiers`].
    pub fn parse(text: &str) -> Result<Self> {
        crate::typename::parse(text, &|_, _| None)
    }

    /// As [`Type::parse`]; `others` knows types besides those that are always there, by schema and name.
    ///
    /// # Errors
    ///
    /// As [`Type::parse`].
    pub fn parse_among(text: &str, others: &dyn Fn(Option<&str>, &str) -> Option<Self>) -> Result<Self> {
        crate::typename::parse(text, others)
    }

    /// The type that `pg_type.typname` or one of SQL's names of one word means, as it is written without quotes.
    pub fn by_name(name: &str) -> Option<Self> {
        let base = match name {
            "boolean" => Base::Bool,
            "smallint" => Base::Int2,
            "int" | "integer" => Base::Int4,
            "bigint" => Base::Int8,
            "real" => Base::Float4,
            "float" => Base::Float8,
            "decimal" | "dec" => Base::Numeric,
            // without a length it means char(1)
            "char" | "character" | "nchar" => return Some(Self::bpchar(1)),
            "bit" => return Some(Self::BIT.with_typmod(1)),
            _ => return Self::by_typname(name),
        };
        Some(Self::of(base))
    }

    /// The type that `pg_type.typname` means: `"char"` is the one-byte type here.
    pub fn by_typname(name: &str) -> Option<Self> {
        let (name, array) = name.strip_prefix('_').map_or((name, false), |name| (name, true));
        let mut all = Base::all().chain(Polymorphic::ALL.map(Base::Polymorphic));
        let base = all.find(|base| base.row().name == name)?;
        (!array || base.row().array != 0).then_some(Self { base, array, typmod: -1, domain: None })
    }

    /// The name as SQL has it, without the modifier: `format_type(oid, NULL)`. Messages use it.
    pub fn sql_name(self) -> String {
        let name = self.domain.map_or(self.base.row().sql, DomainType::sql);
        if self.is_array() { format!("{name}[]") } else { name.to_owned() }
    }
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::invalid_parameter(message)
}

/// As `format_type(oid, typmod)` prints it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.domain.is_some() {
            return f.write_str(&self.sql_name());
        }
        let sql = self.base.row().sql;
        match self.base {
            Base::Bpchar if self.typmod < HEADER => f.write_str("bpchar")?,
            Base::Varchar | Base::Bpchar if self.typmod >= HEADER => {
                write!(f, "{sql}({})", self.typmod - HEADER)?;
            }
            // without quotes it is bit(1)
            Base::Bit if self.typmod < 1 => f.write_str("\"bit\"")?,
            Base::Bit | Base::Varbit if self.typmod > 0 => write!(f, "{sql}({})", self.typmod)?,
            Base::Numeric => match self.precision_scale() {
                Some((precision, scale)) => write!(f, "numeric({precision},{scale})")?,
                None => f.write_str(sql)?,
            },
            Base::Time | Base::Timetz | Base::Timestamp | Base::Timestamptz => match self.time_precision() {
                Some(precision) => {
                    let (word, rest) = sql.split_once(' ').unwrap_or((sql, ""));
                    write!(f, "{word}({precision}) {rest}")?;
                }
                None => f.write_str(sql)?,
            },
            Base::Interval => {
                f.write_str(sql)?;
                if let Some(range) = self.interval_range() {
                    f.write_str(crate::typename::interval_fields(range))?;
                }
                if let Some(precision) = self.time_precision() {
                    write!(f, "({precision})")?;
                }
            }
            _ => f.write_str(sql)?,
        }
        if self.array { f.write_str("[]") } else { Ok(()) }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oids_find_their_type_again() {
        for base in Base::all() {
            let scalar = Type::of(base);
            assert_eq!(Type::from_oid(scalar.oid()), Some(scalar));
            if let Some(array) = scalar.to_array() {
                assert_eq!(Type::from_oid(array.oid()), Some(array));
                assert_eq!(array.element(), Some(scalar));
            }
        }
        assert_eq!(Type::from_oid(0), None);
    }

    #[test]
    fn a_negative_scale_survives_its_packing() {
        for (precision, scale) in [(1, 0), (10, 2), (1000, 1000), (3, -2), (1000, -1000), (2, 5)] {
            assert_eq!(Type::numeric(precision, scale).precision_scale(), Some((precision, scale)));
        }
    }
}
