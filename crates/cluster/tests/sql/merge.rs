//! MERGE at one node, of rows that others hold and write.

use super::{Three, code, ok, text};

#[test]
fn rows_of_all_nodes_are_merged_at_each() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, v int, g int generated always as (v * 2) stored)");
    ok(&mut b, "create table s (id int primary key, v int)");
    ok(&mut b, "insert into t select i, 0 from generate_series(1, 30) i");
    ok(&mut c, "insert into s select i, i from generate_series(21, 40) i");
    ok(
        &mut c,
        "merge into t using s on t.id = s.id when matched and s.id = 21 then delete \
         when matched then update set v = s.v when not matched then insert (id, v) values (s.id, -s.v)",
    );
    let wanted = "39|-121|-242";
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(text(session, "select count(*), sum(v), sum(g) from t"), wanted);
    }
    assert_eq!(code(&mut a, "merge into t using s on true when matched then update set v = 1"), "21000");
    assert_eq!(text(&mut b, "select count(*), sum(v), sum(g) from t"), wanted);
    // by its key, one after the other at each node
    for number in 0..6 {
        let session = [&mut a, &mut b, &mut c].into_iter().nth(number % 3).unwrap();
        ok(
            session,
            "merge into t using (select 100 as id) x on t.id = x.id when matched then update set v = t.v + 1 \
             when not matched then insert (id, v) values (x.id, 1)",
        );
    }
    assert_eq!(text(&mut a, "select v, g from t where id = 100"), "6|12");
    // a block whose rows another node has changed
    ok(&mut a, "set repeat_blocks = off; begin");
    ok(&mut a, "merge into t using s on t.id = s.id and s.id = 25 when matched then update set v = 1");
    ok(&mut b, "update t set v = 2 where id = 25");
    assert_eq!(code(&mut a, "commit"), "40001");
    assert_eq!(text(&mut c, "select v from t where id = 25"), "2");
}
