//! A compact representation of fields that most rows leave empty.
//!
//! A run of a hundred thousand nodes has as many rows, and few of them failed, captured output or were retried. Such
//! fields are kept together in a separate allocation, which is made when one of them is first set.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type whose values are mostly its default.
pub trait Seldom: Default + PartialEq + 'static {
    /// The value that is read while none is set.
    const NOTHING: &'static Self;
}

/// A value that occupies one pointer until it is changed. Serialized as the value itself.
#[derive(Clone)]
pub struct Rare<T>(Option<Box<T>>);

impl<T> Rare<T> {
    /// Resets the value and frees its memory.
    #[inline]
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<T> Default for Rare<T> {
    fn default() -> Rare<T> {
        Rare(None)
    }
}

impl<T: Seldom> From<T> for Rare<T> {
    fn from(value: T) -> Rare<T> {
        Rare((value != *T::NOTHING).then(|| Box::new(value)))
    }
}

impl<T: Seldom> Deref for Rare<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::NOTHING)
    }
}

impl<T: Seldom> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: Seldom + fmt::Debug> fmt::Debug for Rare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Seldom> PartialEq for Rare<T> {
    fn eq(&self, other: &Rare<T>) -> bool {
        **self == **other
    }
}

impl<T: Seldom + Eq> Eq for Rare<T> {}

impl<T: Seldom + Serialize> Serialize for Rare<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Seldom + Deserialize<'de>> Deserialize<'de> for Rare<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rare<T>, D::Error> {
        T::deserialize(deserializer).map(Rare::from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ActionError, Change, Effect, Row};
    use super::*;

    #[test]
    fn it_is_stored_as_what_it_holds() {
        let some = ActionError { code: Some("E0729".to_owned()), message: None };
        for value in [ActionError::default(), some] {
            let bytes = postcard::to_stdvec(&value).unwrap();
            let rare = Rare::from(value.clone());
            assert_eq!(postcard::to_stdvec(&rare).unwrap(), bytes);
            assert_eq!(*postcard::from_bytes::<Rare<ActionError>>(&bytes).unwrap(), value);
        }
        let mut rare = Rare::<ActionError>::default();
        assert_eq!(rare.code, None);
        rare.code = Some("E0729".to_owned());
        assert_eq!(rare.code.as_deref(), Some("E0729"));
        rare.clear();
        assert_eq!(rare, Rare::default());
    }

    #[test]
    fn what_there_is_much_of_is_small() {
        assert!(size_of::<Row>() <= 248, "a row has {} bytes", size_of::<Row>());
        assert!(size_of::<Change>() <= 16, "a change has {} bytes", size_of::<Change>());
        assert!(size_of::<Effect>() <= 24, "an effect has {} bytes", size_of::<Effect>());
    }
}
