//! Draws the shapes of nodes.

use super::text::{escaped, held};
use super::{Drawn, LINE, NAME};
use crate::emit::graph::{Kind, Node, clipped, worst};
use std::fmt::Write;

/// Half the size of the mark of a node whose failures are not drawn.
const MARK: f64 = 6.5;
/// The length of the stub of an omitted line.
const STUB: f64 = 11.0;

/// Writes one node.
pub(super) fn write(out: &mut String, node: &Node, drawn: &Drawn<'_>) {
    let mut class = format!("node {}", node.kind.name());
    let missing = (node.kind == Kind::Missing).then_some(crate::diag::Level::Error);
    match worst(&node.faults).max(missing) {
        Some(level) => {
            class.push(' ');
            class.push_str(level.name());
        }
        None if !node.reachable => class.push_str(" unreachable"),
        None => {}
    }
    if drawn.is_frame {
        class.push_str(" frame");
    }
    if let Some(status) = &node.status {
        class.push_str(match status.as_str() {
            "OK" | "DONE" => " ok",
            "RUNNING" => " running",
            "ERROR" | "FAILED" | "KILLED" => " failed",
            _ => " waiting",
        });
    }
    let link = node.link().map(|link| escaped(&link));
    if let Some(link) = &link {
        let _ = write!(out, "<a href=\"{link}\">");
    }
    // A page that shows the picture beside its text finds a node by `data-node`, which is its id in the JSON of the
    // drawing.
    let (id, tooltip) = (escaped(&node.id), escaped(&node.tooltip()));
    let _ = write!(out, "<g class=\"{class}\" data-node=\"{id}\"><title>{tooltip}</title>");
    out.push_str(&outline(node.kind, drawn));
    words(out, node, drawn);
    stubs(out, node, drawn);
    if let Some((mark, says)) = &drawn.mark {
        self::mark(out, mark, says, drawn);
    }
    out.push_str("</g>");
    if link.is_some() {
        out.push_str("</a>");
    }
    out.push('\n');
}

fn outline(kind: Kind, drawn: &Drawn<'_>) -> String {
    let ((x, y), (width, height)) = (drawn.center, drawn.size);
    let (l, r, t, b) = (x - width / 2.0, x + width / 2.0, y - height / 2.0, y + height / 2.0);
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        format!("<polygon class=\"box\" points=\"{}\"/>", points.join(" "))
    };
    let rectangle = |class: &str, inset: f64, radius: f64| {
        format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius:.1}\"/>",
            l + inset,
            t + inset,
            width - 2.0 * inset,
            height - 2.0 * inset
        )
    };
    let rounded = height / 2.0;
    // The inset of a slanted side at a corner.
    let slope = f64::min(14.0, width / 4.0);
    match kind {
        _ if drawn.is_frame => rectangle("box", 0.0, 8.0),
        Kind::Start => rectangle("box", 0.0, rounded),
        Kind::End => rectangle("box", 0.0, rounded) + &rectangle("inner", 3.0, rounded - 3.0),
        Kind::Action => rectangle("box", 0.0, 6.0),
        Kind::Missing => rectangle("box", 0.0, 0.0),
        Kind::Decision => polygon(&[(x, t), (r, y), (x, b), (l, y)]),
        Kind::Fork if drawn.across => polygon(&[(l, t + 7.0), (r, t), (r, b), (l, b - 7.0)]),
        Kind::Join if drawn.across => polygon(&[(l, t), (r, t + 7.0), (r, b - 7.0), (l, b)]),
        Kind::Fork => polygon(&[(l + slope, t), (r - slope, t), (r, b), (l, b)]),
        Kind::Join => polygon(&[(l, t), (r, t), (r - slope, b), (l + slope, b)]),
        Kind::Kill => polygon(&[
            (l + 10.0, t),
            (r - 10.0, t),
            (r, t + 10.0),
            (r, b - 10.0),
            (r - 10.0, b),
            (l + 10.0, b),
            (l, b - 10.0),
            (l, t + 10.0),
        ]),
        Kind::Coordinator => polygon(&[
            (l + slope, t),
            (r - slope, t),
            (r, y),
            (r - slope, b),
            (l + slope, b),
            (l, y),
        ]),
        Kind::Workflow | Kind::Bundle => rectangle("box", 0.0, 3.0) + &rectangle("inner", 3.0, 2.0),
        Kind::Dataset => {
            let half = width / 2.0;
            format!(
                "<path class=\"box\" d=\"M{l:.1} {:.1}a{half:.1} 6 0 0 1 {width:.1} 0V{:.1}a{half:.1} 6 0 0 1 \
                 -{width:.1} 0Zm0 0a{half:.1} 6 0 0 0 {width:.1} 0\"/>",
                t + 6.0,
                b - 6.0
            )
        }
        Kind::Data => format!(
            "<path class=\"box\" d=\"M{l:.1} {t:.1}H{:.1}L{r:.1} {:.1}V{b:.1}H{l:.1}ZM{:.1} {t:.1}V{:.1}H{r:.1}\"/>",
            r - 9.0,
            t + 9.0,
            r - 9.0,
            t + 9.0
        ),
    }
}

fn words(out: &mut String, node: &Node, drawn: &Drawn<'_>) {
    let ((x, y), (_, height)) = (drawn.center, drawn.size);
    let base = match node.kind {
        _ if drawn.is_frame => y - height / 2.0 + LINE + 4.0,
        Kind::Dataset => y + 8.0,
        _ => y + 4.0,
    };
    let base = if drawn.detail.is_some() && !drawn.is_frame { base - 6.0 } else { base };
    let name = clipped(&node.name, NAME);
    let _ = write!(
        out,
        "<text x=\"{x:.1}\" y=\"{base:.1}\"{}>{}</text>",
        held(&name, 12.0),
        escaped(&name)
    );
    if let Some(detail) = drawn.detail {
        let detail = clipped(detail, NAME);
        let _ = write!(
            out,
            "<text class=\"detail\" x=\"{x:.1}\" y=\"{:.1}\"{}>{}</text>",
            base + 13.0,
            held(&detail, 10.0),
            escaped(&detail)
        );
    }
}

/// Draws stubs for omitted lines, beside the places where lines enter and leave.
fn stubs(out: &mut String, node: &Node, drawn: &Drawn<'_>) {
    let ((x, y), (width, height)) = (drawn.center, drawn.size);
    for (count, sign) in [(node.hidden.entries, -1.0), (node.hidden.exits, 1.0)] {
        if count == 0 {
            continue;
        }
        let path = match drawn.across {
            true => {
                format!("M{:.1} {:.1}h{:.1}", x + sign * width / 2.0, y - height / 4.0, sign * STUB)
            }
            false => {
                format!("M{:.1} {:.1}v{:.1}", x - width / 4.0, y + sign * height / 2.0, sign * STUB)
            }
        };
        let _ = write!(out, "<path class=\"stub\" d=\"{path}\"/>");
    }
}

/// Draws a small mark on the edge of a node: its failures lead to the node with the same mark.
fn mark(out: &mut String, mark: &str, says: &str, drawn: &Drawn<'_>) {
    let ((x, y), (width, height)) = (drawn.center, drawn.size);
    // At a place where no line leaves.
    let (x, y) = match drawn.across {
        true => (x + width / 2.0 - 2.0 * MARK, y + height / 2.0),
        false => (x + width / 2.0, y),
    };
    let _ = write!(
        out,
        "<g class=\"mark\"><title>{}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{MARK}\"/>\
         <text x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>",
        escaped(says),
        y + 3.2,
        escaped(mark)
    );
}
