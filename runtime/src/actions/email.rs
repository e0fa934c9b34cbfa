//! The `email` action.
//!
//! In: the evaluated element. Out: a message given to the SMTP server that the settings name, or else put into a maildir
//! in the store. (`reference` of the language, 9.14.)
#![expect(clippy::disallowed_methods, reason = "mail leaves the process")]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use lettre::{Message, SmtpTransport, Transport};
use roxmltree::Node;

use super::fs::Fault;
use crate::el::xml::{is_blank, plain_until};
use crate::host::files::{FileUri, Files};
use crate::host::private;

/// An attachment is at most so large.
const LARGEST: u64 = 64 << 20;

/// A mail to be sent.
pub struct Request<'a, 'input> {
    /// The evaluated element.
    pub element: Node<'a, 'input>,
    /// The file systems, for attachments.
    pub files: &'a dyn Files,
    /// Properties of the server: `oozie.email.*`.
    pub server: &'a BTreeMap<String, String>,
    /// Where mail is kept when there is no server for it.
    pub maildir: &'a Path,
    /// A name that no other mail has; a repeated attempt has the same.
    pub unique: &'a str,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

fn fault(code: &str, message: impl std::fmt::Display) -> Fault {
    Fault { code: code.to_owned(), message: format!("{code}: {message}") }
}

impl Request<'_, '_> {
    fn text(&self, name: &str) -> Option<String> {
        let child = self
            .element
            .children()
            .find(|child| child.is_element() && child.tag_name().name() == name)?;
        Some(child.children().filter_map(|child| child.text()).collect())
    }

    fn server(&self, name: &str) -> Option<&str> {
        self.server
            .get(&format!("oozie.email.{name}"))
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    fn addresses(&self, name: &str) -> Result<Vec<Mailbox>, Fault> {
        let Some(text) = self.text(name) else { return Ok(Vec::new()) };
        text.split(',')
            .map(str::trim)
            .map(|address| {
                address.parse().map_err(|error| {
                    fault(
                        "EM004",
                        format_args!("`{address}` in <{name}> is no mail address: {error}"),
                    )
                })
            })
            .collect()
    }

    fn message(&self) -> Result<Message, Fault> {
        if self.text("to").is_none_or(|to| to.trim().is_empty()) {
            return Err(fault("EM001", "<to> names no recipient"));
        }
        let from = self.server("from.address").unwrap_or("oozie@localhost");
        let from: Mailbox = from.parse().map_err(|error| {
            fault("EM002", format_args!("the sender `{from}` is no mail address: {error}"))
        })?;
        let seconds = u64::try_from(self.now_ms / 1000).unwrap_or(0);
        let date = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut builder = Message::builder()
            .from(from)
            .subject(self.text("subject").unwrap_or_default().trim())
            .date(date)
            .message_id(Some(format!("<{}@ankus>", self.unique.replace('@', "."))));
        for to in self.addresses("to")? {
            builder = builder.to(to);
        }
        for cc in self.addresses("cc")? {
            builder = builder.cc(cc);
        }
        for bcc in self.addresses("bcc")? {
            builder = builder.bcc(bcc);
        }
        let content = self.text("content_type").map(|text| text.trim().to_owned());
        let content =
            content.filter(|text| !text.is_empty()).unwrap_or_else(|| "text/plain".to_owned());
        let content = match content.contains("charset") {
            true => content,
            false => format!("{content}; charset=utf-8"),
        };
        let content = ContentType::parse(&content)
            .map_err(|error| fault("EM005", format_args!("<content_type> `{content}`: {error}")))?;
        let body = self.text("body").unwrap_or_default();
        let attachments = self.text("attachment").unwrap_or_default();
        let built = if attachments.trim().is_empty() {
            builder.singlepart(SinglePart::builder().header(content).body(body))
        } else {
            let mut parts =
                MultiPart::mixed().singlepart(SinglePart::builder().header(content).body(body));
            for uri in attachments.split(',').filter(|uri| !uri.is_empty()) {
                let uri = FileUri::parse(uri);
                if uri.scheme == "file" {
                    return Err(fault(
                        "EM008",
                        format_args!(
                            "`{uri}` lies on the machine itself, and such files are not attached"
                        ),
                    ));
                }
                let bytes = self.files.read(&uri, LARGEST).map_err(|error| {
                    fault("EM008", format_args!("cannot attach `{uri}`: {error}"))
                })?;
                let kind = ContentType::parse("application/octet-stream").expect("a valid type");
                parts = parts.singlepart(Attachment::new(uri.name().to_owned()).body(bytes, kind));
            }
            builder.multipart(parts)
        };
        built.map_err(|error| fault("EM005", error))
    }
}

/// A mail as it would be sent, and sent to nobody.
pub fn compose(request: &Request<'_, '_>) -> Result<Vec<u8>, Fault> {
    request.message().map(|message| message.formatted())
}

/// Whether the evaluated text of an action is a mail with nothing to be wrong with: plain addresses, a subject and a body.
/// Most are, and so nothing of them has to be built to know that they could be sent.
pub fn is_plain(text: &str, server: &BTreeMap<String, String>) -> bool {
    server.get("oozie.email.from.address").is_none_or(|from| is_plain_address(from.trim()))
        && recipients(text)
            .is_some_and(|to| to.split(',').all(|address| is_plain_address(address.trim())))
}

/// What stands in `to`, where there is one and nothing else but a subject and a body, all of it text.
fn recipients(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix("<email")?;
    if let Some(namespace) = rest.strip_prefix(" xmlns=\"") {
        (_, rest) = plain_until(namespace, b'"')?;
    }
    rest = rest.strip_prefix('>')?;
    let mut to = None;
    loop {
        let blanks = rest.bytes().take_while(|byte| is_blank(*byte)).count();
        rest = rest[blanks..].strip_prefix('<')?;
        if rest == "/email>" {
            return to;
        }
        let name = ["to>", "subject>", "body>"].into_iter().find(|name| rest.starts_with(name))?;
        let (inside, after) = plain_until(&rest[name.len()..], b'<')?;
        rest = after.strip_prefix('/')?.strip_prefix(name)?;
        if name == "to>" && to.replace(inside).is_some() {
            return None;
        }
    }
}

/// Whether a text is a mail address such as most are: dots between words on both sides of one `@`.
fn is_plain_address(address: &str) -> bool {
    let words = |text: &str, more: &[u8]| {
        let word = |word: &str| {
            word.len() <= 60
                && word.starts_with(|first: char| first.is_ascii_alphanumeric())
                && word.ends_with(|last: char| last.is_ascii_alphanumeric())
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
        };
        text.len() <= 60 && text.split('.').all(word)
    };
    address
        .split_once('@')
        .is_some_and(|(local, domain)| words(local, b"-_") && words(domain, b"-"))
}

/// Sends a mail, or keeps it.
pub fn send(request: &Request<'_, '_>) -> Result<(), Fault> {
    let message = request.message()?;
    let Some(host) = request.server("smtp.host") else {
        return keep(request, &message).map_err(|error| {
            fault(
                "EM007",
                format_args!("cannot keep the mail in {}: {error}", request.maildir.display()),
            )
        });
    };
    let port = request.server("smtp.port").and_then(|port| port.parse().ok()).unwrap_or(25);
    let patience =
        request.server("smtp.socket.timeout.ms").and_then(|ms| ms.parse().ok()).unwrap_or(10_000);
    let transport = SmtpTransport::builder_dangerous(host)
        .port(port)
        .timeout(Some(Duration::from_millis(patience)))
        .build();
    transport.send(&message).map(|_| ()).map_err(|error| {
        // A timed out socket says no more than that it might be tried again.
        let waits = |error: &dyn std::error::Error| {
            let mut cause = error.source();
            while let Some(inner) = cause {
                let kind = inner.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
                if let Some(ErrorKind::WouldBlock | ErrorKind::TimedOut) = kind {
                    return true;
                }
                cause = inner.source();
            }
            false
        };
        let why = if error.is_timeout() || waits(&error) {
            format!("did not answer within {patience} ms")
        } else {
            format!("did not take it: {error}")
        };
        fault("EM007", format_args!("the mail server {host}:{port} {why}"))
    })
}

/// A maildir: a file appears in `new` when it is whole. The same mail is there once.
fn keep(request: &Request<'_, '_>, message: &Message) -> std::io::Result<()> {
    let (new, tmp) = (request.maildir.join("new"), request.maildir.join("tmp"));
    for folder in [&new, &tmp, &request.maildir.join("cur")] {
        private::folder(folder)?;
    }
    let name = request.unique.replace('/', "_");
    private::write(&tmp.join(&name), message.formatted())?;
    std::fs::rename(tmp.join(&name), new.join(&name))
}
