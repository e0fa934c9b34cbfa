//! The kinds of findings in expressions.

use crate::diag::{Group, Kind, Level, Safety};

macro_rules! kinds {
    ($($constant:ident: $name:literal, $group:ident, $level:ident, $oozie:expr, $fix:expr, $summary:literal;)*) => {
        /// The kinds of findings that the pass over expressions reports.
        pub static KINDS: &[&Kind] = &[$(&$constant),*];
        $(
            #[doc = $summary]
            pub(super) static $constant: Kind = Kind {
                name: $name,
                group: Group::$group,
                summary: $summary,
                level: Level::$level,
                since: "0.1.0",
                oozie: $oozie,
                fix: $fix,
                page: include_str!(concat!("../../../docs/rules/", $name, ".md")),
            };
        )*
    };
}

kinds! {
    SYNTAX_ERROR: "el-syntax-error", Expressions, Error, &["E0803", "E1004", "E1310"], Some(Safety::Safe), "an expression with a syntax error";
    UNTERMINATED: "el-unterminated", Expressions, Error, &["E0803", "E1004", "E1310"], None, "`${` without its `}`";
    UNKNOWN_FUNCTION: "el-unknown-function", Expressions, Error, &["E0803", "E1004", "E1310"], Some(Safety::Guess), "a function that does not exist";
    WRONG_ARITY: "el-wrong-arity", Expressions, Error, &["E0803", "E1004", "E1310"], Some(Safety::Safe), "a function with too few or too many arguments";
    ARGUMENT_TYPE: "el-argument-type", Expressions, Error, &["E1004"], None, "an argument that cannot be converted to the parameter's type";
    NON_POSITIVE_PERIOD: "el-non-positive-period", Expressions, Error, &["E1004", "E1003"], None, "a frequency or timeout of zero or less";
    OUT_OF_PLACE: "el-function-out-of-place", Expressions, Error, &["E1004", "E0803", "E1310"], None, "a function that is not available at this place";
    SINGLE_EQUALS: "el-single-equals", Expressions, Error, &["E0803"], Some(Safety::Safe), "`=` where a comparison is meant";
    NESTED: "el-nested-expression", Expressions, Error, &["E0803", "E1004"], Some(Safety::Safe), "`${…}` inside `${…}`";
    INVALID_VARIABLE_NAME: "el-invalid-variable-name", Expressions, Warning, &[], Some(Safety::Guess), "a variable name with a hyphen, which the server reads as a subtraction";
    DOTTED_VARIABLE: "el-dotted-variable", Expressions, Warning, &[], Some(Safety::Guess), "a name with a dot, which reads a property of a variable";
    FOREIGN_PLACEHOLDER: "el-foreign-placeholder", Expressions, Error, &["E0803"], None, "a placeholder of another language, which Oozie tries to evaluate";
    LEXICAL_COMPARISON: "el-lexical-comparison", Expressions, Warning, &[], Some(Safety::Guess), "two strings compared character by character";
    BOOLEAN_TEXT_COMPARE: "el-boolean-text-compare", Expressions, Info, &[], Some(Safety::Guess), "a boolean compared with the string `true`";
    NEVER_EQUAL: "el-never-equal", Expressions, Warning, &[], None, "a comparison that always has the same outcome";
    DECISION_NOT_BOOLEAN: "decision-not-boolean", Expressions, Warning, &[], None, "a predicate whose value is not exactly `true` or `false`";
    TEXT_AROUND: "decision-text-around-expression", Expressions, Warning, &[], Some(Safety::Guess), "a predicate with text around its expression";
    NULL_TO_EMPTY: "el-null-to-empty", Expressions, Info, &[], None, "a value that may be missing in the middle of a path";
    PATH_WITHOUT_SCHEME: "el-fs-path-without-scheme", Expressions, Info, &[], None, "a file system function with a path that has no scheme";
    HCAT_URI: "el-hcat-uri-malformed", Expressions, Error, &[], None, "not a valid HCatalog URI";
    CONSTANT_ASSIGNED: "el-constant-assigned", Expressions, Error, &["E0808"], None, "a property named like a constant of the language";
    TIME_CONSTANT: "el-time-constant-outside-template", Expressions, Error, &["E0803", "E1004"], None, "`${YEAR}` and the like outside of a URI template";
    UNSTABLE_PATH: "el-unstable-path", Expressions, Warning, &[], None, "a path that changes with every attempt";
    SIZE_ARITHMETIC: "el-size-unit-arithmetic", Expressions, Info, &[], Some(Safety::Guess), "a size compared with a large number instead of a unit";
    UNKNOWN_ACTION: "el-unknown-action", Names, Warning, &[], Some(Safety::Guess), "a function refers to an action that does not exist";
    ACTION_NOT_YET_RUN: "el-action-not-yet-run", Names, Warning, &[], None, "a function refers to an action that cannot have run yet";
    ACTION_ON_SOME_PATHS: "el-action-on-some-paths", Names, Info, &[], None, "a function refers to an action that may not have run";
    WITHOUT_CAPTURE: "action-data-without-capture-output", Names, Warning, &[], Some(Safety::Guess), "output data of an action that does not capture output";
    UNKNOWN_KEY: "action-data-unknown-key", Names, Warning, &[], None, "a key that the action's script does not print";
    COUNTERS: "counters-of-non-mapreduce", Names, Warning, &[], None, "counters of an action that is not map-reduce";
    OBJECT_ACCESS: "el-object-access", Security, Warning, &[], None, "a property or method of a Java object";
}
