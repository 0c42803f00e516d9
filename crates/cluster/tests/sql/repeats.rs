//! Blocks that meet conflicts with those of other nodes: their sessions run them again, as in one process.

use super::{Three, code, ok, run, text};
use scaledb_sync::thread;

#[test]
fn a_block_goes_on_behind_another_node() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int); insert into t values (1, 10), (2, 20)");
    ok(&mut a, "create table log (id serial primary key, n int)");
    // what it has derived is derived again, from what the other node has committed
    ok(&mut b, "begin; savepoint s");
    assert_eq!(text(&mut b, "insert into log (n) select n from t where id = 1 returning id"), "1");
    ok(&mut b, "update t set n = n + 1 where id = 1");
    ok(&mut c, "update t set n = 70 where id = 1");
    ok(&mut b, "commit");
    assert_eq!(text(&mut a, "select n, (select n from log) from t where id = 1"), "71|70");
    // not where the client has seen what is not so any more
    ok(&mut b, "begin");
    assert_eq!(text(&mut b, "select n from t where id = 1"), "71");
    ok(&mut b, "update t set n = n + 1 where id = 2");
    ok(&mut c, "update t set n = n + 1 where id = 1");
    assert_eq!(code(&mut b, "commit"), "40001");
    assert_eq!(text(&mut a, "select n from t where id = 2"), "20");
}

#[test]
fn blocks_at_all_nodes_change_the_same_rows() {
    const BLOCKS: usize = 40;
    let three = Three::start();
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)");
    ok(&mut a, "create table log (id serial primary key, n int)");
    let failed: usize = thread::scope(|scope| {
        let clients: Vec<_> = three
            .sessions()
            .into_iter()
            .map(|mut session| {
                scope.spawn(move || {
                    let block = [
                        "begin",
                        "update t set n = n + 1 where id = 1",
                        "select count(*) from t",
                        "update t set n = n - 1 where id = 2",
                        "insert into log (n) select n from t where id = 1",
                        "commit",
                    ];
                    let mut failed = 0;
                    for _ in 0..BLOCKS {
                        let ended: Result<Vec<_>, _> =
                            block.iter().map(|sql| run(&mut session, sql)).collect();
                        if let Err(error) = ended {
                            assert_eq!(error.code().as_str(), "40001", "{error:?}");
                            failed += 1;
                            let _ = run(&mut session, "rollback");
                        }
                    }
                    failed
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    let done = 3 * BLOCKS - failed;
    assert_eq!(text(&mut a, "select n from t order by id"), format!("{done} -{done}"));
    // each has read what the one before it has left
    assert_eq!(
        text(&mut a, "select count(*), count(distinct n), max(n) from log"),
        format!("{done}|{done}|{done}")
    );
    assert!(failed <= BLOCKS / 10, "{failed} of {} blocks", 3 * BLOCKS);
}
