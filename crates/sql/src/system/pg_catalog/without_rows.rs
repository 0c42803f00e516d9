//! Catalogs that tools ask for and that have no rows here: what they are about is not there.

use crate::system::Facts;
use crate::system::table::{CHARS, OIDS, Row, SystemCatalog, TEXTS};
use scaledb_types::{Result, Type};

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    Ok(Vec::new())
}

#[rustfmt::skip]
pub(super) const PG_MATVIEWS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_matviews", oid: 12005, rows,
    columns: &[
        ("schemaname", Type::NAME), ("matviewname", Type::NAME), ("matviewowner", Type::NAME),
        ("tablespace", Type::NAME), ("hasindexes", Type::BOOL), ("ispopulated", Type::BOOL),
        ("definition", Type::TEXT),
    ],
};

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
        ("partrelid", Type::OID), ("partstrat", Type::CHAR), ("partnatts", Type::INT2), ("partdefid", Type::OID),
        ("partattrs", Type::INT2VECTOR), ("partclass", Type::OIDVECTOR), ("partcollation", Type::OIDVECTOR),
        ("partexprs", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_POLICY: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_policy", oid: 3256, rows,
    columns: &[
        ("oid", Type::OID), ("polname", Type::NAME), ("polrelid", Type::OID), ("polcmd", Type::CHAR),
        ("polpermissive", Type::BOOL), ("polroles", OIDS), ("polqual", Type::TEXT), ("polwithcheck", Type::TEXT),
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
        ("stxowner", Type::OID), ("stxstattarget", Type::INT4), ("stxkeys", Type::INT2VECTOR), ("stxkind", CHARS),
        ("stxexprs", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_REWRITE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_rewrite", oid: 2618, rows,
    columns: &[
        ("oid", Type::OID), ("rulename", Type::NAME), ("ev_class", Type::OID), ("ev_type", Type::CHAR),
        ("ev_enabled", Type::CHAR), ("is_instead", Type::BOOL),
    ],
};

#[rustfmt::skip]
pub(super) const PG_RANGE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_range", oid: 3541, rows,
    columns: &[
        ("rngtypid", Type::OID), ("rngsubtype", Type::OID), ("rngmultitypid", Type::OID),
        ("rngcollation", Type::OID), ("rngsubopc", Type::OID), ("rngcanonical", Type::REGPROC),
        ("rngsubdiff", Type::REGPROC),
    ],
};

#[rustfmt::skip]
pub(super) const PG_EXTENSION: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_extension", oid: 3079, rows,
    columns: &[
        ("oid", Type::OID), ("extname", Type::NAME), ("extowner", Type::OID), ("extnamespace", Type::OID),
        ("extrelocatable", Type::BOOL), ("extversion", Type::TEXT),
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
        ("srvtype", Type::TEXT), ("srvversion", Type::TEXT),
    ],
};

#[rustfmt::skip]
pub(super) const PG_OPCLASS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_opclass", oid: 2616, rows,
    columns: &[
        ("oid", Type::OID), ("opcmethod", Type::OID), ("opcname", Type::NAME), ("opcnamespace", Type::OID),
        ("opcowner", Type::OID), ("opcfamily", Type::OID), ("opcintype", Type::OID), ("opcdefault", Type::BOOL),
        ("opckeytype", Type::OID),
    ],
};

#[rustfmt::skip]
pub(super) const PG_AUTH_MEMBERS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_auth_members", oid: 1261, rows,
    columns: &[
        ("roleid", Type::OID), ("member", Type::OID), ("grantor", Type::OID), ("admin_option", Type::BOOL),
    ],
};

#[rustfmt::skip]
pub(super) const PG_SHDESCRIPTION: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_shdescription", oid: 2396, rows,
    columns: &[
        ("objoid", Type::OID), ("classoid", Type::OID), ("description", Type::TEXT),
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
pub(super) const PG_DB_ROLE_SETTING: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_db_role_setting", oid: 2964, rows,
    columns: &[
        ("setdatabase", Type::OID), ("setrole", Type::OID), ("setconfig", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_DEFAULT_ACL: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_default_acl", oid: 826, rows,
    columns: &[
        ("oid", Type::OID), ("defaclrole", Type::OID), ("defaclnamespace", Type::OID),
        ("defaclobjtype", Type::CHAR), ("defaclacl", TEXTS),
    ],
};

#[rustfmt::skip]
pub(super) const PG_FOREIGN_DATA_WRAPPER: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_foreign_data_wrapper", oid: 2328, rows,
    columns: &[
        ("oid", Type::OID), ("fdwname", Type::NAME), ("fdwowner", Type::OID), ("fdwhandler", Type::REGPROC),
        ("fdwvalidator", Type::REGPROC), ("fdwacl", TEXTS), ("fdwoptions", TEXTS),
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
        ("oid", Type::OID), ("subdbid", Type::OID), ("subname", Type::NAME), ("subowner", Type::OID),
        ("subenabled", Type::BOOL), ("subconninfo", Type::TEXT), ("subpublications", TEXTS),
    ],
};
