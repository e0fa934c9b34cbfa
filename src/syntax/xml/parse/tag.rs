//! Parses tags and their attributes, with recovery after each error.

use super::*;

/// How far reading an attribute got.
enum Read {
    /// To the offset given.
    To(usize),
    /// To the offset given, with a value that lacks its closing quote.
    Unclosed(usize),
    /// To the end of the tag, which the unclosed value contains.
    Closed { empty: bool, end: usize },
}

impl<'a> Parser<'a> {
    /// Parses name and attributes of the tag at `start`; it ends before `limit` if a raw `<` indicates that it should.
    pub(super) fn tag(&mut self, start: usize, name_end: usize, limit: usize) -> Tag {
        let bytes = self.text.as_bytes();
        let name = Span::new(start + 1, name_end);
        if name_end + 1 == limit && bytes[name_end] == b'>' {
            let first_attribute = self.tree.attributes.len();
            return Tag { name, first_attribute, empty: false, end: limit };
        }
        let stop = self.next_markup(name_end, limit).unwrap_or(limit);
        let cut = stop != limit || bytes[limit - 1] != b'>';
        let content_end = if cut {
            stop
        } else if limit - 2 >= name_end && bytes[limit - 2] == b'/' {
            limit - 2
        } else {
            limit - 1
        };
        let mut tag = Tag {
            name,
            first_attribute: self.tree.attributes.len(),
            empty: !cut && content_end + 2 == limit,
            end: stop,
        };

        let mut at = name_end;
        let mut unclosed_quote = false;
        while at < content_end {
            let byte = bytes[at];
            if byte.is_ascii_whitespace() {
                at += 1;
                continue;
            }
            if cut && (byte == b'>' || bytes[at..content_end].starts_with(b"/>")) {
                // The tag was closed after all; a later quote had confused the event stream.
                tag.empty = byte == b'/';
                tag.end = at + if byte == b'/' { 2 } else { 1 };
                return tag;
            }
            match self.attribute(at, content_end) {
                Read::To(end) => at = end,
                Read::Unclosed(end) => {
                    unclosed_quote = true;
                    at = end;
                }
                Read::Closed { empty, end } => {
                    tag.empty = empty;
                    tag.end = end;
                    return tag;
                }
            }
        }
        if cut && !unclosed_quote {
            let message =
                format!("the tag `<{}` is never closed with `>`", &self.text[name.range()]);
            let end = start + self.text[start..tag.end].trim_end().len();
            let fix = Fix::guess("Close the tag", Span::at(end), ">");
            let finding = Diagnostic::new(&NOT_WELL_FORMED, name, message).of(Fault::OpenTag);
            self.report(finding.fix(fix));
        }
        tag
    }

    /// The first `<` between `from` and `limit` that could begin markup: the tag before it was never closed.
    fn next_markup(&self, from: usize, limit: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let begins = |less: &usize| {
            let next = bytes.get(less + 1);
            next.is_some_and(|next| is_name_start(*next) || matches!(next, b'/' | b'!' | b'?'))
        };
        memchr::memchr_iter(b'<', &bytes[from..limit]).map(|found| from + found).find(begins)
    }

    /// Parses the attribute that begins at `at`, or what is there instead.
    fn attribute(&mut self, at: usize, content_end: usize) -> Read {
        let bytes = self.text.as_bytes();
        let name_length =
            bytes[at..content_end].iter().take_while(|byte| is_name_byte(**byte)).count();
        if name_length == 0 {
            return self.stray(at, content_end);
        }
        let name_span = Span::new(at, at + name_length);
        let skip_whitespace = |mut at: usize| {
            while at < content_end && bytes[at].is_ascii_whitespace() {
                at += 1;
            }
            at
        };
        let equals = skip_whitespace(at + name_length);
        let quote = bytes.get(equals).copied().filter(|_| equals < content_end);
        if let Some(quote @ (b'"' | b'\'')) = quote
            && memchr(quote, &bytes[equals + 1..content_end]).is_some()
        {
            let message = format!("the `=` after `{}` is missing", &self.text[name_span.range()]);
            let finding = Diagnostic::new(&NOT_WELL_FORMED, name_span, message);
            let fix = Fix::guess("Add the `=`", Span::at(name_span.end as usize), "=");
            self.report(finding.fix(fix));
            return self.quoted(name_span, equals, content_end);
        }
        if equals >= content_end || bytes[equals] != b'=' {
            let finding = format!("attribute `{}` has no value", &self.text[name_span.range()]);
            self.faulty(Fault::NoValue, name_span, finding);
            let value_span = Span::at(at + name_length);
            self.tree.attributes.push(Attribute { name_span, value_span, quoted: false });
            return Read::To(at + name_length);
        }
        let opening = skip_whitespace(equals + 1);
        match bytes.get(opening) {
            Some(b'"' | b'\'') if opening < content_end => {
                self.quoted(name_span, opening, content_end)
            }
            _ => self.unquoted(name_span, opening, content_end),
        }
    }

    /// Parses a value whose opening quote is at `opening`.
    fn quoted(&mut self, name_span: Span, opening: usize, content_end: usize) -> Read {
        let bytes = self.text.as_bytes();
        let quote = bytes[opening];
        let at = opening + 1;
        let closing = memchr(quote, &bytes[at..content_end]);
        let torn = closing.and_then(|length| self.torn(at, at + length, content_end));
        if let Some(cut) = torn {
            self.no_closing_quote(name_span, Span::new(opening, cut), quote);
            let value_span = Span::new(at, cut);
            self.tree.attributes.push(Attribute { name_span, value_span, quoted: false });
            return Read::Unclosed(cut);
        }
        let Some(length) = closing else {
            let read = self.unclosed(name_span, opening, content_end, quote);
            if let Read::Unclosed(end) = read {
                self.expect_whitespace(end, content_end);
            }
            return read;
        };
        let value_span = Span::new(at, at + length);
        self.attribute_value(value_span);
        self.tree.attributes.push(Attribute { name_span, value_span, quoted: true });
        self.expect_whitespace(at + length + 1, content_end);
        Read::To(at + length + 1)
    }

    /// Reports a run of characters that belong to no attribute.
    fn stray(&mut self, start: usize, content_end: usize) -> Read {
        let bytes = self.text.as_bytes();
        let length = self.text[start..].chars().next().map_or(1, char::len_utf8);
        self.faulty(Fault::Stray, Span::new(start, start + length), "this belongs to no attribute");
        let mut at = start + length;
        // One finding per run of invalid characters.
        while at < content_end
            && !bytes[at].is_ascii_whitespace()
            && !is_name_byte(bytes[at])
            && !bytes[at..].starts_with(b"/>")
            && bytes[at] != b'>'
        {
            at += 1;
        }
        Read::To(at)
    }

    /// Parses a value that does not begin with a quote.
    fn unquoted(&mut self, name_span: Span, at: usize, content_end: usize) -> Read {
        let bytes = self.text.as_bytes();
        let run = &bytes[at.min(content_end)..content_end];
        let length = run
            .iter()
            .take_while(|b| !b.is_ascii_whitespace() && !matches!(b, b'>' | b'"' | b'\''))
            .count();
        let mut value_end = at + length;
        if bytes[at..value_end].ends_with(b"/") && bytes.get(value_end) == Some(&b'>') {
            value_end -= 1;
        }
        let value_span = Span::new(at.min(content_end), value_end.max(at.min(content_end)));
        let message = format!("the value of `{}` needs quotes", &self.text[name_span.range()]);
        let value = &self.text[value_span.range()];
        let fix = Fix::safe("Add the quotes", value_span, format!("\"{value}\""));
        let place = if value.is_empty() { name_span } else { value_span };
        let finding = Diagnostic::new(&NOT_WELL_FORMED, place, message);
        let finding = finding.of(Fault::Unquoted);
        // If there is a quote in the middle of the value, there is no plausible fix.
        let goes_on = matches!(bytes.get(value_end), Some(b'"' | b'\''));
        self.report(if value.is_empty() || goes_on { finding } else { finding.fix(fix) });
        self.tree.attributes.push(Attribute { name_span, value_span, quoted: false });
        let is_quote = bytes.get(value_end).is_some_and(|byte| matches!(byte, b'"' | b'\''));
        Read::To(value_end + usize::from(is_quote && value_end < content_end))
    }

    /// Parses a value without its closing quote: it ends with its tag or its line.
    fn unclosed(&mut self, name_span: Span, opening: usize, content_end: usize, quote: u8) -> Read {
        let at = opening + 1;
        let run = &self.text[at..content_end];
        let line = run.find(['\r', '\n']).unwrap_or(run.len());
        let closed = run[..line].find('>');
        let (length, empty, behind) = match closed {
            Some(close) if run[..close].ends_with('/') => (close - 1, true, close + 1),
            Some(close) => (close, false, close + 1),
            None => (run[..line].trim_end().len(), false, line),
        };
        let value_span = Span::new(at, at + length);
        self.no_closing_quote(name_span, Span::new(opening, at + length), quote);
        self.tree.attributes.push(Attribute { name_span, value_span, quoted: false });
        match closed {
            Some(_) => Read::Closed { empty, end: at + behind },
            None => Read::Unclosed(at + behind),
        }
    }

    /// Reports an attribute that follows the value ending at `at` immediately.
    fn expect_whitespace(&mut self, at: usize, content_end: usize) {
        if at < content_end && is_name_start(self.text.as_bytes()[at]) {
            let length = self.text[at..].chars().next().map_or(1, char::len_utf8);
            let place = Span::new(at - 1, at + length);
            self.faulty(Fault::NoBlank, place, "attributes need whitespace between them");
        }
    }

    /// The end of a value whose closing quote is actually the opening one of the next attribute: the value extends to
    /// that attribute's `=`, and the tag does not continue after the quote.
    fn torn(&self, start: usize, end: usize, content_end: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let behind = bytes.get(end + 1).filter(|_| end + 1 < content_end)?;
        if behind.is_ascii_whitespace() || matches!(behind, b'/' | b'>' | b'?') {
            return None;
        }
        let before = self.text[start..end].trim_end().strip_suffix('=')?.trim_end();
        let name = before.bytes().rev().take_while(|byte| is_name_byte(*byte)).count();
        let value = &before[..before.len() - name];
        let kept = value.trim_end();
        let is_next = name > 0 && kept.len() < value.len() && !kept.is_empty();
        is_next.then_some(start + kept.len())
    }

    /// Reports a value without a closing quote.
    fn no_closing_quote(&mut self, name: Span, value: Span, quote: u8) {
        let message = format!("the value of `{}` has no closing quote", &self.text[name.range()]);
        let end = value.end as usize;
        let fix = Fix::guess("Close the quote", Span::at(end), char::from(quote).to_string());
        let finding = Diagnostic::new(&NOT_WELL_FORMED, value, message).of(Fault::OpenQuote);
        self.report(finding.fix(fix));
    }

    /// Reports characters that are not allowed in an attribute value.
    pub(super) fn attribute_value(&mut self, span: Span) {
        let raw = &self.text[span.range()];
        if memchr2(b'<', b'&', raw.as_bytes()).is_none() {
            return;
        }
        let start = span.start as usize;
        for (at, _) in raw.match_indices('<') {
            let place = Span::new(start + at, start + at + 1);
            let finding = Diagnostic::new(
                &NOT_WELL_FORMED,
                place,
                "`<` is not allowed in an attribute value",
            )
            .help("write `&lt;`, or in an expression `lt`")
            .fix(less_than_fix(raw, start, at));
            self.report(finding);
        }
        if raw.contains('&') {
            self.references(start, raw);
        }
    }

    /// Reports ampersands that do not begin a reference.
    pub(super) fn references(&mut self, start: usize, raw: &'a str) {
        let mut skip = 0;
        for (at, _) in raw.match_indices('&') {
            if at < skip || reference(&raw[at..]).is_some() {
                continue;
            }
            let name = raw[at + 1..]
                .bytes()
                .take_while(|byte| is_name_byte(*byte) || *byte == b'#')
                .count();
            if name > 0 && raw.as_bytes().get(at + 1 + name) == Some(&b';') {
                let whole = Span::new(start + at, start + at + name + 2);
                let message = format!("`{}` is not an XML entity", &self.text[whole.range()]);
                // An entity may be declared in a DOCTYPE, which is refused anyway.
                if self.tree.doctype.is_none() {
                    self.broken(whole, message);
                }
                continue;
            }
            let double = raw[at..].starts_with("&&");
            let length = if double { 2 } else { 1 };
            skip = at + length;
            let span = Span::new(start + at, start + at + length);
            let (help, fix) = match double {
                true if in_expression(raw, at) => {
                    let text = spaced(raw, at, length, "and");
                    ("in an expression write `and`", Fix::safe("Write `and`", span, text))
                }
                true => {
                    let title = "Write `&amp;&amp;`";
                    ("write `&amp;&amp;`", Fix::safe(title, span, "&amp;&amp;"))
                }
                // It may stand for a letter or a bracket of a tag.
                false if self.in_tag(span) => {
                    ("write `&amp;`", Fix::guess("Write `&amp;`", span, "&amp;"))
                }
                false => ("write `&amp;`", Fix::safe("Write `&amp;`", span, "&amp;")),
            };
            let message =
                format!("a bare `{}` does not start a reference", &self.text[span.range()]);
            let finding = Diagnostic::new(&NOT_WELL_FORMED, span, message).of(Fault::Ampersand);
            self.report(finding.help(help).fix(fix));
        }
    }

    /// Whether the characters around `span` look like a tag: `<na&e>`, `&/name>`.
    fn in_tag(&self, span: Span) -> bool {
        let of_name = |byte: &u8| is_name_byte(*byte) || *byte == b'/';
        let bytes = self.text.as_bytes();
        let (before, after) = (&bytes[..span.start as usize], &bytes[span.end as usize..]);
        let opening = before.iter().rev().find(|byte| !of_name(byte));
        let closing = after.iter().find(|byte| !of_name(byte));
        opening == Some(&b'<') || closing == Some(&b'>') && after.first().is_some_and(of_name)
    }
}
