//! The names of conditions, as EXCEPTION and RAISE have them.

use scaledb_types::SqlState;

/// Those that have no name of their own among the states, or that are other states besides. Sorted.
#[rustfmt::skip]
const FURTHER: [(&str, &[u8; 5]); 122] = [
    ("ambiguous_alias", b"42P09"), ("array_subscript_error", b"2202E"),
    ("branch_transaction_already_active", b"25002"), ("collation_mismatch", b"42P21"),
    ("connection_does_not_exist", b"08003"), ("containing_sql_not_permitted", b"38001"),
    ("database_dropped", b"57P04"), ("datum_version_mismatch", b"22P07"),
    ("dependent_privilege_descriptors_still_exist", b"2B000"), ("diagnostics_exception", b"0Z000"),
    ("duplicate_file", b"58P02"), ("escape_character_conflict", b"2200B"),
    ("event_trigger_protocol_violated", b"39P03"), ("external_routine_exception", b"38000"),
    ("external_routine_invocation_exception", b"39000"), ("fdw_column_name_not_found", b"HV005"),
    ("fdw_dynamic_parameter_value_needed", b"HV002"), ("fdw_error", b"HV000"),
    ("fdw_function_sequence_error", b"HV010"), ("fdw_inconsistent_descriptor_information", b"HV021"),
    ("fdw_invalid_attribute_value", b"HV024"), ("fdw_invalid_column_name", b"HV007"),
    ("fdw_invalid_column_number", b"HV008"), ("fdw_invalid_data_type", b"HV004"),
    ("fdw_invalid_data_type_descriptors", b"HV006"), ("fdw_invalid_descriptor_field_identifier", b"HV091"),
    ("fdw_invalid_handle", b"HV00B"), ("fdw_invalid_option_index", b"HV00C"),
    ("fdw_invalid_option_name", b"HV00D"), ("fdw_invalid_string_format", b"HV00A"),
    ("fdw_invalid_string_length_or_buffer_length", b"HV090"), ("fdw_invalid_use_of_null_pointer", b"HV009"),
    ("fdw_no_schemas", b"HV00P"), ("fdw_option_name_not_found", b"HV00J"), ("fdw_out_of_memory", b"HV001"),
    ("fdw_reply_handle", b"HV00K"), ("fdw_schema_not_found", b"HV00Q"), ("fdw_table_not_found", b"HV00R"),
    ("fdw_too_many_handles", b"HV014"), ("fdw_unable_to_create_execution", b"HV00L"),
    ("fdw_unable_to_create_reply", b"HV00M"), ("fdw_unable_to_establish_connection", b"HV00N"),
    ("floating_point_exception", b"22P01"), ("held_cursor_requires_same_isolation_level", b"25008"),
    ("idle_session_timeout", b"57P05"), ("inappropriate_access_mode_for_branch_transaction", b"25003"),
    ("inappropriate_isolation_level_for_branch_transaction", b"25004"),
    ("indeterminate_collation", b"42P22"), ("index_corrupted", b"XX002"), ("indicator_overflow", b"22022"),
    ("invalid_argument_for_logarithm", b"2201E"), ("invalid_argument_for_nth_value_function", b"22016"),
    ("invalid_argument_for_ntile_function", b"22014"), ("invalid_argument_for_power_function", b"2201F"),
    ("invalid_argument_for_sql_json_datetime_function", b"22031"),
    ("invalid_argument_for_width_bucket_function", b"2201G"),
    ("invalid_character_value_for_cast", b"22018"), ("invalid_cursor_definition", b"42P11"),
    ("invalid_database_definition", b"42P12"), ("invalid_escape_octet", b"2200D"),
    ("invalid_grantor", b"0L000"), ("invalid_indicator_parameter_value", b"22010"),
    ("invalid_json_text", b"22032"), ("invalid_locator_specification", b"0F001"),
    ("invalid_prepared_statement_definition", b"42P14"), ("invalid_role_specification", b"0P000"),
    ("invalid_row_count_in_limit_clause", b"2201W"),
    ("invalid_row_count_in_result_offset_clause", b"2201X"), ("invalid_schema_definition", b"42P15"),
    ("invalid_sql_json_subscript", b"22033"), ("invalid_sqlstate_returned", b"39001"),
    ("invalid_tablesample_argument", b"2202H"), ("invalid_tablesample_repeat", b"2202G"),
    ("invalid_time_zone_displacement_value", b"22009"), ("invalid_transaction_initiation", b"0B000"),
    ("invalid_xml_comment", b"2200S"), ("invalid_xml_content", b"2200N"),
    ("invalid_xml_document", b"2200M"), ("invalid_xml_processing_instruction", b"2200T"),
    ("locator_exception", b"0F000"), ("lock_file_exists", b"F0001"),
    ("modifying_sql_data_not_permitted", b"2F002"), ("modifying_sql_data_not_permitted", b"38002"),
    ("more_than_one_sql_json_item", b"22034"), ("most_specific_type_mismatch", b"2200G"),
    ("no_active_sql_transaction_for_branch_transaction", b"25005"), ("no_sql_json_item", b"22035"),
    ("non_numeric_sql_json_item", b"22036"), ("non_unique_keys_in_a_json_object", b"22037"),
    ("nonstandard_use_of_escape_character", b"22P06"), ("not_an_xml_document", b"2200L"),
    ("null_value_no_indicator_parameter", b"22002"), ("null_value_not_allowed", b"39004"),
    ("operator_intervention", b"57000"), ("prohibited_sql_statement_attempted", b"2F003"),
    ("prohibited_sql_statement_attempted", b"38003"), ("reading_sql_data_not_permitted", b"2F004"),
    ("reading_sql_data_not_permitted", b"38004"),
    ("schema_and_data_statement_mixing_not_supported", b"25007"),
    ("singleton_sql_json_item_required", b"22038"), ("sql_json_array_not_found", b"22039"),
    ("sql_json_item_cannot_be_cast_to_target_type", b"2203G"), ("sql_json_member_not_found", b"2203A"),
    ("sql_json_number_not_found", b"2203B"), ("sql_json_object_not_found", b"2203C"),
    ("sql_json_scalar_required", b"2203F"), ("sql_routine_exception", b"2F000"),
    ("sql_statement_not_yet_complete", b"03000"), ("sqlclient_unable_to_establish_sqlconnection", b"08001"),
    ("sqlserver_rejected_establishment_of_sqlconnection", b"08004"), ("srf_protocol_violated", b"39P02"),
    ("string_data_length_mismatch", b"22026"), ("too_many_json_array_elements", b"2203D"),
    ("too_many_json_object_members", b"2203E"), ("transaction_integrity_constraint_violation", b"40002"),
    ("transaction_resolution_unknown", b"08007"), ("triggered_action_exception", b"09000"),
    ("trim_error", b"22027"), ("undefined_file", b"58P01"), ("unsafe_new_enum_value_usage", b"55P04"),
    ("unterminated_c_string", b"22024"), ("zero_length_character_string", b"2200F"),
];

/// The states of a name; none if it is the name of no condition that is an error.
pub fn states_of(name: &str) -> Vec<SqlState> {
    let is_error = |state: &SqlState| !["00", "01", "02"].contains(&&state.as_str()[..2]);
    let first = SqlState::of_condition(name).filter(is_error);
    let from = FURTHER.partition_point(|(known, _)| *known < name);
    let further = FURTHER[from..].iter().take_while(|(known, _)| *known == name);
    first.into_iter().chain(further.map(|(_, code)| SqlState::new(code))).collect()
}

#[cfg(test)]
mod tests {
    use super::{FURTHER, states_of};

    #[test]
    fn a_name_may_be_that_of_several_conditions() {
        assert!(FURTHER.is_sorted());
        let codes = |name: &str| -> Vec<String> {
            states_of(name).iter().map(|state| state.as_str().to_owned()).collect()
        };
        assert_eq!(codes("prohibited_sql_statement_attempted"), ["2F003", "38003"]);
        assert_eq!(codes("division_by_zero"), ["22012"]);
        assert!(codes("successful_completion").is_empty() && codes("nothing").is_empty());
    }
}
