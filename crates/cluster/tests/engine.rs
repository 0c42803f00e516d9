//! Tables over three members in this process: where rows are kept, indexes that come and go, a node that dies.

use scaledb_base::{Error, TableId};
use scaledb_cluster::engine::{Answers, Cluster, ClusterWorker};
use scaledb_cluster::{Key, LocalCluster, Settings};
use scaledb_engine::{Engine, IndexDef, Order, Range, TableDef, TableInfo, TxnKind, Worker};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, Schema};
use scaledb_scar::{NodeId, PartitionId};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread;
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

const PARTITIONS: u16 = 7;

fn start(answers: Answers) -> (LocalCluster, Vec<Cluster>) {
    let settings = Settings {
        epoch: Duration::from_millis(1),
        idle_epoch: Duration::from_millis(20),
        suspect_after: Duration::from_secs(2),
        ..Settings::default()
    };
    let cluster = LocalCluster::start(settings, 3, PARTITIONS, 1).unwrap();
    let engines = cluster.members().map(|member| Cluster::new(member.clone(), answers)).collect();
    (cluster, engines)
}

/// `a`, `b` are the key; `n` is a number, `place` another.
fn definition(name: &str) -> TableDef {
    let columns = ["a", "b", "n", "place"].map(|name| Column::new(name, ColumnType::Int4));
    TableDef::new(name, Schema::new(columns.to_vec(), &[KeyPart::asc(0), KeyPart::asc(1)]).unwrap())
}

fn row(t: &TableInfo, values: [i32; 4]) -> RowBuf {
    RowBuf::from_values(&t.schema, &values.map(Datum::Int4)).unwrap()
}

fn key(a: i32, b: i32) -> KeyBuf {
    KeyBuf::new().i32(a).i32(b)
}

fn fill(w: &mut ClusterWorker, t: &TableInfo, a: i32, b: i32) {
    w.run(TxnKind::ReadWrite, |w| {
        for (a, b) in (0..a).flat_map(|a| (0..b).map(move |b| (a, b))) {
            w.insert(t.id, &row(t, [a, b, 100, a + b]))?;
        }
        Ok(())
    })
    .unwrap();
}

/// What a table or an index has, within a transaction.
fn scan(
    w: &mut ClusterWorker,
    t: &TableInfo,
    id: TableId,
    order: Order,
) -> scaledb_base::Result<Vec<[i32; 4]>> {
    let mut rows = Vec::new();
    w.scan(id, Range::ALL, order, &Projection::all(&t.schema), |_, _, row| {
        rows.push([0, 1, 2, 3].map(|column| row.i32(column)));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn rows(w: &mut ClusterWorker, t: &TableInfo, id: TableId) -> Vec<[i32; 4]> {
    w.run(TxnKind::ReadOnly, |w| scan(w, t, id, Order::Forward)).unwrap()
}

/// Rows of a table in each partition, wherever there is a replica.
fn placed(cluster: &LocalCluster, t: TableId) -> Vec<u64> {
    let count = |partition| {
        let ends = [t.0 + 1, t.0 + 2].map(|space| Key::new(PartitionId(partition), space, &[]));
        let [low, high] = ends;
        let range = scaledb_scar::Range::new(Bound::Included(low), Bound::Excluded(high));
        let counts = cluster
            .members()
            .filter_map(|member| member.call(|node, _| node.count(PartitionId(partition), &range)));
        counts.max().unwrap_or_default()
    };
    (0..PARTITIONS).map(count).collect()
}

#[test]
fn of_an_index_that_cannot_be_built_nothing_is_left() {
    let (cluster, engines) = start(Answers::WithTheEpoch);
    let t = engines[0].create_table(definition("t")).unwrap();
    let mut w = engines[1].worker().unwrap();
    w.run(TxnKind::ReadWrite, |w| {
        // the last one shares its place with the first, whose entry has been written when that is seen
        (0..301).try_for_each(|a| w.insert(t.id, &row(&t, [a, 0, 100, a % 300])).map(drop))
    })
    .unwrap();
    let unique = |name: &str| IndexDef::unique(name, vec![KeyPart::asc(3)]);
    let failed = engines[2].add_index(t.id, unique("first"));
    assert!(matches!(failed, Err(Error::DuplicateKey { table, .. }) if table == t.id), "{failed:?}");
    assert_eq!(placed(&cluster, TableId(t.id.0 + 1)).iter().sum::<u64>(), 0);
    assert_eq!(engines[0].table("t").unwrap().indexes.len(), 0);
    // asked once for each hundred rows
    let asked = AtomicU64::new(0);
    let stopped = engines[1]
        .add_index_while(t.id, unique("second"), &|| asked.fetch_add(1, Ordering::SeqCst) < 2)
        .unwrap_err();
    assert!(matches!(stopped, Error::Stopped), "{stopped:?}");
    assert_eq!(placed(&cluster, TableId(t.id.0 + 2)).iter().sum::<u64>(), 0);
    // nobody is kept out
    w.run(TxnKind::ReadWrite, |w| w.delete(t.id, &key(300, 0)).map(drop)).unwrap();
    let with = engines[0].add_index(t.id, unique("second")).unwrap();
    assert_eq!(with.indexes[0].id, TableId(t.id.0 + 3));
    assert_eq!(placed(&cluster, with.indexes[0].id).iter().sum::<u64>(), 300);
}

#[test]
fn rows_are_where_the_options_say() {
    let (cluster, engines) = start(Answers::WithTheEpoch);
    let mut w = engines[1].worker().unwrap();
    let create = |name: &str, option: Option<(&str, scaledb_engine::OptionValue)>| {
        let by_place = IndexDef::new(&format!("{name}_by_place"), vec![KeyPart::asc(3)]);
        let mut def = definition(name).index(by_place);
        if let Some((option, value)) = option {
            def.options = def.options.with(option, value);
        }
        engines[0].create_table(def)
    };
    let all = |w: &mut ClusterWorker, t: &TableInfo| {
        fill(w, t, 20, 5);
        let found = rows(w, t, t.id);
        assert_eq!(found.len(), 100);
        assert!(found.is_sorted());
        assert_eq!(rows(w, t, t.indexes[0].id).len(), 100);
        placed(&cluster, t.id)
    };
    let t = create("spread", None).unwrap();
    let spread = all(&mut w, &t);
    assert!(spread[0] == 0 && spread[1..].iter().all(|&rows| rows > 0 && rows < 40), "{spread:?}");
    let t = create("together", Some(("partition_by", 1.into()))).unwrap();
    let together = all(&mut w, &t);
    assert!(together[0] == 0 && together.iter().all(|rows| rows % 5 == 0), "{together:?}");
    let t = create("everywhere", Some(("replicate", "everywhere".into()))).unwrap();
    assert_eq!(all(&mut w, &t), [100, 0, 0, 0, 0, 0, 0]);
    assert_eq!(placed(&cluster, t.indexes[0].id)[0], 100);

    for (option, value) in
        [("partition_by", 0.into()), ("partition_by", 3.into()), ("replicate", "twice".into())]
    {
        assert!(matches!(create("wrong", Some((option, value))), Err(Error::BadOption { .. })));
    }
    assert!(matches!(create("wrong", Some(("merge_batch", 3.into()))), Err(Error::UnknownOption { .. })));
    assert!(matches!(create("spread", None), Err(Error::TableExists(_))));
    let names: Vec<String> = engines[2].tables().iter().map(|table| table.name.clone()).collect();
    assert_eq!(names, ["spread", "together", "everywhere"]);
}

#[test]
fn an_index_comes_and_goes_while_others_write() {
    let (_cluster, engines) = start(Answers::WithTheEpoch);
    let t = engines[0].create_table(definition("t")).unwrap();
    fill(&mut engines[0].worker().unwrap(), &t, 10, 5);
    let unused = AtomicU64::new(0);
    thread::scope(|scope| {
        for engine in &engines {
            let (t, unused) = (&t, &unused);
            scope.spawn(move || {
                let mut w = engine.worker().unwrap();
                for _ in 0..40 {
                    let b = 100 + unused.fetch_add(1, Ordering::SeqCst) as i32;
                    w.run(TxnKind::ReadWrite, |w| w.insert(t.id, &row(t, [0, b, 0, b % 7])).map(drop))
                        .unwrap();
                    thread::sleep(Duration::from_millis(3));
                }
            });
        }
        // writers may be in its way for as long as they like
        let with = loop {
            match engines[1].add_index(t.id, IndexDef::new("by_place", vec![KeyPart::asc(3)])) {
                Err(error) if error.is_conflict() => {}
                done => break done.unwrap(),
            }
        };
        let mut w = engines[2].worker().unwrap();
        for _ in 0..5 {
            let [mut by_key, by_place] = w
                .run(TxnKind::ReadOnly, |w| {
                    Ok([
                        scan(w, &with, t.id, Order::Forward)?,
                        scan(w, &with, with.indexes[0].id, Order::Backward)?,
                    ])
                })
                .unwrap();
            by_key.sort_by_key(|row| std::cmp::Reverse([row[3], row[0], row[1]]));
            assert_eq!(by_key, by_place);
        }
    });

    let by_place = engines[0].table("t").unwrap().indexes[0].id;
    let twice = engines[0].add_index(t.id, IndexDef::unique("alone", vec![KeyPart::asc(3)]));
    assert!(matches!(twice, Err(Error::DuplicateKey { table, .. }) if table == t.id), "{twice:?}");
    let again = engines[0].add_index(t.id, IndexDef::new("by_place", vec![KeyPart::asc(2)]));
    assert!(matches!(again, Err(Error::TableExists(_))));

    // who has used it, or has written without it, does not commit
    let (mut reader, mut writer) = (engines[0].worker().unwrap(), engines[1].worker().unwrap());
    reader.begin(TxnKind::ReadOnly).unwrap();
    assert!(!scan(&mut reader, &t, by_place, Order::Forward).unwrap().is_empty());
    writer.begin(TxnKind::ReadWrite).unwrap();
    writer.insert(t.id, &row(&t, [7, 77, 7, 7])).unwrap();
    assert!(engines[2].drop_index(by_place).unwrap().indexes.is_empty());
    assert!(reader.commit().unwrap_err().is_conflict());
    assert!(writer.commit().unwrap_err().is_conflict());
    reader.begin(TxnKind::ReadOnly).unwrap();
    assert!(matches!(scan(&mut reader, &t, by_place, Order::Forward), Err(Error::NoSuchTable(_))));
    assert!(matches!(engines[0].drop_index(by_place), Err(Error::NoSuchTable(_))));
    assert_eq!(placed(&_cluster, by_place), [0; 7]);
}

/// Transfers at two nodes while the third dies: the sum stays, rows and indexes agree, and what was answered is there.
#[test]
fn rows_and_indexes_agree_when_a_node_dies() {
    for answers in [Answers::WithTheEpoch, Answers::WhenDecided] {
        let (mut cluster, mut engines) = start(answers);
        let mut def = definition("t").index(IndexDef::new("by_n", vec![KeyPart::asc(2)]));
        def = def.index(IndexDef::unique("by_place", vec![KeyPart::asc(3)]));
        let t = engines[0].create_table(def).unwrap();
        engines[0]
            .worker()
            .unwrap()
            .run(TxnKind::ReadWrite, |w| {
                (0..20).try_for_each(|a| w.insert(t.id, &row(&t, [a, 0, 100, a])).map(drop))
            })
            .unwrap();
        let dying = engines.remove(2);
        let stop = AtomicBool::new(false);
        let answered = thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let (engine, t, stop) = (&engines[number % 2], &t, &stop);
                    scope.spawn(move || {
                        let (mut w, mut answered) = (engine.worker().unwrap(), 0);
                        let mut random = number as u64;
                        while !stop.load(Ordering::SeqCst) {
                            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            let (from, to) = ((random >> 33) as i32 & 15, 1 + ((random >> 40) as i32 & 15));
                            // the last row counts transfers of this thread
                            let add = |w: &mut ClusterWorker, a: i32, n: i32| {
                                let cols = Projection::all(&t.schema);
                                w.update(t.id, &key(a, 0), &cols, |row| {
                                    let n = row.view().i32(2) + n;
                                    row.set_i32(2, n);
                                    Ok(())
                                })
                                .map(drop)
                            };
                            let done = w.begin(TxnKind::ReadWrite).and_then(|()| {
                                add(&mut w, from, -1)?;
                                add(&mut w, to, 1)?;
                                w.insert(
                                    t.id,
                                    &row(
                                        t,
                                        [
                                            100 + number as i32,
                                            answered,
                                            0,
                                            1_000_000 * (1 + number as i32) + answered,
                                        ],
                                    ),
                                )?;
                                w.commit()?;
                                w.wait_durable()
                            });
                            match done {
                                Ok(()) => answered += 1,
                                Err(error) => assert!(error.is_conflict(), "{error}"),
                            }
                            w.rollback();
                        }
                        answered
                    })
                })
                .collect();
            thread::sleep(Duration::from_millis(700));
            drop(dying);
            cluster.kill(NodeId(2));
            thread::sleep(Duration::from_millis(4000));
            stop.store(true, Ordering::SeqCst);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<i32>>()
        });
        assert!(answered.iter().all(|&count| count > 0), "{answered:?}");
        for engine in &engines {
            let mut w = engine.worker().unwrap();
            let mut by_key = rows(&mut w, &t, t.id);
            assert_eq!(by_key.iter().map(|row| row[2]).sum::<i32>(), 2000);
            for (number, &count) in answered.iter().enumerate() {
                let there = by_key.iter().filter(|row| row[0] == 100 + number as i32).count() as i32;
                assert_eq!(there, count, "of thread {number}");
            }
            let mut by_n = rows(&mut w, &t, t.indexes[0].id);
            assert!(by_n.is_sorted_by_key(|row| row[2]));
            let mut by_place = rows(&mut w, &t, t.indexes[1].id);
            assert!(by_place.is_sorted_by_key(|row| row[3]));
            by_key.sort_unstable();
            by_n.sort_unstable();
            by_place.sort_unstable();
            assert!(by_key == by_n && by_key == by_place);
        }
    }
}

#[test]
fn a_node_that_has_left_names_those_to_ask() {
    let (mut cluster, engines) = start(Answers::WithTheEpoch);
    let mut worker = engines[2].worker().unwrap();
    worker.begin(TxnKind::ReadWrite).unwrap();
    worker.rollback();
    cluster.kill(NodeId(2));
    let error = worker.begin(TxnKind::ReadWrite).unwrap_err();
    assert!(matches!(error, Error::NotHere { .. }) && !error.is_conflict(), "{error:?}");
    assert_eq!(error.to_string(), "this node is no member of its cluster any more; ask node-0 or node-1");
    engines[0].worker().unwrap().begin(TxnKind::ReadWrite).unwrap();
}

/// Reads ahead tell nobody why the transaction has ended: the next call does.
#[test]
fn a_transaction_that_ends_while_it_reads_ahead_says_why() {
    let (mut cluster, engines) = start(Answers::WithTheEpoch);
    let t = engines[0].create_table(definition("t")).unwrap();
    let mut w = engines[0].worker().unwrap();
    fill(&mut w, &t, 4, 4);
    w.begin(TxnKind::ReadWrite).unwrap();
    let view = |cluster: &LocalCluster| cluster.members().next().unwrap().view();
    let before = view(&cluster).view.number;
    cluster.kill(NodeId(2));
    while view(&cluster).view.number == before || !view(&cluster).is_settled() {
        thread::sleep(Duration::from_millis(10));
    }
    let all = Projection::all(&t.schema);
    w.prefetch([(t.id, &*key(1, 1), &all), (t.id, &*key(2, 2), &all)].into_iter());
    assert!(w.in_transaction());
    let read = w.get(t.id, &key(1, 1), &all, |_, _| ());
    assert!(read.as_ref().is_err_and(Error::is_conflict), "{read:?}");
    assert!(!w.in_transaction());
    w.rollback();
    assert_eq!(rows(&mut w, &t, t.id).len(), 16);
}
