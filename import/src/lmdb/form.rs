//! The form of the records of a database, by its flags: which bytes a key and a value become.

use crate::failure::{Failure, Result};
use ogive::types::{Component, KeyType, RecordType, TupleType, Value};

/// Flags of a database.
const REVERSE_KEY: u16 = 0x02;
const DUPLICATES: u16 = 0x04;
const INTEGER_KEY: u16 = 0x08;
const INTEGER_DUPLICATES: u16 = 0x20;
const REVERSE_DUPLICATES: u16 = 0x40;

/// The type of keys, or of values that have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Bytes,
    /// An integer of the machine, of this many bytes.
    Integer(usize),
}

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    key: Part,
    /// The type of the values of a database with several of them for a key.
    duplicate: Option<Part>,
}

impl Form {
    /// The form of the records of a database, with its first one.
    ///
    /// # Errors
    /// [`Failure::Refused`] for an order that a store does not have.
    pub(super) fn of(name: &str, flags: u16, first: Option<(&[u8], &[u8])>) -> Result<Self> {
        if flags & (REVERSE_KEY | REVERSE_DUPLICATES) != 0 {
            return Err(foreign_order(name, "from their last byte"));
        }
        let part = |flag: u16, bytes: Option<usize>| match (flags & flag != 0, bytes) {
            (false, _) => Ok(Part::Bytes),
            (true, None) => Ok(Part::Integer(8)),
            (true, Some(width)) if width == 4 || width == 8 => Ok(Part::Integer(width)),
            (true, Some(width)) => Err(Failure::refused(
                format!("the database {name:?} has integers of {width} bytes"),
                format!("leave it out with --skip {name}"),
            )),
        };
        let key = part(INTEGER_KEY, first.map(|(key, _)| key.len()))?;
        let duplicate = match flags & DUPLICATES {
            0 => None,
            _ => Some(part(INTEGER_DUPLICATES, first.map(|(_, value)| value.len()))?),
        };
        Ok(Self { key, duplicate })
    }

    /// The types of the records. Several values of a key are those of a multimap: keys alone, each a key and a value.
    pub(super) fn types(self) -> Result<RecordType> {
        let Some(duplicate) = self.duplicate else { return Ok(RecordType::new(self.key.key_type(), KeyType::Bytes)) };
        let components = [self.key, duplicate].map(|part| Component::new(part.key_type()));
        Ok(RecordType::new(KeyType::Tuple(TupleType::new(&components)?), KeyType::Bytes).keys_only())
    }

    /// What a user of LMDB may not expect.
    pub(super) fn remarks(self) -> Vec<String> {
        let of_keys = matches!(self.key, Part::Integer(_)).then(|| "keys are integers, stored big-endian".to_owned());
        let of_values = self.duplicate.map(|_| {
            "it has several values for a key: a multimap, whose records are pairs of key and value".to_owned()
        });
        of_keys.into_iter().chain(of_values).collect()
    }

    /// The key and the value of a record in the store; `None` for an integer of another width.
    pub(super) fn record<'a>(
        self,
        types: &RecordType,
        key: &[u8],
        value: &'a [u8],
    ) -> Option<Result<(Vec<u8>, &'a [u8])>> {
        let Some(duplicate) = self.duplicate else { return Some(Ok((self.key.stored(key)?, value))) };
        let tuple = Value::Tuple(vec![self.key.value(key)?, duplicate.value(value)?]);
        Some(types.keys.encode(&tuple).map(|key| (key, &[][..])).map_err(Failure::from))
    }

    /// The key of a record in the order of its database.
    pub(super) fn ordered(self, key: &[u8]) -> Vec<u8> {
        self.key.stored(key).unwrap_or_default()
    }
}

/// The failure on a database with an order of its own.
pub(super) fn foreign_order(name: &str, order: &str) -> Failure {
    Failure::refused(
        format!("the database {name:?} compares its keys or values {order}"),
        format!("a store compares keys as bytes from the first one; leave it out with --skip {name}"),
    )
}

impl Part {
    fn key_type(self) -> KeyType {
        match self {
            Self::Bytes => KeyType::Bytes,
            Self::Integer(4) => KeyType::U32,
            Self::Integer(_) => KeyType::U64,
        }
    }

    /// The bytes of a key in the store.
    fn stored(self, key: &[u8]) -> Option<Vec<u8>> {
        let mut key = key.to_vec();
        match self {
            Self::Integer(width) if width != key.len() => return None,
            Self::Integer(_) if cfg!(target_endian = "little") => key.reverse(),
            _ => {}
        }
        Some(key)
    }

    fn value(self, bytes: &[u8]) -> Option<Value> {
        let stored = self.stored(bytes)?;
        Some(match self {
            Self::Bytes => Value::Bytes(stored),
            Self::Integer(_) => Value::Unsigned(stored.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_become_big_endian_and_other_orders_are_refused() {
        let form = Form::of("a", INTEGER_KEY, Some((&7_u32.to_ne_bytes(), b""))).unwrap();
        let types = form.types().unwrap();
        assert_eq!(types.keys, KeyType::U32);
        assert_eq!(form.record(&types, &7_u32.to_ne_bytes(), b"v").unwrap().unwrap(), (vec![0, 0, 0, 7], &b"v"[..]));
        assert!(form.record(&types, &7_u64.to_ne_bytes(), b"v").is_none());
        let form = Form::of("a", DUPLICATES | INTEGER_DUPLICATES, Some((b"k", &1_u64.to_ne_bytes()))).unwrap();
        assert_eq!(form.types().unwrap().keys.to_string(), "(bytes, u64)");
        assert!(form.types().unwrap().is_keys_only());
        for flags in [REVERSE_KEY, DUPLICATES | REVERSE_DUPLICATES] {
            assert!(Form::of("a", flags, None).is_err());
        }
        assert!(Form::of("a", INTEGER_KEY, Some((b"abc", b""))).is_err());
    }
}
