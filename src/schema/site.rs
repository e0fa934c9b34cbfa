//! Action types that a site adds to its server, as `ankus.toml` declares them.
//!
//! In: the declarations, with the texts of the schemas they name. Out: a [`Language`] that knows them. A declaration
//! without elements takes any content: nothing is known of it, so nothing is said about it.

use super::model::{Model, Occurs, Particle};
use super::{
    Attribute, Check, Child, Content, Language, Meaning, Schema, Text, Type, TypeId, TypeRef, xsd,
};
use crate::settings::SiteAction;

const TEXT: Text = Text { check: Check::String, meaning: Meaning::Text };

/// The language with a site's additions, and a sentence for each schema that could not be read.
pub fn language(actions: &[SiteAction]) -> (Language, Vec<String>) {
    let mut language = Language::default();
    let mut problems = Vec::new();
    for action in actions {
        match &action.xsd_text {
            Some(text) => match xsd::read(text, &|_| None) {
                Ok(schema) => language.site.push(schema),
                Err(error) => problems.push(format!("the schema of `{}`: {error}", action.name)),
            },
            None => {
                for namespace in &action.schemas {
                    declare(&mut language, namespace, action);
                }
            }
        }
    }
    (language, problems)
}

/// Adds an element to a namespace, which may have others.
fn declare(language: &mut Language, namespace: &str, action: &SiteAction) {
    let at = language.site.iter().position(|schema| *schema.namespace == *namespace);
    let at = at.unwrap_or_else(|| {
        language.site.push(Schema {
            family: action.name.as_str().into(),
            version: namespace.rsplit(':').next().unwrap_or_default().into(),
            namespace: namespace.into(),
            servers: Vec::new(),
            types: Vec::new(),
            simples: Vec::new(),
            roots: Vec::new(),
        });
        language.site.len() - 1
    });
    let schema = &mut language.site[at];
    let id = TypeId(schema.types.len() as u16);
    schema.types.push(ty(action));
    schema.roots.push((action.name.as_str().into(), id));
}

/// The type of an action: its elements are texts, in the order in which they are listed.
fn ty(action: &SiteAction) -> Type {
    let mut children = Vec::new();
    let mut parts = Vec::new();
    let mut attributes = Vec::new();
    for element in &action.elements {
        let name = element.trim_end_matches(['?', '*', '+', '!']);
        let suffix = &element[name.len()..];
        if let Some(name) = name.strip_prefix('@') {
            attributes.push(Attribute {
                name: name.into(),
                text: TEXT,
                required: suffix == "!",
                about: "".into(),
                since: "".into(),
                until: None,
            });
            continue;
        }
        let occurs = match suffix {
            "?" => Occurs { min: 0, max: Some(1) },
            "*" => Occurs { min: 0, max: None },
            "+" => Occurs { min: 1, max: None },
            _ => Occurs::ONCE,
        };
        parts.push(Particle::Child(children.len() as u16, occurs));
        let kind = TypeRef::Text(TEXT);
        let (about, since) = ("".into(), "".into());
        children.push(Child { name: name.into(), kind, about, since, until: None });
    }
    let content = match action.elements.is_empty() {
        true => Content::Anything,
        false => {
            let particle = Particle::Sequence(parts, Occurs::ONCE);
            Content::Children(Box::new(Model::new(children, Vec::new(), particle)))
        }
    };
    Type { name: None, about: "An action type of this site.".into(), attributes, content }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::validate::{Document, check};
    use crate::syntax::xml::Tree;

    fn said(body: &str, actions: &[SiteAction]) -> Vec<String> {
        let text = format!(
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='a'/><action name='a'>{body}\
             <ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>"
        );
        let (language, problems) = language(actions);
        assert_eq!(problems, [] as [&str; 0]);
        let (tree, _) = Tree::parse(&text);
        let findings = check(&tree, Document::Workflow, &language, "5.2.1");
        findings.into_iter().map(|finding| finding.message).collect()
    }

    fn action(elements: &[&str], xsd_text: Option<&str>) -> SiteAction {
        SiteAction {
            name: "sge".to_owned(),
            schemas: vec!["uri:site:sge:0.1".to_owned()],
            elements: elements.iter().map(|element| (*element).to_owned()).collect(),
            xsd_text: xsd_text.map(str::to_owned),
            ..SiteAction::default()
        }
    }

    #[test]
    fn a_sites_action_is_known_by_name_by_a_table_or_by_a_schema() {
        let right = "<sge xmlns='uri:site:sge:0.1'><queue>q</queue><arg>a</arg></sge>";
        let wrong = "<sge xmlns='uri:site:sge:0.1'><arg>a</arg><queue>q</queue></sge>";
        assert_eq!(said(right, &[action(&[], None)]), [] as [&str; 0]);
        assert_eq!(said(wrong, &[action(&[], None)]), [] as [&str; 0]);
        let table = [action(&["queue", "arg*"], None)];
        assert_eq!(said(right, &table), [] as [&str; 0]);
        assert_eq!(said(wrong, &table), ["`queue` has to come before `arg`"]);
        let schema = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:s='uri:site:sge:0.1' \
            targetNamespace='uri:site:sge:0.1' elementFormDefault='qualified'><xs:element name='sge' type='s:SGE'/>\
            <xs:complexType name='SGE'><xs:sequence><xs:element name='queue' type='xs:string'/>\
            <xs:element name='arg' type='xs:string' minOccurs='0' maxOccurs='unbounded'/></xs:sequence>\
            </xs:complexType></xs:schema>";
        let table = [action(&[], Some(schema))];
        assert_eq!(said(right, &table), [] as [&str; 0]);
        assert_eq!(said(wrong, &table), ["`queue` has to come before `arg`"]);
    }
}
