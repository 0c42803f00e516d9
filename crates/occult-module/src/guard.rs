//! No panic of ours unwinds into the server.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what the server has called. Should it panic, the panic hook has written why, and the server goes on with
/// `otherwise`; what was borrowed from the state is given back by the unwinding.
pub(crate) fn guard<R>(otherwise: R, run: impl FnOnce() -> R) -> R {
    guard_else(|| otherwise, run)
}

/// The same with what is made only then.
pub(crate) fn guard_else<R>(otherwise: impl FnOnce() -> R, run: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| otherwise())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_does_not_cross_into_the_server() {
        assert_eq!(super::guard(7, || panic!("for the test")), 7);
        assert_eq!(super::guard(7, || 8), 8);
    }
}
