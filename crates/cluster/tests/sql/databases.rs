//! Databases are part of the catalog that all nodes share; each has a catalog of its own, which all nodes share, too.

use super::{Three, code, ok, text};

#[test]
fn a_database_that_one_node_makes_is_entered_at_each() {
    let three = Three::start();
    let [mut a, mut b, _] = three.sessions();
    ok(&mut a, "create database shop");
    let enter = |node: usize| three.databases[node].session_in("root", "shop");
    let mut at_b = enter(1).unwrap();
    ok(&mut at_b, "create table t (id serial primary key, n int); insert into t (n) values (1), (2)");
    let mut at_c = enter(2).unwrap();
    assert_eq!(text(&mut at_c, "select current_database(), sum(n) from t"), "shop|3");
    ok(&mut at_c, "insert into t (n) values (10)");
    assert_eq!(text(&mut at_b, "select sum(n) from t"), "13");
    assert_eq!(code(&mut a, "select * from t"), "42P01");
    // what is common to all databases changes for all nodes
    ok(&mut at_c, "create role ann; grant select on t to ann");
    assert_eq!(text(&mut b, "select count(*) from pg_roles where rolname = 'ann'"), "1");
    assert_eq!(code(&mut b, "drop role ann"), "2BP01");
    ok(&mut at_b, "revoke all on t from ann");
    ok(&mut b, "drop role ann");
    assert_eq!(code(&mut at_c, "set role ann"), "22023");
    // a transaction at one node does not commit beside a change at another
    ok(&mut at_b, "set repeat_blocks = off; begin; insert into t (n) values (100)");
    ok(&mut at_c, "alter table t add column later int");
    assert_eq!(code(&mut at_b, "commit"), "40001");
    drop(at_c);
    // sessions at other nodes do not keep a database, and hear of its end
    ok(&mut a, "drop database shop");
    assert_eq!(code(&mut at_b, "select sum(n) from t"), "3D000");
    assert!(enter(2).is_err_and(|error| error.code().as_str() == "3D000"));
    ok(&mut b, "create database shop");
    let mut at_c = enter(2).unwrap();
    assert_eq!(code(&mut at_c, "select * from t"), "42P01");
    assert_eq!(text(&mut at_c, "select count(*) from pg_database"), "2");
}
