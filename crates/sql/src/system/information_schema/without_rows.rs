//! Views that have no rows here: what they are about is not there.

use super::YES_OR_NO;
use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type};

fn rows(_: &dyn Facts) -> Result<Vec<Row>> {
    Ok(Vec::new())
}

#[rustfmt::skip]
pub(super) const ATTRIBUTES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "attributes", oid: 13040, rows,
    columns: &[
        ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME), ("udt_name", Type::NAME),
        ("attribute_name", Type::NAME), ("ordinal_position", Type::INT4),
        ("attribute_default", Type::VARCHAR), ("is_nullable", YES_OR_NO), ("data_type", Type::VARCHAR),
        ("character_maximum_length", Type::INT4), ("character_octet_length", Type::INT4),
        ("character_set_catalog", Type::NAME), ("character_set_schema", Type::NAME),
        ("character_set_name", Type::NAME), ("collation_catalog", Type::NAME),
        ("collation_schema", Type::NAME), ("collation_name", Type::NAME), ("numeric_precision", Type::INT4),
        ("numeric_precision_radix", Type::INT4), ("numeric_scale", Type::INT4),
        ("datetime_precision", Type::INT4), ("interval_type", Type::VARCHAR),
        ("interval_precision", Type::INT4), ("attribute_udt_catalog", Type::NAME),
        ("attribute_udt_schema", Type::NAME), ("attribute_udt_name", Type::NAME),
        ("scope_catalog", Type::NAME), ("scope_schema", Type::NAME), ("scope_name", Type::NAME),
        ("maximum_cardinality", Type::INT4), ("dtd_identifier", Type::NAME),
        ("is_derived_reference_attribute", YES_OR_NO),
    ],
};

#[rustfmt::skip]
pub(super) const CHECK_CONSTRAINT_ROUTINE_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "check_constraint_routine_usage", oid: 13041, rows,
    columns: &[
        ("constraint_catalog", Type::NAME), ("constraint_schema", Type::NAME),
        ("constraint_name", Type::NAME), ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME),
        ("specific_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const COLUMN_OPTIONS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "column_options", oid: 13043, rows,
    columns: &[
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME), ("option_name", Type::NAME), ("option_value", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const FOREIGN_DATA_WRAPPER_OPTIONS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "foreign_data_wrapper_options", oid: 13047, rows,
    columns: &[
        ("foreign_data_wrapper_catalog", Type::NAME), ("foreign_data_wrapper_name", Type::NAME),
        ("option_name", Type::NAME), ("option_value", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const FOREIGN_DATA_WRAPPERS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "foreign_data_wrappers", oid: 13048, rows,
    columns: &[
        ("foreign_data_wrapper_catalog", Type::NAME), ("foreign_data_wrapper_name", Type::NAME),
        ("authorization_identifier", Type::NAME), ("library_name", Type::VARCHAR),
        ("foreign_data_wrapper_language", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const FOREIGN_SERVER_OPTIONS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "foreign_server_options", oid: 13049, rows,
    columns: &[
        ("foreign_server_catalog", Type::NAME), ("foreign_server_name", Type::NAME),
        ("option_name", Type::NAME), ("option_value", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const FOREIGN_SERVERS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "foreign_servers", oid: 13050, rows,
    columns: &[
        ("foreign_server_catalog", Type::NAME), ("foreign_server_name", Type::NAME),
        ("foreign_data_wrapper_catalog", Type::NAME), ("foreign_data_wrapper_name", Type::NAME),
        ("foreign_server_type", Type::VARCHAR), ("foreign_server_version", Type::VARCHAR),
        ("authorization_identifier", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const FOREIGN_TABLE_OPTIONS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "foreign_table_options", oid: 13051, rows,
    columns: &[
        ("foreign_table_catalog", Type::NAME), ("foreign_table_schema", Type::NAME),
        ("foreign_table_name", Type::NAME), ("option_name", Type::NAME), ("option_value", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const FOREIGN_TABLES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "foreign_tables", oid: 13052, rows,
    columns: &[
        ("foreign_table_catalog", Type::NAME), ("foreign_table_schema", Type::NAME),
        ("foreign_table_name", Type::NAME), ("foreign_server_catalog", Type::NAME),
        ("foreign_server_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const ROLE_UDT_GRANTS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "role_udt_grants", oid: 13053, rows,
    columns: &[
        ("grantor", Type::NAME), ("grantee", Type::NAME), ("udt_catalog", Type::NAME),
        ("udt_schema", Type::NAME), ("udt_name", Type::NAME), ("privilege_type", Type::VARCHAR),
        ("is_grantable", YES_OR_NO),
    ],
};

#[rustfmt::skip]
pub(super) const ROUTINE_COLUMN_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "routine_column_usage", oid: 13054, rows,
    columns: &[
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("routine_catalog", Type::NAME), ("routine_schema", Type::NAME), ("routine_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
        ("column_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const ROUTINE_ROUTINE_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "routine_routine_usage", oid: 13055, rows,
    columns: &[
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("routine_catalog", Type::NAME), ("routine_schema", Type::NAME), ("routine_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const ROUTINE_SEQUENCE_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "routine_sequence_usage", oid: 13056, rows,
    columns: &[
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("routine_catalog", Type::NAME), ("routine_schema", Type::NAME), ("routine_name", Type::NAME),
        ("sequence_catalog", Type::NAME), ("sequence_schema", Type::NAME), ("sequence_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const ROUTINE_TABLE_USAGE: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "routine_table_usage", oid: 13057, rows,
    columns: &[
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("routine_catalog", Type::NAME), ("routine_schema", Type::NAME), ("routine_name", Type::NAME),
        ("table_catalog", Type::NAME), ("table_schema", Type::NAME), ("table_name", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const TRANSFORMS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "transforms", oid: 13058, rows,
    columns: &[
        ("udt_catalog", Type::NAME), ("udt_schema", Type::NAME), ("udt_name", Type::NAME),
        ("specific_catalog", Type::NAME), ("specific_schema", Type::NAME), ("specific_name", Type::NAME),
        ("group_name", Type::NAME), ("transform_type", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const UDT_PRIVILEGES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "udt_privileges", oid: 13059, rows,
    columns: &[
        ("grantor", Type::NAME), ("grantee", Type::NAME), ("udt_catalog", Type::NAME),
        ("udt_schema", Type::NAME), ("udt_name", Type::NAME), ("privilege_type", Type::VARCHAR),
        ("is_grantable", YES_OR_NO),
    ],
};

#[rustfmt::skip]
pub(super) const USER_DEFINED_TYPES: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "user_defined_types", oid: 13060, rows,
    columns: &[
        ("user_defined_type_catalog", Type::NAME), ("user_defined_type_schema", Type::NAME),
        ("user_defined_type_name", Type::NAME), ("user_defined_type_category", Type::VARCHAR),
        ("is_instantiable", YES_OR_NO), ("is_final", YES_OR_NO), ("ordering_form", Type::VARCHAR),
        ("ordering_category", Type::VARCHAR), ("ordering_routine_catalog", Type::NAME),
        ("ordering_routine_schema", Type::NAME), ("ordering_routine_name", Type::NAME),
        ("reference_type", Type::VARCHAR), ("data_type", Type::VARCHAR),
        ("character_maximum_length", Type::INT4), ("character_octet_length", Type::INT4),
        ("character_set_catalog", Type::NAME), ("character_set_schema", Type::NAME),
        ("character_set_name", Type::NAME), ("collation_catalog", Type::NAME),
        ("collation_schema", Type::NAME), ("collation_name", Type::NAME), ("numeric_precision", Type::INT4),
        ("numeric_precision_radix", Type::INT4), ("numeric_scale", Type::INT4),
        ("datetime_precision", Type::INT4), ("interval_type", Type::VARCHAR),
        ("interval_precision", Type::INT4), ("source_dtd_identifier", Type::NAME),
        ("ref_dtd_identifier", Type::NAME),
    ],
};

#[rustfmt::skip]
pub(super) const USER_MAPPING_OPTIONS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "user_mapping_options", oid: 13061, rows,
    columns: &[
        ("authorization_identifier", Type::NAME), ("foreign_server_catalog", Type::NAME),
        ("foreign_server_name", Type::NAME), ("option_name", Type::NAME), ("option_value", Type::VARCHAR),
    ],
};

#[rustfmt::skip]
pub(super) const USER_MAPPINGS: SystemCatalog = SystemCatalog {
    schema: "information_schema", name: "user_mappings", oid: 13062, rows,
    columns: &[
        ("authorization_identifier", Type::NAME), ("foreign_server_catalog", Type::NAME),
        ("foreign_server_name", Type::NAME),
    ],
};
