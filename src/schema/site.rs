//! Action types that a site adds to its server, as `ankus.toml` declares them.
//!
//! Takes the declarations, with the texts of the schemas they name, and returns a [`Language`] that includes them. A
//! declaration without elements allows any content: nothing is known about it, so nothing is reported.

use super::model::{Model, Occurs, Particle};
use super::{
    Attribute, Check, Child, Content, Language, Meaning, Schema, Text, Type, TypeId, TypeRef, xsd,
};
use crate::settings::SiteAction;

const TEXT: Text = Text { check: Check::String, meaning: Meaning::Text };

/// The language with a site's additions, and a message for each schema that could not be read.
pub fn language(actions: &[SiteAction]) -> (Language, Vec<String>) {
    let mut language = Language::default();
    let mut problems = Vec::new();
    for action in actions {
        match &action.xsd_text {
            Some(text) => {
                let included = |location: &str| {
                    let mut known = action.xsd_included.iter();
                    known.find(|(known, _)| known == location).map(|(_, text)| text.as_str())
                };
                match xsd::read(text, &included) {
                    Ok(schema) => language.site.push(schema),
                    Err(error) => {
                        problems.push(format!("the schema of `{}`: {error}", action.name));
                    }
                }
            }
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

/// The type of an action: its child elements contain text, in the order in which they are declared.
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
        children.push(Child {
            name: name.into(),
            kind,
            about,
            since,
            until: None,
            servers: Vec::new(),
        });
    }
    let content = match action.elements.is_empty() {
        true => Content::Anything,
        false => {
            let particle = Particle::Sequence(parts, Occurs::ONCE);
            // A list that exceeds the limits is treated as unknown content.
            let model = Model::new(children, Vec::new(), particle);
            model.map_or(Content::Anything, |model| Content::Children(Box::new(model)))
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
        assert_eq!(said(wrong, &table), ["`queue` must come before `arg`"]);
        let schema = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:s='uri:site:sge:0.1' \
            targetNamespace='uri:site:sge:0.1' elementFormDefault='qualified'><xs:element name='sge' type='s:SGE'/>\
            <xs:complexType name='SGE'><xs:sequence><xs:element name='queue' type='xs:string'/>\
            <xs:element name='arg' type='xs:string' minOccurs='0' maxOccurs='unbounded'/></xs:sequence>\
            </xs:complexType></xs:schema>";
        let table = [action(&[], Some(schema))];
        assert_eq!(said(right, &table), [] as [&str; 0]);
        assert_eq!(said(wrong, &table), ["`queue` must come before `arg`"]);
    }

    #[test]
    fn a_sites_schema_may_include_what_oozies_own_include() {
        let schema = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:s='uri:site:sge:1.0' \
            targetNamespace='uri:site:sge:1.0' elementFormDefault='qualified'>\
            <xs:include schemaLocation='oozie-common-1.0.xsd'/>INCLUDE<xs:element name='sge' type='s:SGE'/>\
            <xs:simpleType name='SIZE'><xs:restriction base='xs:string'><xs:enumeration value='small'/>\
            <xs:enumeration value='large'/></xs:restriction></xs:simpleType>\
            <xs:simpleType name='SHARE'><xs:restriction base='xs:integer'><xs:minInclusive value='1'/>\
            <xs:maxInclusive value='9'/></xs:restriction></xs:simpleType>\
            <xs:complexType name='SGE'><xs:sequence><xs:element name='prepare' type='s:PREPARE' minOccurs='0'/>\
            <xs:element name='launcher' type='s:LAUNCHER' minOccurs='0'/>\
            <xs:element name='configuration' type='s:CONFIGURATION' minOccurs='0'/>\
            <xs:element name='size' type='s:SIZE'/><xs:element name='share' type='s:SHARE'/></xs:sequence>\
            <xs:attribute name='speed' use='required'><xs:simpleType><xs:restriction base='xs:string'>\
            <xs:enumeration value='slow'/></xs:restriction></xs:simpleType></xs:attribute>\
            </xs:complexType></xs:schema>";
        let plain = SiteAction {
            schemas: vec!["uri:site:sge:1.0".to_owned()],
            ..action(&[], Some(&schema.replace("INCLUDE", "")))
        };
        let right = "<sge xmlns='uri:site:sge:1.0' speed='slow'><prepare><delete path='/x'/></prepare><launcher><vcores>2\
            </vcores></launcher><size>large</size><share>9</share></sge>";
        let wrong = "<sge xmlns='uri:site:sge:1.0' speed='fast'><prepare><mkdir path='/x'/><delete path='/x'/></prepare>\
            <launcher><vcores>${x}</vcores></launcher><size>huge</size><share>10</share></sge>";
        assert_eq!(said(right, std::slice::from_ref(&plain)), [] as [&str; 0]);
        let problems = [
            "`speed` is one of `slow`",
            "`delete` must come before `mkdir`",
            "`vcores` is a whole number from 0 to 4294967295, not an expression",
            "`size` is one of `small`, `large`",
            "`share` is a whole number from 1 to 9, not an expression",
        ];
        assert_eq!(said(wrong, std::slice::from_ref(&plain)), problems);

        // An included schema that is not built in must be available.
        let own = "<xs:include schemaLocation='own.xsd'/>";
        let mut more = SiteAction { xsd_text: Some(schema.replace("INCLUDE", own)), ..plain };
        let problem = "the schema of `sge`: `own.xsd`, which it includes, is not at hand";
        assert_eq!(language(std::slice::from_ref(&more)).1, [problem]);
        let text = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:complexType name='OWN'/></xs:schema>";
        more.xsd_included.push(("own.xsd".to_owned(), text.to_owned()));
        assert_eq!(language(std::slice::from_ref(&more)).1, [] as [&str; 0]);
        assert_eq!(said(right, &[more]), [] as [&str; 0]);
    }
}
