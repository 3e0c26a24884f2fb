//! Types of rows: named, typed fields, some of which may be null.

use super::key_type::{KeyType, unknown};
use super::record;
use super::tuple::{Component, NullOrder};
use super::value::Value;
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Most fields of a row.
pub const FIELDS_MAX: usize = 2048;
/// Longest name of a field in bytes.
pub(crate) const FIELD_NAME_BYTES_MAX: usize = 1024;

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Its name, unique in the row.
    pub name: String,
    /// Its type; not a tuple.
    pub key_type: KeyType,
    /// Whether it may be null.
    pub nullable: bool,
}

impl Field {
    /// A field that is never null.
    #[must_use]
    pub fn new(name: impl Into<String>, key_type: KeyType) -> Self {
        Self { name: name.into(), key_type, nullable: false }
    }

    /// The same field, which may be null.
    #[must_use]
    pub fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }

    fn component(&self) -> Component {
        let nulls = if self.nullable { NullOrder::First } else { NullOrder::Never };
        Component { key_type: self.key_type, descending: false, nulls }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |c: char| c.is_alphanumeric() || c == '_';
        if !self.name.is_empty() && self.name.chars().all(is_plain) {
            f.write_str(&self.name)?;
        } else {
            write!(f, "\"{}\"", self.name.replace('"', "\"\""))?;
        }
        write!(f, ": {}{}", self.key_type, if self.nullable { "?" } else { "" })
    }
}

/// What the fields before one take up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Before {
    /// Bytes of fields of fixed width.
    pub(super) fixed_bytes: u32,
    /// Number of fields of variable width.
    pub(super) variable: u32,
    /// Number of fields that may be null.
    pub(super) nullable: u32,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RowLayout {
    fields: Vec<Field>,
    /// For each field, and for all of them together.
    before: Vec<Before>,
}

/// The fields of a row, from 1 to [`FIELDS_MAX`], none of them a tuple. Shown and parsed as
/// `{id: u64, name: text?, "unit price": decimal(8,2)}`: a question mark allows nulls.
///
/// A row type is cheap to clone. Fields may be added at its end if they may be null: the rows that were written before
/// are then read with nulls in these fields. The bytes of a row are described in `docs/format/types.md`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowType(Arc<RowLayout>);

impl RowType {
    /// A row of these fields.
    ///
    /// # Errors
    /// `Cause::Input` for none or too many fields, fields that are tuples, and names that repeat or are
    /// longer than 1,024 bytes.
    pub fn new(fields: impl Into<Vec<Field>>) -> Result<Self> {
        let fields = fields.into();
        let invalid = |detail: String| Err(Error::input(detail));
        if fields.is_empty() || fields.len() > FIELDS_MAX {
            return invalid(format!("rows have 1 to {FIELDS_MAX} fields, not {}", fields.len()));
        }
        let mut names = HashSet::new();
        let mut before = vec![Before::default()];
        for field in &fields {
            if matches!(field.key_type, KeyType::Tuple(_)) {
                return invalid(format!("the field {:?} of a row cannot be a tuple", field.name));
            }
            field.key_type.check()?;
            if field.name.len() > FIELD_NAME_BYTES_MAX {
                return invalid(format!(
                    "the name of a field has {} bytes; {FIELD_NAME_BYTES_MAX} are the maximum",
                    field.name.len()
                ));
            }
            if !names.insert(&field.name) {
                return invalid(format!("two fields of a row have the name {:?}", field.name));
            }
            let Before { fixed_bytes, variable, nullable } = before[before.len() - 1];
            let width = field.key_type.width();
            before.push(Before {
                fixed_bytes: fixed_bytes + width.unwrap_or(0) as u32,
                variable: variable + u32::from(width.is_none()),
                nullable: nullable + u32::from(field.nullable),
            });
        }
        Ok(Self(Arc::new(RowLayout { fields, before })))
    }

    /// The fields in order.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.0.fields
    }

    /// The position of the field of a name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.fields.iter().position(|field| field.name == name)
    }

    /// Whether rows of `older` are rows of this type: its fields are the first ones, and the others may be null.
    #[must_use]
    pub fn extends(&self, older: &Self) -> bool {
        let added = self.fields().strip_prefix(older.fields());
        added.is_some_and(|added| added.iter().all(|field| field.nullable))
    }

    /// Bytes of every row, if all fields have a fixed width.
    pub(super) fn width(&self) -> Option<usize> {
        let all = self.before(self.fields().len());
        let row_bytes = super::row::header_bytes(self.fields().len()) + (all.nullable as usize).div_ceil(8);
        (all.variable == 0).then_some(row_bytes + all.fixed_bytes as usize)
    }

    /// What the first `count` fields take up.
    pub(super) fn before(&self, count: usize) -> Before {
        self.0.before[count]
    }

    /// The code in files: the number of fields, and for each its name and the code of its type.
    pub(super) fn append_code(&self, code: &mut Vec<u8>) {
        put_varint(code, self.fields().len() as u64);
        for field in self.fields() {
            put_varint(code, field.name.len() as u64);
            code.extend_from_slice(field.name.as_bytes());
            put_varint(code, field.component().code().into());
        }
    }

    /// The type of `count` fields at `at`; `None` for an invalid code.
    pub(super) fn take_code(count: u64, code: &[u8], at: &mut usize) -> Option<Self> {
        let count = usize::try_from(count).ok().filter(|&count| count <= FIELDS_MAX)?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let length = usize::try_from(take_varint(code, at)?).ok()?;
            let name = code.get(*at..at.checked_add(length)?)?;
            *at += length;
            let component = Component::from_code(u16::try_from(take_varint(code, at)?).ok()?)?;
            if component.descending || component.nulls == NullOrder::Last {
                return None;
            }
            let nullable = component.nulls != NullOrder::Never;
            let name = std::str::from_utf8(name).ok()?.to_owned();
            fields.push(Field { name, key_type: component.key_type, nullable });
        }
        Self::new(fields).ok()
    }

    /// Reads a row from a record of CSV.
    pub(super) fn parse_value(&self, text: &str) -> Option<Value> {
        let written = record::split(text)?;
        if written.len() != self.fields().len() {
            return None;
        }
        let parse = |(field, written): (&Field, record::RecordField)| match written {
            record::RecordField::Empty if field.nullable => Some(Value::Null),
            record::RecordField::Empty => field.key_type.parse_value(""),
            record::RecordField::Text(text) => field.key_type.parse_value(&text),
        };
        self.fields().iter().zip(written).map(parse).collect::<Option<_>>().map(Value::Tuple)
    }

    /// Why text is no row of this type, for messages: the first field that is not of its type, or the number of fields.
    #[must_use]
    pub fn fault(&self, text: &str) -> String {
        let Some(written) = record::split(text) else { return "it is no record of CSV".to_owned() };
        let (found, wanted) = (written.len(), self.fields().len());
        if found != wanted {
            return format!("it has {found} of {wanted} fields");
        }
        let is_wrong = |field: &Field, written: &str| {
            let parsed = field.key_type.parse_value(written);
            parsed.is_none_or(|value| field.key_type.encode(&value).is_err())
        };
        for (field, written) in self.fields().iter().zip(&written) {
            let written = match written {
                record::RecordField::Empty if field.nullable => continue,
                record::RecordField::Empty => "",
                record::RecordField::Text(text) => text,
            };
            if is_wrong(field, written) {
                return format!("its field '{}' is not of type {}", field.name, field.key_type);
            }
        }
        "a field is not of its type".to_owned()
    }

    /// Shows the values of a row as a record of CSV.
    pub(super) fn display_value(&self, values: &[Value]) -> Option<String> {
        let mut text = String::new();
        for (index, (field, value)) in self.fields().iter().zip(values).enumerate() {
            if index > 0 {
                text.push(',');
            }
            if !matches!(value, Value::Null) {
                record::append(&mut text, &field.key_type.display_value(value)?);
            }
        }
        Some(text)
    }

    /// Parses the name of a row type, which begins with a brace.
    pub(super) fn parse(name: &str) -> Result<Self> {
        let inner = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(|| unknown(name))?;
        Self::new(record::split_list(inner).into_iter().map(parse_field).collect::<Result<Vec<_>>>()?)
    }
}

fn parse_field(text: &str) -> Result<Field> {
    let wrong = || Error::input(format!("{text:?} is not a field; write its name, a colon, and its type"));
    let (name, rest) = match text.strip_prefix('"') {
        None => {
            let (name, rest) = text.split_once(':').ok_or_else(wrong)?;
            (name.trim().to_owned(), rest)
        }
        Some(quoted) => {
            // Doubled quotes belong to the name.
            let (mut name, mut rest) = (String::new(), quoted);
            loop {
                let (part, after) = rest.split_once('"').ok_or_else(wrong)?;
                name.push_str(part);
                rest = after;
                match rest.strip_prefix('"') {
                    Some(after) => rest = after,
                    None => break,
                }
                name.push('"');
            }
            (name, rest.trim_start().strip_prefix(':').ok_or_else(wrong)?)
        }
    };
    let rest = rest.trim();
    let (type_name, nullable) = rest.strip_suffix('?').map_or((rest, false), |rest| (rest.trim_end(), true));
    let key_type = KeyType::scalar(type_name).ok_or_else(|| unknown(type_name))?;
    Ok(Field { name, key_type, nullable })
}

impl fmt::Display for RowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, field) in self.fields().iter().enumerate() {
            write!(f, "{}{field}", if index == 0 { "{" } else { ", " })?;
        }
        f.write_str("}")
    }
}
