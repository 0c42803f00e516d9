//! A value that all read and one replaces now and then.

use crate::Arc;
use crate::atomic::{AtomicPtr, Ordering};
use crate::lock::Mutex;
use std::fmt;

/// A value that is read by one load, and replaced seldom: what has been replaced is kept until the end, for those who
/// read it still.
pub struct Published<T> {
    now: AtomicPtr<T>,
    all: Mutex<Vec<Arc<T>>>,
}

impl<T> Published<T> {
    /// Publishes a first value.
    pub fn new(value: T) -> Self {
        let value = Arc::new(value);
        Self { now: AtomicPtr::new(Arc::as_ptr(&value).cast_mut()), all: Mutex::new(vec![value]) }
    }

    /// The present value.
    #[inline]
    pub fn get(&self) -> &T {
        // SAFETY: an address of one of `all`, which only grow. Pairs with the store in `replace`.
        unsafe { &*self.now.load(Ordering::Acquire) }
    }

    /// Replaces the value. SeqCst: who publishes and then looks at others is seen by them, or sees them.
    pub fn replace(&self, value: T) {
        let value = Arc::new(value);
        let mut all = self.all.lock();
        self.now.store(Arc::as_ptr(&value).cast_mut(), Ordering::SeqCst);
        all.push(value);
    }
}

impl<T: fmt::Debug> fmt::Debug for Published<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_has_read_a_value_keeps_it() {
        let words = Published::new("one".to_owned());
        let first = words.get();
        words.replace("two".to_owned());
        assert_eq!((first.as_str(), words.get().as_str()), ("one", "two"));
    }
}
