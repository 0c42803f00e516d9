//! Names and columns of the system catalogs.

use scaledb_types::{Base, Type};

/// A catalog.
pub(super) struct Table {
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    pub(super) oid: u32,
    pub(super) columns: &'static [(&'static str, Type)],
}

const INT2S: Type = Type::array_of(Base::Int2);
const TEXTS: Type = Type::array_of(Base::Text);
const OIDS: Type = Type::array_of(Base::Oid);
const CHARS: Type = Type::array_of(Base::Char);

/// The catalogs, in the order of their numbers.
#[rustfmt::skip]
pub(super) const TABLES: &[Table] = &[
    Table { schema: "pg_catalog", name: "pg_class", oid: 1259, columns: &[
        ("oid", Type::OID), ("relname", Type::NAME), ("relnamespace", Type::OID), ("reltype", Type::OID),
        ("reloftype", Type::OID), ("relowner", Type::OID), ("relam", Type::OID), ("relfilenode", Type::OID),
        ("reltablespace", Type::OID), ("relpages", Type::INT4), ("reltuples", Type::FLOAT4),
        ("relallvisible", Type::INT4), ("reltoastrelid", Type::OID), ("relhasindex", Type::BOOL),
        ("relisshared", Type::BOOL), ("relpersistence", Type::CHAR), ("relkind", Type::CHAR),
        ("relnatts", Type::INT2), ("relchecks", Type::INT2), ("relhasrules", Type::BOOL),
        ("relhastriggers", Type::BOOL), ("relhassubclass", Type::BOOL), ("relrowsecurity", Type::BOOL),
        ("relforcerowsecurity", Type::BOOL), ("relispopulated", Type::BOOL), ("relreplident", Type::CHAR),
        ("relispartition", Type::BOOL), ("relrewrite", Type::OID), ("relfrozenxid", Type::XID),
        ("relminmxid", Type::XID), ("relacl", TEXTS), ("reloptions", TEXTS), ("relpartbound", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_namespace", oid: 2615, columns: &[
        ("oid", Type::OID), ("nspname", Type::NAME), ("nspowner", Type::OID), ("nspacl", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_attribute", oid: 1249, columns: &[
        ("attrelid", Type::OID), ("attname", Type::NAME), ("atttypid", Type::OID), ("attstattarget", Type::INT4),
        ("attlen", Type::INT2), ("attnum", Type::INT2), ("attndims", Type::INT4), ("attcacheoff", Type::INT4),
        ("atttypmod", Type::INT4), ("attbyval", Type::BOOL), ("attalign", Type::CHAR), ("attstorage", Type::CHAR),
        ("attcompression", Type::CHAR), ("attnotnull", Type::BOOL), ("atthasdef", Type::BOOL),
        ("atthasmissing", Type::BOOL), ("attidentity", Type::CHAR), ("attgenerated", Type::CHAR),
        ("attisdropped", Type::BOOL), ("attislocal", Type::BOOL), ("attinhcount", Type::INT4),
        ("attcollation", Type::OID), ("attacl", TEXTS), ("attoptions", TEXTS), ("attfdwoptions", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_type", oid: 1247, columns: &[
        ("oid", Type::OID), ("typname", Type::NAME), ("typnamespace", Type::OID), ("typowner", Type::OID),
        ("typlen", Type::INT2), ("typbyval", Type::BOOL), ("typtype", Type::CHAR), ("typcategory", Type::CHAR),
        ("typispreferred", Type::BOOL), ("typisdefined", Type::BOOL), ("typdelim", Type::CHAR),
        ("typrelid", Type::OID), ("typsubscript", Type::REGPROC), ("typelem", Type::OID), ("typarray", Type::OID),
        ("typinput", Type::REGPROC), ("typoutput", Type::REGPROC), ("typreceive", Type::REGPROC),
        ("typsend", Type::REGPROC), ("typmodin", Type::REGPROC), ("typmodout", Type::REGPROC),
        ("typanalyze", Type::REGPROC), ("typalign", Type::CHAR), ("typstorage", Type::CHAR),
        ("typnotnull", Type::BOOL), ("typbasetype", Type::OID), ("typtypmod", Type::INT4), ("typndims", Type::INT4),
        ("typcollation", Type::OID), ("typdefaultbin", Type::TEXT), ("typdefault", Type::TEXT), ("typacl", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_index", oid: 2610, columns: &[
        ("indexrelid", Type::OID), ("indrelid", Type::OID), ("indnatts", Type::INT2), ("indnkeyatts", Type::INT2),
        ("indisunique", Type::BOOL), ("indnullsnotdistinct", Type::BOOL), ("indisprimary", Type::BOOL),
        ("indisexclusion", Type::BOOL), ("indimmediate", Type::BOOL), ("indisclustered", Type::BOOL),
        ("indisvalid", Type::BOOL), ("indcheckxmin", Type::BOOL), ("indisready", Type::BOOL),
        ("indislive", Type::BOOL), ("indisreplident", Type::BOOL), ("indkey", Type::INT2VECTOR),
        ("indcollation", Type::OIDVECTOR), ("indclass", Type::OIDVECTOR), ("indoption", Type::INT2VECTOR),
        ("indexprs", Type::TEXT), ("indpred", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_constraint", oid: 2606, columns: &[
        ("oid", Type::OID), ("conname", Type::NAME), ("connamespace", Type::OID), ("contype", Type::CHAR),
        ("condeferrable", Type::BOOL), ("condeferred", Type::BOOL), ("convalidated", Type::BOOL),
        ("conrelid", Type::OID), ("contypid", Type::OID), ("conindid", Type::OID), ("conparentid", Type::OID),
        ("confrelid", Type::OID), ("confupdtype", Type::CHAR), ("confdeltype", Type::CHAR),
        ("confmatchtype", Type::CHAR), ("conislocal", Type::BOOL), ("coninhcount", Type::INT4),
        ("connoinherit", Type::BOOL), ("conkey", INT2S), ("confkey", INT2S), ("conpfeqop", OIDS),
        ("conppeqop", OIDS), ("conffeqop", OIDS), ("confdelsetcols", INT2S), ("conexclop", OIDS),
        ("conbin", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_attrdef", oid: 2604, columns: &[
        ("oid", Type::OID), ("adrelid", Type::OID), ("adnum", Type::INT2), ("adbin", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_am", oid: 2601, columns: &[
        ("oid", Type::OID), ("amname", Type::NAME), ("amhandler", Type::REGPROC), ("amtype", Type::CHAR),
    ] },
    Table { schema: "pg_catalog", name: "pg_description", oid: 2609, columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("objsubid", Type::INT4), ("description", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_database", oid: 1262, columns: &[
        ("oid", Type::OID), ("datname", Type::NAME), ("datdba", Type::OID), ("encoding", Type::INT4),
        ("datlocprovider", Type::CHAR), ("datistemplate", Type::BOOL), ("datallowconn", Type::BOOL),
        ("datconnlimit", Type::INT4), ("datfrozenxid", Type::XID), ("datminmxid", Type::XID),
        ("dattablespace", Type::OID), ("datcollate", Type::TEXT), ("datctype", Type::TEXT),
        ("daticulocale", Type::TEXT), ("datcollversion", Type::TEXT), ("datacl", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_roles", oid: 12000, columns: &[
        ("rolname", Type::NAME), ("rolsuper", Type::BOOL), ("rolinherit", Type::BOOL),
        ("rolcreaterole", Type::BOOL), ("rolcreatedb", Type::BOOL), ("rolcanlogin", Type::BOOL),
        ("rolreplication", Type::BOOL), ("rolconnlimit", Type::INT4), ("rolpassword", Type::TEXT),
        ("rolvaliduntil", Type::TIMESTAMPTZ), ("rolbypassrls", Type::BOOL), ("rolconfig", TEXTS),
        ("oid", Type::OID),
    ] },
    Table { schema: "pg_catalog", name: "pg_user", oid: 12001, columns: &[
        ("usename", Type::NAME), ("usesysid", Type::OID), ("usecreatedb", Type::BOOL), ("usesuper", Type::BOOL),
        ("userepl", Type::BOOL), ("usebypassrls", Type::BOOL), ("passwd", Type::TEXT),
        ("valuntil", Type::TIMESTAMPTZ), ("useconfig", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_settings", oid: 12002, columns: &[
        ("name", Type::TEXT), ("setting", Type::TEXT), ("unit", Type::TEXT), ("category", Type::TEXT),
        ("short_desc", Type::TEXT), ("context", Type::TEXT), ("vartype", Type::TEXT), ("source", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_sequence", oid: 2224, columns: &[
        ("seqrelid", Type::OID), ("seqtypid", Type::OID), ("seqstart", Type::INT8), ("seqincrement", Type::INT8),
        ("seqmax", Type::INT8), ("seqmin", Type::INT8), ("seqcache", Type::INT8), ("seqcycle", Type::BOOL),
    ] },
    Table { schema: "pg_catalog", name: "pg_tables", oid: 12003, columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("tableowner", Type::NAME),
        ("tablespace", Type::NAME), ("hasindexes", Type::BOOL), ("hasrules", Type::BOOL),
        ("hastriggers", Type::BOOL), ("rowsecurity", Type::BOOL),
    ] },
    Table { schema: "pg_catalog", name: "pg_views", oid: 12004, columns: &[
        ("schemaname", Type::NAME), ("viewname", Type::NAME), ("viewowner", Type::NAME), ("definition", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_matviews", oid: 12005, columns: &[
        ("schemaname", Type::NAME), ("matviewname", Type::NAME), ("matviewowner", Type::NAME),
        ("tablespace", Type::NAME), ("hasindexes", Type::BOOL), ("ispopulated", Type::BOOL),
        ("definition", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_indexes", oid: 12006, columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("indexname", Type::NAME),
        ("tablespace", Type::NAME), ("indexdef", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_sequences", oid: 12007, columns: &[
        ("schemaname", Type::NAME), ("sequencename", Type::NAME), ("sequenceowner", Type::NAME),
        ("start_value", Type::INT8), ("min_value", Type::INT8), ("max_value", Type::INT8),
        ("increment_by", Type::INT8), ("cycle", Type::BOOL), ("cache_size", Type::INT8), ("last_value", Type::INT8),
    ] },
    Table { schema: "pg_catalog", name: "pg_collation", oid: 3456, columns: &[
        ("oid", Type::OID), ("collname", Type::NAME), ("collnamespace", Type::OID), ("collowner", Type::OID),
        ("collprovider", Type::CHAR), ("collisdeterministic", Type::BOOL), ("collencoding", Type::INT4),
        ("collcollate", Type::TEXT), ("collctype", Type::TEXT), ("colliculocale", Type::TEXT),
        ("collversion", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_inherits", oid: 2611, columns: &[
        ("inhrelid", Type::OID), ("inhparent", Type::OID), ("inhseqno", Type::INT4),
        ("inhdetachpending", Type::BOOL),
    ] },
    Table { schema: "pg_catalog", name: "pg_partitioned_table", oid: 3350, columns: &[
        ("partrelid", Type::OID), ("partstrat", Type::CHAR), ("partnatts", Type::INT2), ("partdefid", Type::OID),
        ("partattrs", Type::INT2VECTOR), ("partclass", Type::OIDVECTOR), ("partcollation", Type::OIDVECTOR),
        ("partexprs", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_policy", oid: 3256, columns: &[
        ("oid", Type::OID), ("polname", Type::NAME), ("polrelid", Type::OID), ("polcmd", Type::CHAR),
        ("polpermissive", Type::BOOL), ("polroles", OIDS), ("polqual", Type::TEXT), ("polwithcheck", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_publication", oid: 6104, columns: &[
        ("oid", Type::OID), ("pubname", Type::NAME), ("pubowner", Type::OID), ("puballtables", Type::BOOL),
        ("pubinsert", Type::BOOL), ("pubupdate", Type::BOOL), ("pubdelete", Type::BOOL),
        ("pubtruncate", Type::BOOL), ("pubviaroot", Type::BOOL),
    ] },
    Table { schema: "pg_catalog", name: "pg_publication_rel", oid: 6106, columns: &[
        ("oid", Type::OID), ("prpubid", Type::OID), ("prrelid", Type::OID), ("prqual", Type::TEXT),
        ("prattrs", Type::INT2VECTOR),
    ] },
    Table { schema: "pg_catalog", name: "pg_publication_namespace", oid: 6237, columns: &[
        ("oid", Type::OID), ("pnpubid", Type::OID), ("pnnspid", Type::OID),
    ] },
    Table { schema: "pg_catalog", name: "pg_statistic_ext", oid: 3381, columns: &[
        ("oid", Type::OID), ("stxrelid", Type::OID), ("stxname", Type::NAME), ("stxnamespace", Type::OID),
        ("stxowner", Type::OID), ("stxstattarget", Type::INT4), ("stxkeys", Type::INT2VECTOR), ("stxkind", CHARS),
        ("stxexprs", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_trigger", oid: 2620, columns: &[
        ("oid", Type::OID), ("tgrelid", Type::OID), ("tgparentid", Type::OID), ("tgname", Type::NAME),
        ("tgfoid", Type::OID), ("tgtype", Type::INT2), ("tgenabled", Type::CHAR), ("tgisinternal", Type::BOOL),
        ("tgconstrrelid", Type::OID), ("tgconstrindid", Type::OID), ("tgconstraint", Type::OID),
        ("tgdeferrable", Type::BOOL), ("tginitdeferred", Type::BOOL), ("tgnargs", Type::INT2),
        ("tgattr", Type::INT2VECTOR), ("tgqual", Type::TEXT), ("tgoldtable", Type::NAME),
        ("tgnewtable", Type::NAME),
    ] },
    Table { schema: "pg_catalog", name: "pg_rewrite", oid: 2618, columns: &[
        ("oid", Type::OID), ("rulename", Type::NAME), ("ev_class", Type::OID), ("ev_type", Type::CHAR),
        ("ev_enabled", Type::CHAR), ("is_instead", Type::BOOL),
    ] },
    Table { schema: "pg_catalog", name: "pg_enum", oid: 3501, columns: &[
        ("oid", Type::OID), ("enumtypid", Type::OID), ("enumsortorder", Type::FLOAT4), ("enumlabel", Type::NAME),
    ] },
    Table { schema: "pg_catalog", name: "pg_range", oid: 3541, columns: &[
        ("rngtypid", Type::OID), ("rngsubtype", Type::OID), ("rngmultitypid", Type::OID),
        ("rngcollation", Type::OID), ("rngsubopc", Type::OID), ("rngcanonical", Type::REGPROC),
        ("rngsubdiff", Type::REGPROC),
    ] },
    Table { schema: "pg_catalog", name: "pg_proc", oid: 1255, columns: &[
        ("oid", Type::OID), ("proname", Type::NAME), ("pronamespace", Type::OID), ("proowner", Type::OID),
        ("prolang", Type::OID), ("prokind", Type::CHAR), ("prorettype", Type::OID),
        ("proargtypes", Type::OIDVECTOR), ("pronargs", Type::INT2), ("proretset", Type::BOOL),
    ] },
    Table { schema: "pg_catalog", name: "pg_tablespace", oid: 1213, columns: &[
        ("oid", Type::OID), ("spcname", Type::NAME), ("spcowner", Type::OID), ("spcacl", TEXTS),
        ("spcoptions", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_depend", oid: 2608, columns: &[
        ("classid", Type::OID), ("objid", Type::OID), ("objsubid", Type::INT4), ("refclassid", Type::OID),
        ("refobjid", Type::OID), ("refobjsubid", Type::INT4), ("deptype", Type::CHAR),
    ] },
    Table { schema: "pg_catalog", name: "pg_extension", oid: 3079, columns: &[
        ("oid", Type::OID), ("extname", Type::NAME), ("extowner", Type::OID), ("extnamespace", Type::OID),
        ("extrelocatable", Type::BOOL), ("extversion", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_foreign_table", oid: 3118, columns: &[
        ("ftrelid", Type::OID), ("ftserver", Type::OID), ("ftoptions", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_foreign_server", oid: 1417, columns: &[
        ("oid", Type::OID), ("srvname", Type::NAME), ("srvowner", Type::OID), ("srvfdw", Type::OID),
        ("srvtype", Type::TEXT), ("srvversion", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_opclass", oid: 2616, columns: &[
        ("oid", Type::OID), ("opcmethod", Type::OID), ("opcname", Type::NAME), ("opcnamespace", Type::OID),
        ("opcowner", Type::OID), ("opcfamily", Type::OID), ("opcintype", Type::OID), ("opcdefault", Type::BOOL),
        ("opckeytype", Type::OID),
    ] },
    Table { schema: "pg_catalog", name: "pg_auth_members", oid: 1261, columns: &[
        ("roleid", Type::OID), ("member", Type::OID), ("grantor", Type::OID), ("admin_option", Type::BOOL),
    ] },
    Table { schema: "pg_catalog", name: "pg_shdescription", oid: 2396, columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("description", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_event_trigger", oid: 3466, columns: &[
        ("oid", Type::OID), ("evtname", Type::NAME), ("evtevent", Type::NAME), ("evtowner", Type::OID),
        ("evtfoid", Type::OID), ("evtenabled", Type::CHAR), ("evttags", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_db_role_setting", oid: 2964, columns: &[
        ("setdatabase", Type::OID), ("setrole", Type::OID), ("setconfig", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_default_acl", oid: 826, columns: &[
        ("oid", Type::OID), ("defaclrole", Type::OID), ("defaclnamespace", Type::OID),
        ("defaclobjtype", Type::CHAR), ("defaclacl", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_foreign_data_wrapper", oid: 2328, columns: &[
        ("oid", Type::OID), ("fdwname", Type::NAME), ("fdwowner", Type::OID), ("fdwhandler", Type::REGPROC),
        ("fdwvalidator", Type::REGPROC), ("fdwacl", TEXTS), ("fdwoptions", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_largeobject_metadata", oid: 2995, columns: &[
        ("oid", Type::OID), ("lomowner", Type::OID), ("lomacl", TEXTS),
    ] },
    Table { schema: "pg_catalog", name: "pg_subscription", oid: 6100, columns: &[
        ("oid", Type::OID), ("subdbid", Type::OID), ("subname", Type::NAME), ("subowner", Type::OID),
        ("subenabled", Type::BOOL), ("subconninfo", Type::TEXT), ("subpublications", TEXTS),
    ] },
    // since when a session is idle is not told: every statement would look at the clock once more for it
    Table { schema: "pg_catalog", name: "pg_stat_activity", oid: 12009, columns: &[
        ("datid", Type::OID), ("datname", Type::NAME), ("pid", Type::INT4),
        ("usesysid", Type::OID), ("usename", Type::NAME), ("application_name", Type::TEXT),
        ("client_addr", Type::TEXT), ("client_hostname", Type::TEXT),
        ("backend_start", Type::TIMESTAMPTZ), ("xact_start", Type::TIMESTAMPTZ), ("query_start", Type::TIMESTAMPTZ),
        ("state_change", Type::TIMESTAMPTZ), ("wait_event_type", Type::TEXT), ("wait_event", Type::TEXT),
        ("state", Type::TEXT), ("query", Type::TEXT), ("backend_type", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "pg_statio_all_tables", oid: 12008, columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME),
    ] },
    Table { schema: "pg_catalog", name: "pg_locks", oid: 12010, columns: &[
        ("locktype", Type::TEXT), ("database", Type::OID), ("relation", Type::OID), ("page", Type::INT4),
        ("tuple", Type::INT2), ("virtualxid", Type::TEXT), ("transactionid", Type::INT8), ("classid", Type::OID),
        ("objid", Type::OID), ("objsubid", Type::INT2), ("virtualtransaction", Type::TEXT), ("pid", Type::INT4),
        ("mode", Type::TEXT), ("granted", Type::BOOL), ("fastpath", Type::BOOL), ("waitstart", Type::TIMESTAMPTZ),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_counters", oid: 12900, columns: &[
        ("name", Type::TEXT), ("value", Type::INT8),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_stat_statements", oid: 12902, columns: &[
        ("queryid", Type::INT8), ("query", Type::TEXT), ("kind", Type::TEXT), ("calls", Type::INT8),
        ("total_exec_time", Type::FLOAT8), ("min_exec_time", Type::FLOAT8), ("max_exec_time", Type::FLOAT8),
        ("mean_exec_time", Type::FLOAT8), ("stddev_exec_time", Type::FLOAT8), ("rows", Type::INT8),
        ("errors", Type::INT8), ("conflicts", Type::INT8), ("retries", Type::INT8),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_stat_statements_info", oid: 12903, columns: &[
        ("statements", Type::INT8), ("evicted", Type::INT8), ("not_counted", Type::INT8),
        ("stats_reset", Type::TIMESTAMPTZ),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_stat_latency", oid: 12904, columns: &[
        ("kind", Type::TEXT), ("up_to_ms", Type::FLOAT8), ("calls", Type::INT8), ("calls_up_to", Type::INT8),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_stat_tables", oid: 12905, columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME), ("rows", Type::INT8),
        ("bytes", Type::INT8), ("rows_inserted", Type::INT8), ("rows_updated", Type::INT8), ("rows_deleted", Type::INT8),
        ("seq_scans", Type::INT8), ("index_scans", Type::INT8), ("conflicts", Type::INT8),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_stat_indexes", oid: 12906, columns: &[
        ("relid", Type::OID), ("indexrelid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME),
        ("indexrelname", Type::NAME), ("scans", Type::INT8), ("entries", Type::INT8), ("bytes", Type::INT8),
        ("conflicts", Type::INT8), ("merges", Type::INT8), ("merged_entries", Type::INT8),
        ("pending_entries", Type::INT8), ("inserted_at_commit", Type::INT8), ("repaired_leaves", Type::INT8),
        ("cleaned", Type::INT8),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_stat_hot_keys", oid: 12907, columns: &[
        ("relid", Type::OID), ("schemaname", Type::NAME), ("relname", Type::NAME), ("indexrelname", Type::NAME),
        ("key", Type::TEXT), ("conflicts", Type::INT8), ("at_least", Type::INT8),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_stat_transactions", oid: 12908, columns: &[
        ("pid", Type::INT4), ("usename", Type::NAME), ("application_name", Type::TEXT), ("state", Type::TEXT),
        ("xact_start", Type::TIMESTAMPTZ), ("seconds", Type::FLOAT8), ("query", Type::TEXT),
    ] },
    Table { schema: "pg_catalog", name: "scaledb_status", oid: 12901, columns: &[
        ("name", Type::TEXT), ("value", Type::TEXT),
    ] },
    Table { schema: "information_schema", name: "tables", oid: 13000, columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("table_type", Type::TEXT), ("self_referencing_column_name", Type::NAME),
        ("reference_generation", Type::TEXT), ("is_insertable_into", Type::TEXT), ("is_typed", Type::TEXT),
        ("commit_action", Type::TEXT),
    ] },
    Table { schema: "information_schema", name: "columns", oid: 13001, columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("ordinal_position", Type::INT4), ("column_default", Type::TEXT),
        ("is_nullable", Type::TEXT), ("data_type", Type::TEXT), ("character_maximum_length", Type::INT4),
        ("character_octet_length", Type::INT4), ("numeric_precision", Type::INT4),
        ("numeric_precision_radix", Type::INT4), ("numeric_scale", Type::INT4), ("datetime_precision", Type::INT4),
        ("interval_type", Type::TEXT), ("collation_name", Type::NAME), ("domain_name", Type::NAME),
        ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME), ("udt_name", Type::NAME),
        ("is_identity", Type::TEXT), ("identity_generation", Type::TEXT), ("is_generated", Type::TEXT),
        ("generation_expression", Type::TEXT), ("is_updatable", Type::TEXT),
    ] },
    Table { schema: "information_schema", name: "schemata", oid: 13002, columns: &[
        ("catalog_name", Type::NAME), ("schema_name", Type::NAME), ("schema_owner", Type::NAME),
    ] },
    Table { schema: "information_schema", name: "table_constraints", oid: 13003, columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME), ("constraint_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("constraint_type", Type::TEXT), ("is_deferrable", Type::TEXT), ("initially_deferred", Type::TEXT),
        ("enforced", Type::TEXT),
    ] },
    Table { schema: "information_schema", name: "key_column_usage", oid: 13004, columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME), ("constraint_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("ordinal_position", Type::INT4),
        ("position_in_unique_constraint", Type::INT4),
    ] },
    Table { schema: "information_schema", name: "views", oid: 13005, columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("view_definition", Type::TEXT),
    ] },
    Table { schema: "information_schema", name: "sequences", oid: 13006, columns: &[
        ("sequence_catalog", Type::NAME), ("sequence_schema", Type::NAME), ("sequence_name", Type::NAME),
        ("data_type", Type::TEXT), ("start_value", Type::TEXT), ("minimum_value", Type::TEXT),
        ("maximum_value", Type::TEXT), ("increment", Type::TEXT), ("cycle_option", Type::TEXT),
    ] },
    Table { schema: "information_schema", name: "constraint_column_usage", oid: 13007, columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME),
    ] },
    Table { schema: "information_schema", name: "referential_constraints", oid: 13008, columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME), ("constraint_name", Type::NAME),
        ("unique_constraint_catalog", Type::NAME), ("unique_constraint_schema", Type::NAME),
        ("unique_constraint_name", Type::NAME), ("match_option", Type::TEXT), ("update_rule", Type::TEXT),
        ("delete_rule", Type::TEXT),
    ] },
];
