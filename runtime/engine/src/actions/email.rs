//! The `email` action.
//!
//! Builds a message from the evaluated element and sends it to the SMTP server in the settings, or stores it in a
//! maildir in the store if there is none. (`reference` of the language, 9.14.)
#![expect(clippy::disallowed_methods, reason = "mail leaves the process")]

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::SmtpTransportBuilder;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{Message, SmtpTransport, Transport};
use roxmltree::Node;

use super::fs::Fault;
use crate::host::files::{FileUri, Files};
use ankus_lang::configuration;
use ankus_lang::el::xml::{is_blank, plain_until};
use ankus_procedure::private;

/// Maximum size of an attachment, in bytes.
const LARGEST: u64 = 64 << 20;

/// A message to be sent.
pub struct Request<'a, 'input> {
    /// The evaluated element.
    pub element: Node<'a, 'input>,
    /// The file systems to read attachments from.
    pub files: &'a dyn Files,
    /// Properties of the server: `oozie.email.*`.
    pub server: &'a BTreeMap<String, String>,
    /// The maildir that is used if there is no SMTP server.
    pub maildir: &'a Path,
    /// A name unique to this message; a repeated attempt uses the same name.
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
                        format_args!(
                            "`{address}` in <{name}> is not a valid mail address: {error}"
                        ),
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
            fault("EM002", format_args!("the sender `{from}` is not a valid mail address: {error}"))
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
        let is_off =
            self.server("attachment.enabled").is_some_and(|set| set.eq_ignore_ascii_case("false"));
        let built = if is_off && !attachments.trim().is_empty() {
            let note = format!(
                "\n\n[not attached, because this server sends no attachments: {attachments}]"
            );
            builder.singlepart(SinglePart::builder().header(content).body(body + &note))
        } else if attachments.trim().is_empty() {
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
                            "`{uri}` is on the machine itself, and such files are not attached"
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

/// Builds the message as it would be sent, without sending it.
pub fn compose(request: &Request<'_, '_>) -> Result<Vec<u8>, Fault> {
    request.message().map(|message| message.formatted())
}

/// Whether the evaluated text of an action is a simple message that cannot be invalid: plain addresses, a subject and a
/// body. Most are, so that they need not be built to find out whether they could be sent.
pub fn is_plain(text: &str, server: &BTreeMap<String, String>) -> bool {
    server.get("oozie.email.from.address").is_none_or(|from| is_plain_address(from.trim()))
        && recipients(text)
            .is_some_and(|to| to.split(',').all(|address| is_plain_address(address.trim())))
}

/// Returns the text of `to`, if the only other elements are a subject and a body, and all contain only text.
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

/// Whether a text is an ordinary mail address: words separated by dots on both sides of a single `@`.
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

/// Sends a message, or stores it in the maildir.
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
    let usual = if request.server("tls") == Some("implicit") { 465 } else { 25 };
    let port = request.server("smtp.port").and_then(|port| port.parse().ok()).unwrap_or(usual);
    let patience =
        request.server("smtp.socket.timeout.ms").and_then(|ms| ms.parse().ok()).unwrap_or(10_000);
    let transport =
        transport(request, host)?.port(port).timeout(Some(Duration::from_millis(patience))).build();
    transport.send(&message).map(|_| ()).map_err(|error| {
        // The message of a timed-out socket would only say that the operation may be retried.
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
            format!("did not accept it: {error}")
        };
        fault("EM007", format_args!("the mail server {host}:{port} {why}"))
    })
}

/// Configures the connection to a server: with TLS if the server offers it, unless the settings say otherwise. A
/// password is only sent to a server whose certificate was verified, and never in the clear unless the settings allow
/// it.
fn transport(request: &Request<'_, '_>, host: &str) -> Result<SmtpTransportBuilder, Fault> {
    let set = |error: &dyn std::fmt::Display| {
        fault("EM007", format_args!("[mail] in ankus.toml: {error}"))
    };
    let file = |name: &str| -> Result<Option<Vec<u8>>, Fault> {
        let Some(path) = request.server(name) else { return Ok(None) };
        let read = std::fs::read(path).map_err(|error| set(&format_args!("`{path}`: {error}")))?;
        Ok(Some(read))
    };
    let user = request.server("smtp.username");
    let mode = request.server("tls").unwrap_or("offered");
    let is_verified = mode != "offered" || user.is_some();
    let mut tls = TlsParameters::builder(host.to_owned())
        // Opportunistic TLS only protects against eavesdropping, so that any certificate will do.
        .dangerous_accept_invalid_certs(!is_verified)
        .dangerous_accept_invalid_hostnames(!is_verified);
    if let Some(pem) = file("certificates")? {
        tls = tls.add_root_certificate(Certificate::from_pem(&pem).map_err(|error| set(&error))?);
    }
    let tls = tls.build().map_err(|error| set(&error))?;
    let is_plain_allowed = request.server("plain-password") == Some("true");
    let tls = match mode {
        "off" if user.is_some() && !is_plain_allowed => {
            let why = "a password is not sent in clear text; set tls = \"required\", or plain-password = true";
            return Err(set(&why));
        }
        "off" => Tls::None,
        "implicit" => Tls::Wrapper(tls),
        "required" => Tls::Required(tls),
        _ if user.is_some() && !is_plain_allowed => Tls::Required(tls),
        _ => Tls::Opportunistic(tls),
    };
    let mut builder = SmtpTransport::builder_dangerous(host).tls(tls);
    if let Some(user) = user {
        let password = match file("password-site")? {
            Some(site) => of_site(&site).map_err(|why| set(&why))?,
            None => {
                let missing =
                    "`user` needs a `password-file`, and a site `oozie.email.smtp.password`";
                let password = file("password-file")?.ok_or_else(|| set(&missing))?;
                String::from_utf8_lossy(&password).trim_end_matches(['\r', '\n']).to_owned()
            }
        };
        builder = builder.credentials(Credentials::new(user.to_owned(), password));
    }
    Ok(builder)
}

/// Reads the password from the site's configuration.
fn of_site(bytes: &[u8]) -> Result<String, String> {
    let properties = configuration::read_xml(&String::from_utf8_lossy(bytes))?;
    let password = properties.into_iter().find(|(name, _)| name == "oozie.email.smtp.password");
    let (_, password) =
        password.ok_or("the site's configuration no longer has a password for mail")?;
    Ok(password.trim().to_owned())
}

/// Stores a message in the maildir: the file appears in `new` when it is complete. A repeated message is stored once.
fn keep(request: &Request<'_, '_>, message: &Message) -> std::io::Result<()> {
    let (new, tmp) = (request.maildir.join("new"), request.maildir.join("tmp"));
    for folder in [&new, &tmp, &request.maildir.join("cur")] {
        private::folder(folder)?;
    }
    let name = request.unique.replace('/', "_");
    private::write(&tmp.join(&name), message.formatted())?;
    std::fs::rename(tmp.join(&name), new.join(&name))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::host::files::MemoryFiles;

    /// Starts a server that offers these extensions, accepts every message, and reports the commands that it received.
    fn server(extensions: &'static [&'static str]) -> (u16, mpsc::Receiver<String>) {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let Ok((mut stream, _)) = socket.accept() else { return };
            let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
            let _ = stream.write_all(b"220 here\r\n");
            let mut is_mail = false;
            while let Some(Ok(line)) = lines.next() {
                let answer = match line.split(' ').next().unwrap_or_default() {
                    "." => {
                        is_mail = false;
                        "250 kept".to_owned()
                    }
                    _ if is_mail => String::new(),
                    "EHLO" => {
                        let mut all: Vec<String> =
                            extensions.iter().map(|name| format!("250-{name}")).collect();
                        all.push("250 HELP".to_owned());
                        format!("250-here\r\n{}", all.join("\r\n"))
                    }
                    "DATA" => {
                        is_mail = true;
                        "354 go on".to_owned()
                    }
                    "STARTTLS" => "220 now".to_owned(),
                    "AUTH" => "235 welcome".to_owned(),
                    "QUIT" => "221 bye".to_owned(),
                    _ => "250 well".to_owned(),
                };
                let _ = tell.send(line);
                if !answer.is_empty() {
                    let _ = stream.write_all(format!("{answer}\r\n").as_bytes());
                }
            }
        });
        (port, told)
    }

    /// Sends a message with these settings. Returns the outcome, and the first words of the commands that the server
    /// received.
    fn sent(
        extensions: &'static [&'static str],
        settings: &[(&str, &str)],
    ) -> (Result<(), String>, Vec<String>) {
        let (port, told) = server(extensions);
        let folder = tempfile::tempdir().expect("a folder");
        let password = folder.path().join("password");
        std::fs::write(&password, "hunter2\n").expect("a file");
        let mut server = BTreeMap::from([
            ("oozie.email.smtp.host".to_owned(), "127.0.0.1".to_owned()),
            ("oozie.email.smtp.port".to_owned(), port.to_string()),
            ("oozie.email.password-file".to_owned(), password.display().to_string()),
        ]);
        server.extend(
            settings
                .iter()
                .map(|(name, value)| (format!("oozie.email.{name}"), (*value).to_owned())),
        );
        let document = roxmltree::Document::parse(
            "<email><to>a@b.c</to><subject>s</subject><body>b</body></email>",
        );
        let document = document.expect("well-formed");
        let files = MemoryFiles::default();
        let request = Request {
            element: document.root_element(),
            files: &files,
            server: &server,
            maildir: folder.path(),
            unique: "1",
            now_ms: 0,
        };
        let outcome = send(&request).map_err(|fault| fault.message);
        // A server without a client reports nothing and keeps waiting.
        let heard = || told.recv_timeout(Duration::from_millis(300)).ok();
        let told: Vec<String> = std::iter::from_fn(heard).collect();
        (outcome, told)
    }

    #[test]
    fn a_password_is_never_sent_in_the_clear_unless_somebody_says_so() {
        let user = ("smtp.username", "ann");
        let has = |told: &[String], word: &str| told.iter().any(|line| line.starts_with(word));
        let (outcome, told) = sent(&["AUTH PLAIN"], &[]);
        assert_eq!(outcome, Ok(()), "as a server does it");
        assert!(has(&told, "DATA") && !has(&told, "AUTH"), "{told:?}");

        for settings in [
            &[user][..],
            &[user, ("tls", "required")],
            &[user, ("tls", "off")],
            &[("tls", "required")],
        ] {
            let (outcome, told) = sent(&["AUTH PLAIN"], settings);
            assert!(outcome.is_err(), "{settings:?}");
            assert!(!has(&told, "AUTH") && !has(&told, "MAIL"), "{settings:?} {told:?}");
        }
        let (outcome, told) =
            sent(&["AUTH PLAIN"], &[user, ("tls", "off"), ("plain-password", "true")]);
        assert_eq!(outcome, Ok(()));
        assert!(has(&told, "AUTH PLAIN"), "{told:?}");

        // TLS that is offered is used, and its failure is no reason to continue in the clear.
        let (outcome, told) = sent(&["STARTTLS", "AUTH PLAIN"], &[]);
        assert!(outcome.is_err(), "it speaks no TLS");
        assert!(has(&told, "STARTTLS") && !has(&told, "MAIL"), "{told:?}");
    }
}
