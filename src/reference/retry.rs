//! The expressions that the server evaluates while parsing: those of retry attributes.

use ankus_lang::el::{Phase, Reason, Scope, Value};

use super::{Properties, Rules};

/// Properties as the variables of an expression.
struct Given<'p>(&'p Properties);

impl Scope for Given<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        let value = self.0.get(name)?;
        Phase::JobSubmit.admit_kept(name, value).map(Value::text)
    }
}

/// Whether the value of a retry attribute is evaluated.
pub(super) fn is_expression(text: &str) -> bool {
    text.contains(['$', '#'])
}

/// Evaluates a retry attribute with the properties of the job; on failure, returns the type of error (`variable`,
/// `function`, `parse`) and the name concerned.
pub(super) fn check(
    text: &str,
    properties: &Properties,
    rules: &Rules<'_>,
) -> Result<(), (&'static str, String)> {
    if !is_expression(text) {
        return Ok(());
    }
    let template = rules.expression(text, Phase::JobSubmit);
    let given = Given(properties);
    let Err(failure) = template.text(&rules.with_site(&given)) else { return Ok(()) };
    if super::is_unanswered(&failure) {
        return Ok(());
    }
    let name = failure.name.clone().unwrap_or_else(|| text.to_owned());
    Err(match failure.reason {
        Reason::UnknownVariable => ("variable", name),
        // For a name without a prefix, the server looks for a variable that can be called.
        Reason::UnknownFunction if !name.contains(':') => ("variable", name),
        Reason::UnknownFunction => ("function", name),
        _ => ("parse", text.to_owned()),
    })
}
