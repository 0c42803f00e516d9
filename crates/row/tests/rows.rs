//! A row gives back what was set, whatever the order and the sizes.

use proptest::prelude::*;
use scaledb_base::Error;
use scaledb_row::{Column, ColumnType, Datum, GroupSet, KeyPart, Projection, RowBuf, RowMut, RowRef, Schema};

fn schema() -> Schema {
    let c = Column::new;
    Schema::new(
        vec![
            c("id", ColumnType::Int8),
            c("flag", ColumnType::Bool).nullable(),
            c("name", ColumnType::Text(100)).nullable(),
            c("small", ColumnType::Int2).group(1),
            c("data", ColumnType::Bytes(100)),
            c("balance", ColumnType::Float8).group(1).nullable(),
            c("code", ColumnType::Fixed(3)),
            c("note", ColumnType::Text(100)),
            c("rest", ColumnType::Tail),
        ],
        &[KeyPart::asc(0)],
    )
    .unwrap()
}

#[derive(Clone, Debug)]
enum Set {
    Id(i64),
    Flag(Option<bool>),
    Name(Option<String>),
    Small(i16),
    Data(Vec<u8>),
    Balance(Option<f64>),
    Code([u8; 3]),
    Note(String),
    Rest(Vec<u8>),
}

/// Bytes as a tail has them.
fn whole_words(bytes: &[u8]) -> Vec<u8> {
    let mut words = bytes.to_vec();
    words.resize(bytes.len().next_multiple_of(8), 0);
    words
}

fn set() -> impl Strategy<Value = Set> {
    prop_oneof![
        any::<i64>().prop_map(Set::Id),
        any::<Option<bool>>().prop_map(Set::Flag),
        prop::option::of("[a-z]{0,30}").prop_map(Set::Name),
        any::<i16>().prop_map(Set::Small),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Set::Data),
        prop::option::of(-1e9..1e9f64).prop_map(Set::Balance),
        any::<[u8; 3]>().prop_map(Set::Code),
        "[a-z]{0,30}".prop_map(Set::Note),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Set::Rest),
    ]
}

fn apply(schema: &Schema, row: &mut RowMut<'_>, sets: &[Set]) {
    for set in sets {
        match set {
            Set::Id(v) => row.set(schema, 0, (*v).into()),
            Set::Flag(v) => row.set(schema, 1, (*v).into()),
            Set::Name(v) => row.set(schema, 2, v.as_deref().into()),
            Set::Small(v) => row.set(schema, 3, (*v).into()),
            Set::Data(v) => row.set(schema, 4, v[..].into()),
            Set::Balance(v) => row.set(schema, 5, (*v).into()),
            Set::Code(v) => row.set(schema, 6, v[..].into()),
            Set::Note(v) => row.set(schema, 7, v.as_str().into()),
            Set::Rest(v) => row.set(schema, 8, v[..].into()),
        }
        .unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_do_not_disturb_each_other(sets in prop::collection::vec(set(), 0..30)) {
        let schema = schema();
        let mut row = RowBuf::new(&schema);
        let mut model = (0i64, Some(false), Some(String::new()), 0i16, vec![], Some(0.0), [0; 3], String::new());
        let mut rest = vec![];
        for s in &sets {
            let mut edit = row.edit(&schema);
            match s {
                Set::Id(v) => { edit.set(&schema, 0, (*v).into()).unwrap(); model.0 = *v; }
                Set::Flag(v) => { edit.set(&schema, 1, (*v).into()).unwrap(); model.1 = *v; }
                Set::Name(v) => { edit.set(&schema, 2, v.as_deref().into()).unwrap(); model.2 = v.clone(); }
                Set::Small(v) => { edit.set(&schema, 3, (*v).into()).unwrap(); model.3 = *v; }
                Set::Data(v) => { edit.set(&schema, 4, v[..].into()).unwrap(); model.4 = v.clone(); }
                Set::Balance(v) => { edit.set(&schema, 5, (*v).into()).unwrap(); model.5 = *v; }
                Set::Code(v) => { edit.set(&schema, 6, v[..].into()).unwrap(); model.6 = *v; }
                Set::Note(v) => { edit.set(&schema, 7, v.as_str().into()).unwrap(); model.7 = v.clone(); }
                Set::Rest(v) => { edit.set(&schema, 8, v[..].into()).unwrap(); rest = whole_words(v); }
            }
        }
        let layout = schema.layout();
        let view = row.view(&schema);
        prop_assert_eq!(view.get(&schema, 0), Datum::Int8(model.0));
        prop_assert_eq!(view.get(&schema, 1), model.1.into());
        prop_assert_eq!(view.get(&schema, 2), model.2.as_deref().into());
        prop_assert_eq!(view.get(&schema, 3), Datum::Int2(model.3));
        prop_assert_eq!(view.get(&schema, 4), Datum::Bytes(&model.4));
        prop_assert_eq!(view.get(&schema, 5), model.5.into());
        prop_assert_eq!(view.get(&schema, 6), Datum::Bytes(&model.6));
        prop_assert_eq!(view.get(&schema, 7), Datum::Text(&model.7));
        prop_assert_eq!(view.get(&schema, 8), Datum::Bytes(&rest));
        let used = [model.2.as_deref().unwrap_or_default().len(), model.4.len(), model.7.len(), rest.len()];
        let used: usize = used.iter().map(|len| len.div_ceil(8)).sum();
        // a NULL keeps what the column had
        prop_assert!(row.words().len() >= layout.fixed_words() + used);
        // the whole row through bytes
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        layout.encode_row(row.words(), &mut bytes);
        prop_assert_eq!(layout.decode_row(&bytes, &mut back), Ok(()));
        prop_assert_eq!(&back[..], row.words());
    }

    #[test]
    fn columns_in_a_log_make_the_same_row(
        before in prop::collection::vec(set(), 0..30),
        after in prop::collection::vec(set(), 0..10),
        groups in 0u8..4,
    ) {
        let schema = schema();
        let layout = schema.layout();
        let mut old = RowBuf::new(&schema);
        apply(&schema, &mut old.edit(&schema), &before);
        let mut new = old.clone();
        let mut edit = new.edit(&schema);
        apply(&schema, &mut edit, &after);
        let dirty = edit.dirty();
        let mut bytes = Vec::new();
        layout.encode_columns(dirty, new.words(), &mut bytes);
        let mut replayed = old.words().to_vec();
        let changed = GroupSet(layout.groups_of(dirty).0 & groups & GroupSet::all(layout.groups()).0);
        let changed = if dirty.is_empty() { GroupSet::default() } else { changed };
        prop_assert_eq!(layout.decode_columns(&bytes, GroupSet(groups), &mut replayed), Ok(changed));
        let (mut whole, mut again) = (Vec::new(), Vec::new());
        layout.encode_row(&replayed, &mut whole);
        prop_assert_eq!(layout.decode_row(&whole, &mut again), Ok(()), "the replayed row is well-formed");
        let (old, new) = (old.view(&schema), new.view(&schema));
        let replayed = RowRef::new(layout, &replayed);
        for column in 0..schema.columns().len() {
            let source = if GroupSet(groups).has(layout.group_of(column)) { &new } else { &old };
            prop_assert_eq!(replayed.get(&schema, column), source.get(&schema, column));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_make_a_row_that_can_be_read(
        sets in prop::collection::vec(set(), 0..10),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..4),
        cut in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let schema = schema();
        let layout = schema.layout();
        let mut row = RowBuf::new(&schema);
        apply(&schema, &mut row.edit(&schema), &sets);
        let mut bytes = Vec::new();
        layout.encode_row(row.words(), &mut bytes);
        for (at, bit) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        bytes.truncate(bytes.len() - if cut.index(4) == 0 { cut.index(bytes.len()) } else { 0 });
        let mut words = Vec::new();
        if layout.decode_row(&bytes, &mut words).is_ok() {
            let view = RowRef::new(layout, &words);
            (0..schema.columns().len()).for_each(|column| _ = view.get(&schema, column));
            let _ = layout.decode_columns(&noise, GroupSet::all(2), &mut words);
            let view = RowRef::new(layout, &words);
            (0..schema.columns().len()).for_each(|column| _ = view.get(&schema, column));
        }
    }
}

#[test]
fn an_integer_at_a_place_is_that_of_the_column() {
    let c = Column::new;
    let schema = Schema::new(
        vec![
            c("a", ColumnType::Int4),
            c("b", ColumnType::Int2).nullable(),
            c("c", ColumnType::Bool),
            c("d", ColumnType::Int8).nullable(),
            c("e", ColumnType::Int2),
            c("f", ColumnType::Bool).nullable(),
            c("g", ColumnType::Int4).nullable(),
            c("h", ColumnType::Text(9)),
            c("i", ColumnType::Fixed(3)),
        ],
        &[KeyPart::asc(0)],
    )
    .unwrap();
    let places: Vec<_> = (0..9).map(|column| schema.layout().integer_place(column)).collect();
    assert!(places[..7].iter().all(Option::is_some) && places[7..].iter().all(Option::is_none));
    assert_eq!(schema.layout().integer_place(9), None);
    let values = |row: &RowBuf| -> Vec<Option<i64>> {
        let row = RowRef::new(schema.layout(), row.words());
        places.iter().flatten().map(|place| row.integer_at(*place)).collect()
    };
    let mut row = RowBuf::new(&schema);
    for sign in [1, -1] {
        let mut edit = row.edit(&schema);
        edit.set(&schema, 0, Datum::Int4(sign * 0x0102_0304)).unwrap();
        edit.set(&schema, 1, Datum::Int2(sign as i16 * 0x0506)).unwrap();
        edit.set(&schema, 2, Datum::Bool(sign < 0)).unwrap();
        edit.set(&schema, 3, Datum::Int8(i64::from(sign) * i64::MAX)).unwrap();
        edit.set(&schema, 4, Datum::Int2(if sign > 0 { i16::MAX } else { i16::MIN })).unwrap();
        edit.set(&schema, 5, Datum::Bool(sign > 0)).unwrap();
        edit.set(&schema, 6, Datum::Int4(if sign > 0 { i32::MAX } else { i32::MIN })).unwrap();
        let both = i64::from(sign);
        let least = if sign > 0 { (0x7FFF, i64::from(i32::MAX)) } else { (-0x8000, i64::from(i32::MIN)) };
        let expected = [
            both * 0x0102_0304,
            both * 0x0506,
            i64::from(sign < 0),
            both * i64::MAX,
            least.0,
            i64::from(sign > 0),
            least.1,
        ];
        assert_eq!(values(&row), expected.map(Some));
    }
    let mut edit = row.edit(&schema);
    for column in [1, 3, 5, 6] {
        edit.set(&schema, column, Datum::Null).unwrap();
    }
    let null = values(&row).iter().map(Option::is_none).collect::<Vec<_>>();
    assert_eq!(null, [false, true, false, true, false, true, true]);
}

#[test]
fn integers_take_the_bytes_that_they_need() {
    let columns = (0..200).map(|n| Column::new(&format!("c{n}"), ColumnType::Int8)).collect();
    let schema = Schema::new(columns, &[KeyPart::asc(0)]).unwrap();
    let layout = schema.layout();
    let values = [0, 1, 255, 256, 0xFF_FFFF, 1 << 31, 1 << 40, i64::MAX >> 8, i64::MAX, -1, i64::MIN];
    let lengths = [0, 1, 1, 2, 3, 4, 6, 7, 8, 8, 8];
    // columns whose head takes one byte, and two; those from 63 on are written together
    for (column, head) in [(7, 1), (8, 2), (62, 2)] {
        for (value, length) in values.into_iter().zip(lengths) {
            let mut row = RowBuf::new(&schema);
            row.edit(&schema).set_i64(column, value);
            let mut bytes = Vec::new();
            layout.encode_columns([column].into_iter().collect(), row.words(), &mut bytes);
            assert_eq!(bytes.len(), head + length, "{value} in column {column}");
            let mut back = RowBuf::new(&schema).words().to_vec();
            assert!(layout.decode_columns(&bytes, GroupSet::all(1), &mut back).is_ok());
            assert_eq!(back, row.words());
            for len in 1..bytes.len() {
                assert!(layout.decode_columns(&bytes[..len], GroupSet::all(1), &mut back).is_err(), "cut");
            }
            // two words share a byte of lengths, and all but one of these are zero
            let mut whole = Vec::new();
            layout.encode_row(row.words(), &mut whole);
            assert_eq!(whole.len(), 100 + length, "{value}");
            assert_eq!(layout.decode_row(&whole, &mut back), Ok(()));
            assert_eq!(back, row.words());
        }
    }
    // an odd number of words; a length beyond a word; more behind the last word; far too many words
    let odd = Schema::new(vec![Column::new("a", ColumnType::Int8)], &[KeyPart::asc(0)]).unwrap();
    let mut words = Vec::new();
    assert_eq!(odd.layout().decode_row(&[0xF1, 7], &mut words), Ok(()));
    assert_eq!(words, [7]);
    for bad in [&[0xF9, 1, 2, 3, 4, 5, 6, 7, 8, 9][..], &[0xF1], &[0xF1, 7, 0], &[0xA1, 7], &[]] {
        assert!(odd.layout().decode_row(bad, &mut words).is_err(), "{bad:?}");
    }
    assert!(odd.layout().decode_row(&vec![0; 100 << 20], &mut words).is_err());
    assert!(words.len() < 3 << 20, "bytes of nothing take no memory without bound");
}

#[test]
fn bad_values_are_typed_errors_and_change_nothing() {
    let schema = schema();
    let mut row = RowBuf::new(&schema);
    let before = row.words().to_vec();
    let mut edit = row.edit(&schema);
    assert!(matches!(edit.set(&schema, 0, Datum::Text("x")), Err(Error::WrongType { .. })));
    assert!(matches!(edit.set(&schema, 0, Datum::Null), Err(Error::NullValue(_))));
    assert!(matches!(edit.set(&schema, 2, Datum::Text(&"x".repeat(101))), Err(Error::WrongType { .. })));
    assert!(matches!(edit.set(&schema, 6, Datum::Bytes(b"1234")), Err(Error::WrongType { .. })));
    assert!(edit.dirty().is_empty());
    assert_eq!(row.words(), before);
    assert!(matches!(RowBuf::from_values(&schema, &[]), Err(Error::WrongArity { .. })));
}

#[test]
fn a_tail_that_is_empty_takes_nothing() {
    let columns = vec![Column::new("a", ColumnType::Int4), Column::new("b", ColumnType::Text(9))];
    let without = Schema::new(columns.clone(), &[]).unwrap();
    let columns = columns.into_iter().chain([Column::new("rest", ColumnType::Tail)]).collect();
    let with = Schema::new(columns, &[]).unwrap();
    let mut row = RowBuf::new(&with);
    assert_eq!(row.words(), RowBuf::new(&without).words());
    row.edit(&with).set_bytes(2, b"123456789");
    assert_eq!(row.words().len(), without.layout().fixed_words() + 2);
    row.edit(&with).set_bytes(1, b"text");
    assert_eq!((row.view(&with).tail(), row.view(&with).text(1)), (&whole_words(b"123456789")[..], "text"));
    row.edit(&with).set_bytes(2, b"");
    assert_eq!((row.view(&with).tail(), row.view(&with).text(1)), (&b""[..], "text"));
    row.edit(&with).set_bytes(1, b"");
    assert_eq!(row.words(), RowBuf::new(&without).words());
}

#[test]
fn bad_definitions_are_typed_errors() {
    let c = Column::new;
    for (columns, key) in [
        (vec![c("a", ColumnType::Tail), c("b", ColumnType::Tail)], vec![]),
        (vec![c("a", ColumnType::Tail).nullable()], vec![]),
        (vec![c("a", ColumnType::Tail)], vec![KeyPart::asc(0)]),
        (vec![], vec![]),
        (vec![c("a", ColumnType::Int4), c("a", ColumnType::Int4)], vec![]),
        (vec![c("a", ColumnType::Int4).group(9)], vec![]),
        (vec![c("a", ColumnType::Text(9)).group(1)], vec![]),
        (vec![c("a", ColumnType::Int4).nullable()], vec![KeyPart::asc(0)]),
        (vec![c("a", ColumnType::Int4)], vec![KeyPart::asc(1)]),
        (vec![c("a", ColumnType::Int4)], vec![KeyPart::asc(0), KeyPart::desc(0)]),
    ] {
        assert!(matches!(Schema::new(columns, &key), Err(Error::BadDefinition(_))));
    }
}

#[test]
fn groups_share_no_word_and_a_projection_covers_its_columns() {
    let schema = schema();
    let balance = Projection::new(&schema, [5]);
    let id = Projection::new(&schema, [0]);
    assert_eq!((balance.groups().0, id.groups().0), (2, 1));
    let words =
        |p: &Projection| -> Vec<u32> { p.spans().iter().flat_map(|s| s.start..s.start + s.words).collect() };
    assert!(words(&balance).iter().all(|w| !words(&id).contains(w)));
    assert!(!id.var() && Projection::new(&schema, [7]).var());
    assert_eq!(Projection::existence().groups().0, 1);
}
