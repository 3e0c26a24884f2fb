//! Changes as lines of JSON: the one form that `ogive db changes` prints and `ogive db apply` reads.
//!
//! ```text
//! {"put": {"keyspace": "people", "key": 7, "value": {"name": "ann"}, "expires": "2030-01-31T12:00:00"}}
//! {"remove": {"keyspace": "people", "key": 7}}
//! {"remove_range": {"keyspace": "people", "from": 7, "to": null}}
//! {"drop": {"keyspace": "people"}, "position": "0123456789abcdef-42"}
//! ```
//!
//! The last line of a batch has the position behind it. `apply` takes conditions, too: `expect`, with the members of a
//! put.

use crate::commands::db::keys::Keys;
use crate::commands::db::store::DEFAULT_KEYSPACE;
use crate::values::dates::{utc_text, utc_time};
use crate::values::json_field::{hex_of_json, key_of_json};
use crate::values::{key, value};
use ogive::types::RecordType;
use ogive::{ChangePosition, KeyType};
use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::SystemTime;

/// What the form is, for help and hints.
pub(super) const FORM: &str =
    r#"{"put": ...}, {"remove": ...}, {"remove_range": ...} or {"expect": ...} with "keyspace", "key" and "value""#;

/// A line as it is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeLine {
    put: Option<NamedRecord>,
    remove: Option<NamedKey>,
    remove_range: Option<NamedRange>,
    expect: Option<NamedRecord>,
    drop: Option<Named>,
    #[serde(default, deserialize_with = "position")]
    position: Option<ChangePosition>,
}

/// What a line says.
#[derive(Debug)]
pub(super) enum StatedChange {
    Put(NamedRecord),
    Remove(NamedKey),
    RemoveRange(NamedRange),
    Expect(NamedRecord),
    Drop(Named),
}

/// A record of a keyspace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedRecord {
    #[serde(default = "default_keyspace")]
    pub(super) keyspace: String,
    pub(super) key: Box<RawValue>,
    pub(super) value: Option<Box<RawValue>>,
    /// The time at which the record expires, of a put.
    #[serde(default, deserialize_with = "time")]
    pub(super) expires: Option<SystemTime>,
}

/// A key of a keyspace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedKey {
    #[serde(default = "default_keyspace")]
    pub(super) keyspace: String,
    pub(super) key: Box<RawValue>,
}

/// A range of the keys of a keyspace, from the first one on up to another one; null for no end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedRange {
    #[serde(default = "default_keyspace")]
    pub(super) keyspace: String,
    pub(super) from: Option<Box<RawValue>>,
    pub(super) to: Option<Box<RawValue>>,
}

/// A keyspace, always with its name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) keyspace: String,
}

fn default_keyspace() -> String {
    DEFAULT_KEYSPACE.to_owned()
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SystemTime>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| utc_time(&text).map_err(de::Error::custom)).transpose()
}

fn position<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ChangePosition>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(|error: ogive::Error| de::Error::custom(error.detail()))).transpose()
}

impl ChangeLine {
    /// What the line says, and the position behind its batch, if it is the last one.
    ///
    /// # Errors
    /// A line that says nothing or several things.
    pub(super) fn stated(self) -> Result<(StatedChange, Option<ChangePosition>), &'static str> {
        let position = self.position;
        let stated = [
            self.put.map(StatedChange::Put),
            self.remove.map(StatedChange::Remove),
            self.remove_range.map(StatedChange::RemoveRange),
            self.expect.map(StatedChange::Expect),
            self.drop.map(StatedChange::Drop),
        ];
        let mut stated = stated.into_iter().flatten();
        match (stated.next(), stated.next()) {
            (Some(StatedChange::Expect(NamedRecord { expires: Some(_), .. })), None) => {
                Err("an expected record has no time at which it expires")
            }
            (Some(change), None) => Ok((change, position)),
            _ => Err("a line has one change or condition"),
        }
    }
}

impl StatedChange {
    /// The name of the keyspace that it is about.
    pub(super) fn keyspace(&self) -> &str {
        match self {
            Self::Put(NamedRecord { keyspace, .. })
            | Self::Expect(NamedRecord { keyspace, .. })
            | Self::Remove(NamedKey { keyspace, .. })
            | Self::RemoveRange(NamedRange { keyspace, .. })
            | Self::Drop(Named { keyspace }) => keyspace,
        }
    }
}

/// The end of a range: the bytes of a key, or any bytes in hexadecimal, which may lie between keys.
///
/// # Errors
/// What is wrong with it.
pub(super) fn bound_of_json(key_type: KeyType, written: &RawValue) -> Result<Vec<u8>, String> {
    hex_of_json(written.get()).map_or_else(|| key_of_json(key_type, written), Ok)
}

/// The end of a range as [`bound_of_json`] reads it; null for none.
fn bound_to_json(keys: Keys, bound: Option<&[u8]>) -> Value {
    let Some(bound) = bound else { return Value::Null };
    let shown = keys.to_json(bound);
    let read = RawValue::from_string(shown.to_string()).ok();
    let read = read.and_then(|shown| bound_of_json(keys.key_type(), &shown).ok());
    if read.as_deref() == Some(bound) { shown } else { key::hex_to_json(bound) }
}

/// Where a line that is printed belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePlace<'a> {
    pub(super) keyspace: &'a str,
    /// The position behind the batch, on its last line.
    pub(super) position: Option<ChangePosition>,
}

impl LinePlace<'_> {
    /// A record that was written.
    pub(super) fn put(
        self,
        types: &RecordType,
        keys: Keys,
        record: (&[u8], &[u8]),
        expires: Option<SystemTime>,
    ) -> String {
        let mut rest = format!(",\"key\":{}", keys.to_json(record.0));
        if !types.is_keys_only() {
            rest += &format!(",\"value\":{}", value::to_json_text(&types.values, record.1));
        }
        if let Some(expires) = expires {
            rest += &format!(",\"expires\":{}", json!(utc_text(expires)));
        }
        self.line("put", &rest)
    }

    /// A key that was removed.
    pub(super) fn remove(self, keys: Keys, key: &[u8]) -> String {
        self.line("remove", &format!(",\"key\":{}", keys.to_json(key)))
    }

    /// A range whose keys were removed.
    pub(super) fn remove_range(self, keys: Keys, start: &[u8], end: Option<&[u8]>) -> String {
        let from = bound_to_json(keys, Some(start).filter(|start| !start.is_empty()));
        self.line("remove_range", &format!(",\"from\":{from},\"to\":{}", bound_to_json(keys, end)))
    }

    /// The keyspace was dropped.
    pub(super) fn drop(self) -> String {
        self.line("drop", "")
    }

    fn line(self, what: &str, rest: &str) -> String {
        let mut line = format!("{{\"{what}\":{{\"keyspace\":{}{rest}}}", json!(self.keyspace));
        if let Some(position) = self.position {
            // Writing to a string does not fail.
            _ = write!(line, ",\"position\":\"{position}\"");
        }
        line.push('}');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::types::ValueType;
    use std::time::Duration;

    const PLACE: LinePlace<'_> = LinePlace { keyspace: "k", position: None };

    fn read(line: &str) -> StatedChange {
        serde_json::from_str::<ChangeLine>(line).unwrap().stated().unwrap().0
    }

    #[test]
    fn what_is_printed_is_read_as_what_it_is() {
        let values: ValueType = "{name: text, age: u8?}".parse().unwrap();
        let types = RecordType::new("u8".parse().unwrap(), values);
        let keys = Keys::BYTES.or(Some(types.keys));
        let value = types.values.parse("ann,").unwrap();
        let expires = SystemTime::UNIX_EPOCH + Duration::from_millis(1_900_000_000_123);
        let line = PLACE.put(&types, keys, (&[7], &value), Some(expires));
        let StatedChange::Put(record) = read(&line) else { panic!("{line}") };
        assert_eq!(record.value.unwrap().get(), r#"{"name":"ann","age":null}"#);
        assert_eq!((record.keyspace.as_str(), record.key.get(), record.expires), ("k", "7", Some(expires)));

        let position: ChangePosition = "0123456789abcdef-42".parse().unwrap();
        let line = LinePlace { position: Some(position), ..PLACE }.drop();
        let (dropped, at) = serde_json::from_str::<ChangeLine>(&line).unwrap().stated().unwrap();
        assert!(matches!(dropped, StatedChange::Drop(Named { keyspace }) if keyspace == "k") && at == Some(position));
    }

    /// Ends of ranges may be no keys.
    #[test]
    fn ends_of_ranges_are_read_as_the_bytes_that_they_are() {
        for (key_type, bounds) in [
            ("u8", [&[7][..], &[7, 0], b"ab"]),
            ("text", [b"a", b"a\0", b"\xff"]),
            ("bytes", [b"a", b"\xff\xfe", b"{\"hex\": \"00\"}"]),
            ("(u8, text)", [&[7][..], &[7, b'a'], &[8]]),
        ] {
            let key_type: KeyType = key_type.parse().unwrap();
            for bound in bounds {
                let line = PLACE.remove_range(Keys::BYTES.or(Some(key_type)), bound, Some(bound));
                let StatedChange::RemoveRange(range) = read(&line) else { panic!("{line}") };
                for end in [range.from, range.to] {
                    assert_eq!(bound_of_json(key_type, &end.unwrap()).unwrap(), bound, "{line}");
                }
            }
        }
        let line = PLACE.remove_range(Keys::BYTES, b"", None);
        assert!(matches!(read(&line), StatedChange::RemoveRange(NamedRange { from: None, to: None, .. })), "{line}");
    }

    #[test]
    fn lines_of_nothing_and_of_several_things_are_refused() {
        for line in [
            r#"{"position": "0123456789abcdef-42"}"#,
            r#"{"put": {"key": 1, "value": 1}, "remove": {"key": 1}}"#,
            r#"{"expect": {"key": 1, "expires": "2030-01-31"}}"#,
        ] {
            assert!(serde_json::from_str::<ChangeLine>(line).unwrap().stated().is_err(), "{line}");
        }
        for line in [
            r#"{"put": {"key": 1, "expires": "soon"}}"#,
            r#"{"drop": {}}"#,
            r#"{"drop": {"keyspace": "k"}, "position": "7"}"#,
        ] {
            assert!(serde_json::from_str::<ChangeLine>(line).is_err(), "{line}");
        }
    }
}
