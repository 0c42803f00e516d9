//! Functions that ask the session or the catalog.

use scaledb_types::cast::{Context, find_cast};
use scaledb_types::{Base, Type};

/// A function of the session or the catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFn {
    pub name: &'static str,
    result: Type,
    /// For casts between names and oids: from and to.
    pub cast: Option<(Type, Type)>,
}

/// Name, parameters (unknown: anything), result.
type Signature = (&'static str, &'static [Type], Type);

const ANY: Type = Type::UNKNOWN;

#[rustfmt::skip]
const SESSION: &[Signature] = &[
    ("nextval", &[Type::REGCLASS], Type::INT8),
    ("currval", &[Type::REGCLASS], Type::INT8),
    ("lastval", &[], Type::INT8),
    ("setval", &[Type::REGCLASS, Type::INT8], Type::INT8),
    ("setval", &[Type::REGCLASS, Type::INT8, Type::BOOL], Type::INT8),
    ("pg_get_serial_sequence", &[Type::TEXT, Type::TEXT], Type::TEXT),
    ("version", &[], Type::TEXT),
    ("current_database", &[], Type::NAME),
    ("current_catalog", &[], Type::NAME),
    ("current_schema", &[], Type::NAME),
    ("current_schemas", &[Type::BOOL], Type::array_of(Base::Name)),
    ("current_user", &[], Type::NAME),
    ("session_user", &[], Type::NAME),
    ("user", &[], Type::NAME),
    ("current_role", &[], Type::NAME),
    ("current_setting", &[Type::TEXT], Type::TEXT),
    ("current_setting", &[Type::TEXT, Type::BOOL], Type::TEXT),
    ("set_config", &[Type::TEXT, Type::TEXT, Type::BOOL], Type::TEXT),
    ("pg_notify", &[Type::TEXT, Type::TEXT], Type::VOID),
    ("pg_listening_channels", &[], Type::array_of(Base::Text)),
    ("pg_notification_queue_usage", &[], Type::FLOAT8),
    ("pg_backend_pid", &[], Type::INT4),
    ("pg_trigger_depth", &[], Type::INT4),
    ("pg_sleep", &[Type::FLOAT8], Type::VOID),
    ("pg_sleep_for", &[Type::INTERVAL], Type::VOID),
    ("pg_sleep_until", &[Type::TIMESTAMPTZ], Type::VOID),
    ("random", &[], Type::FLOAT8),
    ("setseed", &[Type::FLOAT8], Type::VOID),
    ("current_query", &[], Type::TEXT),
    ("pg_client_encoding", &[], Type::NAME),
    ("pg_blocking_pids", &[Type::INT4], Type::array_of(Base::Int4)),
    ("pg_conf_load_time", &[], Type::TIMESTAMPTZ),
    ("pg_jit_available", &[], Type::BOOL),
    ("pg_cancel_backend", &[Type::INT4], Type::BOOL),
    ("pg_terminate_backend", &[Type::INT4], Type::BOOL),
    ("pg_reload_conf", &[], Type::BOOL),
    ("scaledb_stat_statements_reset", &[], Type::VOID),
    ("pg_is_in_recovery", &[], Type::BOOL),
    ("pg_postmaster_start_time", &[], Type::TIMESTAMPTZ),
    ("txid_current", &[], Type::INT8),
    ("txid_current_if_assigned", &[], Type::INT8),
    ("pg_current_xact_id", &[], Type::INT8),
    ("pg_current_xact_id_if_assigned", &[], Type::INT8),
    ("inet_server_addr", &[], Type::INET),
    ("inet_server_port", &[], Type::INT4),
    ("inet_client_addr", &[], Type::INET),
    ("inet_client_port", &[], Type::INT4),
    ("pg_advisory_lock", &[Type::INT8], Type::VOID),
    ("pg_advisory_lock", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_advisory_lock_shared", &[Type::INT8], Type::VOID),
    ("pg_advisory_lock_shared", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_advisory_xact_lock", &[Type::INT8], Type::VOID),
    ("pg_advisory_xact_lock", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_advisory_xact_lock_shared", &[Type::INT8], Type::VOID),
    ("pg_advisory_xact_lock_shared", &[Type::INT4, Type::INT4], Type::VOID),
    ("pg_try_advisory_lock", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_lock", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_try_advisory_lock_shared", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_lock_shared", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_try_advisory_xact_lock", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_xact_lock", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_try_advisory_xact_lock_shared", &[Type::INT8], Type::BOOL),
    ("pg_try_advisory_xact_lock_shared", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_advisory_unlock", &[Type::INT8], Type::BOOL),
    ("pg_advisory_unlock", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_advisory_unlock_shared", &[Type::INT8], Type::BOOL),
    ("pg_advisory_unlock_shared", &[Type::INT4, Type::INT4], Type::BOOL),
    ("pg_advisory_unlock_all", &[], Type::VOID),
    ("_acl_items", &[Type::array_of(Base::Text)], Type::array_of(Base::Text)),
    ("_sequence_parameters", &[Type::OID], Type::array_of(Base::Text)),
    ("_identified_object", &[Type::OID, Type::OID, Type::INT4], Type::array_of(Base::Text)),
    ("pg_describe_object", &[Type::OID, Type::OID, Type::INT4], Type::TEXT),
    ("pg_sequence_last_value", &[Type::REGCLASS], Type::INT8),
    ("pg_relation_is_updatable", &[Type::REGCLASS, Type::BOOL], Type::INT4),
    ("pg_column_is_updatable", &[Type::REGCLASS, Type::INT2, Type::BOOL], Type::BOOL),
    ("pg_relation_filenode", &[Type::REGCLASS], Type::OID),
    ("row_security_active", &[Type::TEXT], Type::BOOL),
    ("row_security_active", &[Type::OID], Type::BOOL),
    ("acldefault", &[Type::CHAR, Type::OID], Type::array_of(Base::Text)),
    ("pg_my_temp_schema", &[], Type::OID),
    ("pg_is_other_temp_schema", &[Type::OID], Type::BOOL),
    ("pg_table_is_visible", &[Type::OID], Type::BOOL),
    ("pg_type_is_visible", &[Type::OID], Type::BOOL),
    ("pg_function_is_visible", &[Type::OID], Type::BOOL),
    ("pg_operator_is_visible", &[Type::OID], Type::BOOL),
    ("pg_opclass_is_visible", &[Type::OID], Type::BOOL),
    ("pg_opfamily_is_visible", &[Type::OID], Type::BOOL),
    ("pg_conversion_is_visible", &[Type::OID], Type::BOOL),
    ("pg_statistics_obj_is_visible", &[Type::OID], Type::BOOL),
    ("pg_ts_config_is_visible", &[Type::OID], Type::BOOL),
    ("pg_ts_dict_is_visible", &[Type::OID], Type::BOOL),
    ("pg_ts_parser_is_visible", &[Type::OID], Type::BOOL),
    ("pg_ts_template_is_visible", &[Type::OID], Type::BOOL),
    ("pg_get_userbyid", &[Type::OID], Type::NAME),
    ("format_type", &[Type::OID, Type::INT4], Type::TEXT),
    ("pg_get_expr", &[Type::TEXT, Type::OID], Type::TEXT),
    ("pg_get_expr", &[Type::TEXT, Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_indexdef", &[Type::OID], Type::TEXT),
    ("pg_get_indexdef", &[Type::OID, Type::INT4, Type::BOOL], Type::TEXT),
    ("pg_get_constraintdef", &[Type::OID], Type::TEXT),
    ("pg_get_constraintdef", &[Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_viewdef", &[Type::TEXT], Type::TEXT),
    ("pg_get_viewdef", &[Type::OID], Type::TEXT),
    ("pg_get_viewdef", &[Type::TEXT, Type::BOOL], Type::TEXT),
    ("pg_get_viewdef", &[Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_viewdef", &[Type::OID, Type::INT4], Type::TEXT),
    ("pg_get_statisticsobjdef_columns", &[Type::OID], Type::TEXT),
    ("pg_get_ruledef", &[Type::OID], Type::TEXT),
    ("pg_get_ruledef", &[Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_triggerdef", &[Type::OID], Type::TEXT),
    ("pg_get_triggerdef", &[Type::OID, Type::BOOL], Type::TEXT),
    ("pg_get_functiondef", &[Type::OID], Type::TEXT),
    ("pg_get_function_arg_default", &[Type::OID, Type::INT4], Type::TEXT),
    ("pg_get_function_identity_arguments", &[Type::OID], Type::TEXT),
    ("pg_get_function_result", &[Type::OID], Type::TEXT),
    ("pg_get_function_sqlbody", &[Type::OID], Type::TEXT),
    ("pg_get_function_arguments", &[Type::OID], Type::TEXT),
    ("pg_relation_is_publishable", &[Type::REGCLASS], Type::BOOL),
    ("pg_partition_ancestors", &[Type::REGCLASS], Type::REGCLASS),
    ("pg_relation_size", &[Type::REGCLASS], Type::INT8),
    ("pg_relation_size", &[Type::REGCLASS, Type::TEXT], Type::INT8),
    ("pg_total_relation_size", &[Type::REGCLASS], Type::INT8),
    ("pg_table_size", &[Type::REGCLASS], Type::INT8),
    ("pg_indexes_size", &[Type::REGCLASS], Type::INT8),
    ("getdatabaseencoding", &[], Type::NAME),
    ("pg_tablespace_location", &[Type::OID], Type::TEXT),
    ("pg_collation_is_visible", &[Type::OID], Type::BOOL),
    ("pg_database_size", &[ANY], Type::INT8),
    ("pg_tablespace_size", &[Type::NAME], Type::INT8),
    ("pg_tablespace_size", &[Type::OID], Type::INT8),
    ("pg_encoding_to_char", &[Type::INT4], Type::NAME),
    ("pg_char_to_encoding", &[Type::TEXT], Type::INT4),
    ("obj_description", &[Type::OID], Type::TEXT),
    ("obj_description", &[Type::OID, Type::TEXT], Type::TEXT),
    ("col_description", &[Type::OID, Type::INT4], Type::TEXT),
    ("shobj_description", &[Type::OID, Type::TEXT], Type::TEXT),
    ("to_regclass", &[Type::TEXT], Type::REGCLASS),
    ("to_regtype", &[Type::TEXT], Type::REGTYPE),
    ("to_regnamespace", &[Type::TEXT], Type::REGNAMESPACE),
    ("to_regrole", &[Type::TEXT], Type::REGROLE),
    ("to_regproc", &[Type::TEXT], Type::REGPROC),
    ("to_regprocedure", &[Type::TEXT], Type::REGPROCEDURE),
    ("has_table_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_table_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_schema_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_schema_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_database_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_database_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_column_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_column_privilege", &[ANY, ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_any_column_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_any_column_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_sequence_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_sequence_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_function_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_function_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_type_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_type_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("has_language_privilege", &[ANY, Type::TEXT], Type::BOOL),
    ("has_language_privilege", &[ANY, ANY, Type::TEXT], Type::BOOL),
    ("pg_has_role", &[ANY, Type::TEXT], Type::BOOL),
    ("pg_has_role", &[ANY, ANY, Type::TEXT], Type::BOOL),
];

impl SessionFn {
    /// The function of a name that takes arguments of these types, and its parameters; if there is none, one of this
    /// name and number of arguments.
    pub fn find(name: &str, args: &[Type]) -> Option<(Self, &'static [Type])> {
        let mut known = SESSION.iter().filter(|s| s.0 == name && s.1.len() == args.len());
        let takes = |params: &[Type]| {
            params.iter().zip(args).all(|(&param, &arg)| {
                param == arg
                    || param == ANY
                    || arg.base == Base::Unknown
                    || find_cast(arg, param, Context::Implicit).is_some()
            })
        };
        let first = known.clone().next()?;
        let (name, params, result) = known.find(|s| takes(s.1)).unwrap_or(first);
        Some((Self { name, result: *result, cast: None }, params))
    }

    /// Whether a function of a name is one of these.
    pub fn is_named(name: &str) -> bool {
        SESSION.iter().any(|signature| signature.0 == name)
    }

    /// A cast between names and oids.
    pub fn reg_cast(from: Type, to: Type) -> Self {
        Self { name: "cast", result: to, cast: Some((from, to)) }
    }

    /// A column of the key of the row that a cursor is on.
    pub fn current_of(ty: Type) -> Self {
        Self { name: "current_of", result: ty, cast: None }
    }

    /// The name of what an oid means, for a result.
    pub fn name_of(ty: Type) -> Self {
        Self { name: "cast", result: ty, cast: Some((ty, Type::TEXT)) }
    }

    /// Whether it is such a name.
    pub fn is_name(&self) -> bool {
        self.cast.is_some_and(|(from, to)| from == self.result && to == Type::TEXT)
    }

    pub fn result(&self) -> Type {
        self.result
    }

    /// None reads by the worker of the statement.
    pub fn needs_worker(&self) -> bool {
        false
    }

    /// Whether it answers the same within a statement.
    pub fn is_stable(&self) -> bool {
        !matches!(
            self.name,
            "nextval"
                | "setval"
                | "set_config"
                | "currval"
                | "lastval"
                | "pg_sleep"
                | "pg_sleep_for"
                | "pg_sleep_until"
                | "random"
                | "setseed"
                | "pg_notify"
                | "pg_notification_queue_usage"
                | "pg_cancel_backend"
                | "pg_terminate_backend"
                | "pg_reload_conf"
                | "scaledb_stat_statements_reset"
        ) && !self.name.contains("advisory")
    }
}
