//! Texts of the source in the language of a target, with the secrets in them replaced.
//!
//! A printer implements [`Says`], which tells how its target stores secrets. [`say`] compiles a text and claims the
//! result in the ledger. Each secret that is written in a text or named by an expression gets a line in the report.

use super::Unscheduled;
use super::claims::{Cut, Piece};
use super::ledger::Outcome;
use super::now::Now;
use super::text::TextOf;
use crate::ir::Scalar;
use crate::source::Span;
use ankus_lang::el::tree::Op;
use ankus_lang::el::{Piece as Part, Template};

/// A text in the language of a target.
pub(super) trait Said: Default {
    /// Appends another text.
    fn followed_by(self, other: Self) -> Self;
    /// The text if it is the same in every run.
    fn known(&self) -> Option<&str>;
    /// Why a part of it has no counterpart, if one has not.
    fn lack(&self) -> Option<&str>;
    /// How it differs from the source, if it does.
    fn difference(&self) -> Option<&str>;
}

impl<V> Said for TextOf<V> {
    fn followed_by(self, other: Self) -> Self {
        self.then(other)
    }

    fn known(&self) -> Option<&str> {
        TextOf::known(self)
    }

    fn lack(&self) -> Option<&str> {
        self.lacks.first().map(String::as_str)
    }

    fn difference(&self) -> Option<&str> {
        self.differs.first().map(String::as_str)
    }
}

/// How a secret reaches the place where it is needed, and what the user has to set up for it.
pub(super) type Kept = (&'static str, String);

/// What the functions of this module need of a printer.
pub(super) trait Says<'a> {
    /// Texts in the language of the target.
    type Text: Said;
    /// The remedy reported where a secret is left out of a text.
    const LEFT_OUT: &'static str;
    /// The remedy reported where an expression has no counterpart.
    const LACKING: &'static str;

    /// The text that is converted now.
    fn now(&mut self) -> &mut Now<'a>;
    /// Compiles a text that contains no secret.
    fn shown(&mut self, source: &str) -> Self::Text;
    /// Returns the code that reads the secret of this name.
    fn kept(&mut self, name: &str) -> (Self::Text, Kept);
    /// How a secret property reaches an expression; none if that is reported elsewhere.
    fn named(&self, name: &str) -> Option<Kept>;
    /// Notes that a text has no counterpart.
    fn lacks(&mut self, _why: &str) {}
}

/// Compiles a text and claims it in the ledger according to the result.
pub(super) fn say<'a, P: Says<'a>>(printer: &mut P, scalar: &Scalar) -> P::Text {
    let secrets = printer.now().secrets;
    let said = match printer.now().written.cut(scalar, secrets) {
        Cut::Whole => printer.shown(scalar.as_str()),
        Cut::Pieces(pieces) => pieces.iter().fold(P::Text::default(), |text, piece| match piece {
            Piece::Shown(shown) => text.followed_by(printer.shown(shown)),
            Piece::Secret(name) => text.followed_by(secret(printer, scalar.span(), name)),
        }),
        Cut::LeftOut(reason) => {
            printer.now().ledger.claim(scalar.span(), Outcome::None, reason, P::LEFT_OUT);
            printer.shown(&secrets.text(scalar.as_str()))
        }
    };
    let named = secret_in(printer, scalar.as_str()).and_then(|name| printer.named(&name));
    if let Some((reason, remedy)) = named {
        printer.now().ledger.claim(scalar.span(), Outcome::Approximate, reason, &remedy);
    }
    judge(printer, scalar.span(), &said);
    said
}

/// Returns the code for a text that as a whole is a secret of this name.
pub(super) fn hide<'a, P: Says<'a>>(printer: &mut P, span: Span, name: &str) -> P::Text {
    let name = printer.now().written.whole(span, name);
    secret(printer, span, &name)
}

/// Returns the code that reads a secret which the target stores, and claims it.
fn secret<'a, P: Says<'a>>(printer: &mut P, span: Span, name: &str) -> P::Text {
    let (code, (reason, remedy)) = printer.kept(name);
    printer.now().ledger.claim(span, Outcome::Approximate, reason, &remedy);
    code
}

/// Claims a compiled text: without a counterpart, approximate, or exact.
pub(super) fn judge<'a, P: Says<'a>>(printer: &mut P, span: Span, text: &P::Text) {
    if let Some(why) = text.lack() {
        // Expressions of times and data only lack the schedule; the reason is why that could not be converted.
        let unscheduled = printer.now().unscheduled.filter(|_| why.contains("coord:"));
        let reason = unscheduled.map_or_else(|| why.to_owned(), Unscheduled::reason);
        let remedy = unscheduled.map_or(P::LACKING, Unscheduled::remedy);
        printer.now().ledger.claim(span, Outcome::None, &reason, remedy);
        printer.lacks(why);
    } else if let Some(why) = text.difference() {
        printer.now().ledger.claim(span, Outcome::Approximate, why, "");
    } else {
        printer.now().ledger.exact(span);
    }
}

/// Returns the first secret property that an expression of a text names: `${db.password}`, `${wf:conf('db.password')}`.
fn secret_in<'a, P: Says<'a>>(printer: &mut P, source: &str) -> Option<String> {
    if !source.contains("${") {
        return None;
    }
    let Now { secrets, properties, dialect, phase, .. } = *printer.now();
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
