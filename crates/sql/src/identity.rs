//! Who a session is: the role that has logged in, and the one that it has become.

use scaledb_catalog::{Catalog, OWNER, PREDEFINED};
use std::cell::{Cell, RefCell};

/// Who a session is.
#[derive(Debug)]
pub(crate) struct Identity {
    /// The role that has logged in, and the name that it has given.
    login: u32,
    name: String,
    /// The roles that SET has named, by what they were called then: names may go to others since.
    named: RefCell<Vec<(String, u32)>>,
    /// SET SESSION AUTHORIZATION.
    session: Cell<u32>,
    /// SET ROLE.
    role: Cell<u32>,
    /// The owner of the function that runs, if it is SECURITY DEFINER.
    definer: Cell<Option<u32>>,
    /// Whether the role whose privileges count is a superuser.
    superuser: Cell<bool>,
    /// Whether that has changed since somebody asked.
    changed: Cell<bool>,
}

/// Who the session was before a function of another role began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoleMark(Option<u32>);

/// The oid of no role.
const NOBODY: u32 = u32::MAX;

/// What the first role is called where nobody has logged in as it.
const FIRST: &str = "postgres";

impl Identity {
    /// The role of a name, that of the catalog or else the first one.
    pub(crate) fn new(catalog: &Catalog, name: &str) -> Self {
        let login = catalog.role_named(name).map_or(OWNER, |desc| desc.oid);
        Self {
            login,
            name: name.to_owned(),
            named: RefCell::default(),
            session: Cell::new(login),
            role: Cell::new(login),
            definer: Cell::new(None),
            superuser: Cell::new(catalog.is_superuser(login)),
            changed: Cell::new(true),
        }
    }

    /// No role: it may do nothing.
    pub(crate) fn nobody(name: &str) -> Self {
        let nobody = Self::first(name);
        let Self { session, role, superuser, .. } = &nobody;
        session.set(NOBODY);
        role.set(NOBODY);
        superuser.set(false);
        Self { login: NOBODY, ..nobody }
    }

    /// The first role, by whatever name.
    pub(crate) fn first(name: &str) -> Self {
        Self::new(&Catalog::default(), name)
    }

    /// The role whose privileges count.
    #[inline]
    pub(crate) fn current(&self) -> u32 {
        self.definer.get().unwrap_or(self.role.get())
    }

    /// The role that the session has logged in as, or become by SET SESSION AUTHORIZATION.
    pub(crate) fn session(&self) -> u32 {
        self.session.get()
    }

    /// The role that has logged in.
    pub(crate) fn login(&self) -> u32 {
        self.login
    }

    /// The name that was given at the login.
    pub(crate) fn login_name(&self) -> &str {
        &self.name
    }

    /// Whether a function runs that is SECURITY DEFINER.
    pub(crate) fn is_within_definer(&self) -> bool {
        self.definer.get().is_some()
    }

    /// Whether the role whose privileges count is a superuser.
    #[inline]
    pub(crate) fn is_superuser(&self) -> bool {
        self.superuser.get()
    }

    /// The catalog or the role has changed.
    pub(crate) fn look(&self, catalog: &Catalog) {
        let is = catalog.is_superuser(self.current());
        self.changed.set(self.changed.get() || is != self.superuser.replace(is));
    }

    /// Whether the role whose privileges count has become a superuser, or is none any more, since this was asked last.
    #[inline]
    pub(crate) fn has_changed(&self) -> bool {
        self.changed.get() && self.changed.replace(false)
    }

    /// The session becomes the user and the role of these names.
    pub(crate) fn follow(&self, catalog: &Catalog, session: &str, role: &str) {
        let named = |name: &str| {
            let known = self.named.borrow().iter().find(|(known, _)| known == name).map(|(_, role)| *role);
            known.unwrap_or(NOBODY)
        };
        self.session.set(if session == self.name { self.login } else { named(session) });
        self.role.set(if role == "none" { self.session.get() } else { named(role) });
        self.look(catalog);
    }

    /// A name that SET has for a role means the role that has it now, and goes on to mean it.
    pub(crate) fn name(&self, catalog: &Catalog, name: &str) {
        let mut named = self.named.borrow_mut();
        named.retain(|(known, _)| known != name);
        named.extend(self.role_named(catalog, name).map(|role| (name.to_owned(), role)));
    }

    /// The privileges of a role count from here on: a function of it runs that is SECURITY DEFINER.
    pub(crate) fn act_as(&self, catalog: &Catalog, role: u32) -> RoleMark {
        let before = self.definer.replace(Some(role));
        self.look(catalog);
        RoleMark(before)
    }

    /// The function has ended.
    pub(crate) fn act_no_more(&self, catalog: &Catalog, RoleMark(before): RoleMark) {
        self.definer.set(before);
        self.look(catalog);
    }

    /// The name of the first role.
    fn first_name<'a>(&'a self, catalog: &Catalog) -> &'a str {
        let free = |name: &&str| catalog.role_named(name).is_none();
        if self.login == OWNER {
            return &self.name;
        }
        [FIRST, "scaledb"].into_iter().find(free).unwrap_or("scaledb owner")
    }

    /// The role of a name, if there is one.
    pub(crate) fn role_named(&self, catalog: &Catalog, name: &str) -> Option<u32> {
        if name == self.first_name(catalog) {
            return Some(OWNER);
        }
        let predefined = PREDEFINED.iter().find(|(_, known)| *known == name).map(|(oid, _)| *oid);
        predefined.or_else(|| catalog.role_named(name).map(|desc| desc.oid))
    }

    /// The name of a role, if there is one.
    pub(crate) fn name_of(&self, catalog: &Catalog, role: u32) -> Option<String> {
        if role == OWNER {
            return Some(self.first_name(catalog).to_owned());
        }
        let predefined = PREDEFINED.iter().find(|(oid, _)| *oid == role).map(|(_, name)| (*name).to_owned());
        predefined.or_else(|| catalog.role(role).map(|desc| desc.name.clone()))
    }
}
