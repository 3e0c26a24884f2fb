//! Relations with random rows, in every form, and the same rows in memory.

use arrow_array::RecordBatch;
use ogive::index::{AnyIndex, IndexOptions};
use ogive::types::{Field, KeyColumn, KeyType, RecordType, RowBuilder, RowType, Value, ValueType};
use ogive::{Db, DbOptions, LocalStorage, Storage, TableWriteOptions, TableWriter};
use ogive_arrow::RecordBatchBuilder;
use ogive_datafusion::{OgiveOptions, OgiveTable};
use ogive_parquet::{BuildOptions, ParquetIndex, PathFolder};
use ogive_testkit::Random;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;

/// Types of keys; those of several components have `part` as the second column.
pub(crate) const KEY_TYPES: [&str; 16] = [
    "u64",
    "i64",
    "i32",
    "u8",
    "text",
    "f64",
    "date",
    "decimal(9,2)",
    "(i32, text)",
    "(u16 desc, text desc)",
    "(i64?, text?)",
    "(text? nulls first, text)",
    "u128",
    "i128",
    "(u128 desc, i128? nulls first)",
    "bytes4",
];

/// What holds the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Store,
    Index,
    Parquet,
    UnsortedParquet,
    Folder,
}

pub(crate) const FORMS: [Form; 6] =
    [Form::Table, Form::Store, Form::Index, Form::Parquet, Form::UnsortedParquet, Form::Folder];

pub(crate) fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// Random rows of one key type.
pub(crate) struct Rows {
    pub(crate) types: RecordType,
    /// Keys and values, in the order of keys.
    pub(crate) records: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) batch: RecordBatch,
}

/// The value of a component for a number, in the order of the numbers, and the literal of the same in SQL.
pub(crate) fn component(key_type: KeyType, number: u64) -> (Value, String) {
    let signed = number as i128 - 60;
    match key_type {
        KeyType::U64 | KeyType::U8 | KeyType::U16 => (Value::Unsigned(number.into()), number.to_string()),
        // Across all values, so that few of them have less than 39 digits.
        KeyType::U128 => {
            let value = u128::from(number.min(999)) * (u128::MAX / 1000) + u128::MAX % 1000;
            (Value::Unsigned(value), format!("cast('{value}' as decimal(39,0))"))
        }
        KeyType::I128 => {
            let value = i128::MIN + i128::from(number.min(999)) * (i128::MAX / 500);
            (Value::Signed(value), format!("cast('{value}' as decimal(39,0))"))
        }
        KeyType::I64 | KeyType::I32 => (Value::Signed(signed), signed.to_string()),
        KeyType::Text => (Value::Text(format!("k{number:03}")), format!("'k{number:03}'")),
        KeyType::F64 => (Value::Float(number as f64 / 4.0 - 9.0), format!("{:.2}", number as f64 / 4.0 - 9.0)),
        KeyType::Date => (Value::Signed(number.into()), format!("date '1970-01-01' + interval '{number} days'")),
        KeyType::FixedBytes(_) => {
            let bytes = (number as u32).to_be_bytes();
            (Value::Bytes(bytes.to_vec()), format!("arrow_cast(x'{:08x}', 'FixedSizeBinary(4)')", number as u32))
        }
        _ => {
            let sign = if signed < 0 { "-" } else { "" };
            let digits = format!("{sign}{}.{:02}", signed.abs() / 100, signed.abs() % 100);
            (Value::Signed(signed), format!("cast('{digits}' as decimal(9,2))"))
        }
    }
}

/// The value of a key for a number; not in the order of the numbers for tuples.
fn key_value(key_type: KeyType, number: u64) -> Value {
    let KeyType::Tuple(tuple) = key_type else { return component(key_type, number).0 };
    let parts: Vec<_> = tuple.components().collect();
    let of = |at: usize, number: u64| match parts[at].nulls {
        ogive::types::NullOrder::Never => component(parts[at].key_type, number).0,
        _ if number % 5 == 1 => Value::Null,
        _ => component(parts[at].key_type, number).0,
    };
    Value::Tuple(vec![of(0, number / 7), of(1, number % 7)])
}

impl Rows {
    pub(crate) fn random(random: &mut Random, key_type: KeyType, count: u64, is_distinct: bool) -> Self {
        let fields = vec![
            Field::new("number", KeyType::I64),
            Field::new("name", KeyType::Text).nullable(),
            Field::new("weight", KeyType::F64).nullable(),
        ];
        let values = ValueType::Row(RowType::new(fields).unwrap());
        let names: &[&str] = if matches!(key_type, KeyType::Tuple(_)) { &["key", "part"] } else { &["key"] };
        let column = |(at, name): (usize, &&str)| KeyColumn { name: (*name).to_owned(), position: at as u16 };
        let types = RecordType::new(key_type, values).key_columns(names.iter().enumerate().map(column).collect());
        let limit = match key_type {
            KeyType::U8 => 256,
            KeyType::Text | KeyType::U128 | KeyType::I128 => 1000,
            _ => 1 << 20,
        };
        let step = if is_distinct { 1 } else { 1 + random.below(9) };
        let gaps = 1 + random.below(3);
        let mut records = Vec::new();
        let ValueType::Row(row_type) = &types.values else { unreachable!() };
        let mut row = RowBuilder::new(row_type.clone());
        for number in (0..count).take_while(|number| number / step * gaps < limit) {
            let key = key_type.encode(&key_value(key_type, number / step * gaps)).unwrap();
            row.push(&Value::Signed(number.into())).unwrap();
            row.push(&if number % 5 == 0 { Value::Null } else { Value::Text(format!("n{}", number % 4)) }).unwrap();
            row.push(&if number % 7 == 0 { Value::Null } else { Value::Float(number as f64 / 8.0) }).unwrap();
            let mut value = Vec::new();
            row.finish(&mut value).unwrap();
            records.push((key, value));
        }
        records.sort_by(|one, other| one.0.cmp(&other.0));
        if is_distinct {
            records.dedup_by(|one, other| one.0 == other.0);
        }
        let mut builder = RecordBatchBuilder::new(&types);
        records.iter().for_each(|(key, value)| builder.append(key, Some(value)).unwrap());
        let batch = builder.finish().unwrap();
        Self { types, records, batch }
    }

    /// Whether a form can hold the rows.
    pub(crate) fn fits(&self, form: Form) -> bool {
        let is_distinct = self.records.windows(2).all(|pair| pair[0].0 != pair[1].0);
        let key_type = self.types.keys;
        match form {
            Form::Table | Form::Folder => true,
            Form::Store => is_distinct,
            Form::Index => key_type.width().is_some_and(|width| (1..=16).contains(&width)),
            // Negative zeros and NaNs of floats in files are compared by DataFusion alone; no integers of 128 bits.
            Form::Parquet | Form::UnsortedParquet => {
                !self.records.is_empty() && !matches!(key_type, KeyType::U128 | KeyType::I128)
            }
        }
    }

    /// Writes the rows in a form, and opens them.
    pub(crate) fn open(&self, random: &mut Random, folder: &Path, form: Form) -> OgiveTable {
        let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
        let location = match form {
            Form::Table => {
                let path = folder.join("t.ogive");
                self.write_table(random, &storage, "t.ogive", &self.records);
                path
            }
            Form::Folder => {
                std::fs::create_dir(folder.join("tables")).unwrap();
                let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.join("tables")));
                let parts = 1 + random.below(4) as usize;
                for (number, part) in self.records.chunks(self.records.len().div_ceil(parts).max(1)).enumerate() {
                    self.write_table(random, &storage, &format!("part-{number}.ogive"), part);
                }
                if self.records.is_empty() {
                    self.write_table(random, &storage, "part.ogive", &[]);
                }
                folder.join("tables")
            }
            Form::Store => self.write_store(random, folder),
            Form::Index => self.write_index(random, &storage, folder),
            Form::Parquet => self.write_parquet(random, &storage, folder, true),
            Form::UnsortedParquet => self.write_parquet(random, &storage, folder, false),
        };
        OgiveOptions::default().open(location.to_str().unwrap()).unwrap().unwrap()
    }

    fn write_table(&self, random: &mut Random, storage: &Arc<dyn Storage>, name: &str, records: &[(Vec<u8>, Vec<u8>)]) {
        let block_bytes = *pick(random, &[512, 4096]);
        let options = TableWriteOptions::default().record_type(self.types.clone()).block_bytes(Some(block_bytes));
        let mut writer = TableWriter::create((storage.clone(), name), options).unwrap();
        records.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
        writer.finish().unwrap();
    }

    fn write_store(&self, random: &mut Random, folder: &Path) -> std::path::PathBuf {
        let path = folder.join("store");
        let options = DbOptions::default().levels(|levels| levels.table_bytes(64 << 10));
        let db = Db::open(&path, &options).unwrap();
        let declared = |name| db.keyspace(name).and_then(|keyspace| keyspace.declare(&self.types));
        let keyspace = declared("default").or_else(|_| declared("rows")).unwrap().keyspace().clone();
        for (number, (key, value)) in self.records.iter().enumerate() {
            // Old versions and removed records are there, too.
            if random.one_in(8) {
                keyspace.insert(key, value).unwrap();
                keyspace.remove(key).unwrap();
            }
            keyspace.insert(key, value).unwrap();
            if number % 20_000 == 19_999 {
                db.flush().unwrap();
            }
        }
        if random.one_in(2) {
            db.compact().unwrap();
        }
        let name = keyspace.name().to_owned();
        db.close().unwrap();
        if name == "default" { path } else { format!("{}#{name}", path.display()).into() }
    }

    fn write_index(&self, random: &mut Random, storage: &Arc<dyn Storage>, folder: &Path) -> std::path::PathBuf {
        let options = IndexOptions::default().record_type(self.types.clone()).payload_bytes(64).duplicates(true);
        let index = AnyIndex::create((storage, "t.index"), &options).unwrap();
        let entries: Vec<(u128, Vec<u8>)> = self
            .records
            .iter()
            .map(|(key, value)| (AnyIndex::word_of(key), index.encode_value(value).unwrap()))
            .collect();
        let in_place = random.one_in(2);
        match &index {
            AnyIndex::Short(index) => {
                let mut write = index.write().unwrap();
                let entries = entries.iter().map(|(word, payload)| (AnyIndex::raw(*word), payload.clone()));
                match in_place {
                    true => entries.for_each(|(key, payload)| _ = write.insert(key, payload).unwrap()),
                    false => _ = write.bulk_load(entries).unwrap(),
                }
                write.commit().unwrap();
            }
            AnyIndex::Long(index) => {
                let mut write = index.write().unwrap();
                let entries = entries.iter().map(|(word, payload)| (AnyIndex::raw(*word), payload.clone()));
                write.bulk_load(entries).unwrap();
                write.commit().unwrap();
            }
        }
        index.close().unwrap();
        folder.join("t.index")
    }

    fn write_parquet(
        &self,
        random: &mut Random,
        storage: &Arc<dyn Storage>,
        folder: &Path,
        is_sorted: bool,
    ) -> std::path::PathBuf {
        let rows = self.batch.num_rows();
        let batch = match is_sorted {
            true => self.batch.clone(),
            false => {
                let mut places: Vec<u64> = (0..rows as u64).collect();
                (1..rows).rev().for_each(|at| places.swap(at, random.below(at as u64 + 1) as usize));
                let places = arrow_array::UInt64Array::from(places);
                arrow_select::take::take_record_batch(&self.batch, &places).unwrap()
            }
        };
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(5_000))
            .set_data_page_row_count_limit(500)
            .set_write_batch_size(100)
            .build();
        let file = std::fs::File::create(folder.join("t.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let key: &[&str] = if matches!(self.types.keys, KeyType::Tuple(_)) { &["key", "part"] } else { &["key"] };
        let beside = Arc::new(PathFolder::new(folder));
        ParquetIndex::build(storage.clone(), "t.idx", beside, BuildOptions::new("t.parquet", key)).unwrap();
        folder.join("t.idx")
    }
}
