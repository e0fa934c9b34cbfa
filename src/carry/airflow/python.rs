//! A printer for Python, formatted as by `ruff format`.

use crate::carry::model::{Does, Task, Tasks};
use crate::ir::workflow::{NodeId, Way, Workflow};
use std::collections::BTreeMap;

/// Returns a text as a Python string literal, in the `wanted` quotes or in the others if that saves escapes.
pub fn quoted(text: &str, wanted: char) -> String {
    let other = if wanted == '"' { '\'' } else { '"' };
    let count = |quote: char| text.matches(quote).count();
    // Single quotes are kept if they are wanted: they delimit strings in Jinja expressions.
    let quote = if wanted == '"' && count(wanted) > count(other) { other } else { wanted };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// Returns for each node, by its name, the call of `module` that computes which transition the node took. `id` maps the
/// name of a task to its id.
pub fn transitions(
    workflow: &Workflow,
    tasks: &Tasks,
    module: &str,
    id: &dyn Fn(&str) -> String,
) -> BTreeMap<String, String> {
    let name = |node: NodeId| workflow.node(node).name.text.to_string();
    let call = |task: &Task| {
        let (node, code) = match &task.does {
            Does::Action(node) => {
                let to = |way: Way| workflow.exits(*node).iter().find(|exit| exit.way == way);
                let [ok, error] = [to(Way::Ok)?, to(Way::Error)?].map(|exit| &*exit.target.text);
                let [ok, error] = [ok, error].map(|node| quoted(node, '\''));
                (*node, format!("transition({{}}, ok={ok}, error={error})"))
            }
            Does::Decide(node, targets) => {
                let exits = workflow.exits(*node).iter().filter(|exit| exit.target.given);
                let named: BTreeMap<String, String> = exits
                    .zip(targets)
                    .map(|(exit, task)| (&*exit.target.text, id(&tasks.list[*task].name)))
                    .filter(|(target, task)| target != task)
                    .map(|(target, task)| (quoted(&task, '\''), quoted(target, '\'')))
                    .collect();
                let named: Vec<String> =
                    named.iter().map(|(task, node)| format!("{task}: {node}")).collect();
                (
                    *node,
                    match named.is_empty() {
                        true => "chosen_by({})".to_owned(),
                        false => format!("chosen_by({{}}, {{{}}})", named.join(", ")),
                    },
                )
            }
            _ => return None,
        };
        let task = quoted(&id(&task.name), '\'');
        Some((name(node), format!("{module}.{}", code.replacen("{}", &task, 1))))
    };
    tasks.list.iter().filter_map(call).collect()
}

/// A value in Python code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A text of several lines.
    Lines(String),
    /// Code.
    Code(String),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A dictionary with string keys; an entry with an empty key is another dictionary, unpacked with `**`.
    Dict(Vec<(String, Value)>),
    /// A call.
    Call(String, Vec<(String, Value)>),
}

/// The maximum line length of `ruff format`.
const WIDTH: usize = 88;

impl Value {
    /// Creates a text.
    pub fn text(text: impl Into<String>) -> Value {
        Value::Text(text.into())
    }

    /// Creates a piece of code.
    pub fn code(code: impl Into<String>) -> Value {
        Value::Code(code.into())
    }

    /// Prints the code. Calls and collections are spread over lines, one line for each part, indented.
    pub fn print(&self, indent: usize) -> String {
        let inner = " ".repeat(indent + 4);
        let spread = |open: &str, parts: Vec<String>, close: &str| {
            if parts.is_empty() {
                return format!("{open}{close}");
            }
            let lines: String = parts.iter().map(|part| format!("{inner}{part},\n")).collect();
            format!("{open}\n{lines}{}{close}", " ".repeat(indent))
        };
        let all = |values: &[Value]| values.iter().map(|v| v.print(indent + 4)).collect();
        match self {
            Value::Text(text) => quoted(text, '"'),
            Value::Lines(text) => {
                format!("\"\"\"\\\n{}\"\"\"", lines_of(text))
            }
            Value::Code(code) => code.clone(),
            Value::List(values) => spread("[", all(values), "]"),
            Value::Tuple(values) => spread("(", all(values), ")"),
            Value::Dict(values) => {
                let pairs = values.iter().map(|(name, value)| match name.as_str() {
                    "" => format!("**{}", value.print(indent + 4)),
                    name => format!("{}: {}", quoted(name, '"'), value.print(indent + 4)),
                });
                spread("{", pairs.collect(), "}")
            }
            Value::Call(name, arguments) => {
                let given = arguments.iter().map(|(name, value)| {
                    let value = value.print(indent + 4);
                    if name.is_empty() { value } else { format!("{name}={value}") }
                });
                spread(&format!("{name}("), given.collect(), ")")
            }
        }
    }
}

/// Escapes a text of several lines for a triple-quoted string.
pub(super) fn lines_of(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"")
}

/// Prints the statement `[a, b] >> c`, indented.
pub fn edge(before: &[String], after: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let [one] = before else {
        let line = format!("{pad}[{}] >> {after}\n", before.join(", "));
        if line.len() <= WIDTH + 1 {
            return line;
        }
        let parts: String = before.iter().map(|name| format!("{pad}    {name},\n")).collect();
        return format!("{pad}[\n{parts}{pad}] >> {after}\n");
    };
    let line = format!("{pad}{one} >> {after}\n");
    if line.len() <= WIDTH + 1 {
        return line;
    }
    format!("{pad}(\n{pad}    {one}\n{pad}    >> {after}\n{pad})\n")
}

/// Returns a Python identifier for a name of Oozie.
pub fn identifier(name: &str) -> String {
    const TAKEN: [&str; 48] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield", "dag", "DAG", "dt", "el", "oozie", "jinja2", "print",
        "list", "str", "int", "type", "set", "id",
    ];
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if out.starts_with(|c: char| c.is_ascii_digit()) || out.is_empty() {
        out.insert(0, '_');
    }
    if TAKEN.contains(&out.as_str()) {
        out.push('_');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_those_that_ruff_prefers() {
        assert_eq!(quoted("a", '"'), "\"a\"");
        assert_eq!(quoted("say \"a\"", '"'), "'say \"a\"'");
        assert_eq!(quoted("it's", '\''), "'it\\'s'");
        assert_eq!(quoted("a\nb", '"'), "\"a\\nb\"");
    }

    #[test]
    fn long_edges_are_spread() {
        assert_eq!(edge(&["a".into()], "b", 4), "    a >> b\n");
        let names: Vec<String> = (0..12).map(|n| format!("task_{n}_more")).collect();
        assert!(edge(&names, "end", 0).starts_with("[\n    task_0_more,\n"));
    }
}
