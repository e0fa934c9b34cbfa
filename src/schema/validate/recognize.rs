//! Recognizes what an unexpected child was meant to be: out of order, of another version, without its body, or
//! misspelled.

use super::{Checker, Kind, Place, Placed, flatten, holds, kind_of, rename, repeats};
use crate::budget;
use crate::diag::{Diagnostic, Fix, Safety, within};
use crate::schema::kinds::*;
use crate::schema::model::{Model, Namespaces, State, Symbol};
use crate::schema::{Schema, Type, TypeId, TypeRef, families};
use crate::source::Span;
use crate::syntax::xml::Element;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Action types that distributions of Oozie add in its own namespace.
const DISTRIBUTED: [&str; 1] = ["uri:oozie:spark3-action:"];

/// A symbol of the model, and the type by which its content is validated.
type Recognized<'t> = (Option<Symbol>, Kind<'t>);

/// The surroundings of a child to be recognized.
struct Within<'t, 'p> {
    parent: Element<'t>,
    schema: &'t Schema,
    ty: &'t Type,
    model: &'t Model,
    /// The names of all children of the parent.
    present: &'p HashSet<&'p str>,
}

impl<'t> Within<'t, '_> {
    fn is_action(&self) -> bool {
        self.ty.name.as_deref() == Some("ACTION") && &*self.schema.family == "workflow"
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.model.children.iter().position(|known| &*known.name == name)
    }

    fn child(&self, at: usize) -> Recognized<'t> {
        let kind = kind_of(self.schema, self.model.children[at].kind);
        (Some(Symbol::Child(at as u16)), kind)
    }
}

impl<'t> Checker<'t> {
    /// Recognizes an element matched by a wildcard: it must be declared somewhere.
    pub(super) fn foreign(
        &mut self,
        child: Element<'t>,
        schema: &'t Schema,
        parent: &Type,
    ) -> Kind<'t> {
        let Some(own) = self.schema(child.namespace()) else {
            let action = parent.name.as_deref() == Some("ACTION") && &*schema.family == "workflow";
            if self.aliases.contains_key(child.namespace()) {
                return Kind::Any;
            }
            if self.meant(child, None).is_some() || !action {
                return match self.unknown_namespace(child, None) {
                    Some(schema) => match schema.root(child.name()) {
                        Some(id) => Kind::Complex(schema, id),
                        None => Kind::Any,
                    },
                    None => Kind::Any,
                };
            }
            let finding = Diagnostic::new(
                &UNSUPPORTED_ACTION_TYPE,
                child.name_span(),
                format!(
                    "no schema of server {} declares `{}` in `{}`",
                    self.target,
                    child.name(),
                    child.namespace()
                ),
            )
            .help("an action type of a site is declared in `ankus.toml`, under `[actions]`");
            let namespace = child.namespace();
            let of_vendor = DISTRIBUTED.iter().any(|known| namespace.starts_with(known));
            self.report(match namespace.starts_with("uri:oozie:") && !of_vendor {
                true => finding,
                false => finding.depends_on("the action types that your server has"),
            });
            return Kind::Any;
        };
        self.newer_than_target(child, own);
        match own.root(child.name()) {
            Some(id) => Kind::Complex(own, id),
            None => {
                // An action in the namespace of another one.
                let has_root = |family: &&crate::schema::Family| {
                    family.schemas().any(|s| s.root(child.name()).is_some())
                };
                if let Some(family) = families().iter().find(has_root) {
                    let mut finding = self.action_namespace(child, family);
                    finding.message =
                        format!("`{}` is not an action of `{}`", child.name(), own.namespace);
                    self.report(finding);
                    // Its content inherits the wrong namespace.
                    return Kind::Any;
                }
                let near = nearest(child.name(), own.roots.iter().map(|(name, _)| &**name));
                let mut finding = Diagnostic::new(
                    &UNKNOWN_ELEMENT,
                    child.name_span(),
                    format!("`{}` has no element `{}`", own.namespace, child.name()),
                )
                .naming([&*own.namespace, child.name()]);
                if let Some(near) = near {
                    finding = finding.did_you_mean(near).fix(rename(child, near, Safety::Guess));
                }
                self.report(finding);
                match near.and_then(|near| own.root(near)) {
                    Some(id) => Kind::Complex(own, id),
                    None => Kind::Any,
                }
            }
        }
    }

    /// Reports children that the automaton rejects: their meaning, their proper place, and what is missing.
    pub(super) fn disorder(
        &mut self,
        element: Element<'t>,
        schema: &'t Schema,
        id: TypeId,
        model: &'t Model,
    ) {
        let before = self.findings.len();
        let parts = flatten(&model.particle);
        let mut placed: Vec<Placed<'t>> = Vec::new();
        let present: HashSet<&str> = element.elements().map(Element::name).collect();
        for child in element.elements() {
            let (symbol, kind) = self.recognize(element, child, schema, id, (model, &present));
            self.todo.push((child, kind));
            if let Some(Symbol::Child(at)) = symbol
                && let Some(known) = model.children.get(at as usize)
                && *known.name == *child.name()
            {
                self.later_child(child, schema, known);
            }
            if let Some(symbol) = symbol
                && let Some(rank) = parts.iter().position(|part| holds(part, symbol))
            {
                placed.push(Placed { element: child, symbol, rank });
            }
        }
        if self.without_body(element, schema, id, &placed) {
            // The parts of the body directly in the action explain everything that is missing.
            self.findings.truncate(before);
            self.bodiless(element);
            return;
        }
        self.order(element, &placed);
        placed.sort_by_key(|placed| placed.rank);
        for (rank, part) in parts.iter().enumerate() {
            let from = placed.partition_point(|placed| placed.rank < rank);
            let to = placed.partition_point(|placed| placed.rank <= rank);
            let place = Place { element, schema, id, model, placed: &placed, rank };
            self.count(&place, part, &placed[from..to]);
        }
        self.pair(element, before);
        self.gather(before, &MISSING_ELEMENT, "needs ", "needs ");
        if self.findings.len() == before {
            // No fault was identified, but the server rejects it.
            let mut state = State::default();
            for child in element.elements() {
                match model.step(state, &schema.namespace, child.namespace(), child.name()) {
                    Some((_, next)) => state = next,
                    None => {
                        let message = format!("`{}` is not allowed here", child.name());
                        let finding = Diagnostic::new(&UNKNOWN_ELEMENT, child.name_span(), message);
                        self.report(finding.naming([element.name(), child.name()]));
                        return;
                    }
                }
            }
            let message = format!("`{}` is not complete", element.name());
            let finding = Diagnostic::new(&MISSING_ELEMENT, element.name_span(), message);
            self.report(finding.naming([element.name()]));
        }
    }

    /// Whether the parts of an action's body are directly in the action, without anything that could be the body.
    fn without_body(
        &self,
        element: Element<'t>,
        schema: &'t Schema,
        id: TypeId,
        placed: &[Placed<'t>],
    ) -> bool {
        let action =
            schema.ty(id).name.as_deref() == Some("ACTION") && &*schema.family == "workflow";
        let known = |placed: &Placed<'t>| match placed.symbol {
            Symbol::Child(_) => !matches!(placed.element.name(), "ok" | "error"),
            Symbol::Wildcard(_) => {
                placed.element.namespace() != &*schema.namespace
                    || action_family(placed.element.name()).is_some()
            }
        };
        let strays = element.elements().filter(|child| is_body_part(child.name())).count();
        action && strays > 0 && !placed.iter().any(known)
    }

    fn bodiless(&mut self, element: Element<'t>) {
        let strays: Vec<_> =
            element.elements().filter(|child| is_body_part(child.name())).collect();
        let first = strays[0];
        let message = match strays.len() {
            1 => {
                format!("this action has no action type: `{}` is directly in it", first.name())
            }
            count => format!(
                "this action has no action type: `{}` and {} more are directly in it",
                first.name(),
                count - 1
            ),
        };
        self.report(
            Diagnostic::new(&ACTION_WITHOUT_BODY, element.name_span(), message)
                .note(first.name_span(), "this belongs in the element of the action type")
                .help("put them into an element such as `<pig>` or `<shell xmlns=\"…\">`"),
        );
    }

    /// If exactly one child is unknown and one is missing, the former was most likely meant to be the latter.
    fn pair(&mut self, element: Element<'t>, before: usize) {
        let own = |finding: &Diagnostic, kind: &'static crate::diag::Kind| {
            std::ptr::eq(finding.kind, kind)
                && finding.fixes.iter().all(|fix| fix.title.starts_with("Add "))
        };
        let mut unknown: HashMap<Span, usize> = HashMap::new();
        for (at, finding) in self.findings.iter().enumerate().skip(before) {
            if own(finding, &UNKNOWN_ELEMENT) {
                unknown.entry(finding.span).or_insert(at);
            }
        }
        let mut strange =
            element.elements().filter_map(|child| Some((child, *unknown.get(&child.name_span())?)));
        let (Some((child, at)), None) = (strange.next(), strange.next()) else { return };
        let lacking: Vec<usize> = (before..self.findings.len())
            .filter(|at| {
                own(&self.findings[*at], &MISSING_ELEMENT)
                    && self.findings[*at].span == element.name_span()
            })
            .collect();
        let [missing] = lacking[..] else { return };
        let [_, name] = &self.findings[missing].names[..] else { return };
        let name = name.clone();
        let (a, b) = (child.name().to_ascii_lowercase(), name.to_ascii_lowercase());
        let near = b.starts_with(&a) || a.starts_with(&b) || within(&a, &b, b.len() / 2).is_some();
        let found = &mut self.findings[at];
        if near {
            *found = found.clone().did_you_mean(name.as_str());
            found.fixes = vec![rename(child, &name, Safety::Guess)];
        } else {
            found.help = Some(format!("`{name}` is expected here"));
        }
        self.findings.remove(missing);
    }

    /// Recognizes a child: the symbol of the model that it is, or was probably meant to be. `present` are the names of
    /// all children.
    fn recognize(
        &mut self,
        parent: Element<'t>,
        child: Element<'t>,
        schema: &'t Schema,
        id: TypeId,
        (model, present): (&'t Model, &HashSet<&str>),
    ) -> Recognized<'t> {
        let within = Within { parent, schema, ty: schema.ty(id), model, present };
        let namespace = child.namespace();
        let own = self.schema(namespace).map_or(namespace, |schema| &schema.namespace);
        if own == &*schema.namespace {
            return self.in_own_namespace(&within, child);
        }
        // An element of another namespace that a wildcard matches.
        if let Some(at) =
            model.wildcards.iter().position(|wildcard| wildcard.accept(&schema.namespace, own))
        {
            // A child of the action itself takes precedence over the wildcard for bodies.
            let kind = self.foreign(child, schema, within.ty);
            return (Some(Symbol::Wildcard(at as u16)), kind);
        }
        match self.of_other_sla(&within, child) {
            Some(recognized) => recognized,
            None => self.in_wrong_namespace(&within, child),
        }
    }

    /// Recognizes a child in the namespace of its parent.
    fn in_own_namespace(&mut self, within: &Within<'t, '_>, child: Element<'t>) -> Recognized<'t> {
        let Within { schema, ty, model, present, .. } = *within;
        let name = child.name();
        if let Some(at) = within.position(name) {
            return within.child(at);
        }
        // An action of another family without the namespace it needs.
        if within.is_action()
            && let Some(family) = action_family(name)
        {
            let finding = self.action_namespace(child, family);
            self.report(finding);
            let best = self.best_version(child, &family.name, None).map(|(best, _)| best);
            if let Some(best) = best.filter(|best| best.root(name).is_some()) {
                self.as_if(child, best);
            }
            return (wildcard(model), Kind::Any);
        }
        let Some((other, known)) =
            other_versions(schema, ty).find_map(|(s, ty)| Some((s, ty.child(name)?)))
        else {
            return self.unheard_of(within, child);
        };
        let (what, until) = (("element", name), known.until.as_deref());
        let mut finding = self.other_version(child.name_span(), what, &known.since, until, schema);
        let free = !present.contains("job-tracker");
        if name == "resource-manager" && free && model.child("job-tracker").is_some() {
            finding = finding.fix(rename(child, "job-tracker", Safety::Safe));
        }
        self.report(finding);
        // Its content is validated against that version.
        if let TypeRef::Type(_) = known.kind {
            self.as_if_child(child, other, known.kind);
        }
        (None, Kind::Any)
    }

    /// Recognizes a child that no version knows: misspelled, or an action of the site.
    fn unheard_of(&mut self, within: &Within<'t, '_>, child: Element<'t>) -> Recognized<'t> {
        let Within { parent, model, present, .. } = *within;
        let name = child.name();
        let names = model.children.iter().filter(|known| {
            !present.contains(&*known.name) || repeats(&model.particle, model, &known.name)
        });
        let near = nearest(name, names.map(|known| &*known.name));
        let unsupported = within.is_action() && near.is_none();
        let mut finding = match unsupported {
            true => Diagnostic::new(
                &UNSUPPORTED_ACTION_TYPE,
                child.name_span(),
                format!("there is no action type `{name}`"),
            )
            .help(
                "an action type of a site has its own namespace, and is declared in `ankus.toml`",
            ),
            false => Diagnostic::new(
                &UNKNOWN_ELEMENT,
                child.name_span(),
                format!("`{}` has no element `{name}`", parent.name()),
            )
            .naming([parent.name(), name]),
        };
        if let Some(near) = near {
            let fix = rename(child, near, Safety::Guess);
            finding = finding.did_you_mean(near).fix(fix);
        } else if !unsupported {
            let all: Vec<String> =
                model.children.iter().map(|known| format!("`{}`", known.name)).collect();
            finding = finding.help(format!("it contains {}", all.join(", ")));
        }
        self.report(finding);
        match near.and_then(|near| within.position(near)) {
            Some(at) => within.child(at),
            None if unsupported => (wildcard(model), Kind::Any),
            None => (None, Kind::Any),
        }
    }

    /// Recognizes a child of a version of SLA that the element does not accept.
    fn of_other_sla(
        &mut self,
        within: &Within<'t, '_>,
        child: Element<'t>,
    ) -> Option<Recognized<'t>> {
        let Within { schema, model, .. } = *within;
        let (name, namespace) = (child.name(), child.namespace());
        let sla = model.wildcards.iter().any(|wildcard| matches!(wildcard, Namespaces::These(_)));
        if let Some(other) = self.schema(namespace).filter(|other| &*other.family == "sla") {
            let mut finding = Diagnostic::new(
                &SLA_SCHEMA_MISMATCH,
                child.name_span(),
                format!(
                    "{} {} does not accept `{}`",
                    schema.family, schema.version, other.namespace
                ),
            )
            .help("version 0.2 of SLA needs version 0.5 of the workflow");
            if let Some(fix) = self.raise(schema) {
                finding = finding.fix(fix);
            }
            self.report(finding);
            let kind = other.root(name).map_or(Kind::Any, |id| Kind::Complex(other, id));
            let symbol = if sla { sla_wildcard(model) } else { None };
            return Some((symbol, kind));
        }
        (sla && namespace.starts_with("uri:oozie:sla")).then(|| {
            let kind = match self.unknown_namespace(child, Some("sla")) {
                Some(other) => other.root(name).map_or(Kind::Any, |id| Kind::Complex(other, id)),
                None => Kind::Any,
            };
            (sla_wildcard(model), kind)
        })
    }

    /// Recognizes a child that would be known in the namespace of its parent, or that is not known at all.
    fn in_wrong_namespace(
        &mut self,
        within: &Within<'t, '_>,
        child: Element<'t>,
    ) -> Recognized<'t> {
        let Within { parent, schema, model, .. } = *within;
        let (name, namespace) = (child.name(), child.namespace());
        let at = within.position(name);
        let wanted = &schema.namespace;
        let message = match (at, namespace.is_empty()) {
            (Some(_), true) => {
                format!("`{name}` has no namespace; here it must be in `{wanted}`")
            }
            (Some(_), false) => {
                format!("`{name}` is in `{namespace}`; here it must be in `{wanted}`")
            }
            (None, _) => format!("`{}` has no element `{name}`", parent.name()),
        };
        let kind = if at.is_some() { &ELEMENT_IN_WRONG_NAMESPACE } else { &UNKNOWN_ELEMENT };
        let mut finding = Diagnostic::new(kind, child.name_span(), message);
        finding = finding.naming([parent.name(), name]);
        let declaration = child.attributes().find(|attribute| attribute.declares() == Some(""));
        if at.is_some()
            && child.prefix().is_none()
            && parent.prefix().is_none()
            && let Some(declaration) = declaration
        {
            let span = declaration.value_span();
            finding = finding.fix(Fix::safe(format!("Use `{wanted}`"), span, &**wanted));
        }
        self.report(finding);
        match at {
            Some(at) => {
                self.as_if_child(child, schema, model.children[at].kind);
                (Some(Symbol::Child(at as u16)), Kind::Any)
            }
            None => (None, Kind::Any),
        }
    }

    /// Validates an element and its descendants in the same namespace as if they were of `schema`.
    fn as_if(&mut self, element: Element<'t>, schema: &'t Schema) {
        if let Some(id) = schema.root(element.name()) {
            self.as_if_child(element, schema, TypeRef::Type(id));
        }
    }

    fn as_if_child(&mut self, element: Element<'t>, schema: &'t Schema, kind: TypeRef) {
        let mut inner = Checker {
            tree: self.tree,
            document: self.document,
            language: self.language,
            target: self.target,
            aliases: HashMap::from([(element.namespace(), Some(schema))]),
            known: HashMap::new(),
            todo: vec![(element, kind_of(schema, kind))],
            findings: Vec::new(),
            shared: Rc::clone(&self.shared),
        };
        while let Some((element, kind)) = inner.todo.pop() {
            if budget::spent_often() {
                break;
            }
            inner.element(element, kind);
        }
        self.findings.append(&mut inner.findings);
    }

    fn action_namespace(
        &self,
        child: Element<'t>,
        family: &'static crate::schema::Family,
    ) -> Diagnostic {
        let name = child.name();
        let mut finding = Diagnostic::new(
            &ACTION_IN_WRONG_NAMESPACE,
            child.name_span(),
            format!("`{name}` needs its own namespace"),
        );
        if let Some((best, fits)) = self.best_version(child, &family.name, None) {
            finding = finding.help(format!("write `<{name} xmlns=\"{}\">`", best.namespace));
            let declared = child.attributes().find(|attribute| attribute.declares() == Some(""));
            let title = format!("Put it into `{}`", best.namespace);
            let (span, text) = match declared {
                Some(attribute) => (attribute.value_span(), best.namespace.to_string()),
                None => {
                    let at = child.name_span().end as usize;
                    (Span::at(at), format!(" xmlns=\"{}\"", best.namespace))
                }
            };
            if child.prefix().is_none() {
                finding = finding.fix(match fits {
                    true => Fix::safe(title, span, text),
                    false => Fix::guess(title, span, text),
                });
            }
        }
        finding
    }
}

/// Whether an element belongs in the body of an action, and never beside it.
fn is_body_part(name: &str) -> bool {
    matches!(
        name,
        "job-tracker"
            | "resource-manager"
            | "name-node"
            | "prepare"
            | "job-xml"
            | "configuration"
            | "script"
            | "param"
            | "argument"
            | "arg"
            | "exec"
            | "env-var"
            | "file"
            | "archive"
            | "main-class"
            | "java-opts"
            | "java-opt"
            | "capture-output"
            | "command"
            | "app-path"
            | "propagate-configuration"
            | "master"
            | "mode"
            | "class"
            | "jar"
            | "spark-opts"
            | "launcher"
            | "streaming"
            | "jdbc-url"
            | "password"
            | "query"
            | "mkdir"
            | "delete"
            | "move"
            | "chmod"
            | "touchz"
            | "host"
            | "to"
            | "subject"
            | "body"
    )
}

/// The family whose schemas declare an action with this name.
fn action_family(name: &str) -> Option<&'static crate::schema::Family> {
    families().iter().find(|family| {
        !matches!(&*family.name, "workflow" | "coordinator" | "bundle" | "sla")
            && family.newest().root(name).is_some()
    })
}

/// The type with the same name in the other versions of a schema, the newest first.
pub(super) fn other_versions<'s>(
    schema: &'s Schema,
    ty: &'s Type,
) -> impl Iterator<Item = (&'static Schema, &'static Type)> + 's {
    let family = families().iter().find(|family| *family.name == *schema.family);
    let schemas = family.into_iter().flat_map(|family| family.schemas().rev());
    schemas.filter(|other| other.version != schema.version).filter_map(|other| {
        let id = other.named(ty.name.as_deref()?)?;
        Some((other, other.ty(id)))
    })
}

/// The word among `known` that was most likely meant.
pub(super) fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .filter_map(|candidate| Some((within(word, candidate, limit)?, candidate)))
        .filter(|(distance, _)| *distance > 0)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The wildcard that matches actions of other families.
fn wildcard(model: &Model) -> Option<Symbol> {
    let at = model.wildcards.iter().position(|wildcard| *wildcard == Namespaces::Other)?;
    Some(Symbol::Wildcard(at as u16))
}

fn sla_wildcard(model: &Model) -> Option<Symbol> {
    let at =
        model.wildcards.iter().position(|wildcard| matches!(wildcard, Namespaces::These(_)))?;
    Some(Symbol::Wildcard(at as u16))
}
