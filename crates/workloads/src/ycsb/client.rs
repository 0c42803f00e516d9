//! One thread's requests.

use super::{Config, Keys, UserTable, fill, key, value_of};
use crate::driver::{Abort, Client, Outcome, Transaction, Workload};
use crate::rng::Rng;
use crate::zipf::{Scramble, Zipf};
use scaledb_engine::{Order, Range, TxnKind, Worker};
use scaledb_row::{Projection, RowBuf, RowRef};
use scaledb_sync::Arc;
use std::ops::ControlFlow;

/// Keys between the intervals in which two threads insert.
const INTERVAL: u64 = 1 << 32;
/// The longest scan (YCSB's default).
const MAX_SCAN: u32 = 100;

/// YCSB on a loaded table.
#[derive(Clone, Debug)]
pub struct Ycsb {
    config: Config,
    table: UserTable,
    zipf: Arc<Zipf>,
    seed: u64,
}

impl Ycsb {
    /// The workload `config` on `table`, which holds `config.records` records.
    pub fn new(config: Config, table: UserTable, seed: u64) -> Self {
        let zipf = Arc::new(Zipf::new(config.records, config.theta));
        Self { config, table, zipf, seed }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

/// The class of transactions with several requests.
const MIXED: usize = 5;

impl Workload for Ycsb {
    type Client = Session;

    fn classes(&self) -> &'static [&'static str] {
        &["Read", "Update", "Insert", "Scan", "Read-Modify-Write", "Mixed"]
    }

    fn client(&self, number: usize, _: usize) -> Session {
        let fields = self.config.fields;
        Session {
            rng: Rng::new(self.seed, number as u64),
            zipf: self.zipf.clone(),
            scramble: Scramble::new(self.config.records),
            requests: Vec::with_capacity(self.config.requests),
            keys: Vec::with_capacity(self.config.requests),
            row: RowBuf::new(&self.table.info.schema),
            field: vec![0; self.config.field_bytes.max(8)],
            one: (0..fields).map(|field| self.table.project(Some(field))).collect(),
            all: self.table.project(None),
            first_insert: self.config.records + number as u64 * INTERVAL,
            done: Done::default(),
            pending: Done::default(),
            config: self.config.clone(),
            table: self.table.clone(),
        }
    }

    /// A single request takes well below a microsecond.
    fn latency_sample(&self) -> u64 {
        if self.config.requests == 1 { 16 } else { 1 }
    }
}

/// Writes that have committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Fields that 1 was added to.
    pub increments: u64,
    /// Records.
    pub inserts: u64,
}

/// One thread's client.
#[derive(Clone, Debug)]
pub struct Session {
    config: Config,
    table: UserTable,
    rng: Rng,
    zipf: Arc<Zipf>,
    scramble: Scramble,
    requests: Vec<(Request, u32)>,
    keys: Vec<[u8; 8]>,
    row: RowBuf,
    /// A field that is written.
    field: Vec<u8>,
    /// Each field.
    one: Vec<Projection>,
    /// All fields.
    all: Projection,
    first_insert: u64,
    done: Done,
    pending: Done,
}

impl Session {
    /// What it has written.
    pub fn done(&self) -> Done {
        self.done
    }

    #[inline]
    fn request(&mut self) -> Request {
        let Config { update, read_modify_write, insert, scan, .. } = self.config;
        let card = self.rng.below(100) as u32;
        let edges = [update, read_modify_write, insert, scan];
        let kinds = [Request::Update, Request::ReadModifyWrite, Request::Insert, Request::Scan];
        let mut edge = 0;
        for (share, kind) in edges.into_iter().zip(kinds) {
            edge += share;
            if card < edge {
                return kind;
            }
        }
        Request::Read
    }

    /// A record that exists: the latest are those that this thread has inserted last, then those loaded
    /// last.
    #[inline]
    fn existing(&mut self) -> u64 {
        let rank = self.zipf.draw(&mut self.rng);
        match self.config.keys {
            Keys::Scrambled => self.scramble.place(rank),
            Keys::Latest if rank < self.done.inserts => self.first_insert + self.done.inserts - 1 - rank,
            Keys::Latest => self.config.records - 1 - (rank - self.done.inserts),
        }
    }

    fn read<W: Worker>(&self, worker: &mut W, i: usize) -> Outcome {
        let fields = self.config.fields;
        whole(worker.get(self.table.id, &self.keys[i], &self.all, |_, row| is_whole(row, fields))?)
    }

    fn write<W: Worker>(&mut self, worker: &mut W, i: usize, field: usize, value: Option<u64>) -> Outcome {
        let column = 1 + field;
        let image = &mut self.field;
        let written = worker.update(self.table.id, &self.keys[i], &self.one[field], |row| {
            let value = value.or_else(|| value_of(row.view().bytes(column)).map(|v| v.wrapping_add(1)));
            if let Some(value) = value {
                fill(image, value);
                row.set_bytes(column, image);
            }
            Ok(value.is_some())
        })?;
        whole(written)
    }

    fn scan<W: Worker>(&self, worker: &mut W, i: usize, length: u32) -> Outcome {
        let (mut left, mut all_whole) = (length, true);
        let range = Range { start: &self.keys[i], end: None };
        worker.scan(self.table.id, range, Order::Forward, &self.all, |_, _, row| {
            all_whole &= is_whole(row, self.config.fields);
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        whole(Some(all_whole))
    }
}

/// What a request came to that found a record, or none, and its fields whole, or torn.
#[inline]
fn whole(found: Option<bool>) -> Outcome {
    match found {
        Some(true) => Ok(()),
        Some(false) => Err(Abort::Inconsistent("a field is torn")),
        None => Err(Abort::Inconsistent("a record is missing")),
    }
}

#[inline]
fn is_whole(row: RowRef<'_>, fields: usize) -> bool {
    (1..=fields).all(|column| {
        let field = row.bytes(column);
        value_of(field).is_some()
    })
}

impl Client for Session {
    #[inline]
    fn prepare(&mut self, _: i64) -> Transaction {
        self.pending = Done::default();
        self.requests.clear();
        self.keys.clear();
        let mut writes = false;
        for _ in 0..self.config.requests {
            let request = self.request();
            let record = match request {
                Request::Insert => {
                    self.pending.inserts += 1;
                    self.first_insert + self.done.inserts + self.pending.inserts - 1
                }
                _ => self.existing(),
            };
            let number = match request {
                Request::Scan => self.rng.within(1, MAX_SCAN),
                Request::Update | Request::ReadModifyWrite => {
                    self.rng.below(self.config.fields as u64) as u32
                }
                Request::Read | Request::Insert => 0,
            };
            self.pending.increments += u64::from(request == Request::ReadModifyWrite);
            writes |= !matches!(request, Request::Read | Request::Scan);
            self.requests.push((request, number));
            self.keys.push(key(record));
        }
        let kind = match (writes, self.config.snapshot_reads) {
            (true, _) => TxnKind::ReadWrite,
            (false, true) => TxnKind::Snapshot,
            (false, false) => TxnKind::ReadOnly,
        };
        let class = if self.requests.len() == 1 { self.requests[0].0 as usize } else { MIXED };
        Transaction { class, kind }
    }

    #[inline]
    fn execute<W: Worker>(&mut self, worker: &mut W) -> Outcome {
        if self.keys.len() > 1 {
            worker.prefetch(self.keys.iter().map(|key| (self.table.id, &key[..], &self.all)));
        }
        let mut inserted = 0;
        for i in 0..self.requests.len() {
            let (request, number) = self.requests[i];
            match request {
                Request::Read => self.read(worker, i)?,
                Request::Update => {
                    let value = self.rng.bits();
                    self.write(worker, i, number as usize, Some(value))?;
                }
                Request::ReadModifyWrite => self.write(worker, i, number as usize, None)?,
                Request::Scan => self.scan(worker, i, number)?,
                Request::Insert => {
                    let record = self.first_insert + self.done.inserts + inserted;
                    self.row.edit(&self.table.info.schema).set_i64(0, record as i64);
                    worker.insert(self.table.id, &self.row)?;
                    inserted += 1;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn committed(&mut self) {
        self.done.increments += self.pending.increments;
        self.done.inserts += self.pending.inserts;
    }
}
