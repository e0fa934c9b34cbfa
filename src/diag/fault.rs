//! Which fault of its kind a finding is.
//!
//! Several faults may share one kind: a tag may lack its end, or its quotes. If other checks of the definition depend
//! on the difference, the finding states which fault it is. Its message is for people; no code reads it.

use serde::{Deserialize, Serialize};

/// Which fault of its kind a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Markup: a comment has no end.
    OpenComment,
    /// Markup: a CDATA section or a declaration has no end.
    OpenSection,
    /// Markup: `--` is inside a comment.
    HyphensInComment,
    /// Markup: an element has no end tag.
    OpenElement,
    /// Markup: a tag has no `>`.
    OpenTag,
    /// Markup: an end tag matches no open element.
    ClosesNothing,
    /// Markup: an element follows the root.
    BehindRoot,
    /// Markup: a value has no closing quote.
    OpenQuote,
    /// Markup: a value has no quotes.
    Unquoted,
    /// Markup or a command: an attribute or an option has no value.
    NoValue,
    /// Markup: two attributes have no space between them.
    NoBlank,
    /// Markup: text in a tag belongs to no attribute.
    Stray,
    /// Markup: a `<` begins no tag.
    BareLess,
    /// Markup: the marks of a merge that was not finished.
    Conflict,
    /// Markup: an `&` begins no reference.
    Ampersand,
    /// Markup: a prefix is not declared.
    Prefix,
    /// Expression: `${` and `#{` are in one text.
    Mixed,
    /// Property of a configuration: its name and its value are swapped.
    Swapped,
    /// Property of a configuration: it has no name.
    NoName,
    /// File of an action: the `#` between its path and its link name is missing.
    NoHash,
    /// Option of `spark-submit`: a setting does not begin with `spark.`.
    NotOfSpark,
    /// Property in a file: the `=` between its name and its value is missing.
    NoSign,
    /// Property in a file: an intended comment begins with another character than `#`. The finding names what it sets.
    NoComment,
    /// Property in a file: it is part of the value of another one.
    InValue,
    /// Submission: a coordinator of a bundle is refused.
    OfMember,
    /// Configuration: nothing is read from a file of default properties.
    NoDefaults,
    /// Submission: the server finds no application (E1002). The finding names the requested path.
    NoApplication,
    /// Property in a file: a reference in its value has no `}`.
    OpenReference,
    /// Property in a file: it starts another type of application than the rest of the file is for.
    OtherKey,
    /// Submission: the server cannot read an included file. The finding names it.
    OfInclude,
    /// Property: nothing defines it. The finding names it.
    Undefined,
    /// Properties: a file that starts the definition does not set them. The finding names them, and then the file.
    NotGiven,
    /// Properties: the caller of the definition does not pass them. The finding names all of them.
    NotPassed,
    /// Property: nothing sets it, and it is read as empty.
    Unset,
    /// Property: nothing sets it. The finding names it, and the property set instead.
    Misnamed,
    /// Node: runs pass it at one place, where the finding is located.
    Passed,
}

impl Fault {
    /// Whether a construct other than a tag lacks its end.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Fault::OpenComment | Fault::OpenSection | Fault::OpenElement)
    }

    /// Whether the broken markup may shift elements from where they were meant to be.
    pub(crate) fn shifts_elements(self) -> bool {
        self.is_open()
            || matches!(
                self,
                Fault::OpenTag | Fault::ClosesNothing | Fault::BehindRoot | Fault::Conflict
            )
    }
}
