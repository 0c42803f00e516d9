//! Transaction blocks: BEGIN, SET TRANSACTION, COMMIT and ROLLBACK, and blocks that have failed.

use super::super::Session;
use super::{Block, merge};
use crate::api::Severity;
use scaledb_engine::Engine;
use scaledb_parse::utility::Modes;
use scaledb_types::{Result, SqlError, SqlState};

impl<E: Engine> Session<E> {
    /// BEGIN.
    pub(in crate::session) fn begin_block(&mut self, modes: Modes) {
        if self.transaction.in_block() {
            self.state.notice(
                Severity::Warning,
                SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, "there is already a transaction in progress"),
            );
            return;
        }
        self.transaction.block = Block::Explicit;
        merge(&mut self.transaction.modes, modes);
    }

    /// SET TRANSACTION.
    ///
    /// # Errors
    /// 25001 once it has begun.
    pub(in crate::session) fn set_modes(&mut self, modes: Modes) -> Result<()> {
        if !self.transaction.in_block() {
            let what = "SET TRANSACTION can only be used in transaction blocks";
            self.state.notice(Severity::Warning, SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, what));
            return Ok(());
        }
        let changes =
            modes.read_only == Some(false) && self.transaction.is_read_only() || modes.deferrable.is_some();
        if self.transaction.has_begun() && changes {
            let what = "transaction modes must be set before any query";
            return Err(SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, what));
        }
        merge(&mut self.transaction.modes, modes);
        Ok(())
    }

    /// COMMIT of a block. False if it had failed, and was rolled back.
    ///
    /// # Errors
    /// 40001 and others: it was rolled back.
    pub(in crate::session) fn commit_block(&mut self) -> Result<bool> {
        match self.transaction.block {
            Block::Failed => {
                self.rollback();
                Ok(false)
            }
            Block::None => {
                self.warn_no_transaction();
                Ok(true)
            }
            Block::Implicit => {
                self.warn_no_transaction();
                self.commit().map(|()| true)
            }
            Block::Explicit => self.commit().map(|()| true),
        }
    }

    /// PREPARE TRANSACTION, which ends the transaction in any case. The words of its tag, if it does without an error.
    ///
    /// # Errors
    /// 55000: there are no prepared transactions.
    pub(in crate::session) fn prepare_transaction(&mut self) -> Result<&'static str> {
        let block = self.transaction.block;
        self.rollback_block();
        if block != Block::Explicit {
            return Ok("ROLLBACK");
        }
        let what = "prepared transactions are disabled";
        Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what)
            .detail("A transaction is committed by the session that began it."))
    }

    /// ROLLBACK of a block.
    pub(in crate::session) fn rollback_block(&mut self) {
        if matches!(self.transaction.block, Block::None | Block::Implicit) {
            self.warn_no_transaction();
        }
        self.rollback();
    }

    fn warn_no_transaction(&self) {
        let what = "there is no transaction in progress";
        self.state.notice(Severity::Warning, SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, what));
    }

    /// Commits statements that arrived together.
    ///
    /// # Errors
    /// As [`Session::commit`].
    pub(in crate::session) fn end_implicit(&mut self) -> Result<()> {
        if self.transaction.is_implicit() { self.commit() } else { Ok(()) }
    }

    pub(in crate::session) fn fail_implicit(&mut self) {
        self.fail();
    }

    /// A statement has failed: so has its transaction.
    pub(in crate::session) fn fail(&mut self) {
        match self.transaction.block {
            Block::Explicit | Block::Failed => {
                // writes are kept for ROLLBACK TO, unless a conflict has ended them
                self.transaction.block = Block::Failed;
                // without a way back there is nothing to wait for
                if self.transaction.savepoints.is_empty() && self.transaction.barred {
                    self.drop_indexes(false);
                    self.unbar();
                }
                // others need not wait for what cannot commit
                let mark = self.transaction.savepoints.last().map(|mark| mark.locks);
                self.state.release_locks_to(mark);
            }
            Block::None | Block::Implicit => self.rollback(),
        }
    }

    pub(in crate::session) fn need_block(&self, what: &str) -> Result<()> {
        if self.transaction.in_block() {
            return Ok(());
        }
        let what = format!("{what} can only be used in transaction blocks");
        Err(SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, what))
    }

    /// Refuses what commits by itself, and therefore is in no transaction with others.
    ///
    /// # Errors
    /// 25001.
    pub(in crate::session) fn check_no_block(&self, what: &str) -> Result<()> {
        // the first of several statements has none before it that it would commit with
        if !self.transaction.in_block() && !self.transaction.changed && self.transaction.is_clean() {
            return Ok(());
        }
        let what = format!("{what} cannot run inside a transaction block");
        Err(SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, what))
    }

    /// Refuses statements in a block that has failed.
    ///
    /// # Errors
    /// 25P02.
    pub(in crate::session) fn refuse_failed(&self) -> Result<()> {
        if !self.transaction.is_failed() {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        ))
    }
}
