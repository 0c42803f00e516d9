//! The published merge: primary tree and indexlet key by key, indicators, then the secondary tree from copies.

use super::state::Version;
use super::{Published, Taker};
use crate::model::explorer::Steps;
use crate::model::history::Row;
use crate::model::program::{Key, entry_key};

impl Published {
    pub(super) fn merge(&self, cx: &mut Taker<'_>, me: usize) -> Steps<()> {
        let work = cx.step("merge: begin", |db| db.pending[me].clone())?;
        let mut copies: Vec<(Key, Option<Row>, Version)> = Vec::new();
        for &key in &work.keys {
            let copy = cx.wait("merge: lock the entry, apply to the primary tree", |db| {
                let Some(entry) = db.indexlet[key as usize] else { return Some(None) };
                if entry.locker.is_some() {
                    return None;
                }
                let version = entry.version.flatten();
                let old = db.tree_row(false, key);
                match version {
                    Some(row) => db.put(false, key, row),
                    None => db.remove(false, key),
                }
                db.indexlet[key as usize].as_mut()?.locker = Some(me);
                Some(Some((key, old, version)))
            })?;
            if let Some(copy) = copy {
                cx.step("merge: remove from the indexlet", |db| db.indexlet[key as usize] = None)?;
                copies.push(copy);
            }
        }
        self.decrement(cx, me, false)?;
        if self.secondary {
            for (key, old, new) in copies {
                let stale = old.filter(|old| new.is_none_or(|new| new.sec != old.sec));
                if let Some(old) = stale {
                    cx.step("merge: secondary delete", |db| db.remove(true, entry_key(old.sec, key)))?;
                }
                if let Some(new) = new {
                    cx.step("merge: secondary insert", |db| db.put(true, entry_key(new.sec, key), new))?;
                }
            }
            self.decrement(cx, me, true)?;
        }
        cx.step("merge: end", |db| db.pending[me].keys.clear())
    }

    fn decrement(&self, cx: &mut Taker<'_>, me: usize, secondary: bool) -> Steps<()> {
        loop {
            let more = cx.wait("merge: decrement an indicator", |db| {
                let own = &db.pending[me].indicators;
                let Some(at) = own.iter().position(|indicator| indicator.0 == secondary) else {
                    return Some(false);
                };
                let indicator = own[at].1;
                if db.count(indicator).locker.is_some() {
                    return None;
                }
                db.pending[me].indicators.remove(at);
                db.set_count(indicator, |count| count.count -= 1);
                Some(true)
            })?;
            if !more {
                return Ok(());
            }
        }
    }
}
