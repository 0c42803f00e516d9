//! The check of a whole history.

use crate::history::event::{Event, Transaction};
use crate::history::replay::Model;
use scaledb_base::Timestamp;
use std::collections::HashMap;
use std::fmt;

/// What is wrong with a history.
#[derive(Debug)]
pub enum Violation {
    /// A transaction got an answer that no transaction gets at its place in the serial order.
    Answer {
        /// The transaction.
        transaction: Box<Transaction>,
        /// Which of its operations.
        event: usize,
        /// The answer at that place.
        expected: String,
        /// Those that touched the same key before, the latest last.
        writers: Vec<Transaction>,
    },
    /// A transaction ended before another began, and yet comes after it in the serial order.
    RealTime {
        /// The first in real time.
        first: Box<Transaction>,
        /// The second in real time.
        second: Box<Transaction>,
    },
    /// Two transactions that changed something have one timestamp.
    SameTimestamp(Box<Transaction>, Box<Transaction>),
    /// What no transaction can see is wrong: a transaction failed as none may, a thread panicked, or what
    /// was deleted was never cleaned up.
    Failure(String),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |t: &Transaction| {
            format!(
                "{:?} {}/{} at {:?} [{}..{}..{}]",
                t.kind, t.client, t.number, t.ts, t.begin, t.commit, t.end
            )
        };
        match self {
            Self::Answer { transaction, event, expected, writers } => {
                writeln!(
                    f,
                    "{}: operation {event} got another answer than its place in the order gives",
                    name(transaction)
                )?;
                writeln!(f, "  expected {expected}")?;
                writeln!(f, "  got      {:?}", transaction.events[*event])?;
                for (i, e) in transaction.events.iter().enumerate() {
                    writeln!(f, "    {i}: {e:?}")?;
                }
                for writer in writers {
                    writeln!(f, "  earlier {}", name(writer))?;
                    for e in &writer.events {
                        writeln!(f, "    {e:?}")?;
                    }
                }
                Ok(())
            }
            Self::RealTime { first, second } => {
                writeln!(f, "{}\n ended before\n{}\n began, but comes after it", name(first), name(second))?;
                for (t, e) in [(first, &first.events), (second, &second.events)] {
                    writeln!(f, "  {}: {e:?}", name(t))?;
                }
                Ok(())
            }
            Self::SameTimestamp(a, b) => {
                write!(f, "{} and {}:\n{:?}\n{:?}", name(a), name(b), a.events, b.events)
            }
            Self::Failure(what) => f.write_str(what),
        }
    }
}

/// Replays the transactions in the order of their timestamps on `model` and compares that order with real
/// time. `model` is then the final state. `unique`: no two that write may have one timestamp.
///
/// # Errors
/// The first violation.
pub fn check(
    transactions: &mut [Transaction],
    model: &mut Model,
    unique: bool,
) -> Result<(), Box<Violation>> {
    // a snapshot comes before the commits of its boundary; a read that needed no timestamp of its own
    // comes behind the writer whose timestamp it has
    transactions.sort_by_key(|t| (t.ts, !t.is_snapshot(), t.commit));
    let real_time = real_time(transactions);
    let mut last_writer: Option<usize> = None;
    for number in 0..transactions.len() {
        let transaction = &transactions[number];
        if let Err((event, expected)) = model.apply(&transaction.events) {
            return Err(Box::new(Violation::Answer {
                transaction: Box::new(transaction.clone()),
                event,
                expected,
                writers: writers(&transactions[..number], &transaction.events[event]),
            }));
        }
        if model.touched().next().is_some() {
            if unique
                && let Some(last) = last_writer
                && transactions[last].ts == transaction.ts
                && writes(&transactions[last])
                && writes(transaction)
            {
                let two = [last, number].map(|i| Box::new(transactions[i].clone()));
                let [a, b] = two;
                return Err(Box::new(Violation::SameTimestamp(a, b)));
            }
            last_writer = Some(number);
        }
    }
    real_time
}

/// Whether the transaction leaves a change behind for certain.
fn writes(transaction: &Transaction) -> bool {
    let simple = !transaction.events.iter().any(|e| matches!(e, Event::RollbackTo(_) | Event::Delete { .. }));
    simple && transaction.events.iter().any(|e| matches!(e, Event::Insert { done: true, .. }))
}

fn key_of(event: &Event) -> Option<(u8, i32)> {
    match *event {
        Event::Get { table, id, .. }
        | Event::Insert { table, id, .. }
        | Event::Update { table, id, .. }
        | Event::Delete { table, id, .. } => Some((table, id)),
        _ => None,
    }
}

fn writers(earlier: &[Transaction], event: &Event) -> Vec<Transaction> {
    let Some(key) = key_of(event) else { return Vec::new() };
    let writes = |e: &Event| !matches!(e, Event::Get { .. }) && key_of(e) == Some(key);
    let mut found: Vec<Transaction> =
        earlier.iter().rev().filter(|t| t.events.iter().any(writes)).take(3).cloned().collect();
    found.reverse();
    found
}

/// A ended before B began: then A comes before B. Exempt is B if it sees a snapshot that may be older, or
/// took the timestamp of the one commit that it read (zero if it depends on none).
fn real_time(by_ts: &[Transaction]) -> Result<(), Box<Violation>> {
    let mut count: HashMap<Timestamp, u32> = HashMap::new();
    for t in by_ts {
        *count.entry(t.ts).or_default() += 1;
    }
    let mut by_begin: Vec<&Transaction> = by_ts.iter().collect();
    by_begin.sort_by_key(|t| t.begin);
    let mut by_end: Vec<&Transaction> = by_ts.iter().collect();
    by_end.sort_by_key(|t| t.end);
    let mut ended = by_end.into_iter().peekable();
    let mut latest: Option<&Transaction> = None;
    for second in by_begin {
        while let Some(first) = ended.next_if(|t| t.end < second.begin) {
            if latest.is_none_or(|l| l.ts < first.ts) {
                latest = Some(first);
            }
        }
        let borrowed = (count[&second.ts] > 1 || second.ts == Timestamp::ZERO)
            && !second.scans()
            && !second.is_snapshot();
        if second.kind == scaledb_engine::TxnKind::Snapshot || borrowed {
            continue;
        }
        if let Some(first) = latest
            && (first.ts > second.ts
                || first.ts == second.ts && !first.is_snapshot() && !second.is_snapshot())
        {
            return Err(Box::new(Violation::RealTime {
                first: Box::new(first.clone()),
                second: Box::new(second.clone()),
            }));
        }
    }
    Ok(())
}
