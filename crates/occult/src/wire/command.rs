//! Commands.

use super::{Call, Known, Prepare, Refused, Reply};
use crate::codec::{self, Malformed};
use crate::limits::{MAX_KEY, MAX_PARTS, MAX_READ_KEYS, MAX_VALUE, MAX_WRITES};
use crate::shard::effect;
use crate::slot::is_slot_key;
use crate::{
    Micros, Planned, Server, Shard, Slot, Stamp, Store, Timestamp, TxnId, Value, Write, slot_key, slot_of,
};

/// A command as a server registers it. Positions of keys are as in Redis: the name is at 0, negative ones count
/// from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// The number of arguments, the name included; negative: at least so many.
    pub arity: i64,
    /// Whether it may change something.
    pub writes: bool,
    /// The first key.
    pub first_key: i32,
    /// The last one.
    pub last_key: i32,
    /// The distance from key to key.
    pub key_step: i32,
    /// The arguments.
    pub arguments: &'static str,
    /// What it does.
    pub summary: &'static str,
}

const fn spec(
    name: &'static str,
    arity: i64,
    writes: bool,
    keys: (i32, i32, i32),
    arguments: &'static str,
    summary: &'static str,
) -> Spec {
    let (first_key, last_key, key_step) = keys;
    Spec { name, arity, writes, first_key, last_key, key_step, arguments, summary }
}

/// All commands of clients, and the two by which effects and beats go to replicas and files.
///
/// The key of the slot's state ([`slot_key`]) is an argument of each that concerns a shard, so that a cluster keeps
/// it together with the keys: while a slot moves, a command finds both, or is told to try again.
pub const COMMANDS: [Spec; 12] = [
    spec(
        "OCCULT.READ",
        -3,
        false,
        (1, -1, 1),
        "slotkey key [key ...]",
        "The newest versions here, and how far the shard is.",
    ),
    spec(
        "OCCULT.READMASTER",
        -4,
        true,
        (2, -1, 1),
        "known slotkey key [key ...]",
        "As READ, at a master that is not behind what is known.",
    ),
    spec("OCCULT.WRITE", 5, true, (1, 2, 1), "slotkey key value known", "Gives a key a value."),
    spec("OCCULT.DELETE", 4, true, (1, 2, 1), "slotkey key known", "Deletes a key."),
    spec(
        "OCCULT.PREPARE",
        -8,
        true,
        (4, -2, 2),
        "txn home lease slotkey known key content [key content ...]",
        "Locks a shard for a transaction and leaves its writes.",
    ),
    spec(
        "OCCULT.COMMIT",
        7,
        true,
        (1, 1, 1),
        "slotkey txn home stamp deps parts",
        "Makes what is prepared visible; at the home it decides.",
    ),
    spec("OCCULT.ABORT", 3, true, (1, 1, 1), "slotkey txn", "Frees what is prepared."),
    spec(
        "OCCULT.STATUS",
        3,
        true,
        (1, 1, 1),
        "slotkey txn",
        "What has become of a transaction, at its home.",
    ),
    spec(
        "OCCULT.END",
        4,
        true,
        (1, 1, 1),
        "slotkey txn parts",
        "A committed transaction holds no locks in these slots any more; to its home.",
    ),
    spec(
        "OCCULT.SETTLE",
        2,
        true,
        (1, 1, 1),
        "slotkey",
        "A failover has interrupted a move of the slot, and what is here is all that is left of it.",
    ),
    spec("OCCULT.APPLY", 3, true, (1, 1, 1), "slotkey effect", "An effect, from the master or from a file."),
    spec("OCCULT.BEAT", 3, true, (0, 0, 0), "stamp datacenter", "A beat, from the master or from a file."),
];

/// A command of a client to a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The newest versions at whatever copy this is.
    Read {
        /// All of one slot.
        keys: Vec<Value>,
    },
    /// The newest versions at the master.
    ReadMaster {
        /// What the client knows.
        known: Known,
        /// All of one slot.
        keys: Vec<Value>,
    },
    /// A write.
    Write {
        /// The key.
        key: Value,
        /// Its value.
        value: Value,
        /// What the client knows.
        known: Known,
    },
    /// A deletion.
    Delete {
        /// The key.
        key: Value,
        /// What the client knows.
        known: Known,
    },
    /// A transaction prepares.
    Prepare {
        /// What it leaves.
        prepare: Prepare,
        /// What the client knows.
        known: Known,
    },
    /// It commits.
    Commit {
        /// Where.
        slot: Slot,
        /// Which one.
        txn: TxnId,
        /// Its home.
        home: Slot,
        /// The stamp of the lock, if its own client asks; others do not know it.
        stamp: Option<Stamp>,
        /// What its writes depend on.
        deps: Timestamp,
        /// Said to the home: the other slots that it writes to.
        parts: Vec<Slot>,
    },
    /// It aborts.
    Abort {
        /// Where.
        slot: Slot,
        /// Which one.
        txn: TxnId,
    },
    /// What has become of it.
    Status {
        /// Its home.
        home: Slot,
        /// Which one.
        txn: TxnId,
    },
    /// It has committed in these slots, too.
    End {
        /// Its home.
        home: Slot,
        /// Which one.
        txn: TxnId,
        /// Where else.
        parts: Vec<Slot>,
    },
    /// What is here is all that is left of a slot whose move a failover has interrupted. An operator says it.
    Settle {
        /// Which one.
        slot: Slot,
    },
}

/// The keys of a READ, where they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadKeys<'a> {
    /// Their slot.
    pub slot: Slot,
    /// The keys.
    pub keys: &'a [&'a [u8]],
}

impl Command {
    /// The shard that it goes to.
    pub fn slot(&self) -> Slot {
        let of = |key: Option<&Value>| slot_of(key.map_or(&[], |key| key));
        match self {
            Self::Read { keys } | Self::ReadMaster { keys, .. } => of(keys.first()),
            Self::Write { key, .. } | Self::Delete { key, .. } => slot_of(key),
            Self::Prepare { prepare, .. } => of(prepare.writes.first().map(|write| &write.key)),
            Self::Commit { slot, .. } | Self::Abort { slot, .. } | Self::Settle { slot } => *slot,
            Self::Status { home, .. } | Self::End { home, .. } => *home,
        }
    }

    /// Whether only a master can answer it.
    pub fn needs_master(&self) -> bool {
        !matches!(self, Self::Read { .. })
    }

    /// Of the arguments of a READ, the name first: its keys. None of another command.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_read<'a>(args: &'a [&'a [u8]]) -> Result<Option<ReadKeys<'a>>, Refused> {
        let [name, slot, keys @ ..] = args else { return Ok(None) };
        if !name.eq_ignore_ascii_case(b"OCCULT.READ") {
            return Ok(None);
        }
        let slot = slot_of_read(slot, keys)?;
        keys.iter().try_for_each(|key| check_key(slot, key))?;
        Ok(Some(ReadKeys { slot, keys }))
    }

    /// The arguments, the name first.
    pub fn to_args(&self) -> Vec<Vec<u8>> {
        let slot = slot_key(self.slot()).as_bytes().to_vec();
        let decimal = |number: u64| number.to_string().into_bytes();
        let bytes = |key: &Value| key.to_vec();
        let named = |name: &str| format!("OCCULT.{name}").into_bytes();
        match self {
            Self::Read { keys } => [named("READ"), slot].into_iter().chain(keys.iter().map(bytes)).collect(),
            Self::ReadMaster { known, keys } => {
                let head = [named("READMASTER"), known.to_bytes(), slot];
                head.into_iter().chain(keys.iter().map(bytes)).collect()
            }
            Self::Write { key, value, known } => {
                vec![named("WRITE"), slot, key.to_vec(), value.to_vec(), known.to_bytes()]
            }
            Self::Delete { key, known } => vec![named("DELETE"), slot, key.to_vec(), known.to_bytes()],
            Self::Prepare { prepare, known } => {
                let mut args = vec![
                    named("PREPARE"),
                    prepare.txn.0.to_vec(),
                    decimal(prepare.home.get().into()),
                    decimal(prepare.lease.0),
                    slot,
                    known.to_bytes(),
                ];
                for write in &prepare.writes {
                    args.push(write.key.to_vec());
                    let mut content =
                        Vec::with_capacity(write.value.as_ref().map_or(1, |value| value.len() + 6));
                    effect::put_content(&mut content, write.value.as_deref());
                    args.push(content);
                }
                args
            }
            Self::Commit { txn, home, stamp, deps, parts, .. } => {
                let stamp = decimal(stamp.unwrap_or_default().to_bits());
                vec![
                    named("COMMIT"),
                    slot,
                    txn.0.to_vec(),
                    decimal(home.get().into()),
                    stamp,
                    deps.to_bytes(),
                    bytes_of(parts),
                ]
            }
            Self::Abort { txn, .. } => vec![named("ABORT"), slot, txn.0.to_vec()],
            Self::Status { txn, .. } => vec![named("STATUS"), slot, txn.0.to_vec()],
            Self::End { txn, parts, .. } => vec![named("END"), slot, txn.0.to_vec(), bytes_of(parts)],
            Self::Settle { .. } => vec![named("SETTLE"), slot],
        }
    }

    /// Of the arguments, the name first, in any case of letters.
    ///
    /// # Errors
    ///
    /// If they are none of a command, or beyond a limit.
    pub fn parse(args: &[&[u8]]) -> Result<Self, Refused> {
        let (name, args) = args.split_first().ok_or(Malformed("no command"))?;
        let is = |wanted: &str| {
            let (family, name) = name.split_at_checked(7).unwrap_or_default();
            family.eq_ignore_ascii_case(b"OCCULT.") && name.eq_ignore_ascii_case(wanted.as_bytes())
        };
        let command = match *args {
            [slot, ref keys @ ..] if is("READ") => Self::Read { keys: keys_of(slot, keys)? },
            [known, slot, ref keys @ ..] if is("READMASTER") => {
                Self::ReadMaster { known: Known::from_bytes(known)?, keys: keys_of(slot, keys)? }
            }
            [slot, key, value, known] if is("WRITE") => {
                check(value.len(), MAX_VALUE, "bytes of a value")?;
                let key = key_of(slot_named(slot)?, key)?;
                Self::Write { key, value: value.into(), known: Known::from_bytes(known)? }
            }
            [slot, key, known] if is("DELETE") => {
                Self::Delete { key: key_of(slot_named(slot)?, key)?, known: Known::from_bytes(known)? }
            }
            [txn, home, lease, slot, known, ref pairs @ ..] if is("PREPARE") => {
                let slot = slot_named(slot)?;
                check(pairs.len() / 2, MAX_WRITES, "writes of a transaction to a shard")?;
                let mut writes = Vec::with_capacity(pairs.len() / 2);
                for pair in pairs.chunks(2) {
                    let [key, content] = *pair else { return Err(Malformed("a key without content").into()) };
                    writes.push(Write { key: key_of(slot, key)?, value: content_of(content)? });
                }
                if writes.is_empty() {
                    return Err(Malformed("a transaction that writes nothing").into());
                }
                let prepare = Prepare {
                    txn: txn_of(txn)?,
                    home: slot_numbered(home)?,
                    lease: Micros(decimal_of(lease)?),
                    writes,
                };
                Self::Prepare { prepare, known: Known::from_bytes(known)? }
            }
            [slot, txn, home, stamp, deps, parts] if is("COMMIT") => Self::Commit {
                slot: slot_named(slot)?,
                txn: txn_of(txn)?,
                home: slot_numbered(home)?,
                stamp: Some(Stamp::from_bits(decimal_of(stamp)?)).filter(|stamp| *stamp != Stamp::ZERO),
                deps: Timestamp::from_bytes(deps)?,
                parts: parts_of(parts)?,
            },
            [slot, txn] if is("ABORT") => Self::Abort { slot: slot_named(slot)?, txn: txn_of(txn)? },
            [slot] if is("SETTLE") => Self::Settle { slot: slot_named(slot)? },
            [slot, txn] if is("STATUS") => Self::Status { home: slot_named(slot)?, txn: txn_of(txn)? },
            [slot, txn, parts] if is("END") => {
                Self::End { home: slot_named(slot)?, txn: txn_of(txn)?, parts: parts_of(parts)? }
            }
            _ => return Err(Malformed("no such command, or another number of arguments").into()),
        };
        Ok(command)
    }

    /// Whether the server has to [begin another life](Server::begin_life) before it runs this: what has been said
    /// in the present one is not true any more. `partial` is what [`Shard::is_partial`] says.
    pub fn begins_life(&self, partial: bool, settled: bool) -> bool {
        matches!(self, Self::Settle { .. }) && settled && partial
    }

    /// What a shard of a server answers, and which effect that has; see [`Shard`].
    ///
    /// # Errors
    ///
    /// Whatever the shard refuses. Nothing has changed then.
    pub fn run(
        &self,
        shard: &Shard,
        server: &Server,
        now: Micros,
        settled: bool,
        store: &impl Store,
    ) -> Result<Planned<Reply>, Refused> {
        fn wrap<R>(planned: Planned<R>, reply: impl FnOnce(R) -> Reply) -> Planned<Reply> {
            Planned { reply: reply(planned.reply), effect: planned.effect }
        }
        let call = Call { server, slot: self.slot(), now, settled };
        Ok(match self {
            Self::Read { keys } => {
                Planned { reply: Reply::Read(shard.plan_read(call, store, keys)?), effect: None }
            }
            Self::ReadMaster { known, keys } => {
                wrap(shard.plan_read_master(call, store, known, keys)?, Reply::Read)
            }
            Self::Write { key, value, known } => {
                wrap(shard.plan_write(call, store, known, key, value)?, Reply::Written)
            }
            Self::Delete { key, known } => wrap(shard.plan_delete(call, store, known, key)?, Reply::Erased),
            Self::Prepare { prepare, known } => {
                wrap(shard.plan_prepare(call, store, known, prepare)?, Reply::Prepared)
            }
            Self::Commit { txn, home, stamp, deps, parts, .. } => {
                wrap(shard.plan_commit(call, *txn, *home, *stamp, deps, parts)?, |()| Reply::Done)
            }
            Self::Abort { txn, .. } => wrap(shard.plan_abort(call, *txn)?, |()| Reply::Done),
            Self::End { txn, parts, .. } => wrap(shard.plan_end(call, *txn, parts)?, |()| Reply::Done),
            Self::Settle { .. } => wrap(shard.plan_settle(call)?, |()| Reply::Done),
            Self::Status { txn, .. } => wrap(shard.plan_status(call, *txn)?, Reply::Outcome),
        })
    }
}

fn check(count: usize, limit: usize, what: &'static str) -> Result<(), Refused> {
    if count > limit { Err(Refused::TooLarge { what, limit }) } else { Ok(()) }
}

fn slot_named(name: &[u8]) -> Result<Slot, Malformed> {
    let slot = slot_of(name);
    if slot_key(slot).as_bytes() == name { Ok(slot) } else { Err(Malformed("not the key of a slot's state")) }
}

fn slot_numbered(text: &[u8]) -> Result<Slot, Malformed> {
    u16::try_from(decimal_of(text)?).ok().and_then(Slot::new).ok_or(Malformed("no such slot"))
}

fn slot_of_read(slot: &[u8], keys: &[&[u8]]) -> Result<Slot, Refused> {
    check(keys.len(), MAX_READ_KEYS, "keys of a read")?;
    if keys.is_empty() {
        return Err(Malformed("a read without keys").into());
    }
    Ok(slot_named(slot)?)
}

fn keys_of(slot: &[u8], keys: &[&[u8]]) -> Result<Vec<Value>, Refused> {
    let slot = slot_of_read(slot, keys)?;
    keys.iter().map(|key| key_of(slot, key)).collect()
}

fn key_of(slot: Slot, key: &[u8]) -> Result<Value, Refused> {
    check_key(slot, key)?;
    Ok(key.into())
}

fn check_key(slot: Slot, key: &[u8]) -> Result<(), Refused> {
    check(key.len(), MAX_KEY, "bytes of a key")?;
    if slot_of(key) != slot {
        return Err(Malformed("the key is in another slot").into());
    }
    if is_slot_key(key) {
        return Err(Malformed("that key is the slot's own").into());
    }
    Ok(())
}

fn content_of(bytes: &[u8]) -> Result<Option<Value>, Refused> {
    let mut reader = codec::Reader::new(bytes);
    let content = effect::content(&mut reader)?;
    reader.end()?;
    Ok(content)
}

fn bytes_of(parts: &[Slot]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * parts.len() + 2);
    codec::put_slots(&mut out, parts);
    out
}

fn parts_of(bytes: &[u8]) -> Result<Vec<Slot>, Malformed> {
    let mut reader = codec::Reader::new(bytes);
    let parts = reader.slots(MAX_PARTS)?.to_vec();
    reader.end()?;
    Ok(parts)
}

fn txn_of(bytes: &[u8]) -> Result<TxnId, Malformed> {
    Ok(TxnId(bytes.try_into().map_err(|_| Malformed("a transaction is named by 16 bytes"))?))
}

fn decimal_of(bytes: &[u8]) -> Result<u64, Malformed> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Malformed("not a decimal number"))
}
