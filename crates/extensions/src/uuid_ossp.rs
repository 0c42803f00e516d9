//! `uuid-ossp`: UUIDs of all versions. (`gen_random_uuid` is there without it.)

use crate::{Definition, bytes};
use rand::RngCore;
use scaledb_types::Value;
use uuid::Uuid;

pub(crate) const FUNCTIONS: &[Definition] = &[
    Definition::pure("uuid_nil() uuid", |_, _| Ok(value(Uuid::nil()))),
    Definition::pure("uuid_ns_dns() uuid", |_, _| Ok(value(Uuid::NAMESPACE_DNS))),
    Definition::pure("uuid_ns_url() uuid", |_, _| Ok(value(Uuid::NAMESPACE_URL))),
    Definition::pure("uuid_ns_oid() uuid", |_, _| Ok(value(Uuid::NAMESPACE_OID))),
    Definition::pure("uuid_ns_x500() uuid", |_, _| Ok(value(Uuid::NAMESPACE_X500))),
    Definition::volatile("uuid_generate_v1() uuid", |_, _| Ok(value(Uuid::now_v1(&node())))),
    Definition::volatile("uuid_generate_v1mc() uuid", |_, _| Ok(value(Uuid::now_v1(&node())))),
    Definition {
        names: &["namespace", "name"],
        ..Definition::pure("uuid_generate_v3(uuid, text) uuid", |_, args| {
            Ok(value(Uuid::new_v3(&uuid(&args[0]), bytes(&args[1]))))
        })
    },
    Definition::volatile("uuid_generate_v4() uuid", |_, _| Ok(random())),
    Definition {
        names: &["namespace", "name"],
        ..Definition::pure("uuid_generate_v5(uuid, text) uuid", |_, args| {
            Ok(value(Uuid::new_v5(&uuid(&args[0]), bytes(&args[1]))))
        })
    },
];

fn value(uuid: Uuid) -> Value {
    Value::Uuid(uuid.into_bytes())
}

fn uuid(value: &Value) -> Uuid {
    match value {
        Value::Uuid(bytes) => Uuid::from_bytes(*bytes),
        _ => Uuid::nil(),
    }
}

/// A random UUID.
pub(crate) fn random() -> Value {
    let mut bytes = [0; 16];
    rand::rng().fill_bytes(&mut bytes);
    value(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// A random node with the bit that no network card has: version 1 does not tell which machine made it, as the
/// addresses of virtual ones are not unique.
fn node() -> [u8; 6] {
    let mut node = [0; 6];
    rand::rng().fill_bytes(&mut node);
    node[0] |= 1;
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native;
    use scaledb_types::func::Interrupt;
    use scaledb_types::{Call, Env, Type};

    fn call(symbol: &str, args: &[Value]) -> Uuid {
        let env = Env::default();
        let call = Call { env: &env, args: &[], result: Type::UUID, interrupt: Interrupt::never() };
        uuid(&native(symbol).unwrap().function.call(&call, args).unwrap())
    }

    #[test]
    fn versions_are_in_them_and_no_two_are_equal() {
        for (symbol, version) in
            [("uuid_generate_v1()", 1), ("uuid_generate_v1mc()", 1), ("uuid_generate_v4()", 4)]
        {
            let all: std::collections::HashSet<Uuid> = (0..1000).map(|_| call(symbol, &[])).collect();
            assert_eq!(all.len(), 1000);
            assert!(all.iter().all(|uuid| uuid.get_version_num() == version));
        }
    }

    #[test]
    fn those_of_names_are_those_of_postgresql() {
        let args = [value(Uuid::NAMESPACE_DNS), Value::text("a.b")];
        let v3 = call("uuid_generate_v3(uuid, text)", &args);
        assert_eq!(v3.to_string(), "73d315c1-64f2-3372-b833-bced7f4b2360");
        let v5 = call("uuid_generate_v5(uuid, text)", &args);
        assert_eq!(v5.to_string(), "0e7af403-ee0d-594b-ab31-08b1c687f2fa");
    }
}
