//! The module in real servers: what it stores survives files, streams and moves, and what plain commands do is
//! defined.
//!
//! `make test-occult` builds the module and runs this. Elsewhere the tests say that they are skipped.

use scaledb_occult::wire::{Command, Item, Known, Outcome, Prepare, Prepared, ReadReply, Refused, Reply};
use scaledb_occult::{Datacenter, Micros, Slot, Stamp, Timestamp, TxnId, Value, Write, slot_key, slot_of};
use scaledb_occult_lab::{Failure, Lab, Node, Options, Shape, occult};

fn lab(options: Options) -> Option<Lab> {
    if options.module.is_none() || scaledb_occult_lab::server().is_none() {
        eprintln!("SKIPPED: no redis-server, or no SCALEDB_OCCULT_MODULE (make test-occult sets it)");
        return None;
    }
    Some(Lab::start(&options).unwrap())
}

fn one_master() -> Options {
    Options { shape: Shape { masters: 1, replicas: false }, ..Options::default() }
}

fn with_replica() -> Options {
    Options { shape: Shape { masters: 1, replicas: true }, ..Options::default() }
}

/// Without beats: what they promise goes into files, so that two of the same state would differ.
fn without_beats(options: Options) -> Options {
    Options { settings: "beat-ms 0".to_owned(), ..options }
}

fn value(text: &str) -> Value {
    text.as_bytes().into()
}

fn write(key: &str, text: &str) -> Command {
    Command::Write { key: value(key), value: value(text), known: Known::default() }
}

fn delete(key: &str) -> Command {
    Command::Delete { key: value(key), known: Known::default() }
}

/// A slot in which no test has keys: a home that decides elsewhere.
fn elsewhere() -> Slot {
    Slot::new(9).unwrap()
}

fn prepare(txn: u8, key: &str, home: Slot, text: &str, lease: u64) -> Command {
    let writes = vec![Write { key: value(key), value: Some(value(text)) }];
    let prepare = Prepare { txn: TxnId([txn; 16]), home, lease: Micros(lease), writes };
    Command::Prepare { prepare, known: Known::default() }
}

/// The commit of a transaction of one shard, as it was prepared.
fn commit(txn: u8, key: &str, home: Slot, prepared: &Prepared) -> Command {
    let &Prepared { stamp, datacenter, .. } = prepared;
    let slot = slot_of(key.as_bytes());
    let mut deps = Timestamp::default();
    deps.update(datacenter, slot, stamp);
    Command::Commit { slot, txn: TxnId([txn; 16]), home, stamp: Some(stamp), deps, parts: Vec::new() }
}

fn prepared(reply: Reply) -> Prepared {
    let Reply::Prepared(prepared) = reply else { panic!("{reply:?}") };
    prepared
}

fn read(node: &Node, key: &str) -> ReadReply {
    match node.occult(&Command::Read { keys: vec![value(key)] }) {
        Ok(Reply::Read(reply)) => reply,
        other => panic!("{key}: {other:?}"),
    }
}

fn item(node: &Node, key: &str) -> Item {
    read(node, key).items.remove(0)
}

fn text(item: &Item) -> Option<String> {
    item.value.as_ref().map(|value| String::from_utf8_lossy(value).into_owned())
}

fn state_key(key: &str) -> &'static str {
    slot_key(slot_of(key.as_bytes()))
}

fn done(result: Result<Reply, Failure>) -> Reply {
    result.unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// What the server has of each key, as it would give it to another one.
fn contents(node: &Node) -> Vec<(String, Vec<u8>)> {
    let mut connection = node.connect().unwrap();
    redis::cmd("READONLY").exec(&mut connection).unwrap();
    let mut keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
    keys.sort();
    let dump = |key: String| {
        let dump: Option<Vec<u8>> = redis::cmd("DUMP").arg(&key).query(&mut connection).unwrap();
        (key, dump.unwrap_or_default())
    };
    keys.into_iter().map(dump).collect()
}

/// Values, a deletion, a committed transaction, and a lock, which is returned.
fn fill(node: &Node) -> Prepared {
    for i in 0..20 {
        done(node.occult(&write(&format!("key-{i}"), &format!("value-{i}"))));
    }
    done(node.occult(&write("key-3", "again")));
    done(node.occult(&delete("key-4")));
    let lock = prepared(done(node.occult(&prepare(1, "key-5", slot_of(b"key-5"), "committed", 10_000_000))));
    done(node.occult(&commit(1, "key-5", slot_of(b"key-5"), &lock)));
    prepared(done(node.occult(&prepare(2, "key-6", elsewhere(), "prepared", 60_000_000))))
}

fn check_filled(node: &Node, lock: &Prepared) {
    assert_eq!(text(&item(node, "key-3")).as_deref(), Some("again"));
    assert_eq!(text(&item(node, "key-4")), None);
    assert_eq!(text(&item(node, "key-5")).as_deref(), Some("committed"));
    assert_eq!(text(&item(node, "key-6")).as_deref(), Some("value-6"));
    let status = Command::Status { home: slot_of(b"key-5"), txn: TxnId([1; 16]) };
    assert!(matches!(node.occult(&status), Ok(Reply::Outcome(Outcome::Committed(_)))));
    assert!(matches!(node.occult(&write("key-6", "no")), Err(Failure::Refused(Refused::Locked(_)))));
    done(node.occult(&commit(2, "key-6", elsewhere(), lock)));
    assert_eq!(text(&item(node, "key-6")).as_deref(), Some("prepared"));
}

/// Restarts from each kind of file lose nothing, not even a prepared transaction, and stamps go on.
#[test]
fn a_restart_does_not_lose_or_reset_a_stamp() {
    let files: [(&str, &[&str]); 4] = [
        ("snapshot", &["save \"\"", "appendonly no"]),
        ("append-only", &["save \"\"", "appendonly yes", "appendfsync always"]),
        ("append-only, rewritten", &["save \"\"", "appendonly yes", "appendfsync always"]),
        (
            "append-only, rewritten as commands",
            &["save \"\"", "appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"],
        ),
    ];
    for (name, lines) in files {
        let lines = lines.iter().map(|&line| line.to_owned()).collect();
        let Some(mut lab) = lab(without_beats(Options { lines, ..one_master() })) else { return };
        let node = lab.node(0);
        let lock = fill(node);
        if name == "snapshot" {
            node.ask::<()>(&["SAVE"]).unwrap();
        }
        if name.contains("rewritten") {
            node.ask::<redis::Value>(&["BGREWRITEAOF"]).unwrap();
            let end = |node: &Node| node.info("aof_rewrite_in_progress").as_deref() == Some("0");
            lab.wait("the rewriting is over", |lab| end(&lab.nodes()[0])).unwrap();
        }
        let node = lab.node(0);
        let before = contents(node);
        node.restart().unwrap();
        lab.wait_until_whole().unwrap();
        let node = lab.node(0);
        let after = contents(node);
        let names = |list: &[(String, Vec<u8>)]| list.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after), "{name}");
        assert!(before == after, "{name}: something has changed");
        let old = read(node, "key-0").items[0].stamp;
        check_filled(node, &lock);
        let Reply::Written(new) = done(node.occult(&write("key-0", "new"))) else { panic!() };
        assert!(new.stamp > old, "{name}");
        assert_ne!(new.stamp.incarnation(), old.incarnation(), "{name}: a new life has a new incarnation");
    }
}

/// A replica that follows the stream, and one that gets everything at once, have what the master has, byte by byte.
#[test]
fn a_replica_does_not_differ_from_its_master() {
    let Some(mut lab) = lab(without_beats(with_replica())) else { return };
    let lock = fill(&lab.nodes()[0]);
    let caught_up = |lab: &Lab| {
        let of = |node: usize, field| lab.nodes()[node].info(field).unwrap_or_default();
        of(0, "master_repl_offset").parse::<u64>().ok() <= of(1, "master_repl_offset").parse::<u64>().ok()
            || contents(&lab.nodes()[0]) == contents(&lab.nodes()[1])
    };
    lab.wait("the replica has the stream", |lab| {
        caught_up(lab) && lab.nodes()[1].info("occult_applied") != Some("0".into())
    })
    .unwrap();
    lab.wait("both have the same", |lab| contents(&lab.nodes()[0]) == contents(&lab.nodes()[1])).unwrap();
    assert!(!contents(&lab.nodes()[1]).is_empty());
    // without a file it starts empty, and gets all in one piece
    lab.node(1).restart().unwrap();
    lab.wait_until_whole().unwrap();
    lab.wait("both have the same", |lab| contents(&lab.nodes()[0]) == contents(&lab.nodes()[1])).unwrap();
    // promoted, it goes on where the master was
    lab.node(0).kill();
    lab.nodes()[1].ask::<()>(&["CLUSTER", "FAILOVER", "TAKEOVER"]).unwrap();
    lab.wait("the replica is a master", |lab| {
        lab.nodes()[1].info("occult_role").as_deref() == Some("master")
    })
    .unwrap();
    let old = item(&lab.nodes()[1], "key-0").stamp;
    let Reply::Written(new) = done(lab.nodes()[1].occult(&write("key-0", "new"))) else { panic!() };
    assert!(new.stamp > old && new.stamp.incarnation() != old.incarnation());
    check_filled(&lab.nodes()[1], &lock);
}

/// The beat: a shard that nobody writes to does not fall behind.
#[test]
fn an_idle_shard_does_not_look_stale() {
    let Some(lab) = lab(with_replica()) else { return };
    done(lab.nodes()[0].occult(&write("key-7", "value-7")));
    lab.wait("the replica has it", |lab| lab.nodes()[1].info("occult_applied") != Some("0".into())).unwrap();
    let mut replica = lab.nodes()[1].connect().unwrap();
    redis::cmd("READONLY").exec(&mut replica).unwrap();
    let ask = Command::Read { keys: vec![value("key-7")] };
    let Ok(Reply::Read(first)) = occult(&mut replica, &ask) else { panic!() };
    assert_eq!(text(&first.items[0]).as_deref(), Some("value-7"));
    lab.wait("the replica's shardstamp goes on", |_| {
        matches!(occult(&mut replica, &ask), Ok(Reply::Read(later)) if later.shardstamp > first.shardstamp)
    })
    .unwrap();
}

/// Plain commands on stamped keys: a removal or an overwriting is a stamped deletion, all others are refused.
#[test]
fn no_plain_command_removes_a_stamp_silently() {
    let Some(lab) = lab(without_beats(with_replica())) else { return };
    let node = &lab.nodes()[0];
    let stamped = |key: &str| {
        let Ok(Reply::Written(written)) = node.occult(&write(key, "stamped")) else { panic!() };
        written.stamp
    };
    let of_shard = |key: &str| {
        let shard: Vec<u8> = node.ask(&["DUMP", state_key(key)]).unwrap();
        shard
    };
    let removals: [(&str, &[&str]); 6] = [
        ("del", &["DEL", "del"]),
        ("unlink", &["UNLINK", "unlink"]),
        ("getdel-set", &["SET", "getdel-set", "plain"]),
        ("mset", &["MSET", "mset", "plain"]),
        ("expire", &["PEXPIRE", "expire", "1"]),
        ("{rename}a", &["RENAME", "{rename}a", "{rename}b"]),
    ];
    for (key, command) in removals {
        stamped(key);
        let before = of_shard(key);
        let reply = node.ask::<redis::Value>(command);
        assert!(reply.is_ok(), "{command:?}: {reply:?}\n{}", node.log());
        lab.wait("the removal is stamped", |_| of_shard(key) != before).unwrap();
    }
    assert_eq!(node.info("occult_plain_deletions").as_deref(), Some("6"));
    let overwritten = node.occult(&Command::Read { keys: vec![value("mset")] });
    assert!(matches!(&overwritten, Err(Failure::Refused(Refused::WrongType))), "{overwritten:?}");
    assert!(node.occult(&write("mset", "v")).is_err());
    assert_eq!(node.ask::<String>(&["GET", "mset"]).unwrap(), "plain");
    // what would read or change the value is refused
    stamped("kept");
    for command in
        [&["GET", "kept"][..], &["APPEND", "kept", "x"], &["INCR", "kept"], &["HSET", "kept", "a", "b"]]
    {
        let error = node.ask::<redis::Value>(command).unwrap_err();
        assert_eq!(error.code(), Some("WRONGTYPE"), "{command:?}");
    }
    assert!(
        node.ask::<redis::Value>(&["COPY", "{kept}", "{kept}2"])
            .is_ok_and(|value| value != redis::Value::Int(1))
    );
    assert_eq!(text(&item(node, "kept")).as_deref(), Some("stamped"));
    // a new value has no time to live
    node.ask::<redis::Value>(&["EXPIRE", "kept", "100"]).unwrap();
    stamped("kept");
    assert_eq!(node.ask::<i64>(&["TTL", "kept"]).unwrap(), -1);
    // FLUSHALL, and a deletion of the slot's own key, keep what is known of the slot
    let before = stamped("kept");
    let known = of_shard("kept");
    node.ask::<()>(&["FLUSHALL"]).unwrap();
    assert_eq!(text(&item(node, "kept")), None);
    let after = stamped("kept");
    assert!(after > before);
    assert_ne!(of_shard("kept"), known);
    node.ask::<redis::Value>(&["DEL", state_key("kept")]).unwrap();
    assert!(read(node, "kept").shardstamp >= after);
    assert!(stamped("kept") > after);
    lab.wait("the replica has the same", |lab| contents(&lab.nodes()[0]) == contents(&lab.nodes()[1]))
        .unwrap();
    // memory and documentation
    let long = "v".repeat(1_024);
    node.occult(&write("kept", &long)).unwrap();
    node.ask::<()>(&["SET", "long", &long]).unwrap();
    let size = |key| node.ask::<i64>(&["MEMORY", "USAGE", key]).unwrap();
    // which counts the classes of the allocator for plain values only; not each allocator has ones as coarse as
    // jemalloc's
    let coarse = node.info("mem_allocator").is_some_and(|name| name.contains("jemalloc"));
    let most = size("long") + if coarse { 0 } else { 64 };
    assert!(size("kept") > 1_024 && size("kept") <= most, "{} {most}", size("kept"));
    let docs: redis::Value = node.ask(&["COMMAND", "DOCS", "occult.write"]).unwrap();
    assert!(format!("{docs:?}").contains("Gives a key a value"));
    let keys: Vec<String> = node
        .ask(&["COMMAND", "GETKEYS", "OCCULT.PREPARE", "t", "1", "2", "s", "n", "a", "1", "b", "2"])
        .unwrap();
    assert_eq!(keys, ["s", "a", "b"]);
    // servers before 7.2 do not let modules name categories
    let version = node.info("redis_version").unwrap();
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let can = (numbers.next(), numbers.next()) >= (Some(7), Some(2));
    for (category, command) in [("read", "read"), ("write", "commit"), ("dangerous", "settle")] {
        let of: Vec<String> = node.ask(&["ACL", "CAT", category]).unwrap();
        assert_eq!(of.contains(&format!("occult.{command}")), can, "{category} of {version}");
    }
}

/// A slot moves key by key. Meanwhile nobody reads what is not there yet; afterwards nothing is lost, a lock included.
#[test]
fn a_moving_slot_does_not_show_what_is_missing() {
    let options = Options { shape: Shape { masters: 3, replicas: false }, ..Options::default() };
    let Some(lab) = lab(options) else { return };
    let key = |i: usize| format!("{{moves}}{i}");
    let slot = slot_of(b"moves").get().to_string();
    let nodes = lab.nodes();
    let from = nodes.iter().position(|node| node.occult(&write(&key(0), "0")).is_ok()).unwrap();
    let to = (from + 1) % 3;
    let (source, target) = (&nodes[from], &nodes[to]);
    for i in 1..6 {
        done(source.occult(&write(&key(i), &i.to_string())));
    }
    let lock = prepared(done(source.occult(&prepare(9, &key(5), elsewhere(), "after", 60_000_000))));
    let id = |node: &Node| node.ask::<String>(&["CLUSTER", "MYID"]).unwrap();
    target.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(source)]).unwrap();
    source.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(target)]).unwrap();
    let port = target.place.announced.to_string();
    let migrate = |key: &str| {
        source.ask::<redis::Value>(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]).unwrap();
    };
    let mut asking = target.connect().unwrap();
    let mut at_target = |command: &Command| {
        redis::cmd("ASKING").exec(&mut asking).unwrap();
        occult(&mut asking, command)
    };
    let of_master = |i: usize| Command::ReadMaster { known: Known::default(), keys: vec![value(&key(i))] };
    migrate(state_key(&key(0)));
    migrate(&key(0));
    migrate(&key(1));
    // the state is there and some keys are not: the new master says so, whatever is asked
    assert_eq!(at_target(&of_master(0)), Err(Failure::Refused(Refused::Moving)));
    let Ok(Reply::Read(early)) = at_target(&Command::Read { keys: vec![value(&key(0))] }) else { panic!() };
    assert_eq!(early.shardstamp, Stamp::ZERO, "what a moving slot shows is stale to everybody");
    // the old one has no state any more, and cannot make a new one
    let at_source = source.occult(&write(&key(2), "lost?"));
    assert!(at_source.is_err(), "{at_source:?}");
    for i in 2..6 {
        migrate(&key(i));
    }
    for node in nodes {
        node.ask::<()>(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(target)]).unwrap();
    }
    for i in 0..5 {
        let Ok(Reply::Read(reply)) = target.occult(&of_master(i)) else { panic!("{i}") };
        assert_eq!(text(&reply.items[0]), Some(i.to_string()));
    }
    done(target.occult(&commit(9, &key(5), elsewhere(), &lock)));
    assert_eq!(text(&item(target, &key(5))).as_deref(), Some("after"));
    done(target.occult(&write(&key(0), "new")));
    assert!(contents(source).iter().all(|(name, _)| slot_of(name.as_bytes()).get().to_string() != slot));
}

/// A small generator: the seed is printed by what fails.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn bytes(&mut self, limit: usize) -> Vec<u8> {
        (0..self.below(limit)).map(|_| self.next() as u8).collect()
    }
}

/// No arguments, and no bytes that a client restores, end the server.
#[test]
fn random_arguments_do_not_end_the_server() {
    let mut options = one_master();
    options.lines.push("enable-debug-command yes".to_owned());
    let Some(lab) = lab(options) else { return };
    let node = &lab.nodes()[0];
    let lock = fill(node);
    let pid = node.info("process_id");
    let mut connection = node.connect().unwrap();
    redis::cmd("DEBUG").arg("SET-SKIP-CHECKSUM-VALIDATION").arg(1).exec(&mut connection).unwrap();
    let mut random = Random(0x0cc0_17ed);
    let commands = [
        write("key-1", "v"),
        delete("key-2"),
        prepare(3, "key-8", slot_of(b"key-8"), "p", 1),
        commit(3, "key-8", slot_of(b"key-8"), &lock),
        Command::Read { keys: vec![value("key-1")] },
        Command::ReadMaster { known: Known::default(), keys: vec![value("key-1")] },
        Command::Abort { slot: Slot::default(), txn: TxnId([4; 16]) },
        Command::Status { home: Slot::default(), txn: TxnId([4; 16]) },
    ];
    let mut dumps = Vec::new();
    for key in ["key-1", state_key("key-6"), state_key("key-5")] {
        dumps.push(node.ask::<Vec<u8>>(&["DUMP", key]).unwrap());
    }
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..6_000 {
        let mut request = redis::Cmd::new();
        if round % 3 == 0 {
            let mut dump = dumps[random.below(dumps.len())].clone();
            for _ in 0..random.below(4) {
                // the version and the checksum at the end stay
                let at = random.below(dump.len() - 10);
                dump[at] = random.next() as u8;
            }
            if random.below(4) == 0 {
                let at = random.below(dump.len() - 10);
                dump.drain(at..at + random.below(dump.len() - 10 - at));
            }
            request.arg("RESTORE").arg("restored").arg(0).arg(dump).arg("REPLACE");
        } else {
            let mut args = commands[random.below(commands.len())].to_args();
            for _ in 0..=random.below(3) {
                let at = random.below(args.len());
                match random.below(5) {
                    0 if at > 0 => drop(args.remove(at)),
                    1 => args.insert(at.max(1), random.bytes(40)),
                    2 if at > 0 => args[at] = random.bytes(200),
                    3 if at > 0 && !args[at].is_empty() => {
                        let byte = random.below(args[at].len());
                        args[at][byte] = random.next() as u8;
                    }
                    _ => args[0] = b"OCCULT.APPLY".to_vec(),
                }
            }
            for argument in args {
                request.arg(argument);
            }
        }
        match request.query::<redis::Value>(&mut connection) {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert!(!error.is_io_error(), "round {round}: {error}\n{}", node.log());
                let text = error.to_string();
                assert!(!text.contains("the module failed"), "round {round}: a panic\n{}", node.log());
                refused += 1;
            }
        }
    }
    assert!(refused > 1_000 && accepted > 100, "{refused} refused, {accepted} accepted");
    assert_eq!(node.info("process_id"), pid);
    assert_eq!(text(&item(node, "key-3")).as_deref(), Some("again"));
}

/// A commit does not write over the state that it changes, whatever lock was restored.
#[test]
fn a_restored_lock_does_not_name_the_state_of_a_slot() {
    let mut options = one_master();
    options.lines.push("enable-debug-command yes".to_owned());
    let Some(lab) = lab(options) else { return };
    let node = &lab.nodes()[0];
    let pid = node.info("process_id");
    let state = state_key("key-1");
    let twin = state.replacen("occult", "xccult", 1);
    let home = slot_of(twin.as_bytes());
    let lock = prepared(done(node.occult(&prepare(5, &twin, home, "p", 60_000_000))));
    let mut connection = node.connect().unwrap();
    redis::cmd("DEBUG").arg("SET-SKIP-CHECKSUM-VALIDATION").arg(1).exec(&mut connection).unwrap();
    let mut dump: Vec<u8> = node.ask(&["DUMP", state]).unwrap();
    let at = dump.windows(twin.len()).position(|bytes| bytes == twin.as_bytes()).unwrap();
    dump[at..at + state.len()].copy_from_slice(state.as_bytes());
    let restored = redis::cmd("RESTORE").arg(state).arg(0).arg(dump).arg("REPLACE").exec(&mut connection);
    assert!(restored.is_err_and(|error| !error.is_io_error()), "{}", node.log());
    done(node.occult(&commit(5, &twin, home, &lock)));
    assert_eq!(text(&item(node, &twin)).as_deref(), Some("p"));
    assert_eq!(node.info("process_id"), pid);
}

/// The key, the value and the number of keys that a command may have.
#[test]
fn what_exceeds_a_limit_is_refused() {
    let Some(lab) = lab(one_master()) else { return };
    let node = &lab.nodes()[0];
    let long = "k".repeat(70_000);
    assert!(matches!(node.occult(&write(&long, "v")), Err(Failure::Refused(Refused::TooLarge { .. }))));
    let value_of = |bytes: usize| Command::Write {
        key: value("k"),
        value: vec![7; bytes].into(),
        known: Known::default(),
    };
    assert!(matches!(
        node.occult(&value_of((16 << 20) + 1)),
        Err(Failure::Refused(Refused::TooLarge { .. }))
    ));
    done(node.occult(&value_of(1 << 20)));
    let keys = |count: usize| Command::Read { keys: vec![value("k"); count] };
    assert!(matches!(node.occult(&keys(1_025)), Err(Failure::Refused(Refused::TooLarge { .. }))));
    // a client that knows the future
    let mut deps = Timestamp::default();
    deps.update(Datacenter(0), slot_of(b"k"), Stamp::from_bits(u64::MAX));
    let future =
        Command::Write { key: value("k"), value: value("v"), known: Known { deps, ..Known::default() } };
    assert!(matches!(node.occult(&future), Err(Failure::Refused(Refused::Future { .. }))));
    // keys of two slots
    let two = Command::Read { keys: vec![value("a"), value("b")] };
    assert!(node.occult(&two).is_err());
}
