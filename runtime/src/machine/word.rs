//! Short texts that need no memory of their own.
//!
//! Most of what a row holds is a status, a dash or the name of a node, and a run of many nodes has a dozen of them in
//! each; up to 22 bytes stay where they are.

use std::fmt;
use std::ops::Deref;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that need no memory of their own.
const SHORT: usize = 22;

/// A text, mostly a short one.
#[derive(Clone)]
pub struct Word(Kept);

#[derive(Clone)]
enum Kept {
    Here(u8, [u8; SHORT]),
    There(Box<str>),
}

impl Word {
    /// A dash, which stands for many a thing that is not there.
    pub const DASH: Word = {
        let mut bytes = [0; SHORT];
        bytes[0] = b'-';
        Word(Kept::Here(1, bytes))
    };

    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Kept::Here(length, bytes) => {
                let bytes = bytes.get(..usize::from(*length)).unwrap_or_default();
                std::str::from_utf8(bytes).unwrap_or_default()
            }
            Kept::There(text) => text,
        }
    }
}

impl From<&str> for Word {
    #[inline]
    fn from(text: &str) -> Word {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..text.len()) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                Word(Kept::Here(text.len() as u8, bytes))
            }
            None => Word(Kept::There(text.into())),
        }
    }
}

impl From<String> for Word {
    fn from(text: String) -> Word {
        if text.len() > SHORT { Word(Kept::There(text.into())) } else { text.as_str().into() }
    }
}

impl From<&String> for Word {
    fn from(text: &String) -> Word {
        text.as_str().into()
    }
}

impl From<Word> for String {
    fn from(word: Word) -> String {
        match word.0 {
            Kept::There(text) => text.into(),
            Kept::Here(..) => word.as_str().to_owned(),
        }
    }
}

impl Default for Word {
    fn default() -> Word {
        Word(Kept::Here(0, [0; SHORT]))
    }
}

impl Deref for Word {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Word) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Word {}

impl PartialEq<str> for Word {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Word {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        struct Read;

        impl Visitor<'_> for Read {
            type Value = Word;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Word, E> {
                Ok(text.into())
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Word, E> {
                Ok(text.into())
            }
        }

        deserializer.deserialize_str(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_come_back() {
        for length in 0..60 {
            let text = "é".repeat(length / 2) + &"x".repeat(length % 2);
            let word = Word::from(text.as_str());
            assert_eq!(word.as_str(), text);
            assert_eq!(Word::from(text.clone()), word);
            let bytes = postcard::to_stdvec(&word).unwrap();
            assert_eq!(bytes, postcard::to_stdvec(&text).unwrap(), "stored as it was");
            assert_eq!(postcard::from_bytes::<Word>(&bytes).unwrap(), word);
            assert_eq!(String::from(word), text);
        }
        assert_eq!(size_of::<Option<Word>>(), 24);
    }
}
