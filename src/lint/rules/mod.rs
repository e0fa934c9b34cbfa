//! The rules, one file each.

use super::Rule;

mod absolute_local_path;
mod action_overwrites_input;
mod application_path_is_file;
mod application_path_leads_nowhere;
mod application_path_missing;
mod application_path_other_cluster;
mod capture_output_not_properties;
mod capture_output_unread;
mod captured_key_misspelt;
mod cleartext_password;
mod cluster_only_library;
mod commented_out_node;
mod configuration_name_malformed;
mod configuration_overrides_global;
mod configuration_value_empty;
mod configuration_value_whitespace;
mod credential_incomplete;
mod custom_action_type;
mod custom_function;
mod decision_case_shadowed;
mod decision_constant;
mod decision_single_target;
mod default_looking_name;
mod delete_outside_application_data;
mod delete_too_broad;
mod deprecated_hadoop_property;
mod deprecated_launcher_property;
mod deprecated_queue_property;
mod disallowed_property;
mod distcp_missing_endpoints;
mod duplicate_configuration_property;
mod duplicate_file_link;
mod duplicate_param;
mod duplicate_parameter;
mod duplicate_property_key;
mod el_in_config_default;
mod element_text_whitespace;
mod email_address_malformed;
mod email_attachment_unsupported;
mod email_recipient_missing;
mod empty_workflow;
mod endless_property;
mod error_skips_join;
mod error_swallowed;
mod external_recipient;
mod failure_reported_as_success;
mod fetched_code;
mod fork_join_check_disabled;
pub(super) mod formatting;
mod fs_empty;
mod fs_move_onto_existing;
mod fs_move_target_scheme;
mod fs_not_atomic;
mod fs_path_relative;
mod fs_path_without_scheme;
mod fs_permissions_malformed;
mod git_destination_not_empty;
mod global_without_effect;
mod hardcoded_cluster_address;
mod hardcoded_name_node;
mod hdfs_only;
mod hive2_jdbc_url;
mod hive_variable_in_script;
mod hue_generated;
mod inconsistent_variable_style;
mod java_main_missing_in_lib;
mod job_tracker_element;
mod job_xml_unreadable;
mod join_single_path;
mod kerberos_credential;
mod kill_after_success;
mod kill_message_uninformative;
mod large_workflow;
mod legacy_action;
mod malformed_class_name;
mod malformed_name_node;
mod malformed_property_value;
mod malformed_resource_manager;
mod malformed_uri;
mod many_kill_nodes;
mod mapreduce_api_mixed;
mod mapreduce_output_missing;
mod missing_application_file;
mod misspelt_class_name;
mod misspelt_distcp_option;
mod misspelt_hadoop_property;
mod misspelt_home_folder;
mod misspelt_oozie_property;
mod misspelt_path;
mod misspelt_spark_option;
mod misspelt_sqoop_option;
mod mixed_line_endings_in_value;
mod name_collision_after_mapping;
mod name_node_missing;
mod name_not_valid_in_target;
mod name_without_quotes;
mod naming_convention;
mod no_equivalent;
mod no_kill_node;
mod no_parameters_section;
mod old_schema;
mod output_not_prepared;
mod output_written_twice;
mod param_without_value;
mod parameter_name_empty;
mod parameter_not_supplied;
mod password_in_application_log;
mod password_on_command_line;
mod plain_http_notification;
mod prepare_deletes_input;
mod prepare_deletes_sibling_output;
mod property_comment_in_value;
mod property_in_quotes;
mod property_stray_sign;
mod property_trailing_space;
mod property_unresolved_reference;
mod property_without_effect_here;
mod property_without_value;
mod queue_not_set;
mod repeated_configuration;
mod repeated_name_node;
mod required_element_empty;
mod resource_manager_missing;
mod retry_of_non_idempotent;
mod retry_out_of_range;
mod script_crlf;
mod script_lint;
mod script_of_another_action;
mod script_parameter_missing;
mod semantics_differ;
mod server_feature_required;
mod several_application_paths;
mod shared_temporary_path;
mod sharelib_name_unknown;
mod shell_env_var_malformed;
mod shell_exec_with_arguments;
mod shell_file_rename_mismatch;
mod shell_injection;
mod shell_quoting_in_argument;
mod shell_script_not_shipped;
mod spark_class_missing;
mod spark_jar_local;
mod spark_master_legacy;
mod spark_mode_contradicts_master;
mod spark_mode_missing;
mod spark_options_quoting;
mod sqoop_command_newlines;
mod sqoop_command_prefix;
mod sqoop_command_quotes;
mod sqoop_query_without_conditions;
mod ssh_action;
mod ssh_host_malformed;
mod ssh_quoting;
mod streaming_and_pipes;
mod subworkflow_configuration_not_propagated;
mod subworkflow_cycle;
mod subworkflow_disallowed_property;
mod subworkflow_not_found;
mod subworkflow_parameters_missing;
mod suppression_without_reason;
mod system_libpath_off;
mod template_residue;
mod typographic_characters;
mod undeclared_parameter;
mod undefined_variable;
mod unneeded_string_function;
mod unused_parameter;
mod unused_property;
mod user_name_in_defaults;
mod user_override;
mod value_of_another_name;
mod variable_without_braces;
mod wide_fork;
mod world_writable;

/// All rules, by group and name.
pub(super) static ALL: &[&Rule] = &[
    // Syntax
    &mixed_line_endings_in_value::RULE,
    // Names
    &duplicate_file_link::RULE,
    &global_without_effect::RULE,
    &missing_application_file::RULE,
    &subworkflow_not_found::RULE,
    // Graph
    &decision_case_shadowed::RULE,
    &decision_constant::RULE,
    &decision_single_target::RULE,
    &empty_workflow::RULE,
    &error_skips_join::RULE,
    &error_swallowed::RULE,
    &failure_reported_as_success::RULE,
    &fork_join_check_disabled::RULE,
    &join_single_path::RULE,
    &kill_after_success::RULE,
    &no_kill_node::RULE,
    &subworkflow_cycle::RULE,
    &wide_fork::RULE,
    // Parameters
    &name_without_quotes::RULE,
    &variable_without_braces::RULE,
    &application_path_is_file::RULE,
    &application_path_leads_nowhere::RULE,
    &application_path_missing::RULE,
    &application_path_other_cluster::RULE,
    &configuration_name_malformed::RULE,
    &configuration_overrides_global::RULE,
    &configuration_value_empty::RULE,
    &configuration_value_whitespace::RULE,
    &credential_incomplete::RULE,
    &deprecated_hadoop_property::RULE,
    &deprecated_launcher_property::RULE,
    &deprecated_queue_property::RULE,
    &disallowed_property::RULE,
    &duplicate_configuration_property::RULE,
    &duplicate_parameter::RULE,
    &duplicate_property_key::RULE,
    &el_in_config_default::RULE,
    &endless_property::RULE,
    &job_xml_unreadable::RULE,
    &malformed_name_node::RULE,
    &malformed_property_value::RULE,
    &malformed_resource_manager::RULE,
    &malformed_uri::RULE,
    &misspelt_hadoop_property::RULE,
    &misspelt_home_folder::RULE,
    &misspelt_oozie_property::RULE,
    &misspelt_path::RULE,
    &no_parameters_section::RULE,
    &parameter_name_empty::RULE,
    &parameter_not_supplied::RULE,
    &property_comment_in_value::RULE,
    &property_in_quotes::RULE,
    &property_stray_sign::RULE,
    &property_trailing_space::RULE,
    &property_unresolved_reference::RULE,
    &property_without_effect_here::RULE,
    &property_without_value::RULE,
    &queue_not_set::RULE,
    &several_application_paths::RULE,
    &sharelib_name_unknown::RULE,
    &system_libpath_off::RULE,
    &typographic_characters::RULE,
    &undeclared_parameter::RULE,
    &undefined_variable::RULE,
    &unused_parameter::RULE,
    &unused_property::RULE,
    &user_name_in_defaults::RULE,
    &value_of_another_name::RULE,
    // Actions
    &absolute_local_path::RULE,
    &action_overwrites_input::RULE,
    &capture_output_not_properties::RULE,
    &capture_output_unread::RULE,
    &captured_key_misspelt::RULE,
    &delete_too_broad::RULE,
    &distcp_missing_endpoints::RULE,
    &duplicate_param::RULE,
    &element_text_whitespace::RULE,
    &email_address_malformed::RULE,
    &email_attachment_unsupported::RULE,
    &email_recipient_missing::RULE,
    &fs_empty::RULE,
    &fs_move_onto_existing::RULE,
    &fs_move_target_scheme::RULE,
    &fs_not_atomic::RULE,
    &fs_path_relative::RULE,
    &fs_path_without_scheme::RULE,
    &fs_permissions_malformed::RULE,
    &git_destination_not_empty::RULE,
    &hive_variable_in_script::RULE,
    &hive2_jdbc_url::RULE,
    &java_main_missing_in_lib::RULE,
    &malformed_class_name::RULE,
    &mapreduce_api_mixed::RULE,
    &mapreduce_output_missing::RULE,
    &misspelt_class_name::RULE,
    &misspelt_distcp_option::RULE,
    &misspelt_spark_option::RULE,
    &misspelt_sqoop_option::RULE,
    &name_node_missing::RULE,
    &output_not_prepared::RULE,
    &output_written_twice::RULE,
    &param_without_value::RULE,
    &prepare_deletes_input::RULE,
    &prepare_deletes_sibling_output::RULE,
    &required_element_empty::RULE,
    &resource_manager_missing::RULE,
    &retry_of_non_idempotent::RULE,
    &retry_out_of_range::RULE,
    &script_crlf::RULE,
    &script_lint::RULE,
    &script_of_another_action::RULE,
    &script_parameter_missing::RULE,
    &shell_env_var_malformed::RULE,
    &shell_exec_with_arguments::RULE,
    &shell_file_rename_mismatch::RULE,
    &shell_quoting_in_argument::RULE,
    &shell_script_not_shipped::RULE,
    &spark_class_missing::RULE,
    &spark_jar_local::RULE,
    &spark_master_legacy::RULE,
    &spark_mode_contradicts_master::RULE,
    &spark_mode_missing::RULE,
    &spark_options_quoting::RULE,
    &sqoop_command_newlines::RULE,
    &sqoop_command_prefix::RULE,
    &sqoop_command_quotes::RULE,
    &sqoop_query_without_conditions::RULE,
    &ssh_host_malformed::RULE,
    &ssh_quoting::RULE,
    &streaming_and_pipes::RULE,
    &subworkflow_configuration_not_propagated::RULE,
    &subworkflow_disallowed_property::RULE,
    &subworkflow_parameters_missing::RULE,
    // Security
    &cleartext_password::RULE,
    &delete_outside_application_data::RULE,
    &external_recipient::RULE,
    &fetched_code::RULE,
    &hardcoded_cluster_address::RULE,
    &hardcoded_name_node::RULE,
    &password_in_application_log::RULE,
    &password_on_command_line::RULE,
    &plain_http_notification::RULE,
    &shared_temporary_path::RULE,
    &shell_injection::RULE,
    &ssh_action::RULE,
    &user_override::RULE,
    &world_writable::RULE,
    // Migration
    &cluster_only_library::RULE,
    &custom_action_type::RULE,
    &custom_function::RULE,
    &hdfs_only::RULE,
    &hue_generated::RULE,
    &job_tracker_element::RULE,
    &kerberos_credential::RULE,
    &legacy_action::RULE,
    &name_collision_after_mapping::RULE,
    &name_not_valid_in_target::RULE,
    &no_equivalent::RULE,
    &old_schema::RULE,
    &semantics_differ::RULE,
    &server_feature_required::RULE,
    &template_residue::RULE,
    // Style
    &commented_out_node::RULE,
    &default_looking_name::RULE,
    &formatting::RULE,
    &inconsistent_variable_style::RULE,
    &kill_message_uninformative::RULE,
    &large_workflow::RULE,
    &many_kill_nodes::RULE,
    &naming_convention::RULE,
    &repeated_configuration::RULE,
    &repeated_name_node::RULE,
    &suppression_without_reason::RULE,
    &unneeded_string_function::RULE,
];
