//! Values as bytes that say what they are: for rows that lie in a temporary file for a while.
//!
//! A value comes back as it was, and not merely equal: `1.00` keeps its scale, `30 days` its days. Numbers are in
//! little endian order.
//!
//! ```text
//! NULL, false, true      tag
//! numbers, times, uuid,   tag | the value
//! macaddr, macaddr8
//! inet, cidr, bits       tag | length (4) | sorted form
//! numeric of a word      tag | mantissa (8) | scale (2)
//! other numeric          tag | scale (2) | sorted form
//! text, bytea, jsonb,     tag | length (4) | bytes
//! jsonpath
//! of an enum type        tag | number of the definition (4) | order of the label (8)
//! arrays                 tag | oid of the element (4) | its modifier (4) | dimensions (1) | length and lower bound of
//!                        each (8) | how many values (4) | the values
//! ranges                 tag | oid (4) | 1 for an empty one | of each bound 1 if it is inclusive | its value
//! records                tag | how many fields (4) | for each: length of its name (4) | the name | 1 for an array | oid of
//!                        its type or element (4) | modifier (4) | the value
//! ```

use crate::array::{Array, Dimension, MAX_DIMENSIONS};
use crate::bits::Bits;
use crate::enums::EnumType;
use crate::error::{Result, SqlError, SqlState};
use crate::interval::Interval;
use crate::json::Json;
use crate::jsonpath::JsonPath;
use crate::network::Inet;
use crate::numeric::Numeric;
use crate::range::{Bound, Range};
use crate::record::{Fields, MAX_RECORD_DEPTH, Record};
use crate::storage::Stored;
use crate::timetz::Timetz;
use crate::ty::Type;
use crate::value::{Text, Value};
use std::sync::Arc;

mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const INT2: u8 = 3;
    pub(super) const INT4: u8 = 4;
    pub(super) const INT8: u8 = 5;
    pub(super) const FLOAT4: u8 = 6;
    pub(super) const FLOAT8: u8 = 7;
    pub(super) const SMALL: u8 = 8;
    pub(super) const NUMERIC: u8 = 9;
    pub(super) const TEXT: u8 = 10;
    pub(super) const CHAR: u8 = 11;
    pub(super) const BYTEA: u8 = 12;
    pub(super) const DATE: u8 = 13;
    pub(super) const TIME: u8 = 14;
    pub(super) const TIMESTAMP: u8 = 15;
    pub(super) const TIMESTAMPTZ: u8 = 16;
    pub(super) const INTERVAL: u8 = 17;
    pub(super) const UUID: u8 = 18;
    pub(super) const JSONB: u8 = 19;
    pub(super) const OID: u8 = 20;
    pub(super) const ARRAY: u8 = 21;
    pub(super) const ENUM: u8 = 22;
    pub(super) const RECORD: u8 = 23;
    pub(super) const RANGE: u8 = 24;
    pub(super) const INET: u8 = 25;
    pub(super) const MACADDR: u8 = 26;
    pub(super) const MACADDR8: u8 = 27;
    pub(super) const TIMETZ: u8 = 28;
    pub(super) const BITS: u8 = 29;
    pub(super) const MONEY: u8 = 30;
    pub(super) const JSONPATH: u8 = 31;
}

/// Stands for the oid of an enum type; the number of its definition follows.
const ENUM_TYPE: u32 = u32::MAX;

/// How deep values lie in values at most: records and their arrays.
const MAX_NESTING: usize = 2 * MAX_RECORD_DEPTH as usize + 2;

/// The type of an element or a field, but for whether it is an array.
fn put_type(ty: Type, out: &mut Vec<u8>) {
    let ty = Type { array: false, domain: None, ..ty };
    match ty.as_enum() {
        Some(definition) => {
            out.extend_from_slice(&ENUM_TYPE.to_le_bytes());
            out.extend_from_slice(&definition.number().to_le_bytes());
        }
        None => {
            out.extend_from_slice(&ty.oid().to_le_bytes());
            out.extend_from_slice(&ty.typmod.to_le_bytes());
        }
    }
}

fn put_len(len: usize, out: &mut Vec<u8>) -> Result<()> {
    let len = u32::try_from(len).map_err(|_| {
        SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a value is too long for a temporary file")
    })?;
    out.extend_from_slice(&len.to_le_bytes());
    Ok(())
}

fn put_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    out.push(tag);
    put_len(bytes.len(), out)?;
    out.extend_from_slice(bytes);
    Ok(())
}

impl Value {
    /// Appends the value and what it is.
    ///
    /// # Errors
    ///
    /// 54001 for a jsonb that is nested too deeply, 54000 for a value of more than 4 GiB.
    pub fn write_tagged(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut put = |tag: u8, bytes: &[u8]| {
            out.push(tag);
            out.extend_from_slice(bytes);
        };
        match self {
            Self::Null => put(tag::NULL, &[]),
            Self::Bool(false) => put(tag::FALSE, &[]),
            Self::Bool(true) => put(tag::TRUE, &[]),
            Self::Int2(v) => put(tag::INT2, &v.to_le_bytes()),
            Self::Int4(v) => put(tag::INT4, &v.to_le_bytes()),
            Self::Int8(v) => put(tag::INT8, &v.to_le_bytes()),
            Self::Float4(v) => put(tag::FLOAT4, &v.to_bits().to_le_bytes()),
            Self::Float8(v) => put(tag::FLOAT8, &v.to_bits().to_le_bytes()),
            Self::Numeric(Numeric::Small { mantissa, scale }) => {
                put(tag::SMALL, &mantissa.to_le_bytes());
                out.extend_from_slice(&scale.to_le_bytes());
            }
            Self::Numeric(v) => {
                put(tag::NUMERIC, &v.scale().unwrap_or(0).to_le_bytes());
                v.write_sorted(out);
            }
            Self::Text(v) => put_bytes(tag::TEXT, v.as_bytes(), out)?,
            Self::Char(v) => put(tag::CHAR, &[*v]),
            Self::Bytea(v) => put_bytes(tag::BYTEA, v, out)?,
            Self::Date(v) => put(tag::DATE, &v.to_le_bytes()),
            Self::Time(v) => put(tag::TIME, &v.to_le_bytes()),
            Self::Timestamp(v) => put(tag::TIMESTAMP, &v.to_le_bytes()),
            Self::Timestamptz(v) => put(tag::TIMESTAMPTZ, &v.to_le_bytes()),
            Self::Interval(v) => {
                put(tag::INTERVAL, &v.months.to_le_bytes());
                out.extend_from_slice(&v.days.to_le_bytes());
                out.extend_from_slice(&v.micros.to_le_bytes());
            }
            Self::Timetz(v) => put(tag::TIMETZ, &v.key().to_le_bytes()),
            Self::Bits(v) => {
                let mut bytes = Vec::with_capacity(v.bytes().len() + 3);
                v.write_key(&mut bytes);
                put_bytes(tag::BITS, &bytes, out)?;
            }
            Self::Money(v) => put(tag::MONEY, &v.to_le_bytes()),
            Self::Uuid(v) => put(tag::UUID, v),
            Self::Inet(v) => {
                let mut bytes = Vec::with_capacity(34);
                v.write_key(&mut bytes);
                put_bytes(tag::INET, &bytes, out)?;
            }
            Self::Macaddr(v) => put(tag::MACADDR, v),
            Self::Macaddr8(v) => put(tag::MACADDR8, v),
            Self::Jsonb(_) => {
                let Stored::Bytes(bytes) = self.store(Type::JSONB)? else {
                    return Err(SqlError::internal("jsonb is stored as bytes"));
                };
                put_bytes(tag::JSONB, &bytes, out)?;
            }
            Self::Jsonpath(v) => put_bytes(tag::JSONPATH, v.text().as_bytes(), out)?,
            Self::Oid(v) => put(tag::OID, &v.to_le_bytes()),
            Self::Array(v) => {
                put(tag::ARRAY, &[]);
                put_type(v.element(), out);
                out.push(v.dimensions().len() as u8);
                for dim in v.dimensions() {
                    out.extend_from_slice(&dim.len.to_le_bytes());
                    out.extend_from_slice(&dim.lower.to_le_bytes());
                }
                put_len(v.values().len(), out)?;
                for value in v.values() {
                    value.write_tagged(out)?;
                }
            }
            Self::Enum(v) => {
                put(tag::ENUM, &v.ty().number().to_le_bytes());
                out.extend_from_slice(&v.order().to_le_bytes());
            }
            Self::Record(record) => {
                put(tag::RECORD, &[]);
                put_len(record.values().len(), out)?;
                for (name, ty, value) in record.each() {
                    put_len(name.len(), out)?;
                    out.extend_from_slice(name.as_bytes());
                    out.push(u8::from(ty.array));
                    put_type(ty, out);
                    value.write_tagged(out)?;
                }
            }
            Self::Range(range) => {
                put(tag::RANGE, &Type::of_range(range.ty()).oid().to_le_bytes());
                out.push(u8::from(range.is_empty()));
                for bound in range.bounds().into_iter().flatten() {
                    out.push(u8::from(bound.inclusive));
                    bound.value.write_tagged(out)?;
                }
            }
        }
        Ok(())
    }

    /// A value that [`Value::write_tagged`] has written, and the bytes behind it. None if there is none.
    pub fn read_tagged(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut reader = Reader { bytes };
        let value = reader.value(0)?;
        Some((value, reader.bytes))
    }
}

/// Reads from the front.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*chunk)
    }

    /// Bytes behind their length.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(u32::from_le_bytes(self.chunk()?)).ok()?;
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    fn value(&mut self, nesting: usize) -> Option<Value> {
        let [tag] = self.chunk()?;
        Some(match tag {
            tag::NULL => Value::Null,
            tag::FALSE => Value::Bool(false),
            tag::TRUE => Value::Bool(true),
            tag::INT2 => Value::Int2(i16::from_le_bytes(self.chunk()?)),
            tag::INT4 => Value::Int4(i32::from_le_bytes(self.chunk()?)),
            tag::INT8 => Value::Int8(i64::from_le_bytes(self.chunk()?)),
            tag::FLOAT4 => Value::Float4(f32::from_bits(u32::from_le_bytes(self.chunk()?))),
            tag::FLOAT8 => Value::Float8(f64::from_bits(u64::from_le_bytes(self.chunk()?))),
            tag::SMALL => {
                let mantissa = i64::from_le_bytes(self.chunk()?);
                Value::Numeric(Numeric::small(mantissa, u16::from_le_bytes(self.chunk()?)))
            }
            tag::NUMERIC => {
                let scale = u16::from_le_bytes(self.chunk()?);
                let (number, rest) = Numeric::read_sorted(self.bytes, scale)?;
                self.bytes = rest;
                Value::Numeric(number)
            }
            tag::TEXT => Value::Text(Text::new(std::str::from_utf8(self.counted()?).ok()?)),
            tag::CHAR => Value::Char(u8::from_le_bytes(self.chunk()?)),
            tag::BYTEA => Value::Bytea(Arc::from(self.counted()?)),
            tag::DATE => Value::Date(i32::from_le_bytes(self.chunk()?)),
            tag::TIME => Value::Time(i64::from_le_bytes(self.chunk()?)),
            tag::TIMESTAMP => Value::Timestamp(i64::from_le_bytes(self.chunk()?)),
            tag::TIMESTAMPTZ => Value::Timestamptz(i64::from_le_bytes(self.chunk()?)),
            tag::INTERVAL => {
                let months = i32::from_le_bytes(self.chunk()?);
                let days = i32::from_le_bytes(self.chunk()?);
                Value::Interval(Interval::new(months, days, i64::from_le_bytes(self.chunk()?)))
            }
            tag::TIMETZ => Value::Timetz(Timetz::of_key(i64::from_le_bytes(self.chunk()?))?),
            tag::BITS => Value::Bits(Arc::new(Bits::read_key(self.counted()?)?)),
            tag::MONEY => Value::Money(i64::from_le_bytes(self.chunk()?)),
            tag::UUID => Value::Uuid(self.chunk()?),
            tag::INET => Value::Inet(Inet::read_key(self.counted()?)?),
            tag::MACADDR => Value::Macaddr(self.chunk()?),
            tag::MACADDR8 => Value::Macaddr8(self.chunk()?),
            tag::JSONB => Value::jsonb(Json::read_stored(self.counted()?)?),
            tag::JSONPATH => {
                let text = std::str::from_utf8(self.counted()?).ok()?;
                Value::Jsonpath(Arc::new(JsonPath::parse(text).ok()?))
            }
            tag::OID => Value::Oid(u32::from_le_bytes(self.chunk()?)),
            tag::ARRAY if nesting < MAX_NESTING => self.array(nesting)?,
            tag::RECORD if nesting < MAX_NESTING => self.record(nesting)?,
            tag::RANGE if nesting < MAX_NESTING => self.range(nesting)?,
            tag::ENUM => {
                let definition = EnumType::of_number(u32::from_le_bytes(self.chunk()?))?;
                Value::Enum(definition.stored(i64::from_le_bytes(self.chunk()?))?)
            }
            _ => return None,
        })
    }

    fn ty(&mut self) -> Option<Type> {
        Some(match u32::from_le_bytes(self.chunk()?) {
            ENUM_TYPE => Type::of_enum(EnumType::of_number(u32::from_le_bytes(self.chunk()?))?),
            oid => Type { typmod: i32::from_le_bytes(self.chunk()?), ..Type::from_oid(oid)? },
        })
    }

    fn range(&mut self, nesting: usize) -> Option<Value> {
        let ty = Type::from_oid(u32::from_le_bytes(self.chunk()?))?.as_range()?;
        let [empty] = self.chunk()?;
        if empty != 0 {
            return Some(Value::Range(Arc::new(Range::empty(ty))));
        }
        let mut bound = || {
            let [inclusive] = self.chunk()?;
            let value = self.value(nesting + 1)?;
            value.fits(ty.subtype()).then(|| Bound::new(value, inclusive != 0))
        };
        let (lower, upper) = (bound()?, bound()?);
        Some(Value::Range(Arc::new(Range::new(ty, lower, upper).ok()?)))
    }

    fn record(&mut self, nesting: usize) -> Option<Value> {
        let count = usize::try_from(u32::from_le_bytes(self.chunk()?)).ok()?;
        // every field has a tag: no more are there than bytes
        if count > self.bytes.len() {
            return None;
        }
        let (mut names, mut types, mut values) = (Vec::new(), Vec::new(), Vec::with_capacity(count));
        for _ in 0..count {
            names.push(String::from_utf8(self.counted()?.to_vec()).ok()?);
            let [array] = self.chunk()?;
            types.push(Type { array: array != 0, ..self.ty()? });
            values.push(self.value(nesting + 1)?);
        }
        let record = Record::new(Arc::new(Fields { names, types }), values).ok()?;
        Some(Value::Record(Arc::new(record)))
    }

    fn array(&mut self, nesting: usize) -> Option<Value> {
        let element = self.ty()?;
        let [count] = self.chunk()?;
        let count = Some(usize::from(count)).filter(|count| *count <= MAX_DIMENSIONS)?;
        let mut dims = Vec::with_capacity(count);
        for _ in 0..count {
            let len = i32::from_le_bytes(self.chunk()?);
            dims.push(Dimension { len, lower: i32::from_le_bytes(self.chunk()?) });
        }
        let count = usize::try_from(u32::from_le_bytes(self.chunk()?)).ok()?;
        // every value has a tag: no more are there than bytes
        if count > self.bytes.len() || dims.is_empty() != (count == 0) || dims.iter().any(|dim| dim.len <= 0)
        {
            return None;
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(self.value(nesting + 1)?);
        }
        let array = Array::with_dimensions(element, dims, values).ok()?;
        Some(Value::Array(Arc::new(array)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ty::Base;
    use proptest::prelude::*;

    fn record(fields: Vec<(Type, Value)>) -> Value {
        let names = (0..fields.len()).map(|number| format!("field {number}")).collect();
        let (types, values): (Vec<Type>, Vec<Value>) = fields.into_iter().unzip();
        Value::Record(Arc::new(Record::new(Arc::new(Fields { names, types }), values).unwrap()))
    }

    fn values() -> Vec<Value> {
        let number = |text: &str| Value::parse(text, Type::NUMERIC, &crate::Env::default()).unwrap();
        let json = |text: &str| Value::parse(text, Type::JSONB, &crate::Env::default()).unwrap();
        let int4 = |text: &str| {
            let ty = Type { array: true, ..Type::INT4 };
            Value::parse(text, ty, &crate::Env::default()).unwrap()
        };
        vec![
            Value::Null,
            Value::Bool(false),
            Value::Bool(true),
            Value::Int2(i16::MIN),
            Value::Int4(-1),
            Value::Int8(i64::MAX),
            Value::Float4(-0.0),
            Value::Float8(f64::NAN),
            number("1.00"),
            number("-12345678901234567890123.4500"),
            number("1e5000"),
            number("NaN"),
            number("-Infinity"),
            number("0.000"),
            Value::text(""),
            Value::text("a longer text than fits a value itself: äöü"),
            Value::Char(200),
            Value::bytea([0, 1, 255]),
            Value::Date(i32::MAX),
            Value::Time(1),
            Value::Timestamp(i64::MIN),
            Value::Timestamptz(-7),
            Value::Interval(Interval::new(1, 30, -5)),
            Value::Timetz(Timetz::new(86_400_000_000, -57_599)),
            Value::Bits(Arc::new(Bits::parse("x00FF8").unwrap())),
            Value::Money(-123_456),
            Value::Uuid([7; 16]),
            Value::Inet(Inet::parse("10.1.2.3/8", false).unwrap()),
            Value::Inet(Inet::parse("2001:db8::/33", true).unwrap()),
            Value::Macaddr([8; 6]),
            Value::Macaddr8([255; 8]),
            json(r#"{"a": [1.50, null, "x", {"b": true}], "c": 1e40}"#),
            Value::Oid(u32::MAX),
            int4("{}"),
            int4("[-1:0][2:3]={{1,NULL},{3,4}}"),
            Value::Array(Arc::new(Array::new(Type::of(Base::Numeric), vec![number("1.00"), Value::Null]))),
            record(vec![
                (Type::of(Base::Numeric), number("1.00")),
                (Type { array: true, ..Type::INT4 }, int4("{1,NULL}")),
                (Type::RECORD, record(vec![(Type::TEXT, Value::text("a")), (Type::INT4, Value::Null)])),
            ]),
            record(Vec::new()),
        ]
    }

    #[test]
    fn values_come_back_as_they_were() {
        let mut bytes = Vec::new();
        for value in values() {
            value.write_tagged(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        for value in values() {
            let (read, behind) = Value::read_tagged(rest).unwrap_or_else(|| panic!("{value:?}"));
            // with the scale, the sign of zero and the parts of intervals
            assert_eq!(format!("{read:?}"), format!("{value:?}"));
            rest = behind;
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        for value in values() {
            let mut bytes = Vec::new();
            value.write_tagged(&mut bytes).unwrap();
            for len in 0..bytes.len() {
                assert!(Value::read_tagged(&bytes[..len]).is_none(), "{value:?} to {len}");
            }
        }
    }

    #[test]
    fn lengths_are_not_trusted() {
        let mut text = vec![tag::TEXT];
        text.extend_from_slice(&u32::MAX.to_le_bytes());
        assert!(Value::read_tagged(&text).is_none());
        let mut array = vec![tag::ARRAY];
        array.extend_from_slice(&Type::INT4.oid().to_le_bytes());
        array.extend_from_slice(&(-1_i32).to_le_bytes());
        array.push(1);
        array.extend_from_slice(&i32::MAX.to_le_bytes());
        array.extend_from_slice(&1_i32.to_le_bytes());
        array.extend_from_slice(&(i32::MAX as u32).to_le_bytes());
        assert!(Value::read_tagged(&array).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), tag in 0_u8..32) {
            let _ = Value::read_tagged(&bytes);
            let tagged: Vec<u8> = [&[tag], bytes.as_slice()].concat();
            let _ = Value::read_tagged(&tagged);
        }
    }
}
