//! Checks the types of operands.

use super::*;

impl Examination<'_, '_> {
    pub(super) fn typed(&mut self, first: u32, last: u32) {
        let (template, facts) = (self.template, self.facts);
        // A lone variable, as in most expressions, cannot be wrong here.
        if let [only] = &template.nodes()[first as usize..last as usize]
            && only.op == Op::Variable
            && matches!(self.place.phase, Phase::CoordinatorPlain | Phase::Workflow)
        {
            return;
        }
        let mut found = Vec::new();
        infer(template, first, last, facts, &facts.site, &mut |visit| {
            found.extend(self.visit(&visit));
        });
        self.out.extend(found);
    }

    fn visit(&self, visit: &Visit<'_>) -> Vec<Diagnostic> {
        let node = &visit.node;
        let mut found = Vec::new();
        match node.op {
            Op::AssignVariable | Op::AssignProperty => {
                let place = self.span(node.start, node.end);
                let mut finding =
                    Diagnostic::new(&SINGLE_EQUALS, place, "`=` assigns; it does not compare")
                        .help("compare with `eq`");
                // There is one `=` between the target and the value.
                if let [target, value] | [target, _, value] = visit.operands {
                    let from =
                        if visit.operands.len() == 3 { visit.operands[1].end } else { target.end };
                    let between = self.text(from.min(value.start), value.start);
                    if let Some(equals) = between.rfind('=') {
                        let at = from + equals as u32;
                        let place = self.span(at, at + 1);
                        finding.span = place;
                        let spaced = |character: Option<char>| {
                            character.is_some_and(|character| character.is_ascii_whitespace())
                        };
                        let before = spaced(between[..equals].chars().last());
                        let behind = spaced(between[equals + 1..].chars().next());
                        let text = format!(
                            "{}eq{}",
                            if before { "" } else { " " },
                            if behind { "" } else { " " }
                        );
                        finding = finding.fix(Fix::safe("Compare with `eq`", place, text));
                    }
                }
                found.push(finding);
            }
            Op::Variable
                if !matches!(self.place.phase, Phase::CoordinatorPlain | Phase::Workflow)
                    && TIME.contains(&self.text(node.start, node.end))
                    && !self.facts.may_have(self.text(node.start, node.end)) =>
            {
                let name = self.text(node.start, node.end);
                let place = self.span(node.start, node.end);
                let message = format!("`{name}` has a value only in the URI template of a dataset");
                let finding = Diagnostic::new(&TIME_CONSTANT, place, message).about(name);
                found.push(match self.place.phase {
                    Phase::CoordinatorFrequency | Phase::CoordinatorTimeout => {
                        finding.help("units of time are functions: coord:hours(1), coord:days(1)")
                    }
                    _ => finding,
                });
            }
            Op::Binary(operator) => self.comparison(visit, operator, &mut found),
            Op::Call { target: Target::Table { .. }, .. } => self.arguments(visit, &mut found),
            Op::Dot | Op::Bracket => self.property(visit, &mut found),
            Op::Method(_) | Op::BracketMethod(_) => {
                let place = self.span(node.start, node.end);
                let message = "methods are never called: this is empty or fails";
                found.push(Diagnostic::new(&OBJECT_ACCESS, place, message).help(
                    "use a function: `concat`, `trim`, `replaceAll`, or compute the value in an action",
                ));
            }
            _ => {}
        }
        found
    }

    /// Reports a property access on a value that is neither a map nor a list.
    fn property(&self, visit: &Visit<'_>, found: &mut Vec<Diagnostic>) {
        let base = &visit.operands[0];
        if !matches!(base.kind, Type::Text | Type::Boolean)
            && !base.kind.is_number()
            && base.kind != Type::Lambda
        {
            return;
        }
        let node = &visit.node;
        let getter = matches!(
            &visit.result.origin,
            Origin::Other if matches!(self.text(node.start, node.end), "class" | "bytes" | "blank" | "empty")
        );
        if let (Origin::Variable(name), Op::Dot, false) = (&base.origin, node.op, getter) {
            let dotted = self.text(base.start, node.end);
            if self.facts.declares(dotted) {
                return;
            }
            let place = self.span(base.start, node.end);
            let message = format!(
                "`{dotted}` reads a property of the variable `{name}`, not the property `{dotted}` of the job"
            );
            let finding = self.dotted(Diagnostic::new(&DOTTED_VARIABLE, place, message), dotted);
            found.push(finding.help("read it with a function: wf:conf('…') or coord:conf('…')"));
            return;
        }
        let place = self.span(node.start, node.end);
        let message =
            format!("this reads a property of a Java object: {} has none", a_kind(base.kind));
        let finding = Diagnostic::new(&OBJECT_ACCESS, place, message)
            .help("only maps and lists have keys and indices: `wf:actionData('x')['key']`");
        found.push(finding);
    }

    fn arguments(&self, visit: &Visit<'_>, found: &mut Vec<Diagnostic>) {
        let name = self.template.call_name(&visit.node);
        let Some((_, function)) = functions::find(&name, self.place.phase) else { return };
        let deferred = function.deferred.has(self.place.phase);
        for (operand, parameter) in visit.operands.iter().zip(function.parameters) {
            let place = self.span(operand.start, operand.end);
            match parameter.takes {
                Takes::Integer if !deferred => match &operand.constant {
                    Some(value) => match takes_integer(value) {
                        None => found.push(self.wrong_argument(
                            place,
                            &name,
                            parameter.name,
                            "an integer",
                        )),
                        Some(number) if number <= 0 && is_period(&name) => {
                            let message = format!("`{name}` needs a number above 0");
                            found.push(Diagnostic::new(&NON_POSITIVE_PERIOD, place, message));
                        }
                        Some(_) => {}
                    },
                    None if matches!(
                        operand.kind,
                        Type::Boolean | Type::Texts | Type::Counters | Type::Map | Type::List
                    ) =>
                    {
                        found.push(self.wrong_argument(place, &name, parameter.name, "an integer"));
                    }
                    None => {}
                },
                Takes::Integer => {}
                Takes::Map => {
                    if matches!(operand.kind, Type::Text | Type::Boolean)
                        || operand.kind.is_number()
                    {
                        found.push(self.wrong_argument(place, &name, parameter.name, "a map"));
                    }
                }
                Takes::Text | Takes::Anything => {}
            }
        }
        // The deferred value is converted to an integer later, which fails for a text.
        if deferred
            && let Some(later) = self.place.later
            && let Some((_, function)) = functions::find(&name, later)
            && function.evaluated.has(later)
        {
            for (operand, parameter) in visit.operands.iter().zip(function.parameters) {
                if parameter.takes == Takes::Integer
                    && operand.constant.as_ref().is_some_and(|value| takes_integer(value).is_none())
                {
                    let place = self.span(operand.start, operand.end);
                    found.push(self.wrong_argument(place, &name, parameter.name, "an integer"));
                }
            }
        }
        // A time unit is an ordinary text until the server looks it up.
        let unit = match &*name {
            "coord:dateOffset" => visit.operands.get(2),
            "coord:offset" => visit.operands.get(1),
            _ => None,
        };
        if let Some(unit) = unit.filter(|unit| unit.origin == Origin::Literal)
            && let Some(Value::String(text)) = &unit.constant
            && text.as_ref() != "CRON"
            && Unit::from_name(text).is_none()
        {
            let place = self.span(unit.start, unit.end);
            let takes = "one of MINUTE, HOUR, DAY, WEEK, MONTH and YEAR";
            found.push(self.wrong_argument(place, &name, "unit", takes));
        }
        let Some(first) = visit.operands.first() else { return };
        let Some(Value::String(text)) = &first.constant else { return };
        let place = self.span(first.start, first.end);
        if name.starts_with("fs:") && text.starts_with('/') && first.origin == Origin::Literal {
            let message = format!("`{name}` needs a full URI, with scheme and host");
            found.push(
                Diagnostic::new(&PATH_WITHOUT_SCHEME, place, message)
                    .help(format!("put the name node before it: concat(nameNode, '{text}')")),
            );
        }
        if name == "hcat:exists" {
            let wrong = !text.starts_with("hcat://") || functions::hcat(text).is_err();
            if wrong {
                let message = "this is not an HCatalog URI";
                found.push(
                    Diagnostic::new(&HCAT_URI, place, message).help(
                        "it has the form hcat://host:port/database/table/key=value;key=value",
                    ),
                );
            }
        }
    }

    fn wrong_argument(
        &self,
        place: Span,
        function: &str,
        parameter: &str,
        takes: &str,
    ) -> Diagnostic {
        let message = format!("`{parameter}` of `{function}` is {takes}");
        Diagnostic::new(&ARGUMENT_TYPE, place, message)
    }

    fn comparison(&self, visit: &Visit<'_>, operator: Binary, found: &mut Vec<Diagnostic>) {
        let [left, right] = visit.operands else { return };
        let place = self.span(visit.node.start, visit.node.end);
        if operator.is_ordering() {
            // Two literals are a joke or a test; a number in the text shows that a numeric comparison is meant.
            let texts = left.kind == Type::Text && right.kind == Type::Text;
            let date = |typed: &Typed| {
                matches!(&typed.origin, Origin::Call(name, _) if matches!(name.as_str(), "timestamp"))
                    || matches!(&typed.constant, Some(Value::String(text)) if text.matches('-').count() >= 2)
            };
            if texts && !date(left) && !date(right) {
                let message =
                    "this compares two strings character by character: '10' is before '9'";
                let numeric = self.span(right.start, right.end);
                let mut finding = Diagnostic::new(&LEXICAL_COMPARISON, place, message)
                    .help("make one side a number: multiply it by 1");
                if !matches!(right.origin, Origin::Literal) {
                    let text = format!("({} * 1)", self.written(numeric, right));
                    finding = finding.fix(Fix::guess("Compare as numbers", numeric, text));
                }
                found.push(finding);
            }
            self.size(left, right, found);
            return;
        }
        if !matches!(operator, Binary::Equal | Binary::NotEqual) {
            return;
        }
        for (truth, word) in [(left, right), (right, left)] {
            let Some(Value::String(text)) = &word.constant else { continue };
            if truth.kind != Type::Boolean || word.origin != Origin::Literal {
                continue;
            }
            let wanted = match text.to_ascii_lowercase().as_str() {
                "true" => true,
                "false" => false,
                _ => {
                    let message =
                        format!("a boolean is compared with '{text}', which counts as false");
                    found.push(Diagnostic::new(&NEVER_EQUAL, place, message));
                    continue;
                }
            };
            let keep = wanted == (operator == Binary::Equal);
            let inner = self.written(self.span(truth.start, truth.end), truth);
            let replacement = if keep { inner.clone() } else { format!("not ({inner})") };
            let message =
                format!("this is already a boolean and needs no comparison with '{text}'");
            found.push(Diagnostic::new(&BOOLEAN_TEXT_COMPARE, place, message).fix(Fix::guess(
                "Drop the comparison",
                place,
                replacement,
            )));
        }
        for (value, literal) in [(left, right), (right, left)] {
            let Some(constant) = &literal.constant else { continue };
            if literal.origin != Origin::Literal || value.constant.is_some() {
                continue;
            }
            match constant {
                Value::String(text)
                    if value.kind.is_number()
                        && takes_integer(constant).is_none()
                        && text.parse::<f64>().is_err() =>
                {
                    let message =
                        format!("a number is never equal to '{text}': the comparison fails");
                    found.push(Diagnostic::new(&NEVER_EQUAL, place, message));
                }
                Value::String(text) if text.is_empty() => {
                    if let Origin::Call(name, _) = &value.origin
                        && matches!(name.as_str(), "wf:conf" | "coord:conf" | "bundle:conf")
                    {
                        let message = format!(
                            "`{name}` is null if the property is not set, never the empty string"
                        );
                        found.push(
                            Diagnostic::new(&NEVER_EQUAL, place, message)
                                .help("use `empty`, which is true for both"),
                        );
                    }
                }
                Value::Boolean(_) if value.kind.is_number() => {
                    let message = "a number and a boolean cannot be compared: this fails";
                    found.push(Diagnostic::new(&NEVER_EQUAL, place, message));
                }
                Value::Null if !value.nullable && value.kind != Type::Unknown => {
                    let message = format!("this is {} and never null", a_kind(value.kind));
                    found.push(Diagnostic::new(&NEVER_EQUAL, place, message));
                }
                _ => {}
            }
        }
    }

    /// Reports a comparison of a size with a long number.
    fn size(&self, left: &Typed, right: &Typed, found: &mut Vec<Diagnostic>) {
        let is_size = |typed: &Typed| matches!(&typed.origin, Origin::Call(name, _) if matches!(name.as_str(), "fs:fileSize" | "fs:dirSize" | "fs:blockSize"));
        for (size, number) in [(left, right), (right, left)] {
            let Some(Value::Integer(bytes)) = number.constant else { continue };
            if !is_size(size)
                || number.origin != Origin::Literal
                || self.place.phase != Phase::Workflow
            {
                continue;
            }
            let units = [("PB", 50), ("TB", 40), ("GB", 30), ("MB", 20), ("KB", 10)];
            for (unit, shift) in units {
                if bytes >= 1 << shift && bytes % (1 << shift) == 0 {
                    let count = bytes >> shift;
                    let text =
                        if count == 1 { unit.to_owned() } else { format!("{count} * {unit}") };
                    let place = self.span(number.start, number.end);
                    found.push(
                        Diagnostic::new(&SIZE_ARITHMETIC, place, format!("this is `{text}`"))
                            .fix(Fix::guess(format!("Write `{text}`"), place, text)),
                    );
                    break;
                }
            }
        }
    }

    /// A part as written in the source.
    fn written(&self, _place: Span, typed: &Typed) -> String {
        let text = self.text(typed.start, typed.end);
        if self.place.attribute.is_some() || text.contains(['<', '&', '"']) {
            return text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        }
        text.to_owned()
    }
}
