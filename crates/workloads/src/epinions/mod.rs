//! Epinions, as OLTP-Bench has it (Difallah et al., VLDB 2013): users review items and trust each other; nine short
//! transactions, of which half write.
//!
//! Schema, population and mix are OLTP-Bench's. Reviews and trust have no primary key there, and none here: they are
//! found by secondary indexes. A scale factor of OLTP-Bench is 2,000 users; text that is written later can be seen to
//! be whole, so that the check finds a torn row.

mod check;
pub mod client;
mod load;

pub use check::{Counts, check};
pub use client::{Epinions, Reader};

use crate::table::{WorkloadTable, create};
use scaledb_base::Result;
use scaledb_engine::{Access, Engine};
use scaledb_row::Column;
use scaledb_row::ColumnType::{Fixed, Int4, Text, Timestamp};
use serde::{Deserialize, Serialize};

/// The workload's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Users: 2,000 times OLTP-Bench's scale factor.
    pub users: u32,
}

impl Default for Config {
    /// The size that ScaleDB's paper measured (table 1).
    fn default() -> Self {
        Self { users: 200_000 }
    }
}

impl Config {
    /// Items.
    pub fn items(self) -> u32 {
        (self.users / 2).max(1)
    }

    /// The most reviews of an item.
    fn reviews(self) -> u64 {
        u64::from(self.users / 4).max(1)
    }

    /// One more than the most users that one trusts.
    fn trust(self) -> u64 {
        u64::from(self.users / 10).max(2)
    }
}

/// Columns of `useracct`.
pub mod useracct {
    #![allow(missing_docs)]
    pub const U_ID: usize = 0;
    pub const NAME: usize = 1;
    pub const EMAIL: usize = 2;
    pub const CREATION_DATE: usize = 3;
}

/// Columns of `item`.
pub mod item {
    #![allow(missing_docs)]
    pub const I_ID: usize = 0;
    pub const TITLE: usize = 1;
    pub const DESCRIPTION: usize = 2;
    pub const CREATION_DATE: usize = 3;
}

/// Columns of `review`.
pub mod review {
    #![allow(missing_docs)]
    pub const A_ID: usize = 0;
    pub const U_ID: usize = 1;
    pub const I_ID: usize = 2;
    pub const RATING: usize = 3;
    pub const RANK: usize = 4;
    pub const COMMENT: usize = 5;
    pub const CREATION_DATE: usize = 6;
}

/// Columns of `trust`.
pub mod trust {
    #![allow(missing_docs)]
    pub const SOURCE_U_ID: usize = 0;
    pub const TARGET_U_ID: usize = 1;
    pub const TRUST: usize = 2;
    pub const CREATION_DATE: usize = 3;
}

/// Bytes of a user's name.
pub(crate) const NAME_BYTES: usize = 24;
/// Bytes of an item's title.
pub(crate) const TITLE_BYTES: usize = 128;

/// The tables and their indexes. `review_rating`, which no transaction touches, is there, too.
#[derive(Clone, Debug)]
pub struct Tables {
    /// `useracct`.
    pub useracct: WorkloadTable,
    /// `item`.
    pub item: WorkloadTable,
    /// `review`.
    pub review: WorkloadTable,
    /// The index of reviews on their number.
    pub review_by_id: WorkloadTable,
    /// The index of reviews on the user.
    pub review_by_user: WorkloadTable,
    /// The index of reviews on the item.
    pub review_by_item: WorkloadTable,
    /// `trust`.
    pub trust: WorkloadTable,
    /// The index of trust on the one who trusts.
    pub trust_by_source: WorkloadTable,
    /// The index of trust on the one who is trusted.
    pub trust_by_target: WorkloadTable,
}

impl Tables {
    /// Creates them.
    ///
    /// # Errors
    /// Those of [`Engine::create_table`].
    pub fn create<E: Engine>(engine: &E, synchronous: bool) -> Result<Self> {
        let int = |name: &str| Column::new(name, Int4);
        let null_int = |name: &str| Column::new(name, Int4).nullable();
        let date = |name: &str| Column::new(name, Timestamp).nullable();
        let user = vec![
            int("u_id"),
            Column::new("name", Fixed(NAME_BYTES as u16)),
            Column::new("email", Fixed(NAME_BYTES as u16)),
            date("creation_date"),
        ];
        let item = vec![
            int("i_id"),
            Column::new("title", Fixed(TITLE_BYTES as u16)),
            Column::new("description", Text(512)).nullable(),
            date("creation_date"),
        ];
        let reviews = vec![
            int("a_id"),
            int("u_id"),
            int("i_id"),
            null_int("rating"),
            null_int("rank"),
            Column::new("comment", Text(256)).nullable(),
            date("creation_date"),
        ];
        let ratings = vec![
            int("u_id"),
            int("a_id"),
            int("rating"),
            int("status"),
            date("creation_date"),
            date("last_mod_date"),
            null_int("type"),
            null_int("vertical_id"),
        ];
        let trusts = vec![int("source_u_id"), int("target_u_id"), int("trust"), date("creation_date")];
        let review_indexes: [(&str, &[usize], bool); 3] = [
            ("review_by_id", &[review::A_ID], false),
            ("review_by_user", &[review::U_ID], false),
            ("review_by_item", &[review::I_ID], false),
        ];
        let trust_indexes: [(&str, &[usize], bool); 2] = [
            ("trust_by_source", &[trust::SOURCE_U_ID], false),
            ("trust_by_target", &[trust::TARGET_U_ID], false),
        ];
        let rating_indexes: [(&str, &[usize], bool); 2] =
            [("review_rating_by_user", &[0], false), ("review_rating_by_review", &[1], false)];
        let (probed, scanned) = (Access::Hashed, Access::Ordered);
        create(engine, "review_rating", ratings, &[], scanned, &rating_indexes, synchronous)?;
        let review = create(engine, "review", reviews, &[], scanned, &review_indexes, synchronous)?;
        let trust = create(engine, "trust", trusts, &[], scanned, &trust_indexes, synchronous)?;
        Ok(Self {
            useracct: create(engine, "useracct", user, &[0], probed, &[], synchronous)?,
            item: create(engine, "item", item, &[0], probed, &[], synchronous)?,
            review_by_id: review.index(0),
            review_by_user: review.index(1),
            review_by_item: review.index(2),
            review,
            trust_by_source: trust.index(0),
            trust_by_target: trust.index(1),
            trust,
        })
    }
}

/// The encoded key of a user or an item, and what the keys of an index on it begin with.
#[inline]
pub(crate) fn key(number: u32) -> [u8; 4] {
    (number ^ 1 << 31).to_be_bytes()
}
