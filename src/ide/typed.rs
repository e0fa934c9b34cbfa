//! The type of an element according to the version of its schema: its attributes and its content.

use crate::schema::{
    self, Attribute, Check, Child, Content, Language, Model, Schema, Type, TypeRef,
};
use crate::syntax::xml::Element;

/// An element with its type in the schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typed<'s> {
    /// Its schema.
    pub(super) schema: &'s Schema,
    /// Its type.
    pub(super) kind: TypeRef,
    /// Its declaration in the parent; `None` for a root element.
    pub(super) child: Option<&'s Child>,
}

impl<'s> Typed<'s> {
    /// Its element type, unless it is text without attributes.
    pub(super) fn ty(self) -> Option<&'s Type> {
        match self.kind {
            TypeRef::Type(id) => Some(self.schema.ty(id)),
            TypeRef::Text(_) => None,
        }
    }

    /// Its description, preferably that of its declaration in the parent.
    pub(super) fn about(self) -> &'s str {
        let of_place = self.child.map(|child| &*child.about).filter(|about| !about.is_empty());
        of_place.or_else(|| self.ty().map(|ty| &*ty.about)).unwrap_or_default()
    }

    /// Its attributes.
    pub(super) fn attributes(self) -> &'s [Attribute] {
        self.ty().map(|ty| ty.attributes.as_slice()).unwrap_or_default()
    }

    /// Its text type, if it contains text.
    pub(super) fn text(self) -> Option<schema::Text> {
        match self.kind {
            TypeRef::Text(text) => Some(text),
            TypeRef::Type(id) => match self.schema.ty(id).content {
                Content::Text(text) => Some(text),
                _ => None,
            },
        }
    }

    /// Its content model, if it contains elements.
    pub(super) fn model(self) -> Option<&'s Model> {
        match &self.ty()?.content {
            Content::Children(model) => Some(model),
            _ => None,
        }
    }

    /// The child with a namespace and name.
    pub(super) fn step(
        self,
        language: &'s Language,
        namespace: &str,
        name: &str,
    ) -> Option<Typed<'s>> {
        let model = self.model()?;
        let own = &*self.schema.namespace;
        // An element with an unknown or no namespace is assumed to be in the parent's.
        let known = schema_of(language, namespace).filter(|schema| &*schema.namespace != own);
        let Some(other) = known else {
            let child = model.child(name)?;
            return Some(Typed { schema: self.schema, kind: child.kind, child: Some(child) });
        };
        let allowed = model.wildcards.iter().any(|wildcard| wildcard.accept(own, namespace));
        let id = other.root(name).filter(|_| allowed)?;
        Some(Typed { schema: other, kind: TypeRef::Type(id), child: None })
    }

    /// Whether a text satisfies a check of the schema.
    pub(super) fn accepts(self, check: Check, text: &str) -> bool {
        match check {
            Check::Simple(at) => self.schema.simples[usize::from(at)].accepts(text),
            _ => true,
        }
    }
}

fn schema_of<'s>(language: &'s Language, namespace: &str) -> Option<&'s Schema> {
    language.schema(namespace)
}

/// The type of a root element: of its version, or of the newest if its version is unknown.
pub(super) fn of_root<'s>(
    language: &'s Language,
    namespace: &str,
    name: &str,
) -> Option<Typed<'s>> {
    let known = schema_of(language, namespace).filter(|schema| schema.root(name).is_some());
    let newest = || {
        let schemas = schema::families().iter().map(|family| family.newest());
        schemas.into_iter().find(|schema| schema.root(name).is_some())
    };
    let schema = known.or_else(newest)?;
    Some(Typed { schema, kind: TypeRef::Type(schema.root(name)?), child: None })
}

/// The type of an element, determined from the root down; `None` if some element above it is unknown.
pub(super) fn of<'s>(language: &'s Language, element: Element<'_>) -> Option<Typed<'s>> {
    let mut path = Vec::new();
    let mut at = Some(element);
    while let Some(element) = at {
        path.push(element);
        at = element.parent();
    }
    let root = path.pop()?;
    let mut typed = of_root(language, root.namespace(), root.name())?;
    for element in path.into_iter().rev() {
        typed = typed.step(language, element.namespace(), element.name())?;
    }
    Some(typed)
}
