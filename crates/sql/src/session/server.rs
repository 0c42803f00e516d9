//! What a session asks the server around it, and tells of it.

use super::state::SessionState;
use crate::api::Severity;
use crate::reclamation::Held;
use scaledb_engine::Engine;
use scaledb_types::{Env, Result, SqlError, SqlState, Type, Value};
use std::time::Duration;

impl<E: Engine> SessionState<E> {
    /// `pg_cancel_backend`, `pg_terminate_backend`, `pg_reload_conf`.
    ///
    /// # Errors
    /// 0A000: there is no server.
    pub(super) fn ask_server(&self, name: &str, argument: Option<&Value>) -> Result<Value> {
        match (name, argument) {
            ("pg_reload_conf", _) => self.check_superuser("permission denied for function pg_reload_conf")?,
            ("pg_cancel_backend", Some(Value::Int4(pid))) => self.check_may_signal(*pid, "cancel")?,
            (_, Some(Value::Int4(pid))) => self.check_may_signal(*pid, "terminate")?,
            _ => {}
        }
        let Some(server) = self.shared.supervisor.get() else {
            let what = format!("{name} needs a server, and this database runs within a program");
            return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, what));
        };
        if name == "pg_reload_conf" {
            let done = server.reload();
            if let Err(why) = &done {
                let what = format!("the configuration stays as it was: {why}");
                self.notice(Severity::Warning, SqlError::new(SqlState::CONFIG_FILE_ERROR, what));
            }
            return Ok(Value::Bool(done.is_ok()));
        }
        let Some(Value::Int4(pid)) = argument else { return Ok(Value::Null) };
        let found = if name == "pg_cancel_backend" { server.cancel(*pid) } else { server.terminate(*pid) };
        if !found {
            let what = format!("PID {pid} is not a session of this server");
            self.notice(Severity::Warning, SqlError::new(SqlState::WARNING, what));
        }
        if found && *pid == self.id as i32 && name == "pg_terminate_backend" {
            // its client is told that the session ends, and of nothing else
            return Err(SqlError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"));
        }
        Ok(Value::Bool(found))
    }

    /// The rows of `scaledb_status`.
    pub(super) fn status_lines(&self) -> Vec<(String, String)> {
        let engine = &self.shared.engine;
        let stats = engine.stats();
        let line = |name: &str, value: String| (name.to_owned(), value);
        let log = match (engine.log_failure(), stats.log) {
            (Some(why), _) => format!("failed, nothing is written any more: {why}"),
            (None, Some(_)) => "in order".to_owned(),
            (None, None) => "none, the database is in memory only".to_owned(),
        };
        let opened = Value::Timestamptz(self.shared.opened).to_text(Type::TIMESTAMPTZ, &Env::default());
        let mut lines = vec![
            line("version", env!("CARGO_PKG_VERSION").to_owned()),
            line("engine", engine.name().to_owned()),
            line("opened", opened.map_or_else(String::new, |text| text.to_string())),
            line("log", log),
            line("memory bytes", stats.memory_bytes.to_string()),
            line("memory budget bytes", engine.memory().budget.to_string()),
            line("statement memory bytes", self.shared.memory.used().to_string()),
        ];
        let reclamation = self.shared.reclamation().0;
        let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
        let holder = match reclamation.transactions.first() {
            None => "none".to_owned(),
            Some(Held { session: Some(pid), .. }) => format!("session {pid}"),
            Some(Held { session: None, .. }) => "none of the sessions".to_owned(),
        };
        lines.extend([
            line("reclamation waiting", reclamation.waiting.to_string()),
            line("reclamation waiting bytes", reclamation.waiting_bytes.to_string()),
            line("reclamation lag seconds", seconds(reclamation.lag)),
            line("reclamation waits for", holder),
        ]);
        lines.extend(self.shared.supervisor.get().into_iter().flat_map(|server| server.status()));
        lines
    }
}
