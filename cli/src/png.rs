//! Pictures as PNG, for what cannot show SVG.
//!
//! In: a picture that our own printer made. Out: the same in dots. Letters are drawn as outlines of a font that is part of the
//! program, so that no font of the machine is needed and the picture is the same everywhere.

use regex::{Captures, Regex};
use resvg::{tiny_skia, usvg};
use std::fmt::Write as _;
use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Arimo, which has the widths that pictures are laid out with. (`cli/fonts/OFL.txt`)
static REGULAR: &[u8] = include_bytes!("../fonts/Arimo-Latin.ttf");
static BOLD: &[u8] = include_bytes!("../fonts/Arimo-Latin-Bold.ttf");

/// Dots for a unit of the picture, where there is room for that.
const SHARP: f32 = 2.0;
/// The fewest: below that no letter can be read.
const COARSE: f32 = 0.2;
/// The most dots of a picture: four bytes of memory each.
const MOST_DOTS: f32 = 24e6;

/// Draws a picture.
///
/// # Errors
/// Where it is too large for this form.
pub(crate) fn drawn(svg: &str) -> Result<Vec<u8>, String> {
    let outlined = outlined(svg)?;
    let tree = usvg::Tree::from_str(&outlined, &usvg::Options::default());
    let tree = tree.map_err(|why| format!("the picture cannot be read: {why}"))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let scale = (MOST_DOTS / (width * height)).sqrt().min(SHARP);
    let too_large = || {
        format!("a picture of {width:.0} by {height:.0} is too large for PNG; as SVG it can be had")
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

/// The same picture with outlines in the place of texts, in light colors.
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
    // What holds for texts holds for their outlines; what follows is for dark schemes.
    let style = |found: &Captures<'_>| {
        let style = found[1].split("@media").next().unwrap_or_default();
        format!("<style>{}</style>", SELECTOR.replace_all(style, "$1.text$2"))
    };
    Ok(STYLE.replace(&svg, style).into_owned())
}

/// A text as a path.
fn outline(attributes: &str, text: &str, before: &str, [regular, bold]: [&Face<'_>; 2]) -> String {
    let attribute = |name: &str| {
        let (_, rest) = attributes.split_once(&format!(" {name}=\""))?;
        rest.split('"').next()
    };
    let number = |name: &str| attribute(name).and_then(|text| text.parse::<f32>().ok());
    let class = attribute("class").unwrap_or_default();
    let has = |wanted: &str| class.split(' ').any(|one| one == wanted);
    // As the style of pictures has it.
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
    let glyphs: Vec<(GlyphId, f32)> = text
        .chars()
        .map(|letter| {
            let glyph = face.glyph_index(letter).unwrap_or_default();
            (glyph, f32::from(face.glyph_hor_advance(glyph).unwrap_or_default()) * scale)
        })
        .collect();
    let natural: f32 = glyphs.iter().map(|(_, advance)| advance).sum();
    let width = number("textLength").unwrap_or(natural);
    let stretch = if natural > 0.0 { width / natural } else { 1.0 };
    let (x, y) = (number("x").unwrap_or_default(), number("y").unwrap_or_default());
    let x = if has("title") || has("said") { x } else { x - width / 2.0 };
    let mut pen = Pen { path: String::new(), x, y, scale: (scale * stretch, scale) };
    for (glyph, advance) in glyphs {
        // A blank has no outline.
        let _ = face.outline_glyph(glyph, &mut pen);
        pen.x += advance * stretch;
    }
    format!("<path class=\"text {class}\" d=\"{}\"/>", pen.path)
}

/// A text without its escapes.
fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&#39;", "'").replace("&apos;", "'").replace("&amp;", "&")
}

/// Writes outlines into a path.
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

    /// How many dots are dark.
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
