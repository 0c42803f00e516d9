//! Roles and privileges are part of the catalog that all nodes share.

use super::{Three, code, ok, text};

#[test]
fn a_role_may_do_the_same_at_each_node() {
    let three = Three::start();
    let [mut a, mut b, _] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int); insert into t values (1, 10), (2, 20)");
    ok(&mut b, "create role ann login; grant select on t to ann");
    let [mut at_a, mut at_c] = [0, 2].map(|node| three.databases[node].session("ann", "postgres"));
    for ann in [&mut at_a, &mut at_c] {
        assert_eq!(text(ann, "select current_user::text, sum(n) from t"), "ann|30");
        assert_eq!(code(ann, "update t set n = 0"), "42501");
    }
    assert!(three.databases[2].login("ann").unwrap().is_some_and(|login| login.allowed));
    // what is taken away at one node is not used at another any more
    ok(&mut at_c, "begin; select n from t");
    ok(&mut b, "revoke select on t from ann");
    assert_eq!(code(&mut at_a, "select n from t"), "42501");
    assert_eq!(code(&mut at_c, "commit"), "40001");
    assert_eq!(code(&mut at_c, "select n from t"), "42501");
    ok(&mut at_a, "rollback");
    ok(&mut b, "alter table t owner to ann");
    ok(&mut at_a, "alter table t add column later int default 5; update t set n = n + later");
    assert_eq!(text(&mut at_c, "select sum(n) from t"), "40");
    assert_eq!(code(&mut a, "drop role ann"), "2BP01");
}
