//! The portals of a session that have names: those that clients bind, cursors, and those that routines open, which
//! know the session by no more than these.
//!
//! A statement that is run again finds the portals as they were before its first run ([`Portals::mark`],
//! [`Portals::undo_to`]): those that its functions have opened meanwhile are closed, and the others back where they
//! were.

use super::cursor::{MAX_PORTALS, PORTAL, Portal};
use super::kept::Kept;
use crate::memory::{Budget, Reservation};
use crate::routine::cursors::{Cursors, Rows};
use scaledb_parse::utility::Motion;
use scaledb_planner::plan::routine::Fields;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use scaledb_sync::lock::{Mutex, MutexGuard};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The portals of a session that have names. The counts beside the lock are the session's own: no other thread writes
/// them.
pub(crate) struct Portals {
    named: Mutex<Named>,
    /// How many there are, for statements that end without the lock if there are none.
    count: AtomicUsize,
    /// The length of the log.
    logged: AtomicUsize,
    /// The number of the portal that was made last, with a name or without.
    last: AtomicU64,
    /// How many names were made up.
    unnamed: AtomicU64,
    /// `last`, and the length of the log, when the innermost statement that may be run again began.
    marked: (AtomicU64, AtomicUsize),
    /// A routine has opened, moved or closed one since this was asked.
    touched: AtomicBool,
    budget: Arc<Budget>,
}

#[derive(Default)]
struct Named {
    portals: HashMap<String, Box<Portal>>,
    /// What routines have done to portals that were there before the statement.
    log: Vec<Done>,
    /// The key of the row that WHERE CURRENT OF means.
    current: Vec<Value>,
}

/// What a routine has done to a portal.
enum Done {
    /// Moved it away from this row.
    Moved(String, usize),
    Closed(String, Box<Portal>),
}

/// A state of the portals to come back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortalMark {
    last: u64,
    log: usize,
    /// The mark around it.
    outer: (u64, usize),
}

impl fmt::Debug for Portals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Portals")
            .field("count", &self.count)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// 34000.
#[cold]
pub(super) fn no_cursor(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

impl Portals {
    pub(super) fn new(budget: Arc<Budget>) -> Self {
        Self {
            named: Mutex::new(Named::default()),
            count: AtomicUsize::new(0),
            logged: AtomicUsize::new(0),
            last: AtomicU64::new(0),
            unnamed: AtomicU64::new(0),
            marked: (AtomicU64::new(0), AtomicUsize::new(0)),
            touched: AtomicBool::new(false),
            budget,
        }
    }

    fn named(&self) -> MutexGuard<'_, Named> {
        self.named.lock()
    }

    fn note_count(&self, named: &Named) {
        // the session's own
        self.count.store(named.portals.len(), Ordering::Relaxed);
        self.logged.store(named.log.len(), Ordering::Relaxed);
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed) // the session's own
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.len() > 0 && self.named().portals.contains_key(name)
    }

    /// What `f` finds in a portal.
    pub(super) fn with<T>(&self, name: &str, f: impl FnOnce(&mut Portal) -> T) -> Option<T> {
        self.named().portals.get_mut(name).map(|portal| f(portal))
    }

    pub(super) fn take(&self, name: &str) -> Option<Box<Portal>> {
        if self.len() == 0 {
            return None;
        }
        let mut named = self.named();
        let taken = named.portals.remove(name);
        self.note_count(&named);
        taken
    }

    pub(super) fn put(&self, name: String, portal: Box<Portal>) {
        let mut named = self.named();
        named.portals.insert(name, portal);
        self.note_count(&named);
    }

    /// Drops those that are not to stay.
    pub(super) fn retain(&self, mut stays: impl FnMut(&mut Portal) -> bool) {
        if self.len() == 0 {
            return;
        }
        let mut named = self.named();
        named.portals.retain(|_, portal| stays(portal));
        self.note_count(&named);
    }

    pub(super) fn each(&self, mut f: impl FnMut(&str, &Portal)) {
        self.named().portals.iter().for_each(|(name, portal)| f(name, portal));
    }

    /// The number of the next portal.
    #[inline]
    pub(super) fn next_number(&self) -> u64 {
        let number = self.last.load(Ordering::Relaxed) + 1; // the session's own
        self.last.store(number, Ordering::Relaxed); // as the load
        number
    }

    /// Whether there is room for one more.
    ///
    /// # Errors
    /// 53400.
    pub(super) fn admit(&self, name: &str) -> Result<()> {
        if self.len() < MAX_PORTALS || name.is_empty() || self.contains(name) {
            return Ok(());
        }
        let what = format!("a session has at most {MAX_PORTALS} portals and cursors");
        Err(SqlError::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, what).hint("Close some of them."))
    }

    /// Whether routines have done anything to portals since the last time.
    #[inline]
    pub(super) fn take_touched(&self) -> bool {
        let touched = self.touched.load(Ordering::Relaxed); // the session's own
        if touched {
            self.touched.store(false, Ordering::Relaxed); // as the load
        }
        touched
    }

    fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed); // the session's own
    }

    /// A statement begins that may be run again.
    #[inline]
    pub(super) fn mark(&self) -> PortalMark {
        // the session's own
        let outer = (self.marked.0.load(Ordering::Relaxed), self.marked.1.load(Ordering::Relaxed));
        let last = self.last.load(Ordering::Relaxed);
        let log = self.logged.load(Ordering::Relaxed);
        self.marked.0.store(last, Ordering::Relaxed);
        self.marked.1.store(log, Ordering::Relaxed);
        PortalMark { last, log, outer }
    }

    /// It has ended.
    #[inline]
    pub(super) fn settle(&self, mark: PortalMark) {
        // the session's own
        self.marked.0.store(mark.outer.0, Ordering::Relaxed);
        self.marked.1.store(mark.outer.1, Ordering::Relaxed);
    }

    /// It is run again.
    #[cold]
    pub(super) fn undo_to(&self, mark: PortalMark) {
        let mut named = self.named();
        named.portals.retain(|_, portal| portal.number <= mark.last);
        let from = mark.log.min(named.log.len());
        for done in named.log.split_off(from).into_iter().rev() {
            match done {
                Done::Moved(name, at) => {
                    if let Some(portal) = named.portals.get_mut(&name) {
                        portal.at = at;
                    }
                }
                Done::Closed(name, portal) => drop(named.portals.insert(name, portal)),
            }
        }
        self.note_count(&named);
    }

    /// The statements before have ended: none of them is run again.
    #[inline]
    pub(super) fn forget_log(&self) {
        // the session's own
        if self.logged.load(Ordering::Relaxed) > 0 {
            let mut named = self.named();
            named.log.clear();
            self.note_count(&named);
        }
    }

    /// Whether a portal was there when the innermost statement began that may be run again.
    fn is_older(&self, portal: &Portal) -> bool {
        portal.number <= self.marked.0.load(Ordering::Relaxed) // the session's own
    }

    /// The value of a column of the key of the row that WHERE CURRENT OF means.
    pub(super) fn current(&self, number: usize) -> Value {
        self.named().current.get(number).cloned().unwrap_or_default()
    }
}

impl Cursors for Portals {
    fn is_open(&self, name: &str) -> bool {
        self.contains(name)
    }

    fn open(&self, name: Option<&str>, rows: Rows) -> Result<String> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => loop {
                self.count_unnamed();
                let name = format!("<unnamed portal {}>", self.unnamed.load(Ordering::Relaxed)); // the session's own
                if !self.contains(&name) {
                    break name;
                }
            },
        };
        self.admit(&name)?;
        self.touch();
        let reserved = Reservation::new(&self.budget, PORTAL + name.len())?;
        let Rows { of, rows, table, forward } = rows;
        let rows = Kept::of_rows(rows, &self.budget)?;
        let mut portal = Portal::of_rows(of, rows, table, forward, reserved);
        portal.number = self.next_number();
        portal.time = scaledb_types::zone::clock();
        self.put(name.clone(), Box::new(portal));
        Ok(name)
    }

    fn fields(&self, name: &str) -> Option<Arc<Fields>> {
        self.with(name, Portal::fields)
    }

    fn fetch(
        &self,
        name: &str,
        motion: Motion,
        moves: bool,
        each: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<u64> {
        self.touch();
        let mut named = self.named();
        let Named { portals, log, .. } = &mut *named;
        let portal = portals.get_mut(name).ok_or_else(|| no_cursor(name))?;
        if portal.rows.is_none() {
            let what = format!("portal \"{name}\" has not been run, and a function cannot read it");
            return Err(SqlError::unsupported(what));
        }
        let since = self.marked.1.load(Ordering::Relaxed).min(log.len()); // the session's own
        let is_known = log[since..].iter().any(|done| matches!(done, Done::Moved(of, _) if of == name));
        if self.is_older(portal) && !is_known {
            log.push(Done::Moved(name.to_owned(), portal.at));
            self.logged.store(log.len(), Ordering::Relaxed); // as the load
        }
        portal.go(motion, moves, each)
    }

    fn close(&self, name: &str) -> Result<()> {
        self.touch();
        let mut named = self.named();
        match named.portals.get(name) {
            None => return Err(no_cursor(name)),
            Some(portal) if portal.pinned => {
                let what = format!("cannot drop pinned portal \"{name}\"");
                return Err(SqlError::new(SqlState::INVALID_CURSOR_STATE, what));
            }
            Some(_) => {}
        }
        if let Some(portal) = named.portals.remove(name)
            && self.is_older(&portal)
        {
            named.log.push(Done::Closed(name.to_owned(), portal));
        }
        self.note_count(&named);
        Ok(())
    }

    fn pin(&self, name: &str, pinned: bool) {
        self.with(name, |portal| portal.pinned = pinned);
    }

    fn count_unnamed(&self) {
        let number = self.unnamed.load(Ordering::Relaxed) + 1; // the session's own
        self.unnamed.store(number, Ordering::Relaxed); // as the load
    }

    fn look_at(&self, name: &str, (table, table_name): (u32, &str)) -> Result<Vec<Value>> {
        self.touch();
        let mut named = self.named();
        let Named { portals, current, .. } = &mut *named;
        let portal = portals.get(name).ok_or_else(|| no_cursor(name))?;
        Ok(std::mem::replace(current, portal.key(name, table, table_name)?))
    }

    fn look_back(&self, before: Vec<Value>) {
        self.named().current = before;
    }

    fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed) // the session's own
    }

    fn close_since(&self, last: u64) {
        self.retain(|portal| portal.number <= last);
    }
}
