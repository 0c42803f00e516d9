//! Who is connected: what `pg_stat_activity` shows.

use scaledb_sync::lock::Mutex;
use std::collections::BTreeMap;

/// A session, as others see it.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) application: String,
    /// When it began, as a `timestamptz`.
    pub(crate) begun: i64,
}

/// The sessions of a database, by their numbers. Written when a session begins, ends or changes its settings.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<u32, Known>>);

impl Sessions {
    pub(crate) fn enter(&self, id: u32, user: &str, database: &str) {
        let known = Known {
            user: user.to_owned(),
            database: database.to_owned(),
            application: String::new(),
            begun: scaledb_types::zone::clock(),
        };
        self.0.lock().insert(id, known);
    }

    /// Notes what an application calls itself.
    pub(crate) fn call(&self, id: u32, application: &str) {
        if let Some(known) = self.0.lock().get_mut(&id)
            && known.application != application
        {
            application.clone_into(&mut known.application);
        }
    }

    pub(crate) fn leave(&self, id: u32) {
        self.0.lock().remove(&id);
    }

    pub(crate) fn all(&self) -> Vec<(u32, Known)> {
        self.0.lock().iter().map(|(&id, known)| (id, known.clone())).collect()
    }
}
