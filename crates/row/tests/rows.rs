//! A row gives back what was set, whatever the order and the sizes.

use proptest::prelude::*;
use scaledb_base::Error;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};

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
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_do_not_disturb_each_other(sets in prop::collection::vec(set(), 0..30)) {
        let schema = schema();
        let mut row = RowBuf::new(&schema);
        let mut model = (0i64, Some(false), Some(String::new()), 0i16, vec![], Some(0.0), [0; 3], String::new());
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
            }
        }
        let view = row.view(&schema);
        prop_assert_eq!(view.get(&schema, 0), Datum::Int8(model.0));
        prop_assert_eq!(view.get(&schema, 1), model.1.into());
        prop_assert_eq!(view.get(&schema, 2), model.2.as_deref().into());
        prop_assert_eq!(view.get(&schema, 3), Datum::Int2(model.3));
        prop_assert_eq!(view.get(&schema, 4), Datum::Bytes(&model.4));
        prop_assert_eq!(view.get(&schema, 5), model.5.into());
        prop_assert_eq!(view.get(&schema, 6), Datum::Bytes(&model.6));
        prop_assert_eq!(view.get(&schema, 7), Datum::Text(&model.7));
    }
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
fn bad_definitions_are_typed_errors() {
    let c = Column::new;
    for (columns, key) in [
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
