//! Keytabs: the keys of a service, as `kadmin ktadd` writes them (version 0x502 of MIT's format).

/// Keys of principals.
pub struct Keytab {
    pub(crate) keys: Vec<Key>,
}

/// A key of a principal.
pub(crate) struct Key {
    /// The principal in text form: `HTTP/host@REALM`.
    pub(crate) principal: String,
    /// The key version number: a newer key has a higher one.
    pub(crate) version: u32,
    /// The encryption type.
    pub(crate) kind: u16,
    pub(crate) value: Vec<u8>,
}

impl std::fmt::Debug for Keytab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.keys.iter().map(|key| &key.principal);
        f.debug_list().entries(names).finish()
    }
}

/// The remaining bytes of an entry.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn long(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.short()?;
        self.take(usize::from(length))
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.counted()?).ok()
    }

    fn key(&mut self) -> Option<Key> {
        let components = self.short()?;
        let realm = self.text()?;
        let names: Option<Vec<&str>> = (0..components).map(|_| self.text()).collect();
        let principal = format!("{}@{realm}", names?.join("/"));
        let (_kind_of_name, _made) = (self.long()?, self.long()?);
        let short_version = self.take(1)?.first().copied()?;
        let kind = self.short()?;
        let value = self.counted()?.to_vec();
        // Version numbers that do not fit into a byte follow the key.
        let version = self.long().filter(|version| *version != 0);
        Some(Key { principal, version: version.unwrap_or(u32::from(short_version)), kind, value })
    }
}

impl Keytab {
    /// Parses a keytab.
    ///
    /// # Errors
    /// If it is not a keytab, is truncated, or has no key.
    pub fn read(bytes: &[u8]) -> Result<Keytab, String> {
        let broken = || "the keytab is cut off or damaged".to_owned();
        let Some(entries) = bytes.strip_prefix(&[5, 2]) else {
            return Err("it is not a keytab of version 0x502".to_owned());
        };
        let mut rest = Rest(entries);
        let mut keys = Vec::new();
        while !rest.0.is_empty() {
            let size = rest.long().ok_or_else(broken)?.cast_signed();
            let length = usize::try_from(size.unsigned_abs()).map_err(|_| broken())?;
            let entry = rest.take(length).ok_or_else(broken)?;
            // A deleted entry leaves a hole.
            if size > 0 {
                keys.push(Rest(entry).key().ok_or_else(broken)?);
            }
        }
        match keys.is_empty() {
            true => Err("the keytab has no key".to_owned()),
            false => Ok(Keytab { keys }),
        }
    }

    /// Restricts it to the keys of one principal.
    ///
    /// # Errors
    /// If there are none.
    pub fn of(self, principal: &str) -> Result<Keytab, String> {
        self.only(principal, |key| key.principal == principal)
    }

    /// Restricts it to the keys of a service, such as `HTTP`, on any host.
    ///
    /// # Errors
    /// If there are none.
    pub fn of_service(self, service: &str) -> Result<Keytab, String> {
        let is_of = |key: &Key| key.principal.split('/').next() == Some(service);
        self.only(&format!("{service}/…"), is_of)
    }

    fn only(mut self, what: &str, is_of: impl Fn(&Key) -> bool) -> Result<Keytab, String> {
        let mut has: Vec<String> = self.keys.iter().map(|key| key.principal.clone()).collect();
        has.dedup();
        self.keys.retain(is_of);
        match self.keys.is_empty() {
            true => Err(format!("the keytab has no key of {what}, but of {}", has.join(", "))),
            false => Ok(self),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns an entry for a service, as `ktadd` writes it.
    pub(crate) fn entry(
        names: &[&str],
        realm: &str,
        version: u32,
        kind: u16,
        key: &[u8],
    ) -> Vec<u8> {
        let counted = |bytes: &[u8]| {
            let length = u16::try_from(bytes.len()).expect("short");
            [&length.to_be_bytes(), bytes].concat()
        };
        let count = u16::try_from(names.len()).expect("few");
        let mut entry = count.to_be_bytes().to_vec();
        entry.extend(counted(realm.as_bytes()));
        names.iter().for_each(|name| entry.extend(counted(name.as_bytes())));
        entry.extend([0, 0, 0, 1, 0, 0, 0, 0]);
        entry.push(version.to_be_bytes()[3]);
        entry.extend(kind.to_be_bytes());
        entry.extend(counted(key));
        entry.extend(version.to_be_bytes());
        let size = u32::try_from(entry.len()).expect("short");
        [&size.to_be_bytes(), entry.as_slice()].concat()
    }

    #[test]
    fn keys_are_read_and_holes_are_passed_over() {
        let hole = [&(-3_i32).to_be_bytes()[..], &[1, 2, 3]].concat();
        let one = entry(&["HTTP", "here"], "TEST", 300, 18, &[7; 32]);
        let file = [&[5, 2][..], &hole, &one].concat();
        let keytab = Keytab::read(&file).expect("a keytab");
        let key = &keytab.keys[0];
        assert_eq!((key.principal.as_str(), key.version, key.kind), ("HTTP/here@TEST", 300, 18));
        assert_eq!(format!("{keytab:?}"), "[\"HTTP/here@TEST\"]");
        let keytab = keytab.of_service("HTTP").expect("it has");
        let other = keytab.of("HTTP/there@TEST").expect_err("it has none");
        assert!(other.contains("HTTP/here@TEST"), "{other}");
        for length in 0..file.len() {
            assert!(Keytab::read(&file[..length]).is_err(), "cut off at {length}");
        }
        assert!(Keytab::read(&[5, 1, 0]).is_err());
    }
}
