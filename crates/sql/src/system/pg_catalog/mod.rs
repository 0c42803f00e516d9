//! The catalogs of `pg_catalog`: what PostgreSQL has there, and the views of this database.

mod pg_am;
mod pg_attrdef;
mod pg_attribute;
mod pg_auth_members;
mod pg_authid;
mod pg_available_extensions;
mod pg_cast;
mod pg_class;
mod pg_collation;
mod pg_constraint;
mod pg_cursors;
mod pg_database;
mod pg_db_role_setting;
mod pg_default_acl;
mod pg_depend;
pub(super) mod pg_description;
mod pg_enum;
mod pg_extension;
mod pg_group;
mod pg_index;
mod pg_indexes;
mod pg_language;
mod pg_locks;
mod pg_matviews;
mod pg_namespace;
mod pg_policy;
mod pg_prepared_statements;
mod pg_proc;
mod pg_range;
mod pg_rewrite;
mod pg_roles;
mod pg_sequence;
mod pg_sequences;
mod pg_settings;
mod pg_shadow;
mod pg_shdescription;
mod pg_stat_activity;
mod pg_stat_database;
mod pg_stat_indexes;
mod pg_stat_tables;
mod pg_statio_all_tables;
mod pg_tables;
mod pg_tablespace;
mod pg_timezones;
mod pg_trigger;
mod pg_type;
mod pg_user;
mod pg_views;
mod scaledb_counters;
mod scaledb_stat_hot_keys;
mod scaledb_stat_indexes;
mod scaledb_stat_latency;
mod scaledb_stat_statements;
mod scaledb_stat_statements_info;
mod scaledb_stat_tables;
mod scaledb_stat_transactions;
mod scaledb_status;
mod without_rows;

pub(super) use pg_collation::COLLATIONS;
pub(super) use pg_constraint::index_of;

use super::table::SystemCatalog;

/// All of them, in the order of their numbers.
pub(super) const TABLES: &[&SystemCatalog] = &[
    &pg_class::TABLE,
    &pg_namespace::TABLE,
    &pg_attribute::TABLE,
    &pg_type::TABLE,
    &pg_index::TABLE,
    &pg_constraint::TABLE,
    &pg_attrdef::TABLE,
    &pg_am::TABLE,
    &pg_description::TABLE,
    &pg_database::TABLE,
    &pg_roles::TABLE,
    &pg_user::TABLE,
    &pg_settings::TABLE,
    &pg_sequence::TABLE,
    &pg_tables::TABLE,
    &pg_views::TABLE,
    &pg_matviews::TABLE,
    &pg_indexes::TABLE,
    &pg_sequences::TABLE,
    &pg_collation::TABLE,
    &without_rows::PG_INHERITS,
    &without_rows::PG_PARTITIONED_TABLE,
    &pg_policy::TABLE,
    &without_rows::PG_PUBLICATION,
    &without_rows::PG_PUBLICATION_REL,
    &without_rows::PG_PUBLICATION_NAMESPACE,
    &without_rows::PG_STATISTIC_EXT,
    &pg_trigger::TABLE,
    &pg_rewrite::TABLE,
    &pg_enum::TABLE,
    &pg_range::TABLE,
    &pg_proc::TABLE,
    &pg_tablespace::TABLE,
    &pg_depend::TABLE,
    &pg_extension::TABLE,
    &without_rows::PG_FOREIGN_TABLE,
    &without_rows::PG_FOREIGN_SERVER,
    &without_rows::PG_OPCLASS,
    &pg_auth_members::TABLE,
    &pg_shdescription::TABLE,
    &without_rows::PG_EVENT_TRIGGER,
    &pg_db_role_setting::TABLE,
    &pg_default_acl::TABLE,
    &without_rows::PG_FOREIGN_DATA_WRAPPER,
    &without_rows::PG_LARGEOBJECT_METADATA,
    &without_rows::PG_SUBSCRIPTION,
    &pg_stat_activity::TABLE,
    &pg_statio_all_tables::TABLE,
    &pg_locks::TABLE,
    &scaledb_counters::TABLE,
    &scaledb_stat_statements::TABLE,
    &scaledb_stat_statements_info::TABLE,
    &scaledb_stat_latency::TABLE,
    &scaledb_stat_tables::TABLE,
    &scaledb_stat_indexes::TABLE,
    &scaledb_stat_hot_keys::TABLE,
    &scaledb_stat_transactions::TABLE,
    &scaledb_status::TABLE,
    &pg_language::TABLE,
    &pg_authid::TABLE,
    &pg_group::TABLE,
    &without_rows::PG_AMOP,
    &without_rows::PG_AMPROC,
    &pg_cast::TABLE,
    &without_rows::PG_CONVERSION,
    &without_rows::PG_INIT_PRIVS,
    &without_rows::PG_LARGEOBJECT,
    &without_rows::PG_OPERATOR,
    &without_rows::PG_OPFAMILY,
    &without_rows::PG_PARAMETER_ACL,
    &without_rows::PG_REPLICATION_ORIGIN,
    &without_rows::PG_SECLABEL,
    &without_rows::PG_SECLABELS,
    &without_rows::PG_SHDEPEND,
    &without_rows::PG_SHSECLABEL,
    &without_rows::PG_SUBSCRIPTION_REL,
    &without_rows::PG_TRANSFORM,
    &without_rows::PG_TS_CONFIG,
    &without_rows::PG_TS_CONFIG_MAP,
    &without_rows::PG_TS_DICT,
    &without_rows::PG_TS_PARSER,
    &without_rows::PG_TS_TEMPLATE,
    &without_rows::PG_USER_MAPPING,
    &without_rows::PG_USER_MAPPINGS,
    &pg_shadow::TABLE,
    &pg_prepared_statements::TABLE,
    &pg_cursors::TABLE,
    &pg_stat_database::TABLE,
    &pg_timezones::PG_TIMEZONE_NAMES,
    &pg_timezones::PG_TIMEZONE_ABBREVS,
    &pg_available_extensions::TABLE,
    &without_rows::PG_RULES,
    &pg_policy::VIEW,
    &without_rows::PG_PREPARED_XACTS,
    &without_rows::PG_STATS,
    &without_rows::PG_PUBLICATION_TABLES,
    &without_rows::PG_REPLICATION_SLOTS,
    &without_rows::PG_STAT_REPLICATION,
    &without_rows::PG_AGGREGATE,
    &without_rows::PG_STATS_EXT,
    &without_rows::PG_STAT_WAL_RECEIVER,
    &without_rows::PG_STAT_SUBSCRIPTION,
    &without_rows::PG_STAT_PROGRESS_VACUUM,
    &without_rows::PG_STAT_PROGRESS_CREATE_INDEX,
    &without_rows::PG_STAT_PROGRESS_ANALYZE,
    &without_rows::PG_STAT_USER_FUNCTIONS,
    &without_rows::PG_STAT_SSL,
    &pg_stat_tables::PG_STAT_ALL_TABLES,
    &pg_stat_tables::PG_STAT_USER_TABLES,
    &pg_stat_tables::PG_STAT_SYS_TABLES,
    &pg_stat_indexes::PG_STAT_ALL_INDEXES,
    &pg_stat_indexes::PG_STAT_USER_INDEXES,
    &pg_stat_indexes::PG_STAT_SYS_INDEXES,
];
