//! Materialized views over several nodes.

use super::{Three, code, ok, text};

#[test]
fn a_refresh_at_one_node_is_seen_at_all_of_them() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, v int)");
    ok(&mut b, "insert into t select i, i from generate_series(1, 30) i");
    ok(&mut c, "create materialized view m as select id, v from t where id > 10");
    let look = "select count(*), sum(v) from m";
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(text(session, look), "20|410");
    }
    ok(&mut a, "create unique index m_id on m (id)");
    ok(&mut b, "update t set v = 0 where id > 20");
    assert_eq!(text(&mut c, look), "20|410");
    ok(&mut a, "refresh materialized view m");
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(text(session, look), "20|155");
    }
    ok(&mut c, "delete from t where id = 30; insert into t values (31, 1000)");
    ok(&mut b, "refresh materialized view concurrently m");
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(text(session, look), "20|1155");
        assert_eq!(text(session, "select v from m where id = 31"), "1000");
    }
    // what it has read another node has changed
    ok(&mut a, "begin");
    ok(&mut a, "refresh materialized view m");
    ok(&mut b, "update t set v = 7 where id = 11");
    ok(&mut a, "insert into t values (1000, 1)");
    assert_eq!(code(&mut a, "commit"), "40001");
    assert_eq!(text(&mut c, look), "20|1155");
    ok(&mut b, "refresh materialized view m with no data");
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(code(session, look), "55000");
    }
    ok(&mut a, "refresh materialized view m");
    assert_eq!(text(&mut b, look), "20|1151");
    assert_eq!(code(&mut b, "insert into m values (1, 1)"), "42809");
    ok(&mut c, "create materialized view everywhere with (replicate = 'everywhere') as select * from m");
    assert_eq!(text(&mut a, "select count(*) from everywhere"), "20");
    ok(&mut a, "drop table t cascade");
    assert_eq!(code(&mut b, look), "42P01");
}
