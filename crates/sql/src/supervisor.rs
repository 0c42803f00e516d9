//! What a server does for the sessions of its database.

/// The server around a database, as functions of SQL reach it. Without one they are refused.
pub trait Supervisor: Send + Sync {
    /// Cancels what a session runs (`pg_cancel_backend`). False: there is no such session.
    fn cancel(&self, pid: i32) -> bool;
    /// Ends a session (`pg_terminate_backend`). False: there is no such session.
    fn terminate(&self, pid: i32) -> bool;
    /// Reads the configuration again (`pg_reload_conf`).
    ///
    /// # Errors
    /// What is wrong with it, in a sentence: the configuration before stays in force.
    fn reload(&self) -> Result<(), String>;
    /// What an operator wants to know of the server: names and values, for `scaledb_status`.
    fn status(&self) -> Vec<(String, String)>;
}
