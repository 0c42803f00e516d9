//! Values of every type, in both formats and as they are stored.

use scaledb_types::func::{Interrupt, path_rows};
use scaledb_types::{Base, Env, Json, SqlError, SqlState, Type, Value};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::LazyLock;

static TYPES: LazyLock<Vec<Type>> = LazyLock::new(|| {
    let scalars = Base::all().map(Type::of);
    scalars.flat_map(|ty| [Some(ty), ty.to_array()]).flatten().collect()
});

/// Reads a value of the type that the first byte chooses, in the format that the second does. What was read is written
/// in every form and read back as the same.
pub fn values(input: &[u8]) {
    let &[which, format, ref data @ ..] = input else { return };
    let ty = TYPES[usize::from(which) % TYPES.len()];
    let env = Env::default();
    let read = match format % 2 {
        0 => scaledb_types::utf8(data).and_then(|text| Value::parse(text, ty, &env)),
        _ => Value::from_binary(data, ty),
    };
    let Ok(value) = read else { return };
    if value.is_null() {
        return;
    }
    if let Value::Jsonpath(_) = value {
        find(&value, &env);
    }
    let mut text = Vec::new();
    value.write_text(ty, &env, &mut text);
    let text = String::from_utf8(text).expect("text is UTF-8");
    let mut binary = Vec::new();
    value.write_binary(ty, &mut binary);
    if let Ok(again) = Value::parse(&text, ty, &env) {
        assert_eq!(again, value, "as text, {text:?} of {}", ty.name());
    }
    match Value::from_binary(&binary, ty) {
        Ok(again) => assert_eq!(again, value, "in binary, {text:?} of {}", ty.name()),
        Err(error) => panic!("{text:?} of {} is not read back: {error:?}", ty.name()),
    }
    if let Ok(stored) = value.store(ty) {
        let loaded = Value::load(ty, &stored);
        assert_eq!(loaded.as_ref().ok(), Some(&value), "as it is stored, {text:?} of {}", ty.name());
    }
    let mut key = Vec::new();
    value.write_key(&mut key);
}

/// What paths are tried on.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let text = r#"{"a": [1, 2.50, null, {"a": "x", "b": [[], [true]]}], "b": "2017-03-10 12:34:56+3", "k": {"a": {"b": -1}}}"#;
    Value::jsonb(Json::parse(text).expect("the document is JSON"))
});

/// Lets a path find what it finds, in both modes of errors, for as long as a patient client would wait.
fn find(path: &Value, env: &Env) {
    for silent in [false, true] {
        let left = Cell::new(200);
        let check = || match left.get() {
            0 => Err(SqlError::new(SqlState::QUERY_CANCELED, "it takes too long")),
            more => {
                left.set(more - 1);
                Ok(())
            }
        };
        let args = [DOCUMENT.clone(), path.clone(), DOCUMENT.clone(), Value::Bool(silent)];
        let interrupt = Interrupt::new(&check, 1 << 20);
        // errors are answers, too
        let _ = path_rows(env, &args, true, interrupt, &mut |_| Ok(ControlFlow::Continue(())));
    }
}
