//! Renames a node, a dataset or a property, everywhere it occurs.
//!
//! A rename that would change the server's answer is refused with the reason, and so is one for which it is uncertain
//! that every occurrence was found.

use super::definition::scope;
use super::document::{Document, Kind};
use super::names::{self, Occurrence, Role, Symbol};
use super::{Snapshot, typed};
use crate::check::{self, FileKind, Input};
use crate::diag::Edit;
use crate::edit;
use crate::lint::BUILT_IN;
use crate::source::{Source, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name that can be renamed at an offset.
pub(super) fn prepare(
    snapshot: &Snapshot,
    document: &Document,
    offset: u32,
) -> Result<(Span, String), String> {
    let found = document.name_at(offset).ok_or("there is no name here")?;
    renamable(snapshot, document, found)?;
    Ok((found.span, found.name.clone()))
}

/// Refuses names that are defined elsewhere.
fn renamable(
    snapshot: &Snapshot,
    document: &Document,
    found: &Occurrence,
) -> Result<Vec<Arc<Document>>, String> {
    let name = &found.name;
    if found.symbol == Symbol::Function {
        return Err(format!("`{name}` is a function of the server"));
    }
    if found.symbol == Symbol::Property && is_of_server(name) {
        return Err(format!("the server knows `{name}` by this name"));
    }
    let scope = scope(snapshot, document, found.symbol);
    let all = || scope.iter().flat_map(|document| document.names());
    let defined = all().filter(|other| other.is_same(found) && other.role != Role::Use);
    let count = defined.count();
    let symbol = found.symbol.name();
    if count == 0 {
        return Err(match found.symbol {
            Symbol::Property => format!("nothing that is known here sets the property `{name}`"),
            _ => format!("there is no {symbol} `{name}`"),
        });
    }
    if count > 1 && found.symbol != Symbol::Property {
        return Err(format!(
            "{count} of them are named `{name}`, so it is not known which is meant"
        ));
    }
    if found.symbol == Symbol::Node {
        let workflow = scope.iter().find(|document| document.kind() == Kind::Workflow);
        if let Some((document, at)) =
            workflow.and_then(|workflow| Some((workflow, names::computed(workflow)?)))
        {
            return Err(format!(
                "line {} computes the name of a node, so it is not known whether `{name}` is meant",
                document.source().position(at.start).line
            ));
        }
    }
    Ok(scope)
}

/// Whether a property is read by name outside the application.
fn is_of_server(name: &str) -> bool {
    let known = ["oozie.", "user.", "group.", "mapred.", "mapreduce.", "hadoop.", "dfs.", "fs."];
    known.iter().any(|start| name.starts_with(start)) || BUILT_IN.contains(&name)
}

/// The edits by file, each list in source order.
pub(super) fn rename(
    snapshot: &Snapshot,
    document: &Document,
    offset: u32,
    name: &str,
) -> Result<BTreeMap<String, Vec<Edit>>, String> {
    let found = document.name_at(offset).ok_or("there is no name here")?;
    let scope = renamable(snapshot, document, found)?;
    if name == found.name {
        return Ok(BTreeMap::new());
    }
    is_legal(snapshot, &scope, found, name)?;
    let symbol = found.symbol.name();
    for other in &scope {
        let Some(taken) =
            other.names().iter().find(|other| other.symbol == found.symbol && other.name == name)
        else {
            continue;
        };
        let line = other.source().position(taken.span.start).line;
        let path = other.path();
        return Err(match taken.role {
            Role::Use => {
                format!(
                    "{path} asks for a {symbol} `{name}` in line {line}, and would get this one"
                )
            }
            _ => format!("a {symbol} is named `{name}` already, in line {line} of {path}"),
        });
    }
    let mut edits: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    for other in &scope {
        let same = other.names().iter().filter(|other| other.is_same(found));
        let of_file: Vec<Edit> = same
            .map(|place| Edit { file: None, span: place.span, text: name.to_owned() })
            .collect();
        if !of_file.is_empty() {
            edits.insert(other.path().to_owned(), of_file);
        }
    }
    for (path, edits) in &edits {
        let Some(document) = snapshot.document(path) else { continue };
        keeps_answer(snapshot, document, edits, name)?;
    }
    Ok(edits)
}

/// Checks that the schema, or the expression language, allows the name.
fn is_legal(
    snapshot: &Snapshot,
    scope: &[Arc<Document>],
    found: &Occurrence,
    name: &str,
) -> Result<(), String> {
    let refused = |why: &str| Err(format!("`{name}` {why}"));
    if name.trim() != name || name.is_empty() {
        return refused("begins or ends with a space, or is empty");
    }
    if name.contains(['<', '>', '&', '"', '\'', '$', '#', '{', '}', ','])
        || name.contains(char::is_control)
    {
        return refused("has a character that no name may have");
    }
    let all = || scope.iter().flat_map(|document| document.names());
    if found.symbol == Symbol::Property {
        let same = || all().filter(|other| other.is_same(found));
        let is_variable = same().any(|other| other.in_expression);
        let mut letters = name.chars();
        let starts = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let plain = starts && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_variable && !plain {
            return refused(
                "is not the name of a variable: use letters, digits and `_`, and do not begin with a digit",
            );
        }
        if name.contains([' ', '=', ':', '\\', '!']) {
            return refused("would need an escape in a file of properties");
        }
        if is_of_server(name) {
            return refused("is a name that the server knows");
        }
    }
    // The schema of each defining text determines the allowed names.
    let language = snapshot.language();
    for document in scope.iter().filter(|document| document.kind().is_xml()) {
        let names = document.names().iter().filter(|other| other.is_same(found));
        for place in names.filter(|place| !place.in_expression) {
            let tree = document.analysis().tree();
            let Some(element) = tree.element_at(place.span.start) else { continue };
            let attribute = element
                .attributes()
                .find(|attribute| attribute.value_span() == place.span)
                .map(|attribute| attribute.name());
            let Some(typed) = typed::of(&language, element) else { continue };
            let check = match attribute {
                Some(attribute) => {
                    let mut known = typed.attributes().iter();
                    known.find(|known| &*known.name == attribute).map(|known| known.text.check)
                }
                None => typed.text().map(|text| text.check),
            };
            if check.is_some_and(|check| !typed.accepts(check, name)) {
                return refused("is not a name in this version of the language");
            }
        }
    }
    Ok(())
}

/// Refuses edits after which the server refuses what it accepts now, or refuses it for another reason.
pub(super) fn keeps_answer(
    snapshot: &Snapshot,
    document: &Document,
    edits: &[Edit],
    name: &str,
) -> Result<(), String> {
    let Some(kind) = document.kind().file_kind().filter(|kind| kind.is_definition()) else {
        return Ok(());
    };
    let text = edit::apply(document.text(), edits)
        .map_err(|_| "two places of the name overlap".to_owned())?;
    let after = Arc::new(Source::new(document.path(), text));
    let before = answer(snapshot, document.source(), kind);
    let after = answer(snapshot, &after, kind);
    // A name that the server refuses may be replaced.
    let refused =
        after.iter().zip(&before).find(|(after, before)| after.is_some() && after != before);
    match refused {
        None => Ok(()),
        Some((after, _)) => Err(format!(
            "with the name `{name}` the server would refuse the definition with {}",
            after.unwrap_or_default()
        )),
    }
}

/// The codes of the server's answer to a definition.
pub(super) fn answer(
    snapshot: &Snapshot,
    source: &Arc<Source>,
    kind: FileKind,
) -> Vec<Option<&'static str>> {
    let input =
        Input { settings: &snapshot.settings, files: &snapshot.files, ..Input::of(source, kind) };
    let answer = check::answer(&input);
    let codes = answer.map(|answer| [answer.verdict.code, answer.validate.code]);
    codes.map(Vec::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[track_caller]
    fn check(nodes: &str, name: &str, expected: Result<&str, &str>) {
        let (snapshot, path, offset) = testing::workflow(nodes);
        let text = snapshot.document(&path).unwrap().text().to_owned();
        let result = snapshot.rename(&path, offset, name).map(|edits| {
            let text = edit::apply(&text, &edits[&path]).expect("edits that do not overlap");
            let lines: Vec<&str> = text.lines().collect();
            lines[1..lines.len() - 1].join("\n")
        });
        assert_eq!(result.as_deref().map_err(String::as_str), expected);
    }

    const SMALL: &str = "<start to='|a'/><kill name='a'><message>${wf:errorCode('a')} a</message></kill><end name='b'/>";

    #[test]
    fn every_place_gets_the_name() {
        check(
            SMALL,
            "stop",
            Ok(
                "<start to='stop'/><kill name='stop'><message>${wf:errorCode('stop')} a</message></kill><end name='b'/>",
            ),
        );
    }

    #[test]
    fn what_would_change_the_answer_is_refused() {
        check(SMALL, "b", Err("a node is named `b` already, in line 2 of app/workflow.xml"));
        check(SMALL, "1st", Err("`1st` is not a name in this version of the language"));
        check(SMALL, "a b", Err("`a b` is not a name in this version of the language"));
        check(SMALL, "<a", Err("`<a` has a character that no name may have"));
        check(
            "<start to='a|'/><kill name='a'><message>${wf:errorCode(x)}</message></kill>",
            "b",
            Err("line 2 computes the name of a node, so it is not known whether `a` is meant"),
        );
        check(
            "<start to='|a'/><end name='a'/><end name='a'/>",
            "b",
            Err("2 of them are named `a`, so it is not known which is meant"),
        );
        check(
            "<start to='a|'/><kill name='a'><message>${wf:errorCode('b')}</message></kill>",
            "b",
            Err("app/workflow.xml asks for a node `b` in line 2, and would get this one"),
        );
        check("<start to='|a'/>", "b", Err("there is no node `a`"));
        check("<start |to='a'/>", "b", Err("there is no name here"));
    }

    #[test]
    fn a_property_gets_its_name_in_every_file() {
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='a'/>\r\n<action name='a'><fs><mkdir path='${o|ut}'/></fs><ok to='e'/><error to='e'/></action><end name='e'/></workflow-app>";
        let properties = "oozie.wf.application.path=/apps/demo\r\nroot=/r\r\nout=${root}/out\r\n";
        let files = [("demo/workflow.xml", workflow), ("demo/job.properties", properties)];
        let (snapshot, path, offset) = testing::files(&files);
        let edits = snapshot.rename(&path, offset, "target").unwrap();
        let renamed = edit::apply(properties, &edits["demo/job.properties"]).unwrap();
        assert_eq!(renamed, properties.replace("out=", "target="));
        assert_eq!(edits["demo/workflow.xml"].len(), 1);
        let refused = |name: &str| snapshot.rename(&path, offset, name).unwrap_err();
        assert_eq!(
            refused("root"),
            "a property is named `root` already, in line 2 of demo/job.properties"
        );
        assert!(refused("a-b").contains("not the name of a variable"));
        let at = properties.find("oozie.wf").unwrap() as u32;
        let server = snapshot.prepare_rename("demo/job.properties", at + 3);
        assert_eq!(
            server.unwrap_err(),
            "the server knows `oozie.wf.application.path` by this name"
        );
    }
}
