//! Hive metastores: whether partitions and tables exist, and dropping them.
//!
//! A URI such as `hcat://host:9083/database/table/key=value;key=value` names the partitions with these values. Only
//! five calls of Thrift's binary protocol are needed, so the protocol is implemented here: a library would bring its
//! own runtime and a thousand generated types. Answers are limited in size and depth. All other operations of a file
//! system are refused.

use std::io::{self, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::hosts::Remote;
use super::{ClusterUrl, FileStatus, FileUri, Files};

/// How long a metastore may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The maximum size of an answer, its maximum depth, and the maximum length of a list in it.
const LONGEST: u64 = 16 << 20;
const DEEPEST: u32 = 32;
const MOST: usize = 100_000;
/// The version of the protocol, and the kinds of messages: a call, and a reply. Any other kind is an exception of the
/// server.
const VERSION: u32 = 0x8001_0000;
const CALL: u32 = 1;
const REPLY: u32 = 2;
/// The types of values.
const FLAG: u8 = 2;
const STRING: u8 = 11;
const SHORT: u8 = 6;
const LIST: u8 = 15;
/// Returns the field number of `NoSuchObjectException` among the exceptions of a call.
fn no_such_object(method: &str) -> i16 {
    if method.starts_with("drop_") { 1 } else { 2 }
}

/// A metastore as the file system of an authority.
#[derive(Debug)]
pub(crate) struct Metastore {
    authority: String,
    url: ClusterUrl,
    user: String,
    patience: Duration,
}

impl Metastore {
    /// Creates the metastore at a URL, for an authority. No connection is made yet.
    pub(crate) fn new(authority: &str, url: ClusterUrl) -> Metastore {
        let user = url.user.clone().unwrap_or_default();
        Metastore { authority: authority.to_owned(), url, user, patience: PATIENCE }
    }

    fn fault(&self, kind: io::ErrorKind, what: impl std::fmt::Display) -> io::Error {
        let Metastore { authority, url, .. } = self;
        io::Error::new(
            kind,
            format!("{url}, the metastore that `[hosts]` names for {authority}, {what}"),
        )
    }

    /// Connects to the first host that answers, and sends the user name.
    fn connect(&self) -> io::Result<Session> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for host in self.url.host.split(',') {
            let addresses = match host.to_socket_addrs() {
                Ok(addresses) => addresses,
                Err(error) => {
                    last = error;
                    continue;
                }
            };
            for address in addresses {
                match TcpStream::connect_timeout(&address, self.patience) {
                    Ok(stream) => return self.session(stream),
                    Err(error) => last = error,
                }
            }
        }
        Err(self.fault(last.kind(), format_args!("does not answer: {last}")))
    }

    fn session(&self, stream: TcpStream) -> io::Result<Session> {
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_write_timeout(Some(self.patience))?;
        let mut session = Session { stream: BufReader::new(stream), calls: 0 };
        if !self.user.is_empty() {
            let groups = Argument::Texts(vec![self.user.clone()]);
            self.ask(&mut session, "set_ugi", &[Argument::Text(&self.user), groups])?;
        }
        Ok(session)
    }

    /// Returns the answer to a call, or none if the metastore has no such object.
    fn ask(
        &self,
        session: &mut Session,
        method: &str,
        arguments: &[Argument<'_>],
    ) -> io::Result<Option<Value>> {
        let answer = session.call(method, arguments).map_err(|error| {
            let why = match error.kind() {
                // A metastore that requires SASL takes our message for a length, and waits for more.
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut => {
                    format!("{error} (one that asks for Kerberos cannot be used this way)")
                }
                _ => error.to_string(),
            };
            self.fault(error.kind(), format_args!("cannot be asked ({method}): {why}"))
        })?;
        match answer {
            Answer::Value(value) => Ok(Some(value)),
            Answer::Exception(number, _) if number == no_such_object(method) => Ok(None),
            Answer::Exception(_, message) => {
                let what = format_args!("refuses {method}: {message}");
                Err(self.fault(io::ErrorKind::Other, what))
            }
        }
    }

    /// Whether a table exists, or a partition of it with these values; keys that are left out match any value.
    fn exists(&self, named: &Named<'_>) -> io::Result<bool> {
        let mut session = self.connect()?;
        if named.values.is_empty() {
            return Ok(self.ask(&mut session, "get_table", &named.table())?.is_some());
        }
        Ok(!self.partitions(&mut session, named, 1)?.is_empty())
    }

    /// Returns the names of the partitions with these values, at most `most`, or all if that is negative.
    fn partitions(
        &self,
        session: &mut Session,
        named: &Named<'_>,
        most: i16,
    ) -> io::Result<Vec<String>> {
        let Named { database, table, values } = named;
        let Some(found) = self.ask(session, "get_table", &named.table())? else {
            return Ok(Vec::new());
        };
        let keys = partition_keys(&found);
        if let Some((name, _)) =
            values.iter().find(|(name, _)| !keys.iter().any(|key| key.eq_ignore_ascii_case(name)))
        {
            let what = format!("has no partition key `{name}` in the table {database}.{table}");
            return Err(self.fault(io::ErrorKind::InvalidInput, what));
        }
        let value = |key: &String| {
            let given = values.iter().find(|(name, _)| key.eq_ignore_ascii_case(name));
            given.map_or(String::new(), |(_, value)| (*value).to_owned())
        };
        let wanted = Argument::Texts(keys.iter().map(value).collect());
        let [database, table] = named.table();
        let asked = [database, table, wanted, Argument::Short(most)];
        let names = self.ask(session, "get_partition_names_ps", &asked)?;
        let Some(Value::List(names)) = names else { return Ok(Vec::new()) };
        let name = |value| match value {
            Value::Text(name) => Some(name),
            _ => None,
        };
        Ok(names.into_iter().filter_map(name).collect())
    }

    /// Drops a table, or its partitions with these values, with the data that Hive manages. Returns whether anything
    /// was there.
    fn remove(&self, named: &Named<'_>) -> io::Result<bool> {
        let mut session = self.connect()?;
        if named.values.is_empty() {
            let [database, table] = named.table();
            let dropped =
                self.ask(&mut session, "drop_table", &[database, table, Argument::Flag(true)])?;
            return Ok(dropped.is_some());
        }
        let partitions = self.partitions(&mut session, named, -1)?;
        for partition in &partitions {
            let [database, table] = named.table();
            let asked = [database, table, Argument::Text(partition), Argument::Flag(true)];
            // Another client may have dropped it since.
            self.ask(&mut session, "drop_partition_by_name", &asked)?;
        }
        Ok(!partitions.is_empty())
    }

    /// Returns the table or partition that a URI names; none if it names a folder, as in a warehouse.
    fn named<'u>(&self, uri: &'u FileUri) -> io::Result<Option<Named<'u>>> {
        let mut parts = uri.path.split('/').filter(|part| !part.is_empty());
        let (Some(database), Some(table)) = (parts.next(), parts.next()) else { return Ok(None) };
        let spec = parts.next().unwrap_or_default();
        if parts.next().is_some() || database.ends_with(".db") || table.contains('=') {
            return Ok(None);
        }
        let values: Option<Vec<(&str, &str)>> = spec
            .split(';')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('='))
            .collect();
        let Some(values) = values else {
            let what =
                format!("is asked for `{spec}`, which is not a partition: KEY=VALUE;KEY=VALUE");
            return Err(self.fault(io::ErrorKind::InvalidInput, what));
        };
        Ok(Some(Named { database, table, values }))
    }

    fn refused<T>(&self) -> io::Result<T> {
        Err(self.fault(io::ErrorKind::Unsupported, "has tables and partitions, and no files"))
    }
}

/// A table, or its partitions with these key values.
struct Named<'u> {
    database: &'u str,
    table: &'u str,
    values: Vec<(&'u str, &'u str)>,
}

impl Named<'_> {
    fn table(&self) -> [Argument<'_>; 2] {
        [Argument::Text(self.database), Argument::Text(self.table)]
    }
}

/// Returns the names of a table's partition keys: its field 8, a list of structures whose field 1 is the name.
fn partition_keys(table: &Value) -> Vec<String> {
    let field = |value: &Value, number: i16| match value {
        Value::Struct(fields) => {
            fields.iter().find(|(at, _)| *at == number).map(|(_, value)| value.clone())
        }
        _ => None,
    };
    let Some(Value::List(keys)) = field(table, 8) else { return Vec::new() };
    let name = |key: &Value| match field(key, 1) {
        Some(Value::Text(name)) => Some(name),
        _ => None,
    };
    keys.iter().filter_map(name).collect()
}

impl Remote for Metastore {
    fn bring(&self, _uri: &FileUri, _length: u64, _to: &mut dyn Write) -> io::Result<()> {
        self.refused()
    }

    fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn set_user(&mut self, user: &str) {
        if self.url.user.is_none() {
            user.clone_into(&mut self.user);
        }
    }
}

impl Files for Metastore {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        let there = FileStatus { directory: true, length: 0, modified_ms: 0, mode: 0o755 };
        if uri.path.split('/').filter(|part| !part.is_empty()).count() < 2 {
            // Only the connection is checked.
            self.connect()?;
            return Ok(Some(there));
        }
        let Some(named) = self.named(uri)? else { return Ok(None) };
        Ok(self.exists(&named)?.then_some(there))
    }

    fn list(&self, _uri: &FileUri) -> io::Result<Vec<String>> {
        self.refused()
    }

    fn create_folder(&self, _uri: &FileUri) -> io::Result<()> {
        self.refused()
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        match self.named(uri)? {
            Some(named) => self.remove(&named),
            None => Ok(false),
        }
    }

    fn rename(&self, _from: &FileUri, _to: &FileUri) -> io::Result<()> {
        self.refused()
    }

    fn read(&self, _uri: &FileUri, _limit: u64) -> io::Result<Vec<u8>> {
        self.refused()
    }

    fn write(&self, _uri: &FileUri, _content: &[u8]) -> io::Result<()> {
        self.refused()
    }

    fn set_mode(&self, _uri: &FileUri, _mode: u32) -> io::Result<()> {
        self.refused()
    }

    fn set_group(&self, _uri: &FileUri, _group: &str) -> io::Result<()> {
        self.refused()
    }
}

/// An argument of a call.
enum Argument<'a> {
    Text(&'a str),
    Texts(Vec<String>),
    Short(i16),
    Flag(bool),
}

/// The answer to a call: its result, or one of the exceptions that it declares, by number, with its message.
enum Answer {
    Value(Value),
    Exception(i16, String),
}

/// A received value. Numbers and maps are read and dropped.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    List(Vec<Value>),
    Struct(Vec<(i16, Value)>),
    Other,
}

/// A connection.
struct Session {
    stream: BufReader<TcpStream>,
    calls: u32,
}

impl Session {
    fn call(&mut self, method: &str, arguments: &[Argument<'_>]) -> io::Result<Answer> {
        self.calls += 1;
        let mut out = Vec::new();
        out.extend((VERSION | CALL).to_be_bytes());
        text(&mut out, method);
        out.extend(self.calls.to_be_bytes());
        for (number, argument) in (1_i16..).zip(arguments) {
            let kind = match argument {
                Argument::Text(_) => STRING,
                Argument::Texts(_) => LIST,
                Argument::Short(_) => SHORT,
                Argument::Flag(_) => FLAG,
            };
            out.push(kind);
            out.extend(number.to_be_bytes());
            match argument {
                Argument::Text(argument) => text(&mut out, argument),
                Argument::Texts(list) => {
                    out.push(STRING);
                    out.extend((list.len() as u32).to_be_bytes());
                    list.iter().for_each(|argument| text(&mut out, argument));
                }
                Argument::Short(number) => out.extend(number.to_be_bytes()),
                Argument::Flag(flag) => out.push(u8::from(*flag)),
            }
        }
        out.push(0);
        self.stream.get_mut().write_all(&out)?;
        answer(&mut Reader { stream: (&mut self.stream).take(LONGEST) })
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_be_bytes());
    out.extend(text.as_bytes());
}

fn answer<R: Read>(reader: &mut Reader<R>) -> io::Result<Answer> {
    let head = reader.number(4)? as u32;
    if head & 0xffff_0000 != VERSION {
        return Err(odd("it speaks another protocol"));
    }
    reader.text()?;
    reader.number(4)?;
    let Value::Struct(fields) = reader.value(12, 0)? else { return Err(odd("an odd answer")) };
    let message = |value: &Value| match value {
        Value::Struct(fields) => fields.iter().find_map(|(_, value)| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }),
        _ => None,
    };
    if head & 0xff != REPLY {
        let why = message(&Value::Struct(fields)).unwrap_or_else(|| "an exception".to_owned());
        return Err(odd(&why));
    }
    Ok(match fields.into_iter().next() {
        Some((0, value)) => Answer::Value(value),
        Some((number, value)) => Answer::Exception(
            number,
            message(&value).unwrap_or_else(|| "no reason given".to_owned()),
        ),
        None => Answer::Value(Value::Other),
    })
}

fn odd(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Parses received data.
struct Reader<R> {
    stream: R,
}

impl<R: Read> Reader<R> {
    fn number(&mut self, bytes: usize) -> io::Result<i64> {
        let mut buffer = [0; 8];
        self.stream.read_exact(&mut buffer[8 - bytes..])?;
        let number = i64::from_be_bytes(buffer);
        // With fewer bytes, the sign bit is in the first one.
        let shift = 64 - 8 * bytes as u32;
        Ok(number << shift >> shift)
    }

    fn length(&mut self) -> io::Result<usize> {
        let length = usize::try_from(self.number(4)?).map_err(|_| odd("a negative length"))?;
        match length as u64 > LONGEST {
            true => Err(odd("an answer that is too long")),
            false => Ok(length),
        }
    }

    fn text(&mut self) -> io::Result<String> {
        let length = self.length()?;
        let mut bytes = Vec::new();
        let read = self.stream.by_ref().take(length as u64).read_to_end(&mut bytes)?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn value(&mut self, kind: u8, depth: u32) -> io::Result<Value> {
        if depth > DEEPEST {
            return Err(odd("an answer that is too deep"));
        }
        Ok(match kind {
            2 | 3 => self.number(1).map(|_| Value::Other)?,
            6 => self.number(2).map(|_| Value::Other)?,
            8 => self.number(4).map(|_| Value::Other)?,
            4 | 10 => self.number(8).map(|_| Value::Other)?,
            11 => Value::Text(self.text()?),
            12 => {
                let mut fields = Vec::new();
                loop {
                    let kind = self.number(1)? as u8;
                    if kind == 0 {
                        break Value::Struct(fields);
                    }
                    if fields.len() >= MOST {
                        return Err(odd("an answer that is too long"));
                    }
                    let number = self.number(2)? as i16;
                    fields.push((number, self.value(kind, depth + 1)?));
                }
            }
            13 => {
                let kinds = (self.number(1)? as u8, self.number(1)? as u8);
                for _ in 0..self.count()? {
                    self.value(kinds.0, depth + 1)?;
                    self.value(kinds.1, depth + 1)?;
                }
                Value::Other
            }
            14 | 15 => {
                let kind = self.number(1)? as u8;
                let mut values = Vec::new();
                for _ in 0..self.count()? {
                    values.push(self.value(kind, depth + 1)?);
                }
                Value::List(values)
            }
            _ => return Err(odd("a value of a kind that is not known")),
        })
    }

    fn count(&mut self) -> io::Result<usize> {
        let count = self.length()?;
        if count > MOST { Err(odd("an answer that is too long")) } else { Ok(count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    fn field(kind: u8, number: i16, content: &[u8]) -> Vec<u8> {
        [&[kind][..], &number.to_be_bytes(), content].concat()
    }

    fn said(words: &str) -> Vec<u8> {
        let mut out = Vec::new();
        text(&mut out, words);
        out
    }

    /// Starts a metastore with one table, `sales.orders`, with one partition `day=1/hour=2`. Returns its address and
    /// the requests that it received.
    fn metastore() -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut reader =
                    Reader { stream: BufReader::new(stream.try_clone().expect("a stream")) };
                while reader.number(4).is_ok() {
                    let method = reader.text().expect("a name");
                    let number = reader.number(4).expect("a number") as u32;
                    let arguments = reader.value(12, 0).expect("arguments");
                    let told = format!("{arguments:?}");
                    kept.lock().expect("nobody panics").push(format!("{method} {told}"));
                    let key = |name: &str| [field(STRING, 1, &said(name)), vec![0]].concat();
                    let table = [
                        field(STRING, 1, &said("orders")),
                        field(8, 4, &7_i32.to_be_bytes()),
                        field(13, 9, &[11, 11, 0, 0, 0, 1]),
                        said("a"),
                        said("b"),
                        field(LIST, 8, &[12, 0, 0, 0, 2]),
                        key("day"),
                        key("Hour"),
                        vec![0],
                    ]
                    .concat();
                    let reply = match method.as_str() {
                        "set_ugi" => field(LIST, 0, &[STRING, 0, 0, 0, 0]),
                        "get_table" if told.contains("broken") => field(
                            12,
                            1,
                            &[field(STRING, 1, &said("the database is down")), vec![0]].concat(),
                        ),
                        "get_table" if told.contains("orders") => field(12, 0, &table),
                        "get_table" => {
                            field(12, 2, &[field(STRING, 1, &said("no table")), vec![0]].concat())
                        }
                        "drop_table" if told.contains("orders") => Vec::new(),
                        "drop_table" => {
                            field(12, 1, &[field(STRING, 1, &said("no table")), vec![0]].concat())
                        }
                        "drop_partition_by_name" => field(FLAG, 0, &[1]),
                        _ if told.contains("Text(\"1\")") => field(
                            LIST,
                            0,
                            &[vec![STRING, 0, 0, 0, 1], said("day=1/hour=2")].concat(),
                        ),
                        _ => field(LIST, 0, &[STRING, 0, 0, 0, 0]),
                    };
                    let mut out = (VERSION | REPLY).to_be_bytes().to_vec();
                    text(&mut out, &method);
                    out.extend(number.to_be_bytes());
                    out.extend(reply);
                    out.push(0);
                    stream.write_all(&out).expect("somebody listens");
                }
            }
        });
        (address, asked)
    }

    fn asker(address: &str) -> Metastore {
        let url = ClusterUrl::parse(&format!("thrift://{address}")).expect("a URL");
        let mut metastore = Metastore::new("hcat://meta:9083", url);
        metastore.set_user("joe");
        metastore.set_patience(Duration::from_secs(5));
        metastore
    }

    #[test]
    fn partitions_and_tables_are_asked_for() {
        let (address, asked) = metastore();
        let metastore = asker(&address);
        let there = |path: &str| {
            let found = metastore.status(&FileUri::parse(&format!("hcat://meta:9083{path}")));
            found.map(|found| found.is_some()).map_err(|error| error.to_string())
        };
        assert_eq!(there("/sales/orders/day=1;hour=2"), Ok(true));
        assert_eq!(there("/sales/orders/HOUR=2;day=1"), Ok(true));
        assert_eq!(there("/sales/orders/day=1"), Ok(true));
        assert_eq!(there("/sales/orders/day=2"), Ok(false));
        assert_eq!(there("/sales/orders"), Ok(true));
        assert_eq!(there("/sales/none/day=1"), Ok(false));
        assert_eq!(there("/"), Ok(true));
        // Paths as of folders in a warehouse.
        assert_eq!(there("/sales.db/orders/day=1/hour=2"), Ok(false));
        assert_eq!(there("/orders/day=1"), Ok(false));
        let why = there("/sales/orders/year=1").expect_err("no such key");
        assert!(why.contains("has no partition key `year` in the table sales.orders"), "{why}");
        let why = there("/sales/orders/day").expect_err("no partition");
        assert!(why.contains("`day`, which is not a partition"), "{why}");
        let why = there("/sales/broken").expect_err("an exception");
        assert!(why.contains("refuses get_table: the database is down"), "{why}");
        let asked = asked.lock().expect("nobody panics");
        assert!(asked[0].starts_with("set_ugi ") && asked[0].contains("joe"), "{asked:?}");
        assert!(asked[2].contains(r#"List([Text("1"), Text("2")])"#), "{asked:?}");
        assert!(asked[5].contains(r#"List([Text("1"), Text("2")])"#), "{asked:?}");
        assert!(asked[8].contains(r#"List([Text("1"), Text("")])"#), "{asked:?}");
    }

    #[test]
    fn partitions_and_tables_are_dropped() {
        let (address, asked) = metastore();
        let metastore = asker(&address);
        let dropped = |path: &str| {
            let done = metastore.delete(&FileUri::parse(&format!("hcat://meta:9083{path}")));
            done.map_err(|error| error.to_string())
        };
        assert_eq!(dropped("/sales/orders/day=1"), Ok(true));
        assert_eq!(dropped("/sales/orders/day=2;hour=3"), Ok(false));
        assert_eq!(dropped("/sales/orders"), Ok(true));
        assert_eq!(dropped("/sales/none"), Ok(false));
        assert_eq!(dropped("/sales/none/day=1"), Ok(false));
        assert_eq!(dropped("/sales.db/orders/day=1"), Ok(false), "that is a folder");
        let why = dropped("/sales/orders/year=1").expect_err("no such key");
        assert!(why.contains("has no partition key `year`"), "{why}");
        let why = dropped("/sales/broken/day=1").expect_err("an exception");
        assert!(why.contains("refuses get_table: the database is down"), "{why}");
        let asked = asked.lock().expect("nobody panics");
        let drops: Vec<&String> = asked.iter().filter(|it| it.starts_with("drop_")).collect();
        assert!(
            drops[0].starts_with("drop_partition_by_name ") && drops[0].contains("day=1/hour=2")
        );
        assert!(drops[1].starts_with("drop_table ") && drops[2].contains("none"), "{drops:?}");
        assert_eq!(drops.len(), 3);
    }

    #[test]
    fn odd_answers_are_faults() {
        let read = |bytes: &[u8]| {
            let answer = answer(&mut Reader { stream: bytes.take(LONGEST) });
            answer.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(read(b"HTTP/1.1 400"), "it speaks another protocol");
        let head = [&(VERSION | REPLY).to_be_bytes()[..], &[0; 8]].concat();
        let long = [&head[..], &[LIST, 0, 0, STRING, 0x7f, 0xff, 0xff, 0xff]].concat();
        assert_eq!(read(&long), "an answer that is too long");
        let deep = [&head[..], &[12, 0, 0].repeat(40)].concat();
        assert_eq!(read(&deep), "an answer that is too deep");
        let short = [&head[..], &[STRING, 0, 0, 0, 0, 1, 0, b'x']].concat();
        assert!(!read(&short).is_empty());
        let url = ClusterUrl::parse("thrift://127.0.0.1:1").expect("a URL");
        let metastore = Metastore::new("hcat://meta:9083", url);
        let uri = FileUri::parse("hcat://meta:9083/a/b");
        let why = metastore.status(&uri).expect_err("nobody listens").to_string();
        assert!(
            why.contains(
                "the metastore that `[hosts]` names for hcat://meta:9083, does not answer"
            ),
            "{why}"
        );
        assert!(metastore.delete(&uri).is_err() && metastore.read(&uri, 1).is_err());
    }
}
