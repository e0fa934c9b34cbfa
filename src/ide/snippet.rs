//! Creates snippets for elements with their required content, with placeholders (`$1`, and `$0` at the end).

use super::typed::Typed;
use crate::schema::{Content, Particle, Schema, Type, TypeRef};

/// Maximum nesting depth of required elements in a snippet.
const DEPTH: usize = 4;
/// Maximum number of alternatives of which the first is chosen; among more, the choice is left to the author.
const FEW: usize = 2;

struct Writer<'s> {
    schema: &'s Schema,
    out: String,
    next: usize,
    line_end: &'s str,
}

/// A snippet for an element, with its tag name as it is to be written, and its required attributes and children.
/// `given` follows the name in the start tag: `shell xmlns="…"`.
pub(super) fn element(typed: Typed<'_>, name: &str, given: &str, line_end: &str) -> String {
    let mut writer = Writer { schema: typed.schema, out: String::new(), next: 1, line_end };
    let prefix = name.split_once(':').map(|(prefix, _)| format!("{prefix}:"));
    writer.element(&prefix.unwrap_or_default(), super::cursor::local(name), given, typed.kind, 0);
    writer.out
}

impl Writer<'_> {
    fn stop(&mut self) {
        self.out += &format!("${}", self.next);
        self.next += 1;
    }

    fn element(&mut self, prefix: &str, name: &str, given: &str, kind: TypeRef, depth: usize) {
        self.out += &format!("<{prefix}{name}{given}");
        let TypeRef::Type(id) = kind else {
            self.out.push('>');
            self.stop();
            self.out += &format!("</{prefix}{name}>");
            return;
        };
        let ty = self.schema.ty(id);
        for attribute in ty.attributes.iter().filter(|attribute| attribute.required) {
            self.out += &format!(" {}=\"", attribute.name);
            self.stop();
            self.out.push('"');
        }
        match &ty.content {
            Content::Empty => self.out += "/>",
            Content::Text(_) | Content::Anything => {
                self.out.push('>');
                self.stop();
                self.out += &format!("</{prefix}{name}>");
            }
            Content::Children(model) => {
                let before = self.out.len();
                self.out.push('>');
                let inner = self.out.len();
                self.part(prefix, ty, &model.particle, depth + 1);
                if self.out.len() == inner && model.particle.occurs().min > 0 && depth > 0 {
                    // It has no required content.
                    self.out.truncate(before);
                    self.out += "/>";
                    return;
                }
                if self.out.len() == inner {
                    self.line(depth + 1);
                    self.stop();
                }
                self.line(depth);
                self.out += &format!("</{prefix}{name}>");
            }
        }
    }

    fn line(&mut self, depth: usize) {
        self.out += self.line_end;
        self.out += &"\t".repeat(depth);
    }

    /// Writes the required parts. The recursion ends at [`DEPTH`].
    fn part(&mut self, prefix: &str, ty: &Type, particle: &Particle, depth: usize) {
        if particle.occurs().min == 0 || depth > DEPTH {
            return;
        }
        match particle {
            Particle::Child(at, _) => {
                let child = &ty.children()[usize::from(*at)];
                self.line(depth);
                self.element(prefix, &child.name, "", child.kind, depth);
            }
            Particle::Wildcard(..) => {
                self.line(depth);
                self.stop();
            }
            Particle::Sequence(parts, _) => {
                parts.iter().for_each(|part| self.part(prefix, ty, part, depth));
            }
            Particle::Choice(parts, _) if parts.iter().any(Particle::optional) => {}
            Particle::Choice(parts, _) if parts.len() <= FEW => {
                self.part(prefix, ty, &parts[0], depth);
            }
            Particle::Choice(..) => {
                self.line(depth);
                self.stop();
            }
        }
    }
}
