//! Properties of causal timestamps: merging them is a join, and a compressed one never knows less than the exact one.

use proptest::prelude::*;
use scaledb_occult::{Datacenter, Incarnation, Micros, Shape, Slot, Stamp, Timestamp};

/// Few slots and few times, so that they collide.
fn stamp() -> impl Strategy<Value = Stamp> {
    (0..40_u64, 0..3_u16)
        .prop_map(|(time, life)| Stamp::new(Micros(1_700_000_000_000_000 + time), Incarnation::new(life)))
}

type Update = (u8, u16, Stamp);

/// A slot belongs to one datacenter.
fn update() -> impl Strategy<Value = Update> {
    (0..12_u16, stamp()).prop_map(|(slot, stamp)| ((slot % 3) as u8, slot, stamp))
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Exact),
        (1..6_u8).prop_map(Shape::Structural),
        (1..6_u8).prop_map(Shape::Temporal),
        (1..4_u8).prop_map(Shape::Isolated),
    ]
}

fn slot(number: u16) -> Slot {
    Slot::new(number).unwrap()
}

fn timestamp(shape: Shape, updates: &[Update]) -> Timestamp {
    let mut timestamp = Timestamp::new(shape);
    for (datacenter, number, stamp) in updates {
        timestamp.update(Datacenter(*datacenter), slot(*number), *stamp);
    }
    timestamp
}

fn join(a: &Timestamp, b: &Timestamp) -> Timestamp {
    let mut both = a.clone();
    both.merge(b);
    both
}

fn lists() -> impl Strategy<Value = [Vec<Update>; 3]> {
    let list = || proptest::collection::vec(update(), 0..10);
    [list(), list(), list()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn merging_is_a_join(shape in shape(), lists in lists()) {
        let [a, b, c] = lists.map(|list| timestamp(shape, &list));
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
        prop_assert_eq!(join(&a, &a), a.clone());
        prop_assert_eq!(join(&a, &Timestamp::new(shape)), a);
    }

    #[test]
    fn a_compressed_timestamp_is_never_below_the_exact_one(shape in shape(), lists in lists()) {
        let [a, b, c] = &lists;
        let exact = lists.iter().map(|list| timestamp(Shape::Exact, list)).reduce(|a, b| join(&a, &b)).unwrap();
        let mut small = join(&timestamp(shape, a), &timestamp(shape, b));
        for (datacenter, number, stamp) in c {
            small.update(Datacenter(*datacenter), slot(*number), *stamp);
        }
        for number in 0..12 {
            let datacenter = Datacenter((number % 3) as u8);
            let (slot, wanted) = (slot(number), exact.get(datacenter, slot(number)));
            prop_assert!(small.get(datacenter, slot) >= wanted);
            prop_assert!(small.get_anywhere(slot) >= small.get(datacenter, slot));
            prop_assert!(small.max_of(datacenter) >= small.get(datacenter, slot));
            if let Some(entry) = small.exact(datacenter, slot) {
                prop_assert_eq!(entry, wanted, "an entry of a slot is the stamp of one of its writes");
            }
        }
        prop_assert_eq!(small.max(), exact.max());
    }

    #[test]
    fn updating_one_by_one_is_merging(shape in shape(), lists in lists()) {
        let [a, b, _] = lists;
        let both: Vec<Update> = a.iter().chain(&b).copied().collect();
        prop_assert_eq!(timestamp(shape, &both), join(&timestamp(shape, &a), &timestamp(shape, &b)));
    }

    #[test]
    fn another_shape_costs_precision_and_nothing_else(of in shape(), into in shape(), lists in lists()) {
        let [a, b, _] = lists;
        let all = join(&timestamp(of, &a), &timestamp(into, &b));
        for (datacenter, number, stamp) in a.iter().chain(&b) {
            prop_assert!(all.get(Datacenter(*datacenter), slot(*number)) >= *stamp);
        }
    }

    #[test]
    fn bytes_and_tokens_come_back(shape in shape(), lists in lists()) {
        let [a, b, _] = lists;
        for timestamp in [timestamp(shape, &a), join(&timestamp(shape, &a), &timestamp(Shape::Temporal(3), &b))] {
            prop_assert_eq!(&Timestamp::from_bytes(&timestamp.to_bytes()).unwrap(), &timestamp);
            let token = timestamp.to_token();
            prop_assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)));
            prop_assert_eq!(&token.parse::<Timestamp>().unwrap(), &timestamp);
        }
    }

    #[test]
    fn hostile_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first %= 5;
        }
        if let Ok(timestamp) = Timestamp::from_bytes(&bytes) {
            prop_assert_eq!(Timestamp::from_bytes(&timestamp.to_bytes()).unwrap(), timestamp);
        }
        let text: String = bytes.iter().map(|byte| char::from(byte % 128)).collect();
        let _ = format!("oc1.{text}").parse::<Timestamp>();
        let _ = text.parse::<Timestamp>();
    }
}

#[test]
fn four_entries_take_few_bytes() {
    let mut timestamp = Timestamp::default();
    for n in 0..100_u64 {
        let stamp = Stamp::new(Micros(1_700_000_000_000_000 + n * 700), Incarnation::new(77));
        timestamp.update(Datacenter((n % 2) as u8), slot(n as u16), stamp);
    }
    assert!(timestamp.to_bytes().len() <= 40, "{}", timestamp.to_bytes().len());
    assert!(timestamp.to_token().len() <= 60);
}

#[test]
fn a_shape_is_read_as_it_is_written() {
    for shape in [Shape::Exact, Shape::Structural(4), Shape::Temporal(1), Shape::Isolated(2)] {
        assert_eq!(shape.to_string().parse(), Ok(shape));
    }
    assert!("temporal:0".parse::<Shape>().is_err());
    assert!("temporal:65".parse::<Shape>().is_err());
    assert!("vector".parse::<Shape>().is_err());
}
