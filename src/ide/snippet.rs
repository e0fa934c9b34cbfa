//! Elements with what has to be in them, as text with places to fill in (`$1`, `$0` at last).

use super::typed::Typed;
use crate::schema::{Content, Particle, Schema, Type, TypeRef};

/// How deep required elements are written out.
const DEPTH: usize = 4;
/// How many alternatives there may be before the choice is left to the author.
const FEW: usize = 2;

struct Writer<'s> {
    schema: &'s Schema,
    out: String,
    next: usize,
    line_end: &'s str,
}

/// An element, its tag's name as it is to be written, with its required attributes and children. What stands behind the
/// first name is given: `shell xmlns="…"`.
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
                    // Nothing has to be in it.
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

    /// What has to be there. Recursion ends at [`DEPTH`].
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
