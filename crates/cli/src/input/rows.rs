//! Text inputs: rows of fields, and the records that they make.

use super::InputError;
use super::bad_rows::BadRows;
use super::builder::RecordBuilder;
use super::null_keys::NullKeys;
use super::record::{Input, InputFacts, Record};
use super::schema::{ReadColumn, Schema};
use ogive_text::{Separated, TextColumn, Written};
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// Rows of text: the lines of a file, or the records of CSV.
pub(crate) trait TextRows: Debug + Send {
    /// Names of the columns.
    fn names(&self) -> &[String];

    /// Whether there are columns even without rows.
    fn has_columns(&self) -> bool {
        true
    }

    /// Reads the next row; `false` at the end.
    ///
    /// # Errors
    /// [`InputError`] for a bad file; the rows must not be used afterwards.
    fn advance(&mut self) -> Result<bool, InputError>;

    /// Whether the row is an empty line, which is a row where its only column may be null, and else none.
    fn is_blank(&self) -> bool {
        false
    }

    /// The line in which the row starts, from 1.
    fn line(&self) -> u64;

    /// Appends the row as it is written.
    fn write_row(&self, row: &mut Vec<u8>);

    /// What may be wrong with the names and the rows so far.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// A field of the current row.
    fn field(&self, column: usize) -> Written<'_>;

    /// Whether some rows have no field of a column, whatever the first ones have.
    fn may_lack(&self, _column: usize) -> bool {
        false
    }

    /// Bytes of the file read so far.
    fn position_bytes(&self) -> u64;

    /// Length of the file in bytes, if known.
    fn length_bytes(&self) -> Option<u64>;
}

/// What takes the rows that cannot be read, if they are left out, and whether the input has other files.
type LeftOut = (Option<Arc<BadRows>>, bool);

/// The records of rows of text.
#[derive(Debug)]
pub(crate) struct TextInput {
    rows: Box<dyn TextRows>,
    builder: RecordBuilder,
    /// How the fields of the columns are read: those of the key, then those of the value.
    columns: Vec<TextColumn>,
    /// Number of columns of the key, which come first.
    keys: usize,
    /// Whether the values are text that is only passed on.
    is_printed: bool,
    /// Whether empty lines are rows.
    takes_blanks: bool,
    facts: InputFacts,
    /// Takes the rows that cannot be read, if they are left out.
    bad_rows: Option<Arc<BadRows>>,
    /// Whether other files have rows of the same input.
    is_part: bool,
    /// Rows that were taken.
    good: u64,
}

impl TextInput {
    /// The records of these rows, which are at the start of the file at `path`.
    pub(crate) fn new(path: &Path, rows: Box<dyn TextRows>, schema: &Schema, left_out: LeftOut) -> Self {
        let facts = InputFacts {
            path: path.to_owned(),
            record_type: schema.record_type.clone(),
            value_width: schema.value_width(),
            records: None,
            length_bytes: rows.length_bytes(),
            may_be_empty: rows.has_columns(),
        };
        let (builder, takes_blanks) = (RecordBuilder::new(path, schema), takes_blanks(&schema.keys, schema.null_keys));
        let (bad_rows, is_part) = left_out;
        Self {
            rows,
            builder,
            columns: schema.keys.iter().chain(&schema.values).map(ReadColumn::text).collect(),
            keys: schema.keys.len(),
            is_printed: false,
            takes_blanks,
            facts,
            bad_rows,
            is_part,
            good: 0,
        }
    }

    /// The same records, with values that are the rest of a row of text in this form.
    pub(crate) fn printed(self, form: Separated) -> Self {
        let facts = InputFacts { value_width: None, ..self.facts };
        Self { builder: self.builder.printed(form), is_printed: true, facts, ..self }
    }
}

impl Input for TextInput {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn next(&mut self) -> Result<Option<Record<'_>>, InputError> {
        loop {
            match self.take_row() {
                Ok(true) => return Ok(Some(self.builder.record())),
                Ok(false) => {
                    let bad_rows = self.bad_rows.as_ref().filter(|_| !self.is_part);
                    bad_rows.map_or(Ok(()), |bad_rows| bad_rows.finish(&self.facts.path, self.good))?;
                    return Ok(None);
                }
                Err(error) => match &self.bad_rows {
                    Some(bad_rows) if error.is_of_row() => {
                        let mut row = Vec::new();
                        self.rows.write_row(&mut row);
                        bad_rows.leave_out(self.rows.line(), &row, &error)?;
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    fn position_bytes(&self) -> u64 {
        self.rows.position_bytes()
    }

    fn null_keys(&self) -> u64 {
        self.builder.left_out()
    }
}

impl TextInput {
    /// Takes the next row; `false` at the end.
    fn take_row(&mut self) -> Result<bool, InputError> {
        while advance(&mut *self.rows, self.takes_blanks)? {
            let (rows, keys, is_printed, columns) = (&*self.rows, self.keys, self.is_printed, &self.columns);
            let field = |column: &ReadColumn| column.position.map_or(Written::Null, |position| rows.field(position));
            let read = |index: usize, column: &ReadColumn, target: &mut Vec<u8>| {
                if is_printed && index >= keys {
                    return columns[index].print(field(column), target);
                }
                let own = |target: &mut Vec<u8>| columns[index].read(field(column), index < keys, target);
                column.read_with_stated(index < keys, target, own)
            };
            if self.builder.fill_text(Some(rows.line()), read)? {
                self.good += 1;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether empty lines are rows, by the columns of the key: where keys have no nulls, such a line is no row.
pub(super) fn takes_blanks(keys: &[ReadColumn], null_keys: NullKeys) -> bool {
    null_keys == NullKeys::Refused && keys.iter().all(|column| column.nullable)
}

/// Reads the next row, or the next that is no empty line; `false` at the end.
///
/// # Errors
/// As [`TextRows::advance`].
pub(super) fn advance(rows: &mut dyn TextRows, takes_blanks: bool) -> Result<bool, InputError> {
    while rows.advance()? {
        if takes_blanks || !rows.is_blank() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::KeyType;

    fn column(position: usize, name: &str, type_name: &str, guessed: bool) -> ReadColumn {
        let (type_name, nullable) = type_name.strip_suffix('?').map_or((type_name, false), |name| (name, true));
        let key_type = type_name.parse().unwrap();
        ReadColumn {
            position: Some(position),
            name: name.into(),
            key_type,
            nullable,
            may_be_null: true,
            guessed,
            is_known: false,
            is_zoned: false,
            is_united: false,
            stated: None,
            seen: None,
        }
    }

    fn reader(keys: Vec<ReadColumn>, key_type: &str) -> RecordBuilder {
        let schema = Schema { keys, ..Schema::of_keys(key_type.parse().unwrap()) };
        RecordBuilder::new(Path::new("visits.csv"), &schema)
    }

    fn key(reader: &mut RecordBuilder, key_type: &str, fields: &[&[u8]]) -> Result<String, InputError> {
        let key_type: KeyType = key_type.parse().unwrap();
        let field = |column: &ReadColumn| match fields[column.position.unwrap()] {
            [] => Written::Nothing,
            text => Written::Text(text),
        };
        reader.fill(None, |_, column, target| column.text().read(field(column), true, target))?;
        Ok(key_type.display(reader.record().key))
    }

    #[test]
    fn fields_become_a_tuple_whose_empty_ones_are_null_where_they_may_be() {
        let name = "(text, u64?, date)";
        let columns =
            vec![column(0, "who", "text", false), column(1, "n", "u64?", false), column(2, "on", "date", false)];
        let mut reader = reader(columns, name);
        assert_eq!(key(&mut reader, name, &[b"a,b", b" 7", b"2024-02-29"]).unwrap(), "\"a,b\",7,2024-02-29");
        assert_eq!(key(&mut reader, name, &[b"", b"", b"2024-02-29"]).unwrap(), "\"\",,2024-02-29");
        let message = key(&mut reader, name, &[b"a", b"7", b""]).unwrap_err().to_string();
        assert!(message.contains("record 3") && message.contains("on"), "{message}");
    }

    #[test]
    fn guessed_numbers_keep_their_form_and_given_ones_may_be_padded() {
        let mut guessed = reader(vec![column(0, "", "u64", true)], "u64");
        assert_eq!(key(&mut guessed, "u64", &[b"7"]).unwrap(), "7");
        assert_eq!(key(&mut guessed, "u64", &[b"18446744073709551615"]).unwrap(), u64::MAX.to_string());
        for wrong in ["07", " 7", "+7", "", "18446744073709551616", "x"] {
            assert!(key(&mut guessed, "u64", &[wrong.as_bytes()]).is_err(), "{wrong}");
        }
        let mut given = reader(vec![column(0, "id", "u64", false)], "u64");
        for fit in ["07", " 7 ", "+7"] {
            assert_eq!(key(&mut given, "u64", &[fit.as_bytes()]).unwrap(), "7");
        }
        let message = key(&mut given, "u64", &[&[b'x'; 100]]).unwrap_err().to_string();
        assert!(
            message.contains("record 4 of visits.csv") && message.contains("xxx...") && message.len() < 160,
            "{message}"
        );
    }
}
