//! A request, as the web services process it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ankus_access::Who;
use percent_encoding::percent_decode_str;

use crate::answer::Fault;
use ankus_lang::configuration::{read_xml, substitute};

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The segments of the path below `/oozie`, decoded.
    pub(crate) path: Vec<String>,
    /// The parameters in order, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// The parameters as sent.
    pub(crate) raw_query: String,
    /// The media type of the body, with its parameters.
    pub(crate) content_type: Option<String>,
    pub(crate) body: Vec<u8>,
    /// The authenticated user, if known.
    pub(crate) who: Who,
    /// The version of the web services: 0, 1 or 2.
    pub(crate) version: u8,
    /// The URL of this server, up to `/oozie`.
    pub(crate) base: String,
}

/// Decodes a part of a URL.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Parses the parameters of a query.
pub(crate) fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

impl Request {
    /// Returns the user, if known.
    pub(crate) fn user(&self) -> Option<&str> {
        self.who.user.as_deref()
    }

    /// Returns the value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a required parameter.
    pub(crate) fn required(&self, name: &str) -> Result<&str, Fault> {
        self.parameter(name).filter(|value| !value.is_empty()).ok_or_else(|| Fault::missing(name))
    }

    /// Returns a number; an invalid one is refused with Java's message.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Fault> {
        let Some(text) = self.parameter(name) else { return Ok(None) };
        let number = text.parse::<i32>();
        let fault = |_| Fault::plain("E1603", format!("For input string: \"{text}\""));
        number.map(|number| Some(i64::from(number))).map_err(fault)
    }

    /// Whether a parameter is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.parameter(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Refuses a body whose type is not XML.
    pub(crate) fn is_xml(&self) -> Result<(), Fault> {
        let kind = self.content_type.as_deref();
        let media =
            kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_lowercase());
        match media.as_deref() {
            Some("application/xml") => Ok(()),
            _ => {
                let kind = kind.unwrap_or("null");
                Err(Fault::new("E0300", format!("Invalid content-type [{kind}]")))
            }
        }
    }

    /// Decodes the body: UTF-16 if its first bytes show that, Latin-1 if its declaration says so, otherwise UTF-8. The
    /// server's parser does the same. The error is the encoding that it violates.
    pub(crate) fn text(&self) -> Result<Cow<'_, str>, &'static str> {
        let body = self.body.as_slice();
        let unit: fn([u8; 2]) -> u16 = match body {
            [0xFF, 0xFE, ..] | [b'<', 0, ..] => u16::from_le_bytes,
            [0xFE, 0xFF, ..] | [0, b'<', ..] => u16::from_be_bytes,
            _ => {
                return match std::str::from_utf8(body) {
                    Ok(text) => Ok(text.trim_start_matches('\u{feff}').into()),
                    Err(_) if declares_latin1(body) => {
                        Ok(body.iter().map(|byte| char::from(*byte)).collect())
                    }
                    Err(_) => Err("UTF-8"),
                };
            }
        };
        let (pairs, rest) = body.as_chunks::<2>();
        let text: Result<String, _> =
            char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect();
        match (text, rest) {
            (Ok(text), []) => Ok(text.trim_start_matches('\u{feff}').to_owned().into()),
            _ => Err("UTF-16"),
        }
    }

    /// Returns the configuration in the body: values trimmed, and references between them resolved.
    pub(crate) fn configuration(&self) -> Result<BTreeMap<String, String>, Fault> {
        self.is_xml()?;
        let broken = |why: &str| Fault::internal(format!("java.io.IOException: {why}"));
        let text = self
            .text()
            .map_err(|kind| broken(&format!("the configuration is not valid {kind}")))?;
        let pairs = read_xml(&text).map_err(|why| broken(&unread(&text, &why)))?;
        let pairs: BTreeMap<String, String> =
            pairs.into_iter().map(|(name, value)| (name, value.trim().to_owned())).collect();
        let mut resolved = BTreeMap::new();
        for (name, value) in &pairs {
            let lookup = |name: &str| pairs.get(name).map(|value| value.as_str().into());
            let value = substitute(value, lookup).map_err(|_| {
                let depth =
                    "java.lang.IllegalStateException: Variable substitution depth too large: 20";
                Fault::internal(format!("{depth} {value}"))
            })?;
            resolved.insert(name.clone(), value.into_owned());
        }
        Ok(resolved)
    }
}

/// Whether the XML declaration of a body declares Latin-1.
fn declares_latin1(body: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&body[..body.len().min(256)]).to_ascii_lowercase();
    let declaration = head.split("?>").next().filter(|_| head.starts_with("<?xml"));
    declaration.is_some_and(|text| text.contains("iso-8859-1") || text.contains("latin1"))
}

/// Returns the server's message about an invalid configuration.
fn unread(text: &str, why: &str) -> String {
    if why.starts_with("the root is <") {
        return "bad conf file: top-level element not <configuration>".to_owned();
    }
    if why.ends_with("was found where a <property> is expected") {
        return "bad conf file: element not <property>".to_owned();
    }
    let at = |offset: usize| {
        let before = &text[..offset];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("lineNumber: {line}; columnNumber: {column}; ")
    };
    let why = match text.find("<!DOCTYPE") {
        _ if text.trim().is_empty() => "Premature end of file.".to_owned(),
        Some(doctype) => {
            let feature = "http://apache.org/xml/features/disallow-doctype-decl";
            let place = at(doctype + "<!DOCTYPE".len());
            format!("{place}DOCTYPE is disallowed when the feature \"{feature}\" set to true.")
        }
        None if why.contains("never closed") => {
            let what = "XML document structures must start and end within the same entity.";
            format!("{}{what}", at(text.len()))
        }
        None => why.to_owned(),
    };
    format!("org.xml.sax.SAXParseException; {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Request {
        Request {
            body: text.into(),
            content_type: Some("application/xml;charset=UTF-8".to_owned()),
            ..Request::default()
        }
    }

    #[test]
    fn a_configuration_is_read_and_resolved() {
        let request = body(
            "<configuration><property><name>a</name><value> ${b}/x </value></property><property><name>b</name><value>1</value></property></configuration>",
        );
        assert_eq!(request.configuration().unwrap()["a"], "1/x");
        let doctype = body("<!DOCTYPE a [<!ENTITY e 'x'>]><configuration/>");
        assert_eq!(doctype.configuration().unwrap_err().status, 500);
        let told = "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<configuration><property><name>n</name><value>Zoë 🐘</value></property></configuration>";
        let marked = format!("\u{feff}{told}");
        let sent = |bytes: Vec<u8>| Request { body: bytes, ..body("") }.configuration();
        for text in [told, marked.as_str()] {
            for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                let bytes: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
                assert_eq!(sent(bytes.clone()).unwrap()["n"], "Zoë 🐘");
                let half = sent(bytes[..bytes.len() - 1].to_vec()).unwrap_err();
                assert!(half.message.ends_with("is not valid UTF-16"), "{}", half.message);
            }
        }
        assert_eq!(sent(marked.into_bytes()).unwrap()["n"], "Zoë 🐘");
        let latin = told.replace("UTF-16", "ISO-8859-1").replace("🐘", "");
        let latin: Vec<u8> = latin.chars().map(|character| character as u8).collect();
        assert_eq!(sent(latin).unwrap()["n"], "Zoë");
        assert!(body("<conf/>").configuration().unwrap_err().message.contains("top-level"));
        let text = Request { content_type: Some("text/plain".to_owned()), ..body("") };
        assert_eq!(
            text.configuration().unwrap_err().message,
            "E0300: Invalid content-type [text/plain]"
        );
    }

    #[test]
    fn parameters_are_decoded() {
        let request = Request { query: parameters("filter=a%3Db;c&x&len=q"), ..Request::default() };
        assert_eq!(request.parameter("filter"), Some("a=b;c"));
        assert_eq!(request.parameter("x"), Some(""));
        assert_eq!(request.number("len").unwrap_err().message, "For input string: \"q\"");
        assert_eq!(request.required("x").unwrap_err().message, "E0305: Missing parameter [x]");
    }
}
