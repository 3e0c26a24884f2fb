//! Fields of rows of Parquet files as text and in JSON. A value that a table could have is written as a table writes
//! it, so that it can be asked for as it is printed.

use crate::values::key;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType};
use ogive::KeyType;
use ogive_arrow::{key_type_of, unpacked, value_of};
use serde_json::Value;

/// A column of rows, with the type that its values would have in a table.
#[derive(Debug)]
pub(crate) struct Fields {
    array: ArrayRef,
    key_type: Option<KeyType>,
}

impl Fields {
    /// The fields of an array, which are UUIDs if stated.
    ///
    /// # Errors
    /// A dictionary that contradicts itself.
    pub(crate) fn new(array: &ArrayRef, is_uuid: bool) -> Result<Self, ArrowError> {
        let array = unpacked(array.clone())?;
        let key_type = key_type_of(array.data_type(), is_uuid);
        Ok(Self { array, key_type })
    }

    /// Whether a field has no value.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || *self.array.data_type() == DataType::Null
    }

    /// A field that is not null, as text.
    ///
    /// # Errors
    /// Values that Arrow cannot show.
    pub(crate) fn text(&self, row: usize) -> Result<String, ArrowError> {
        match self.key(row) {
            Some(_) if self.is_negative_zero(row) => Ok("-0".to_owned()),
            Some((key_type, key)) => Ok(key::shown(key_type, &key).into_owned()),
            None if self.array.data_type().is_nested() => {
                let mut text = String::new();
                self.json(row, &mut text)?;
                Ok(text)
            }
            None => formatted(&self.array, row),
        }
    }

    /// The type and the bytes that a field would have in a table.
    fn key(&self, row: usize) -> Option<(KeyType, Vec<u8>)> {
        let key_type = self.key_type?;
        Some((key_type, key_type.encode(&value_of(&self.array, key_type, row)).ok()?))
    }

    /// Whether a field is the float -0, which a key is not.
    fn is_negative_zero(&self, row: usize) -> bool {
        let Some(key_type @ (KeyType::F32 | KeyType::F64)) = self.key_type else { return false };
        let value = value_of(&self.array, key_type, row);
        matches!(value, ogive::types::Value::Float(number) if number == 0.0 && number.is_sign_negative())
    }

    /// Appends a field in JSON.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub(crate) fn json(&self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        if self.is_negative_zero(row) {
            out.push_str("-0.0");
            return Ok(());
        }
        if let Some((key_type, key)) = self.key(row) {
            out.push_str(&key::to_json(key_type, &key).to_string());
            return Ok(());
        }
        match self.array.data_type() {
            DataType::Struct(_) => self.object(row, out),
            DataType::Map(..) => {
                let entries = self.array.as_map().value(row);
                let entries = [entries.column(0), entries.column(1)].map(|column| Self::new(column, false));
                let [keys, values] = entries;
                let (keys, values) = (keys?, values?);
                listed(keys.array.len(), out, |entry, out| {
                    out.push_str("{\"key\":");
                    keys.json(entry, out)?;
                    out.push_str(",\"value\":");
                    values.json(entry, out)?;
                    out.push('}');
                    Ok(())
                })
            }
            _ => match self.items(row) {
                Some(items) => {
                    let items = Self::new(&items, false)?;
                    listed(items.array.len(), out, |item, out| items.json(item, out))
                }
                None => {
                    out.push_str(&Value::String(formatted(&self.array, row)?).to_string());
                    Ok(())
                }
            },
        }
    }

    fn object(&self, row: usize, out: &mut String) -> Result<(), ArrowError> {
        let of = self.array.as_struct();
        out.push('{');
        for (place, (name, column)) in of.column_names().into_iter().zip(of.columns()).enumerate() {
            member(name, place == 0, out);
            Self::new(column, false)?.json(row, out)?;
        }
        out.push('}');
        Ok(())
    }

    /// The items of a list.
    fn items(&self, row: usize) -> Option<ArrayRef> {
        Some(match self.array.data_type() {
            DataType::List(_) => self.array.as_list::<i32>().value(row),
            DataType::LargeList(_) => self.array.as_list::<i64>().value(row),
            DataType::ListView(_) => self.array.as_list_view::<i32>().value(row),
            DataType::LargeListView(_) => self.array.as_list_view::<i64>().value(row),
            DataType::FixedSizeList(..) => self.array.as_fixed_size_list().value(row),
            _ => return None,
        })
    }
}

/// A field that no table has, as Arrow shows it.
pub(crate) fn formatted(array: &ArrayRef, row: usize) -> Result<String, ArrowError> {
    ArrayFormatter::try_new(array, &FormatOptions::default())?.value(row).try_to_string()
}

/// Appends an array of `count` items.
fn listed(
    count: usize,
    out: &mut String,
    mut item: impl FnMut(usize, &mut String) -> Result<(), ArrowError>,
) -> Result<(), ArrowError> {
    out.push('[');
    for place in 0..count {
        if place > 0 {
            out.push(',');
        }
        item(place, out)?;
    }
    out.push(']');
    Ok(())
}

/// Appends the name of a member of an object.
pub(crate) fn member(name: &str, is_first: bool, out: &mut String) {
    if !is_first {
        out.push(',');
    }
    out.push_str(&Value::String(name.to_owned()).to_string());
    out.push(':');
}
