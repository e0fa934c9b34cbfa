//! The tables of the language, compared with the server's own schemas.

use std::collections::BTreeSet;
use std::fs;

use ankus::schema::validate::{Document, check};
use ankus::schema::{Content, Language, Model, Particle, Schema, TypeId, TypeRef, families, xsd};
use ankus::syntax::xml::Tree;

/// Everything that is visible of a type, in one line; types of child elements are named or, if anonymous, written out.
fn line(schema: &Schema, id: TypeId) -> String {
    let ty = schema.ty(id);
    let mut text = String::new();
    for attribute in &ty.attributes {
        let required = if attribute.required { "!" } else { "" };
        text.push_str(&format!("@{}{required}:{:?} ", attribute.name, attribute.text.check));
    }
    match &ty.content {
        Content::Anything => text.push_str("ANYTHING"),
        Content::Empty => text.push_str("EMPTY"),
        Content::Text(kind) => text.push_str(&format!("TEXT {:?}", kind.check)),
        Content::Children(model) => text.push_str(&particle(schema, model, &model.particle)),
    }
    text
}

fn particle(schema: &Schema, model: &Model, part: &Particle) -> String {
    let occurs = part.occurs();
    let occurs = match (occurs.min, occurs.max) {
        (1, Some(1)) => String::new(),
        (min, max) => format!("{{{min},{max:?}}}"),
    };
    let (inner, bare) = match part {
        Particle::Child(at, _) => {
            let child = &model.children[*at as usize];
            let kind = match child.kind {
                TypeRef::Text(text) => format!("{:?}", text.check),
                TypeRef::Type(id) => match &schema.ty(id).name {
                    Some(name) => name.to_string(),
                    None => line(schema, id),
                },
            };
            (format!("{}:{kind}", child.name), true)
        }
        Particle::Wildcard(at, _) => (format!("{:?}", model.wildcards[*at as usize]), true),
        Particle::Sequence(parts, _) | Particle::Choice(parts, _) => {
            let choice = matches!(part, Particle::Choice(..));
            let parts: Vec<String> =
                parts.iter().map(|part| particle(schema, model, part)).collect();
            // A group of one particle that occurs once is that particle.
            (parts.join(if choice { " | " } else { ", " }), parts.len() == 1 && occurs.is_empty())
        }
    };
    if bare { format!("{inner}{occurs}") } else { format!("({inner}){occurs}") }
}

/// All types that can be reached from the root elements.
fn reached(schema: &Schema) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut todo: Vec<TypeId> = schema.roots.iter().map(|(_, id)| *id).collect();
    for (name, id) in &schema.roots {
        found
            .insert((format!("<{name}>"), schema.ty(*id).name.as_deref().unwrap_or("").to_owned()));
    }
    while let Some(id) = todo.pop() {
        let ty = schema.ty(id);
        if !seen.insert(id_of(schema, id)) {
            continue;
        }
        if let Some(name) = &ty.name {
            found.insert((name.to_string(), line(schema, id)));
        }
        todo.extend(ty.children().iter().filter_map(|child| match child.kind {
            TypeRef::Type(id) => Some(id),
            TypeRef::Text(_) => None,
        }));
    }
    found
}

fn id_of(schema: &Schema, id: TypeId) -> usize {
    schema.types.iter().position(|ty| std::ptr::eq(ty, schema.ty(id))).unwrap()
}

#[test]
fn tables_say_what_the_servers_schemas_say() {
    let Some(folder) = crate::shared("ANKUS_SCHEMAS", "schemas") else { return };
    let mut compared = 0;
    let common = fs::read_to_string(folder.join("oozie-common-1.0.xsd")).unwrap();
    for family in families() {
        for schema in family.schemas() {
            let stem = match &*family.name {
                name @ ("workflow" | "sla" | "coordinator" | "bundle") => format!("oozie-{name}"),
                name => format!("{name}-action"),
            };
            let path = folder.join(format!("{stem}-{}.xsd", schema.version));
            let text = fs::read_to_string(&path).unwrap();
            let theirs = xsd::read(&text, &|_| Some(&common)).unwrap();
            assert_eq!(theirs.namespace, schema.namespace);
            let (theirs, ours) = (reached(&theirs), reached(schema));
            let differing: Vec<_> = theirs.symmetric_difference(&ours).collect();
            assert!(differing.is_empty(), "{}: {differing:#?}", schema.namespace);
            compared += 1;
        }
    }
    crate::agree("schema tables", compared, compared);
}

/// A workflow whose actions have one fault each, all of different kinds.
fn faulty() -> String {
    let action = |name: &str, body: &str| {
        format!(
            "  <action name=\"{name}\">\n{body}    <ok to=\"end\"/>\n    <error to=\"end\"/>\n  </action>\n"
        )
    };
    let pig = |inner: &str| {
        format!(
            "    <pig>\n      <job-tracker>jt</job-tracker>\n      <name-node>nn</name-node>\n{inner}    </pig>\n"
        )
    };
    [
        "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"w\">\n  <start to=\"one\"/>\n"
            .to_owned(),
        action("one", &pig("      <scrypt>a.pig</scrypt>\n")),
        action("two", &pig("      <script>a.pig</script>\n      <job-xml>a.xml</job-xml>\n")),
        action("three", "    <fs>\n      <mkdir path=\"/a\" mode=\"755\"/>\n    </fs>\n"),
        action("four", "    <fs>\n      <chmod path=\"/a\"/>\n    </fs>\n"),
        action("five", &pig("      <script>a.pig</script>\n      <script>b.pig</script>\n")),
        action("six", "    <shell>\n      <exec>ls</exec>\n    </shell>\n"),
        action("seven", "    words\n    <fs>\n      <mkdir path=\"/a\"/>\n    </fs>\n"),
        "  <end name=\"end\"/>\n</workflow-app>\n".to_owned(),
    ]
    .concat()
}

/// The findings of the schema: message and position.
fn told(text: &str) -> Vec<(String, usize)> {
    let (tree, _) = Tree::parse(text);
    let findings = check(&tree, Document::Workflow, &Language::default(), "5.2.1");
    findings.into_iter().map(|f| (f.message, f.span.start as usize)).collect()
}

#[test]
fn a_fault_elsewhere_hides_nothing() {
    let text = faulty();
    let all = told(&text);
    assert_eq!(all.len(), 7, "{all:#?}");
    let actions: Vec<(usize, usize)> = text
        .match_indices("  <action")
        .map(|(at, _)| (at, at + text[at..].find("</action>\n").unwrap() + 10))
        .collect();
    let mut lost = Vec::new();
    let mut cases = 0;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let quote = line.find('"').map(|at| {
            let at = start + at;
            format!("{}{}", &text[..at], &text[at + 1..])
        });
        let without = format!("{}{}", &text[..start], &text[end..]);
        // Without the root element, it is unknown what the rest is.
        let without = (!line.starts_with("<workflow-app")).then_some(without);
        let prefix = text[..start].to_owned();
        for (what, broken) in [("deleted", without), ("quote", quote), ("prefix", Some(prefix))] {
            let Some(broken) = broken else { continue };
            cases += 1;
            let found = told(&broken);
            for (message, at) in &all {
                let own = actions.iter().find(|(from, to)| from <= at && at < to).unwrap();
                // The damage is in this action, or the action is cut off.
                let touched = own.0 < end && start < own.1;
                if touched || (what == "prefix" && own.1 > start) {
                    continue;
                }
                if !found.iter().any(|(other, _)| other == message) {
                    lost.push(format!("{what} {}: {message}", line.trim()));
                }
            }
        }
        start = end;
    }
    println!(
        "findings that stay when something else is broken: {cases} cases, {} lost",
        lost.len()
    );
    assert!(lost.is_empty(), "{lost:#?}");
}
