//! Refusals: commands that have changed nothing.

use std::fmt;
use std::str::FromStr;

use crate::{Incarnation, Malformed, Micros, Slot, Stamp, TxnId};

/// The lock that a command has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// Whose it is.
    pub txn: TxnId,
    /// Where its outcome is decided: whom to ask with STATUS.
    pub home: Slot,
    /// How long its client still has before others may abort it.
    pub lease_left: Micros,
}

/// Why a shard has done nothing. As text it is a Redis error: `Display` writes it, `FromStr` reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A transaction has prepared at the shard. Try again; when its lease is over, ask its home.
    Locked(LockInfo),
    /// The client knows a write of the shard that is not there any more: a failover has lost it.
    Lost {
        /// The shard.
        slot: Slot,
        /// The write.
        seen: Stamp,
        /// The life of the shard that does not have it.
        incarnation: Incarnation,
    },
    /// The client knows a write of the shard that is older than the failovers that the shard remembers: it may be lost.
    Forgotten {
        /// The shard.
        slot: Slot,
        /// The write.
        seen: Stamp,
    },
    /// The client claims to know stamps far in the future.
    Future {
        /// How far.
        ahead: Micros,
        /// What is accepted.
        limit: Micros,
    },
    /// The transaction is not prepared at its home: it has been aborted.
    NotPrepared,
    /// The transaction has committed here: a PREPARE of it came late.
    Ended,
    /// The slot is moving to another master: try again.
    Moving,
    /// This server is a replica of the shard.
    NotMaster,
    /// The shard remembers as many committed transactions as it can.
    Full,
    /// A limit is exceeded.
    TooLarge {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A key holds a plain value of Redis.
    WrongType,
    /// The server has no memory left for a write.
    OutOfMemory,
    /// The server does not let this user do that, or does not know him.
    NotPermitted,
    /// The arguments are none of the command.
    Malformed(Malformed),
}

impl std::error::Error for Refused {}

impl From<Malformed> for Refused {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

impl Refused {
    /// The first word of each, but for the arguments of a wrong program, which are Redis' `ERR`.
    pub const PREFIXES: [&str; 13] = [
        "LOCKED",
        "LOST",
        "FORGOTTEN",
        "FUTURE",
        "NOTPREPARED",
        "ENDED",
        "TRYAGAIN",
        "NOTMASTER",
        "RECORDSFULL",
        "TOOLARGE",
        "WRONGTYPE",
        "OOM",
        "NOPERM",
    ];
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked(lock) => write!(
                f,
                "LOCKED {} {} {} a transaction has prepared here; its home is that slot, its lease has that many \
                 microseconds left",
                lock.txn,
                lock.home.get(),
                lock.lease_left.0,
            ),
            Self::Lost { slot, seen, incarnation } => write!(
                f,
                "LOST {} {} {} a failover of this slot has lost a write that you know, and what depends on it may be \
                 there",
                slot.get(),
                seen.to_bits(),
                incarnation.get(),
            ),
            Self::Forgotten { slot, seen } => write!(
                f,
                "FORGOTTEN {} {} this slot has been through more failovers than it remembers since that write, which \
                 you know: it may be lost",
                slot.get(),
                seen.to_bits(),
            ),
            Self::Future { ahead, limit } => write!(
                f,
                "FUTURE {} {} the timestamp is that many microseconds before the clock of this server, and so many are \
                 accepted",
                ahead.0, limit.0,
            ),
            Self::NotPrepared => {
                f.write_str("NOTPREPARED the transaction is not prepared at its home: it has been aborted")
            }
            Self::Ended => f.write_str("ENDED the transaction has committed here"),
            Self::Moving => f.write_str("TRYAGAIN the slot is moving to another master"),
            Self::NotMaster => f.write_str("NOTMASTER this server is a replica of the slot"),
            Self::Full => f.write_str(
                "RECORDSFULL the slot remembers as many committed transactions as it can; try later",
            ),
            Self::TooLarge { what, limit } => write!(f, "TOOLARGE {limit} are allowed: {what}"),
            Self::WrongType => f.write_str("WRONGTYPE the key holds a plain value of Redis: delete it first"),
            Self::OutOfMemory => f.write_str("OOM the server has no memory left for a write"),
            Self::NotPermitted => f.write_str("NOPERM the server does not permit this user to do that"),
            Self::Malformed(error) => write!(f, "ERR {error}"),
        }
    }
}

impl FromStr for Refused {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let mut number = || -> Result<u64, Malformed> {
            let word = words.next().ok_or(Malformed("a refusal that is cut short"))?;
            word.parse().map_err(|_| Malformed("not a number in a refusal"))
        };
        let slot = |number: u64| {
            let number = u16::try_from(number).ok();
            number.and_then(Slot::new).ok_or(Malformed("no such slot"))
        };
        Ok(match first {
            "LOCKED" => {
                let txn = words.next().unwrap_or_default().parse()?;
                let mut rest =
                    words.map(|word| word.parse().map_err(|_| Malformed("not a number in a refusal")));
                let mut next = || rest.next().unwrap_or(Err(Malformed("a refusal that is cut short")));
                Self::Locked(LockInfo { txn, home: slot(next()?)?, lease_left: Micros(next()?) })
            }
            "LOST" => Self::Lost {
                slot: slot(number()?)?,
                seen: Stamp::from_bits(number()?),
                incarnation: Incarnation::new(number()? as u16),
            },
            "FORGOTTEN" => Self::Forgotten { slot: slot(number()?)?, seen: Stamp::from_bits(number()?) },
            "FUTURE" => Self::Future { ahead: Micros(number()?), limit: Micros(number()?) },
            "NOTPREPARED" => Self::NotPrepared,
            "ENDED" => Self::Ended,
            "TRYAGAIN" => Self::Moving,
            "NOTMASTER" => Self::NotMaster,
            "RECORDSFULL" => Self::Full,
            "WRONGTYPE" => Self::WrongType,
            "OOM" => Self::OutOfMemory,
            "NOPERM" | "NOAUTH" | "WRONGPASS" => Self::NotPermitted,
            "TOOLARGE" => Self::TooLarge { what: "see the server's message", limit: number()? as usize },
            _ => return Err(Malformed("not a refusal of a shard")),
        })
    }
}
