//! CREATE, ALTER and DROP DATABASE.
//!
//! A database is a catalog of its own, in a table of the engine. What is known of it (`DatabaseDesc`, owner and
//! privileges) is common to all databases: the commit writes it to the catalogs of all.

use super::super::Session;
use super::super::state::SessionState;
use super::super::transaction::Created;
use super::new_name;
use crate::api::{Severity, Tag};
use crate::shared::PerDatabase;
use scaledb_catalog::{DATABASE, DatabaseDesc, ObjectKind, Privileges, Store};
use scaledb_engine::Engine;
use scaledb_parse::databases::{DatabaseOption, DatabaseStatement};
use scaledb_parse::roles::RoleName;
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long sessions have to leave a database that is to be dropped: who has just hung up is still there for a moment.
const LEAVE: Duration = Duration::from_secs(5);
/// How often they are looked for.
const LOOK: Duration = Duration::from_millis(5);

/// The databases that a new one may be a copy of: both are empty, and not there.
const EMPTY: [&str; 2] = ["template0", "template1"];

/// Locales in which text is compared by its bytes.
const LOCALES: [&str; 4] = ["C", "POSIX", "C.UTF-8", "C.utf8"];

impl<E: Engine> Session<E> {
    /// What does not run within a transaction block.
    ///
    /// # Errors
    /// 25001.
    pub(in crate::session) fn check_databases_alone(&self, statement: &DatabaseStatement) -> Result<()> {
        if statement.is_alone() { self.check_no_block(statement.tag()) } else { Ok(()) }
    }

    /// A statement about databases.
    ///
    /// # Errors
    /// 3D000 for a database that is not there, 42P04 for one that is; 42501 for what the current role may not; 55006
    /// while others use it.
    pub(in crate::session) fn change_databases(&mut self, statement: &DatabaseStatement) -> Result<Tag> {
        match statement {
            DatabaseStatement::Create { name, options } => self.create_database(name, options)?,
            DatabaseStatement::Alter { name, options } => self.alter_database(name, options)?,
            DatabaseStatement::Rename { from, to } => self.rename_database(from, to)?,
            DatabaseStatement::Owner { name, owner } => self.set_owner_of_database(name, owner)?,
            DatabaseStatement::Set { name, setting, value } => {
                self.set_of_database(name, setting.as_deref(), value.as_deref())?;
            }
            DatabaseStatement::Drop { if_exists, name, force } => {
                self.drop_database(name, *if_exists, *force)?;
            }
        }
        Ok(Tag::plain(statement.tag()))
    }

    /// The database of a name.
    pub(super) fn database_of(&self, name: &str) -> Result<u32> {
        self.state.database_named(name).ok_or_else(|| {
            let what = format!("database \"{name}\" does not exist");
            SqlError::new(SqlState::INVALID_CATALOG_NAME, what)
        })
    }

    fn may_create_databases(&self) -> bool {
        let current = self.state.identity.current();
        self.state.identity.is_superuser()
            || self.state.catalog.role(current).is_some_and(|desc| desc.create_db)
    }

    fn create_database(&mut self, name: &str, options: &[DatabaseOption]) -> Result<()> {
        let name = new_name(&sqlparser::ast::Ident::with_quote('"', name));
        let mut desc = DatabaseDesc::new(0, name.as_str(), "");
        let mut owner = None;
        let mut template = None;
        for option in options {
            match (option.name.as_str(), option.value.as_deref()) {
                ("owner", role) => {
                    owner = role.map(|role| self.role_of(&RoleName::Named(role.to_owned()))).transpose()?;
                }
                ("template", from) => template = from,
                _ if apply(&mut desc, option)? => {}
                _ => check_fixed(option)?,
            }
        }
        let denied = |what: &'static str| Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        if !self.may_create_databases() {
            return denied("permission denied to create database");
        }
        if let Some(owner) = owner {
            self.check_member(owner)?;
        }
        if let Some(template) = template.filter(|template| !EMPTY.contains(template)) {
            if self.state.database_named(template).is_none() {
                let what = format!("template database \"{template}\" does not exist");
                return Err(SqlError::new(SqlState::INVALID_CATALOG_NAME, what));
            }
            return Err(SqlError::unsupported("a database cannot be copied from another one")
                .hint("pg_dump writes one down, and psql makes it again."));
        }
        if self.state.database_named(&name).is_some() || EMPTY.contains(&name.as_str()) {
            let what = format!("database \"{name}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_DATABASE, what));
        }
        self.begin_change()?;
        let shared = self.state.shared.clone();
        let def = Store::descriptors(&shared.engine, "").map_err(crate::sequence::store_error)?;
        let table = self.empty_table(def, false)?;
        desc.oid = shared.new_oid();
        desc.engine.clone_from(&table.name);
        self.transaction.made = Some(self.state.database.store.of_database(desc.oid, table.clone()));
        self.transaction.created.push(Created { info: table, filled: false });
        let oid = desc.oid;
        self.edit_catalog(|catalog| catalog.put_database(Arc::new(desc)));
        self.own(ObjectKind::Database, oid, None);
        if let Some(owner) = owner {
            self.give_to(ObjectKind::Database, oid, owner);
        }
        Ok(())
    }

    fn alter_database(&mut self, name: &str, options: &[DatabaseOption]) -> Result<()> {
        let oid = self.database_of(name)?;
        self.state.check_owner(oid)?;
        let mut desc = self.state.desc_of_database(oid);
        for option in options {
            if !apply(&mut desc, option)? {
                if option.name == "tablespace" {
                    return Err(SqlError::unsupported("tablespaces are not supported"));
                }
                return Err(unknown(option));
            }
        }
        if !desc.allow_connections && oid == self.state.database.oid {
            let what = "cannot disallow connections for current database";
            return Err(SqlError::invalid_parameter(what));
        }
        self.put_database(desc)
    }

    fn put_database(&mut self, desc: DatabaseDesc) -> Result<()> {
        self.begin_change()?;
        self.edit_catalog(|catalog| catalog.put_database(Arc::new(desc)));
        Ok(())
    }

    fn rename_database(&mut self, from: &str, to: &str) -> Result<()> {
        let oid = self.database_of(from)?;
        self.state.check_owner(oid)?;
        if !self.may_create_databases() {
            let what = "permission denied to rename database";
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        }
        let to = new_name(&sqlparser::ast::Ident::with_quote('"', to));
        if self.state.database_named(&to).is_some() || EMPTY.contains(&to.as_str()) {
            let what = format!("database \"{to}\" already exists");
            return Err(SqlError::new(SqlState::DUPLICATE_DATABASE, what));
        }
        if oid == self.state.database.oid {
            return Err(SqlError::unsupported("current database cannot be renamed"));
        }
        if oid == DATABASE {
            return Err(SqlError::unsupported(format!("database \"{from}\" has its name from the server"))
                .hint("`database` in the configuration of the server says how it is called."));
        }
        let database = self.state.shared.open_database(&self.state.catalog, oid)?;
        self.close_database(&database, from)?;
        let desc = DatabaseDesc { name: to, ..self.state.desc_of_database(oid) };
        self.put_database(desc)
    }

    fn set_owner_of_database(&mut self, name: &str, owner: &RoleName) -> Result<()> {
        let oid = self.database_of(name)?;
        let to = self.role_of(owner)?;
        if self.state.catalog.owner_of(oid) == to {
            return Ok(());
        }
        self.state.check_owner(oid)?;
        self.check_member(to)?;
        if !self.may_create_databases() {
            let what = "permission denied to change owner of database";
            return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        }
        self.begin_change()?;
        self.give_to(ObjectKind::Database, oid, to);
        Ok(())
    }

    /// ALTER DATABASE .. SET and RESET: what its sessions begin with.
    fn set_of_database(&mut self, name: &str, setting: Option<&str>, value: Option<&str>) -> Result<()> {
        let oid = self.database_of(name)?;
        self.state.check_owner(oid)?;
        let mut desc = self.state.desc_of_database(oid);
        self.state.settings.borrow().change_list(&mut desc.settings, setting, value)?;
        self.put_database(desc)
    }

    /// COMMENT ON DATABASE.
    pub(super) fn comment_on_database(&mut self, name: &str, text: Option<&str>) -> Result<()> {
        let Some(oid) = self.state.database_named(name) else {
            // as there: a dump names the database that it is of
            let what = format!("database \"{name}\" does not exist");
            self.state.notice(Severity::Warning, SqlError::new(SqlState::UNDEFINED_OBJECT, what));
            return Ok(());
        };
        self.state.check_owner(oid)?;
        let comment = text.filter(|text| !text.is_empty()).map(str::to_owned);
        let desc = DatabaseDesc { comment, ..self.state.desc_of_database(oid) };
        self.put_database(desc)
    }

    fn drop_database(&mut self, name: &str, if_exists: bool, force: bool) -> Result<()> {
        let Some(oid) = self.state.database_named(name) else {
            let what = format!("database \"{name}\" does not exist");
            if !if_exists {
                return Err(SqlError::new(SqlState::INVALID_CATALOG_NAME, what));
            }
            self.skip(&format!("{what}, skipping"), SqlState::SUCCESSFUL_COMPLETION);
            return Ok(());
        };
        self.state.check_owner(oid)?;
        if self.state.catalog.database(oid).is_some_and(|desc| desc.is_template) {
            return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, "cannot drop a template database"));
        }
        if oid == self.state.database.oid {
            let what = "cannot drop the currently open database";
            return Err(SqlError::new(SqlState::OBJECT_IN_USE, what));
        }
        if oid == DATABASE {
            return Err(SqlError::unsupported(format!("database \"{name}\" is the first one of the server"))
                .detail("It is always there."));
        }
        let shared = self.state.shared.clone();
        let database = shared.open_database(&self.state.catalog, oid)?;
        if force {
            self.end_sessions(oid)?;
        }
        self.close_database(&database, name)?;
        self.begin_change()?;
        // what is in it by now: nobody changes that any more
        let theirs = shared.catalog_of_now(&database)?;
        let tables = theirs.tables().map(|table| table.engine.as_str());
        let desc = self.state.catalog.database(oid).cloned();
        let names = tables.chain(desc.iter().map(|desc| desc.engine.as_str()));
        let tables: Vec<_> = names.filter_map(|name| shared.engine.table(name)).collect();
        self.transaction.dropped.extend(tables);
        self.edit_catalog(|catalog| catalog.remove_database(oid));
        Ok(())
    }

    /// Ends all sessions of a database.
    fn end_sessions(&self, oid: u32) -> Result<()> {
        let sessions = self.state.sessions_in(oid);
        if sessions.is_empty() {
            return Ok(());
        }
        let Some(server) = self.state.shared.supervisor.get() else {
            let what = "DROP DATABASE WITH (FORCE) needs a server, and this database runs within a program";
            return Err(SqlError::unsupported(what));
        };
        let all: Vec<i32> = sessions.into_iter().filter_map(|id| id.try_into().ok()).collect();
        for pid in &all {
            self.state.check_may_signal(*pid, "terminate")?;
        }
        for pid in all {
            server.terminate(pid);
        }
        Ok(())
    }

    /// Lets no session begin in a database until the transaction ends, and waits for those that are there.
    ///
    /// # Errors
    /// 55006: some stay. 57014.
    fn close_database(&mut self, database: &Arc<PerDatabase>, name: &str) -> Result<()> {
        // an earlier statement of the transaction has closed it
        if self.transaction.closed.iter().any(|closed| closed.oid == database.oid) {
            return Ok(());
        }
        let in_use = |detail: String| {
            let what = format!("database \"{name}\" is being accessed by other users");
            Err(SqlError::new(SqlState::OBJECT_IN_USE, what).detail(detail))
        };
        if !database.close(true) {
            return in_use("Another session is about to change or drop it.".to_owned());
        }
        self.transaction.closed.push(database.clone());
        let until = Instant::now() + LEAVE;
        loop {
            let left = self.state.sessions_in(database.oid).len();
            if left == 0 {
                return Ok(());
            }
            if Instant::now() > until {
                return in_use(match left {
                    1 => "There is 1 other session using the database.".to_owned(),
                    more => format!("There are {more} other sessions using the database."),
                });
            }
            self.context().check_cancel()?;
            scaledb_sync::thread::sleep(LOOK);
        }
    }

    /// Whether the session may be in the database that it has entered, which has so many sessions with it.
    ///
    /// # Errors
    /// 42501, 53300, 55000.
    pub(crate) fn check_may_enter(&self, sessions: usize) -> Result<()> {
        let (state, oid) = (&self.state, self.state.database.oid);
        let name = &state.database_name;
        let refused = |code: SqlState, what: String| Err(SqlError::new(code, what));
        let desc = state.desc_of_database(oid);
        if !desc.allow_connections {
            let what = format!("database \"{name}\" is not currently accepting connections");
            return refused(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what);
        }
        if state.identity.is_superuser() {
            return Ok(());
        }
        let error = SqlError::new(
            SqlState::INSUFFICIENT_PRIVILEGE,
            format!("permission denied for database \"{name}\""),
        );
        let allowed = state.check_privilege(ObjectKind::Database, oid, Privileges::CONNECT);
        allowed.map_err(|_| error.detail("User does not have CONNECT privilege."))?;
        if usize::try_from(desc.connection_limit).is_ok_and(|most| sessions > most) {
            let what = format!("too many connections for database \"{name}\"");
            return refused(SqlState::TOO_MANY_CONNECTIONS, what);
        }
        Ok(())
    }
}

impl<E: Engine> SessionState<E> {
    /// The database of a name.
    fn database_named(&self, name: &str) -> Option<u32> {
        if name == self.database_name {
            return Some(self.database.oid);
        }
        if name == self.shared.first_name() {
            return Some(DATABASE);
        }
        self.catalog.database_named(name).map(|desc| desc.oid)
    }

    /// The name of a database.
    pub(crate) fn name_of_database(&self, oid: u32) -> String {
        if oid == self.database.oid {
            return self.database_name.clone();
        }
        if oid == DATABASE {
            return self.shared.first_name().to_owned();
        }
        self.catalog.database(oid).map_or_else(String::new, |desc| desc.name.clone())
    }

    /// What is known of a database, also if nobody has set anything of it.
    fn desc_of_database(&self, oid: u32) -> DatabaseDesc {
        self.catalog.database(oid).map_or_else(|| DatabaseDesc::new(oid, "", ""), |desc| (**desc).clone())
    }

    /// The other sessions that are in a database.
    fn sessions_in(&self, oid: u32) -> Vec<u32> {
        let all = self.shared.sessions.all().into_iter();
        let others = all.filter(|(id, known)| known.database.0 == oid && *id != self.id);
        others.map(|(id, _)| id).collect()
    }
}

/// Sets what an option says of a database, if it is one that ALTER DATABASE sets, too.
fn apply(desc: &mut DatabaseDesc, option: &DatabaseOption) -> Result<bool> {
    let value = option.value.as_deref();
    match option.name.as_str() {
        "is_template" => desc.is_template = flag(option, false)?,
        "allow_connections" => desc.allow_connections = flag(option, true)?,
        "connection_limit" => {
            let limit = value.unwrap_or("-1").parse().map_err(|_| {
                let what = "connection_limit requires an integer value";
                SqlError::new(SqlState::SYNTAX_ERROR, what)
            })?;
            if limit < -1 {
                return Err(SqlError::invalid_parameter(format!("invalid connection limit: {limit}")));
            }
            desc.connection_limit = limit;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn flag(option: &DatabaseOption, default: bool) -> Result<bool> {
    let Some(value) = option.value.as_deref() else { return Ok(default) };
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => {
            let what = format!("{} requires a Boolean value", option.name);
            Err(SqlError::new(SqlState::SYNTAX_ERROR, what))
        }
    }
}

/// Refuses what options ask for that is fixed here, unless they ask for what it is.
fn check_fixed(option: &DatabaseOption) -> Result<()> {
    let Some(value) = option.value.as_deref() else { return Ok(()) };
    let is = |known: &[&str]| known.iter().any(|known| value.eq_ignore_ascii_case(known));
    let fixed = |what: String| Err(SqlError::unsupported(what));
    match option.name.as_str() {
        "encoding" if is(&["utf8", "utf-8", "unicode", "6", "-1"]) => Ok(()),
        "encoding" => fixed(format!("encoding {value} is not supported: text is UTF8")),
        "locale" | "lc_collate" | "lc_ctype" if is(&LOCALES) => Ok(()),
        "locale" | "lc_collate" | "lc_ctype" => fixed(format!(
            "locale \"{value}\" is not supported: text is compared by its bytes, as in locale \"C\""
        )),
        "locale_provider" if is(&["libc"]) => Ok(()),
        "locale_provider" | "icu_locale" | "icu_rules" => fixed("ICU is not supported".to_owned()),
        // what was written of them by another server says nothing here
        "collation_version" => Ok(()),
        "strategy" if is(&["wal_log", "file_copy"]) => Ok(()),
        "strategy" => {
            Err(SqlError::invalid_parameter(format!("invalid create database strategy \"{value}\""))
                .hint("Valid strategies are \"wal_log\", and \"file_copy\"."))
        }
        "tablespace" if is(&["pg_default"]) => Ok(()),
        "tablespace" => {
            let what = format!("tablespace \"{value}\" does not exist");
            Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what))
        }
        "oid" => fixed("the oid of a database cannot be chosen".to_owned()),
        _ => Err(unknown(option)),
    }
}

#[cold]
fn unknown(option: &DatabaseOption) -> SqlError {
    let what = format!("option \"{}\" not recognized", option.name);
    SqlError::new(SqlState::SYNTAX_ERROR, what).position(option.position)
}
