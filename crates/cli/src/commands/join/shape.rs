//! Formatting of joined rows as text and JSON.

use crate::key;
use ogive::KeyType;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Types of the keys and values of a join.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowShape {
    pub(super) key_type: KeyType,
    /// Whether the left and right values are little-endian numbers.
    pub(super) numbers: [bool; 2],
}

impl RowShape {
    /// Appends a line: the key, the left value and the right value if any, separated by tabs.
    pub(super) fn line(self, key: &[u8], left: &[u8], right: Option<&[u8]>, line: &mut Vec<u8>) {
        line.extend_from_slice(key::shown(self.fitting(key), key).as_bytes());
        for (value, is_number) in [Some(left), right].into_iter().zip(self.numbers) {
            if let Some(value) = value {
                line.push(b'\t');
                line.extend_from_slice(shown(value, is_number).as_bytes());
            }
        }
        line.push(b'\n');
    }

    /// Appends a line with the row as a JSON object.
    pub(super) fn object(self, key: &[u8], left: &[u8], right: Option<&[u8]>, line: &mut Vec<u8>) {
        let mut object = json!({ "key": key::to_json(self.fitting(key), key), "left": to_json(left, self.numbers[0]) });
        if let Some(right) = right {
            object["right"] = to_json(right, self.numbers[1]);
        }
        line.extend_from_slice(object.to_string().as_bytes());
        line.push(b'\n');
    }

    /// A key of another type is shown as bytes.
    fn fitting(self, key: &[u8]) -> KeyType {
        if self.key_type.width().is_some_and(|width| width != key.len()) { KeyType::Bytes } else { self.key_type }
    }
}

fn number(value: &[u8], is_number: bool) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes).filter(|_| is_number)
}

fn shown(value: &[u8], is_number: bool) -> Cow<'_, str> {
    number(value, is_number).map_or_else(|| key::escaped(value), |number| Cow::Owned(number.to_string()))
}

fn to_json(value: &[u8], is_number: bool) -> Value {
    number(value, is_number).map_or_else(|| key::bytes_to_json(value), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_lines_that_tabs_take_apart() {
        let shape = RowShape { key_type: KeyType::U64, numbers: [false, true] };
        let mut line = Vec::new();
        shape.line(&7_u64.to_be_bytes(), b"a\tb", Some(&9_u64.to_le_bytes()), &mut line);
        shape.line(&8_u64.to_be_bytes(), b"", None, &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "7\ta\\tb\t9\n8\t\n");
        let mut line = Vec::new();
        shape.object(&7_u64.to_be_bytes(), b"a", Some(b"odd"), &mut line);
        shape.object(b"key", b"a", None, &mut line);
        let objects = "{\"key\":7,\"left\":\"a\",\"right\":\"odd\"}\n{\"key\":\"key\",\"left\":\"a\"}\n";
        assert_eq!(String::from_utf8(line).unwrap(), objects);
    }
}
