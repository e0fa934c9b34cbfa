//! Converts pictures to PNG, for programs that cannot show SVG.
//!
//! The input is a picture of our own printer. Characters are drawn as outlines of a font that is part of the program,
//! so that no installed font is needed and the picture is the same everywhere.

use regex::{Captures, Regex};
use resvg::{tiny_skia, usvg};
use std::fmt::Write as _;
use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Arimo, whose character widths the layout of pictures assumes. (`cli/fonts/OFL.txt`)
static REGULAR: &[u8] = include_bytes!("../fonts/Arimo-Latin.ttf");
static BOLD: &[u8] = include_bytes!("../fonts/Arimo-Latin-Bold.ttf");

/// Pixels per unit of the picture, if the size permits.
const SHARP: f32 = 2.0;
/// Minimum: below that no character is legible.
const COARSE: f32 = 0.2;
/// Maximum number of pixels in a picture, each of which takes four bytes of memory.
const MOST_DOTS: f32 = 24e6;

/// Renders a picture.
///
/// # Errors
/// If it is too large for this format.
pub(crate) fn drawn(svg: &str) -> Result<Vec<u8>, String> {
    let outlined = outlined(svg)?;
    let tree = usvg::Tree::from_str(&outlined, &usvg::Options::default());
    let tree = tree.map_err(|why| format!("the picture cannot be read: {why}"))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let scale = (MOST_DOTS / (width * height)).sqrt().min(SHARP);
    let too_large = || {
        format!("a picture of {width:.0} by {height:.0} is too large for PNG; use `--format svg`")
    };
    if scale < COARSE {
        return Err(too_large());
    }
    let dots = |length: f32| (length * scale).ceil() as u32;
    let map = tiny_skia::Pixmap::new(dots(width), dots(height));
    let mut map = map.ok_or_else(too_large)?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut map.as_mut());
    map.encode_png().map_err(|why| why.to_string())
}

/// Returns the picture with outlines in place of texts, in light colors.
fn outlined(svg: &str) -> Result<String, String> {
    static TEXT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("<text([^>]*)>([^<]*)</text>").expect("a pattern"));
    static STYLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("(?s)<style>(.*?)</style>").expect("a pattern"));
    static SELECTOR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(^|[\s,])text([ .,])").expect("a pattern"));
    let face = |bytes| Face::parse(bytes, 0).map_err(|why| why.to_string());
    let (regular, bold) = (face(REGULAR)?, face(BOLD)?);
    let svg = TEXT.replace_all(svg, |found: &Captures<'_>| {
        let before = &svg[..found.get(0).map_or(0, |all| all.start())];
        outline(&found[1], &found[2], before, [&regular, &bold])
    });
    // The style of texts applies to their outlines; the rest is for dark color schemes.
    let style = |found: &Captures<'_>| {
        let style = found[1].split("@media").next().unwrap_or_default();
        format!("<style>{}</style>", SELECTOR.replace_all(style, "$1.text$2"))
    };
    Ok(STYLE.replace(&svg, style).into_owned())
}

/// Converts a text to a path.
fn outline(attributes: &str, text: &str, before: &str, [regular, bold]: [&Face<'_>; 2]) -> String {
    let attribute = |name: &str| {
        let (_, rest) = attributes.split_once(&format!(" {name}=\""))?;
        rest.split('"').next()
    };
    let number = |name: &str| attribute(name).and_then(|text| text.parse::<f32>().ok());
    let class = attribute("class").unwrap_or_default();
    let has = |wanted: &str| class.split(' ').any(|one| one == wanted);
    // As in the style of pictures.
    let is_mark = before
        .rsplit_once("<g class=")
        .is_some_and(|(_, rest)| rest.starts_with("\"mark\"") && !rest.contains("</g>"));
    let size = match () {
        () if is_mark => 9.0,
        () if has("detail") || has("label") => 10.0,
        () => 12.0,
    };
    let face = if is_mark || has("title") { bold } else { regular };
    let text = plain(text);
    let scale = size / f32::from(face.units_per_em());
    let advance_of = |glyph| f32::from(face.glyph_hor_advance(glyph).unwrap_or_default()) * scale;
    let glyphs: Vec<(Drawn, f32)> = text
        .chars()
        .map(|letter| match face.glyph_index(letter) {
            Some(glyph) => (Drawn::Glyph(glyph), advance_of(glyph)),
            None if is_unseen(letter) => (Drawn::Number(String::new()), 0.0),
            None => {
                let number = Drawn::Number(number_of(letter));
                let advance = number.columns() * advance_of(zero(face)) * SMALL + size * 0.3;
                (number, advance)
            }
        })
        .collect();
    let natural: f32 = glyphs.iter().map(|(_, advance)| advance).sum();
    let width = number("textLength").unwrap_or(natural);
    let stretch = if natural > 0.0 { width / natural } else { 1.0 };
    let (x, y) = (number("x").unwrap_or_default(), number("y").unwrap_or_default());
    let x = if has("title") || has("said") { x } else { x - width / 2.0 };
    let mut pen = Pen { path: String::new(), x, y, scale: (scale * stretch, scale) };
    for (drawn, advance) in glyphs {
        match drawn {
            // A blank has no outline.
            Drawn::Glyph(glyph) => drop(face.outline_glyph(glyph, &mut pen)),
            Drawn::Number(number) if number.is_empty() => {}
            Drawn::Number(number) => boxed(&number, face, size, advance * stretch, &mut pen),
        }
        pen.x += advance * stretch;
    }
    format!("<path class=\"text {class}\" d=\"{}\"/>", pen.path)
}

/// The drawing of a character.
enum Drawn {
    Glyph(GlyphId),
    /// Its Unicode code point, in two rows within a frame: the font has no outline for it, and an empty frame would be
    /// meaningless.
    Number(String),
}

impl Drawn {
    /// Returns the number of digits per row.
    fn columns(&self) -> f32 {
        match self {
            Drawn::Number(digits) if digits.len() > 4 => 3.0,
            _ => 2.0,
        }
    }
}

/// Size of the digits of a code point relative to characters.
const SMALL: f32 = 0.5;

fn number_of(letter: char) -> String {
    let number = u32::from(letter);
    if number > 0xffff { format!("{number:06X}") } else { format!("{number:04X}") }
}

/// Whether a character is invisible: it joins or orders others.
fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

fn zero(face: &Face<'_>) -> GlyphId {
    face.glyph_index('0').unwrap_or_default()
}

/// Returns the characters of a picture that are drawn as code points, each once.
pub(crate) fn without_outline(svg: &str) -> Vec<char> {
    let Ok(face) = Face::parse(REGULAR, 0) else { return Vec::new() };
    let texts = svg.split("<text").skip(1).filter_map(|rest| {
        let (_, rest) = rest.split_once('>')?;
        rest.split('<').next()
    });
    let mut all: Vec<char> = Vec::new();
    for letter in texts.flat_map(|text| plain(text).chars().collect::<Vec<char>>()) {
        if face.glyph_index(letter).is_none() && !is_unseen(letter) && !all.contains(&letter) {
            all.push(letter);
        }
    }
    all
}

/// Draws a code point in two rows, with a frame around it.
fn boxed(number: &str, face: &Face<'_>, size: f32, width: f32, pen: &mut Pen) {
    let (x, y, scale) = (pen.x, pen.y, pen.scale);
    let frame = |path: &mut String, inset: f32, is_inner: bool| {
        let (left, right) = (x + size * 0.05 + inset, x + width - size * 0.05 - inset);
        let (top, bottom) = (y - size * 0.85 + inset, y + size * 0.15 - inset);
        // The inner outline has the opposite direction, so that its inside is not filled.
        let corners = match is_inner {
            false => [(left, top), (right, top), (right, bottom), (left, bottom)],
            true => [(left, top), (left, bottom), (right, bottom), (right, top)],
        };
        for (at, (x, y)) in corners.into_iter().enumerate() {
            let _ = write!(path, "{}{x:.2} {y:.2} ", if at == 0 { 'M' } else { 'L' });
        }
        path.push('Z');
    };
    frame(&mut pen.path, 0.0, false);
    frame(&mut pen.path, size * 0.06, true);
    let columns = number.len().div_ceil(2);
    let advance = f32::from(face.glyph_hor_advance(zero(face)).unwrap_or_default());
    let advance = advance * scale.0 * SMALL;
    let left = x + (width - advance * columns as f32) / 2.0;
    pen.scale = (scale.0 * SMALL, scale.1 * SMALL);
    for (at, digit) in number.chars().enumerate() {
        let (row, column) = (at / columns, at % columns);
        pen.x = left + advance * column as f32;
        pen.y = y - size * if row == 0 { 0.40 } else { -0.04 };
        let _ = face.outline_glyph(face.glyph_index(digit).unwrap_or_default(), pen);
    }
    (pen.x, pen.y, pen.scale) = (x, y, scale);
}

/// Resolves the escapes of a text.
fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&#39;", "'").replace("&apos;", "'").replace("&amp;", "&")
}

/// Writes outlines to a path.
struct Pen {
    path: String,
    x: f32,
    y: f32,
    scale: (f32, f32),
}

impl Pen {
    fn to(&mut self, command: char, points: &[(f32, f32)]) {
        self.path.push(command);
        for (x, y) in points {
            let (x, y) = (self.x + x * self.scale.0, self.y - y * self.scale.1);
            let _ = write!(self.path, "{x:.2} {y:.2} ");
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.to('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.to('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.to('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.to('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.path.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(inner: &str, size: u32) -> String {
        let style = ankus::emit::graph::STYLE;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size}\" height=\"{size}\">\n<style>\n{style}</style>\n<rect class=\"canvas\" width=\"100%\" height=\"100%\"/>{inner}</svg>"
        )
    }

    /// Returns the number of dark pixels.
    fn dark(svg: &str) -> usize {
        let bytes = drawn(svg).expect("it is drawn");
        let map = tiny_skia::Pixmap::decode_png(&bytes).expect("a picture");
        map.pixels().iter().filter(|dot| dot.red() < 100 && dot.alpha() > 200).count()
    }

    #[test]
    fn letters_are_drawn() {
        assert_eq!(dark(&picture("", 80)), 0);
        let one = dark(&picture("<text x=\"40\" y=\"40\">i</text>", 80));
        let more = dark(&picture("<text x=\"40\" y=\"40\" textLength=\"50.0\">mmmm</text>", 80));
        assert!(one > 5 && more > 4 * one, "{one} {more}");
        let escaped = dark(&picture("<text x=\"40\" y=\"40\">&amp;</text>", 80));
        let whole = dark(&picture("<text x=\"40\" y=\"40\">&amp;amp;</text>", 80));
        assert!(whole > 2 * escaped, "{escaped} {whole}");
    }

    /// Characters without an outline in the font are drawn as code points, not as identical empty frames.
    #[test]
    fn letters_of_other_scripts_are_drawn_as_their_numbers() {
        let drawn_of = |text: &str| {
            let svg = picture(&format!("<text x=\"60\" y=\"40\">{text}</text>"), 120);
            (drawn(&svg).expect("it is drawn"), without_outline(&svg))
        };
        let [(first, _), (second, letters), (third, _)] =
            ["語", "語言語", "\u{1f600}"].map(drawn_of);
        assert!(first != second && first != third && second != third);
        assert_eq!(letters, ['語', '言']);
        assert_ne!(drawn_of("語").0, drawn_of("言").0, "they can be told from each other");
        assert_eq!(drawn_of("a\u{200b}b").0, drawn_of("ab").0);
        assert!(drawn_of("Größe ça &amp; Œuvre").1.is_empty());
    }

    #[test]
    fn large_pictures_are_coarser_and_too_large_ones_refused() {
        let side = |size: u32| {
            let bytes = drawn(&picture("", size)).map_err(|why| why.to_string())?;
            Ok::<u32, String>(tiny_skia::Pixmap::decode_png(&bytes).expect("a picture").width())
        };
        assert_eq!(side(100), Ok(200));
        assert_eq!(side(4_000), Ok(4_899));
        assert!(side(60_000).unwrap_err().contains("too large"));
    }
}
