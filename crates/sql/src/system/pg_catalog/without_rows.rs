//! Catalogs that tools ask for and that have no rows here: what they are about is not there.

use crate::system::Facts;
use crate::system::table::{CHARS, Row, SystemCatalog, TEXTS};
use scaledb_types::{Base, Result, Type};

const NAMES: Type = Type::array_of(Base::Name);
const BOOLS: Type = Type::array_of(Base::Bool);
const FLOATS: Type = Type::array_of(Base::Float4);
const DOUBLES: Type = Type::array_of(Base::Float8);

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    Ok(Vec::new())
}

#[rustfmt::skip]
pub(super) const PG_INHERITS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_inherits", oid: 2611, rows,
    columns: &[
        ("inhrelid", Type::OID), ("inhparent", Type::OID), ("inhseqno", Type::INT4),
        ("inhdetachpending", Type::BOOL),
    ],
};

#[rustfmt::skip]
pub(super) const PG_PARTITIONED_TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_partitioned_table", oid: 3350, rows,
    columns: &[
        ("partrelid", Type::OID), ("partstrat", Type::CHAR), ("partnatts", Type::INT2),
        ("partdefid", Type::OID), ("partattrs", Type::INT2VECTOR), ("partclass", Type::OIDVECTOR),
        ("partcollation", Type::OIDVECTOR), ("partexprs", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_PUBLICATION: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_publication", oid: 6104, rows,
    columns: &[
        ("oid", Type::OID), ("pubname", Type::NAME), ("pubowner", Type::OID), ("puballtables", Type::BOOL),
        ("pubinsert", Type::BOOL), ("pubupdate", Type::BOOL), ("pubdelete", Type::BOOL),
        ("pubtruncate", Type::BOOL), ("pubviaroot", Type::BOOL),
    ],
};

#[rustfmt::skip]
pub(super) const PG_PUBLICATION_REL: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_publication_rel", oid: 6106, rows,
    columns: &[
        ("oid", Type::OID), ("prpubid", Type::OID), ("prrelid", Type::OID), ("prqual", Type::TEXT),
        ("prattrs", Type::INT2VECTOR),
    ],
};

#[rustfmt::skip]
pub(super) const PG_PUBLICATION_NAMESPACE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_publication_namespace", oid: 6237, rows,
    columns: &[
        ("oid", Type::OID), ("pnpubid", Type::OID), ("pnnspid", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STATISTIC_EXT: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_statistic_ext", oid: 3381, rows,
    columns: &[
        ("oid", Type::OID), ("stxrelid", Type::OID), ("stxname", Type::NAME), ("stxnamespace", Type::OID),
        ("stxowner", Type::OID), ("stxstattarget", Type::INT4), ("stxkeys", Type::INT2VECTOR),
        ("stxkind", CHARS), ("stxexprs", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_FOREIGN_TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_foreign_table", oid: 3118, rows,
    columns: &[
        ("ftrelid", Type::OID), ("ftserver", Type::OID), ("ftoptions", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_FOREIGN_SERVER: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_foreign_server", oid: 1417, rows,
    columns: &[
        ("oid", Type::OID), ("srvname", Type::NAME), ("srvowner", Type::OID), ("srvfdw", Type::OID),
        ("srvtype", Type::TEXT), ("srvversion", Type::TEXT), ("srvacl", TEXTS), ("srvoptions", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_OPCLASS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_opclass", oid: 2616, rows,
    columns: &[
        ("oid", Type::OID), ("opcmethod", Type::OID), ("opcname", Type::NAME), ("opcnamespace", Type::OID),
        ("opcowner", Type::OID), ("opcfamily", Type::OID), ("opcintype", Type::OID),
        ("opcdefault", Type::BOOL), ("opckeytype", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_EVENT_TRIGGER: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_event_trigger", oid: 3466, rows,
    columns: &[
        ("oid", Type::OID), ("evtname", Type::NAME), ("evtevent", Type::NAME), ("evtowner", Type::OID),
        ("evtfoid", Type::OID), ("evtenabled", Type::CHAR), ("evttags", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_FOREIGN_DATA_WRAPPER: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_foreign_data_wrapper", oid: 2328, rows,
    columns: &[
        ("oid", Type::OID), ("fdwname", Type::NAME), ("fdwowner", Type::OID), ("fdwhandler", Type::OID),
        ("fdwvalidator", Type::OID), ("fdwacl", TEXTS), ("fdwoptions", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_LARGEOBJECT_METADATA: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_largeobject_metadata", oid: 2995, rows,
    columns: &[
        ("oid", Type::OID), ("lomowner", Type::OID), ("lomacl", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_SUBSCRIPTION: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_subscription", oid: 6100, rows,
    columns: &[
        ("oid", Type::OID), ("subdbid", Type::OID), ("subskiplsn", Type::TEXT), ("subname", Type::NAME),
        ("subowner", Type::OID), ("subenabled", Type::BOOL), ("subbinary", Type::BOOL),
        ("substream", Type::BOOL), ("subtwophasestate", Type::CHAR), ("subdisableonerr", Type::BOOL),
        ("subconninfo", Type::TEXT), ("subslotname", Type::NAME), ("subsynccommit", Type::TEXT),
        ("subpublications", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_AMOP: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_amop", oid: 2602, rows,
    columns: &[
        ("oid", Type::OID), ("amopfamily", Type::OID), ("amoplefttype", Type::OID),
        ("amoprighttype", Type::OID), ("amopstrategy", Type::INT2), ("amoppurpose", Type::CHAR),
        ("amopopr", Type::OID), ("amopmethod", Type::OID), ("amopsortfamily", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_AMPROC: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_amproc", oid: 2603, rows,
    columns: &[
        ("oid", Type::OID), ("amprocfamily", Type::OID), ("amproclefttype", Type::OID),
        ("amprocrighttype", Type::OID), ("amprocnum", Type::INT2), ("amproc", Type::REGPROC),
    ],
};

#[rustfmt::skip]
pub(super) const PG_CONVERSION: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_conversion", oid: 2607, rows,
    columns: &[
        ("oid", Type::OID), ("conname", Type::NAME), ("connamespace", Type::OID), ("conowner", Type::OID),
        ("conforencoding", Type::INT4), ("contoencoding", Type::INT4), ("conproc", Type::REGPROC),
        ("condefault", Type::BOOL),
    ],
};

#[rustfmt::skip]
pub(super) const PG_INIT_PRIVS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_init_privs", oid: 3394, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("objsubid", Type::INT4), ("privtype", Type::CHAR),
        ("initprivs", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_LARGEOBJECT: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_largeobject", oid: 2613, rows,
    columns: &[
        ("loid", Type::OID), ("pageno", Type::INT4), ("data", Type::BYTEA),
    ],
};

#[rustfmt::skip]
pub(super) const PG_OPERATOR: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_operator", oid: 2617, rows,
    columns: &[
        ("oid", Type::OID), ("oprname", Type::NAME), ("oprnamespace", Type::OID), ("oprowner", Type::OID),
        ("oprkind", Type::CHAR), ("oprcanmerge", Type::BOOL), ("oprcanhash", Type::BOOL),
        ("oprleft", Type::OID), ("oprright", Type::OID), ("oprresult", Type::OID), ("oprcom", Type::OID),
        ("oprnegate", Type::OID), ("oprcode", Type::REGPROC), ("oprrest", Type::REGPROC),
        ("oprjoin", Type::REGPROC),
    ],
};

#[rustfmt::skip]
pub(super) const PG_OPFAMILY: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_opfamily", oid: 2753, rows,
    columns: &[
        ("oid", Type::OID), ("opfmethod", Type::OID), ("opfname", Type::NAME), ("opfnamespace", Type::OID),
        ("opfowner", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_PARAMETER_ACL: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_parameter_acl", oid: 6243, rows,
    columns: &[
        ("oid", Type::OID), ("parname", Type::TEXT), ("paracl", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_REPLICATION_ORIGIN: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_replication_origin", oid: 6000, rows,
    columns: &[
        ("roident", Type::OID), ("roname", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_SECLABEL: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_seclabel", oid: 3596, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("objsubid", Type::INT4), ("provider", Type::TEXT),
        ("label", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_SECLABELS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_seclabels", oid: 12030, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("objsubid", Type::INT4), ("objtype", Type::TEXT),
        ("objnamespace", Type::OID), ("objname", Type::TEXT), ("provider", Type::TEXT),
        ("label", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_SHDEPEND: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_shdepend", oid: 1214, rows,
    columns: &[
        ("dbid", Type::OID), ("classid", Type::OID), ("objid", Type::OID), ("objsubid", Type::INT4),
        ("refclassid", Type::OID), ("refobjid", Type::OID), ("deptype", Type::CHAR),
    ],
};

#[rustfmt::skip]
pub(super) const PG_SHSECLABEL: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_shseclabel", oid: 3592, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("provider", Type::TEXT), ("label", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_SUBSCRIPTION_REL: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_subscription_rel", oid: 6102, rows,
    columns: &[
        ("srsubid", Type::OID), ("srrelid", Type::OID), ("srsubstate", Type::CHAR),
        ("srsublsn", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_TRANSFORM: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_transform", oid: 3576, rows,
    columns: &[
        ("oid", Type::OID), ("trftype", Type::OID), ("trflang", Type::OID), ("trffromsql", Type::REGPROC),
        ("trftosql", Type::REGPROC),
    ],
};

#[rustfmt::skip]
pub(super) const PG_TS_CONFIG: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_ts_config", oid: 3602, rows,
    columns: &[
        ("oid", Type::OID), ("cfgname", Type::NAME), ("cfgnamespace", Type::OID), ("cfgowner", Type::OID),
        ("cfgparser", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_TS_CONFIG_MAP: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_ts_config_map", oid: 3603, rows,
    columns: &[
        ("mapcfg", Type::OID), ("maptokentype", Type::INT4), ("mapseqno", Type::INT4),
        ("mapdict", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_TS_DICT: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_ts_dict", oid: 3600, rows,
    columns: &[
        ("oid", Type::OID), ("dictname", Type::NAME), ("dictnamespace", Type::OID),
        ("dictowner", Type::OID), ("dicttemplate", Type::OID), ("dictinitoption", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_TS_PARSER: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_ts_parser", oid: 3601, rows,
    columns: &[
        ("oid", Type::OID), ("prsname", Type::NAME), ("prsnamespace", Type::OID),
        ("prsstart", Type::REGPROC), ("prstoken", Type::REGPROC), ("prsend", Type::REGPROC),
        ("prsheadline", Type::REGPROC), ("prslextype", Type::REGPROC),
    ],
};

#[rustfmt::skip]
pub(super) const PG_TS_TEMPLATE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_ts_template", oid: 3764, rows,
    columns: &[
        ("oid", Type::OID), ("tmplname", Type::NAME), ("tmplnamespace", Type::OID),
        ("tmplinit", Type::REGPROC), ("tmpllexize", Type::REGPROC),
    ],
};

#[rustfmt::skip]
pub(super) const PG_USER_MAPPING: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_user_mapping", oid: 1418, rows,
    columns: &[
        ("oid", Type::OID), ("umuser", Type::OID), ("umserver", Type::OID), ("umoptions", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_USER_MAPPINGS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_user_mappings", oid: 12031, rows,
    columns: &[
        ("umid", Type::OID), ("srvid", Type::OID), ("srvname", Type::NAME), ("umuser", Type::OID),
        ("usename", Type::NAME), ("umoptions", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_RULES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_rules", oid: 12060, rows,
    columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("rulename", Type::NAME),
        ("definition", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_PREPARED_XACTS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_prepared_xacts", oid: 12062, rows,
    columns: &[
        ("transaction", Type::XID), ("gid", Type::TEXT), ("prepared", Type::TIMESTAMPTZ),
        ("owner", Type::NAME), ("database", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STATS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stats", oid: 12063, rows,
    columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("attname", Type::NAME),
        ("inherited", Type::BOOL), ("null_frac", Type::FLOAT4), ("avg_width", Type::INT4),
        ("n_distinct", Type::FLOAT4), ("most_common_vals", Type::TEXT), ("most_common_freqs", FLOATS),
        ("histogram_bounds", Type::TEXT), ("correlation", Type::FLOAT4), ("most_common_elems", Type::TEXT),
        ("most_common_elem_freqs", FLOATS), ("elem_count_histogram", FLOATS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_PUBLICATION_TABLES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_publication_tables", oid: 12064, rows,
    columns: &[
        ("pubname", Type::NAME), ("schemaname", Type::NAME), ("tablename", Type::NAME), ("attnames", NAMES),
        ("rowfilter", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_REPLICATION_SLOTS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_replication_slots", oid: 12065, rows,
    columns: &[
        ("slot_name", Type::NAME), ("plugin", Type::NAME), ("slot_type", Type::TEXT), ("datoid", Type::OID),
        ("database", Type::NAME), ("temporary", Type::BOOL), ("active", Type::BOOL),
        ("active_pid", Type::INT4), ("xmin", Type::XID), ("catalog_xmin", Type::XID),
        ("restart_lsn", Type::TEXT), ("confirmed_flush_lsn", Type::TEXT), ("wal_status", Type::TEXT),
        ("safe_wal_size", Type::INT8), ("two_phase", Type::BOOL),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_REPLICATION: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_replication", oid: 12066, rows,
    columns: &[
        ("pid", Type::INT4), ("usesysid", Type::OID), ("usename", Type::NAME),
        ("application_name", Type::TEXT), ("client_addr", Type::INET), ("client_hostname", Type::TEXT),
        ("client_port", Type::INT4), ("backend_start", Type::TIMESTAMPTZ), ("backend_xmin", Type::XID),
        ("state", Type::TEXT), ("sent_lsn", Type::TEXT), ("write_lsn", Type::TEXT),
        ("flush_lsn", Type::TEXT), ("replay_lsn", Type::TEXT), ("write_lag", Type::INTERVAL),
        ("flush_lag", Type::INTERVAL), ("replay_lag", Type::INTERVAL), ("sync_priority", Type::INT4),
        ("sync_state", Type::TEXT), ("reply_time", Type::TIMESTAMPTZ),
    ],
};

#[rustfmt::skip]
pub(super) const PG_AGGREGATE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_aggregate", oid: 2600, rows,
    columns: &[
        ("aggfnoid", Type::REGPROC), ("aggkind", Type::CHAR), ("aggnumdirectargs", Type::INT2),
        ("aggtransfn", Type::REGPROC), ("aggfinalfn", Type::REGPROC), ("aggcombinefn", Type::REGPROC),
        ("aggserialfn", Type::REGPROC), ("aggdeserialfn", Type::REGPROC), ("aggmtransfn", Type::REGPROC),
        ("aggminvtransfn", Type::REGPROC), ("aggmfinalfn", Type::REGPROC), ("aggfinalextra", Type::BOOL),
        ("aggmfinalextra", Type::BOOL), ("aggfinalmodify", Type::CHAR), ("aggmfinalmodify", Type::CHAR),
        ("aggsortop", Type::OID), ("aggtranstype", Type::OID), ("aggtransspace", Type::INT4),
        ("aggmtranstype", Type::OID), ("aggmtransspace", Type::INT4), ("agginitval", Type::TEXT),
        ("aggminitval", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STATS_EXT: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stats_ext", oid: 12067, rows,
    columns: &[
        ("schemaname", Type::NAME), ("tablename", Type::NAME), ("statistics_schemaname", Type::NAME),
        ("statistics_name", Type::NAME), ("statistics_owner", Type::NAME), ("attnames", NAMES),
        ("exprs", TEXTS), ("kinds", CHARS), ("inherited", Type::BOOL), ("n_distinct", Type::TEXT),
        ("dependencies", Type::TEXT), ("most_common_vals", TEXTS), ("most_common_val_nulls", BOOLS),
        ("most_common_freqs", DOUBLES), ("most_common_base_freqs", DOUBLES),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_WAL_RECEIVER: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_wal_receiver", oid: 12068, rows,
    columns: &[
        ("pid", Type::INT4), ("status", Type::TEXT), ("receive_start_lsn", Type::TEXT),
        ("receive_start_tli", Type::INT4), ("written_lsn", Type::TEXT), ("flushed_lsn", Type::TEXT),
        ("received_tli", Type::INT4), ("last_msg_send_time", Type::TIMESTAMPTZ),
        ("last_msg_receipt_time", Type::TIMESTAMPTZ), ("latest_end_lsn", Type::TEXT),
        ("latest_end_time", Type::TIMESTAMPTZ), ("slot_name", Type::TEXT), ("sender_host", Type::TEXT),
        ("sender_port", Type::INT4), ("conninfo", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_SUBSCRIPTION: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_subscription", oid: 12069, rows,
    columns: &[
        ("subid", Type::OID), ("subname", Type::NAME), ("pid", Type::INT4), ("relid", Type::OID),
        ("received_lsn", Type::TEXT), ("last_msg_send_time", Type::TIMESTAMPTZ),
        ("last_msg_receipt_time", Type::TIMESTAMPTZ), ("latest_end_lsn", Type::TEXT),
        ("latest_end_time", Type::TIMESTAMPTZ),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_PROGRESS_VACUUM: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_progress_vacuum", oid: 12070, rows,
    columns: &[
        ("pid", Type::INT4), ("datid", Type::OID), ("datname", Type::NAME), ("relid", Type::OID),
        ("phase", Type::TEXT), ("heap_blks_total", Type::INT8), ("heap_blks_scanned", Type::INT8),
        ("heap_blks_vacuumed", Type::INT8), ("index_vacuum_count", Type::INT8),
        ("max_dead_tuples", Type::INT8), ("num_dead_tuples", Type::INT8),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_PROGRESS_CREATE_INDEX: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_progress_create_index", oid: 12071, rows,
    columns: &[
        ("pid", Type::INT4), ("datid", Type::OID), ("datname", Type::NAME), ("relid", Type::OID),
        ("index_relid", Type::OID), ("command", Type::TEXT), ("phase", Type::TEXT),
        ("lockers_total", Type::INT8), ("lockers_done", Type::INT8), ("current_locker_pid", Type::INT8),
        ("blocks_total", Type::INT8), ("blocks_done", Type::INT8), ("tuples_total", Type::INT8),
        ("tuples_done", Type::INT8), ("partitions_total", Type::INT8), ("partitions_done", Type::INT8),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_PROGRESS_ANALYZE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_progress_analyze", oid: 12072, rows,
    columns: &[
        ("pid", Type::INT4), ("datid", Type::OID), ("datname", Type::NAME), ("relid", Type::OID),
        ("phase", Type::TEXT), ("sample_blks_total", Type::INT8), ("sample_blks_scanned", Type::INT8),
        ("ext_stats_total", Type::INT8), ("ext_stats_computed", Type::INT8),
        ("child_tables_total", Type::INT8), ("child_tables_done", Type::INT8),
        ("current_child_table_relid", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_USER_FUNCTIONS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_user_functions", oid: 12073, rows,
    columns: &[
        ("funcid", Type::OID), ("schemaname", Type::NAME), ("funcname", Type::NAME), ("calls", Type::INT8),
        ("total_time", Type::FLOAT8), ("self_time", Type::FLOAT8),
    ],
};

#[rustfmt::skip]
pub(super) const PG_STAT_SSL: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_ssl", oid: 12074, rows,
    columns: &[
        ("pid", Type::INT4), ("ssl", Type::BOOL), ("version", Type::TEXT), ("cipher", Type::TEXT),
        ("bits", Type::INT4), ("client_dn", Type::TEXT), ("client_serial", Type::NUMERIC),
        ("issuer_dn", Type::TEXT),
    ],
};
