//! What a text says in the language of a target, where secrets may stand in it.
//!
//! In: a printer that [`Says`] how its target keeps secrets. Out: the text, with the claim of what became of it. A secret that
//! is written in a text, or that an expression names, has a line in the report.

use super::claims::{Cut, Piece, WrittenSecrets};
use super::ledger::{Ledger, Outcome};
use super::{Unscheduled, airflow, text};
use crate::ir::Scalar;
use crate::settings::secrets::Secrets;
use crate::source::Span;
use ankus_lang::el::tree::Op;
use ankus_lang::el::{Dialect, Phase, Piece as Part, Template};
use std::collections::BTreeMap;

/// A text in the language of a target.
pub(super) trait Said: Default {
    /// This and another text behind it.
    fn followed_by(self, other: Self) -> Self;
    /// What of it cannot be had.
    fn lack(&self) -> Option<&str>;
    /// What of it is only nearly the same.
    fn difference(&self) -> Option<&str>;
}

impl Said for text::Text {
    fn followed_by(self, other: Self) -> Self {
        self.then(other)
    }

    fn lack(&self) -> Option<&str> {
        self.lacks.first().map(String::as_str)
    }

    fn difference(&self) -> Option<&str> {
        self.differs.first().map(String::as_str)
    }
}

impl Said for airflow::expression::Text {
    fn followed_by(self, other: Self) -> Self {
        self.then(other)
    }

    fn lack(&self) -> Option<&str> {
        self.lacks.first().map(String::as_str)
    }

    fn difference(&self) -> Option<&str> {
        self.differs.first().map(String::as_str)
    }
}

/// How a secret gets to where it is needed, and what is left to do about it.
pub(super) type Kept = (&'static str, String);

/// How texts of a source are read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    /// What is secret.
    pub(super) secrets: &'a Secrets,
    /// What the application is submitted with.
    pub(super) properties: &'a BTreeMap<String, String>,
    /// The library that evaluates expressions.
    pub(super) dialect: Dialect,
    /// Where the text stands.
    pub(super) phase: Phase,
    /// Why nothing is known of the times and the data of the coordinator.
    pub(super) unscheduled: Option<&'a Unscheduled>,
}

/// A printer, as far as texts and their secrets are concerned.
pub(super) trait Says<'a> {
    /// Its texts.
    type Text: Said;
    /// What is left to do where a secret is left out of a text.
    const LEFT_OUT: &'static str;
    /// What is left to do where an expression has no counterpart.
    const LACKING: &'static str;

    /// How its texts are read.
    fn reader(&self) -> Reader<'a>;
    /// The secrets that are written in the definition.
    fn written(&mut self) -> &mut WrittenSecrets;
    /// What became of the parts of the source.
    fn claims(&mut self) -> &mut Ledger;
    /// The code of a text that may be shown.
    fn shown(&mut self, source: &str) -> Self::Text;
    /// The code of a secret, by a name for it.
    fn kept(&mut self, name: &str) -> (Self::Text, Kept);
    /// How a property that is a secret gets to an expression; nothing where that is said elsewhere.
    fn named(&self, name: &str) -> Option<Kept>;
    /// Takes note of what a text lacks.
    fn lacks(&mut self, _why: &str) {}
}

/// What a text says, claimed as it came out.
pub(super) fn say<'a, P: Says<'a>>(printer: &mut P, scalar: &Scalar) -> P::Text {
    let secrets = printer.reader().secrets;
    let said = match printer.written().cut(scalar, secrets) {
        Cut::Whole => printer.shown(scalar.as_str()),
        Cut::Pieces(pieces) => pieces.iter().fold(P::Text::default(), |text, piece| match piece {
            Piece::Shown(shown) => text.followed_by(printer.shown(shown)),
            Piece::Secret(name) => text.followed_by(secret(printer, scalar.span(), name)),
        }),
        Cut::LeftOut(reason) => {
            printer.claims().claim(scalar.span(), Outcome::None, reason, P::LEFT_OUT);
            printer.shown(&secrets.text(scalar.as_str()))
        }
    };
    let named = secret_in(printer, scalar.as_str()).and_then(|name| printer.named(&name));
    if let Some((reason, remedy)) = named {
        printer.claims().claim(scalar.span(), Outcome::Approximate, reason, &remedy);
    }
    judge(printer, scalar.span(), &said);
    said
}

/// A secret that is a whole text, by a name for it.
pub(super) fn hide<'a, P: Says<'a>>(printer: &mut P, span: Span, name: &str) -> P::Text {
    let name = printer.written().whole(span, name);
    secret(printer, span, &name)
}

/// A secret of a text, which the target keeps.
fn secret<'a, P: Says<'a>>(printer: &mut P, span: Span, name: &str) -> P::Text {
    let (code, (reason, remedy)) = printer.kept(name);
    printer.claims().claim(span, Outcome::Approximate, reason, &remedy);
    code
}

/// Claims a text as it came out.
pub(super) fn judge<'a, P: Says<'a>>(printer: &mut P, span: Span, text: &P::Text) {
    if let Some(why) = text.lack() {
        // An expression of times and data lacks nothing but them.
        let unscheduled = printer.reader().unscheduled.filter(|_| why.contains("coord:"));
        let reason = unscheduled.map_or_else(|| why.to_owned(), Unscheduled::reason);
        let remedy = unscheduled.map_or(P::LACKING, Unscheduled::remedy);
        printer.claims().claim(span, Outcome::None, &reason, remedy);
        printer.lacks(why);
    } else if let Some(why) = text.difference() {
        printer.claims().claim(span, Outcome::Approximate, why, "");
    } else {
        printer.claims().exact(span);
    }
}

/// The first property that is a secret and that an expression of a text names: `${db.password}`, `${wf:conf('db.password')}`.
fn secret_in<'a, P: Says<'a>>(printer: &P, source: &str) -> Option<String> {
    if !source.contains("${") {
        return None;
    }
    let Reader { secrets, properties, dialect, phase, .. } = printer.reader();
    let template = Template::compile(source, phase, dialect);
    let expressions = template.pieces().iter().filter_map(|piece| match *piece {
        Part::Expression { first, last, .. } => Some(first as usize..last as usize),
        Part::Literal { .. } => None,
    });
    let mut nodes = expressions.flat_map(|range| &template.nodes()[range]);
    nodes.find_map(|node| {
        let written = template.span(node.start, node.end).trim();
        let name = match node.op {
            Op::Variable => written,
            _ => {
                let name = written.trim_matches(['\'', '"']);
                Some(name)
                    .filter(|name| name.len() < written.len() && properties.contains_key(*name))?
            }
        };
        secrets.covers(name).then(|| name.to_owned())
    })
}
