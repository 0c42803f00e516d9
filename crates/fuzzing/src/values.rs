//! Values of every type, in both formats and as they are stored.

use scaledb_types::{Base, Env, Type, Value};
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
