//! What domains demand of values that come from elsewhere than a statement's expressions: a routine's variables.

use super::SessionState;
use crate::compiled::{Action, Held};
use crate::session::compile::compiled;
use scaledb_engine::Engine;
use scaledb_planner::bind::{Binder, Bound, Output, Typed};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Kind, Node};
use scaledb_types::{Context, Env, Result, Type};
use std::sync::Arc;

/// Domains that a session keeps; all are dropped when there are more.
const MAX_DOMAINS: usize = 1_000;

impl<E: Engine> SessionState<E> {
    /// The plan that makes its only parameter, a value of the base type, one of a domain.
    ///
    /// # Errors
    /// What is wrong with the conditions.
    pub(in crate::session) fn domain(&self, env: &Env, ty: Type) -> Result<Held> {
        if let Some(known) = self.domains.borrow().get(&ty) {
            return Ok(known.clone());
        }
        let mut binder = Binder::new(&self.catalog, self, env, vec![Some(ty.value_type())]);
        let value = Typed::new(Expr::Param(0), ty.value_type());
        let Typed { expr, ty, .. } = binder.coerce(value, ty, Context::Assignment)?;
        let output = Output { name: String::new(), expr, ty, origin: (0, 0) };
        let (plan, _) = binder.finish(Bound::new(Node::Result, vec![output]), Kind::Select, false);
        let number = self.running.get();
        let version = self.catalog.version;
        let momentary = plan.momentary;
        let made = compiled("", number, 0, Action::Plan(plan), Vec::new(), None, version);
        let held = Held::new(Arc::new(made));
        if momentary {
            return Ok(held);
        }
        let mut domains = self.domains.borrow_mut();
        if domains.len() >= MAX_DOMAINS {
            domains.clear();
        }
        domains.insert(ty, held.clone());
        Ok(held)
    }
}
