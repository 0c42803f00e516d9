//! The conformance suite: what every engine must do, written once. An engine is a [`Subject`]; what sets it apart from
//! the others is data, its [`Differences`].
//!
//! ```text
//!  basics.rs     one transaction at a time: what is written is read, errors are typed, savepoints
//!  definitions.rs definitions that make no sense and rows that fit none are refused
//!  oracle.rs     random steps of one worker, beside the reference engine
//!  anomalies.rs  the classical anomalies, step by step, several transactions in one thread
//!  histories.rs  random transactions of several threads, replayed in the order of their timestamps
//!  mutations.rs  the same with one rule of the protocol switched off: the check must notice
//!  schedules.rs  small histories under random schedules of every atomic operation (shuttle)
//!  durable.rs    a directory that is opened again, and what depends on what is not durable
//!  crashes.rs    power cuts and failing disks after every operation of a simulated disk
//!  story.rs      the random transactions and checkpoints of those, and their judge
//! ```
//!
//! `tests/engines/mod.rs` lists the engines, one line each; the test programs beside it are made of that list by
//! [`conformance!`](crate::conformance!).

pub mod anomalies;
pub mod basics;
#[cfg(not(any(loom, shuttle)))]
pub mod crashes;
pub mod definitions;
#[cfg(not(any(loom, shuttle)))]
pub mod durable;
#[cfg(not(any(loom, shuttle)))]
pub mod histories;
#[cfg(not(any(loom, shuttle)))]
pub mod mutations;
pub mod oracle;
#[cfg(shuttle)]
pub mod schedules;
#[cfg(not(any(loom, shuttle)))]
mod story;
mod subject;

pub use subject::{
    Counted, Differences, Hunt, Hunted, KeepsFiles, Mutation, Noticed, Programs, Purpose, Subject,
};

/// The tests of one engine: `conformance!(anomalies, acc, OnAcc)` makes a module `acc` with a test for each function of
/// [`anomalies`], for the [`Subject`] `OnAcc`.
#[macro_export]
macro_rules! conformance {
    (basics, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { basics, $engine, $subject:
            what_is_written_is_read_before_and_after_the_commit
            errors_are_typed_and_change_nothing
            savepoints_undo_writes_of_every_kind
            an_index_entry_that_passes_from_row_to_row_within_a_transaction
            the_name_of_a_row_that_was_rolled_back_is_stale
            keys_of_unique_indexes_are_free_again
        }
    };
    (definitions, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { definitions, $engine, $subject:
            names_of_tables_and_indexes_are_unique
            a_table_has_no_more_indexes_than_the_limit
            an_index_has_columns_of_its_table
            rows_of_another_shape_are_refused
            keys_stay_as_they_are
            ids_that_name_nothing_are_refused
            a_dropped_table_is_gone_with_its_indexes
        }
    };
    (oracle, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { oracle, $engine, $subject:
            one_worker_is_answered_as_by_the_reference_engine
        }
    };
    (anomalies, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { anomalies, $engine, $subject:
            write_skew
            write_skew_over_ranges
            lost_update
            blind_insert_and_delete_of_one_key
            phantoms
            a_writer_that_began_before_does_not_change_what_was_scanned
            what_was_scanned_stays_scanned_however_often_its_leaf_has_split
            a_reader_that_began_before
            inserts_beside_the_range_do_not_conflict
            the_read_only_anomaly
            a_key_that_was_absent_and_came
            a_key_that_was_absent_and_came_for_one_that_began_before
            a_key_that_went_and_came_back
            a_key_that_went_and_came_back_for_one_that_began_before
            unique_keys_are_unique
            snapshots_neither_wait_nor_conflict
            what_a_rolled_back_write_has_seen_stays_read
            a_row_whose_read_was_forgotten_is_read_again_to_be_written
            insert_and_delete_where_a_deleted_row_awaits_its_clean_up
            a_statement_that_failed_has_read_what_it_found_free
            a_duplicate_that_follows_from_a_stale_read_is_a_conflict
            a_conflict_ends_the_transaction_and_names_the_key
            a_transaction_that_idles_is_seen_to_hold_rows_back
        }
    };
    (histories, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { histories, $engine, $subject:
            few_keys_of_every_kind_of_table
            several_tables_in_one_transaction
            leaves_that_split_and_coalesce
            queues
            short_transactions_on_hot_keys
        }
    };
    (mutations, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { mutations, $engine, $subject:
            hunt
            every_rule_is_needed
            with_all_rules_the_same_histories_pass
        }
    };
    (schedules, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { schedules, $engine, $subject:
            inserts_against_scans
            splits_against_scans
            deletes_and_clean_up_against_inserts
            full_indexlets_and_synchronous_tables
            index_updates
            snapshots_against_commits
            snapshots_against_updates
            rows_of_changing_length
            updates_of_hot_rows
            rules_that_real_threads_seldom_need
        }
    };
    (durable, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { durable, $engine, $subject:
            what_was_committed_is_there_again_by_every_index
            tables_without_order_and_without_keys_are_there_again
            a_dropped_table_stays_gone
            who_has_read_what_is_not_durable_depends_on_it
            who_reads_depends_on_what_it_has_seen
            who_only_reads_depends_on_what_was_read
            a_directory_of_another_engine_is_refused_with_both_names
        }
    };
    (crashes, $engine:ident, $subject:ty) => {
        $crate::conformance_tests! { crashes, $engine, $subject:
            a_crash_loses_nothing_that_was_acknowledged
            without_sync_something_is_lost
            a_failing_disk_stops_writes_and_loses_nothing_that_was_acknowledged
        }
    };
}

/// The expansion of [`conformance!`].
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($suite:ident, $engine:ident, $subject:ty: $($name:ident)*) => {
        mod $engine {
            $(#[test]
            fn $name() {
                $crate::conformance::$suite::$name::<$subject>();
            })*
        }
    };
}
