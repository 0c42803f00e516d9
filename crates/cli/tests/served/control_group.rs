//! A server in a control group with less memory than the machine: its budget follows the group, and the system never
//! has to end it.

use crate::process::Server;
use postgres::Client;
use std::path::{Path, PathBuf};

/// What the group may have in all. Six tenths are the budget of rows and indexes.
const LIMIT: u64 = 192 << 20;

/// A control group of the test's own; it goes with it.
struct Group(PathBuf);

impl Group {
    /// A group with a limit; or why there can be none here.
    fn new(name: &str) -> Result<Self, String> {
        let name = format!("scaledb-test-{name}-{}", std::process::id());
        // version 1 has a tree for memory, version 2 one for all
        let first = Path::new("/sys/fs/cgroup/memory");
        let (root, file) = if first.is_dir() {
            (first, "memory.limit_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let group = Self(root.join(name));
        std::fs::create_dir(&group.0).map_err(|error| format!("{}: {error}", group.0.display()))?;
        let limit = group.0.join(file);
        std::fs::write(&limit, LIMIT.to_string()).map_err(|error| format!("{}: {error}", limit.display()))?;
        Ok(group)
    }

    fn number(&self, file: &str, field: &str) -> Option<u64> {
        let text = std::fs::read_to_string(self.0.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(field)?.trim().parse().ok())
    }

    /// How many processes the system has ended for want of memory.
    fn killed(&self) -> u64 {
        let of_first = self.number("memory.oom_control", "oom_kill ");
        of_first.or_else(|| self.number("memory.events", "oom_kill ")).expect("the group counts them")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // the process that was in it may take a moment to be gone
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn count(client: &mut Client) -> i64 {
    client.query_one("select count(*) from t", &[]).expect("a count").get(0)
}

/// Inserts until memory is out; how many rows were acknowledged.
fn fill(client: &mut Client, from: i64) -> i64 {
    let mut next = from;
    loop {
        let sql = format!(
            "insert into t select i, i % 100, repeat('x', 400) from generate_series({next}, {next} + 999) i"
        );
        match client.batch_execute(&sql) {
            Ok(()) => next += 1_000,
            Err(error) => {
                assert_eq!(error.code().map(|code| code.code()), Some("53200"), "{error:?}");
                return next;
            }
        }
    }
}

/// Snapshots that come and go, and would have deleted rows kept for them, do not keep deletes from making room.
fn delete_beside_snapshots(client: &mut Client, end: i64) {
    for _ in 0..300 {
        client.batch_execute("begin read only; select count(*) from t; commit").expect("a snapshot");
        match client.batch_execute(&format!("delete from t where id < {end}")) {
            Ok(()) => return,
            Err(error) => assert_eq!(error.code().map(|code| code.code()), Some("53200"), "{error:?}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        // the one above has ended
        if client.batch_execute(&format!("delete from t where id < {end}")).is_ok() {
            return;
        }
    }
    panic!("no room for deletes");
}

fn lives_in_its_group(engine: &str) {
    let group = match Group::new(engine) {
        Ok(group) => group,
        Err(why) => {
            eprintln!("SKIPPED: no control group can be made here: {why}");
            return;
        }
    };
    let mut server = Server::in_group(engine, &group.0);
    let mut client = server.client();
    let sql = "select value::bigint from scaledb_status where name = 'memory budget bytes'";
    let budget: i64 = client.query_one(sql, &[]).expect("a budget").get(0);
    assert_eq!(budget as u64, LIMIT / 10 * 6);
    client
        .batch_execute("create table t (id int primary key, n int, s text); create index on t (n)")
        .expect("a table");
    let mut next = 0;
    for _ in 0..3 {
        let before = next;
        next = fill(&mut client, next);
        assert!(next - before >= 10_000, "{before} to {next}");
        // it may be refused, and nothing worse
        let sorted =
            client.batch_execute("select sum(length(s)) from (select s from t order by s, id offset 1) q");
        assert!(sorted.err().is_none_or(|error| error.code().is_some_and(|code| code.code() == "53200")));
        assert!(count(&mut client) > 0);
        client.batch_execute("update t set s = repeat('y', 400) where n = 7").expect("room for updates");
        // what one transaction remembers is bounded, too
        for end in (before..next - 1_000).step_by(20_000).skip(1).chain([next - 1_000]) {
            delete_beside_snapshots(&mut client, end);
        }
        assert_eq!(count(&mut client), 1_000);
    }
    client.batch_execute("truncate t").expect("room for TRUNCATE");
    next = fill(&mut client, next);
    client.batch_execute("drop table t").expect("room for DROP");
    assert!(next > 0 && server.is_up());
    assert_eq!(group.killed(), 0);
    drop((client, server));
}

#[test]
fn acc_is_not_ended_by_its_control_group() {
    lives_in_its_group("acc");
}

#[test]
fn cicada_is_not_ended_by_its_control_group() {
    lives_in_its_group("cicada");
}
