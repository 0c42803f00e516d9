//! Aggregates, for arguments of certain types.

use scaledb_types::func::{Call, Interrupt};
use scaledb_types::ordered_set::{Hypothetical, OrderedSet};
use scaledb_types::{Env, Result, SqlError, Type, Value};
use std::sync::Arc;

/// What has accumulated of the rows of an aggregate, without the function.
pub use scaledb_types::Accumulator as Accumulated;

/// An aggregate function, for arguments of certain types.
#[derive(Clone, Debug)]
pub struct AggregateFn {
    aggregate: &'static scaledb_types::Aggregate,
    args: Arc<[Type]>,
    result: Type,
}

impl PartialEq for AggregateFn {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.aggregate, other.aggregate) && self.args == other.args
    }
}

/// Whether a name is that of an aggregate.
pub fn is_aggregate(name: &str) -> bool {
    scaledb_types::is_aggregate(name)
}

/// Whether a name is that of an aggregate which is asked where a row would stand WITHIN GROUP.
pub fn is_hypothetical(name: &str) -> bool {
    scaledb_types::hypothetical_aggregate(name).is_some()
}

impl AggregateFn {
    /// The aggregate of a name, and the types of its arguments.
    ///
    /// # Errors
    /// 42883.
    pub fn resolve(name: &str, args: &[Type]) -> Result<(Self, Vec<Type>)> {
        let resolved = scaledb_types::resolve_aggregate(name, args)?;
        let function = Self {
            aggregate: resolved.aggregate,
            args: resolved.args.as_slice().into(),
            result: resolved.result,
        };
        Ok((function, resolved.args))
    }

    /// The aggregate of a name that is asked where a row with these values would stand WITHIN GROUP.
    pub fn hypothetical(name: &str, args: &[Type]) -> Option<Self> {
        let (aggregate, result) = scaledb_types::hypothetical_aggregate(name)?;
        Some(Self { aggregate, args: args.into(), result })
    }

    /// 42883: there is none of these parameters, WITHIN GROUP or without.
    #[cold]
    pub fn missing(name: &str, args: &[Type]) -> SqlError {
        scaledb_types::func::missing_function(name, args)
    }

    pub fn name(&self) -> &'static str {
        self.aggregate.name()
    }

    pub fn result(&self) -> Type {
        self.result
    }

    /// Whether it is called with WITHIN GROUP.
    pub fn is_ordered_set(&self) -> bool {
        self.aggregate.is_ordered_set()
    }

    /// The place of a row that is asked for, if it is asked where a row would stand.
    pub fn start_hypothetical(&self) -> Option<Hypothetical> {
        self.aggregate.start_hypothetical()
    }

    /// Whether what has accumulated of parts of the rows merges to what accumulates of all of them.
    pub fn merges(&self) -> bool {
        self.aggregate.merges()
    }

    /// Whether it counts the values that are not NULL, and looks no closer at them.
    pub fn counts_values(&self) -> bool {
        self.aggregate.counts_values()
    }

    /// An ordered-set aggregate of so many values.
    ///
    /// # Errors
    /// What it refuses of the direct arguments.
    pub fn start_ordered(&self, direct: &[Value], count: u64) -> Result<OrderedSet> {
        self.aggregate.start_ordered(direct, count)
    }

    /// An aggregate without rows.
    pub fn start(&self) -> Accumulator {
        Accumulator { function: self.clone(), inner: self.begin() }
    }

    /// An aggregate without rows, by itself: where there are many of one function, that is kept beside them.
    pub fn begin(&self) -> Accumulated {
        self.aggregate.start()
    }

    /// Adds a row to an aggregate of this function; the memory that it took.
    ///
    /// # Errors
    /// What its functions refuse.
    pub fn add(&self, to: &mut Accumulated, env: &Env, args: &[Value]) -> Result<usize> {
        if self.aggregate.ignores_nulls() && args.iter().take(1).any(Value::is_null) {
            return Ok(0);
        }
        to.add(&self.call(env), args)?;
        Ok(if self.aggregate.keeps_values() { args.iter().map(scaledb_types::weight).sum() } else { 0 })
    }

    /// The result of an aggregate of this function.
    ///
    /// # Errors
    /// What its functions refuse.
    pub fn finish(&self, of: Accumulated, env: &Env) -> Result<Value> {
        of.finish(&self.call(env))
    }

    fn call<'e>(&'e self, env: &'e Env) -> Call<'e> {
        Call { env, args: &self.args, result: self.result, interrupt: Interrupt::never() }
    }
}

/// An aggregate at work.
#[derive(Clone, Debug)]
pub struct Accumulator {
    function: AggregateFn,
    inner: Accumulated,
}

impl Accumulator {
    /// Adds a row; the memory that it took.
    ///
    /// # Errors
    /// What its functions refuse.
    pub fn add(&mut self, env: &Env, args: &[Value]) -> Result<usize> {
        self.function.add(&mut self.inner, env, args)
    }

    /// Takes in what has accumulated of rows behind those of this one, of a function that merges.
    ///
    /// # Errors
    /// 22003.
    pub fn merge(&mut self, behind: &Self) -> Result<()> {
        self.inner.merge(&behind.inner)
    }

    /// The result.
    ///
    /// # Errors
    /// What its functions refuse.
    pub fn finish(self, env: &Env) -> Result<Value> {
        self.function.finish(self.inner, env)
    }
}
