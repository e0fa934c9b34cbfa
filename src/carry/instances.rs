//! Instances of datasets that a coordinator names.

use ankus_lang::coordinator::Definition;
use ankus_lang::el::{Phase, Template, Variables};

/// The number of `${coord:current(n)}`.
pub(super) fn current(text: &str, definition: &Definition) -> Result<i64, String> {
    let odd = || format!("it cannot be computed where `{text}` is");
    let inner = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(odd)?.trim().strip_prefix("coord:current").ok_or_else(odd)?;
    let mut variables = Variables::default();
    for (name, value) in definition.properties.iter() {
        let value = ankus_lang::el::Value::text(value.clone());
        variables.0.insert(name.to_string(), value);
    }
    let template =
        Template::compile(&format!("${{{inner}}}"), Phase::JobSubmit, Default::default());
    let known = template.text(&variables).map_err(|_| odd())?;
    known.trim().parse().map_err(|_| odd())
}
