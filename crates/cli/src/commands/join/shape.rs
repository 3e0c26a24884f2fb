//! Formatting of joined rows as text, CSV and JSON: the key, then the fields of both sides, the same in all rows.

use super::arguments::OutputFormat;
use crate::failure::Result;
use crate::values::key;
use crate::values::records::RecordFields;
use crate::values::value;
use ogive::KeyType;
use ogive::join::{JoinKind, JoinSource, JoinedRecords};
use ogive::types::{ColumnPlace, RecordColumn, RecordType, ValueType};
use ogive_text::{Quote, Separated};

/// Makes records of joined rows, and their text.
#[derive(Clone, Debug)]
pub(super) struct RowShape {
    records: JoinedRecords,
    fields: RecordFields,
    row: Vec<u8>,
    quote: Option<Quote>,
    /// Takes the keys apart, if the values of both sides are the rest of a row of text.
    printed: Option<PrintedShape>,
}

/// Rows whose values are printed already.
#[derive(Clone, Debug)]
struct PrintedShape {
    keys: RecordFields,
    form: Separated,
    /// What stands for the value of a side that a row lacks.
    nulls: [Vec<u8>; 2],
    kind: JoinKind,
}

impl RowShape {
    /// The rows of a join of this kind. The keys of the left side are of this type, whatever its source states.
    ///
    /// # Errors
    /// [`ogive::Cause::Input`] for more fields than a row has.
    pub(super) fn new(left: &JoinSource, right: &JoinSource, kind: JoinKind, left_keys: KeyType) -> Result<Self> {
        let records = JoinedRecords::of(left, right, kind)?;
        let returned = records.record_type().keys;
        // Bytes are shown as the keys that are known of them.
        let is_stated = left.key_type() == left_keys;
        let shown = match returned {
            KeyType::Bytes => left_keys,
            _ if is_stated => returned,
            KeyType::Tuple(_) => left_keys.with_nulls()?,
            _ => left_keys,
        };
        let fields = RecordFields::new(&RecordType { keys: shown, ..records.record_type().clone() });
        Ok(Self { records, fields, row: Vec::new(), quote: None, printed: None })
    }

    /// The same for values that are the rest of a row in this form, of sources with these types.
    pub(super) fn printed(self, form: Separated, sources: [&JoinSource; 2], kind: JoinKind) -> Self {
        let nulls = sources.map(|source| {
            let mut nulls = Vec::new();
            source.record_type().values.fields().iter().for_each(|_| form.rest_of_row(&mut nulls).field(None));
            nulls
        });
        let types = self.fields.types();
        let keys = RecordType::new(types.keys, ValueType::default()).key_columns(types.key_columns.clone());
        let printed = PrintedShape { keys: RecordFields::new(&keys.keys_only()), form, nulls, kind };
        Self { printed: Some(printed), ..self }
    }

    /// The same, with this quote in tab-separated fields.
    pub(super) fn quoted(self, quote: Option<Quote>) -> Self {
        Self { quote, ..self }
    }

    /// The types of the records.
    pub(super) fn record_type(&self) -> &RecordType {
        self.records.record_type()
    }

    /// The types that an output of this format has: as the engine writes them, or as text shows them.
    pub(super) fn types(&self, to: OutputFormat) -> &RecordType {
        match to {
            OutputFormat::Table | OutputFormat::Records => self.record_type(),
            #[cfg(feature = "parquet")]
            OutputFormat::Parquet => self.record_type(),
            OutputFormat::Text | OutputFormat::Csv | OutputFormat::Tsv | OutputFormat::Jsonl => self.fields.types(),
        }
    }

    /// The fields of each row that an output of this format has as text: those of the key, if the others are printed
    /// before.
    pub(super) fn formatted_fields(&self, to: OutputFormat, is_printed: bool) -> Option<u32> {
        let is_text = matches!(to, OutputFormat::Text | OutputFormat::Csv | OutputFormat::Tsv | OutputFormat::Jsonl);
        let columns = self.fields.types().columns();
        let is_formatted = |column: &&RecordColumn| !is_printed || matches!(column.place, ColumnPlace::Key(_));
        let fields = columns.iter().filter(is_formatted).count();
        is_text.then(|| u32::try_from(fields).unwrap_or(u32::MAX))
    }

    /// The first line of a format; empty if it has none.
    pub(super) fn header(&self, to: OutputFormat) -> Vec<u8> {
        let mut header = Vec::new();
        if let Some(form) = to.separated(self.quote) {
            self.fields.header(form, &mut header);
        }
        header
    }

    /// The value of a record with this key.
    ///
    /// # Errors
    /// [`ogive::Cause::Input`] for values that are not of the types of their sides.
    pub(super) fn value(&mut self, key: &[u8], [left, right]: [Option<&[u8]>; 2]) -> ogive::Result<&[u8]> {
        self.row.clear();
        self.records.append(key, left, right, &mut self.row)?;
        Ok(&self.row)
    }

    /// Appends the line of a row.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub(super) fn push(
        &mut self,
        to: OutputFormat,
        key: &[u8],
        values: [Option<&[u8]>; 2],
        line: &mut Vec<u8>,
    ) -> ogive::Result<()> {
        if let Some(printed) = &self.printed {
            printed.push(key, values, line);
            return Ok(());
        }
        self.value(key, values)?;
        match to.separated(self.quote) {
            Some(form) => self.fields.row(key, &self.row, form, line),
            None if to == OutputFormat::Jsonl => {
                line.extend_from_slice(self.fields.json(key, Some(&self.row)).as_bytes());
                line.push(b'\n');
            }
            None => {
                let types = self.fields.types();
                line.extend_from_slice(key::shown(types.keys, key).as_bytes());
                if !types.values.is_bytes() {
                    line.push(b'\t');
                    line.extend_from_slice(value::shown(&types.values, &self.row).as_bytes());
                }
                line.push(b'\n');
            }
        }
        Ok(())
    }
}

impl PrintedShape {
    fn push(&self, key: &[u8], values: [Option<&[u8]>; 2], line: &mut Vec<u8>) {
        let mut row = self.keys.start_row(key, &[], self.form, line);
        let sides = if self.kind.pairs() { 2 } else { 1 };
        for (value, nulls) in values.into_iter().zip(&self.nulls).take(sides) {
            row.written(value.unwrap_or(nulls));
        }
        row.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::join::RecordShape;
    use ogive::types::KeyColumn;

    fn side(values: &str) -> JoinSource {
        let shape = RecordShape { name: "rows".into(), key_type: KeyType::U64, value_bytes: None, rows: 0, bytes: 0 };
        let types = RecordType::new(KeyType::U64, values.parse::<ValueType>().unwrap())
            .key_columns(vec![KeyColumn { name: "id".into(), position: 3 }]);
        JoinSource::unsorted(shape, || Box::new(std::iter::empty())).with_types(types)
    }

    fn rows(kind: JoinKind, to: OutputFormat) -> String {
        let (left, right) = (side("{name: text}"), side("bytes"));
        let mut shape = RowShape::new(&left, &right, kind, KeyType::U64).unwrap();
        let mut lines = shape.header(to);
        let name = |name: &str| left.record_type().values.parse(name).unwrap();
        shape.push(to, &7_u64.to_be_bytes(), [Some(&name("\"ann, bo\"")), Some(b"\"9")], &mut lines).unwrap();
        shape.push(to, &8_u64.to_be_bytes(), [Some(&name("\"\"")), None], &mut lines).unwrap();
        if kind == JoinKind::Full {
            shape.push(to, &9_u64.to_be_bytes(), [None, Some(b"odd")], &mut lines).unwrap();
        }
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn all_rows_have_the_same_fields() {
        let full = |to| rows(JoinKind::Full, to);
        assert_eq!(full(OutputFormat::Text), "7\tann, bo\t\"9\n8\t\t\n9\t\todd\n");
        assert_eq!(full(OutputFormat::Csv), "id,name,right\n7,\"ann, bo\",\"\"\"9\"\n8,\"\",\n9,,odd\n");
        assert_eq!(full(OutputFormat::Tsv), "id\tname\tright\n7\tann, bo\t\"9\n8\t\t\\N\n9\t\\N\todd\n");
        let objects = concat!(
            "{\"id\":7,\"name\":\"ann, bo\",\"right\":\"\\\"9\"}\n",
            "{\"id\":8,\"name\":\"\",\"right\":null}\n",
            "{\"id\":9,\"name\":null,\"right\":\"odd\"}\n"
        );
        assert_eq!(full(OutputFormat::Jsonl), objects);
        assert!(rows(JoinKind::Semi, OutputFormat::Csv).starts_with("id,name\n7,\"ann, bo\"\n8,\"\"\n"));
    }
}
