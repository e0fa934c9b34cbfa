//! A file system in memory, for simulated runs.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{FileStatus, FileUri, Files};
use ankus_lang::uri::normal_parts;

/// Files and folders by URI. The parents of a file exist without being created.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Entries by origin and normalized path; the path has no trailing slash, and the root is empty.
    entries: BTreeMap<(String, String), Entry>,
    now_ms: i64,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The content; none for a folder.
    content: Option<Vec<u8>>,
    modified_ms: i64,
    mode: u32,
}

impl MemoryFiles {
    /// Sets the modification time for changes from now on.
    pub fn set_now(&self, now_ms: i64) {
        self.state().now_ms = now_ms;
    }

    /// Returns every file, without folders, with its content as text.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let state = self.state();
        let texts = state.entries.iter().filter_map(|((origin, path), entry)| {
            let content = entry.content.as_ref()?;
            Some((format!("{origin}{path}"), String::from_utf8_lossy(content).into_owned()))
        });
        texts.collect()
    }

    /// Returns everything, including the parents of files, with its content, which is none for a folder.
    pub fn entries(&self) -> BTreeMap<FileUri, Option<Vec<u8>>> {
        let state = self.state();
        let named = state.entries.iter().filter(|((_, path), _)| !path.is_empty());
        let uri = |(origin, path): &(String, String)| FileUri::parse(origin).with_path(path);
        named.map(|(key, entry)| (uri(key), entry.content.clone())).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(uri: &FileUri) -> (String, String) {
    let mut path = String::new();
    for part in normal_parts(&uri.path) {
        path.push('/');
        path.push_str(part);
    }
    (uri.origin(), path)
}

impl State {
    /// Returns the keys of everything below a path, without the path itself.
    fn below(&self, key: &(String, String)) -> Vec<(String, String)> {
        let prefix = format!("{}/", key.1);
        let from = (key.0.clone(), prefix.clone());
        let below = self.entries.range(from..);
        below
            .take_while(|((origin, path), _)| *origin == key.0 && path.starts_with(&prefix))
            .map(|(k, _)| k.clone())
            .collect()
    }

    fn add_folders(&mut self, key: &(String, String)) -> io::Result<()> {
        let mut path = key.1.as_str();
        loop {
            if let Some(Entry { content: Some(_), .. }) =
                self.entries.get(&(key.0.clone(), path.to_owned()))
            {
                return Err(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    format!("{path} is a file"),
                ));
            }
            let folder = Entry { content: None, modified_ms: self.now_ms, mode: 0o755 };
            self.entries.entry((key.0.clone(), path.to_owned())).or_insert(folder);
            match path.rfind('/') {
                Some(at) => path = &path[..at],
                None => return Ok(()),
            }
        }
    }

    fn add_parents(&mut self, key: &(String, String)) -> io::Result<()> {
        match key.1.rfind('/') {
            Some(at) => self.add_folders(&(key.0.clone(), key.1[..at].to_owned())),
            None => Ok(()),
        }
    }

    /// Checks that the parent folder exists.
    fn has_parent(&self, key: &(String, String)) -> io::Result<()> {
        let above = key.1.rsplit_once('/').map_or("", |(above, _)| above);
        match self.entries.get(&(key.0.clone(), above.to_owned())) {
            _ if above.is_empty() => Ok(()),
            Some(Entry { content: None, .. }) => Ok(()),
            Some(_) => {
                Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{above} is a file")))
            }
            None => Err(io::Error::new(io::ErrorKind::NotFound, format!("{above} does not exist"))),
        }
    }

    fn entry(&mut self, uri: &FileUri) -> io::Result<&mut Entry> {
        self.entries.get_mut(&key(uri)).ok_or_else(|| absent(uri))
    }
}

fn absent(uri: &FileUri) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("File {uri} does not exist"))
}

impl Files for MemoryFiles {
    fn status(&self, uri: &FileUri) -> io::Result<Option<FileStatus>> {
        let key = key(uri);
        let state = self.state();
        if key.1.is_empty() {
            return Ok(Some(FileStatus {
                directory: true,
                length: 0,
                modified_ms: state.now_ms,
                mode: 0o755,
            }));
        }
        Ok(state.entries.get(&key).map(|entry| FileStatus {
            directory: entry.content.is_none(),
            length: entry.content.as_ref().map_or(0, |content| content.len() as u64),
            modified_ms: entry.modified_ms,
            mode: entry.mode,
        }))
    }

    fn list(&self, uri: &FileUri) -> io::Result<Vec<String>> {
        let key = key(uri);
        let cut = key.1.len() + 1;
        let below = self.state().below(&key);
        Ok(below
            .iter()
            .map(|(_, path)| &path[cut..])
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    fn create_folder(&self, uri: &FileUri) -> io::Result<()> {
        self.state().add_folders(&key(uri))
    }

    fn delete(&self, uri: &FileUri) -> io::Result<bool> {
        let key = key(uri);
        let mut state = self.state();
        for below in state.below(&key) {
            state.entries.remove(&below);
        }
        Ok(state.entries.remove(&key).is_some())
    }

    fn rename(&self, from: &FileUri, to: &FileUri) -> io::Result<()> {
        let (old, new) = (key(from), key(to));
        let mut state = self.state();
        if !state.entries.contains_key(&old) {
            return Err(absent(from));
        }
        if state.entries.contains_key(&new) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{to} is there")));
        }
        if new.1.starts_with(&format!("{}/", old.1)) {
            let why = format!("{to} is inside {from}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        state.has_parent(&new)?;
        let below = state.below(&old);
        let entry = state.entries.remove(&old).ok_or_else(|| absent(from))?;
        state.entries.insert(new.clone(), entry);
        for key in below {
            if let Some(entry) = state.entries.remove(&key) {
                let path = format!("{}{}", new.1, &key.1[old.1.len()..]);
                state.entries.insert((new.0.clone(), path), entry);
            }
        }
        Ok(())
    }

    fn read(&self, uri: &FileUri, limit: u64) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        let entry = state.entry(uri)?;
        let content =
            entry.content.clone().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        if content.len() as u64 > limit {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        Ok(content)
    }

    fn write(&self, uri: &FileUri, content: &[u8]) -> io::Result<()> {
        let key = key(uri);
        let mut state = self.state();
        if matches!(state.entries.get(&key), Some(Entry { content: None, .. })) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        state.add_parents(&key)?;
        let entry =
            Entry { content: Some(content.to_vec()), modified_ms: state.now_ms, mode: 0o644 };
        state.entries.insert(key, entry);
        Ok(())
    }

    fn set_mode(&self, uri: &FileUri, mode: u32) -> io::Result<()> {
        self.state().entry(uri)?.mode = mode;
        Ok(())
    }

    fn set_group(&self, uri: &FileUri, _group: &str) -> io::Result<()> {
        // Groups are not kept in memory; this only checks that the path exists.
        self.state().entry(uri).map(|_| ())
    }
}
