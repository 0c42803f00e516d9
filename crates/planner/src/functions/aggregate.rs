//! Aggregates, for arguments of certain types.

use scaledb_types::func::{Call, Interrupt};
use scaledb_types::ordered_set::OrderedSet;
use scaledb_types::{Env, Result, SqlError, Type, Value};
use std::sync::Arc;

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

    /// Whether what has accumulated of parts of the rows merges to what accumulates of all of them.
    pub fn merges(&self) -> bool {
        self.aggregate.merges()
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
        Accumulator { function: self.clone(), inner: self.aggregate.start() }
    }
}

/// An aggregate at work.
#[derive(Clone, Debug)]
pub struct Accumulator {
    function: AggregateFn,
    inner: scaledb_types::Accumulator,
}

impl Accumulator {
    /// Adds a short numeric, if the function is a sum of these: see [`scaledb_types::Accumulator::add_short`].
    #[inline]
    pub fn add_short(&mut self, short: (i64, u16)) -> bool {
        self.inner.add_short(short)
    }

    /// Adds a row; the memory that it took.
    ///
    /// # Errors
    /// What its functions refuse.
    pub fn add(&mut self, env: &Env, args: &[Value]) -> Result<usize> {
        let function = &self.function;
        if function.aggregate.ignores_nulls() && args.iter().take(1).any(Value::is_null) {
            return Ok(0);
        }
        self.inner.add(
            &Call { env, args: &function.args, result: function.result, interrupt: Interrupt::never() },
            args,
        )?;
        Ok(if function.aggregate.keeps_values() { args.iter().map(scaledb_types::weight).sum() } else { 0 })
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
        let function = &self.function;
        self.inner.finish(&Call {
            env,
            args: &function.args,
            result: function.result,
            interrupt: Interrupt::never(),
        })
    }
}
