//! The width of text, and its escaping in a picture.

/// Widths of the printable ASCII characters in Helvetica, and so in Arial and Liberation Sans, in thousandths.
static WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// The width of a text at a font size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match u32::from(c) {
        code @ 0x20..0x7f => f64::from(WIDTHS[code as usize - 0x20]) / 1000.0,
        0x2026 => 1.0,
        code if code < 0x1100 => 0.65,
        _ => 1.0,
    };
    text.chars().map(of).sum::<f64>() * size
}

/// Escapes a text for an element or an attribute.
pub(super) fn escaped(text: &str) -> String {
    crate::text::xml(text)
}

/// The attribute that fixes the width of a text to the computed one, whatever the font.
pub(super) fn held(text: &str, size: f64) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!(" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\"", width(text, size))
}
