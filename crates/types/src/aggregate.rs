//! Aggregates: accumulators with PostgreSQL's result types.
//!
//! DISTINCT, ORDER BY, WITHIN GROUP and FILTER are the executor's: it passes on what is to be counted, in that order.

mod accumulator;
mod pairs;

pub use accumulator::Accumulator;

use crate::error::{Result, SqlError};
use crate::func::{Function, Resolved, aggregate_signature, choose_aggregate};
use crate::ordered_set::{self, Hypothetical, OrderedSet, Rank};
use crate::ty::Type;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What an aggregate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    CountRows,
    Count,
    /// Integers whose sum is an int8.
    SumSmall,
    /// int8, whose sum is a numeric.
    SumInt,
    SumMoney,
    SumNumeric,
    SumFloat4,
    SumFloat8,
    SumInterval,
    AvgInt,
    AvgNumeric,
    AvgFloat,
    AvgInterval,
    Min,
    Max,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    /// Variance of numbers that become numeric: of a sample or of all, and whether its root is taken.
    Spread {
        sample: bool,
        root: bool,
    },
    /// The same for floats.
    SpreadFloat {
        sample: bool,
        root: bool,
    },
    /// How many pairs have no NULL.
    CountPairs,
    /// Of pairs of floats, `y` before `x`.
    Pairs(pairs::Asked),
    StringAgg,
    BytesAgg,
    ArrayAgg,
    JsonAgg,
    JsonbAgg,
    JsonObjectAgg,
    JsonbObjectAgg,
    /// Of values that come in order; its parameters are the direct arguments and the values.
    Ordered(ordered_set::Kind),
}

/// An aggregate function of certain parameters.
#[derive(Debug)]
pub struct Aggregate {
    signature: Function,
    kind: Kind,
}

impl Aggregate {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.signature.name
    }

    /// Whether rows whose arguments are NULL do not count, so that they need not be passed.
    pub fn ignores_nulls(&self) -> bool {
        !matches!(
            self.kind,
            Kind::CountRows
                | Kind::ArrayAgg
                | Kind::JsonAgg
                | Kind::JsonbAgg
                | Kind::JsonObjectAgg
                | Kind::JsonbObjectAgg
                | Kind::StringAgg
                | Kind::BytesAgg
        )
    }

    /// Whether what has accumulated of two parts of the rows, [merged](Accumulator::merge), is exactly what
    /// accumulates of all of them. Sums of floats depend on where one begins; what keeps its values gains nothing.
    pub fn merges(&self) -> bool {
        matches!(
            self.kind,
            Kind::CountRows
                | Kind::Count
                | Kind::SumSmall
                | Kind::SumInt
                | Kind::SumMoney
                | Kind::SumNumeric
                | Kind::SumInterval
                | Kind::AvgInt
                | Kind::AvgNumeric
                | Kind::AvgInterval
                | Kind::Min
                | Kind::Max
                | Kind::And
                | Kind::Or
                | Kind::BitAnd
                | Kind::BitOr
                | Kind::BitXor
                | Kind::Spread { .. }
        )
    }

    /// Whether it counts the values that are not NULL, and looks no closer at them.
    pub fn counts_values(&self) -> bool {
        self.kind == Kind::Count
    }

    /// Whether it keeps its arguments until its result is asked for.
    #[inline]
    pub fn keeps_values(&self) -> bool {
        matches!(
            self.kind,
            Kind::StringAgg
                | Kind::BytesAgg
                | Kind::ArrayAgg
                | Kind::JsonAgg
                | Kind::JsonbAgg
                | Kind::JsonObjectAgg
                | Kind::JsonbObjectAgg
        )
    }

    /// Whether MIN or MAX: the first or last value of an index answers it. True for MAX.
    pub fn extreme(&self) -> Option<bool> {
        match self.kind {
            Kind::Min => Some(false),
            Kind::Max => Some(true),
            _ => None,
        }
    }

    /// Whether it has an ORDER BY of its own, WITHIN GROUP.
    pub fn is_ordered_set(&self) -> bool {
        matches!(self.kind, Kind::Ordered(_))
    }

    /// The place of a row that is asked for, if the aggregate is one of those.
    pub fn start_hypothetical(&self) -> Option<Hypothetical> {
        match self.kind {
            Kind::Ordered(ordered_set::Kind::Hypothetical(rank)) => Some(Hypothetical::new(rank)),
            _ => None,
        }
    }

    /// Begins an ordered-set aggregate of so many values.
    ///
    /// # Errors
    ///
    /// What it refuses of the direct arguments.
    pub fn start_ordered(&self, direct: &[Value], count: u64) -> Result<OrderedSet> {
        match self.kind {
            Kind::Ordered(kind) => OrderedSet::new(kind, direct, count),
            _ => Err(SqlError::internal("an aggregate without WITHIN GROUP")),
        }
    }

    /// A new accumulator.
    pub fn start(&self) -> Accumulator {
        Accumulator::new(self.kind)
    }
}

/// An aggregate that was resolved.
#[derive(Clone, Debug)]
pub struct ResolvedAggregate {
    /// The aggregate.
    pub aggregate: &'static Aggregate,
    /// The type that each argument has to be cast to.
    pub args: Vec<Type>,
    /// The type of the result.
    pub result: Type,
}

static AGGREGATES: LazyLock<HashMap<&'static str, Vec<Aggregate>>> = LazyLock::new(|| {
    let mut found: HashMap<&'static str, Vec<Aggregate>> = HashMap::new();
    let mut add = |signature: &'static str, kind: Kind| {
        let Some(signature) = aggregate_signature(signature) else {
            unreachable!("the signature `{signature}` is one of ours, and a test reads them all")
        };
        found.entry(signature.name).or_default().push(Aggregate { signature, kind });
    };
    add("count() int8", Kind::CountRows);
    add("count(any) int8", Kind::Count);
    add("sum(int2) int8", Kind::SumSmall);
    add("sum(int4) int8", Kind::SumSmall);
    add("sum(int8) numeric", Kind::SumInt);
    add("sum(numeric) numeric", Kind::SumNumeric);
    add("sum(float4) float4", Kind::SumFloat4);
    add("sum(float8) float8", Kind::SumFloat8);
    add("sum(interval) interval", Kind::SumInterval);
    add("sum(money) money", Kind::SumMoney);
    add("avg(int2) numeric", Kind::AvgInt);
    add("avg(int4) numeric", Kind::AvgInt);
    add("avg(int8) numeric", Kind::AvgInt);
    add("avg(numeric) numeric", Kind::AvgNumeric);
    add("avg(float4) float8", Kind::AvgFloat);
    add("avg(float8) float8", Kind::AvgFloat);
    add("avg(interval) interval", Kind::AvgInterval);
    for (signature, kind) in [
        ("min(int2) int2", Kind::Min),
        ("max(int2) int2", Kind::Max),
        ("min(int4) int4", Kind::Min),
        ("max(int4) int4", Kind::Max),
        ("min(int8) int8", Kind::Min),
        ("max(int8) int8", Kind::Max),
        ("min(float4) float4", Kind::Min),
        ("max(float4) float4", Kind::Max),
        ("min(float8) float8", Kind::Min),
        ("max(float8) float8", Kind::Max),
        ("min(numeric) numeric", Kind::Min),
        ("max(numeric) numeric", Kind::Max),
        ("min(text) text", Kind::Min),
        ("max(text) text", Kind::Max),
        ("min(bpchar) bpchar", Kind::Min),
        ("max(bpchar) bpchar", Kind::Max),
        ("min(date) date", Kind::Min),
        ("max(date) date", Kind::Max),
        ("min(time) time", Kind::Min),
        ("max(time) time", Kind::Max),
        ("min(timetz) timetz", Kind::Min),
        ("max(timetz) timetz", Kind::Max),
        ("min(timestamp) timestamp", Kind::Min),
        ("max(timestamp) timestamp", Kind::Max),
        ("min(timestamptz) timestamptz", Kind::Min),
        ("max(timestamptz) timestamptz", Kind::Max),
        ("min(interval) interval", Kind::Min),
        ("max(interval) interval", Kind::Max),
        ("min(inet) inet", Kind::Min),
        ("max(inet) inet", Kind::Max),
        ("min(money) money", Kind::Min),
        ("max(money) money", Kind::Max),
        ("min(oid) oid", Kind::Min),
        ("max(oid) oid", Kind::Max),
        ("min(anyarray) anyarray", Kind::Min),
        ("max(anyarray) anyarray", Kind::Max),
        ("min(anyenum) anyenum", Kind::Min),
        ("max(anyenum) anyenum", Kind::Max),
        ("bool_and(bool) bool", Kind::And),
        ("every(bool) bool", Kind::And),
        ("bool_or(bool) bool", Kind::Or),
        ("bit_and(int2) int2", Kind::BitAnd),
        ("bit_and(int4) int4", Kind::BitAnd),
        ("bit_and(int8) int8", Kind::BitAnd),
        ("bit_or(int2) int2", Kind::BitOr),
        ("bit_or(int4) int4", Kind::BitOr),
        ("bit_or(int8) int8", Kind::BitOr),
        ("bit_xor(int2) int2", Kind::BitXor),
        ("bit_xor(int4) int4", Kind::BitXor),
        ("bit_xor(int8) int8", Kind::BitXor),
        ("bit_and(bit) bit", Kind::BitAnd),
        ("bit_or(bit) bit", Kind::BitOr),
        ("bit_xor(bit) bit", Kind::BitXor),
        ("string_agg(text,text) text", Kind::StringAgg),
        ("string_agg(bytea,bytea) bytea", Kind::BytesAgg),
        ("array_agg(anynonarray) anyarray", Kind::ArrayAgg),
        ("array_agg(anyarray) anyarray", Kind::ArrayAgg),
        ("json_agg(anyelement) json", Kind::JsonAgg),
        ("jsonb_agg(anyelement) jsonb", Kind::JsonbAgg),
        ("json_object_agg(any,any) json", Kind::JsonObjectAgg),
        ("jsonb_object_agg(any,any) jsonb", Kind::JsonbObjectAgg),
    ] {
        add(signature, kind);
    }
    for (signature, kind) in [
        ("percentile_cont(float8,float8) float8", ordered_set::Kind::Continuous),
        ("percentile_cont(float8,interval) interval", ordered_set::Kind::Continuous),
        ("percentile_cont(float8[],float8) float8[]", ordered_set::Kind::Continuous),
        ("percentile_cont(float8[],interval) interval[]", ordered_set::Kind::Continuous),
        ("percentile_disc(float8,anyelement) anyelement", ordered_set::Kind::Discrete),
        ("percentile_disc(float8[],anynonarray) anyarray", ordered_set::Kind::Discrete),
        ("mode(anyelement) anyelement", ordered_set::Kind::Mode),
    ] {
        add(signature, Kind::Ordered(kind));
    }
    add("regr_count(float8,float8) int8", Kind::CountPairs);
    for (signature, asked) in pairs::ALL {
        add(signature, Kind::Pairs(asked));
    }
    macro_rules! spread {
        ($($name:literal: $sample:literal, $root:literal;)*) => {
            $(let kind = Kind::Spread { sample: $sample, root: $root };
            add(concat!($name, "(int2) numeric"), kind);
            add(concat!($name, "(int4) numeric"), kind);
            add(concat!($name, "(int8) numeric"), kind);
            add(concat!($name, "(numeric) numeric"), kind);
            let kind = Kind::SpreadFloat { sample: $sample, root: $root };
            add(concat!($name, "(float4) float8"), kind);
            add(concat!($name, "(float8) float8"), kind);)*
        };
    }
    spread! {
        "variance": true, false;
        "var_samp": true, false;
        "var_pop": false, false;
        "stddev": true, true;
        "stddev_samp": true, true;
        "stddev_pop": false, true;
    }
    found
});

/// Those that are asked where a row would stand WITHIN GROUP. Without it they are window functions.
static HYPOTHETICAL: LazyLock<Vec<Aggregate>> = LazyLock::new(|| {
    let all = [
        ("rank() int8", Rank::Gaps),
        ("dense_rank() int8", Rank::Dense),
        ("percent_rank() float8", Rank::Percent),
        ("cume_dist() float8", Rank::Cumulative),
    ];
    let of = |(signature, rank)| {
        let kind = Kind::Ordered(ordered_set::Kind::Hypothetical(rank));
        aggregate_signature(signature).map(|signature| Aggregate { signature, kind })
    };
    all.into_iter().filter_map(of).collect()
});

/// The aggregate of a name that is asked where a row would stand WITHIN GROUP, and the type of its result. It takes as
/// many arguments as there are sort keys, each of the type of its key.
pub fn hypothetical_aggregate(name: &str) -> Option<(&'static Aggregate, Type)> {
    let found = HYPOTHETICAL.iter().find(|aggregate| aggregate.name() == name)?;
    let Kind::Ordered(ordered_set::Kind::Hypothetical(rank)) = found.kind else { return None };
    let result = match rank {
        Rank::Gaps | Rank::Dense => Type::INT8,
        Rank::Percent | Rank::Cumulative => Type::FLOAT8,
    };
    Some((found, result))
}

/// Whether there is an aggregate of a name.
pub fn is_aggregate(name: &str) -> bool {
    AGGREGATES.contains_key(name)
}

/// All aggregates' signatures: what `pg_proc` shows.
pub fn aggregate_signatures() -> impl Iterator<Item = &'static Function> {
    AGGREGATES.values().flatten().map(|aggregate| &aggregate.signature)
}

/// The aggregate of a name, for arguments of these types; `count(*)` has none.
///
/// # Errors
///
/// 42883 if there is none, 42725 if several fit equally well.
pub fn resolve_aggregate(name: &str, args: &[Type]) -> Result<ResolvedAggregate> {
    let all: &'static [Aggregate] = AGGREGATES.get(name).map_or(&[], Vec::as_slice);
    let Resolved { function, args, result } =
        choose_aggregate(name, all.iter().map(|aggregate| &aggregate.signature), args)?;
    let aggregate = all.iter().find(|aggregate| std::ptr::eq(&aggregate.signature, function));
    let aggregate = aggregate.ok_or_else(|| SqlError::internal("an aggregate without a signature"))?;
    // the least `char(n)` is a `char(n)`
    let result = match args.first() {
        Some(arg) if aggregate.extreme().is_some() && arg.same(result) => arg.of_result(),
        _ => result,
    };
    Ok(ResolvedAggregate { aggregate, args, result })
}
