//! The kinds of findings of the rules for coordinators and bundles.

use crate::diag::{Group, Kind, Level, Safety};

/// Declares kinds: name of the static, rule, group, level, codes, fix, summary. The page is `docs/rules/<rule>.md`.
macro_rules! kinds {
    ($($ident:ident $name:literal $group:ident $level:ident [$($code:literal),*] $fix:expr, $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub(super) static $ident: Kind = Kind {
                name: $name,
                group: Group::$group,
                summary: $summary,
                level: Level::$level,
                since: "0.1.0",
                oozie: &[$($code),*],
                fix: $fix,
                page: include_str!(concat!("../../../docs/rules/", $name, ".md")),
            };
        )*

        /// Every kind of finding of this module.
        pub static KINDS: &[&Kind] = &[$(&$ident),*];
    };
}

const SAFE: Option<Safety> = Some(Safety::Safe);
const GUESS: Option<Safety> = Some(Safety::Guess);

kinds! {
    SUBMISSION_REFUSED "submission-refused" Data Error ["E0700", "E0701", "E0702", "E0738", "E0739", "E0803", "E1001", "E1002", "E1003", "E1004", "E1021", "E1301", "E1310", "E1319"] None, "the server refuses the submission of a coordinator or bundle";
    START_NOT_BEFORE_END "start-not-before-end" Time Error ["E1003"] None, "the start is not before the end";
    DATE_FORMAT "date-format" Time Error ["E1003"] SAFE, "a date is not in the server's format";
    DATE_IN_DST_GAP "date-in-dst-gap" Time Warning [] None, "a start whose local time does not exist or exists twice, because clocks change";
    HARDCODED_START_OR_END "hardcoded-start-or-end" Time Info [] None, "a literal date in the definition";
    MATERIALIZES_NOTHING "materializes-nothing" Time Error ["E1003"] None, "there is no nominal time between start and end";
    END_IN_PAST "end-in-past" Time Info [] None, "the end has passed";
    START_FAR_IN_PAST "start-far-in-past" Time Info [] None, "a start so long ago that the job first catches up on thousands of actions";
    FREQUENCY_BARE_NUMBER "frequency-bare-number" Time Warning [] GUESS, "a frequency without a unit, which means minutes";
    FREQUENCY_TOO_FAST "frequency-too-fast" Time Error ["E1003"] None, "a frequency under five minutes";
    FIXED_HOURS_FOR_A_DAY "fixed-hours-for-a-day" Time Warning [] GUESS, "a frequency of 24 hours is not a day where clocks change";
    FIXED_DAYS_FOR_A_MONTH "fixed-days-for-a-month" Time Info [] GUESS, "a frequency of 28, 30 or 31 days is not a month";
    CALENDAR_FREQUENCY_IN_UTC "calendar-frequency-in-utc" Time Info [] None, "days or months in UTC do not follow daylight saving time";
    SUB_DAILY_FREQUENCY_IN_DST_ZONE "sub-daily-frequency-in-dst-zone" Time Info [] None, "a frequency under a day is not adjusted where clocks change";
    CRON_EACH_MINUTE "cron-each-minute" Time Warning [] None, "a cron expression that fires every minute of an hour";
    CRON_FIELD_COUNT "cron-field-count" Time Error ["E1003"] None, "a cron expression without exactly five fields";
    CRON_UNPARSABLE "cron-unparsable" Time Error ["E1003"] None, "a field of a cron expression is invalid";
    CRON_DOUBLED_STAR "cron-doubled-star" Time Warning [] GUESS, "`**` does not mean any day";
    CRON_NUMERIC_WEEKDAY "cron-numeric-weekday" Time Warning [] GUESS, "a numeric weekday in a cron expression: 1 is Sunday here, Monday elsewhere";
    CRON_WEEKDAY_ZERO "cron-weekday-zero" Time Error ["E1003"] SAFE, "weekday 0 in a cron expression, where weekdays are 1 to 7";
    CRON_DAY_AND_WEEKDAY "cron-day-and-weekday" Time Warning [] None, "day of month and day of week are combined with or, not and";
    CRON_IGNORES_TIMEZONE "cron-ignores-timezone" Time Warning [] None, "a cron frequency ignores the coordinator's time zone";
    CRON_STEP_BASE "cron-step-base" Time Info [] None, "a cron step that starts at a number runs to the end of the field";
    CRON_NEVER_FIRES "cron-never-fires" Time Error ["E1003", "E0803"] None, "a cron expression that never fires";
    CRON_OVERFLOWING_RANGE "cron-overflowing-range" Time Warning [] None, "a cron range that wraps around the end of its field";
    UNKNOWN_TIMEZONE "unknown-timezone" Time Error ["E1003"] GUESS, "an unknown time zone";
    ABBREVIATED_TIMEZONE "abbreviated-timezone" Time Info [] None, "a time zone given as an abbreviation or a fixed offset";
    TIMEOUT_IMPLICIT "timeout-implicit" Time Info [] None, "without a `timeout`, actions wait as long as the server's default";
    TIMEOUT_INFINITE "timeout-infinite" Time Info [] None, "a time-out of -1 means the server's maximum";
    TIMEOUT_ZERO "timeout-zero" Time Info [] None, "a time-out of 0: the data must exist at the first check";
    TIMEOUT_WITHOUT_INPUT "timeout-without-input" Time Info [] None, "a time-out without anything to wait for";
    CONCURRENCY_ZERO "concurrency-zero" Time Error [] None, "a concurrency of 0, with which no action ever starts";
    NEGATIVE_CONTROL "negative-control" Time Warning [] None, "a concurrency or time-out below -1, which sets no limit";
    CONCURRENCY_IMPLICIT "concurrency-implicit" Time Info [] None, "without a `concurrency`, one action runs at a time";
    EXECUTION_ORDER_INVALID "execution-order-invalid" Time Error ["E1003"] GUESS, "an unknown execution order";
    LAST_ONLY_WITH_WIDE_WINDOW "last-only-with-wide-window" Time Info [] None, "skipped actions never process their window of data";
    THROTTLE_CLIPPED "throttle-clipped" Time Warning [] None, "a throttle beyond what the server allows";
    UNDEFINED_DATASET "undefined-dataset" Data Error ["E0803"] GUESS, "an input or output refers to a dataset that is not defined";
    DUPLICATE_DATASET "duplicate-dataset" Data Warning ["E0803"] None, "two datasets with the same name";
    DUPLICATE_DATA_EVENT "duplicate-data-event" Data Error ["E0803"] None, "two inputs, or two outputs, with the same name";
    UNUSED_DATASET "unused-dataset" Data Info [] None, "a dataset that no input and no output names";
    UNUSED_DATA_IN "unused-data-in" Data Info [] None, "an input that only delays the action";
    UNUSED_DATA_OUT "unused-data-out" Data Info [] None, "an output that is not passed to the workflow";
    URI_TEMPLATE_CONSTANT "uri-template-constant" Data Warning [] None, "all instances of a dataset are at the same location";
    URI_TEMPLATE_TOO_COARSE "uri-template-too-coarse" Data Warning [] GUESS, "instances of a dataset that cannot be told apart";
    DATASET_TIMEZONE_DIFFERS "dataset-timezone-differs" Data Warning [] None, "a dataset and its coordinator have different time zones";
    INITIAL_INSTANCE_AFTER_USE "initial-instance-after-use" Data Warning [] None, "the first actions refer to instances before the initial one";
    INITIAL_INSTANCE_TOO_OLD "initial-instance-too-old" Data Error ["E1021"] None, "an initial instance before 1970";
    INITIAL_INSTANCE_MISALIGNED "initial-instance-misaligned" Data Info [] None, "nominal times fall between two instances";
    DONE_FLAG_IMPLICIT "done-flag-implicit" Data Info [] None, "without a `done-flag`, an instance is complete when it contains `_SUCCESS`";
    DONE_FLAG_EMPTY "done-flag-empty" Data Info [] None, "an empty `done-flag`: an instance is complete as soon as its folder exists";
    DONE_FLAG_ON_HCAT "done-flag-on-hcat" Data Info [] None, "a `done-flag` has no effect on table partitions";
    SEVERAL_INSTANCES_IN_ONE_ELEMENT "several-instances-in-one-element" Data Error ["E1021"] SAFE, "two instances in one element";
    SEVERAL_OUTPUT_INSTANCES "several-output-instances" Data Error ["E1021"] None, "an output with two instances";
    INSTANCE_EMPTY "instance-empty" Data Error ["E1021"] None, "an empty instance";
    INSTANCE_NOT_AN_INSTANCE_FUNCTION "instance-not-an-instance-function" Data Warning [] None, "an instance that is neither an instance function nor a date";
    INSTANCE_OUT_OF_RANGE "instance-out-of-range" Data Error ["E1021"] None, "`latest` with a positive number, or `future` with a negative one";
    RANGE_REVERSED "range-reversed" Data Warning [] GUESS, "a range of instances that ends before it starts";
    RANGE_MIXES_KINDS "range-mixes-kinds" Data Warning [] None, "a range whose ends use different instance functions";
    FUTURE_INPUT "future-input" Data Info [] None, "an input later than the nominal time";
    LATEST_NOT_REPRODUCIBLE "latest-not-reproducible" Data Info [] None, "which instance is read depends on when the action is checked";
    INPUT_WINDOW_GAP "input-window-gap" Data Warning [] None, "instances between two actions that no action reads";
    INPUT_WINDOW_OVERLAP "input-window-overlap" Data Info [] None, "instances that two consecutive actions read";
    INPUT_WINDOW_DEPENDS_ON_DST "input-window-depends-on-dst" Data Info [] None, "24 hourly instances are not a day where clocks change";
    OUTPUT_EQUALS_INPUT "output-equals-input" Data Warning [] None, "an output that is also an input";
    INPUT_LOGIC_REFERENCE "input-logic-reference" Data Warning ["E1028"] GUESS, "the input logic names an input that does not exist";
    UNKNOWN_DATA_EVENT "unknown-data-event" Data Error ["E1004"] GUESS, "a data event that is not defined";
    DATASET_NAME_FOR_EVENT_NAME "dataset-name-for-event-name" Data Error ["E1004"] SAFE, "the name of a dataset where the name of a data event is expected";
    DATA_IN_FUNCTION_ON_OUTPUT "data-in-function-on-output" Data Error ["E1004"] SAFE, "`dataIn` of an output, or `dataOut` of an input";
    URI_TEMPLATE_UNKNOWN_CONSTANT "uri-template-unknown-constant" Data Warning ["E1004"] GUESS, "an unknown date variable in a URI template";
    URI_TEMPLATE_SCHEME "uri-template-scheme" Data Warning ["E0904", "E0905"] None, "a scheme that servers do not support by default";
    WORKFLOW_NOT_FOUND "workflow-not-found" Data Warning [] None, "the workflow of a coordinator does not exist";
    WORKFLOW_PARAMETERS_MISSING "workflow-parameters-missing" Data Warning ["E0738", "E0803"] None, "a coordinator does not pass a parameter that its workflow needs";
    COORDINATOR_PROPERTY_UNREAD "coordinator-property-unread" Data Info [] None, "a property of a coordinator that its workflow never reads";
    ACTUAL_TIME_FOR_DATA "actual-time-for-data" Data Warning [] GUESS, "data chosen by the creation time of an action";
    DATE_PATTERN_SUSPECT "date-pattern-suspect" Data Warning [] None, "a letter of a date pattern that is probably meant to be another";
    NOMINAL_TIME_FORMATTED_AS_UTC "nominal-time-formatted-as-utc" Data Info [] None, "a nominal time formatted in UTC in a coordinator of another zone";
    SLA_TIMES_INCONSISTENT "sla-times-inconsistent" Data Warning ["E0302"] None, "an SLA block with contradictory or invalid times";
    SLA_NOMINAL_TIME_CONSTANT "sla-nominal-time-constant" Data Warning [] GUESS, "a constant nominal time for the SLA of all actions";
    SLA_ALERT_EVENTS_UNKNOWN "sla-alert-events-unknown" Data Warning [] None, "an unknown SLA event";
    SLA_ALERT_WITHOUT_CONTACT "sla-alert-without-contact" Data Warning [] None, "SLA events without a contact to notify";
    REPEATED_COORDINATOR "repeated-coordinator" Bundle Warning [] None, "a bundle that starts a coordinator twice";
    DUPLICATE_COORDINATOR_NAME "duplicate-coordinator-name" Bundle Error ["E1304", "E1310"] None, "two coordinators of a bundle have the same name";
    COORDINATOR_NAME_UNRESOLVED "coordinator-name-unresolved" Bundle Error ["E1310", "E1004"] None, "a coordinator of a bundle whose name cannot be computed";
    COORDINATOR_NAME_EMPTY "coordinator-name-empty" Bundle Warning ["E0607"] None, "a coordinator of a bundle without a name";
    KICK_OFF_TIME_FORMAT "kick-off-time-format" Bundle Error ["E1310", "E1301"] None, "a kick-off time that is not a date";
    KICK_OFF_AFTER_END "kick-off-after-end" Bundle Warning [] None, "the bundle starts after the end of a coordinator";
    BUNDLE_APP_PATH_NOT_FOUND "bundle-app-path-not-found" Bundle Warning [] None, "a coordinator of a bundle does not exist";
    BUNDLE_APP_PATH_NOT_A_COORDINATOR "bundle-app-path-not-a-coordinator" Bundle Error ["E0701"] None, "a bundle starts something that is not a coordinator";
    BUNDLE_COORDINATOR_SCHEMA_TOO_OLD "bundle-coordinator-schema-too-old" Bundle Error ["E1319"] None, "a coordinator whose schema is too old for a bundle";
    COORDINATOR_PARAMETERS_MISSING "coordinator-parameters-missing" Bundle Warning ["E0738", "E1004"] None, "a bundle does not pass a parameter that its coordinator needs";
    BUNDLE_PROPERTIES_DIVERGE "bundle-properties-diverge" Bundle Info [] None, "coordinators that share data have different values of a property";
    BUNDLE_DATA_DEPENDENCY_BROKEN "bundle-data-dependency-broken" Bundle Warning [] None, "a coordinator waits for data that another one writes elsewhere or at other times";
    BUNDLE_COORDINATOR_DISABLED "bundle-coordinator-disabled" Bundle Info [] None, "a coordinator that the bundle does not start";
}
