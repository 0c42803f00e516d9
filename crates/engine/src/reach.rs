//! Which nodes answer for keys: what EXPLAIN says of an engine that divides rows over several.

use crate::worker::Range;

/// Which keys of a table or index are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys<'a> {
    /// Those of a range.
    In(Range<'a>),
    /// Those whose first so many columns have certain values, that are not known yet.
    Beginning(usize),
}

/// The partitions that may hold some keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// This one.
    One(u32),
    /// One of all, which the values of the key say.
    ByKey,
    /// All.
    All,
}

/// A partition, or some, at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The node's name.
    pub node: String,
    /// Whether it is the node that was asked.
    pub here: bool,
    /// How many partitions.
    pub partitions: u32,
}

/// Who answers for keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The partitions that may hold them.
    pub reached: Reached,
    /// Of how many.
    pub of: u32,
    /// Where they are read, the node that was asked first.
    pub reads: Vec<Site>,
    /// Where they are locked and written first: their primaries.
    pub primaries: Vec<Site>,
}
