//! The types of the keys and values of a table or a keyspace, and the names of its columns.

use super::key_type::KeyType;
use super::row_type::FIELD_NAME_BYTES_MAX;
use super::value_type::ValueType;
use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::fmt;

/// The column that a key, or a component of a key, comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// Its position among all columns, counted from 0. The other columns are the fields of the value, in order.
    /// 2^15 is added to it if there are no others.
    pub position: u16,
}

/// Added to the positions of key columns that are all the columns: see [`RecordType::keys_only`].
pub(crate) const KEYS_ONLY: u16 = 1 << 15;

/// The types of the keys and values of a table or a keyspace; by default bytes.
///
/// ```
/// use ogive::lsm::{Db, DbOptions};
/// use ogive::types::{KeyType, RecordType, ValueType};
///
/// # let folder = tempfile::tempdir()?;
/// let db = Db::open(folder.path(), &DbOptions::default())?;
/// let fields: ValueType = "{name: text, price: decimal(8,2)?}".parse()?;
/// let order = RecordType::new(KeyType::U64, fields);
/// let orders = db.keyspace("orders")?;
/// orders.declare(&order)?;
/// assert_eq!(orders.record_type().to_string(), "u64 -> {name: text, price: decimal(8,2)?}");
/// assert!(orders.declare(&RecordType::new(KeyType::Text, KeyType::Bytes)).is_ok(), "it has no records");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RecordType {
    /// Type of the keys.
    pub keys: KeyType,
    /// Type of the values.
    pub values: ValueType,
    /// The column of each component of the key, if they have names.
    pub key_columns: Vec<KeyColumn>,
}

/// A column of records, with its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordColumn {
    /// Its name: that of a key column or field, else `key` or `value`. A field with the name of a column of the key
    /// gets a number behind it, as `key_2`, so that all names of a record differ.
    pub name: String,
    /// Its type.
    pub key_type: KeyType,
    /// Whether it may be null.
    pub nullable: bool,
    /// Where its values are.
    pub place: ColumnPlace,
}

/// Where the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnPlace {
    /// The key, or this component of it.
    Key(usize),
    /// The value, or this field of it.
    Value(usize),
}

impl RecordType {
    /// Keys and values of these types, without names for the columns of the key.
    #[must_use]
    pub fn new(keys: KeyType, values: impl Into<ValueType>) -> Self {
        Self { keys, values: values.into(), key_columns: Vec::new() }
    }

    /// The same types, with names for the columns of the key.
    #[must_use]
    pub fn key_columns(self, key_columns: Vec<KeyColumn>) -> Self {
        Self { key_columns, ..self }
    }

    /// The same keys without values: the columns of the key are all the columns. The values are bytes, and empty. This
    /// is stated with the names of the key columns, which get the default ones if they have none.
    ///
    /// ```
    /// use ogive::types::{KeyType, RecordType};
    ///
    /// let ids = RecordType::new(KeyType::U64, KeyType::Bytes);
    /// let names = |types: RecordType| types.columns().into_iter().map(|column| column.name).collect::<Vec<_>>();
    /// assert_eq!(names(ids.clone()), ["key", "value"]);
    /// assert_eq!(names(ids.keys_only()), ["key"]);
    /// ```
    #[must_use]
    pub fn keys_only(mut self) -> Self {
        self.values = ValueType::default();
        if self.key_columns.is_empty() {
            let keys = self.columns().into_iter().filter(|column| matches!(column.place, ColumnPlace::Key(_)));
            self.key_columns = (0..).zip(keys).map(|(position, key)| KeyColumn { name: key.name, position }).collect();
        }
        self.key_columns.iter_mut().for_each(|column| column.position |= KEYS_ONLY);
        self
    }

    /// Whether the columns of the key are all the columns: see [`Self::keys_only`].
    #[must_use]
    pub fn is_keys_only(&self) -> bool {
        self.values.is_bytes() && are_keys_only(&self.key_columns)
    }

    /// The same types with values, if there were none.
    #[must_use]
    pub fn with_values(mut self) -> Self {
        if self.is_keys_only() {
            self.key_columns.iter_mut().for_each(|column| column.position &= !KEYS_ONLY);
        }
        self
    }

    /// These types as those of records of the types `found`: the names of the columns of the key are theirs, and values
    /// of bytes are none where keys are alone, if keys have the same type. Keys alone stay alone.
    ///
    /// ```
    /// use ogive::types::{KeyType, RecordType};
    ///
    /// let stated = RecordType::new(KeyType::U64, KeyType::Bytes);
    /// let found = stated.clone().keys_only();
    /// assert_eq!(stated.clone().named_as(&found), found);
    /// let texts = RecordType::new(KeyType::U64, KeyType::Text);
    /// assert!(!texts.named_as(&found).is_keys_only());
    /// assert!(found.named_as(&stated).is_keys_only());
    /// ```
    #[must_use]
    pub fn named_as(self, found: &Self) -> Self {
        match self.keys == found.keys {
            true if found.is_keys_only() && self.values.is_bytes() => found.clone(),
            true if !self.is_keys_only() => self.key_columns(found.clone().with_values().key_columns),
            _ => self,
        }
    }

    /// The name of the type of the values, for people: `{}` of [keys alone](Self::keys_only), which have none.
    #[must_use]
    pub fn value_name(&self) -> String {
        if self.is_keys_only() { "{}".to_owned() } else { self.values.to_string() }
    }

    /// Whether keys and values are bytes without names.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        self.keys == KeyType::Bytes && self.values.is_bytes() && self.key_columns.is_empty()
    }

    /// All columns in their order: the components of the key at their positions, and the fields of the value; a value
    /// that is not a row is one column, and none of [keys alone](Self::keys_only). Their names differ.
    #[must_use]
    #[doc(hidden)]
    pub fn columns(&self) -> Vec<RecordColumn> {
        let component = |index: usize, key_type, nullable, count| {
            let name = self.name_of_key(index, count);
            RecordColumn { name, key_type, nullable, place: ColumnPlace::Key(index) }
        };
        let (mut keys, count) = (Vec::new(), self.component_count());
        match self.keys {
            KeyType::Tuple(tuple) => {
                keys.extend(tuple.components().enumerate().map(|(index, it)| {
                    component(index, it.key_type, it.nulls != super::tuple::NullOrder::Never, count)
                }));
            }
            key_type => keys.push(component(0, key_type, false, 1)),
        }
        let mut columns: Vec<RecordColumn> = match &self.values {
            _ if self.is_keys_only() => Vec::new(),
            ValueType::Scalar(key_type) => {
                let place = ColumnPlace::Value(0);
                vec![RecordColumn { name: "value".into(), key_type: *key_type, nullable: false, place }]
            }
            ValueType::Row(row_type) => row_type
                .fields()
                .iter()
                .enumerate()
                .map(|(index, field)| RecordColumn {
                    name: field.name.clone(),
                    key_type: field.key_type,
                    nullable: field.nullable,
                    place: ColumnPlace::Value(index),
                })
                .collect(),
        };
        rename_fields(&keys, &mut columns);
        let mut order: Vec<usize> = (0..keys.len()).collect();
        let position = |index: usize| self.key_columns.get(index).map_or(index, |column| column.position.into());
        order.sort_by_key(|&index| position(index));
        for index in order {
            columns.insert(position(index).min(columns.len()), keys[index].clone());
        }
        columns
    }

    /// Whether a keyspace of the type `older`, with records, can be one of this type from now on. Names of key columns
    /// can change, though none of them may become that of another column. Keys alone stay alone, and values stay.
    #[must_use]
    pub fn extends(&self, older: &Self) -> bool {
        let has_values_alike = self.is_keys_only() == older.is_keys_only();
        let has_same_keys = self.keys == older.keys && !self.moves_key_columns(older);
        has_same_keys && has_values_alike && self.values.extends(&older.values)
    }

    /// Whether the name of a column of the key is that of another column of the key in `other`, as of keys by `a, b`
    /// and by `b, a`.
    #[must_use]
    pub fn moves_key_columns(&self, other: &Self) -> bool {
        let (names, others) = (self.names_of_keys(), other.names_of_keys());
        let place = |name: &String| others.iter().position(|other| other == name);
        (0..).zip(&names).any(|(index, name)| place(name).is_some_and(|other| other != index))
    }

    /// The names of the columns of the key, for messages: `a, b`.
    #[must_use]
    pub fn key_names(&self) -> String {
        self.names_of_keys().join(", ")
    }

    /// The names of the columns of the key, be they stated or not.
    fn names_of_keys(&self) -> Vec<String> {
        let components = self.component_count();
        (0..components).map(|index| self.name_of_key(index, components)).collect()
    }

    fn name_of_key(&self, index: usize, components: usize) -> String {
        match self.key_columns.get(index) {
            Some(column) => column.name.clone(),
            None if components == 1 => "key".to_owned(),
            None => format!("key{}", index + 1),
        }
    }

    fn component_count(&self) -> usize {
        match self.keys {
            KeyType::Tuple(tuple) => tuple.components().len(),
            _ => 1,
        }
    }

    /// Rejects types with parameters out of bounds, and names that do not fit.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input).
    pub(crate) fn check(&self) -> Result<()> {
        self.keys.check()?;
        self.values.check()?;
        let components = self.component_count();
        if !self.key_columns.is_empty() && self.key_columns.len() != components {
            let found = self.key_columns.len();
            return Err(Error::input(format!("keys of type {} have no {found} columns", self.keys)));
        }
        match self.key_columns.iter().find(|column| column.name.len() > FIELD_NAME_BYTES_MAX) {
            Some(column) => Err(Error::input(format!(
                "the name of a key column has {} bytes; {FIELD_NAME_BYTES_MAX} are the maximum",
                column.name.len()
            ))),
            None => Ok(()),
        }
    }

    /// The code in files, and in messages of programs: the codes of the key type and their number, the length of the
    /// code of the value type and that code, and the key columns.
    ///
    /// ```
    /// use ogive::types::{KeyType, RecordType};
    ///
    /// let types = RecordType::new(KeyType::U64, KeyType::Text);
    /// assert_eq!(RecordType::from_code(&types.code()), Some(types));
    /// ```
    #[must_use]
    pub fn code(&self) -> Vec<u8> {
        let mut code = Vec::new();
        let keys = self.keys.codes();
        put_varint(&mut code, keys.len() as u64);
        keys.into_iter().for_each(|part| put_varint(&mut code, part));
        put_string(&mut code, &self.values.code());
        code.extend_from_slice(&self.columns_code());
        code
    }

    /// The type of a code; `None` for an unknown one.
    #[must_use]
    pub fn from_code(code: &[u8]) -> Option<Self> {
        let mut at = 0;
        let count = take_varint(code, &mut at)?;
        let mut taken = 0;
        let keys = KeyType::from_codes(|| {
            taken += 1;
            take_varint(code, &mut at)
        })?;
        let values = ValueType::from_code(take_string(code, &mut at)?)?;
        let key_columns = Self::columns_of_code(code.get(at..)?)?;
        let found = Self { keys, values, key_columns };
        (taken == count && found.check().is_ok()).then_some(found)
    }

    /// The code of the key columns: their number, and for each its name and its position.
    pub(crate) fn columns_code(&self) -> Vec<u8> {
        let mut code = Vec::new();
        put_varint(&mut code, self.key_columns.len() as u64);
        for column in &self.key_columns {
            put_string(&mut code, column.name.as_bytes());
            put_varint(&mut code, column.position.into());
        }
        code
    }

    /// The key columns of a code; `None` for an unknown one.
    pub(crate) fn columns_of_code(code: &[u8]) -> Option<Vec<KeyColumn>> {
        let (mut at, mut columns) = (0, Vec::new());
        for _ in 0..take_varint(code, &mut at)? {
            let name = std::str::from_utf8(take_string(code, &mut at)?).ok()?.to_owned();
            columns.push(KeyColumn { name, position: u16::try_from(take_varint(code, &mut at)?).ok()? });
        }
        (at == code.len()).then_some(columns)
    }
}

/// Whether the columns of the key of records whose values are bytes are all the columns.
pub(crate) fn are_keys_only(key_columns: &[KeyColumn]) -> bool {
    !key_columns.is_empty() && key_columns.iter().all(|column| column.position >= KEYS_ONLY)
}

/// Gives the columns of values other names than those of the key.
fn rename_fields(keys: &[RecordColumn], values: &mut [RecordColumn]) {
    let is_key = |name: &str| keys.iter().any(|key| key.name == name);
    if !values.iter().any(|column| is_key(&column.name)) {
        return;
    }
    let mut taken: HashSet<String> = keys.iter().chain(values.iter()).map(|column| column.name.clone()).collect();
    for column in values.iter_mut().filter(|column| is_key(&column.name)) {
        column.name = unused_name(&mut taken, &column.name);
    }
}

/// A name that is not taken yet, and is from now on: with the least number behind it that makes it one.
pub(crate) fn unused_name(taken: &mut HashSet<String>, name: &str) -> String {
    let mut unused = name.to_owned();
    let mut number = 2;
    while !taken.insert(unused.clone()) {
        unused = format!("{name}_{number}");
        number += 1;
    }
    unused
}

pub(super) fn put_string(code: &mut Vec<u8>, string: &[u8]) {
    put_varint(code, string.len() as u64);
    code.extend_from_slice(string);
}

pub(super) fn take_string<'a>(code: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(code, at)?).ok()?;
    let string = code.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some(string)
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.keys, self.value_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &[(&str, u16)]) -> Vec<KeyColumn> {
        names.iter().map(|&(name, position)| KeyColumn { name: name.to_owned(), position }).collect()
    }

    #[test]
    fn codes_lead_back_to_the_types_and_cuts_to_none() {
        for (keys, values, names) in [
            ("bytes", "bytes", &[][..]),
            ("u64", "text", &[("id", 1)]),
            ("(text, date? desc)", "{a: u8, b: text?}", &[("x", 3), ("", 0)]),
            ("decimal(38,2)", "{\"\": f64}", &[]),
        ] {
            let types = RecordType::new(keys.parse().unwrap(), values.parse::<ValueType>().unwrap())
                .key_columns(columns(names));
            let code = types.code();
            assert_eq!(RecordType::from_code(&code), Some(types));
            for cut in 0..code.len() {
                assert_eq!(RecordType::from_code(&code[..cut]), None, "{keys} {values} {cut}");
            }
            assert_eq!(RecordType::from_code(&[&code[..], &[0]].concat()), None);
        }
    }

    #[test]
    fn columns_have_the_order_of_the_input() {
        let shown =
            |types: &RecordType| types.columns().into_iter().map(|column| column.name).collect::<Vec<_>>().join(" ");
        let row: ValueType = "{a: u8, b: u8, c: u8}".parse().unwrap();
        let one = RecordType::new(KeyType::U64, row.clone());
        assert_eq!(shown(&one), "key a b c");
        assert_eq!(shown(&one.clone().key_columns(columns(&[("id", 2)]))), "a b id c");
        assert_eq!(shown(&one.key_columns(columns(&[("id", 99)]))), "a b c id");
        let two = RecordType::new("(u8, u8)".parse().unwrap(), row);
        assert_eq!(shown(&two), "key1 key2 a b c");
        assert_eq!(shown(&two.key_columns(columns(&[("y", 3), ("x", 1)]))), "a x b y c");
        assert_eq!(shown(&RecordType::default()), "key value");
    }

    #[test]
    fn keys_alone_have_no_column_of_the_value() {
        let shown =
            |types: &RecordType| types.columns().into_iter().map(|column| column.name).collect::<Vec<_>>().join(" ");
        let ids = RecordType::new(KeyType::U64, KeyType::Bytes);
        let pair = RecordType::new("(u8, u8)".parse().unwrap(), KeyType::Bytes);
        for (types, with_values, alone) in [
            (ids.clone(), "key value", "key"),
            (ids.clone().key_columns(columns(&[("value", 0)])), "value value_2", "value"),
            (ids.clone().key_columns(columns(&[("id", 1)])), "value id", "id"),
            (pair.clone(), "key1 key2 value", "key1 key2"),
            (pair.key_columns(columns(&[("y", 1), ("x", 0)])), "x y value", "x y"),
        ] {
            let without = types.clone().keys_only();
            assert_eq!((shown(&types).as_str(), shown(&without).as_str()), (with_values, alone));
            assert!(without.is_keys_only() && !types.is_keys_only());
            assert_eq!(RecordType::from_code(&without.code()), Some(without.clone()));
            assert_eq!(shown(&without.clone().with_values()), with_values);
            assert!(without.extends(&without) && !types.extends(&without) && !without.extends(&types));
        }
        assert_eq!(ids.clone().keys_only().to_string(), "u64 -> {}");
        // Values of a type are columns, wherever the key stands.
        let typed = RecordType::new(KeyType::U64, KeyType::U8).key_columns(columns(&[("id", u16::MAX)]));
        assert!(!typed.is_keys_only());
        assert_eq!(shown(&typed), "value id");
    }

    #[test]
    fn no_field_hides_a_column_of_the_key() {
        let shown = |types: &RecordType| {
            let columns = types.columns().into_iter();
            columns.map(|column| format!("{}:{}", column.name, column.key_type)).collect::<Vec<_>>().join(" ")
        };
        let row: ValueType = "{key: u8, a: u8, key_2: u16, key1: u32}".parse().unwrap();
        assert_eq!(shown(&RecordType::new(KeyType::U64, row.clone())), "key:u64 key_3:u8 a:u8 key_2:u16 key1:u32");
        let pair = RecordType::new("(u8, u8)".parse().unwrap(), row.clone());
        assert_eq!(shown(&pair), "key1:u8 key2:u8 key:u8 a:u8 key_2:u16 key1_2:u32");
        let named = RecordType::new(KeyType::U64, row).key_columns(columns(&[("a", 2)]));
        assert_eq!(shown(&named), "key:u8 a_2:u8 a:u64 key_2:u16 key1:u32");
        let value = RecordType::new(KeyType::U64, KeyType::I8).key_columns(columns(&[("value", 0)]));
        assert_eq!(shown(&value), "value:u64 value_2:i8");
    }
}
