//! What the keys of a keyspace are, between what people write and the bytes in the store.
//!
//! A store knows byte strings alone. So that integers which were imported are shown and found as such, their type is kept in the
//! keyspace `ogive`: its keys are the names of keyspaces, its values the types of their keys.

use crate::failure::{Failure, Result};
use crate::key;
use ogive::lsm::{Db, Keyspace};
use ogive::table::KeyType;
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsStr;

/// The keyspace that holds the types of keys.
const TYPES: &str = "ogive";

/// What the keys of a keyspace are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys(KeyType);

impl Keys {
    /// The bytes of a key given as an argument.
    pub(super) fn parse(self, argument: &OsStr) -> Result<Vec<u8>> {
        key::from_argument(self.0, argument)
    }

    /// The bytes of a key given as an argument, if one was.
    pub(super) fn parse_some(self, argument: Option<&OsStr>) -> Result<Option<Vec<u8>>> {
        argument.map(|argument| self.parse(argument)).transpose()
    }

    /// The key for people. One that is not of the type is shown as bytes.
    pub(super) fn shown(self, key: &[u8]) -> Cow<'_, str> {
        key::shown(self.fitting(key), key)
    }

    /// The key in JSON.
    pub(super) fn to_json(self, key: &[u8]) -> Value {
        key::to_json(self.fitting(key), key)
    }

    /// Their type.
    pub(super) fn key_type(self) -> KeyType {
        self.0
    }

    fn fitting(self, key: &[u8]) -> KeyType {
        if self.0.width().is_some_and(|width| width != key.len()) { KeyType::Bytes } else { self.0 }
    }
}

/// What the keys of a keyspace are: as they were imported, else as was asked for, else bytes.
///
/// # Errors
/// [`Failure::Refused`] where something else was asked for than is known of them: no key would be found.
pub(super) fn of(db: &Db, keyspace: &Keyspace, asked: Option<KeyType>) -> Result<Keys> {
    match (remembered(db, keyspace)?, asked) {
        // Bytes are what every key is: who asks for them means the very ones that the store has.
        (Some(known), Some(asked)) if known != asked && asked != KeyType::Bytes => Err(Failure::refused(
            format!("the keys of the keyspace {:?} are {known}, not {asked}", keyspace.name()),
            "leave out --keys; --keys bytes takes a key byte by byte, as \\xNN",
        )),
        (known, asked) => Ok(Keys(asked.or(known).unwrap_or(KeyType::Bytes))),
    }
}

/// As [`of`], and remembers what was asked for.
///
/// # Errors
/// [`Failure::Refused`] where the keyspace has keys of another type.
pub(super) fn settle(db: &Db, keyspace: &Keyspace, asked: Option<KeyType>) -> Result<Keys> {
    let known = remembered(db, keyspace)?;
    // Text is bytes that need no escapes: nothing is to be remembered of it.
    let asked = asked.map(|asked| if asked == KeyType::Text { KeyType::Bytes } else { asked });
    match (known, asked) {
        (Some(known), Some(asked)) if known != asked => {
            let message = format!("the keys of the keyspace {:?} are {known}, not {asked}", keyspace.name());
            Err(Failure::refused(message, "put other keys into another keyspace, with --keyspace"))
        }
        (None, Some(asked)) if asked != KeyType::Bytes => {
            let ends = [keyspace.iter().next().transpose()?, keyspace.iter().next_back().transpose()?];
            if ends.iter().flatten().any(|(key, _)| asked.width().is_some_and(|width| width != key.len())) {
                let message = format!("the keyspace {:?} has keys that are no {asked}", keyspace.name());
                return Err(Failure::refused(message, "put other keys into another keyspace, with --keyspace"));
            }
            // Whoever put keys there without a type may have meant them as bytes: only this command takes them for numbers then.
            if ends[0].is_none() {
                db.keyspace(TYPES)?.insert(keyspace.name(), asked.to_string())?;
            }
            Ok(Keys(asked))
        }
        (known, _) => Ok(Keys(known.unwrap_or(KeyType::Bytes))),
    }
}

fn remembered(db: &Db, keyspace: &Keyspace) -> Result<Option<KeyType>> {
    if !db.keyspaces().iter().any(|name| name == TYPES) {
        return Ok(None);
    }
    let known = db.keyspace(TYPES)?.get(keyspace.name())?;
    Ok(known.and_then(|known| std::str::from_utf8(&known).ok()?.parse().ok()))
}
