//! The initial population.

use super::{Config, NAME_BYTES, TITLE_BYTES, Tables, item, review, trust, useracct};
use crate::load::{in_batches, in_parallel};
use crate::rng::Rng;
use crate::table::stamp;
use crate::zipf::{Scramble, Zipf};
use scaledb_base::Result;
use scaledb_engine::{Engine, Worker};
use scaledb_row::RowBuf;

/// Users or items of one unit of loading.
const PER_UNIT: u32 = 2_000;
/// The skew of OLTP-Bench's Zipf distributions, if it says no other.
const SKEW: f64 = 0.99;

enum Unit {
    Users(u32, u32),
    Items(u32, u32),
}

/// The distributions that the population is drawn from.
struct Draws {
    reviews: Zipf,
    reviewer: Zipf,
    comment: Zipf,
    description: Zipf,
    trust: Zipf,
    trusted: Scramble,
}

impl Tables {
    /// Fills them on `threads` workers. `now` is the current time in microseconds since 2000.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn load<E: Engine>(
        &self,
        engine: &E,
        config: Config,
        seed: u64,
        threads: usize,
        now: i64,
    ) -> Result<()> {
        let draws = Draws {
            reviews: Zipf::new(config.reviews(), 1.8),
            reviewer: Zipf::new(u64::from(config.users), SKEW),
            comment: Zipf::new(256 - 32, SKEW),
            description: Zipf::new(512, SKEW),
            trust: Zipf::new(config.trust(), 1.95),
            trusted: Scramble::new(u64::from(config.users)),
        };
        let units =
            |of: u32| (0..of).step_by(PER_UNIT as usize).map(move |from| (from, (from + PER_UNIT).min(of)));
        let users = units(config.users).map(|(from, to)| Unit::Users(from, to));
        let items = units(config.items()).map(|(from, to)| Unit::Items(from, to));
        let all: Vec<_> = users.chain(items).collect();
        in_parallel(
            engine,
            threads,
            seed,
            &all,
            |i, _| i,
            |worker, rng, unit| match *unit {
                Unit::Users(from, to) => {
                    self.load_users(worker, rng, from..to, now)?;
                    self.load_trust(worker, rng, from..to, config, &draws, now)
                }
                Unit::Items(from, to) => {
                    self.load_items(worker, rng, from..to, &draws, now)?;
                    self.load_reviews(worker, rng, from..to, config, &draws, now)
                }
            },
        )
    }

    fn load_users<W: Worker>(
        &self,
        worker: &mut W,
        rng: &mut Rng,
        users: std::ops::Range<u32>,
        now: i64,
    ) -> Result<()> {
        use useracct::*;
        let schema = self.useracct.schema();
        let mut buf = RowBuf::new(schema);
        in_batches(worker, rng, users, 1, |worker, rng, user| {
            let mut text = [0; NAME_BYTES];
            let mut row = buf.edit(schema);
            row.set_i32(U_ID, user as i32);
            stamp(&mut text, rng.bits());
            row.set_bytes(NAME, &text);
            rng.alphanumeric(&mut text);
            row.set_bytes(EMAIL, &text);
            row.set_i64(CREATION_DATE, now);
            worker.insert(self.useracct.id, &buf).map(drop)
        })
    }

    fn load_items<W: Worker>(
        &self,
        worker: &mut W,
        rng: &mut Rng,
        items: std::ops::Range<u32>,
        draws: &Draws,
        now: i64,
    ) -> Result<()> {
        use item::*;
        let schema = self.item.schema();
        let mut buf = RowBuf::new(schema);
        in_batches(worker, rng, items, 1, |worker, rng, number| {
            let (mut title, mut text) = ([0; TITLE_BYTES], [0; 512]);
            let mut row = buf.edit(schema);
            row.set_i32(I_ID, number as i32);
            stamp(&mut title, rng.bits());
            row.set_bytes(TITLE, &title);
            let text = &mut text[..draws.description.draw(rng) as usize];
            rng.alphanumeric(text);
            row.set_bytes(DESCRIPTION, text);
            row.set_i64(CREATION_DATE, now);
            worker.insert(self.item.id, &buf).map(drop)
        })
    }

    /// Some reviews of each item, by different users, of whom some review much.
    fn load_reviews<W: Worker>(
        &self,
        worker: &mut W,
        rng: &mut Rng,
        items: std::ops::Range<u32>,
        config: Config,
        draws: &Draws,
        now: i64,
    ) -> Result<()> {
        use review::*;
        let schema = self.review.schema();
        let mut buf = RowBuf::new(schema);
        // numbers begin anew with each loader in OLTP-Bench, too
        let mut number = 0;
        let mut reviewers = Vec::new();
        let mut pairs = Vec::new();
        for item in items {
            let count = (draws.reviews.draw(rng) + 1).min(u64::from(config.users)) as usize;
            choose(&mut reviewers, count, config.users, || draws.reviewer.draw(rng) as u32);
            pairs.extend(reviewers.iter().map(|&user| (item, user)));
        }
        in_batches(worker, rng, pairs, 1, |worker, rng, (item, user)| {
            let mut text = [0; 256];
            let mut row = buf.edit(schema);
            row.set_i32(A_ID, number);
            row.set_i32(U_ID, user as i32);
            row.set_i32(I_ID, item as i32);
            row.set_i32(RATING, rng.below(5) as i32);
            row.set_null(RANK);
            let text = &mut text[..32 + draws.comment.draw(rng) as usize];
            rng.alphanumeric(text);
            row.set_bytes(COMMENT, text);
            row.set_i64(CREATION_DATE, now);
            number += 1;
            worker.insert(self.review.id, &buf).map(drop)
        })
    }

    /// Whom each user trusts, or does not; those who are named often are not those who review much.
    fn load_trust<W: Worker>(
        &self,
        worker: &mut W,
        rng: &mut Rng,
        users: std::ops::Range<u32>,
        config: Config,
        draws: &Draws,
        now: i64,
    ) -> Result<()> {
        use trust::*;
        let schema = self.trust.schema();
        let mut buf = RowBuf::new(schema);
        let mut targets = Vec::new();
        let mut pairs = Vec::new();
        for user in users {
            let count = draws.trust.draw(rng).min(u64::from(config.users)) as usize;
            choose(&mut targets, count, config.users, || {
                draws.trusted.place(draws.reviewer.draw(rng)) as u32
            });
            pairs.extend(targets.iter().map(|&target| (user, target)));
        }
        in_batches(worker, rng, pairs, 1, |worker, rng, (source, target)| {
            let mut row = buf.edit(schema);
            row.set_i32(SOURCE_U_ID, source as i32);
            row.set_i32(TARGET_U_ID, target as i32);
            row.set_i32(TRUST, rng.below(2) as i32);
            row.set_i64(CREATION_DATE, now);
            worker.insert(self.trust.id, &buf).map(drop)
        })
    }
}

/// Different numbers of 0..of, by `draw`; where it keeps drawing the same ones, the next that is free.
fn choose(chosen: &mut Vec<u32>, count: usize, of: u32, mut draw: impl FnMut() -> u32) {
    let mut taken = std::collections::HashSet::with_capacity(count);
    chosen.clear();
    while chosen.len() < count {
        let mut number = draw() % of;
        while !taken.insert(number) {
            number = (number + 1) % of;
        }
        chosen.push(number);
    }
}
