//! The columns of records, as text and JSON.

use super::key;
use ogive::KeyType;
use ogive::types::{ColumnPlace, RecordColumn, RecordType, Row, Value as TypedValue, ValueType};
use ogive_text::{BYTE_ORDER_MARK, Separated, SeparatedRow};
use serde_json::Value;

/// Takes records apart into columns.
#[derive(Clone, Debug)]
pub(crate) struct RecordFields {
    types: RecordType,
    columns: Vec<RecordColumn>,
}

impl RecordFields {
    /// For records of these types.
    pub(crate) fn new(types: &RecordType) -> Self {
        Self { types: types.clone(), columns: types.columns() }
    }

    /// The types of the records.
    pub(crate) fn types(&self) -> &RecordType {
        &self.types
    }

    /// The columns in order.
    #[cfg(feature = "parquet")]
    pub(crate) fn columns(&self) -> &[RecordColumn] {
        &self.columns
    }

    /// Whether a value is one of the types, as far as its length tells.
    pub(crate) fn fits(&self, value: &[u8]) -> bool {
        match &self.types.values {
            ValueType::Row(row_type) => Row::new(row_type, value).is_ok(),
            ValueType::Scalar(_) => true,
        }
    }

    /// Calls `visit` with each column and the bytes of its value, `None` for a null. A record that is not of the types
    /// has its key and value as bytes in the columns that they would have.
    pub(crate) fn visit(&self, key: &[u8], value: &[u8], mut visit: impl FnMut(&RecordColumn, Option<&[u8]>, bool)) {
        let components = match self.types.keys {
            KeyType::Tuple(tuple) => match self.types.keys.decode(key) {
                Ok(TypedValue::Tuple(values)) => {
                    tuple.components().zip(values).map(|(it, value)| it.key_type.encode(&value).ok()).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let row = match &self.types.values {
            ValueType::Row(row_type) => Row::new(row_type, value).ok(),
            ValueType::Scalar(_) => None,
        };
        let is_row = matches!(self.types.values, ValueType::Row(_));
        for column in &self.columns {
            match column.place {
                ColumnPlace::Key(index) => match components.get(index) {
                    Some(component) => visit(column, component.as_deref(), true),
                    None if matches!(self.types.keys, KeyType::Tuple(_)) => {
                        visit(column, (index == 0).then_some(key), false);
                    }
                    None => visit(column, Some(key), self.types.keys.decode(key).is_ok()),
                },
                ColumnPlace::Value(index) if is_row => match row.map(|row| row.field(index)) {
                    Some(Ok(field)) => visit(column, field, true),
                    _ => visit(column, (index == 0).then_some(value), false),
                },
                ColumnPlace::Value(_) => visit(column, Some(value), column.key_type.decode(value).is_ok()),
            }
        }
    }

    /// Appends the names of the columns as a row.
    pub(crate) fn header(&self, form: Separated, line: &mut Vec<u8>) {
        let mut row = form.row(line);
        self.columns.iter().for_each(|column| row.field(Some(column.name.as_bytes())));
        row.end();
        // A reader takes the first mark as that of the file.
        if line.starts_with(BYTE_ORDER_MARK) {
            line.splice(0..0, BYTE_ORDER_MARK.iter().copied());
        }
    }

    /// Appends a record as a row: text and bytes as they are.
    pub(crate) fn row(&self, key: &[u8], value: &[u8], form: Separated, line: &mut Vec<u8>) {
        self.start_row(key, value, form, line).end();
    }

    /// Appends the fields of a record as a row that may have more of them.
    pub(crate) fn start_row<'a>(
        &self,
        key: &[u8],
        value: &[u8],
        form: Separated,
        line: &'a mut Vec<u8>,
    ) -> SeparatedRow<'a> {
        let mut row = form.row(line);
        self.visit(key, value, |column, bytes, is_typed| match (bytes, column.key_type) {
            (None, _) => row.field(None),
            (Some(bytes), KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_)) => row.field(Some(bytes)),
            // Most keys are such numbers.
            (Some(&[a, b, c, d, e, f, g, h]), KeyType::U64) => {
                row.number(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
            }
            (Some(bytes), key_type) if is_typed => row.field(Some(key_type.display(bytes).as_bytes())),
            (Some(bytes), _) => row.field(Some(bytes)),
        });
        row
    }

    /// A record as a JSON object with a member for each column, in order: of the key alone if the value is `None`.
    pub(crate) fn json(&self, key: &[u8], value: Option<&[u8]>) -> String {
        let mut object = String::from("{");
        self.visit(key, value.unwrap_or_default(), |column, bytes, is_typed| {
            if value.is_none() && matches!(column.place, ColumnPlace::Value(_)) {
                return;
            }
            let shown = match bytes {
                None => Value::Null,
                Some(bytes) if is_typed => key::to_json(column.key_type, bytes),
                Some(bytes) => key::bytes_to_json(bytes),
            };
            if object.len() > 1 {
                object.push(',');
            }
            object.push_str(&format!("{}:{shown}", Value::String(column.name.clone())));
        });
        object.push('}');
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::types::KeyColumn;

    #[test]
    fn records_have_the_columns_of_their_source() {
        let values: ValueType = "{name: text, note: text?, born: date?}".parse().unwrap();
        let column = |name: &str, position| KeyColumn { name: name.to_owned(), position };
        let types = RecordType::new("(u8, text?)".parse().unwrap(), values)
            .key_columns(vec![column("id", 1), column("kind", 3)]);
        let fields = RecordFields::new(&types);
        let record = |key: &str, value: &str| (types.keys.parse(key).unwrap(), types.values.parse(value).unwrap());
        let csv = |(key, value): (Vec<u8>, Vec<u8>)| {
            let mut line = Vec::new();
            fields.row(&key, &value, Separated::CSV, &mut line);
            String::from_utf8_lossy(&line).into_owned()
        };
        let mut header = Vec::new();
        fields.header(Separated { delimiter: b';', ..Separated::CSV }, &mut header);
        assert_eq!(header, b"name;id;note;kind;born\n");
        assert_eq!(
            csv(record("7,x", "\"a \"\"b\"\", c\",\"\",2024-02-29")),
            "\"a \"\"b\"\", c\",7,\"\",x,2024-02-29\n"
        );
        assert_eq!(csv(record("7,", ",,")), "\"\",7,,,\n");
        let (key, value) = record("7,", "a,,");
        assert_eq!(fields.json(&key, Some(&value)), r#"{"name":"a","id":7,"note":null,"kind":null,"born":null}"#);
        assert_eq!(fields.json(&key, None), r#"{"id":7,"kind":null}"#);
        assert_eq!(
            csv((b"no key".to_vec(), b"x".to_vec())),
            "x,no key,,,\n",
            "a record of other types is shown as bytes"
        );
    }
}
