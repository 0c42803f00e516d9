//! The encoding orders keys as tuples are ordered, and gives the columns back.

use proptest::prelude::*;
use scaledb_keys::{Direction, KeyBuf, KeyReader, Malformed, Nulls};
use std::cmp::Ordering;

#[derive(Clone, Debug)]
enum V {
    Null,
    Bool(bool),
    I16(i16),
    I32(i32),
    I64(i64),
    U32(u32),
    F32(f32),
    F64(f64),
    Bytes(Vec<u8>),
    Uuid([u8; 16]),
}

fn kind(k: u8) -> BoxedStrategy<V> {
    let edge64 = prop_oneof![Just(i64::MIN), Just(-1), Just(0), Just(1), Just(i64::MAX), any::<i64>()];
    let edgef = prop_oneof![
        Just(f64::NAN),
        Just(-0.0),
        Just(0.0),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        any::<f64>()
    ];
    match k {
        0 => any::<bool>().prop_map(V::Bool).boxed(),
        1 => any::<i16>().prop_map(V::I16).boxed(),
        2 => any::<i32>().prop_map(V::I32).boxed(),
        3 => edge64.prop_map(V::I64).boxed(),
        4 => any::<u32>().prop_map(V::U32).boxed(),
        5 => edgef.prop_map(|v| V::F32(v as f32)).boxed(),
        6 => edgef.prop_map(V::F64).boxed(),
        7 => prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(254), Just(255), any::<u8>()], 0..6)
            .prop_map(V::Bytes)
            .boxed(),
        _ => any::<[u8; 16]>().prop_map(V::Uuid).boxed(),
    }
}

/// A column and two values for it.
fn column() -> impl Strategy<Value = (V, V, bool, Direction, Nulls)> {
    (0u8..9, any::<bool>(), any::<bool>(), any::<bool>()).prop_flat_map(|(k, nullable, desc, first)| {
        let value = move || {
            if nullable { prop_oneof![1 => Just(V::Null), 4 => kind(k)].boxed() } else { kind(k) }
        };
        let direction = if desc { Direction::Descending } else { Direction::Ascending };
        (
            value(),
            value(),
            Just(nullable),
            Just(direction),
            Just(if first { Nulls::First } else { Nulls::Last }),
        )
    })
}

fn push(key: &mut KeyBuf, v: &V, nullable: bool, d: Direction, nulls: Nulls) {
    if nullable {
        key.push_null_marker(matches!(v, V::Null), nulls);
    }
    match v {
        V::Null => {}
        V::Bool(v) => key.push_bool(*v, d),
        V::I16(v) => key.push_i16(*v, d),
        V::I32(v) => key.push_i32(*v, d),
        V::I64(v) => key.push_i64(*v, d),
        V::U32(v) => key.push_u32(*v, d),
        V::F32(v) => key.push_f32(*v, d),
        V::F64(v) => key.push_f64(*v, d),
        V::Bytes(v) => key.push_bytes(v, d),
        V::Uuid(v) => key.push_fixed_bytes(v, d),
    }
}

fn float(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ => a.partial_cmp(&b).unwrap(),
    }
}

fn compare(a: &V, b: &V, d: Direction, nulls: Nulls) -> Ordering {
    let null_side = if nulls == Nulls::First { Ordering::Less } else { Ordering::Greater };
    let by_value = match (a, b) {
        (V::Null, V::Null) => return Ordering::Equal,
        (V::Null, _) => return null_side,
        (_, V::Null) => return null_side.reverse(),
        (V::Bool(a), V::Bool(b)) => a.cmp(b),
        (V::I16(a), V::I16(b)) => a.cmp(b),
        (V::I32(a), V::I32(b)) => a.cmp(b),
        (V::I64(a), V::I64(b)) => a.cmp(b),
        (V::U32(a), V::U32(b)) => a.cmp(b),
        (V::F32(a), V::F32(b)) => float(f64::from(*a), f64::from(*b)),
        (V::F64(a), V::F64(b)) => float(*a, *b),
        (V::Bytes(a), V::Bytes(b)) => a.cmp(b),
        (V::Uuid(a), V::Uuid(b)) => a.cmp(b),
        _ => unreachable!("both values are of one column"),
    };
    if d == Direction::Descending { by_value.reverse() } else { by_value }
}

fn read(
    r: &mut KeyReader<'_>,
    like: &V,
    nullable: bool,
    d: Direction,
    nulls: Nulls,
) -> Result<bool, Malformed> {
    if nullable && r.null_marker(nulls)? {
        return Ok(matches!(like, V::Null));
    }
    Ok(match like {
        V::Null => false,
        V::Bool(v) => r.bool(d)? == *v,
        V::I16(v) => r.i16(d)? == *v,
        V::I32(v) => r.i32(d)? == *v,
        V::I64(v) => r.i64(d)? == *v,
        V::U32(v) => r.u32(d)? == *v,
        V::F32(v) => float(f64::from(r.f32(d)?), f64::from(*v)).is_eq(),
        V::F64(v) => float(r.f64(d)?, *v).is_eq(),
        V::Bytes(v) => r.bytes(d)? == *v,
        V::Uuid(v) => r.fixed_bytes(16, d)? == v,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn composite_keys_compare_as_their_tuples_and_decode(columns in prop::collection::vec(column(), 1..5)) {
        let (mut a, mut b) = (KeyBuf::new(), KeyBuf::new());
        let mut expected = Ordering::Equal;
        for (va, vb, nullable, d, nulls) in &columns {
            push(&mut a, va, *nullable, *d, *nulls);
            push(&mut b, vb, *nullable, *d, *nulls);
            expected = expected.then(compare(va, vb, *d, *nulls));
        }
        prop_assert_eq!(a.cmp(&b), expected);
        let mut reader = KeyReader::new(&a);
        for (va, _, nullable, d, nulls) in &columns {
            prop_assert_eq!(read(&mut reader, va, *nullable, *d, *nulls), Ok(true));
        }
        prop_assert!(reader.rest().is_empty());
    }

    #[test]
    fn next_prefix_is_just_above_all_extensions(key in prop::collection::vec(any::<u8>(), 0..4), tail in prop::collection::vec(any::<u8>(), 0..4)) {
        let mut next = KeyBuf::from(&key[..]);
        let extended: Vec<u8> = key.iter().chain(&tail).copied().collect();
        if next.next_prefix() {
            prop_assert!(extended[..] < next[..]);
            prop_assert!(next[..next.len() - 1] == key[..next.len() - 1]);
        } else {
            prop_assert!(key.iter().all(|b| *b == 0xFF));
        }
    }

    #[test]
    fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..40), desc in any::<bool>()) {
        let d = if desc { Direction::Descending } else { Direction::Ascending };
        let mut reader = KeyReader::new(&bytes);
        while !reader.rest().is_empty() {
            let mut ok = reader.null_marker(Nulls::First).is_ok();
            ok |= reader.clone().bool(d).is_ok();
            ok |= reader.bytes(d).is_ok();
            ok |= reader.f64(d).is_ok();
            if !ok && reader.u8(d).is_err() {
                break;
            }
        }
    }
}
