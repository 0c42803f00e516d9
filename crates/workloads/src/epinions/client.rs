//! One thread's transactions.

use super::{Config, NAME_BYTES, TITLE_BYTES, Tables, item, key, review, trust, useracct};
use crate::driver::{Abort, Client, Outcome, Transaction, Workload};
use crate::rng::Rng;
use crate::table::{WorkloadTable, stamp};
use scaledb_engine::{Order, Range, RowId, TxnKind, Worker};
use scaledb_row::{Projection, RowRef};
use scaledb_sync::Arc;
use std::ops::ControlFlow;

/// Epinions on loaded tables.
#[derive(Clone, Debug)]
pub struct Epinions {
    /// The parameters.
    pub config: Config,
    /// The tables.
    pub tables: Arc<Tables>,
    /// Where the random numbers start.
    pub seed: u64,
    /// Transactions that only read see a recent snapshot instead of the current state.
    pub snapshot_reads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    GetReviewItemById,
    GetReviewsByUser,
    GetAverageRatingByTrustedUser,
    GetItemAverageRating,
    GetItemReviewsByTrustedUser,
    UpdateUserName,
    UpdateItemTitle,
    UpdateReviewRating,
    UpdateTrustRating,
}

use Class::*;

/// The transactions, and how many of 100 each makes.
const SHARES: [(Class, u32); 9] = [
    (GetReviewItemById, 10),
    (GetReviewsByUser, 10),
    (GetAverageRatingByTrustedUser, 10),
    (GetItemAverageRating, 10),
    (GetItemReviewsByTrustedUser, 10),
    (UpdateUserName, 10),
    (UpdateItemTitle, 10),
    (UpdateReviewRating, 10),
    (UpdateTrustRating, 20),
];

/// Reviews that a page shows.
const SHOWN: usize = 10;
/// One more than the best rating that is given later.
pub(super) const RATINGS: u64 = 1_000;

impl Workload for Epinions {
    type Client = Reader;

    fn classes(&self) -> &'static [&'static str] {
        &[
            "Get-Review-Item",
            "Get-Reviews-By-User",
            "Get-Average-Trusted",
            "Get-Average",
            "Get-Reviews-Trusted",
            "Update-User-Name",
            "Update-Item-Title",
            "Update-Review-Rating",
            "Update-Trust-Rating",
        ]
    }

    fn client(&self, number: usize, _: usize) -> Reader {
        let t = &*self.tables;
        Reader {
            config: self.config,
            rng: Rng::new(self.seed, number as u64),
            reads: if self.snapshot_reads { TxnKind::Snapshot } else { TxnKind::ReadOnly },
            class: GetReviewItemById,
            item: 0,
            user: 0,
            other: 0,
            value: 0,
            text: [0; TITLE_BYTES],
            reviews: Vec::with_capacity(64),
            users: Vec::with_capacity(64),
            rows: Vec::with_capacity(4),
            average: None,
            columns: Columns {
                user: t.useracct.project(&[useracct::NAME, useracct::EMAIL, useracct::CREATION_DATE]),
                name: t.useracct.project(&[useracct::NAME]),
                item: t.item.project(&[item::TITLE, item::DESCRIPTION, item::CREATION_DATE]),
                title: t.item.project(&[item::TITLE]),
                review: Projection::all(t.review.schema()),
                rated: t.review.project(&[review::U_ID, review::RATING]),
                reviewer: t.review.project(&[review::U_ID]),
                rating: t.review.project(&[review::RATING]),
                trusts: Projection::all(t.trust.schema()),
                target: t.trust.project(&[trust::TARGET_U_ID]),
                trust: t.trust.project(&[trust::TRUST]),
            },
            tables: self.tables.clone(),
        }
    }

    fn latency_sample(&self) -> u64 {
        4
    }
}

/// What transactions read and write of the tables.
#[derive(Clone, Debug)]
struct Columns {
    user: Projection,
    name: Projection,
    item: Projection,
    title: Projection,
    review: Projection,
    rated: Projection,
    reviewer: Projection,
    rating: Projection,
    trusts: Projection,
    target: Projection,
    trust: Projection,
}

/// A review as a page sorts it: rating and date.
type Review = (i32, i64);

/// One thread's client.
#[derive(Clone, Debug)]
pub struct Reader {
    config: Config,
    tables: Arc<Tables>,
    rng: Rng,
    reads: TxnKind,
    class: Class,
    item: u32,
    user: u32,
    other: u32,
    value: u64,
    text: [u8; TITLE_BYTES],
    /// What transactions find, in memory that is used again.
    reviews: Vec<Review>,
    users: Vec<i32>,
    rows: Vec<RowId>,
    average: Option<f64>,
    columns: Columns,
}

/// Hands the rows that an index has for a number to `f`.
#[inline]
fn each<W: Worker>(
    worker: &mut W,
    index: &WorkloadTable,
    number: u32,
    columns: &Projection,
    mut f: impl FnMut(RowId, RowRef<'_>),
) -> Outcome {
    let (from, to) = (key(number), key(number + 1));
    worker.scan(index.id, Range::new(&from, &to), Order::Forward, columns, |id, _, row| {
        f(id, row);
        ControlFlow::Continue(())
    })?;
    Ok(())
}

fn rating_of(row: RowRef<'_>) -> i32 {
    // NULL sorts as the largest
    if row.is_null(review::RATING) { i32::MAX } else { row.i32(review::RATING) }
}

impl Reader {
    /// The last average that was asked for; `None` if there was nothing to average.
    pub fn average(&self) -> Option<f64> {
        self.average
    }

    /// The reviews that an index has for a number, as pages sort them.
    fn page<W: Worker>(&mut self, worker: &mut W, index: &WorkloadTable, number: u32) -> Outcome {
        let found = &mut self.reviews;
        found.clear();
        each(worker, index, number, &self.columns.review, |_, row| {
            found.push((rating_of(row), row.i64(review::CREATION_DATE)));
        })?;
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(SHOWN);
        Ok(())
    }

    /// The average rating of the item, by those in `self.users` alone if `trusted`.
    fn average_rating<W: Worker>(&mut self, worker: &mut W, t: &Tables, trusted: bool) -> Outcome {
        let (mut sum, mut count) = (0i64, 0u32);
        let users = &self.users;
        each(worker, &t.review_by_item, self.item, &self.columns.rated, |_, row| {
            if !row.is_null(review::RATING) && (!trusted || users.contains(&row.i32(review::U_ID))) {
                sum += i64::from(row.i32(review::RATING));
                count += 1;
            }
        })?;
        self.average = (count > 0).then(|| sum as f64 / f64::from(count));
        Ok(())
    }

    fn run<W: Worker>(&mut self, worker: &mut W, t: &Tables) -> Outcome {
        let columns = &self.columns;
        match self.class {
            GetReviewItemById => {
                let found = worker.get(t.item.id, &key(self.item), &columns.item, |_, row| {
                    (row.bytes(item::TITLE).len(), row.text(item::DESCRIPTION).len())
                })?;
                found.ok_or(Abort::Inconsistent("an item is missing"))?;
                self.page(worker, &t.review_by_item, self.item)?;
            }
            GetReviewsByUser => {
                let found = worker.get(t.useracct.id, &key(self.user), &columns.user, |_, row| {
                    (row.bytes(useracct::NAME).len(), row.bytes(useracct::EMAIL).len())
                })?;
                found.ok_or(Abort::Inconsistent("a user is missing"))?;
                self.page(worker, &t.review_by_user, self.user)?;
            }
            GetAverageRatingByTrustedUser => {
                let users = &mut self.users;
                users.clear();
                each(worker, &t.trust_by_source, self.user, &columns.target, |_, row| {
                    users.push(row.i32(trust::TARGET_U_ID));
                })?;
                self.average_rating(worker, t, true)?;
            }
            GetItemAverageRating => self.average_rating(worker, t, false)?,
            GetItemReviewsByTrustedUser => {
                let (reviews, users) = (&mut self.reviews, &mut self.users);
                reviews.clear();
                users.clear();
                each(worker, &t.review_by_item, self.item, &columns.review, |_, row| {
                    reviews.push((rating_of(row), row.i64(review::CREATION_DATE)));
                })?;
                reviews.sort_unstable_by_key(|&(_, created)| std::cmp::Reverse(created));
                each(worker, &t.trust_by_source, self.user, &columns.trusts, |_, row| {
                    users.push(row.i32(trust::TARGET_U_ID));
                })?;
            }
            UpdateUserName => {
                let name = &self.text[..NAME_BYTES];
                let changed = worker.update(t.useracct.id, &key(self.user), &columns.name, |row| {
                    row.set_bytes(useracct::NAME, name);
                    Ok(())
                })?;
                changed.ok_or(Abort::Inconsistent("a user is missing"))?;
            }
            UpdateItemTitle => {
                let title = &self.text;
                let changed = worker.update(t.item.id, &key(self.item), &columns.title, |row| {
                    row.set_bytes(item::TITLE, title);
                    Ok(())
                })?;
                changed.ok_or(Abort::Inconsistent("an item is missing"))?;
            }
            UpdateReviewRating => {
                let (rows, user) = (&mut self.rows, self.user as i32);
                rows.clear();
                each(worker, &t.review_by_item, self.item, &columns.reviewer, |id, row| {
                    if row.i32(review::U_ID) == user {
                        rows.push(id);
                    }
                })?;
                let rating = self.value as i32;
                for &row in &*rows {
                    worker.update_at(t.review.id, row, &columns.rating, |row| {
                        row.set_i32(review::RATING, rating);
                        Ok(())
                    })?;
                }
            }
            UpdateTrustRating => {
                let (rows, other) = (&mut self.rows, self.other as i32);
                rows.clear();
                each(worker, &t.trust_by_source, self.user, &columns.target, |id, row| {
                    if row.i32(trust::TARGET_U_ID) == other {
                        rows.push(id);
                    }
                })?;
                let trusts = self.value as i32;
                for &row in &*rows {
                    worker.update_at(t.trust.id, row, &columns.trust, |row| {
                        row.set_i32(trust::TRUST, trusts);
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl Client for Reader {
    #[inline]
    fn prepare(&mut self, _: i64) -> Transaction {
        let mut card = self.rng.below(100) as u32;
        self.class = UpdateTrustRating;
        for (class, share) in SHARES {
            if card < share {
                self.class = class;
                break;
            }
            card -= share;
        }
        self.item = self.rng.below(u64::from(self.config.items())) as u32;
        self.user = self.rng.below(u64::from(self.config.users)) as u32;
        self.other = self.rng.below(u64::from(self.config.users)) as u32;
        match self.class {
            UpdateUserName | UpdateItemTitle => stamp(&mut self.text, self.rng.bits()),
            UpdateReviewRating => self.value = self.rng.below(RATINGS),
            UpdateTrustRating => self.value = self.rng.below(2),
            _ => return Transaction { class: self.class as usize, kind: self.reads },
        }
        Transaction { class: self.class as usize, kind: TxnKind::ReadWrite }
    }

    fn execute<W: Worker>(&mut self, worker: &mut W) -> Outcome {
        let tables = self.tables.clone();
        self.run(worker, &tables)
    }
}
