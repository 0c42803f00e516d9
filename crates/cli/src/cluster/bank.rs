//! The work of the demonstration: clients that transfer money, and remember what was answered.

use scaledb_cluster::{Key, Lost, Member, NoAnswer, Rows, Session, Value};
use scaledb_scar::{Answer, Kind, PartitionId, Refused, TxnId};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread::sleep;
use std::time::{Duration, Instant};

/// Partitions of the demonstration.
pub(super) const PARTITIONS: u16 = 12;
const ACCOUNTS: u64 = 240;
const INITIAL: u64 = 1_000;

/// After a change of members has begun.
const PAUSE: Duration = Duration::from_millis(1);

/// Why a transaction did not commit.
enum Failed {
    /// Nothing of it has happened.
    Conflict,
    /// The node has gone, and what has become of the transaction is not known.
    Gone(Lost),
}

type Outcome<T> = Result<T, Failed>;

/// What all clients have done.
pub(super) struct Tally {
    begin: Instant,
    pub(super) committed: AtomicU64,
    pub(super) conflicts: AtomicU64,
    /// Microseconds since the beginning.
    last: AtomicU64,
    longest: AtomicU64,
    stop: AtomicBool,
}

impl Tally {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begin: Instant::now(),
            committed: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
            last: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    fn count(&self) {
        self.committed.fetch_add(1, Ordering::SeqCst);
        let now = self.begin.elapsed().as_micros() as u64;
        let last = self.last.fetch_max(now, Ordering::SeqCst);
        self.longest.fetch_max(now.saturating_sub(last), Ordering::SeqCst);
    }

    /// The longest time in which nobody was answered, since this was last asked.
    pub(super) fn longest_gap(&self) -> Duration {
        Duration::from_micros(self.longest.swap(0, Ordering::SeqCst))
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

fn key(partition: u64, space: u32, number: u64) -> Key {
    let partition = PartitionId((partition % u64::from(PARTITIONS)) as u16);
    Key { partition, space, bytes: number.to_be_bytes().as_slice().into() }
}

fn account(number: u64) -> Key {
    key(number, 1, number)
}

/// How many transfers a client has made: written with each of them.
fn made(client: u64) -> Key {
    key(client, 2, client)
}

fn value(number: u64) -> Value {
    Value(number.to_le_bytes().as_slice().into())
}

fn number(value: Option<&Value>) -> u64 {
    let bytes = value.and_then(|value| value.0.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A transaction of the demonstration.
struct Txn<'a> {
    session: &'a mut Session,
    id: TxnId,
}

fn answered(answer: Result<Answer<Rows>, NoAnswer>) -> Outcome<Answer<Rows>> {
    match answer {
        Ok(Answer::Aborted(..)) | Err(NoAnswer::Refused(_)) => Err(Failed::Conflict),
        Ok(answer) => Ok(answer),
        Err(NoAnswer::Lost(lost)) => Err(Failed::Gone(lost)),
    }
}

impl<'a> Txn<'a> {
    fn begin(session: &'a mut Session) -> Outcome<Self> {
        loop {
            match session.begin(Kind::Serializable) {
                Ok(id) => return Ok(Self { session, id }),
                Err(_) if session.has_left() => return Err(Failed::Gone(Lost::Left)),
                Err(Refused::View) => sleep(PAUSE),
                Err(_) => return Err(Failed::Conflict),
            }
        }
    }

    fn get(&mut self, key: Key) -> Outcome<u64> {
        let id = self.id;
        match answered(self.session.ask(|node, out| node.read(id, key, out)))? {
            Answer::Read(_, _, found) => Ok(number(found.as_ref())),
            _ => Err(Failed::Conflict),
        }
    }

    fn put(&mut self, key: Key, new: u64) -> Outcome<()> {
        let id = self.id;
        self.session.call(|node, _| node.write(id, key, Some(value(new)))).map_err(|_| Failed::Conflict)
    }

    fn commit(self) -> Outcome<()> {
        let id = self.id;
        answered(self.session.ask(|node, out| node.commit(id, out)))?;
        answered(self.session.next_answer().map_err(NoAnswer::Lost)).map(drop)
    }
}

/// Gives each account its money.
pub(super) fn found(member: &Member) -> bool {
    let mut session = member.session();
    let mut fill = || {
        let mut txn = Txn::begin(&mut session)?;
        for number in 0..ACCOUNTS {
            txn.put(account(number), INITIAL)?;
        }
        txn.commit()
    };
    (0..100).any(|_| fill().is_ok())
}

/// What a client knows at its end.
pub(super) struct Client {
    number: u64,
    answered: u64,
    /// The last transfer's answer never came.
    unknown: bool,
}

/// Transfers between accounts until it is told to stop, or its node has gone.
pub(super) fn transfers(member: &Member, client: u64, tally: &Tally) -> Client {
    let mut session = member.session();
    let mut known = Client { number: client, answered: 0, unknown: false };
    let mut random = client.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = |below: u64| {
        // xorshift: which accounts is of no importance
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    while !tally.stop.load(Ordering::SeqCst) {
        let from = next(ACCOUNTS);
        let to = (from + 1 + next(ACCOUNTS - 1)) % ACCOUNTS;
        let answered = known.answered;
        let done = Txn::begin(&mut session).and_then(|mut txn| {
            let (a, b) = (txn.get(account(from))?, txn.get(account(to))?);
            let amount = a.min(10);
            txn.put(account(from), a - amount)?;
            txn.put(account(to), b + amount)?;
            txn.put(made(client), answered + 1)?;
            txn.commit()
        });
        match done {
            Ok(()) => {
                known.answered += 1;
                tally.count();
            }
            Err(Failed::Conflict) => {
                tally.conflicts.fetch_add(1, Ordering::SeqCst);
            }
            Err(Failed::Gone(_)) => {
                known.unknown = true;
                break;
            }
        }
    }
    known
}

/// What is wrong at a node afterwards, if anything is.
pub(super) fn wrong_at(member: &Member, clients: &[Client]) -> Option<String> {
    let mut session = member.session();
    for _ in 0..1000 {
        let read = Txn::begin(&mut session).and_then(|mut txn| {
            let mut sum = 0;
            for number in 0..ACCOUNTS {
                sum += txn.get(account(number))?;
            }
            let mut wrong = (sum != ACCOUNTS * INITIAL)
                .then(|| format!("the accounts have {sum}, not {}", ACCOUNTS * INITIAL));
            for client in clients {
                let there = txn.get(made(client.number))?;
                let most = client.answered + u64::from(client.unknown);
                if !(client.answered..=most).contains(&there) {
                    let (number, answered) = (client.number, client.answered);
                    wrong = Some(format!("{there} transfers of client {number}; answered were {answered}"));
                }
            }
            txn.commit().map(|()| wrong)
        });
        match read {
            Ok(wrong) => return wrong,
            Err(Failed::Conflict) => sleep(PAUSE),
            Err(Failed::Gone(lost)) => return Some(lost.to_string()),
        }
    }
    Some("the accounts could not be read".to_owned())
}
