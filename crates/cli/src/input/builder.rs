//! Records made of the fields of a row, whatever form these have in the input.

use super::InputError;
use super::null_keys::NullKeys;
use super::record::Record;
use super::schema::{ReadColumn, Schema, stated_otherwise};
use ogive::KeyType;
use ogive::types::{Component, NullOrder, RowBuilder, TupleType, Value, ValueType};
use ogive_text::{FieldBytes, Separated};
use std::path::{Path, PathBuf};

/// Builds the keys and values of records.
#[derive(Debug)]
pub(crate) struct RecordBuilder {
    path: PathBuf,
    keys: Vec<ReadColumn>,
    values: Vec<ReadColumn>,
    key_type: KeyType,
    /// Builds the values, unless they are those of one column.
    rows: Option<RowBuilder>,
    /// The form of text that the values are, if they are only passed on.
    printed: Option<Separated>,
    null_keys: NullKeys,
    records: u64,
    /// Records that were left out because their keys have nulls.
    left_out: u64,
    /// The line of the record, if it has one.
    line: Option<u64>,
    key: Vec<u8>,
    value: Vec<u8>,
    /// The bytes of one field.
    scratch: Vec<u8>,
}

impl RecordBuilder {
    /// For records of this schema in the file at `path`.
    pub(crate) fn new(path: &Path, schema: &Schema) -> Self {
        let rows = match &schema.record_type.values {
            ValueType::Row(row_type) => Some(RowBuilder::new(row_type.clone())),
            ValueType::Scalar(_) => None,
        };
        Self {
            path: path.to_owned(),
            keys: schema.keys.clone(),
            values: schema.values.clone(),
            key_type: schema.record_type.keys,
            rows,
            printed: None,
            null_keys: schema.null_keys,
            records: 0,
            left_out: 0,
            line: None,
            key: Vec::new(),
            value: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The same, for values that are the rest of a row of text in this form: each field behind a delimiter.
    pub(crate) fn printed(self, form: Separated) -> Self {
        Self { printed: Some(form), ..self }
    }

    /// The record that was [filled](Self::fill).
    pub(crate) fn record(&self) -> Record<'_> {
        Record { key: &self.key, value: &self.value }
    }

    /// Records that were left out because their keys have nulls.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Takes the next record, which is in this line if it is in one; `false` if it is left out because its key has
    /// nulls. `convert` gives the field of a column, by its index among those of the key and the value; of a field that
    /// is not of its type it gives the text, and none of a null.
    ///
    /// # Errors
    /// [`InputError::WrongType`] for a field that is not of its type.
    #[cfg(any(feature = "parquet", test))]
    pub(crate) fn fill<'a>(
        &mut self,
        line: Option<u64>,
        convert: impl FnMut(usize, &ReadColumn, &mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>>,
    ) -> Result<bool, InputError> {
        self.fill_from(line, false, convert)
    }

    /// As [`Self::fill`], of fields that were read from text: the reading has checked that they are of their types.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn fill_text<'a>(
        &mut self,
        line: Option<u64>,
        convert: impl FnMut(usize, &ReadColumn, &mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>>,
    ) -> Result<bool, InputError> {
        self.fill_from(line, true, convert)
    }

    fn fill_from<'a>(
        &mut self,
        line: Option<u64>,
        are_checked: bool,
        mut convert: impl FnMut(usize, &ReadColumn, &mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>>,
    ) -> Result<bool, InputError> {
        self.records += 1;
        self.line = line;
        if !self.build_key(&mut convert)? {
            self.left_out += 1;
            // Joins that keep such a row read it again, by the types of all rows.
            if self.null_keys == NullKeys::LeftOut {
                self.build_value(are_checked, convert)?;
            }
            return Ok(false);
        }
        self.build_value(are_checked, convert).map(|()| true)
    }

    fn build_value<'a>(
        &mut self,
        are_checked: bool,
        mut convert: impl FnMut(usize, &ReadColumn, &mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>>,
    ) -> Result<(), InputError> {
        self.value.clear();
        if let Some(form) = self.printed {
            return self.print(form, convert);
        }
        let Some(rows) = &mut self.rows else {
            if let Some(column) = self.values.first()
                && let FieldBytes::Own(bytes) = convert(self.keys.len(), column, &mut self.value)
                    .map_err(|written| self.refuse(&self.values[0], written))?
            {
                self.value.extend_from_slice(bytes);
            }
            return Ok(());
        };
        for (index, column) in self.values.iter().enumerate() {
            let pushed = match rows.begin_field() {
                Ok((target, from)) => match convert(self.keys.len() + index, column, target) {
                    Ok(FieldBytes::Encoded) => rows.end_field(from, are_checked).map_err(|_| Some(String::new())),
                    Ok(FieldBytes::Own(bytes)) if are_checked => {
                        rows.push_known(Some(bytes)).map_err(|_| Some(String::new()))
                    }
                    Ok(FieldBytes::Own(bytes)) => rows.push_bytes(Some(bytes)).map_err(|_| Some(String::new())),
                    Ok(FieldBytes::Null) => rows.push_known(None).map_err(|_| None),
                    Err(written) => Err(written),
                },
                Err(_) => Err(Some(String::new())),
            };
            if let Err(written) = pushed {
                rows.clear();
                return Err(self.refuse(&self.values[index], written));
            }
        }
        match rows.finish(&mut self.value) {
            Ok(()) => Ok(()),
            Err(_) => Err(InputError::BadRow {
                path: self.path.clone(),
                detail: format!("record {} is too long", self.records),
            }),
        }
    }

    /// Makes the value of the fields as text.
    fn print<'a>(
        &mut self,
        form: Separated,
        mut convert: impl FnMut(usize, &ReadColumn, &mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>>,
    ) -> Result<(), InputError> {
        for (index, column) in self.values.iter().enumerate() {
            self.scratch.clear();
            let found = convert(self.keys.len() + index, column, &mut self.scratch);
            let mut rest = form.rest_of_row(&mut self.value);
            match found {
                Ok(FieldBytes::Null) => rest.field(None),
                Ok(FieldBytes::Own(bytes)) => rest.field(Some(bytes)),
                Ok(FieldBytes::Encoded) => rest.field(Some(&self.scratch)),
                Err(written) => return Err(self.refuse(column, written)),
            }
        }
        Ok(())
    }

    /// Makes the key; `false` if the record is left out because of it.
    fn build_key<'a>(
        &mut self,
        convert: &mut impl FnMut(usize, &ReadColumn, &mut Vec<u8>) -> Result<FieldBytes<'a>, Option<String>>,
    ) -> Result<bool, InputError> {
        self.key.clear();
        // A tuple of one column has the form of other tuples.
        if let [column] = &self.keys[..]
            && column.key_type == self.key_type
        {
            return match convert(0, column, &mut self.key) {
                Ok(FieldBytes::Own(bytes)) => {
                    self.key.extend_from_slice(bytes);
                    Ok(true)
                }
                Ok(FieldBytes::Encoded) => Ok(true),
                Ok(FieldBytes::Null) if self.null_keys == NullKeys::LeftOut => Ok(false),
                Ok(FieldBytes::Null) => Err(self.refuse(column, None)),
                Err(written) => Err(self.refuse(column, written)),
            };
        }
        let mut components = Vec::with_capacity(self.keys.len());
        for (index, column) in self.keys.iter().enumerate() {
            self.scratch.clear();
            let found = convert(index, column, &mut self.scratch).map_err(|written| self.refuse(column, written))?;
            let value = match found {
                FieldBytes::Null => Some(Value::Null),
                FieldBytes::Own(bytes) => column.key_type.decode(bytes).ok(),
                FieldBytes::Encoded => column.key_type.decode(&self.scratch).ok(),
            };
            components.push(value.ok_or_else(|| self.refuse(column, Some(String::new())))?);
        }
        if !self.null_keys.takes(self.key_type, components.iter().map(|value| *value == Value::Null)) {
            return Ok(false);
        }
        let encoded = self.key_type.encode(&Value::Tuple(components));
        self.key = encoded.map_err(|_| self.refuse(&self.keys[0], Some(String::new())))?;
        Ok(true)
    }

    fn refuse(&self, column: &ReadColumn, written: Option<String>) -> InputError {
        let is_key = self.keys.iter().any(|key| key.name == column.name);
        if let Some(stated) = column.stated.as_deref()
            && let Some(text) = written.as_deref().filter(|text| text.ends_with(&stated_otherwise("", stated)))
        {
            let line = self.line.map_or_else(String::new, |line| format!(" (line {line})"));
            let detail = format!("column '{}' in record {}{line} is {text}", column.name, self.records);
            return InputError::BadRow { path: self.path.clone(), detail };
        }
        let remedy = match written.as_deref() {
            None | Some("") if is_key => self.with_null(column).map(|keys| format!("--key-type '{keys}'")),
            None => None,
            written => column.fitting(written).map(|fitting| format!("--type '{}={fitting}'", column.name)),
        };
        InputError::WrongType {
            path: self.path.clone(),
            record: self.records,
            line: self.line,
            column: (!column.name.is_empty()).then(|| column.name.as_str().into()),
            is_key,
            remedy: remedy.map(String::into_boxed_str),
            written: written.map(String::into_boxed_str),
            wanted: column.key_type.to_string().into(),
        }
    }

    /// The type of the keys with nulls in one of its columns, as an option states it.
    fn with_null(&self, column: &ReadColumn) -> Option<String> {
        let index = self.keys.iter().position(|key| key.name == column.name)?;
        let mut components = match (self.key_type, &self.keys[..]) {
            (KeyType::Tuple(tuple), keys) if keys.len() == tuple.components().len() => tuple.components().collect(),
            (KeyType::Tuple(_), _) => return None,
            (key_type, _) => vec![Component::new(key_type)],
        };
        let component: &mut Component = components.get_mut(index)?;
        component.nulls = NullOrder::Last;
        let keys = TupleType::new(&components).ok()?.to_string();
        // That is where nulls come unless it is stated.
        Some(keys.replace("? nulls last", "?"))
    }
}
