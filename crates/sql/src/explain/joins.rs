//! Joins.

use super::expressions::compared;
use super::nodes::{Describer, text};
use super::{Detail, Shown};
use scaledb_planner::plan::expr::Compare;
use scaledb_planner::plan::{HashJoin, JoinKind, NestedLoop, Node};

impl<'p> Describer<'p> {
    pub(super) fn nested_loop(&mut self, node: &'p Node, join: &'p NestedLoop) -> Shown {
        let mut shown = Shown::new("Nested Loop").filtering();
        if join.kind == JoinKind::Left {
            shown.title = "Nested Loop Left Join".to_owned();
        }
        shown.about.push(("Join Type", text(if join.kind == JoinKind::Left { "Left" } else { "Inner" })));
        self.condition("Join Filter", join.on.as_ref(), None, &mut shown);
        if let Some(on) = &join.on {
            self.removed("Rows Removed by Join Filter", on, self.loops(node), &mut shown);
        }
        self.finish(shown, &[("Outer", &join.outer), ("Inner", &join.inner)])
    }

    pub(super) fn hash_join(&mut self, node: &'p Node, join: &'p HashJoin) -> Shown {
        let (word, kind) = match (join.full, join.kind) {
            (true, _) => (" Full", "Full"),
            (_, JoinKind::Left) => (" Left", "Left"),
            (_, JoinKind::Inner) => ("", "Inner"),
        };
        let mut shown = Shown::new("Hash Join").titled(format!("Hash{word} Join")).filtering();
        shown.about.push(("Join Type", text(kind)));
        let mut pairs = Vec::new();
        for (outer, inner) in join.outer_keys.iter().zip(&join.inner_keys) {
            let (outer, inner) = (self.operand(outer, None), self.operand(inner, None));
            pairs.push(compared(&outer, Compare::Eq, &inner));
        }
        shown.details.push(Detail::text("Hash Cond", Self::all(pairs)));
        self.condition("Join Filter", join.on.as_ref(), None, &mut shown);
        if let Some(on) = &join.on {
            self.removed("Rows Removed by Join Filter", on, self.loops(node), &mut shown);
        }
        let pending = std::mem::take(&mut self.pending);
        let outer = self.node(&join.outer);
        let inner = self.node(&join.inner);
        let mut hash = Shown::new("Hash");
        hash.figures = inner.figures;
        hash.output.clone_from(&inner.output);
        self.memory_of(node, &mut hash);
        let hash = hash.over("Outer", inner);
        let mut shown = shown.over("Outer", outer).over("Inner", hash);
        self.pending.splice(0..0, pending);
        self.take_subplans(&mut shown);
        shown
    }
}
