//! CREATE, ALTER and DROP EXTENSION.
//!
//! An extension comes with functions, whose descriptors are put into the catalog; nothing drops them but what drops
//! the extension.

use super::super::Session;
use super::new_name;
use crate::api::Tag;
use scaledb_catalog::{
    ExtensionDesc, Language, ObjectKind, ParameterDesc, ParameterMode, Privileges, Returned, RoutineDesc,
    RoutineKind, Volatility,
};
use scaledb_engine::Engine;
use scaledb_extensions::{Extension, Native};
use scaledb_parse::extensions::{CreateExtension, ExtensionStatement};
use scaledb_parse::lex::quoted;
use scaledb_types::{Param, Result, SqlError, SqlState};
use sqlparser::ast::Ident;
use std::sync::Arc;

/// PL/pgSQL, which PostgreSQL has as an extension, is always there.
const PLPGSQL: &str = "plpgsql";

impl<E: Engine> Session<E> {
    /// A statement about extensions.
    ///
    /// # Errors
    /// 0A000 for an extension that there is not; 42704, 42710, 3F000, 42501; 2BP01 while something needs what would go.
    pub(in crate::session) fn change_extensions(&mut self, statement: &ExtensionStatement) -> Result<Tag> {
        self.begin_change()?;
        match statement {
            ExtensionStatement::Create(create) => self.create_extension(create),
            ExtensionStatement::Move { name, schema } => self.move_extension(name, schema),
            ExtensionStatement::Update { name, version } => self.update_extension(name, version.as_deref()),
            ExtensionStatement::Drop { names, if_exists, cascade } => {
                self.drop_extensions(names, *if_exists, *cascade)
            }
        }
    }

    fn create_extension(&mut self, create: &CreateExtension) -> Result<Tag> {
        let tag = Tag::plain("CREATE EXTENSION");
        let name = new_name(&Ident::with_quote('"', create.name.as_str()));
        if name == PLPGSQL || self.state.catalog.extension(&name).is_some() {
            let what = format!("extension \"{name}\" already exists");
            if !create.if_not_exists {
                return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
            }
            self.skip(&format!("{what}, skipping"), SqlState::DUPLICATE_OBJECT);
            return Ok(tag);
        }
        let extension = scaledb_extensions::extension(&name).ok_or_else(|| not_available(&name))?;
        let version = create.version.as_deref().unwrap_or(extension.version);
        if version != extension.version {
            let what = format!(
                "extension \"{name}\" has no installation script nor update path for version \"{version}\""
            );
            return Err(SqlError::invalid_parameter(what));
        }
        let database = self.state.database.oid;
        let allowed = self.state.check_privilege(ObjectKind::Database, database, Privileges::CREATE);
        allowed.map_err(|_| {
            let what = format!("permission denied to create extension \"{name}\"");
            SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what)
                .hint("Must have CREATE privilege on current database to create this extension.")
        })?;
        let schema = self.schema_named(create.schema.clone(), false)?;
        let mut members = Vec::new();
        for native in extension.functions() {
            members.push(self.add_member(extension, native, &schema)?);
        }
        let desc = ExtensionDesc {
            oid: self.state.shared.new_oid(),
            name,
            schema,
            version: extension.version.to_owned(),
            members,
            comment: Some(extension.comment.to_owned()),
        };
        let oid = desc.oid;
        self.edit_catalog(|catalog| catalog.put_extension(Arc::new(desc)));
        let owner = self.state.identity.current();
        self.edit_access(oid, |access| access.owner = owner);
        Ok(tag)
    }

    /// Puts a function of an extension into a schema; its oid.
    fn add_member(&mut self, extension: &Extension, native: &Native, schema: &str) -> Result<u32> {
        let function = &native.function;
        let ty = |param: Param| match param {
            Param::Type(ty) => Ok(ty.oid()),
            _ => Err(SqlError::internal(format!("{} of {} has types", native.symbol, extension.name))),
        };
        let mut parameters = Vec::new();
        for (number, param) in function.params.iter().enumerate() {
            let name = native.names.get(number).copied().unwrap_or_default().to_owned();
            parameters.push(ParameterDesc {
                name,
                mode: ParameterMode::In,
                type_oid: ty(*param)?,
                default: None,
            });
        }
        let desc = RoutineDesc {
            oid: self.state.shared.new_oid(),
            schema: schema.to_owned(),
            name: function.name.to_owned(),
            kind: RoutineKind::Function,
            parameters,
            returns: Returned::Value(ty(function.result)?),
            set: false,
            language: Language::C,
            body: native.symbol.to_owned(),
            volatility: match function.volatility {
                scaledb_types::Volatility::Immutable => Volatility::Immutable,
                scaledb_types::Volatility::Stable => Volatility::Stable,
                scaledb_types::Volatility::Volatile => Volatility::Volatile,
            },
            strict: function.strict,
            security_definer: false,
            settings: Vec::new(),
            comment: None,
            instance: None,
        };
        if self.state.catalog.routines_named(&desc.name).any(|other| other.has_signature_of(&desc)) {
            let what = format!("function \"{}\" already exists with same argument types", desc.name);
            return Err(SqlError::new(SqlState::DUPLICATE_FUNCTION, what));
        }
        let oid = desc.oid;
        self.edit_catalog(|catalog| catalog.put_routine(Arc::new(desc)));
        // whoever may add the extension, its functions are the system's
        if self.state.identity.is_superuser() {
            self.own(ObjectKind::Routine, oid, Some(schema));
        }
        Ok(oid)
    }

    fn extension_named(&self, name: &str) -> Result<Arc<ExtensionDesc>> {
        self.state.catalog.extension(name).cloned().ok_or_else(|| {
            if name == PLPGSQL {
                return SqlError::unsupported("extension \"plpgsql\" cannot be changed: it is built in");
            }
            SqlError::new(SqlState::UNDEFINED_OBJECT, format!("extension \"{name}\" does not exist"))
        })
    }

    fn move_extension(&mut self, name: &str, to: &str) -> Result<Tag> {
        let tag = Tag::plain("ALTER EXTENSION");
        let desc = self.extension_named(name)?;
        self.state.check_owner_as(desc.oid, "extension", name)?;
        let to = self.schema_for(Some(to.to_owned()), false)?;
        if to == desc.schema {
            return Ok(tag);
        }
        for &member in &desc.members {
            self.move_routine(member, &to)?;
        }
        let moved = ExtensionDesc { schema: to, ..(*desc).clone() };
        self.edit_catalog(|catalog| catalog.put_extension(Arc::new(moved)));
        Ok(tag)
    }

    /// The extensions of a schema follow its functions into another one, which has got its name.
    pub(super) fn move_extensions(&mut self, from: &str, to: &str) {
        let moved: Vec<_> =
            self.state.catalog.extensions().filter(|desc| desc.schema == from).cloned().collect();
        for desc in moved {
            let desc = ExtensionDesc { schema: to.to_owned(), ..(*desc).clone() };
            self.edit_catalog(|catalog| catalog.put_extension(Arc::new(desc)));
        }
    }

    fn update_extension(&mut self, name: &str, version: Option<&str>) -> Result<Tag> {
        let desc = self.extension_named(name)?;
        self.state.check_owner_as(desc.oid, "extension", name)?;
        let newest = scaledb_extensions::extension(name).map_or(desc.version.as_str(), |known| known.version);
        let version = version.unwrap_or(newest);
        if version != desc.version {
            let what = format!(
                "extension \"{name}\" has no update path from version \"{}\" to version \"{version}\"",
                desc.version
            );
            return Err(SqlError::invalid_parameter(what));
        }
        let what = format!("version \"{version}\" of extension \"{name}\" is already installed");
        self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
        Ok(Tag::plain("ALTER EXTENSION"))
    }

    fn drop_extensions(&mut self, names: &[String], if_exists: bool, cascade: bool) -> Result<Tag> {
        let mut cascaded = Vec::new();
        for name in names {
            match self.extension_named(name) {
                Err(error) if if_exists && error.code() == SqlState::UNDEFINED_OBJECT => {
                    self.skip(&format!("{}, skipping", error.message()), SqlState::SUCCESSFUL_COMPLETION);
                }
                found => {
                    let desc = found?;
                    self.state.check_owner_as(desc.oid, "extension", name)?;
                    self.drop_extension(&desc, cascade, &mut cascaded)?;
                }
            }
        }
        self.tell_of_cascade(&cascaded);
        Ok(Tag::plain("DROP EXTENSION"))
    }

    /// Drops an extension; with `cascade` what needs it, too, which `cascaded` then names.
    ///
    /// # Errors
    /// 2BP01.
    pub(super) fn drop_extension(
        &mut self,
        desc: &ExtensionDesc,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let mut users = if cascade { Vec::new() } else { self.calls_of_members(desc)? };
        if users.is_empty() {
            users = self.remove_extension(desc)?;
        }
        if !cascade && !users.is_empty() {
            let what =
                format!("cannot drop extension {} because other objects depend on it", quoted(&desc.name));
            let lines: Vec<String> =
                users.iter().map(|(user, member)| format!("{user} depends on {member}")).collect();
            return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what)
                .detail(lines.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        cascaded.extend(users.into_iter().map(|(user, _)| user));
        Ok(())
    }

    /// Removes an extension with its members and all that needs them: what that was, and which member it needed.
    pub(super) fn remove_extension(&mut self, desc: &ExtensionDesc) -> Result<Vec<(String, String)>> {
        let mut users = Vec::new();
        for member in &desc.members {
            let Some(routine) = self.state.catalog.routine(*member).cloned() else { continue };
            let named = format!("function {}", self.signature_of(&routine));
            let mut cascaded = Vec::new();
            self.drop_routine(&routine, true, &mut cascaded)?;
            users.extend(cascaded.into_iter().map(|user| (user, named.clone())));
        }
        self.edit_catalog(|catalog| catalog.remove_extension(&desc.name));
        Ok(users)
    }

    /// What needs members of an extension and does not go with them, and which member it needs.
    fn calls_of_members(&self, desc: &ExtensionDesc) -> Result<Vec<(String, String)>> {
        let mut users = Vec::new();
        let members = desc.members.iter().filter_map(|member| self.state.catalog.routine(*member));
        for routine in members {
            let named = format!("function {}", self.signature_of(routine));
            users.extend(self.kept_calls(routine)?.into_iter().map(|(_, user)| (user, named.clone())));
        }
        Ok(users)
    }

    /// # Errors
    /// 2BP01 for something that came with an extension.
    pub(super) fn check_no_member(&self, object: u32, named: &str) -> Result<()> {
        let Some(extension) = self.state.catalog.extension_of(object) else { return Ok(()) };
        let name = quoted(&extension.name);
        let what = format!("cannot drop {named} because extension {name} requires it");
        Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what)
            .hint(format!("You can drop extension {name} instead.")))
    }

    /// COMMENT ON EXTENSION.
    pub(super) fn comment_on_extension(&mut self, name: &str, text: Option<&str>) -> Result<()> {
        if name == PLPGSQL {
            // it has the one that PostgreSQL gives it
            return Ok(());
        }
        let desc = self.extension_named(name)?;
        self.state.check_owner_as(desc.oid, "extension", name)?;
        let comment = text.filter(|text| !text.is_empty()).map(str::to_owned);
        let desc = ExtensionDesc { comment, ..(*desc).clone() };
        self.edit_catalog(|catalog| catalog.put_extension(Arc::new(desc)));
        Ok(())
    }
}

/// 0A000: there is no such extension.
fn not_available(name: &str) -> SqlError {
    let known: Vec<&str> = scaledb_extensions::ALL.iter().map(|extension| extension.name).collect();
    SqlError::unsupported(format!("extension \"{name}\" is not available"))
        .hint(format!("There are {}, and plpgsql, which is always there.", known.join(", ")))
}
