//! Calls of functions that return rows.

use super::expr::Expr;
use crate::functions::SetFn;
use scaledb_types::Result;

/// A call of a function that returns rows.
#[derive(Clone, Debug)]
pub struct SetCall {
    pub function: SetFn,
    args: Vec<Expr>,
}

impl SetCall {
    pub fn new(function: SetFn, args: Vec<Expr>) -> Self {
        Self { function, args }
    }

    pub fn args(&self) -> &[Expr] {
        &self.args
    }

    /// Whether the two are the same call.
    pub fn same(&self, other: &Self) -> bool {
        self.function == other.function
            && self.args.len() == other.args.len()
            && self.args.iter().zip(&other.args).all(|(a, b)| a.same(b))
    }

    /// The call with other arguments.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn map_args(self, f: &mut dyn FnMut(Expr) -> Result<Expr>) -> Result<Self> {
        let args = self.args.into_iter().map(f).collect::<Result<_>>()?;
        Ok(Self { function: self.function, args })
    }

    /// Whether a call needs the engine's worker, whatever its arguments do.
    pub fn needs_worker(&self) -> bool {
        matches!(self.function, SetFn::Routine(_))
    }

    /// The name for EXPLAIN.
    pub fn name(&self) -> &str {
        match &self.function {
            SetFn::Series(..) => "generate_series",
            SetFn::Unnest => "unnest",
            SetFn::Split(name) | SetFn::Json(_, name) | SetFn::Records(_, name) | SetFn::Texts(name, _) => {
                name
            }
            SetFn::Path(false) => "jsonb_path_query",
            SetFn::Path(true) => "jsonb_path_query_tz",
            SetFn::Matches => "regexp_matches",
            SetFn::Subscripts => "generate_subscripts",
            SetFn::Expand => "_pg_expandarray",
            SetFn::Keywords => "pg_get_keywords",
            SetFn::Options => "pg_options_to_table",
            SetFn::One => "function",
            SetFn::Routine(desc) => &desc.name,
        }
    }
}
