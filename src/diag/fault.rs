//! Which fault of its kind a finding is.
//!
//! Several faults may have one kind: a tag may lack its end, or its quotes. Where what is said of the rest of a definition
//! depends on that, the finding says which it is. Its message is for people, and nothing else reads it.

use serde::{Deserialize, Serialize};

/// Which fault of its kind a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Of markup: a comment has no end.
    OpenComment,
    /// Of markup: a CDATA section or a declaration has no end.
    OpenSection,
    /// Of markup: `--` is inside a comment.
    HyphensInComment,
    /// Of markup: an element has no end tag.
    OpenElement,
    /// Of markup: a tag has no `>`.
    OpenTag,
    /// Of markup: an end tag belongs to no open element.
    ClosesNothing,
    /// Of markup: an element follows the root.
    BehindRoot,
    /// Of markup: a value has no closing quote.
    OpenQuote,
    /// Of markup: a value has no quotes.
    Unquoted,
    /// Of markup or of a command: an attribute or an option has no value.
    NoValue,
    /// Of markup: two attributes have no blank between them.
    NoBlank,
    /// Of markup: what is in a tag belongs to no attribute.
    Stray,
    /// Of markup: a `<` begins no tag.
    BareLess,
    /// Of markup: an `&` begins no reference.
    Ampersand,
    /// Of markup: nothing declares a prefix.
    Prefix,
    /// Of an expression: `${` and `#{` are in one text.
    Mixed,
    /// Of a property of a configuration: its name and its value are swapped.
    Swapped,
    /// Of a file of an action: there is no `#` between it and its name there.
    NoHash,
    /// Of an option of `spark-submit`: a setting begins with something else than `spark.`.
    NotOfSpark,
    /// Of a property in a file: there is no `=` between its name and its value.
    NoSign,
    /// Of a property in a file: what was to be a comment begins with another sign than `#`. The finding names what it sets.
    NoComment,
    /// Of a property in a file: it stands in the value of another one.
    InValue,
    /// Of a submission: the server finds no application (E1002). The finding names what it was asked for.
    NoApplication,
    /// Of a property in a file: a reference in its value has no `}`.
    OpenReference,
    /// Of a property: nothing defines it. The finding names it.
    Undefined,
    /// Of a property: what starts the definition does not give it. The finding names it, and the file of that.
    NotGiven,
    /// Of properties: what starts the definition does not pass them. The finding names all of them.
    NotPassed,
    /// Of a property: nothing sets it, and where it is read it is empty.
    Unset,
    /// Of a property: nothing sets it. The finding names it, and what is set in its place.
    Misnamed,
}

impl Fault {
    /// Whether markup lacks an end that is not a `>`.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Fault::OpenComment | Fault::OpenSection | Fault::OpenElement)
    }

    /// Whether markup is broken so that elements may not lie where they were meant to.
    pub(crate) fn shifts_elements(self) -> bool {
        self.is_open() || matches!(self, Fault::OpenTag | Fault::ClosesNothing | Fault::BehindRoot)
    }
}
