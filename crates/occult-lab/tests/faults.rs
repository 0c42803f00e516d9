//! Servers that are killed, slots that move, and what sessions see meanwhile.
//!
//! The histories: each writer gives `cause` a number and then `effect` the same, so who sees an effect must see its
//! cause, or a later one. Each pair is written by transactions only, so both keys are always equal.
//!
//! `make test-occult` builds the module and runs this. Elsewhere the tests say that they are skipped.

mod support;

use scaledb_occult::{Slot, slot_of};
use scaledb_occult_client::{Client, Error, Session};
use scaledb_occult_lab::{Lab, Node, Options, Shape, Weather};
use std::rc::Rc;
use std::time::{Duration, Instant};
use support::{client_with, lab, move_slot, run};
use tokio::sync::watch;

fn number(value: Option<scaledb_occult_client::Bytes>) -> u64 {
    value.map_or(0, |value| std::str::from_utf8(&value).unwrap().parse().unwrap())
}

async fn connected(lab: &Lab, datacenter: u8) -> Client {
    client_with(lab, datacenter, |options| {
        options.config.report_hearsay = true;
        options.config.lease = scaledb_occult_client::Micros(500_000);
        options.config.patience = scaledb_occult_client::Micros(20_000_000);
    })
    .await
}

fn cause(writer: usize) -> String {
    format!("cause-{writer}")
}

fn effect(writer: usize) -> String {
    format!("effect-{writer}")
}

/// What the clients have done and met.
#[derive(Debug, Default)]
struct Met {
    written: u64,
    transactions: u64,
    checks: u64,
    lost: u64,
    unknown: u64,
}

/// An error that a failover explains; everything else fails the test.
fn excuse(met: &mut Met, error: &Error) {
    if error.is_lost_write() {
        met.lost += 1;
    } else if error.is_unknown() {
        met.unknown += 1;
    } else {
        panic!("{error:?}");
    }
}

async fn write(client: Client, writer: usize, stop: watch::Receiver<bool>) -> Met {
    let mut session = client.session();
    let mut met = Met::default();
    while !*stop.borrow() {
        let next = (met.written + 1).to_string();
        // a cause that may be lost has no effect
        match session.set(cause(writer), &next).await {
            Ok(()) => {
                if let Err(error) = session.set(effect(writer), &next).await {
                    excuse(&mut met, &error);
                }
            }
            Err(error) => excuse(&mut met, &error),
        }
        met.written += 1;
        let (left, right) = (format!("left-{writer}"), format!("right-{writer}"));
        let (left, right) = (&left, &right);
        let done = session.transaction(|transaction| async move {
            let values = transaction.get_many([left, right]).await?;
            let (a, b) = (number(values[0].clone()), number(values[1].clone()));
            transaction.set(left, (a + 1).to_string()).await?;
            transaction.set(right, (a + 1).to_string()).await?;
            Ok((a, b))
        });
        match done.await {
            Ok((a, b)) => {
                assert!(a == b || met.lost > 0, "half of a transaction: {a} and {b}");
                met.transactions += 1;
            }
            Err(error) => excuse(&mut met, &error),
        }
    }
    met
}

/// Checks that nothing is seen without its cause. Each check is by a session that knows nothing, and by one that knows
/// all that it has seen.
async fn check(client: Client, writers: usize, stop: watch::Receiver<bool>) -> Met {
    let mut long = client.session();
    let mut met = Met::default();
    while !*stop.borrow() {
        for writer in 0..writers {
            let mut short = client.session();
            for (session, name) in [(&mut short, "short"), (&mut long, "long")] {
                match look(session, writer).await {
                    Ok((seen, of)) => {
                        assert!(of >= seen, "writer {writer}: effect {seen} without its cause, {of}, {name}");
                        met.checks += 1;
                    }
                    Err(error) => excuse(&mut met, &error),
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    met
}

async fn look(session: &mut Session, writer: usize) -> Result<(u64, u64), Error> {
    let seen = number(session.get(effect(writer)).await?);
    Ok((seen, number(session.get(cause(writer)).await?)))
}

/// Runs writers and readers in both datacenters while something happens to the servers.
async fn under_load(lab: &mut Lab, what: impl AsyncFnOnce(&mut Lab)) -> Met {
    const WRITERS: usize = 4;
    let clients = [connected(lab, 0).await, connected(lab, 1).await];
    let (stop, stopped) = watch::channel(false);
    let local = tokio::task::LocalSet::new();
    let mut tasks = Vec::new();
    for writer in 0..WRITERS {
        tasks.push(local.spawn_local(write(clients[writer % 2].clone(), writer, stopped.clone())));
    }
    for client in &clients {
        tasks.push(local.spawn_local(check(client.clone(), WRITERS, stopped.clone())));
    }
    let all = Rc::new(stop);
    local
        .run_until(async {
            what(lab).await;
            all.send_replace(true);
            let mut met = Met::default();
            for task in tasks {
                let of = task.await.unwrap();
                met.written += of.written;
                met.transactions += of.transactions;
                met.checks += of.checks;
                met.lost += of.lost;
                met.unknown += of.unknown;
            }
            met
        })
        .await
}

/// Waits without holding up the clients.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(40);
    while !is_so() {
        assert!(Instant::now() < end, "waited too long for this: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Masters are killed under load, their replicas take over by the cluster's own election, the killed come back.
#[test]
fn a_killed_master_breaks_no_history() {
    let options = Options {
        shape: Shape { masters: 3, replicas: true },
        weather: Weather { one_way: Duration::from_millis(3), cut: false },
        node_timeout: Duration::from_millis(1_500),
        settings: "shape exact".to_owned(),
        ..Options::default()
    };
    let Some(mut lab) = lab(&options) else { return };
    let is_master = |node: &Node| node.info("role").as_deref() == Some("master");
    run(async {
        let met = under_load(&mut lab, async |lab| {
            tokio::time::sleep(Duration::from_millis(700)).await;
            for master in 0..2 {
                let replica = lab.replica_of(master);
                lab.node(master).kill();
                until("the replica is elected", || is_master(&lab.nodes()[replica])).await;
                tokio::time::sleep(Duration::from_millis(500)).await;
                lab.node(master).restart().unwrap();
                until("the killed one is a replica", || {
                    lab.nodes()[master].info("master_link_status").as_deref() == Some("up")
                })
                .await;
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        })
        .await;
        assert!(met.written > 10 && met.transactions > 10 && met.checks > 20, "{met:?}");
    });
}

/// A write that its master had not sent when it was killed is reported to its session, once, and not to others.
#[test]
fn a_lost_write_is_told_once() {
    let options = Options { shape: Shape { masters: 3, replicas: true }, ..Options::default() };
    let Some(mut lab) = lab(&options) else { return };
    run(async {
        let client = connected(&lab, 0).await;
        let mut session = client.session();
        session.set("kept", "1").await.unwrap();
        session.set("lost", "old").await.unwrap();
        let slot = usize::from(slot_of(b"lost").get());
        let master = (0..3).rfind(|i| i * usize::from(Slot::COUNT) / 3 <= slot).unwrap();
        let replica = lab.replica_of(master);
        let applied = || {
            let of = |node: usize| {
                lab.nodes()[node].info("master_repl_offset").and_then(|text| text.parse::<u64>().ok())
            };
            of(replica) > of(master).map(|offset| offset.saturating_sub(2_000))
        };
        until("the replica has the first writes", applied).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        lab.set_stream(master, Weather { one_way: Duration::from_secs(60), cut: false });
        tokio::time::sleep(Duration::from_millis(50)).await;
        session.set("lost", "new").await.unwrap();
        lab.node(master).kill();
        lab.nodes()[replica].ask::<()>(&["CLUSTER", "FAILOVER", "TAKEOVER"]).unwrap();
        until("the replica is a master", || {
            lab.nodes()[replica].info("occult_role").as_deref() == Some("master")
        })
        .await;
        let told = session.get("lost").await;
        assert!(told.as_ref().is_err_and(Error::is_lost_write), "{told:?}");
        assert_eq!(session.get("lost").await.unwrap().as_deref(), Some(&b"old"[..]));
        assert_eq!(session.get("kept").await.unwrap().as_deref(), Some(&b"1"[..]));
        session.set("lost", "newer").await.unwrap();
        assert_eq!(session.get("lost").await.unwrap().as_deref(), Some(&b"newer"[..]));
        assert_eq!(client.session().get("lost").await.unwrap().as_deref(), Some(&b"newer"[..]));
    });
}

/// Slots with all their keys move from master to master under load.
#[test]
fn a_moving_slot_breaks_no_history() {
    let options = Options { shape: Shape { masters: 3, replicas: true }, ..Options::default() };
    let Some(mut lab) = lab(&options) else { return };
    run(async {
        let met = under_load(&mut lab, async |lab| {
            tokio::time::sleep(Duration::from_millis(500)).await;
            for round in 0..2 {
                for key in (0..4).flat_map(|writer| [cause(writer), format!("left-{writer}")]) {
                    move_slot(lab, slot_of(key.as_bytes()), round == 1).await;
                }
                tokio::time::sleep(Duration::from_millis(200 * round)).await;
            }
        })
        .await;
        assert_eq!(met.lost, 0, "{met:?}");
        assert!(met.written > 10 && met.transactions > 10 && met.checks > 20, "{met:?}");
    });
}
