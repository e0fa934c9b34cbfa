//! Formats XML as the server does: one element per line, two blanks per level, lines separated by `\r\n`.

/// Formats an XML text; other texts are returned unchanged. Text content is never changed.
pub fn laid_out(xml: &str) -> String {
    let Some(pieces) = pieces(xml.trim()) else { return xml.to_owned() };
    let mut out = String::with_capacity(xml.len() * 2);
    let mut depth = 0_usize;
    for (at, piece) in pieces.iter().enumerate() {
        let line = |out: &mut String, depth: usize| {
            if !out.is_empty() {
                out.push_str("\r\n");
                out.push_str(&"  ".repeat(depth));
            }
        };
        match piece {
            Piece::Open(tag) => {
                line(&mut out, depth);
                match pieces.get(at + 1) {
                    Some(Piece::Close(_)) => out.push_str(&format!("{} />", &tag[..tag.len() - 1])),
                    _ => out.push_str(tag),
                }
                depth += 1;
            }
            Piece::Empty(tag) => {
                line(&mut out, depth);
                out.push_str(&format!("{} />", tag[..tag.len() - 2].trim_end()));
            }
            Piece::Close(tag) => {
                depth = depth.saturating_sub(1);
                match at.checked_sub(1).map(|before| &pieces[before]) {
                    Some(Piece::Open(_)) => {}
                    Some(Piece::Text(_)) => out.push_str(tag),
                    _ => {
                        line(&mut out, depth);
                        out.push_str(tag);
                    }
                }
            }
            Piece::Text(text) => out.push_str(text.trim()),
        }
    }
    out
}

enum Piece<'a> {
    Open(&'a str),
    Close(&'a str),
    Empty(&'a str),
    Text(&'a str),
}

/// Splits XML into tags and texts; none if it has anything else, or mixed content.
fn pieces(xml: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = xml;
    if !rest.starts_with('<') {
        return None;
    }
    while !rest.is_empty() {
        let (piece, after) = match rest.find('<')? {
            0 => {
                let end = end_of(rest)?;
                let tag = &rest[..end];
                let piece = match tag {
                    tag if tag.starts_with("<!") || tag.starts_with("<?") => return None,
                    tag if tag.starts_with("</") => Piece::Close(tag),
                    tag if tag.ends_with("/>") => Piece::Empty(tag),
                    tag => Piece::Open(tag),
                };
                (Some(piece), &rest[end..])
            }
            at => {
                let text = &rest[..at];
                let is_blank = text.trim().is_empty();
                let is_inside = matches!(pieces.last(), Some(Piece::Open(_)));
                let is_whole = is_inside && rest[at..].starts_with("</");
                if !(is_blank || is_whole) {
                    return None;
                }
                ((!is_blank).then_some(Piece::Text(text)), &rest[at..])
            }
        };
        pieces.extend(piece);
        rest = after;
    }
    Some(pieces)
}

/// Returns the offset after the tag at the start of a text; a quoted value may contain `>`.
fn end_of(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '>') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_on_lines_of_their_own() {
        let xml = "<script xmlns=\"u\"><data>k=v</data><a><b/></a><echo></echo></script>";
        let lines = [
            "<script xmlns=\"u\">",
            "  <data>k=v</data>",
            "  <a>",
            "    <b />",
            "  </a>",
            "  <echo />",
            "</script>",
        ];
        assert_eq!(laid_out(xml), lines.join("\r\n"));
        assert_eq!(laid_out("<a></a>"), "<a />");
        assert_eq!(laid_out("<a b='>'><c d=\"'>\"/></a>"), "<a b='>'>\r\n  <c d=\"'>\" />\r\n</a>");
        for text in ["", "plain", "<a>x<b/></a>", "<a><!-- c --></a>", "<a>"] {
            assert_eq!(laid_out(text), text);
        }
    }
}
