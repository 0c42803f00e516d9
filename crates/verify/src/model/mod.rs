//! An executable model of the commit protocol, explored exhaustively for a few workers.
//!
//! ```text
//!   begin      active_ts = clock
//!   run        point reads: point index, then tree        -> read_set (record, word), absent reads
//!              scans, leaf by leaf: header, cells, content,
//!                pending lists (repair), records           -> range_set (leaf, version, cells with seq, keys seen)
//!   C1 pin     in flight; publish (G, clock) unless the lane is pinned
//!   C2 lock    the words of the write set, never waiting for long; inserts claim placeholders (locked, absent)
//!                bounded indexlet: claim, then look into the other structure; sync insert: claim in the tree
//!   C3 post    lane lock; for each new index key: leaf -> partition -> cell; append item + owner bit; count+1; seq+1
//!   C4 ts      take the timestamp
//!   C5 valid.  records unchanged, not locked by others (clean-up is waited for), or absent and cleaned up since;
//!                absent reads again; each scanned leaf:
//!                cells (seq, else refine from pending lists), then leaf version (else re-read cells, lists, content)
//!   C6 install keep old versions that a snapshot needs; write row; unlock with the new word; lane unlocked
//!   abort      unlock; placeholders obsolete, then unlinked; items and counts taken back
//!
//!   merge      lane lock; M2 tree insert; M3 evict; M4 remove item, clear owner bit; M5 count-1; M6 empty: unpin
//!   clean-up   ts < actives, snapshots and, if there are any, H; on no list; lock if still the same delete; out of tree and point index; obsolete
//!   boundary   b at the clock or ahead; announced; confirmed if the clock has not passed it
//!   horizon    H = max(H, the last confirmed boundary, if clock and pins have reached it)
//!   snapshot   announce; S = H, raised; read the versions with ts < S
//! ```
//!
//! Rows and the entry records of a secondary index are two tables of the same kind; a scan over the secondary index
//! reads entry records and then rows. Locks live in record words.
//!
//! **What is checked** in every interleaving: the committed transactions, run one by one in commit_ts order, give the
//! same answers; commit_ts order respects real time; a snapshot at S sees exactly the commits with ts < S; no deadlock;
//! at the end rows, entries, point indexes, trees, pending lists, cells and pins agree with each other and with the
//! serial execution.
//!
//! **What is abstracted.** Memory is sequentially consistent and each `cx.step` is atomic; operations inside one tree
//! or one point index are atomic (they are verified where they are implemented). Records are never reclaimed. Bounded
//! waiting for a lock is: readers wait, lockers abort. The clock is a counter that only commits advance. The cases with
//! `fine` split pinning, posting, row copies and installs, and the reading of pins and cells into separate steps.
//!
//! `protocol` is what the engine does, with a `Mutation` for every rule; `published` is the protocol as printed, with
//! its holes; `cases` and `published::cases` hold the programs. `tests/protocol_model.rs` runs them all.

pub mod cached;
pub mod cases;
pub mod explorer;
pub mod history;
pub mod program;
pub mod protocol;
pub mod published;
pub mod random;
pub mod retaining;
pub mod tree;
