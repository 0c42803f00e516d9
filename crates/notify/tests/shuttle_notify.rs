//! Transactions that say something, and sessions that listen, under random schedules.
//!
//! `RUSTFLAGS='--cfg shuttle' cargo test -p scaledb-notify --test shuttle_notify`; without, with real threads.

use scaledb_notify::{Bell, Change, CommitPlace, Hub, Notification, Pending};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::lock::Mutex;
use scaledb_sync::{Arc, MODEL, thread};

const SCHEDULES: usize = if MODEL { 3_000 } else { 30 };
const SPEAKERS: u32 = 3;
const ROUNDS: u32 = if MODEL { 2 } else { 50 };
const LISTENER: u32 = 100;

#[derive(Default)]
struct Counted(AtomicUsize);

impl Bell for Counted {
    fn arm(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn ring(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// What stands for the engine: the transactions that have committed, in their order.
type Log = Mutex<Vec<(u32, u32)>>;

fn name(heard: &Notification) -> (u32, u32) {
    (heard.sender, heard.payload.parse().unwrap())
}

/// Commits a transaction that says its number; and settles it when others may have come between.
fn speak(hub: &Arc<Hub>, log: &Log, speaker: u32, round: u32, durable: bool) {
    let mut pending = Pending::default();
    pending.notify(hub, speaker, "c", &round.to_string()).unwrap();
    let ordered = hub.order(&pending, || ()).unwrap();
    log.lock().push((speaker, round));
    let ticket = ordered.enter(&mut pending);
    thread::yield_now();
    if durable {
        ticket.deliver();
    }
}

/// Begins to listen, with what has committed by then.
fn listen(hub: &Hub, log: &Log, bell: &Arc<Counted>) -> (Arc<AtomicBool>, usize) {
    let mut pending = Pending::default();
    pending.change(Change::Listen("c".into())).unwrap();
    let (bell, mut mail): (Arc<dyn Bell>, _) = (bell.clone(), None);
    let joined = hub.prepare(LISTENER, &pending, Some(&bell), &mut mail).unwrap();
    let seen = log.lock().len();
    hub.settle_channels(LISTENER, &joined, Some(CommitPlace::FIRST));
    (mail.unwrap(), seen)
}

/// Whoever listens hears what commits behind that, in the order of the commits, without what was lost.
#[test]
fn the_order_is_that_of_the_commits_and_nothing_is_missed() {
    scaledb_sync::model(SCHEDULES, || {
        let (hub, log) = (Arc::<Hub>::default(), Arc::<Log>::default());
        let bell = Arc::<Counted>::default();
        let is_durable = |speaker: u32, round: u32| (speaker + round) % 4 != 3;
        let speakers: Vec<_> = (0..SPEAKERS)
            .map(|speaker| {
                let (hub, log) = (hub.clone(), log.clone());
                thread::spawn(move || {
                    for round in 0..ROUNDS {
                        speak(&hub, &log, speaker, round, is_durable(speaker, round));
                    }
                })
            })
            .collect();
        let (mail, seen) = listen(&hub, &log, &bell);
        let mut heard = Vec::new();
        for _ in 0..3 {
            heard.extend(hub.take(LISTENER).iter().map(name));
            thread::yield_now();
        }
        for speaker in speakers {
            speaker.join().unwrap();
        }
        // the bell has rung for what has not been taken, and the session sees it without the lock
        let rung = bell.0.load(Ordering::SeqCst);
        let left = mail.load(Ordering::Acquire);
        let rest = hub.take(LISTENER);
        assert_eq!(left, !rest.is_empty());
        assert!(rest.is_empty() || rung > 0);
        heard.extend(rest.iter().map(name));
        let log = log.lock();
        let all: Vec<_> =
            log.iter().copied().filter(|(speaker, round)| is_durable(*speaker, *round)).collect();
        assert!(all.ends_with(&heard), "{heard:?} of {log:?}");
        let behind = log[seen..].iter().filter(|(speaker, round)| is_durable(*speaker, *round)).count();
        assert!(heard.len() >= behind, "{heard:?} of {log:?}, {seen} seen");
        assert_eq!(hub.usage(), 0.0);
    });
}

/// One that leaves is told nothing more, and what was said to it takes no room.
#[test]
fn whoever_leaves_hears_nothing_more() {
    scaledb_sync::model(SCHEDULES, || {
        let (hub, log) = (Arc::<Hub>::default(), Arc::<Log>::default());
        let bell = Arc::<Counted>::default();
        let (_, _) = listen(&hub, &log, &bell);
        let speaks = {
            let (hub, log) = (hub.clone(), log.clone());
            thread::spawn(move || (0..ROUNDS).for_each(|round| speak(&hub, &log, 0, round, true)))
        };
        // a LISTEN whose transaction does not commit
        let mut pending = Pending::default();
        pending.change(Change::Unlisten("c".into())).unwrap();
        pending.change(Change::Listen("d".into())).unwrap();
        let mut mail = None;
        let bell: Arc<dyn Bell> = bell.clone();
        let joined = hub.prepare(LISTENER, &pending, Some(&bell), &mut mail).unwrap();
        hub.settle_channels(LISTENER, &joined, None);
        assert_eq!(hub.channels(LISTENER), ["c".into()]);
        hub.remove(LISTENER);
        speaks.join().unwrap();
        assert!(hub.take(LISTENER).is_empty());
        assert_eq!(hub.usage(), 0.0);
    });
}
