//! CREATE, ALTER and DROP FUNCTION and PROCEDURE.

use super::super::Session;
use super::alter::depends;
use super::new_name;
use crate::api::{Column, Tag};
use crate::compiled::Action;
use crate::routine::{Names, Piece, Returns, Wanted, load_new, type_of_column};
use scaledb_catalog::{
    Language, ObjectKind, ParameterDesc, ParameterMode, Relation, Returned, RoutineDesc, RoutineKind,
    TableDesc, ViewDesc, of_row_type, row_type,
};
use scaledb_engine::Engine;
use scaledb_parse::routine::{
    AlterRoutine, CreateRoutine, DropRoutines, Kinds, Name, Parameter, RoutineChange, Signature,
};
use scaledb_planner::bind::names::{
    find_relation, is_temporary, no_schema, own_schema, parse_type, shown, split_text,
};
use scaledb_planner::plan::routine::name_of_type;
use scaledb_types::polymorphic::{Polymorphic, check_result};
use scaledb_types::{Base, Context, Result, SqlError, SqlState, Type, find_cast};
use sqlparser::ast::Ident;
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// CREATE FUNCTION and CREATE PROCEDURE.
    ///
    /// # Errors
    /// 42P13 and others for a definition that makes no sense, 42723 for one that is there; what is wrong with the body.
    pub(in crate::session) fn create_routine(&mut self, create: &CreateRoutine) -> Result<Tag> {
        let tag = match create.kind {
            RoutineKind::Function => Tag::plain("CREATE FUNCTION"),
            RoutineKind::Procedure => Tag::plain("CREATE PROCEDURE"),
        };
        self.begin_change()?;
        let (schema, name) = create.name.clone();
        let schema = self.schema_for(schema, false)?;
        if is_temporary(&schema) {
            return Err(SqlError::unsupported("temporary functions are not supported"));
        }
        for (name, _) in &create.settings {
            if name != "search_path" {
                let what = format!("SET {name} in the definition of a function is not supported");
                return Err(SqlError::unsupported(what));
            }
        }
        self.state.check_language(create.language)?;
        if create.leakproof {
            self.check_leakproof()?;
        }
        let parameters = self.parameters(&create.parameters)?;
        let is_array = |oid: u32| {
            let ty = self.state.catalog.type_of_oid(oid);
            ty.is_some_and(|ty| {
                ty.element().is_some() || Polymorphic::of_type(ty).and_then(Polymorphic::element).is_some()
            })
        };
        check_parameters(&parameters, create, &is_array)?;
        let (returns, set) = self.returned(create, &parameters)?;
        self.check_polymorphic(&parameters, returns)?;
        let mut desc = RoutineDesc {
            oid: 0,
            schema,
            name: new_name(&Ident::with_quote('"', name)),
            kind: create.kind,
            parameters,
            returns,
            set,
            language: create.language,
            body: create.body.clone(),
            volatility: create.volatility,
            strict: create.strict,
            security_definer: create.security_definer,
            settings: create.settings.clone(),
            comment: None,
            instance: None,
        };
        if returns == Returned::Trigger && desc.language == Language::Sql {
            let what = "SQL functions cannot return type trigger";
            return Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what));
        }
        let before = {
            let mut others = self.state.catalog.routines_named(&desc.name);
            others.find(|other| other.has_signature_of(&desc)).cloned()
        };
        match &before {
            Some(before) if create.replaces => {
                self.state.check_owner(before.oid)?;
                check_replaces(before, &desc)?;
                desc.oid = before.oid;
                desc.comment.clone_from(&before.comment);
            }
            Some(_) => {
                let what =
                    format!("{} \"{}\" already exists with same argument types", desc.kind.word(), desc.name);
                return Err(SqlError::new(SqlState::DUPLICATE_FUNCTION, what));
            }
            None => desc.oid = self.state.shared.new_oid(),
        }
        // the body is read, and the types of its variables are looked up
        if self.state.settings.borrow().get("check_function_bodies").ok() != Some("off") {
            self.check_body(&desc)?;
        }
        self.put_routine(desc.clone());
        match before {
            Some(before) => self.follow_definition(&before, &desc)?,
            None => self.refuse_captured(&desc)?,
        }
        Ok(tag)
    }

    /// Reads a body, and looks up what it names, as far as its language is compiled before it runs.
    fn check_body(&self, desc: &RoutineDesc) -> Result<()> {
        let loaded = load_new(&self.state.catalog, &self.state.path, desc)?;
        // a call says what it is that is to be looked at
        let open = desc.parameters.iter().any(|parameter| {
            let ty = self.state.catalog.type_of_oid(parameter.type_oid);
            ty.is_some_and(|ty| Polymorphic::of_type(ty).is_some())
        });
        if desc.language == Language::PlPgSql || open {
            return Ok(());
        }
        let pieces = loaded.pieces();
        let last = pieces.len().saturating_sub(1);
        for (number, sql) in pieces.into_iter().enumerate() {
            let names = Names::new(&loaded, &[], sql.scope, sql.visible);
            let types = loaded.types(&[], loaded.width);
            let path = loaded.path.as_deref();
            let piece = Piece {
                text: &sql.text,
                names: Some(&names),
                types,
                wanted: Wanted::Statement,
                path,
                written: None,
            };
            let compiled = self.state.compile_piece(&self.env, &piece)?;
            if matches!(compiled.action, Action::Call(_)) && compiled.columns.is_some() {
                let what = "calling procedures with output arguments is not supported in SQL functions";
                return Err(SqlError::unsupported(what).context(format!("SQL function \"{}\"", desc.name)));
            }
            let columns = compiled.columns.as_deref().unwrap_or_default();
            let (expected, declared) = match &loaded.returns {
                Returns::Value(..) if desc.returns == Returned::Record && !columns.is_empty() => continue,
                Returns::Value(ty, _) => (vec![*ty], ty.sql_name()),
                Returns::Row(fields, _) => (fields.iter().map(|(_, ty)| *ty).collect(), "record".to_owned()),
                Returns::Nothing | Returns::Trigger(_) => continue,
            };
            if number == last {
                check_returned(columns, &expected, &declared)?;
            }
        }
        Ok(())
    }

    fn put_routine(&mut self, desc: RoutineDesc) {
        let (oid, schema) = (desc.oid, desc.schema.clone());
        let is_new = self.state.catalog.routine(oid).is_none();
        self.edit_catalog(|catalog| catalog.put_routine(Arc::new(desc)));
        if is_new {
            self.own(ObjectKind::Routine, oid, Some(&schema));
        }
    }

    /// # Errors
    /// 42P13 for a result or a parameter that is returned of a type that calls do not say.
    fn check_polymorphic(&self, parameters: &[ParameterDesc], returns: Returned) -> Result<()> {
        let type_of = |oid: u32| self.state.catalog.type_of_oid(oid).unwrap_or(Type::TEXT);
        let given = parameters.iter().filter(|parameter| parameter.mode.is_given());
        let given: Vec<Type> = given.map(|parameter| type_of(parameter.type_oid)).collect();
        for parameter in parameters.iter().filter(|parameter| parameter.mode.is_returned()) {
            check_result(type_of(parameter.type_oid), &given)?;
        }
        match returns {
            Returned::Value(oid) => check_result(type_of(oid), &given),
            _ => Ok(()),
        }
    }

    /// The type that a text names.
    fn type_of_text(&self, text: &str) -> Result<Type> {
        if let Some(column) = before_type(text.trim_end()) {
            let (first, last) = column.rsplit_once('.').unwrap_or(("", column));
            let mut names: Vec<String> = Vec::new();
            if let Some((schema, table)) = split_text(first) {
                names.extend(schema);
                names.push(table);
            }
            names.extend(split_text(last).map(|(_, name)| name));
            let ty = type_of_column(&self.state.catalog, &self.state.path, &names)?;
            return Ok(ty.with_typmod(-1));
        }
        // modifiers of parameters and results say nothing
        Ok(parse_type(&self.state.catalog, &self.state.path, text)?.with_typmod(-1))
    }

    /// The type that a text names, and its oid; the name of a table is one of its rows.
    fn type_of_rows(&self, text: &str) -> Result<(Type, u32)> {
        match self.type_of_text(text) {
            Ok(ty) => Ok((ty, ty.oid())),
            Err(error) => match self.table_of_text(text) {
                Some(table) => Ok((Type::RECORD, row_type(table.oid))),
                None => Err(error),
            },
        }
    }

    /// The name and the type of a parameter: its first word may be either.
    fn named_type(&self, parameter: &Parameter) -> Result<(String, Type, u32)> {
        let whole = self.type_of_rows(&parameter.text);
        let (Some(first), false) = (&parameter.first, parameter.rest.is_empty()) else {
            let (ty, oid) = whole?;
            return Ok((String::new(), ty, oid));
        };
        match (whole, self.type_of_rows(&parameter.rest)) {
            (_, Ok((ty, oid))) => Ok((first.clone(), ty, oid)),
            (Ok((ty, oid)), Err(_)) => Ok((String::new(), ty, oid)),
            (Err(_), Err(error)) => Err(error),
        }
    }

    fn parameters(&self, parameters: &[Parameter]) -> Result<Vec<ParameterDesc>> {
        let mut descs = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let (name, ty, oid) = self.named_type(parameter)?;
            if of_row_type(oid).is_none() {
                self.state.check_type(ty)?;
                check_type(ty)?;
            } else if parameter.mode != ParameterMode::In || parameter.default.is_some() {
                let what =
                    "rows of tables are not supported as parameters that are returned or have a default";
                return Err(SqlError::unsupported(what));
            }
            let default = match &parameter.default {
                None => None,
                Some(_) if !parameter.mode.is_given() => {
                    let what = "only input parameters can have default values";
                    return Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what));
                }
                Some(text) => Some(self.default_of_parameter(text, ty)?),
            };
            descs.push(ParameterDesc { name, mode: parameter.mode, type_oid: oid, default });
        }
        Ok(descs)
    }

    /// The default of a parameter as it is kept.
    fn default_of_parameter(&self, text: &str, ty: Type) -> Result<String> {
        let ast = scaledb_parse::expression(text)?;
        let kept = self.kept_expression(&ast.to_string());
        let mut binder =
            scaledb_planner::bind::Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
        let typed = binder.expr(&ast)?;
        if typed.expr.has_subquery() {
            return Err(SqlError::unsupported("cannot use subquery in DEFAULT expression"));
        }
        if Polymorphic::of_type(ty).is_some() {
            // it becomes what a call makes of the type
            return Ok(kept);
        }
        binder.coerce(typed, ty, scaledb_types::Context::Assignment).map_err(|error| match error.code() {
            SqlState::CANNOT_COERCE => SqlError::new(SqlState::DATATYPE_MISMATCH, error.message().to_owned()),
            _ => error,
        })?;
        Ok(kept)
    }

    /// What a routine returns, and whether as many rows as it likes.
    fn returned(&self, create: &CreateRoutine, parameters: &[ParameterDesc]) -> Result<(Returned, bool)> {
        let wrong = |what: &str| SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what.to_owned());
        let by_parameters: Vec<&ParameterDesc> =
            parameters.iter().filter(|parameter| parameter.mode.is_returned()).collect();
        let of_parameters = match by_parameters[..] {
            [] => None,
            // a procedure returns a row, if anything
            [one] if create.kind == RoutineKind::Function => Some(Returned::Value(one.type_oid)),
            _ => Some(Returned::Parameters),
        };
        let Some(returns) = &create.returns else {
            return match (of_parameters, create.kind) {
                (Some(returned), _) => Ok((returned, false)),
                (None, RoutineKind::Procedure) => Ok((Returned::Nothing, false)),
                (None, RoutineKind::Function) => Err(wrong("function result type must be specified")),
            };
        };
        let Some(text) = &returns.ty else {
            return Ok((of_parameters.unwrap_or(Returned::Parameters), true));
        };
        let words = text.to_lowercase();
        if let Some(returned) = of_parameters {
            let matches = match returned {
                Returned::Value(oid) => self.type_of_text(text).is_ok_and(|ty| ty.oid() == oid),
                _ => words == "record",
            };
            let expected = match returned {
                Returned::Value(oid) => {
                    self.state.catalog.type_of_oid(oid).map_or_else(String::new, Type::sql_name)
                }
                _ => "record".to_owned(),
            };
            if !matches {
                let what = format!("function result type must be {expected} because of OUT parameters");
                return Err(wrong(&what));
            }
            return Ok((returned, returns.set));
        }
        match words.as_str() {
            "void" => return Ok((Returned::Nothing, returns.set)),
            "trigger" => {
                if !parameters.is_empty() {
                    return Err(wrong("trigger functions cannot have declared arguments").hint(
                        "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.",
                    ));
                }
                return Ok((Returned::Trigger, false));
            }
            "record" => return Ok((Returned::Record, returns.set)),
            _ => {}
        }
        match self.type_of_text(text) {
            Ok(ty) => {
                self.state.check_type(ty)?;
                check_type(ty)?;
                Ok((Returned::Value(ty.oid()), returns.set))
            }
            Err(error) => match self.table_of_text(text) {
                Some(table) => Ok((Returned::Row(table.oid), returns.set)),
                None => Err(error),
            },
        }
    }

    fn table_of_text(&self, text: &str) -> Option<Arc<TableDesc>> {
        let (schema, name) = split_text(text)?;
        match find_relation(&self.state.catalog, &self.state.path, schema.as_deref(), &name) {
            Some(Relation::Table(table)) => Some(table.clone()),
            _ => None,
        }
    }

    /// The routines of a name, along the path.
    fn routines_of(&self, (schema, name): &Name) -> Result<Vec<Arc<RoutineDesc>>> {
        let (catalog, path) = (&self.state.catalog, &self.state.path);
        let within = match schema {
            Some(schema) => {
                if !scaledb_planner::bind::names::is_schema(catalog, path, schema) {
                    return Err(no_schema(schema));
                }
                own_schema(path, schema).map(|schema| vec![schema.to_owned()]).unwrap_or_default()
            }
            None => path.clone(),
        };
        let found = within.iter().find_map(|schema| {
            let all: Vec<_> =
                catalog.routines_named(name).filter(|desc| desc.schema == *schema).cloned().collect();
            if all.is_empty() { None } else { Some(all) }
        });
        Ok(found.unwrap_or_default())
    }

    /// The routine that a statement names.
    ///
    /// # Errors
    /// 42883 if there is none, 42725 if there are several, 42809 if it is of another kind.
    pub(super) fn routine_named(&self, kinds: Kinds, signature: &Signature) -> Result<Arc<RoutineDesc>> {
        let mut found = self.routines_of(&signature.name)?;
        let shown_name = shown(signature.name.0.as_deref(), &signature.name.1);
        let word = kinds.word();
        let Some(parameters) = &signature.parameters else {
            found.retain(|desc| kinds.has(desc.kind));
            return match found.len() {
                1 => Ok(found.remove(0)),
                0 => {
                    let what = format!("could not find a {word} named \"{}\"", signature.name.1);
                    Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what))
                }
                _ => {
                    let what = format!("{word} name \"{}\" is not unique", signature.name.1);
                    let hint = format!("Specify the argument list to select the {word} unambiguously.");
                    Err(SqlError::new(SqlState::AMBIGUOUS_FUNCTION, what).hint(hint))
                }
            };
        };
        let mut types = Vec::new();
        for parameter in parameters.iter().filter(|parameter| parameter.mode.is_given()) {
            types.push(self.named_type(parameter)?.2);
        }
        let all_given: Vec<u32> = types;
        let by_given =
            found.iter().find(|desc| desc.given().map(|p| p.type_oid).eq(all_given.iter().copied()));
        // where nothing is said of modes, the arguments of a procedure may be all of its parameters
        let may_be_all = kinds != Kinds::Function && parameters.iter().all(|parameter| !parameter.has_mode);
        let has_all = |desc: &&Arc<RoutineDesc>| {
            let all = desc.parameters.iter().map(|p| p.type_oid);
            desc.kind == RoutineKind::Procedure && all.eq(all_given.iter().copied())
        };
        let by_all = found.iter().find(|desc| may_be_all && has_all(desc));
        if let (Some(one), Some(other)) = (by_given, by_all)
            && one.oid != other.oid
        {
            let what = format!("{word} name \"{}\" is not unique", signature.name.1);
            return Err(SqlError::new(SqlState::AMBIGUOUS_FUNCTION, what));
        }
        let name_of = |oid: &u32| name_of_type(&self.state.catalog, *oid).unwrap_or_default();
        let names: Vec<String> = all_given.iter().map(name_of).collect();
        match by_given.or(by_all).cloned() {
            Some(desc) if kinds.has(desc.kind) => Ok(desc),
            Some(desc) => {
                let what = format!("{}({}) is not a {word}", desc.name, names.join(","));
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what))
            }
            None => {
                let what = format!("{word} {shown_name}({}) does not exist", names.join(","));
                Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what))
            }
        }
    }

    /// The only function of a name that triggers may call.
    ///
    /// # Errors
    /// 42883, 42P17.
    pub(super) fn trigger_function(&self, name: &Name) -> Result<Arc<RoutineDesc>> {
        let found = self.routines_of(name)?.into_iter().find(|desc| desc.given().next().is_none());
        let shown_name = shown(name.0.as_deref(), &name.1);
        let Some(desc) = found else {
            let what = format!("function {shown_name}() does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, what));
        };
        if desc.returns != Returned::Trigger {
            let what = format!("function {} must return type trigger", desc.name);
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
        }
        Ok(desc)
    }

    /// DROP FUNCTION and its like.
    ///
    /// # Errors
    /// As [`Session::routine_named`]; 2BP01 if something needs it.
    pub(in crate::session) fn drop_routines(&mut self, drop: &DropRoutines) -> Result<Tag> {
        self.begin_change()?;
        let mut cascaded = Vec::new();
        for signature in &drop.routines {
            let found = match self.routine_named(drop.kinds, signature) {
                Err(error)
                    if drop.if_exists
                        && matches!(
                            error.code(),
                            SqlState::UNDEFINED_FUNCTION
                                | SqlState::INVALID_SCHEMA_NAME
                                | SqlState::UNDEFINED_OBJECT
                        ) =>
                {
                    let what = format!("{}, skipping", error.message().replace("could not find a", "no"));
                    self.skip(&what, SqlState::SUCCESSFUL_COMPLETION);
                    continue;
                }
                found => found?,
            };
            self.check_may_drop(found.oid, &found.schema)?;
            self.check_no_member(found.oid, &format!("{} {}", found.kind.word(), self.signature_of(&found)))?;
            self.drop_routine(&found, drop.cascade, &mut cascaded)?;
        }
        self.tell_of_cascade(&cascaded);
        Ok(Tag::plain(match drop.kinds {
            Kinds::Function => "DROP FUNCTION",
            Kinds::Procedure => "DROP PROCEDURE",
            Kinds::Any => "DROP ROUTINE",
        }))
    }

    /// Drops a routine; with `cascade` what needs it, too, which `cascaded` then names.
    pub(super) fn drop_routine(
        &mut self,
        desc: &RoutineDesc,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        if self.state.catalog.routine(desc.oid).is_none() {
            return Ok(());
        }
        let what = format!("{} {}", desc.kind.word(), self.signature_of(desc));
        self.drop_kept_calls(desc, (&what, cascade), cascaded)?;
        self.drop_policies_that(|policy| policy.uses(desc.oid), &[], (&what, cascade), cascaded)?;
        for view in self.state.catalog.views().cloned().collect::<Vec<_>>() {
            self.drop_calls_of_view(&view, desc, (&what, cascade), cascaded)?;
        }
        for table in self.state.catalog.tables().cloned().collect::<Vec<_>>() {
            let calls = |trigger: &&scaledb_catalog::TriggerDesc| trigger.function == desc.oid;
            let mut changed = (*table).clone();
            for trigger in table.triggers.iter().filter(calls) {
                let user = format!("trigger {} on table {}", trigger.name, table.name);
                if !cascade {
                    return Err(depends(&what, &user));
                }
                cascaded.push(user);
                changed.triggers.retain(|other| other.oid != trigger.oid);
            }
            for position in 0..table.columns.len() {
                if !self.default_calls(&table, position, desc)? {
                    continue;
                }
                let column = &table.columns[position].name;
                let user = format!("default value for column {column} of table {}", table.name);
                if !cascade {
                    return Err(depends(&what, &user));
                }
                cascaded.push(user);
                changed.columns[position].default = None;
            }
            if changed != *table {
                self.check_not_pending(table.oid, "DROP FUNCTION")?;
                self.put(Relation::Table(Arc::new(changed)))?;
            }
        }
        let views: Vec<Relation> =
            self.state.catalog.relations().filter(|other| other.reads(desc.oid)).cloned().collect();
        for view in views {
            let user = format!("{} {}", view.kind(), view.name());
            if !cascade {
                return Err(depends(&what, &user));
            }
            if self.state.catalog.get(view.oid()).is_some() {
                cascaded.push(user);
            }
            self.drop_relation(&view, &[], true, cascaded)?;
        }
        let oid = desc.oid;
        self.edit_catalog(|catalog| {
            catalog.remove_routine(oid);
        });
        Ok(())
    }

    /// Drops the routines that take or return something that goes; without `cascade` it stays.
    pub(super) fn drop_routines_over(
        &mut self,
        what: &str,
        uses: impl Fn(&RoutineDesc) -> bool,
        cascade: bool,
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let users: Vec<_> = self.state.catalog.routines().filter(|desc| uses(desc)).cloned().collect();
        for desc in users {
            let user = format!("{} {}", desc.kind.word(), self.signature_of(&desc));
            if !cascade {
                return Err(depends(what, &user));
            }
            cascaded.push(user);
            self.drop_routine(&desc, true, cascaded)?;
        }
        Ok(())
    }

    /// Drops the triggers and defaults of a view that call a routine, or refuses to.
    fn drop_calls_of_view(
        &mut self,
        view: &Arc<ViewDesc>,
        desc: &RoutineDesc,
        (what, cascade): (&str, bool),
        cascaded: &mut Vec<String>,
    ) -> Result<()> {
        let mut changed = (**view).clone();
        let called = view.triggers.iter().filter(|trigger| trigger.function == desc.oid);
        let mut users: Vec<String> =
            called.map(|trigger| format!("trigger {} on view {}", trigger.name, view.name)).collect();
        changed.triggers.retain(|trigger| trigger.function != desc.oid);
        let table = Arc::new(view.as_table());
        for (number, _) in &view.defaults {
            let at = usize::from(number.unsigned_abs()).saturating_sub(1);
            if at < table.columns.len() && self.default_calls(&table, at, desc)? {
                let column = &table.columns[at].name;
                users.push(format!("default value for column {column} of view {}", view.name));
                changed.defaults.retain(|(known, _)| known != number);
            }
        }
        match users.first() {
            None => return Ok(()),
            Some(user) if !cascade => return Err(depends(what, user)),
            Some(_) => cascaded.append(&mut users),
        }
        self.put(Relation::View(Arc::new(changed)))
    }

    /// The name of a routine with the types of its arguments: `f(integer)`.
    pub(super) fn signature_of(&self, desc: &RoutineDesc) -> String {
        let catalog = &self.state.catalog;
        crate::routine::title(desc, &|oid| name_of_type(catalog, oid).unwrap_or_default())
    }

    /// ALTER FUNCTION and its like.
    ///
    /// # Errors
    /// As [`Session::routine_named`]; 42723, 3F000; 0A000 if something kept names it.
    pub(in crate::session) fn alter_routine(&mut self, alter: &AlterRoutine) -> Result<Tag> {
        self.begin_change()?;
        let found = self.routine_named(alter.kinds, &alter.routine)?;
        let gives = matches!(alter.changes[..], [RoutineChange::Owner(_)]);
        // to give it to whom it belongs changes nothing
        if !gives {
            self.state.check_owner(found.oid)?;
        }
        // its code promises what it does, whatever the descriptor says
        let of_code = |change: &RoutineChange| {
            let of_name = matches!(
                change,
                RoutineChange::Rename(_) | RoutineChange::Schema(_) | RoutineChange::Owner(_)
            );
            !of_name
        };
        if found.language == Language::C && alter.changes.iter().any(of_code) {
            let what = "this change of a function that came with an extension is not supported";
            return Err(SqlError::unsupported(what));
        }
        let mut desc = (*found).clone();
        let users = self.calls_in_views(found.oid);
        let policies = self.named_in_policies(found.oid);
        for change in &alter.changes {
            if found.kind == RoutineKind::Procedure && !change.is_of_procedures() {
                let what = "invalid attribute in procedure definition";
                return Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what));
            }
            match change {
                RoutineChange::Leakproof(true) => self.check_leakproof()?,
                RoutineChange::Leakproof(false) | RoutineChange::Speed(_) => {}
                RoutineChange::Rename(name) => {
                    self.check_may_create_in(&desc.schema)?;
                    self.refuse_defaults(&found)?;
                    desc.name = new_name(&Ident::with_quote('"', name.as_str()));
                    self.check_free_routine(&desc)?;
                }
                RoutineChange::Schema(schema) => {
                    self.refuse_defaults(&found)?;
                    desc.schema = self.schema_for(Some(schema.clone()), false)?;
                    if desc.schema != found.schema {
                        self.check_free_routine(&desc)?;
                    }
                }
                RoutineChange::Owner(name) => {
                    let owner = super::owner::named(name);
                    self.set_owner(ObjectKind::Routine, found.oid, Some(&found.schema), &owner)?;
                }
                RoutineChange::SecurityDefiner(definer) => desc.security_definer = *definer,
                RoutineChange::Volatility(volatility) => desc.volatility = *volatility,
                RoutineChange::Strict(strict) => desc.strict = *strict,
                RoutineChange::Set(name, value) if name == "search_path" => {
                    desc.settings.retain(|(known, _)| known != name);
                    desc.settings.push((name.clone(), value.clone()));
                }
                RoutineChange::Set(name, _) => {
                    let what = format!("SET {name} in the definition of a function is not supported");
                    return Err(SqlError::unsupported(what));
                }
                RoutineChange::Reset(None) => desc.settings.clear(),
                RoutineChange::Reset(Some(name)) => desc.settings.retain(|(known, _)| known != name),
            }
        }
        let name = desc.name.clone();
        let moved = (&found.name, &found.schema) != (&desc.name, &desc.schema);
        self.put_routine(desc.clone());
        if moved {
            self.let_calls_follow(users, &found, &name)?;
            self.let_policies_follow_routine(policies, &found, &name)?;
            self.refuse_captured(&desc)?;
        }
        self.follow_definition(&found, &desc)?;
        Ok(Tag::plain(match alter.kinds {
            Kinds::Function => "ALTER FUNCTION",
            Kinds::Procedure => "ALTER PROCEDURE",
            Kinds::Any => "ALTER ROUTINE",
        }))
    }

    /// Puts a routine into another schema.
    ///
    /// # Errors
    /// 42723; 0A000 if something kept names it.
    pub(super) fn move_routine(&mut self, oid: u32, to: &str) -> Result<()> {
        let Some(found) = self.state.catalog.routine(oid).cloned() else { return Ok(()) };
        let users = self.calls_in_views(oid);
        self.let_policies_find(oid, to)?;
        self.refuse_defaults(&found)?;
        let desc = RoutineDesc { schema: to.to_owned(), ..(*found).clone() };
        self.check_free_routine(&desc)?;
        self.put_routine(desc.clone());
        self.let_calls_follow(users, &found, &found.name)?;
        self.refuse_captured(&desc)
    }

    /// COMMENT ON FUNCTION and its like.
    pub(super) fn comment_on_routine(
        &mut self,
        kinds: Kinds,
        signature: &Signature,
        text: Option<&str>,
    ) -> Result<()> {
        let mut desc = (*self.routine_named(kinds, signature)?).clone();
        self.state.check_owner(desc.oid)?;
        desc.comment = text.filter(|text| !text.is_empty()).map(str::to_owned);
        self.put_routine(desc);
        Ok(())
    }

    /// # Errors
    /// 42501 unless the current role is a superuser.
    fn check_leakproof(&self) -> Result<()> {
        if self.state.identity.is_superuser() {
            return Ok(());
        }
        let what = "only superuser can define a leakproof function";
        Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, what))
    }

    fn check_free_routine(&self, desc: &RoutineDesc) -> Result<()> {
        if self.state.catalog.routines_named(&desc.name).any(|other| other.has_signature_of(desc)) {
            let what = format!(
                "{} {} already exists in schema \"{}\"",
                desc.kind.word(),
                self.signature_of(desc),
                desc.schema
            );
            return Err(SqlError::new(SqlState::DUPLICATE_FUNCTION, what));
        }
        Ok(())
    }

    /// Refuses to give a routine another name while a text that is kept has the one that it has.
    fn refuse_named(&self, desc: &RoutineDesc) -> Result<()> {
        let refused = |by: &str| {
            let what = format!("{by} would not mean the same: it names {}", self.signature_of(desc));
            SqlError::unsupported(what).hint("Drop it, make the change, and make it again.")
        };
        if let Some(view) = self.state.catalog.definitions().find(|view| view.uses.contains(&desc.oid)) {
            return Err(refused(&format!("view \"{}\"", view.name)));
        }
        if let Some((table, policy)) = self.policies_that(|policy| policy.uses(desc.oid)).first() {
            return Err(refused(&format!("policy {} on table {}", policy.name, table.name)));
        }
        self.refuse_defaults(desc)
    }

    /// As [`Self::refuse_named`], of the defaults of tables, and what else they and domains are kept with.
    fn refuse_defaults(&self, desc: &RoutineDesc) -> Result<()> {
        let refused = |by: &str| {
            let what = format!("{by} would not mean the same: it names {}", self.signature_of(desc));
            SqlError::unsupported(what).hint("Drop it, make the change, and make it again.")
        };
        if let Some((_, user)) = self.kept_calls(desc)?.first() {
            return Err(refused(user));
        }
        for table in self.state.catalog.tables() {
            for position in 0..table.columns.len() {
                if self.default_calls(table, position, desc)? {
                    return Err(refused(&format!("a default of table \"{}\"", table.name)));
                }
            }
        }
        Ok(())
    }

    /// Puts the routines of a schema into another one, which has got its name.
    pub(super) fn move_routines(&mut self, from: &str, to: &str) -> Result<()> {
        let moved: Vec<_> =
            self.state.catalog.routines().filter(|desc| desc.schema == from).cloned().collect();
        for desc in moved {
            self.refuse_named(&desc)?;
            let mut desc = (*desc).clone();
            to.clone_into(&mut desc.schema);
            self.put_routine(desc);
        }
        Ok(())
    }
}

/// # Errors
/// Looks whether the columns of the last statement of a function become what it returns.
///
/// # Errors
/// 42P13.
fn check_returned(columns: &[Column], expected: &[Type], declared: &str) -> Result<()> {
    let mismatch = |detail: String| {
        let what = format!("return type mismatch in function declared to return {declared}");
        Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what).detail(detail))
    };
    if columns.len() != expected.len() {
        let detail = match columns.len() {
            0 => "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.",
            _ if expected.len() == 1 => "Final statement must return exactly one column.",
            count if count > expected.len() => "Final statement returns too many columns.",
            _ => "Final statement returns too few columns.",
        };
        return mismatch(detail.to_owned());
    }
    for (number, (column, &to)) in (1..).zip(columns.iter().zip(expected)) {
        let from = if column.ty.base == Base::Unknown { Type::TEXT } else { column.ty };
        if from.same(to) || from.base == Base::Record || find_cast(from, to, Context::Assignment).is_some() {
            continue;
        }
        let actual = from.sql_name();
        return mismatch(match expected.len() {
            1 => format!("Actual return type is {actual}."),
            _ => format!("Final statement returns {actual} instead of {} at column {number}.", to.sql_name()),
        });
    }
    Ok(())
}

/// 0A000, 42P13 for a type that no parameter and no result has.
fn check_type(ty: Type) -> Result<()> {
    match ty.base {
        Base::Record => Err(SqlError::unsupported("parameters and results of type record are not supported")),
        Base::Unknown | Base::Void => {
            let what = format!("PL/pgSQL functions cannot accept type {}", ty.sql_name());
            Err(SqlError::unsupported(what))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// 42P13 for names that are there twice, and for defaults that are followed by parameters without.
fn check_parameters(
    parameters: &[ParameterDesc],
    create: &CreateRoutine,
    is_array: &dyn Fn(u32) -> bool,
) -> Result<()> {
    let wrong = |what: String| Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what));
    let last = parameters.iter().rposition(|parameter| parameter.mode.is_given());
    for (number, parameter) in parameters.iter().enumerate() {
        if parameter.mode == ParameterMode::Variadic {
            if last != Some(number) {
                return wrong("VARIADIC parameter must be the last input parameter".to_owned());
            }
            if create.kind == RoutineKind::Procedure && number + 1 < parameters.len() {
                return wrong("VARIADIC parameter must be the last parameter".to_owned());
            }
            let ty = parameter.type_oid;
            if !is_array(ty) {
                return wrong("VARIADIC parameter must be an array".to_owned());
            }
        }
        // a body in SQL names only what is given: what is returned may be called the same
        let together = |other: &ParameterDesc| {
            let given = other.mode.is_given() && parameter.mode.is_given();
            let returned = other.mode.is_returned() && parameter.mode.is_returned();
            given || returned || create.language != Language::Sql
        };
        let twice = |other: &ParameterDesc| !other.name.is_empty() && other.name == parameter.name;
        if parameters[..number].iter().any(|other| twice(other) && together(other)) {
            return wrong(format!("parameter name \"{}\" used more than once", parameter.name));
        }
        let after_default = parameters[..number].iter().any(|other| other.default.is_some());
        if create.kind == RoutineKind::Procedure && parameter.mode == ParameterMode::Out && after_default {
            let what = "procedure OUT parameters cannot appear after one with a default value";
            return wrong(what.to_owned());
        }
    }
    let given: Vec<_> = parameters.iter().filter(|parameter| parameter.mode.is_given()).collect();
    let first = given.iter().position(|parameter| parameter.default.is_some());
    if first.is_some_and(|first| given[first..].iter().any(|parameter| parameter.default.is_none())) {
        return wrong("input parameters after one with a default value must also have defaults".to_owned());
    }
    Ok(())
}

/// # Errors
/// 42P13, 42809 if a definition cannot take the place of another.
fn check_replaces(before: &RoutineDesc, desc: &RoutineDesc) -> Result<()> {
    let wrong = |what: String| Err(SqlError::new(SqlState::INVALID_FUNCTION_DEFINITION, what));
    if before.kind != desc.kind {
        let what = "cannot change routine kind";
        let detail = format!("\"{}\" is a {}.", before.name, before.kind.word());
        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).detail(detail));
    }
    let columns = |desc: &RoutineDesc| -> Vec<(String, u32, ParameterMode)> {
        desc.returned().map(|p| (p.name.clone(), p.type_oid, p.mode)).collect()
    };
    if before.returns != desc.returns || before.set != desc.set || columns(before) != columns(desc) {
        let hint = format!("Use DROP {} {} first.", desc.kind.word().to_uppercase(), desc.name);
        return Err(SqlError::new(
            SqlState::INVALID_FUNCTION_DEFINITION,
            "cannot change return type of existing function",
        )
        .hint(hint));
    }
    for (old, new) in before.given().zip(desc.given()) {
        if !old.name.is_empty() && old.name != new.name {
            return wrong(format!("cannot change name of input parameter \"{}\"", old.name));
        }
        if old.default.is_some() && new.default.is_none() {
            return wrong("cannot remove parameter defaults from existing function".to_owned());
        }
    }
    Ok(())
}

/// What stands before `%TYPE`, whatever its case.
fn before_type(text: &str) -> Option<&str> {
    let at = text.len().checked_sub("%type".len())?;
    let (head, tail) = (text.get(..at)?, text.get(at..)?);
    tail.eq_ignore_ascii_case("%type").then_some(head)
}
