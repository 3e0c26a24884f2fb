//! What the keys of a keyspace are, between what people write and the bytes in the store.
//!
//! A store knows byte strings alone. So that integers which were imported are shown and found as such, their type is kept in the
//! keyspace `ogive`: its keys are the names of keyspaces, its values the types of their keys.

use crate::failure::{Failure, Result};
use crate::key;
use ogive::block::Slice;
use ogive::lsm::{Db, Keyspace};
use ogive::table::KeyType;
use serde_json::Value;
use std::borrow::Cow;
use std::ffi::OsStr;

/// The keyspace that holds the types of keys.
const TYPES: &str = "ogive";

/// The keyspace that every store has.
const DEFAULT: &str = "default";

const OTHER_KEYSPACE: &str = "put other keys into another keyspace, with --keyspace";

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

    /// Bytes taken for what somebody knows of them who need not be right about each.
    pub(super) fn or(self, key_type: Option<KeyType>) -> Self {
        if self.0 == KeyType::Bytes { Self(key_type.unwrap_or(self.0)) } else { self }
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
        (None, Some(asked)) => {
            check_fit(keyspace, asked, "leave out --keys; text and bytes are what every key is")?;
            Ok(Keys(asked))
        }
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
        (Some(known), Some(asked)) if known != asked && !is_empty(keyspace)? => {
            let message = format!("the keys of the keyspace {:?} are {known}, not {asked}", keyspace.name());
            Err(Failure::refused(message, OTHER_KEYSPACE))
        }
        // What an import that failed has settled, or what was removed since, binds nobody.
        (Some(known), Some(asked)) if known != asked => {
            db.keyspace(TYPES)?.insert(keyspace.name(), asked.to_string())?;
            Ok(Keys(asked))
        }
        (None, Some(asked)) if asked != KeyType::Bytes => {
            check_fit(keyspace, asked, OTHER_KEYSPACE)?;
            // Whoever put keys there without a type may have meant them as bytes: only this command takes them for numbers then.
            if is_empty(keyspace)? {
                db.keyspace(TYPES)?.insert(keyspace.name(), asked.to_string())?;
            }
            Ok(Keys(asked))
        }
        (known, _) => Ok(Keys(known.unwrap_or(KeyType::Bytes))),
    }
}

/// Refuses the name of the keyspace that this command keeps for itself.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name != TYPES {
        return Ok(());
    }
    let message = format!("the keyspace {name:?} is the command's own: it holds the types of keys");
    Err(Failure::refused(message, "take another name"))
}

/// The keyspaces that people name.
pub(super) fn named(db: &Db) -> Vec<String> {
    db.keyspaces().into_iter().filter(|name| name != TYPES).collect()
}

/// Finds the types of keys again after a repair that has lost the names of keyspaces: in the one that holds nothing but types. Those of the
/// default keyspace stand under its name; another's type is taken to be its own where it is the only one that its keys fit. Gives the
/// keyspaces whose type is not known.
pub(super) fn recover(db: &Db) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in db.keyspaces().into_iter().filter(|name| name != DEFAULT) {
        if let Some(types) = types_in(&db.keyspace(&name)?)? {
            found.push((name, types));
        }
    }
    let Ok([(lost_name, types)]) = <[_; 1]>::try_from(found) else { return Ok(Vec::new()) };
    let (of_default, others): (Vec<_>, Vec<_>) = types.into_iter().partition(|(name, _)| name == DEFAULT);
    let kept = db.keyspace(TYPES)?;
    of_default.iter().try_for_each(|(name, key_type)| kept.insert(name, key_type.to_string()))?;
    let mut unknown = Vec::new();
    for name in named(db).into_iter().filter(|name| *name != DEFAULT && *name != lost_name) {
        let keyspace = db.keyspace(&name)?;
        let mut fitting = Vec::new();
        for (_, key_type) in &others {
            if misfit(&keyspace, *key_type)?.is_none() && !fitting.contains(key_type) {
                fitting.push(*key_type);
            }
        }
        match fitting[..] {
            [] => {}
            [only] => kept.insert(&name, only.to_string())?,
            _ => unknown.push(name),
        }
    }
    db.drop_keyspace(&lost_name)?;
    Ok(unknown)
}

/// The records of a keyspace, if each of them tells a type of keys.
fn types_in(keyspace: &Keyspace) -> Result<Option<Vec<(String, KeyType)>>> {
    let mut types = Vec::new();
    for record in keyspace.iter() {
        let (name, key_type) = record?;
        let name = std::str::from_utf8(&name).ok().map(str::to_owned);
        let key_type = std::str::from_utf8(&key_type).ok().and_then(|key_type| key_type.parse().ok());
        let Some(found) = name.zip(key_type) else { return Ok(None) };
        types.push(found);
    }
    Ok((!types.is_empty()).then_some(types))
}

fn is_empty(keyspace: &Keyspace) -> Result<bool> {
    Ok(keyspace.iter().next().transpose()?.is_none())
}

/// The first or last key of a keyspace, if it is none of a type.
fn misfit(keyspace: &Keyspace, key_type: KeyType) -> Result<Option<Slice>> {
    let Some(width) = key_type.width() else { return Ok(None) };
    let ends = [keyspace.iter().next().transpose()?, keyspace.iter().next_back().transpose()?];
    Ok(ends.into_iter().flatten().map(|(key, _)| key).find(|key| key.len() != width))
}

/// Refuses keys of a type that those of a keyspace are not.
fn check_fit(keyspace: &Keyspace, asked: KeyType, hint: &'static str) -> Result<()> {
    if misfit(keyspace, asked)?.is_none() {
        return Ok(());
    }
    Err(Failure::refused(format!("the keyspace {:?} has keys that are no {asked}", keyspace.name()), hint))
}

fn remembered(db: &Db, keyspace: &Keyspace) -> Result<Option<KeyType>> {
    if !db.keyspaces().iter().any(|name| name == TYPES) {
        return Ok(None);
    }
    let known = db.keyspace(TYPES)?.get(keyspace.name())?;
    Ok(known.and_then(|known| std::str::from_utf8(&known).ok()?.parse().ok()))
}
