//! The kind of a file, recognized by its root element.

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// `workflow-app`.
    Workflow,
    /// `coordinator-app`.
    Coordinator,
    /// `bundle-app`.
    Bundle,
    /// `datasets`, included by coordinators.
    Datasets,
    /// `configuration`: `config-default.xml` and job-xml files.
    Configuration,
    /// Java properties.
    Properties,
}

impl FileKind {
    /// The word used in output.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Workflow => "workflow",
            FileKind::Coordinator => "coordinator",
            FileKind::Bundle => "bundle",
            FileKind::Datasets => "datasets",
            FileKind::Configuration => "configuration",
            FileKind::Properties => "properties",
        }
    }

    /// Whether it is the definition of an application.
    pub fn is_definition(self) -> bool {
        matches!(self, FileKind::Workflow | FileKind::Coordinator | FileKind::Bundle)
    }
}

/// Determines the kind of an XML text by its root element; `None` if it is none of these. Broken markup after the name
/// of the root does not matter, and neither does a long prolog. If an unterminated comment or a stray word hides the
/// root, the end tag at the end of the text determines the kind.
pub fn recognize(text: &str) -> Option<FileKind> {
    by_start(text).or_else(|| by_end(text))
}

fn by_end(text: &str) -> Option<FileKind> {
    let kinds = [
        ("</workflow-app>", "<workflow-app", FileKind::Workflow),
        ("</coordinator-app>", "<coordinator-app", FileKind::Coordinator),
        ("</bundle-app>", "<bundle-app", FileKind::Bundle),
    ];
    let text = text.trim_end();
    let (_, start, kind) = kinds.into_iter().find(|(end, ..)| text.ends_with(end))?;
    let before = text[..text.find(start)?].trim_start_matches('\u{feff}').trim();
    // The directives of a generator may precede a template, which is not a definition. A slip is a letter or two, a
    // line of words that should be a comment, or a comment or a declaration with a mistake.
    let is_words = || !before.contains(['\n', '<', '>', '{', '}', '#', '@', '%', '$']);
    let is_marked = ["<!-", "<--", "<?", "<xml", "< ?xml"];
    let is_slip =
        before.len() < 3 || is_marked.iter().any(|sign| before.starts_with(sign)) || is_words();
    let of_template = ["{{", "{%", "<%", "<#", "#set", "#if", "#foreach"];
    (is_slip && !of_template.iter().any(|sign| before.contains(sign))).then_some(kind)
}

fn by_start(text: &str) -> Option<FileKind> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    loop {
        rest = rest.trim_start();
        let skipped = if let Some(comment) = rest.strip_prefix("<!--") {
            comment.find("-->").map(|end| &comment[end + 3..])
        } else if let Some(instruction) = rest.strip_prefix("<?") {
            instruction.find("?>").map(|end| &instruction[end + 2..])
        } else if rest.starts_with("<!DOCTYPE") {
            let subset =
                rest.find('[').filter(|open| rest.find('>').is_some_and(|end| *open < end));
            let from =
                subset.and_then(|open| rest[open..].find(']').map(|at| open + at)).unwrap_or(0);
            rest[from..].find('>').map(|end| &rest[from + end + 1..])
        } else {
            break;
        };
        rest = skipped?;
    }
    let name = rest.strip_prefix('<')?;
    let end = name.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '<'));
    let name = &name[..end.unwrap_or(name.len())];
    let local = name.rsplit(':').next().unwrap_or(name);
    Some(match local {
        "workflow-app" => FileKind::Workflow,
        "coordinator-app" => FileKind::Coordinator,
        "bundle-app" => FileKind::Bundle,
        "datasets" => FileKind::Datasets,
        "configuration" => FileKind::Configuration,
        // A root with a misspelled name, in the namespace of a definition.
        _ => {
            let tag = rest.split('>').next().unwrap_or_default();
            let is_of = |family: &str| {
                ['"', '\'']
                    .iter()
                    .any(|quote| tag.contains(&format!("={quote}uri:oozie:{family}:")))
            };
            let kinds = [
                ("workflow", FileKind::Workflow),
                ("coordinator", FileKind::Coordinator),
                ("bundle", FileKind::Bundle),
            ];
            return kinds.into_iter().find(|(family, _)| is_of(family)).map(|(_, kind)| kind);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_decides() {
        let check = |text, kind| assert_eq!(recognize(text), kind, "{text}");
        check(
            "<?xml version='1.0'?>\n<!-- <a> -->\n<workflow-app name='x'",
            Some(FileKind::Workflow),
        );
        check("\u{feff}<w:coordinator-app>", Some(FileKind::Coordinator));
        check("<!DOCTYPE x [<!ENTITY a \"<b>\">]><bundle-app/>", Some(FileKind::Bundle));
        check("<!DOCTYPE x><datasets>", Some(FileKind::Datasets));
        check("<project><workflow-app/></project>", None);
        check("workflow-app", None);
        check("<workflow-ap xmlns=\"uri:oozie:workflow:0.5\">", Some(FileKind::Workflow));
        check("<worklow-app xmlns='uri:oozie:workflow:0.5'>", Some(FileKind::Workflow));
        check("<!-- never ends", None);
        check("<!-- never ends ->\n<bundle-app>\n</bundle-app>\n", Some(FileKind::Bundle));
        check("x <workflow-app name='x'></workflow-app>", Some(FileKind::Workflow));
        check("Runs daily.\n\n<bundle-app></bundle-app>", Some(FileKind::Bundle));
        check("# Title\n<bundle-app></bundle-app>", None);
        check("#set($x = 1)\n<workflow-app name='x'></workflow-app>", None);
        check("<!-- a --><#if x>\n<workflow-app name='x'></workflow-app>", None);
        check("<!-- <workflow-app></workflow-app> -->", None);
    }
}
