//! What the role may do that the session has become.

use super::SessionState;
use crate::identity::{Identity, RoleMark};
use crate::session::settings::Settings;
use scaledb_catalog::{
    C_LANGUAGE, Catalog, Language, OWNER, ObjectKind, PLPGSQL_LANGUAGE, PUBLIC, PUBLIC_SCHEMA, Privileges,
    Relation, RoutineDesc, RoutineKind, SIGNAL_BACKEND, SQL_LANGUAGE,
};
use scaledb_engine::Engine;
use scaledb_locks::Mode;
use scaledb_planner::bind::Lookup as _;
use scaledb_planner::plan::Plan;
use scaledb_planner::plan::needs::Need;
use scaledb_planner::plan::secured::Secured;
use scaledb_types::{Result, SqlError, SqlState, Type};

impl<E: Engine> SessionState<E> {
    /// Looks whether a plan may do what it needs to.
    ///
    /// # Errors
    /// 42501.
    #[inline]
    pub(crate) fn check_needs(&self, plan: &Plan) -> Result<()> {
        self.check_needs_but(plan, None)
    }

    /// The same; what it does with one object it may do.
    ///
    /// # Errors
    /// 42501.
    #[inline]
    pub(crate) fn check_needs_but(&self, plan: &Plan, may: Option<u32>) -> Result<()> {
        let Some(needs) = &plan.needs else { return Ok(()) };
        if let Some(secured) = &plan.secured {
            self.check_secured(secured)?;
        }
        if self.identity.is_superuser() && !needs.of_others {
            return Ok(());
        }
        let mut asked = needs.all.iter().filter(|need| Some(need.object) != may);
        asked.try_for_each(|need| self.check_need(need))
    }

    /// Looks whether a plan is for the role at hand, and notes what has decided which policies it has.
    ///
    /// # Errors
    /// 0A000 if it is for another.
    #[cold]
    fn check_secured(&self, secured: &Secured) -> Result<()> {
        secured.tables.iter().for_each(|&table| self.used.note_access(table));
        if secured.reader == self.reader() {
            return Ok(());
        }
        // what has a text is compiled again before: this is a portal, which was bound before the role changed
        let what = "the statement was bound for another role, and row-level security makes it another one";
        Err(SqlError::unsupported(what).hint("Bind it again."))
    }

    fn check_need(&self, need: &Need) -> Result<()> {
        let role = need.by.unwrap_or_else(|| self.identity.current());
        if self.catalog.is_superuser(role) {
            return Ok(());
        }
        self.used.note_access(need.object);
        let object = need.object;
        let has = |asked| self.catalog.privileges(role, need.kind, object, asked) == asked;
        let has_on_columns = |(privilege, columns): &(Privileges, Vec<i16>)| {
            let on = |attnum| self.catalog.column_privileges(role, object, attnum, *privilege) == *privilege;
            let any = || {
                self.catalog
                    .access(object)
                    .is_some_and(|access| access.columns.iter().any(|(attnum, _)| on(*attnum)))
            };
            has(*privilege)
                || if columns.is_empty() { any() } else { columns.iter().all(|attnum| on(*attnum)) }
        };
        if has(need.whole) && need.columns.iter().all(has_on_columns) {
            return Ok(());
        }
        Err(self.denied(need.kind, object))
    }

    /// Looks whether the current role has a privilege.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_privilege(&self, kind: ObjectKind, object: u32, asked: Privileges) -> Result<()> {
        if self.identity.is_superuser() {
            return Ok(());
        }
        self.check_need(&Need { kind, object, whole: asked, columns: Vec::new(), by: None })
    }

    /// Looks whether the current role may lock a table: what it may do with it decides how.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_may_lock(&self, object: u32, mode: Mode) -> Result<()> {
        let writes = Privileges::UPDATE.and(Privileges::DELETE).and(Privileges::TRUNCATE);
        let any = match mode {
            Mode::AccessShare => Privileges::SELECT,
            Mode::RowExclusive => writes.and(Privileges::INSERT),
            _ => writes,
        };
        self.check_any_privilege(ObjectKind::Table, object, any)
    }

    /// Looks whether the current role may use a type: enum types have owners.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_type(&self, ty: Type) -> Result<()> {
        let of = ty.element().filter(|_| ty.array && ty.as_domain().is_none()).unwrap_or(ty).oid();
        if self.identity.is_superuser() {
            return Ok(());
        }
        let asked = Privileges::USAGE;
        let held = self.catalog.privileges(self.identity.current(), ObjectKind::Type, of, asked);
        if held == asked {
            return Ok(());
        }
        let name = match self.catalog.own_type(of) {
            Some((schema, name)) if self.path.iter().any(|known| known == schema) => name.to_owned(),
            Some((schema, name)) => format!("{schema}.{name}"),
            None => ty.sql_name(),
        };
        let what = format!("permission denied for type {name}");
        Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what))
    }

    /// Looks whether the current role may write routines in a language.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_language(&self, language: Language) -> Result<()> {
        let (oid, name) = match language {
            Language::Sql => (SQL_LANGUAGE, "sql"),
            Language::PlPgSql => (PLPGSQL_LANGUAGE, "plpgsql"),
            Language::C => (C_LANGUAGE, "c"),
        };
        let asked = Privileges::USAGE;
        if self.catalog.privileges(self.identity.current(), ObjectKind::Language, oid, asked) == asked {
            return Ok(());
        }
        let what = format!("permission denied for language {name}");
        Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what))
    }

    /// Looks whether foreign keys of the current role may refer to columns of a table.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_references(&self, object: u32, columns: &[i16]) -> Result<()> {
        if self.identity.is_superuser() {
            return Ok(());
        }
        let columns = vec![(Privileges::REFERENCES, columns.to_vec())];
        self.check_need(&Need { kind: ObjectKind::Table, object, whole: Privileges::NONE, columns, by: None })
    }

    /// Looks whether the current role has one of several privileges.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_any_privilege(&self, kind: ObjectKind, object: u32, any: Privileges) -> Result<()> {
        if self.identity.is_superuser() {
            return Ok(());
        }
        let mut each = any.each();
        if each.any(|(one, ..)| self.check_privilege(kind, object, one).is_ok()) {
            Ok(())
        } else {
            Err(self.denied(kind, object))
        }
    }

    /// Whether the current role has the rights of the owner of an object.
    pub(crate) fn owns(&self, object: u32) -> bool {
        if self.identity.is_superuser() {
            return true;
        }
        self.used.note_access(object);
        self.catalog.has_rights_of(self.identity.current(), self.catalog.owner_of(object))
    }

    /// # Errors
    /// 42501 if the current role has not the rights of the owner of an object.
    pub(crate) fn check_owner(&self, object: u32) -> Result<()> {
        if self.owns(object) { Ok(()) } else { Err(self.not_owner(object)) }
    }

    /// # Errors
    /// 42501 if the current role has not the rights of the owner of an object, which is called so.
    pub(crate) fn check_owner_as(&self, object: u32, word: &str, name: &str) -> Result<()> {
        if self.owns(object) { Ok(()) } else { Err(self.not_owner_of(word, name)) }
    }

    /// # Errors
    /// 42501 if the current role is no superuser.
    pub(crate) fn check_superuser(&self, what: &str) -> Result<()> {
        if self.identity.is_superuser() {
            return Ok(());
        }
        Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what.to_owned()))
    }

    /// Whether the current role, or the session's, is a member of one that is always there.
    pub(crate) fn is_member_of(&self, role: u32) -> bool {
        self.identity.is_superuser() || self.catalog.has_rights_of(self.identity.current(), role)
    }

    /// Looks whether the session may become a role: SET ROLE, SET SESSION AUTHORIZATION.
    ///
    /// # Errors
    /// 22023 for a role that is not there, 42501 for one that it may not become.
    pub(crate) fn check_may_become(&self, setting: &str, name: Option<&str>) -> Result<()> {
        let denied = |what: String| Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        if self.identity.is_within_definer() {
            let what = format!("cannot set parameter \"{setting}\" within security-definer function");
            return denied(what);
        }
        let Some(name) = name else { return Ok(()) };
        let Some(role) = self.identity.role_named(&self.catalog, name) else {
            return Err(SqlError::invalid_parameter(format!("role \"{name}\" does not exist")));
        };
        if setting == "role" {
            if !self.catalog.is_member(self.identity.session(), role) {
                return denied(format!("permission denied to set role \"{name}\""));
            }
        } else if role != self.identity.login() && !self.catalog.is_superuser(self.identity.login()) {
            return denied("permission denied to set session authorization".to_owned());
        }
        Ok(())
    }

    /// Becomes a role that it may become; itself again without a name.
    pub(crate) fn set_role(&self, setting: &str, name: Option<&str>, local: bool) -> Result<()> {
        if let Some(name) = name {
            self.identity.name(&self.catalog, name);
        }
        let mut settings = self.settings.borrow_mut();
        if setting == "role" {
            settings.set("role", name.or(Some("none")), local)?;
        } else {
            settings.set_fixed("session_authorization", name.unwrap_or(self.identity.login_name()), local);
            // the role of another session user is no role of this one
            settings.set("role", Some("none"), local)?;
        }
        // what follows in the same statement is done as the new role
        follow(&self.identity, &self.catalog, &settings);
        Ok(())
    }

    /// A routine begins: its owner's privileges count if it is SECURITY DEFINER.
    #[inline]
    pub(crate) fn enter_routine(&self, desc: &RoutineDesc) -> Option<RoleMark> {
        desc.security_definer.then(|| self.identity.act_as(&self.catalog, self.catalog.owner_of(desc.oid)))
    }

    /// It has ended.
    #[inline]
    pub(crate) fn leave_routine(&self, mark: Option<RoleMark>) {
        if let Some(mark) = mark {
            self.identity.act_no_more(&self.catalog, mark);
        }
    }

    /// Looks whether the current role may cancel or end a session.
    ///
    /// # Errors
    /// 42501.
    pub(crate) fn check_may_signal(&self, pid: i32, verb: &str) -> Result<()> {
        let sessions = self.shared.sessions.all();
        let Some((_, known)) = sessions.into_iter().find(|(id, _)| i32::try_from(*id) == Ok(pid)) else {
            return Ok(());
        };
        let role = self.identity.role_named(&self.catalog, &known.user).unwrap_or(OWNER);
        let denied = |what: String| Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what));
        if self.catalog.is_superuser(role) && !self.identity.is_superuser() {
            return denied(format!("must be a superuser to {verb} superuser {}", object_of(verb)));
        }
        if self.is_member_of(SIGNAL_BACKEND) || self.catalog.has_rights_of(self.identity.current(), role) {
            return Ok(());
        }
        denied(format!(
            "must be a member of the role whose {} is being {verb}{} or member of pg_signal_backend",
            object_of(verb),
            if verb == "cancel" { "ed" } else { "d" },
        ))
    }

    /// The name of a role.
    pub(crate) fn role_name(&self, role: u32) -> String {
        let name = self.identity.name_of(&self.catalog, role);
        name.unwrap_or_else(|| role.to_string())
    }

    /// What kind of thing an object is, as messages about privileges call it, and its name.
    fn called(&self, kind: Option<ObjectKind>, object: u32) -> (&'static str, String) {
        match self.catalog.get(object) {
            Some(Relation::Table(desc)) if desc.is_materialized() => {
                return ("materialized view", desc.name.clone());
            }
            Some(Relation::Table(desc)) => return ("table", desc.name.clone()),
            Some(Relation::View(desc)) => return ("view", desc.name.clone()),
            Some(Relation::Sequence(desc)) => return ("sequence", desc.name.clone()),
            None => {}
        }
        if let Some(desc) = self.catalog.routine(object) {
            let word = if desc.kind == RoutineKind::Procedure { "procedure" } else { "function" };
            return (word, desc.name.clone());
        }
        if let Some((_, name)) = self.catalog.own_type(object) {
            return ("type", name.to_owned());
        }
        if object == PUBLIC_SCHEMA {
            return ("schema", PUBLIC.to_owned());
        }
        if self.catalog.is_database(object) {
            return ("database", self.name_of_database(object));
        }
        let schema = self.catalog.schemas().find(|desc| desc.oid == object);
        (kind.map_or("schema", ObjectKind::word), schema.map_or_else(String::new, |desc| desc.name.clone()))
    }

    /// 42501 for what is not granted.
    #[cold]
    pub(crate) fn denied(&self, kind: ObjectKind, object: u32) -> SqlError {
        let (word, name) = self.called(Some(kind), object);
        SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {word} {name}"))
    }

    /// 42501 for what only the owner may.
    #[cold]
    pub(crate) fn not_owner(&self, object: u32) -> SqlError {
        let (word, name) = self.called(None, object);
        self.not_owner_of(if word == "procedure" { "function" } else { word }, &name)
    }

    /// The same, of what is called so.
    #[cold]
    pub(crate) fn not_owner_of(&self, word: &str, name: &str) -> SqlError {
        SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("must be owner of {word} {name}"))
    }
}

/// What is cancelled, or terminated.
fn object_of(verb: &str) -> &'static str {
    if verb == "cancel" { "query" } else { "process" }
}

/// The session becomes who its settings say.
pub(super) fn follow(identity: &Identity, catalog: &Catalog, settings: &Settings) {
    let get = |name: &str| settings.get(name).unwrap_or_default();
    identity.follow(catalog, get("session_authorization"), get("role"));
}
