//! The types of the keys and values of a keyspace.

use crate::block::varint::{put_varint, take_varint};
use crate::error::Result;
use crate::types::{KeyType, ValueType};
use std::fmt;

/// The types of the keys and values of a keyspace, stated in its store; by default bytes.
///
/// ```
/// use ogive::lsm::{Db, DbOptions, KeyspaceTypes};
/// use ogive::types::KeyType;
///
/// # let folder = tempfile::tempdir()?;
/// let db = Db::open(folder.path(), &DbOptions::default())?;
/// let types = KeyspaceTypes::new(KeyType::U64, "{name: text, price: decimal(8,2)?}".parse()?);
/// let orders = db.keyspace_of("orders", &types)?;
/// assert_eq!(orders.types().to_string(), "u64 -> {name: text, price: decimal(8,2)?}");
/// assert!(db.keyspace_of("orders", &KeyspaceTypes::new(KeyType::Text, KeyType::Bytes.into())).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeyspaceTypes {
    /// Type of the keys.
    pub keys: KeyType,
    /// Type of the values.
    pub values: ValueType,
}

impl KeyspaceTypes {
    /// Keys and values of these types.
    #[must_use]
    pub fn new(keys: KeyType, values: ValueType) -> Self {
        Self { keys, values }
    }

    /// Whether keys and values are bytes.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        self.keys == KeyType::Bytes && self.values.is_bytes()
    }

    /// Whether a keyspace of the types `older`, with records, can be one of these types from now on.
    pub(super) fn extends(&self, older: &Self) -> bool {
        self.keys == older.keys && self.values.extends(&older.values)
    }

    /// Rejects types with parameters out of bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument).
    pub(super) fn check(&self) -> Result<()> {
        self.keys.check()?;
        self.values.check()
    }

    /// The code in the manifest: the codes of the key type, after their number, and that of the value type.
    pub(super) fn code(&self) -> Vec<u8> {
        let mut code = Vec::new();
        let keys = self.keys.codes();
        put_varint(&mut code, keys.len() as u64);
        keys.into_iter().for_each(|part| put_varint(&mut code, part));
        code.extend_from_slice(&self.values.code());
        code
    }

    /// The types of a code; `None` for an unknown one.
    pub(super) fn from_code(code: &[u8]) -> Option<Self> {
        let mut at = 0;
        let count = take_varint(code, &mut at)?;
        let end = at;
        let mut taken = 0;
        let keys = KeyType::from_codes(|| {
            taken += 1;
            take_varint(code, &mut at)
        })?;
        (taken == count && at > end).then_some(())?;
        Some(Self { keys, values: ValueType::from_code(&code[at..])? })
    }
}

impl fmt::Display for KeyspaceTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.keys, self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back_to_the_types_and_cuts_to_none() {
        for (keys, values) in [
            ("bytes", "bytes"),
            ("u64", "text"),
            ("(text, date? desc)", "{a: u8, b: text?}"),
            ("decimal(38,2)", "{\"\": f64}"),
        ] {
            let types = KeyspaceTypes::new(keys.parse().unwrap(), values.parse().unwrap());
            let code = types.code();
            assert_eq!(KeyspaceTypes::from_code(&code), Some(types));
            for cut in 0..code.len() {
                assert_eq!(KeyspaceTypes::from_code(&code[..cut]), None, "{keys} {values} {cut}");
            }
            assert_eq!(KeyspaceTypes::from_code(&[&code[..], &[0]].concat()), None);
        }
    }
}
