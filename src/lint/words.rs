//! Spelling styles of names.

/// How the words of a name are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `load-sales`.
    Hyphens,
    /// `load_sales`.
    Underscores,
    /// `loadSales`.
    Capitals,
}

/// Returns the style of a name; `None` if it has one word or mixes styles.
pub(super) fn style(name: &str) -> Option<Style> {
    let capitals =
        name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    match (name.contains('-'), name.contains('_'), capitals) {
        (true, false, false) => Some(Style::Hyphens),
        (false, true, false) => Some(Style::Underscores),
        (false, false, true) => Some(Style::Capitals),
        _ => None,
    }
}
