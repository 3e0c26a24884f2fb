//! Definitions of secondary indexes as data: which columns of a record are indexed, by which expressions, and how.
//!
//! ```text
//! country, joined desc              two columns, the second from the greatest down
//! lower(email)                      the letters A to Z as a to z
//! prefix(name, 3), date(joined)     the first 3 characters, or bytes; the day of a timestamp
//! ```
//!
//! An entry of an index is the bytes of a tuple of the indexed values, each of which may be null, and then the key of
//! the record. Each expression has a value for every value of its column, and the same one in all versions and on all
//! machines: so a record that is read again leads to its entry.

use super::calendar::SECONDS_PER_DAY;
use super::key_type::KeyType;
use super::record::split_list;
use super::record_type::{ColumnPlace, RecordType, put_string, take_string};
use super::tuple::{COMPONENTS_MAX, Component, NullOrder, TupleType};
use super::value::Value;
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use std::fmt;

/// Flags of a part in its code.
const DESCENDING: u64 = 1;

/// Flags of a definition in its code.
const UNIQUE: u64 = 1;
const PARTIAL: u64 = 2;

/// What a secondary index of a keyspace contains: see [`Db::create_index`](crate::Db::create_index).
///
/// ```
/// use ogive::types::IndexDefinition;
///
/// let by_email = IndexDefinition::by("lower(email)")?.unique().where_not_null("email");
/// assert_eq!(by_email.to_string(), "lower(email) unique where email is not null");
/// assert!(IndexDefinition::by("upper(email)").is_err());
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexDefinition {
    parts: Vec<IndexPart>,
    is_unique: bool,
    /// The column that is not null in the records that the index has, if it does not have all.
    not_null: Option<String>,
}

/// An indexed expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct IndexPart {
    column: String,
    expression: IndexExpression,
    descending: bool,
}

/// An expression of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexExpression {
    /// The column itself.
    Column,
    /// A text with small letters for the great ones of ASCII.
    Lower,
    /// The day of a timestamp.
    Date,
    /// This number of characters of a text, or of bytes.
    Prefix(u64),
}

impl IndexDefinition {
    /// An index by a list of columns of the records, or of `lower(COLUMN)`, `prefix(COLUMN, N)` and `date(COLUMN)`,
    /// each with `desc` behind it if greater values come first. Names that are not words are in double quotes.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for text that is no such list.
    pub fn by(list: &str) -> Result<Self> {
        let parts = split_list(list).into_iter().map(IndexPart::parse).collect::<Result<Vec<_>>>()?;
        if parts.len() >= COMPONENTS_MAX {
            return Err(Error::input(format!("an index has at most {} columns", COMPONENTS_MAX - 1)));
        }
        Ok(Self { parts, is_unique: false, not_null: None })
    }

    /// The same index, in which no two records have the same values. Records with a null among the values do not count.
    #[must_use]
    pub fn unique(self) -> Self {
        Self { is_unique: true, ..self }
    }

    /// The same index without the records in which a column is null.
    #[must_use]
    pub fn where_not_null(self, column: impl Into<String>) -> Self {
        Self { not_null: Some(column.into()), ..self }
    }

    /// Whether no two records have the same values.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// The columns and expressions that it is by, as [`Self::by`] reads them.
    #[must_use]
    pub fn parts(&self) -> Vec<String> {
        self.parts.iter().map(IndexPart::to_string).collect()
    }

    /// The columns that it is by, and the expressions of them.
    #[doc(hidden)]
    pub fn expressions(&self) -> impl Iterator<Item = (&str, IndexExpression)> {
        self.parts.iter().map(|part| (&*part.column, part.expression))
    }

    /// The column that is not null in the records that the index has, if it does not have all.
    #[must_use]
    pub fn not_null(&self) -> Option<&str> {
        self.not_null.as_deref()
    }

    /// The bytes of the manifest.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let flags = if self.is_unique { UNIQUE } else { 0 } | if self.not_null.is_some() { PARTIAL } else { 0 };
        put_varint(out, flags);
        put_varint(out, self.parts.len() as u64);
        for part in &self.parts {
            put_string(out, part.column.as_bytes());
            put_varint(out, if part.descending { DESCENDING } else { 0 });
            match part.expression {
                IndexExpression::Column => put_varint(out, 0),
                IndexExpression::Lower => put_varint(out, 1),
                IndexExpression::Date => put_varint(out, 2),
                IndexExpression::Prefix(count) => {
                    put_varint(out, 3);
                    put_varint(out, count);
                }
            }
        }
        self.not_null.iter().for_each(|column| put_string(out, column.as_bytes()));
    }

    /// Decodes the bytes of the manifest; `None` for others.
    pub(crate) fn decode(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let flags = take_varint(bytes, at).filter(|flags| flags & !(UNIQUE | PARTIAL) == 0)?;
        let count = take_varint(bytes, at).filter(|&count| count > 0 && count < COMPONENTS_MAX as u64)?;
        let mut parts = Vec::new();
        for _ in 0..count {
            let column = take_text(bytes, at)?;
            let descending = take_varint(bytes, at).filter(|&flags| flags <= DESCENDING)? == DESCENDING;
            let expression = match take_varint(bytes, at)? {
                0 => IndexExpression::Column,
                1 => IndexExpression::Lower,
                2 => IndexExpression::Date,
                3 => IndexExpression::Prefix(take_varint(bytes, at)?),
                _ => return None,
            };
            parts.push(IndexPart { column, expression, descending });
        }
        let not_null = if flags & PARTIAL > 0 { Some(take_text(bytes, at)?) } else { None };
        Some(Self { parts, is_unique: flags & UNIQUE > 0, not_null })
    }

    /// The definition for records of these types.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for columns that they do not have, for expressions of other types, and for
    /// values that are no rows.
    pub(crate) fn resolve(&self, types: &RecordType) -> Result<ResolvedIndex> {
        let columns = types.columns();
        let column = |name: &str| {
            let found = columns.iter().find(|column| column.name == name);
            found.ok_or_else(|| {
                let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
                Error::input(format!("there is no column {name:?}; the columns are {}", names.join(", ")))
            })
        };
        if types.is_bytes() || types.values.fields().is_empty() && !types.is_keys_only() {
            return Err(Error::input(format!(
                "records of type {types} have no columns; only rows with named columns can be indexed"
            )));
        }
        let (mut parts, mut components) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let found = column(&part.column)?;
            let key_type = part.expression.key_type(&part.column, found.key_type)?;
            let nulls = if part.descending { NullOrder::First } else { NullOrder::Last };
            components.push(Component { key_type, descending: part.descending, nulls });
            parts.push(ResolvedPart { place: found.place, of: found.key_type, expression: part.expression });
        }
        let not_null = self.not_null.as_deref().map(column).transpose()?.map(|column| column.place);
        Ok(ResolvedIndex { types: types.clone(), parts, tuple: TupleType::new(&components)?, not_null })
    }
}

impl fmt::Display for IndexDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().join(", "))?;
        f.write_str(if self.is_unique { " unique" } else { "" })?;
        self.not_null.as_ref().map_or(Ok(()), |column| write!(f, " where {} is not null", Quoted(column)))
    }
}

impl fmt::Display for IndexPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Quoted(&self.column);
        match self.expression {
            IndexExpression::Column => write!(f, "{name}")?,
            IndexExpression::Lower => write!(f, "lower({name})")?,
            IndexExpression::Date => write!(f, "date({name})")?,
            IndexExpression::Prefix(count) => write!(f, "prefix({name}, {count})")?,
        }
        f.write_str(if self.descending { " desc" } else { "" })
    }
}

/// A name of a column in a list.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_word(self.0) { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0) }
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl IndexPart {
    fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::input(format!(
                "{text:?} is not what an index is by: a column, lower(COLUMN), prefix(COLUMN, N) or date(COLUMN), and \
                 desc behind it if greater values come first"
            ))
        };
        let (rest, descending) = match text.strip_suffix(" desc") {
            Some(rest) => (rest.trim_end(), true),
            None => (text.strip_suffix(" asc").unwrap_or(text).trim_end(), false),
        };
        if let Some(column) = name_of(rest) {
            return Ok(Self { column, expression: IndexExpression::Column, descending });
        }
        let (function, arguments) = rest.strip_suffix(')').and_then(|rest| rest.split_once('(')).ok_or_else(wrong)?;
        let arguments = split_list(arguments);
        let column = arguments.first().and_then(|name| name_of(name)).ok_or_else(wrong)?;
        let expression = match (function.trim(), &arguments[1..]) {
            ("lower", []) => IndexExpression::Lower,
            ("date", []) => IndexExpression::Date,
            ("prefix", [count]) => {
                IndexExpression::Prefix(count.parse().ok().filter(|&count| count > 0).ok_or_else(wrong)?)
            }
            _ => return Err(wrong()),
        };
        Ok(Self { column, expression, descending })
    }
}

/// The name of a column, in quotes or a word.
fn name_of(text: &str) -> Option<String> {
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let name = quoted.filter(|name| !name.is_empty() && !name.contains('"')).or(is_word(text).then_some(text));
    name.map(str::to_owned)
}

impl IndexExpression {
    /// The type of its values, of a column of this name and type.
    fn key_type(self, column: &str, of: KeyType) -> Result<KeyType> {
        let (name, expected) = match (self, of) {
            (Self::Column, _) | (Self::Lower, KeyType::Text) => return Ok(of),
            (Self::Prefix(_), KeyType::Text | KeyType::Bytes) => return Ok(of),
            (Self::Date, KeyType::Timestamp(_)) => return Ok(KeyType::Date),
            (Self::Lower, _) => ("lower", "text"),
            (Self::Date, _) => ("date", "a timestamp"),
            (Self::Prefix(_), _) => ("prefix", "text or bytes"),
        };
        Err(Error::input(format!("{name} is of {expected}; the column {column:?} is of type {of}")))
    }

    fn apply(self, of: KeyType, value: Value) -> Value {
        match (self, value) {
            (Self::Lower, Value::Text(text)) => Value::Text(text.to_ascii_lowercase()),
            (Self::Prefix(count), Value::Text(text)) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                Value::Text(text.chars().take(count).collect())
            }
            (Self::Prefix(count), Value::Bytes(mut bytes)) => {
                bytes.truncate(usize::try_from(count).unwrap_or(usize::MAX));
                Value::Bytes(bytes)
            }
            (Self::Date, Value::Signed(units)) => {
                let per_second = if let KeyType::Timestamp(unit) = of { unit.per_second() } else { 1 };
                let days = units.div_euclid(per_second * SECONDS_PER_DAY);
                // Seconds reach farther than dates do.
                if i32::try_from(days).is_ok() { Value::Signed(days) } else { Value::Null }
            }
            (_, value) => value,
        }
    }
}

/// An index of records of known types.
#[derive(Debug)]
pub(crate) struct ResolvedIndex {
    types: RecordType,
    parts: Vec<ResolvedPart>,
    tuple: TupleType,
    not_null: Option<ColumnPlace>,
}

#[derive(Debug)]
struct ResolvedPart {
    place: ColumnPlace,
    of: KeyType,
    expression: IndexExpression,
}

/// The indexed values of a record, as the bytes with which its entry begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexedValues {
    pub(crate) bytes: Vec<u8>,
    pub(crate) has_null: bool,
}

impl ResolvedIndex {
    /// The types of the indexed values.
    pub(crate) fn tuple(&self) -> TupleType {
        self.tuple
    }

    /// The indexed values of a record; `None` if the index leaves it out.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a key or a value that is not of the types of the records.
    pub(crate) fn values_of(&self, key: &[u8], value: &[u8]) -> Result<Option<IndexedValues>> {
        let is_of_key = |place: &ColumnPlace| matches!(place, ColumnPlace::Key(_));
        let takes_key = self.parts.iter().map(|part| &part.place).chain(&self.not_null).any(is_of_key);
        let keys = if takes_key { Some(self.types.keys.decode(key)?) } else { None };
        let row = if self.types.is_keys_only() { None } else { Some(self.types.values.row(value)?) };
        let column = |place: ColumnPlace| match (place, &keys, &row) {
            (ColumnPlace::Key(index), Some(Value::Tuple(values)), _) => {
                Ok(values.get(index).cloned().unwrap_or(Value::Null))
            }
            (ColumnPlace::Key(_), Some(value), _) => Ok(value.clone()),
            (ColumnPlace::Value(index), _, Some(row)) => row.value(index),
            _ => Ok(Value::Null),
        };
        if let Some(place) = self.not_null
            && column(place)? == Value::Null
        {
            return Ok(None);
        }
        let value = |part: &ResolvedPart| column(part.place).map(|value| part.expression.apply(part.of, value));
        let values = self.parts.iter().map(value).collect::<Result<Vec<_>>>()?;
        let bytes = KeyType::Tuple(self.tuple).encode_prefix(&values)?;
        Ok(Some(IndexedValues { bytes, has_null: values.contains(&Value::Null) }))
    }

    /// Whether there is a null among the values with which an entry begins.
    pub(crate) fn has_null(&self, values: &[u8]) -> bool {
        self.tuple.null_test().is_some_and(|test| test.has_null(values))
    }

    /// The key of the record of an entry.
    pub(crate) fn key_of<'e>(&self, entry: &'e [u8]) -> Option<&'e [u8]> {
        self.tuple.behind(entry)
    }

    /// The first indexed values as text has them: a record of CSV, whose empty fields are nulls.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input).
    pub(crate) fn parse(&self, text: &str) -> Result<Vec<Value>> {
        let wrong = || Error::input(format!("{text:?} does not begin indexed values of type {}", self.tuple));
        self.tuple.parse_prefix(text).ok_or_else(wrong)
    }
}

fn take_text(bytes: &[u8], at: &mut usize) -> Option<String> {
    Some(std::str::from_utf8(take_string(bytes, at)?).ok()?.to_owned())
}
