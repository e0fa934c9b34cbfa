//! The `fs` action, and the operations of `<prepare>`.
//!
//! Runs the operations of an evaluated element in order, or returns the [`Fault`] with which the engine ends the
//! action. Operations that succeeded before a fault are not undone. (`reference` of the language, 9.16.)

use std::collections::BTreeMap;
use std::io;

use roxmltree::Node;

use crate::host::files::{FileStatus, FileUri, Files, Kind};
use ankus_lang::coordinator::partition_places;

/// The default for the maximum number of matches of a pattern.
pub const GLOB_LIMIT: usize = 50_000;

/// Returns the maximum number of matches of a pattern that the server allows (`oozie.action.fs.glob.max`).
pub fn glob_limit(server: &BTreeMap<String, String>) -> usize {
    let set = server.get("oozie.action.fs.glob.max").and_then(|most| most.trim().parse().ok());
    set.unwrap_or(GLOB_LIMIT)
}

/// Why an operation failed: the error code and message for the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `FS009`, or the class name of an exception.
    pub code: String,
    /// The message as the action shows it.
    pub message: String,
}

impl Fault {
    /// Creates a fault whose message begins with its code.
    fn own(code: &str, text: impl std::fmt::Display) -> Fault {
        Fault { code: code.to_owned(), message: format!("{code}: {text}") }
    }

    fn of(error: &io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::PermissionDenied => Fault::own("FS014", error),
            io::ErrorKind::NotFound => Fault::own("FileNotFoundException", error),
            // A cluster that is down or does not respond.
            io::ErrorKind::ConnectionRefused => Fault::own("ConnectException", error),
            io::ErrorKind::TimedOut => Fault::own("SocketTimeoutException", error),
            _ => Fault::own("IOException", error),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::of(&error)
    }
}

/// Whether there is an implementation for a scheme: even if all schemes are allowed, an unknown one fails.
fn is_known(scheme: &str) -> bool {
    const KNOWN: [&str; 15] = [
        "hdfs", "file", "webhdfs", "swebhdfs", "hftp", "viewfs", "har", "ftp", "s3", "s3n", "s3a",
        "gs", "abfs", "abfss", "wasb",
    ];
    KNOWN.contains(&scheme)
}

/// Why a file system cannot be used, with the code and message of a server.
pub(crate) struct Unsupported {
    pub(crate) code: &'static str,
    pub(crate) why: String,
}

impl Unsupported {
    /// Returns the message of the server's exception.
    pub(crate) fn message(&self) -> String {
        format!("{}: {}", self.code, self.why)
    }
}

/// Checks that the file system of a URI may be used.
pub(crate) fn supported(schemes: &[String], uri: &FileUri) -> Result<(), Unsupported> {
    let any = schemes.iter().any(|scheme| scheme == "*");
    let scheme = &uri.scheme;
    if !any && !schemes.contains(scheme) {
        let why = format!("Scheme [{scheme}] not supported in uri [{uri}]");
        return Err(Unsupported { code: "E0904", why });
    }
    if any && !is_known(scheme) {
        let why = format!("Exception occurred: [No FileSystem for scheme: {scheme}]");
        return Err(Unsupported { code: "E0902", why });
    }
    Ok(())
}

/// Returns the schemes that a server allows; `*` if it lists none.
pub(crate) fn schemes_of(listed: Option<&str>) -> Vec<String> {
    let listed = listed.unwrap_or("*").split(',');
    listed.map(|scheme| scheme.trim().to_owned()).collect()
}

/// The context in which the operations of an action run.
pub struct Operations<'a> {
    /// The file systems.
    pub files: &'a dyn Files,
    /// The allowed schemes; `*` for all.
    pub schemes: &'a [String],
    /// The evaluated `<name-node>`, if there is one.
    pub name_node: Option<&'a str>,
    /// The user in whose home folder relative paths are resolved, where they are allowed.
    pub user: &'a str,
    /// Maximum number of files that a pattern may match.
    pub glob_limit: usize,
    /// Whether an earlier start of this action was interrupted, so that missing files may have been moved already.
    pub recovery: bool,
}

impl Operations<'_> {
    /// Runs every operation among the children of `element`; other children are skipped.
    pub fn run(&self, element: Node<'_, '_>) -> Result<(), Fault> {
        self.name_node()?;
        for child in element.children().filter(Node::is_element) {
            self.operation(child)?;
        }
        Ok(())
    }

    /// Checks the name node, which happens before any operation.
    pub fn name_node(&self) -> Result<(), Fault> {
        let Some(name_node) = self.name_node else { return Ok(()) };
        self.resolve(name_node, None).map(|_| ())
    }

    fn operation(&self, operation: Node<'_, '_>) -> Result<(), Fault> {
        let attribute = |name: &str| operation.attribute(name).unwrap_or_default().trim();
        let is_in_prepare =
            operation.parent_element().is_some_and(|parent| parent.tag_name().name() == "prepare");
        if is_in_prepare {
            return self.prepare(operation.tag_name().name(), attribute("path"));
        }
        match operation.tag_name().name() {
            "mkdir" => self.make_folder(attribute("path")),
            // Only the literal `false` moves files to the trash, although `0` is a valid Boolean, too.
            "delete" if attribute("skip-trash") == "false" => {
                self.delete(attribute("path"), &|uri| self.files.trash(uri))
            }
            "delete" => self.delete(attribute("path"), &|uri| self.files.delete(uri)),
            "move" => self.move_to(attribute("source"), attribute("target")),
            "touchz" => self.touch(attribute("path")),
            "chmod" => {
                let text = attribute("permissions");
                let path = attribute("path");
                self.each("chmod", path, Reach::of(operation), &mut |uri| {
                    Ok(self.files.set_mode(uri, permissions(text, uri)?)?)
                })
            }
            "chgrp" => {
                let group = attribute("group");
                let path = attribute("path");
                let found = self.each("chgrp", path, Reach::of(operation), &mut |uri| {
                    Ok(self.files.set_group(uri, group)?)
                });
                found.map_err(|fault| match fault.code.as_str() {
                    // The engine runs a shell command for this and shows its message.
                    "IOException" => Fault::own(
                        "Shell$ExitCodeException",
                        fault.message.trim_start_matches("IOException: "),
                    ),
                    _ => fault,
                })
            }
            "setrep" => {
                let uri = self.resolve(attribute("path"), None)?;
                let copies = attribute("replication-factor").parse();
                let is_file =
                    matches!(self.files.status(&uri), Ok(Some(found)) if !found.directory);
                if let Ok(copies) = copies
                    && is_file
                    && let Err(error) = self.files.set_replication(&uri, copies)
                    && error.kind() == io::ErrorKind::Unsupported
                {
                    // The engine ignores errors here, but all file systems that it supports have this operation.
                    return Err(Fault::of(&error));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Runs an operation of `<prepare>` as a launcher does: it resolves relative paths in the user's home folder and
    /// ignores `skip-trash`.
    fn prepare(&self, operation: &str, path: &str) -> Result<(), Fault> {
        let named = FileUri::parse(path);
        let is_relative = named.scheme.is_empty() && !path.starts_with('/') && !path.is_empty();
        let path = if is_relative { self.at_home(&named.path) } else { path.to_owned() };
        match operation {
            "mkdir" => self.make_folder(&path),
            "delete" => self.delete(&path, &|uri| self.files.delete(uri)),
            _ => Ok(()),
        }
    }

    /// Resolves a relative path as an HDFS client does.
    fn at_home(&self, path: &str) -> String {
        FileUri::parse(&format!("/user/{}", self.user)).join(path).path
    }

    /// Returns the full URI of a path, if the engine accepts it.
    fn resolve(&self, path: &str, name_node: Option<&str>) -> Result<FileUri, Fault> {
        if path.is_empty() {
            let text = "Can not create a Path from an empty string";
            return Err(Fault::own("IllegalArgumentException", text));
        }
        let uri = FileUri::parse(path);
        let Some(name_node) = name_node else {
            if uri.scheme.is_empty() {
                return Err(Fault::own("FS001", format_args!("Missing scheme in path [{path}]")));
            }
            self.allowed(&uri)?;
            return Ok(uri);
        };
        let base = FileUri::parse(name_node);
        if !uri.scheme.is_empty() && (!uri.authority.is_empty() || uri.scheme != base.scheme) {
            self.allowed(&uri)?;
            return Ok(uri);
        }
        if !uri.path.starts_with('/') {
            let text = format_args!("Path [{path}] cannot be relative when a name-node is given");
            return Err(Fault::own("FS011", text));
        }
        if base.authority.is_empty() {
            // The engine writes the missing authority into the path as `null`, which no file system accepts.
            let origin = base.origin();
            let text = format_args!("Wrong FS: {origin}//null{}, expected: {origin}///", uri.path);
            return Err(Fault::own("IllegalArgumentException", text));
        }
        Ok(base.with_path(uri.path))
    }

    fn allowed(&self, uri: &FileUri) -> Result<(), Fault> {
        let exception = |why: Unsupported| Fault::own("HadoopAccessorException", why.message());
        supported(self.schemes, uri).map_err(exception)
    }

    fn make_folder(&self, path: &str) -> Result<(), Fault> {
        let uri = self.resolve(path, self.name_node)?;
        // Anything that exists, even a file, counts as the folder.
        if self.files.status(&uri)?.is_some() {
            return Ok(());
        }
        self.files.create_folder(&uri).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Fault::of(&error),
            _ => Fault::own(
                "FS004",
                format_args!("mkdir, path [{}] could not create directory", shown(&uri)),
            ),
        })
    }

    fn delete(
        &self,
        path: &str,
        delete: &dyn Fn(&FileUri) -> io::Result<bool>,
    ) -> Result<(), Fault> {
        let named = FileUri::parse(path);
        if named.scheme == "hcat" {
            return self.drop_named(&named);
        }
        let uri = self.resolve(path, self.name_node)?;
        let found = self.matches("delete", &uri)?;
        for uri in found {
            delete(&uri).map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => Fault::of(&error),
                _ => Fault::own(
                    "FS005",
                    format_args!("delete, path [{}] could not delete path", shown(&uri)),
                ),
            })?;
        }
        Ok(())
    }

    /// Drops the partitions or the table of an HCatalog URI. It is no error if they do not exist.
    fn drop_named(&self, uri: &FileUri) -> Result<(), Fault> {
        let exception = |code: &str, why: &dyn std::fmt::Display| {
            Fault::own("HCatAccessorException", format_args!("{code}: {why}"))
        };
        if !is_of_catalog(uri) {
            let why = format!("`{uri}` is not hcat://HOST:PORT/DATABASE/TABLE/KEY=VALUE;KEY=VALUE");
            return Err(exception("E0906", &why));
        }
        for place in partition_places(&uri.to_string()) {
            let dropped = self.files.delete(&FileUri::parse(&place));
            dropped.map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => Fault::of(&error),
                io::ErrorKind::InvalidInput => exception("E0906", &error),
                io::ErrorKind::ConnectionRefused | io::ErrorKind::TimedOut => {
                    exception("E1501", &error)
                }
                _ => exception("E0902", &error),
            })?;
        }
        Ok(())
    }

    fn matches(&self, operation: &str, pattern: &FileUri) -> Result<Vec<FileUri>, Fault> {
        let most = self.glob_limit;
        let found = self.files.glob(pattern, most)?;
        if found.len() > most {
            let shown = shown(pattern);
            let text = format!(
                "{operation}, too many globbed files/dirs at path [{shown}], more than {most}"
            );
            return Err(Fault::own("FS013", text));
        }
        Ok(found)
    }

    fn move_to(&self, source: &str, target: &str) -> Result<(), Fault> {
        let from = self.resolve(source, self.name_node)?;
        if target.is_empty() {
            return Err(Fault::own(
                "IllegalArgumentException",
                "Can not create a Path from an empty string",
            ));
        }
        let mut to = FileUri::parse(target);
        let (scheme, authority) = (&from.scheme, &from.authority);
        if to.scheme.is_empty() && to.authority.is_empty() {
            let is_relative = !to.path.starts_with('/');
            to = from.with_path(if is_relative { self.at_home(&to.path) } else { to.path });
        } else if to.scheme != *scheme || to.authority != *authority {
            let text = format!(
                "move, target NN URI different from that of source, source [{source}] target [{target}]"
            );
            return Err(Fault::own("FS007", text));
        }

        let found = self.matches("move", &from)?;
        if found.is_empty() {
            // The server assumes that it was moved even if the target does not exist, which would make the outcome of a
            // job depend on when it crashed.
            if self.recovery && self.files.status(&to)?.is_some() {
                return Ok(());
            }
            let text = format_args!("move, source path [{}] does not exist", shown(&from));
            return Err(Fault::own("FS006", text));
        }
        let status = self.files.status(&to)?;
        let into_folder = status.as_ref().is_some_and(|status| status.directory);
        if found.len() > 1 && !into_folder {
            let message =
                "move, could not rename multiple sources to the same target name".to_owned();
            return Err(Fault { code: "FS012".to_owned(), message });
        }
        // A folder that exists may be the incomplete result of an earlier start.
        let is_cut_short = self.recovery && status.is_some() && !self.files.renames_at_once(&from);
        for uri in found {
            if is_cut_short {
                let text = format!(
                    "move, was cut short from [{}] to [{}]: its store copies and then deletes, so check both",
                    shown(&uri),
                    shown(&to)
                );
                return Err(Fault::own("FS008", text));
            }
            let to = if into_folder { to.child(uri.name()) } else { to.clone() };
            if let Err(error) = self.make_way(&uri, &to).and_then(|()| self.files.rename(&uri, &to))
            {
                match error.kind() {
                    io::ErrorKind::PermissionDenied => return Err(Fault::of(&error)),
                    io::ErrorKind::Unsupported => return Err(Fault::of(&error)),
                    _ if self.recovery => {}
                    _ => {
                        let text = format!(
                            "move, could not move from [{}] to [{}]",
                            shown(&uri),
                            shown(&to)
                        );
                        return Err(Fault::own("FS008", text));
                    }
                }
            }
        }
        Ok(())
    }

    /// Prepares a rename as Hadoop's local file system does, and HDFS does not: removes an existing file at the target,
    /// and creates the folder of the target.
    fn make_way(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        if from.scheme != "file" || from == to {
            return Ok(());
        }
        match self.files.status(to)? {
            Some(FileStatus { directory: true, .. }) => Ok(()),
            Some(_) => self.files.delete(to).map(drop),
            None => to.parent().map_or(Ok(()), |folder| self.files.create_folder(&folder)),
        }
    }

    fn touch(&self, path: &str) -> Result<(), Fault> {
        let uri = self.resolve(path, self.name_node)?;
        match self.files.status(&uri)? {
            Some(FileStatus { directory: true, .. }) => {
                return Err(Fault::own(
                    "Exception",
                    format_args!("{} is a directory", shown(&uri)),
                ));
            }
            Some(FileStatus { length: 1.., .. }) => {
                return Err(Fault::own(
                    "Exception",
                    format_args!("{} must be a zero-length file", shown(&uri)),
                ));
            }
            _ => {}
        }
        self.files.write(&uri, b"")?;
        Ok(())
    }

    /// Calls `act` for each path that an operation with `dir-files` and `recursive` reaches.
    fn each(
        &self,
        operation: &str,
        path: &str,
        reach: Reach,
        act: &mut dyn FnMut(&FileUri) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let pattern = self.resolve(path, self.name_node)?;
        let found = self.matches(operation, &pattern)?;
        if found.is_empty() {
            let text = format_args!(
                "{operation}, path(s) that matches [{}] does not exist",
                shown(&pattern)
            );
            return Err(Fault::own("FS009", text));
        }
        for top in found {
            let mut open = vec![(top, true)];
            while let Some((uri, is_top)) = open.pop() {
                let kind = self.files.kind(&uri)?;
                // A link within a folder is skipped, as by `chmod -R`; a link as the path itself is refused.
                if kind == Some(Kind::Link) && !is_top {
                    continue;
                }
                // The content comes first, while the folder can still be read.
                if kind == Some(Kind::Folder) && reach.dir_files {
                    for name in self.files.list(&uri)? {
                        let child = uri.child(&name);
                        if reach.recursive {
                            open.push((child, false));
                        } else if self.files.kind(&child)? != Some(Kind::Link) {
                            act(&child)?;
                        }
                    }
                }
                act(&uri)?;
            }
        }
        Ok(())
    }
}

/// How deep into a folder `chmod` and `chgrp` reach.
#[derive(Clone, Copy)]
struct Reach {
    dir_files: bool,
    recursive: bool,
}

impl Reach {
    fn of(operation: Node<'_, '_>) -> Reach {
        let given = operation.attribute("dir-files");
        Reach {
            dir_files: given.is_none_or(|text| text.eq_ignore_ascii_case("true")),
            recursive: operation.children().any(|child| {
                child.has_tag_name("recursive") || child.tag_name().name() == "recursive"
            }),
        }
    }
}

/// Whether a URI names a table, or partitions by key and value. A key without a value is rejected: it would match all
/// values.
fn is_of_catalog(uri: &FileUri) -> bool {
    let parts: Vec<&str> = uri.path.split('/').filter(|part| !part.is_empty()).collect();
    let is_pair = |pair: &str| {
        let halves = pair.split_once('=');
        halves.is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
    };
    let is_name = |name: &str| !matches!(name, "." | "..") && !name.contains('=');
    match parts.as_slice() {
        [database, table] => is_name(database) && is_name(table),
        [database, table, keys] => {
            is_name(database) && is_name(table) && keys.split(';').all(is_pair)
        }
        _ => false,
    }
}

/// Formats a URI for messages: Hadoop shows no empty authority.
fn shown(uri: &FileUri) -> String {
    uri.to_string()
}

/// Parses three octal digits, or ten characters as printed by `ls`. The engine takes any three characters for digits,
/// adds them up as hundreds, tens and ones, and parses the sum as an octal number, which happens to succeed for some.
fn permissions(text: &str, uri: &FileUri) -> Result<u32, Fault> {
    match text.encode_utf16().count() {
        3 => {
            let digits = text.encode_utf16().map(|letter| i32::from(letter) - i32::from(b'0'));
            let sum = digits.fold(0, |sum, digit| sum * 10 + digit).to_string();
            i16::from_str_radix(&sum, 8).map(|mode| mode as u32 & 0o1777).map_err(|_| {
                Fault::own("NumberFormatException", format_args!("For input string: \"{sum}\""))
            })
        }
        10 => {
            let bits = text.chars().skip(1).map(|c| u32::from(!matches!(c, '-' | 'T' | 'S')));
            let mode = bits.fold(0, |mode, bit| (mode << 1) | bit);
            Ok(if text.ends_with(['t', 'T']) { mode | 0o1000 } else { mode })
        }
        _ => {
            let path = shown(uri);
            let text = format_args!("chmod, path [{path}] bad permission mask [{text}]");
            Err(Fault::own("FS010", text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::MemoryFiles;

    /// Runs operations on `/in/f.txt`, `/in/g.txt` (one byte each) and `/in/sub/h.txt`, and compares the resulting
    /// files, or the fault, with those expected.
    #[track_caller]
    fn check(operations: &str, expected: &str) {
        let files = MemoryFiles::default();
        for name in ["/in/f.txt", "/in/g.txt", "/in/sub/h.txt"] {
            files.write(&FileUri::parse(&format!("hdfs://nn{name}")), b"x").expect("a file");
        }
        let text = format!("<fs>{}</fs>", operations.replace('~', "hdfs://nn"));
        let document = roxmltree::Document::parse(&text).expect("well-formed");
        let schemes = ["*".to_owned()];
        let name_node = operations.contains("name-node").then_some("hdfs://nn");
        let run = Operations {
            files: &files,
            schemes: &schemes,
            name_node,
            user: "ann",
            glob_limit: GLOB_LIMIT,
            recovery: false,
        };
        let seen = match run.run(document.root_element()) {
            Ok(()) => files
                .texts()
                .keys()
                .map(|uri| uri.trim_start_matches("hdfs://nn"))
                .collect::<Vec<_>>()
                .join(" "),
            Err(fault) => fault.message,
        };
        assert_eq!(seen, expected);
    }

    #[test]
    fn operations_do_what_the_engine_does() {
        check(
            "<mkdir path='~/o/p'/><touchz path='~/o/x'/><touchz path='~/o/x'/>",
            "/in/f.txt /in/g.txt /in/sub/h.txt /o/x",
        );
        check("<mkdir path='~/in/f.txt'/>", "/in/f.txt /in/g.txt /in/sub/h.txt");
        check("<delete path='~/in/*.txt'/><delete path='~/none'/>", "/in/sub/h.txt");
        check(
            "<setrep path='~/in/f.txt' replication-factor='2'/><setrep path='~/none' replication-factor='-1'/>\
             <delete path='~/in/*.txt' skip-trash='false'/>",
            "/in/sub/h.txt",
        );
        check(
            "<move source='~/in/f.txt' target='~/in/sub'/>",
            "/in/g.txt /in/sub/f.txt /in/sub/h.txt",
        );
        check("<move source='~/in/f.txt' target='/in/z'/>", "/in/g.txt /in/sub/h.txt /in/z");
        check(
            "<chmod path='~/in' permissions='-rwxr-x---'><recursive/></chmod>",
            "/in/f.txt /in/g.txt /in/sub/h.txt",
        );
        check("<name-node>hdfs://nn</name-node><delete path='/in/sub'/>", "/in/f.txt /in/g.txt");
    }

    #[test]
    fn partitions_and_tables_are_dropped_where_their_folders_lie() {
        let left = |path: &str| {
            let files = MemoryFiles::default();
            for name in
                ["/sales/t/day=1;hour=2/a", "/sales/t/day=1/hour=2/b", "/sales.db/t/day=1/c"]
            {
                files
                    .write(&FileUri::parse(&format!("hcat://m:9083{name}")), b"x")
                    .expect("a file");
            }
            let text = format!("<prepare><delete path='hcat://m:9083{path}'/></prepare>");
            let document = roxmltree::Document::parse(&text).expect("well-formed");
            let run = Operations {
                files: &files,
                schemes: &["hdfs".to_owned()],
                name_node: Some("hdfs://nn"),
                user: "ann",
                glob_limit: GLOB_LIMIT,
                recovery: false,
            };
            match run.run(document.root_element()) {
                Ok(()) => {
                    files.texts().keys().map(|uri| uri.replace("hcat://m:9083", "")).collect()
                }
                Err(fault) => vec![fault.message],
            }
        };
        assert_eq!(left("/sales/t/day=1"), ["/sales/t/day=1;hour=2/a"]);
        assert_eq!(left("/sales/t/day=1;hour=2"), ["/sales.db/t/day=1/c"]);
        assert_eq!(left("/sales/t"), [""; 0]);
        assert_eq!(left("/none/t/day=1").len(), 3, "what is not there is no error");
        for path in
            ["/sales", "/sales/t/day", "/sales/t/day=;hour=1", "/sales/../t", "/a/b/day=1/c"]
        {
            assert!(left(path)[0].starts_with("HCatAccessorException: E0906: "), "{path}");
        }
    }

    #[test]
    fn permissions_are_read_as_the_engine_reads_them() {
        let uri = FileUri::parse("hdfs://nn/x");
        for (text, mode) in
            [("755", 0o755), ("abc", 0o1451), ("-rwxr-x--T", 0o1750), ("drwx------", 0o700)]
        {
            assert_eq!(permissions(text, &uri).expect("permissions"), mode, "{text}");
        }
    }

    /// Recorded from a server: `fs-move-existing`, `fs-move-target-noparent`.
    #[test]
    fn the_local_file_system_overwrites_and_makes_folders() {
        for target in ["/x/y/z", "/in/g.txt", "/in/f.txt"] {
            let files = MemoryFiles::default();
            for name in ["f", "g"] {
                let uri = FileUri::parse(&format!("file:///in/{name}.txt"));
                files.write(&uri, name.as_bytes()).expect("a file");
            }
            let run = Operations {
                files: &files,
                schemes: &["*".to_owned()],
                name_node: None,
                user: "ann",
                glob_limit: GLOB_LIMIT,
                recovery: false,
            };
            let seen = run.move_to("file:///in/f.txt", target);
            assert_eq!(seen.is_ok(), target != "/in/f.txt", "{target}");
            let content = files.read(&FileUri::parse(&format!("file://{target}")), 9);
            assert_eq!(content.expect("a file"), b"f", "{target}");
        }
    }

    #[test]
    fn relative_paths_are_those_of_the_users_home_where_they_are_allowed() {
        check(
            "<mkdir path='~/user/ann'/><move source='~/in/f.txt' target='z'/><move source='~/in/g.txt' target='../g'/>",
            "/in/sub/h.txt /user/ann/z /user/g",
        );
        check(
            "<name-node/><mkdir path='x'/>",
            "FS011: Path [x] cannot be relative when a name-node is given",
        );
        let files = MemoryFiles::default();
        for name in ["/user/ann/out/f", "/out/f"] {
            files.write(&FileUri::parse(&format!("hdfs://nn{name}")), b"x").expect("a file");
        }
        let text = "<prepare><delete path='o*'/><mkdir path='new/one'/></prepare>";
        let document = roxmltree::Document::parse(text).expect("well-formed");
        let run = Operations {
            files: &files,
            schemes: &["*".to_owned()],
            name_node: Some("hdfs://nn"),
            user: "ann",
            glob_limit: GLOB_LIMIT,
            recovery: false,
        };
        run.run(document.root_element()).expect("it is done");
        assert_eq!(files.texts().keys().collect::<Vec<_>>(), ["hdfs://nn/out/f"]);
        let made = files.status(&FileUri::parse("hdfs://nn/user/ann/new/one")).expect("a status");
        assert!(made.is_some_and(|made| made.directory));
    }

    #[test]
    fn faults_have_the_codes_of_the_engine() {
        for operation in ["<delete path='~/in/[ab'/>", "<chmod path='~/in/[ab' permissions='700'/>"]
        {
            check(operation, "IOException: Illegal file pattern: `[ab` has a `[` without its `]`");
        }
        check("<mkdir path='/a'/>", "FS001: Missing scheme in path [/a]");
        check(
            "<mkdir path='zzz://h/a'/>",
            "HadoopAccessorException: E0902: Exception occurred: [No FileSystem for scheme: zzz]",
        );
        check(
            "<chmod path='~/none' permissions='700'/>",
            "FS009: chmod, path(s) that matches [hdfs://nn/none] does not exist",
        );
        check(
            "<chmod path='~/in/f.txt' permissions='7'/>",
            "FS010: chmod, path [hdfs://nn/in/f.txt] bad permission mask [7]",
        );
        check(
            "<chmod path='~/none' permissions='7'/>",
            "FS009: chmod, path(s) that matches [hdfs://nn/none] does not exist",
        );
        for (text, sum) in [("789", "789"), ("rwx", "7382")] {
            check(
                &format!("<chmod path='~/in/f.txt' permissions='{text}'/>"),
                &format!("NumberFormatException: For input string: \"{sum}\""),
            );
        }
        check(
            "<move source='~/in/*.txt' target='~/none'/>",
            "move, could not rename multiple sources to the same target name",
        );
        check(
            "<move source='~/none' target='~/x'/>",
            "FS006: move, source path [hdfs://nn/none] does not exist",
        );
        for target in ["/x/y/z", "/in/g.txt"] {
            check(
                &format!("<move source='~/in/f.txt' target='{target}'/>"),
                &format!(
                    "FS008: move, could not move from [hdfs://nn/in/f.txt] to [hdfs://nn{target}]"
                ),
            );
        }
        check("<touchz path='~/in'/>", "Exception: hdfs://nn/in is a directory");
        check(
            "<touchz path='~/in/f.txt'/>",
            "Exception: hdfs://nn/in/f.txt must be a zero-length file",
        );
        check(
            "<name-node>hdfs://nn</name-node><mkdir path='a'/>",
            "FS011: Path [a] cannot be relative when a name-node is given",
        );
    }
}
