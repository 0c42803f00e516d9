//! The steps of a commit, and the wrong orders that tests try.

use crate::rules::Rules;

/// A step of a commit, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(any(test, feature = "mutations")), allow(dead_code, reason = "only tests name single steps"))]
pub(super) enum Step {
    /// C1.
    Pin,
    /// C2.
    Lock,
    /// C3.
    Post,
    /// C4.
    Timestamp,
    /// C5.
    Validate,
    /// C6.
    Publish,
}

/// The steps without a rule about their order that is switched off; `None` if all these rules are in force.
#[cfg(feature = "mutations")]
pub(super) fn in_another_order(rules: Rules) -> Option<&'static [Step]> {
    use crate::rules::Rule;
    use Step::{Lock, Pin, Post, Publish, Timestamp, Validate};
    match rules.off()? {
        Rule::PinFirst => Some(&[Lock, Post, Timestamp, Validate, Publish, Pin]),
        Rule::Post => Some(&[Pin, Lock, Timestamp, Validate, Publish]),
        Rule::PostBeforeTimestamp => Some(&[Pin, Lock, Timestamp, Validate, Post, Publish]),
        Rule::TimestampAfterLocks => Some(&[Pin, Timestamp, Lock, Post, Validate, Publish]),
        _ => None,
    }
}

/// In builds without mutations, the steps run in their order.
#[cfg(not(feature = "mutations"))]
#[inline(always)]
pub(super) fn in_another_order(_: Rules) -> Option<&'static [Step]> {
    None
}
