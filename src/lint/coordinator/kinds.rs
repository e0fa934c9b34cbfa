//! What the rules of coordinators and bundles report.

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
    DATE_FORMAT "date-format" Time Error ["E1003"] SAFE, "a date is not of the form the server reads";
    DATE_IN_DST_GAP "date-in-dst-gap" Time Warning [] None, "a start whose local time does not exist, or exists twice";
    HARDCODED_START_OR_END "hardcoded-start-or-end" Time Info [] None, "a literal date in the definition";
    MATERIALIZES_NOTHING "materializes-nothing" Time Error ["E1003"] None, "no nominal time lies between start and end";
    END_IN_PAST "end-in-past" Time Info [] None, "an end that has passed";
    START_FAR_IN_PAST "start-far-in-past" Time Info [] None, "a start so long ago that a submission catches up on thousands of actions";
    FREQUENCY_BARE_NUMBER "frequency-bare-number" Time Warning [] GUESS, "a number as a frequency means minutes";
    FREQUENCY_TOO_FAST "frequency-too-fast" Time Error ["E1003"] None, "a frequency under five minutes";
    FIXED_HOURS_FOR_A_DAY "fixed-hours-for-a-day" Time Warning [] GUESS, "24 hours are not always a day where clocks change";
    FIXED_DAYS_FOR_A_MONTH "fixed-days-for-a-month" Time Info [] GUESS, "28, 30 or 31 days are not a month";
    CALENDAR_FREQUENCY_IN_UTC "calendar-frequency-in-utc" Time Info [] None, "days or months in UTC do not follow daylight saving time";
    SUB_DAILY_FREQUENCY_IN_DST_ZONE "sub-daily-frequency-in-dst-zone" Time Info [] None, "a frequency under a day gets no correction where clocks change";
    CRON_EACH_MINUTE "cron-each-minute" Time Warning [] None, "a cron expression that acts at each minute of one hour";
    CRON_FIELD_COUNT "cron-field-count" Time Error ["E1003"] None, "cron has five fields here, separated by single blanks";
    CRON_UNPARSABLE "cron-unparsable" Time Error ["E1003"] None, "a field of a cron expression is not understood";
    CRON_DOUBLED_STAR "cron-doubled-star" Time Warning [] GUESS, "`**` does not count as any day";
    CRON_NUMERIC_WEEKDAY "cron-numeric-weekday" Time Warning [] GUESS, "1 is Sunday here and Monday elsewhere";
    CRON_WEEKDAY_ZERO "cron-weekday-zero" Time Error ["E1003"] SAFE, "0 is not a weekday here";
    CRON_DAY_AND_WEEKDAY "cron-day-and-weekday" Time Warning [] None, "day of month and day of week together mean either, not both";
    CRON_IGNORES_TIMEZONE "cron-ignores-timezone" Time Warning [] None, "cron is evaluated in the zone of the server";
    CRON_STEP_BASE "cron-step-base" Time Info [] None, "a step from a number goes to the end of the field";
    CRON_NEVER_FIRES "cron-never-fires" Time Error ["E1003", "E0803"] None, "a cron expression that never fires";
    CRON_OVERFLOWING_RANGE "cron-overflowing-range" Time Warning [] None, "a range that goes round the end of its field";
    UNKNOWN_TIMEZONE "unknown-timezone" Time Error ["E1003"] GUESS, "no time zone of that name";
    ABBREVIATED_TIMEZONE "abbreviated-timezone" Time Info [] None, "three letters or a fixed offset for a time zone";
    TIMEOUT_IMPLICIT "timeout-implicit" Time Info [] None, "an action with inputs waits as long as the server's default says";
    TIMEOUT_INFINITE "timeout-infinite" Time Info [] None, "a negative time-out means the most the server allows";
    TIMEOUT_ZERO "timeout-zero" Time Info [] None, "the data must exist at the first check";
    TIMEOUT_WITHOUT_INPUT "timeout-without-input" Time Info [] None, "a time-out without anything to wait for";
    CONCURRENCY_ZERO "concurrency-zero" Time Error [] None, "a concurrency of 0, with which nothing is ever started";
    NEGATIVE_CONTROL "negative-control" Time Warning [] None, "a concurrency or time-out below -1, which sets no limit";
    CONCURRENCY_IMPLICIT "concurrency-implicit" Time Info [] None, "one action at a time, because nothing sets the concurrency";
    EXECUTION_ORDER_INVALID "execution-order-invalid" Time Error ["E1003"] GUESS, "an unknown execution order";
    LAST_ONLY_WITH_WIDE_WINDOW "last-only-with-wide-window" Time Info [] None, "skipped actions never process their window of data";
    THROTTLE_CLIPPED "throttle-clipped" Time Warning [] None, "a throttle beyond what the server allows";
    UNDEFINED_DATASET "undefined-dataset" Data Error ["E0803"] GUESS, "an input or output of a dataset that is not defined";
    DUPLICATE_DATASET "duplicate-dataset" Data Warning ["E0803"] None, "two datasets of one name";
    DUPLICATE_DATA_EVENT "duplicate-data-event" Data Error ["E0803"] None, "two inputs, or two outputs, of one name";
    UNUSED_DATASET "unused-dataset" Data Info [] None, "a dataset that no input and no output names";
    UNUSED_DATA_IN "unused-data-in" Data Info [] None, "an input that only delays the action";
    UNUSED_DATA_OUT "unused-data-out" Data Info [] None, "an output that is not passed to the workflow";
    URI_TEMPLATE_CONSTANT "uri-template-constant" Data Warning [] None, "all instances of a dataset are the same place";
    URI_TEMPLATE_TOO_COARSE "uri-template-too-coarse" Data Warning [] GUESS, "instances of a dataset that cannot be told apart";
    DATASET_TIMEZONE_DIFFERS "dataset-timezone-differs" Data Warning [] None, "a dataset counts its days in another zone than the coordinator";
    INITIAL_INSTANCE_AFTER_USE "initial-instance-after-use" Data Warning [] None, "the first actions ask for instances before the initial one";
    INITIAL_INSTANCE_TOO_OLD "initial-instance-too-old" Data Error ["E1021"] None, "an initial instance before 1970";
    INITIAL_INSTANCE_MISALIGNED "initial-instance-misaligned" Data Info [] None, "nominal times fall between two instances";
    DONE_FLAG_IMPLICIT "done-flag-implicit" Data Info [] None, "an instance is complete when it holds `_SUCCESS`";
    DONE_FLAG_EMPTY "done-flag-empty" Data Info [] None, "an instance is complete as soon as its folder is there";
    DONE_FLAG_ON_HCAT "done-flag-on-hcat" Data Info [] None, "a done flag counts for nothing on partitions of tables";
    SEVERAL_INSTANCES_IN_ONE_ELEMENT "several-instances-in-one-element" Data Error ["E1021"] SAFE, "two instances in one element";
    SEVERAL_OUTPUT_INSTANCES "several-output-instances" Data Error ["E1021"] None, "an output with two instances";
    INSTANCE_EMPTY "instance-empty" Data Error ["E1021"] None, "an empty instance";
    INSTANCE_NOT_AN_INSTANCE_FUNCTION "instance-not-an-instance-function" Data Warning [] None, "an instance that is neither a function of instances nor a date";
    INSTANCE_OUT_OF_RANGE "instance-out-of-range" Data Error ["E1021"] None, "an instance after the latest one, or a future one that is past";
    RANGE_REVERSED "range-reversed" Data Warning [] GUESS, "a range of instances that ends before it starts";
    RANGE_MIXES_KINDS "range-mixes-kinds" Data Warning [] None, "a range between two kinds of instances";
    FUTURE_INPUT "future-input" Data Info [] None, "an input later than the nominal time";
    LATEST_NOT_REPRODUCIBLE "latest-not-reproducible" Data Info [] None, "which instance is read depends on when the action is checked";
    INPUT_WINDOW_GAP "input-window-gap" Data Warning [] None, "instances between two actions that nobody reads";
    INPUT_WINDOW_OVERLAP "input-window-overlap" Data Info [] None, "instances that two consecutive actions read";
    INPUT_WINDOW_DEPENDS_ON_DST "input-window-depends-on-dst" Data Info [] None, "24 hourly instances are not a day where clocks change";
    OUTPUT_EQUALS_INPUT "output-equals-input" Data Warning [] None, "an output that is also an input";
    INPUT_LOGIC_REFERENCE "input-logic-reference" Data Warning ["E1028"] GUESS, "the input logic names an input that is not there";
    UNKNOWN_DATA_EVENT "unknown-data-event" Data Error ["E1004"] GUESS, "data asked for under a name that no event has";
    DATASET_NAME_FOR_EVENT_NAME "dataset-name-for-event-name" Data Error ["E1004"] SAFE, "the name of a dataset where that of its event is wanted";
    DATA_IN_FUNCTION_ON_OUTPUT "data-in-function-on-output" Data Error ["E1004"] SAFE, "`dataIn` of an output, or `dataOut` of an input";
    URI_TEMPLATE_UNKNOWN_CONSTANT "uri-template-unknown-constant" Data Warning ["E1004"] GUESS, "a part of a time in a URI that the server does not know";
    URI_TEMPLATE_SCHEME "uri-template-scheme" Data Warning ["E0904", "E0905"] None, "a scheme that no server serves as shipped";
    WORKFLOW_NOT_FOUND "workflow-not-found" Data Warning [] None, "there is no workflow where the coordinator looks for it";
    WORKFLOW_PARAMETERS_MISSING "workflow-parameters-missing" Data Warning ["E0738", "E0803"] None, "the workflow of a coordinator is not given what it needs";
    COORDINATOR_PROPERTY_UNREAD "coordinator-property-unread" Data Info [] None, "a property that the workflow never reads";
    ACTUAL_TIME_FOR_DATA "actual-time-for-data" Data Warning [] GUESS, "data chosen by the time an action was created";
    DATE_PATTERN_SUSPECT "date-pattern-suspect" Data Warning [] None, "a letter of a date pattern that is likely another one's";
    NOMINAL_TIME_FORMATTED_AS_UTC "nominal-time-formatted-as-utc" Data Info [] None, "a nominal time formatted in UTC in a coordinator of another zone";
    SLA_TIMES_INCONSISTENT "sla-times-inconsistent" Data Warning ["E0302"] None, "times of an SLA block that cannot be kept";
    SLA_NOMINAL_TIME_CONSTANT "sla-nominal-time-constant" Data Warning [] GUESS, "one nominal time for the SLA of all actions";
    SLA_ALERT_EVENTS_UNKNOWN "sla-alert-events-unknown" Data Warning [] None, "an unknown SLA event";
    SLA_ALERT_WITHOUT_CONTACT "sla-alert-without-contact" Data Warning [] None, "SLA events without a contact to notify";
    DUPLICATE_COORDINATOR_NAME "duplicate-coordinator-name" Bundle Error ["E1304", "E1310"] None, "two coordinators of a bundle have one name";
    COORDINATOR_NAME_UNRESOLVED "coordinator-name-unresolved" Bundle Error ["E1310", "E1004"] None, "a coordinator of a bundle whose name cannot be computed";
    COORDINATOR_NAME_EMPTY "coordinator-name-empty" Bundle Warning ["E0607"] None, "a coordinator of a bundle without a name";
    KICK_OFF_TIME_FORMAT "kick-off-time-format" Bundle Error ["E1310", "E1301"] None, "a kick-off time that is not a date";
    KICK_OFF_AFTER_END "kick-off-after-end" Bundle Warning [] None, "the bundle begins when a coordinator has ended";
    BUNDLE_APP_PATH_NOT_FOUND "bundle-app-path-not-found" Bundle Warning [] None, "there is no coordinator where the bundle looks for it";
    BUNDLE_APP_PATH_NOT_A_COORDINATOR "bundle-app-path-not-a-coordinator" Bundle Error ["E0701"] None, "a bundle starts something that is not a coordinator";
    BUNDLE_COORDINATOR_SCHEMA_TOO_OLD "bundle-coordinator-schema-too-old" Bundle Error ["E1319"] None, "a coordinator too old for a bundle";
    COORDINATOR_PARAMETERS_MISSING "coordinator-parameters-missing" Bundle Warning ["E0738", "E1004"] None, "a coordinator is not given what it needs";
    BUNDLE_PROPERTIES_DIVERGE "bundle-properties-diverge" Bundle Info [] None, "coordinators that share data have different values of a property";
    BUNDLE_DATA_DEPENDENCY_BROKEN "bundle-data-dependency-broken" Bundle Warning [] None, "a coordinator waits for data that its sibling writes otherwise";
    BUNDLE_COORDINATOR_DISABLED "bundle-coordinator-disabled" Bundle Info [] None, "a coordinator that the bundle does not start";
}
