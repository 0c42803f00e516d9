//! Calls of window functions, and the frames that they look at.

use super::expr::Expr;
use super::{Slot, SortKey};
use crate::functions::{AggregateFn, ScalarFn};

/// The call of a function over a window.
#[derive(Clone, Debug)]
pub struct Window {
    pub function: WindowFn,
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub frame: Frame,
    pub slot: Slot,
}

/// What is computed over a window.
#[derive(Clone, Debug)]
pub enum WindowFn {
    /// A function that is called over windows only, and its arguments.
    Own(OwnFn, Vec<Expr>),
    /// An aggregate of the rows of the frame that fit its FILTER.
    Aggregate(AggregateFn, Vec<Expr>, Option<Expr>),
}

/// The functions that are called over windows only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFn {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

impl OwnFn {
    const ALL: [(&'static str, Self); 11] = [
        ("row_number", Self::RowNumber),
        ("rank", Self::Rank),
        ("dense_rank", Self::DenseRank),
        ("percent_rank", Self::PercentRank),
        ("cume_dist", Self::CumeDist),
        ("ntile", Self::Ntile),
        ("lag", Self::Lag),
        ("lead", Self::Lead),
        ("first_value", Self::FirstValue),
        ("last_value", Self::LastValue),
        ("nth_value", Self::NthValue),
    ];

    /// The function of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, function)| *function == self).map_or("", |(name, _)| name)
    }
}

/// The rows around the current one that a function looks at.
#[derive(Clone, Debug)]
pub struct Frame {
    pub units: Units,
    pub start: Edge,
    pub end: Edge,
    pub exclude: Exclude,
}

impl Frame {
    /// That of a window that says nothing: up to the current row and its peers.
    pub const DEFAULT: Self = Self {
        units: Units::Range(None),
        start: Edge::Unbounded,
        end: Edge::Current,
        exclude: Exclude::Nothing,
    };

    /// Whether it grows by the peers of the current row, and never loses one.
    pub fn is_default(&self) -> bool {
        matches!(
            self,
            Self {
                units: Units::Range(_) | Units::Groups,
                start: Edge::Unbounded,
                end: Edge::Current,
                exclude: Exclude::Nothing
            }
        )
    }

    /// Whether it is the same frame.
    pub fn same(&self, other: &Self) -> bool {
        use std::mem::discriminant as kind;
        kind(&self.units) == kind(&other.units)
            && self.exclude == other.exclude
            && kind(&self.start) == kind(&other.start)
            && kind(&self.end) == kind(&other.end)
            && self.offsets().zip(other.offsets()).all(|(a, b)| a.same(b))
    }

    /// How far it reaches, as far as that is computed.
    fn offsets(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().filter_map(|edge| edge.offset())
    }
}

/// What the distance of an edge counts.
#[derive(Clone, Debug)]
pub enum Units {
    Rows,
    /// Values of the one key of the order, if an edge has a distance.
    Range(Option<Reach>),
    Groups,
}

/// How a distance is added to a key.
#[derive(Clone, Debug)]
pub enum Reach {
    /// Integers, whose sum may be larger than their type.
    Integer,
    Float,
    /// Times of a day, whose sum may be another day.
    Time,
    /// By the operators `+` and `-`, and whether keys are dates that become timestamps first.
    Operators {
        plus: ScalarFn,
        minus: ScalarFn,
        dates: bool,
    },
}

/// Where a frame starts or ends.
#[derive(Clone, Debug)]
pub enum Edge {
    /// With the partition.
    Unbounded,
    Current,
    Preceding(Expr),
    Following(Expr),
}

impl Edge {
    /// Its distance from the current row.
    pub fn offset(&self) -> Option<&Expr> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            Self::Unbounded | Self::Current => None,
        }
    }
}

/// Rows of a frame that do not belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclude {
    Nothing,
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// Its peers.
    Ties,
}

impl Window {
    /// What it computes for each row besides the keys, and what its frame is computed from.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.function.exprs().chain(self.frame.offsets())
    }

    /// Whether it is the same call over the same window.
    pub fn same(&self, other: &Self) -> bool {
        self.sorts_as(other) && self.function.same(&other.function) && self.frame.same(&other.frame)
    }

    /// Whether it takes rows in the order in which another one does.
    pub fn sorts_as(&self, other: &Self) -> bool {
        let same = |a: &SortKey, b: &SortKey| {
            a.descending == b.descending && a.nulls_first == b.nulls_first && a.expr.same(&b.expr)
        };
        self.partition.len() == other.partition.len()
            && self.order.len() == other.order.len()
            && self.partition.iter().zip(&other.partition).all(|(a, b)| a.same(b))
            && self.order.iter().zip(&other.order).all(|(a, b)| same(a, b))
    }

    /// Whether rows go by one after the other: no value needs more of the partition than the rows up to the current one
    /// and its peers.
    pub fn passes(&self) -> bool {
        match &self.function {
            WindowFn::Own(function, _) => {
                matches!(function, OwnFn::RowNumber | OwnFn::Rank | OwnFn::DenseRank)
            }
            WindowFn::Aggregate(..) => self.frame.is_default(),
        }
    }
}

impl WindowFn {
    /// Its arguments.
    pub fn args(&self) -> &[Expr] {
        match self {
            Self::Own(_, args) | Self::Aggregate(_, args, _) => args,
        }
    }

    fn same(&self, other: &Self) -> bool {
        let functions = match (self, other) {
            (Self::Own(a, _), Self::Own(b, _)) => a == b,
            (Self::Aggregate(a, _, x), Self::Aggregate(b, _, y)) => a == b && x.is_some() == y.is_some(),
            _ => false,
        };
        functions
            && self.args().len() == other.args().len()
            && self.exprs().zip(other.exprs()).all(|(a, b)| a.same(b))
    }

    /// What it computes for each row.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let filter = match self {
            Self::Own(..) => None,
            Self::Aggregate(_, _, filter) => filter.as_ref(),
        };
        self.args().iter().chain(filter)
    }

    /// The same, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let (args, filter) = match self {
            Self::Own(_, args) => (args.as_mut_slice(), None),
            Self::Aggregate(_, args, filter) => (args.as_mut_slice(), filter.as_mut()),
        };
        args.iter_mut().chain(filter)
    }
}
