//! Key types of keyspaces, and the conversion of keys between text and bytes.
//!
//! A store states the types of its keyspaces. Stores of earlier versions have them in the keyspace `ogive`, which maps
//! names of keyspaces to key types.

use crate::failure::{Failure, Result};
use crate::reading::bounds::Bounds;
use crate::values::key;
use ogive::block::Slice;
use ogive::lsm::{Db, Keyspace, ManifestSummary};
use ogive::types::RecordType;
use ogive::{Cause, Error, KeyType};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ffi::OsStr;

/// The keyspace that holds the key types.
const TYPES: &str = "ogive";

/// The keyspace that every store has.
const DEFAULT: &str = "default";

const OTHER_KEYSPACE: &str = "use another keyspace for other keys, with --keyspace";

/// The key type of a keyspace, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys(KeyType);

impl Keys {
    /// Keys of which no type is known.
    pub(super) const BYTES: Self = Self(KeyType::Bytes);

    /// Keys of a type.
    pub(super) fn of_type(key_type: KeyType) -> Self {
        Self(key_type)
    }

    /// The bytes of a key given as an argument.
    pub(super) fn parse(self, argument: &OsStr) -> Result<Vec<u8>> {
        key::from_argument(self.0, argument)
    }

    /// The range of keys that begin with an argument.
    pub(super) fn parse_prefix(self, argument: &OsStr) -> Result<Bounds<Vec<u8>>> {
        key::prefix_range(self.0, argument)
    }

    /// The bytes of an optional key argument.
    pub(super) fn parse_some(self, argument: Option<&OsStr>) -> Result<Option<Vec<u8>>> {
        argument.map(|argument| self.parse(argument)).transpose()
    }

    /// The key as text. A key of another type is shown as bytes.
    pub(super) fn shown(self, key: &[u8]) -> Cow<'_, str> {
        key::shown(self.fitting(key), key)
    }

    /// The key in JSON.
    pub(super) fn to_json(self, key: &[u8]) -> Value {
        key::to_json(self.fitting(key), key)
    }

    /// Treats bytes as keys of a type that not every one of them may have.
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

/// The key type of a keyspace: as imported, else as requested, else bytes.
///
/// # Errors
/// [`Failure::Refused`] when the requested type differs from the known one, since no key would be found.
pub(super) fn of(db: &Db, keyspace: &Keyspace, asked: Option<KeyType>) -> Result<Keys> {
    match (remembered(db, keyspace)?, asked) {
        (None, Some(asked)) => {
            check_fit(keyspace, asked, "remove --key-type; every key is valid as text or bytes")?;
            Ok(Keys(asked))
        }
        // Every key is a byte string, so `bytes` requests the stored representation.
        (Some(known), Some(asked)) if !is_same(known, asked) && asked != KeyType::Bytes => Err(Failure::refused(
            format!("the keys of the keyspace {:?} are {known}, not {asked}", keyspace.name()),
            "remove --key-type, or write the bytes of the key as \\xNN with --key-type bytes",
        )),
        (known, asked) => Ok(Keys(asked.or(known).unwrap_or(KeyType::Bytes))),
    }
}

/// The failure of a write. That of a row that a unique index refuses has the keys of the rows.
pub(super) fn refusal(db: &Db, error: Error) -> Failure {
    let (Some(index), Some(other)) = (error.index(), error.other_key()) else { return error.into() };
    let is_there = db.keyspaces().iter().any(|name| name == error.name());
    let keyspace = is_there.then(|| db.keyspace(error.name()).ok()).flatten();
    let keys = keyspace.and_then(|keyspace| of(db, &keyspace, None).ok()).unwrap_or(Keys::BYTES);
    let rows = json!({
        "keyspace": error.name(),
        "index": index,
        "key": error.key().map(|key| keys.to_json(key)),
        "other_key": keys.to_json(other),
    });
    Failure::NotUnique { error, rows }
}

/// The key type of a keyspace that has tables, if the manifest alone states it.
pub(super) fn stated(summary: ManifestSummary<'_>, keyspace: &str) -> Option<KeyType> {
    let is_kept_apart = summary.keyspaces().any(|name| name == TYPES);
    let types = summary.record_type(keyspace).filter(|_| !is_kept_apart && summary.has_tables(keyspace))?;
    Some(types.keys)
}

/// Types of records that are to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brought<'a> {
    pub(super) types: &'a RecordType,
    /// Whether they may replace those of a keyspace without records, since options name them.
    pub(super) restates: bool,
}

/// As [`of`], and the types that writes are to state. Types that were stated stay: other records are refused, even
/// before there is a record, unless options name other types.
///
/// # Errors
/// [`Failure::Refused`] when the keyspace has other types.
pub(super) fn resolve(
    db: &Db,
    keyspace: &Keyspace,
    asked: Option<KeyType>,
    brought: Option<Brought<'_>>,
) -> Result<(Keys, Option<RecordType>)> {
    let known = remembered(db, keyspace)?;
    let found = keyspace.record_type();
    let is_empty = keyspace.is_empty()?;
    let Some(keys) = brought.map(|brought| brought.types.keys).or(asked) else {
        return Ok((Keys(known.unwrap_or(KeyType::Bytes)), None));
    };
    let is_free = keyspace.is_undecided()? || (is_empty && brought.is_none_or(|brought| brought.restates));
    if let Some(known) = known.filter(|known| !is_free && !holds(*known, keys, brought.is_some())) {
        let message = format!("the keys of the keyspace {:?} are {known}, not {keys}", keyspace.name());
        return Err(Failure::refused(message, OTHER_KEYSPACE));
    }
    if let Some(brought) = brought.filter(|brought| !is_free && brought.types.moves_key_columns(&found)) {
        let (named, own) = (brought.types.key_names(), found.key_names());
        let message = format!("the keys of the keyspace {:?} are by {own}, not by {named}", keyspace.name());
        return Err(Failure::refused(message, "give the columns of the keys in that order"));
    }
    let is_alone = brought.is_some_and(|brought| brought.types.is_keys_only());
    if is_alone && !is_free && !found.is_keys_only() {
        let (name, values) = (keyspace.name(), &found.values);
        let message = format!("the rows of the keyspace {name:?} have values of type {values}, which keys alone lack");
        return Err(Failure::refused(message, "use another keyspace for keys alone, with --keyspace"));
    }
    let types = match brought {
        Some(brought) if is_free => brought.types.clone(),
        // The names that the columns of keys got first stay.
        Some(brought) => brought.types.clone().named_as(&found),
        None => with_keys(&found, keys),
    };
    if is_free {
        return Ok((Keys(types.keys), Some(types)));
    }
    if !found.is_bytes() && found.extends(&types) {
        // Fields that the rows do not have are null.
        return Ok((Keys(keys), Some(found.as_ref().clone())));
    }
    if !found.is_bytes() && types.extends(&found) {
        return Ok((Keys(keys), Some(types)));
    }
    if types.values != found.values {
        let (name, values) = (keyspace.name(), &types.values);
        let message = match found.is_keys_only() {
            true => {
                format!("the records of the keyspace {name:?} are keys alone, and these have values of type {values}")
            }
            false => format!("the values of the keyspace {name:?} are {}, not {values}", found.values),
        };
        return Err(Failure::refused(message, "use another keyspace for other values, with --keyspace"));
    }
    // Existing keys without a type may be bytes, so only this command treats them as numbers.
    check_fit(keyspace, keys, OTHER_KEYSPACE)?;
    Ok((Keys(known.unwrap_or(keys)), None))
}

/// Types with keys of another type, whose columns keep their names if there are as many.
fn with_keys(types: &RecordType, keys: KeyType) -> RecordType {
    let count = |keys| match keys {
        KeyType::Tuple(tuple) => tuple.components().len(),
        _ => 1,
    };
    let changed = RecordType { keys, ..types.clone() };
    if count(keys) == count(types.keys) { changed } else { changed.key_columns(Vec::new()) }
}

/// Whether keys of a type may be written among those of a known one. Where the command reads the keys, it reads them as
/// those of the known type.
fn holds(known: KeyType, keys: KeyType, is_written: bool) -> bool {
    is_same(known, keys) && !(is_written && (known, keys) == (KeyType::Text, KeyType::Bytes))
}

/// Whether keys of two types are the same bytes: text is bytes without escapes.
fn is_same(one: KeyType, other: KeyType) -> bool {
    let is_plain = |key_type| matches!(key_type, KeyType::Text | KeyType::Bytes);
    one == other || (is_plain(one) && is_plain(other))
}

/// Refuses the name of the keyspace that is reserved for key types.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name != TYPES {
        return Ok(());
    }
    let message = format!("the keyspace {name:?} is reserved for key types");
    Err(Failure::refused(message, "choose another name"))
}

/// The keyspaces of the user.
pub(super) fn named(db: &Db) -> Vec<String> {
    db.keyspaces().into_iter().filter(|name| name != TYPES).collect()
}

/// Forgets the key type of a keyspace that is gone.
pub(super) fn forget(db: &Db, name: &str) -> Result<()> {
    if db.keyspaces().iter().any(|known| known == TYPES) {
        db.keyspace(TYPES)?.remove(name)?;
    }
    Ok(())
}

/// Recovers key types after a repair that lost the names of keyspaces, from the keyspace that holds only types. The
/// type of the default keyspace is found by its name; another keyspace gets the only type that its keys fit, if there
/// is one. Gives the keyspaces whose type remains unknown.
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

/// The records of a keyspace, if each of them is a key type.
fn types_in(keyspace: &Keyspace) -> Result<Option<Vec<(String, KeyType)>>> {
    let mut types = Vec::new();
    for record in keyspace.iter().pairs() {
        let record = record?;
        let name = std::str::from_utf8(record.key()).ok().map(str::to_owned);
        let key_type = match record.value() {
            // No type is as long.
            Err(Error { cause: Cause::ValueTooLarge { .. }, .. }) => return Ok(None),
            key_type => key_type?,
        };
        let key_type = std::str::from_utf8(&key_type).ok().and_then(|key_type| key_type.parse().ok());
        let Some(found) = name.zip(key_type) else { return Ok(None) };
        types.push(found);
    }
    Ok((!types.is_empty()).then_some(types))
}

/// The first or last key of a keyspace, if it is not of a type.
fn misfit(keyspace: &Keyspace, key_type: KeyType) -> Result<Option<Slice>> {
    // Of the keys alone: a value may be longer than the memory.
    let ends = [keyspace.iter().keys().next().transpose()?, keyspace.iter().keys().next_back().transpose()?];
    Ok(ends.into_iter().flatten().find(|key| key_type.decode(key).is_err()))
}

/// Refuses a type that the keys of a keyspace do not fit.
fn check_fit(keyspace: &Keyspace, asked: KeyType, hint: &'static str) -> Result<()> {
    if misfit(keyspace, asked)?.is_none() {
        return Ok(());
    }
    Err(Failure::refused(format!("the keyspace {:?} has keys that are not {asked}", keyspace.name()), hint))
}

/// The key type of a keyspace, if it is known. Stores of earlier versions keep key types in a keyspace of their own.
fn remembered(db: &Db, keyspace: &Keyspace) -> Result<Option<KeyType>> {
    let stated = keyspace.record_type().keys;
    if stated != KeyType::Bytes {
        return Ok(Some(stated));
    }
    if !db.keyspaces().iter().any(|name| name == TYPES) {
        return Ok(None);
    }
    let known = db.keyspace(TYPES)?.get(keyspace.name())?;
    Ok(known.and_then(|known| std::str::from_utf8(&known).ok()?.parse().ok()))
}
