//! Records of joined tables, taken apart.

use ogive::join::JoinKind;
use ogive::types::{RecordType, Value};

/// The left and the right value of a record of a joined table, whose sides have values of bytes.
///
/// # Panics
/// If the value is not a row of the types.
#[must_use]
#[expect(clippy::panic, reason = "a test fails by panicking")]
pub fn joined_values(kind: JoinKind, types: &RecordType, value: &[u8]) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let fields = types.values.fields();
    assert!(!fields.is_empty() || value.is_empty(), "a value without fields has {} bytes", value.len());
    let side = |name: &str| {
        let Some(index) = fields.iter().position(|field| field.name == name) else { return Some(Vec::new()) };
        let row = types.values.row(value).unwrap_or_else(|error| panic!("{error}"));
        match row.value(index).unwrap_or_else(|error| panic!("{error}")) {
            Value::Bool(is_there) => is_there.then(Vec::new),
            Value::Bytes(bytes) => Some(bytes),
            Value::Null => None,
            other => panic!("a side has the value {other:?}"),
        }
    };
    (side("left"), if kind.pairs() { side("right") } else { None })
}
