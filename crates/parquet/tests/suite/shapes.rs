//! Files of random shape: the goal is that lookups, scans, counts, ranks, verification and updates answer as the plain
//! rows do, whatever the types, encodings, compressions, page and row group sizes, page versions, nulls, orders and
//! repeats. Shapes are drawn from fixed seeds, and a failure prints its seed.

use crate::support::{Shelf, parquet_bytes};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int8Array,
    Int32Array, Int64Array, ListArray, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array, UInt64Array,
    types::Int32Type,
};
use ogive::KeyType;
use ogive::types::Value;
use ogive_parquet::{BuildOptions, ParquetIndex, ParquetRows};
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use std::sync::Arc;

/// Shapes of each run.
const SEEDS: u64 = 24;

/// A generator of numbers from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// The columns that keys are drawn from.
const KEY_COLUMNS: [&str; 12] =
    ["u64", "i64", "i32", "i8", "u32", "text", "bytes", "date", "timestamp", "decimal", "f64", "fixed"];

fn column(name: &str, codes: &[Option<i64>]) -> ArrayRef {
    let of = codes.iter().copied();
    match name {
        "u64" => {
            Arc::new(of.map(|code| code.map(|code| (code as u64).wrapping_mul(1_000_003))).collect::<UInt64Array>())
        }
        "i64" => Arc::new(of.map(|code| code.map(|code| code * 11 - 5_000)).collect::<Int64Array>()),
        "i32" => Arc::new(of.map(|code| code.map(|code| code as i32 - 500)).collect::<Int32Array>()),
        "i8" => Arc::new(of.map(|code| code.map(|code| code as i8)).collect::<Int8Array>()),
        "u32" => Arc::new(of.map(|code| code.map(|code| code as u32 * 7)).collect::<UInt32Array>()),
        "text" => Arc::new(of.map(|code| code.map(|code| format!("key-{code:05}"))).collect::<StringArray>()),
        "bytes" => Arc::new(of.map(|code| code.map(|code| code.to_be_bytes())).collect::<BinaryArray>()),
        "date" => Arc::new(of.map(|code| code.map(|code| code as i32 - 100)).collect::<Date32Array>()),
        "timestamp" => {
            Arc::new(of.map(|code| code.map(|code| code * 1_000_000)).collect::<TimestampMicrosecondArray>())
        }
        "decimal" => {
            let values: Decimal128Array = of.map(|code| code.map(|code| i128::from(code) - 50)).collect();
            Arc::new(values.with_precision_and_scale(12, 2).unwrap())
        }
        "f64" => Arc::new(of.map(|code| code.map(|code| code as f64 / 4.0 - 9.0)).collect::<Float64Array>()),
        "fixed" => {
            let values = of.map(|code| code.map(|code| i128::from(code).to_be_bytes()));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16).unwrap())
        }
        "bool" => Arc::new(of.map(|code| code.map(|code| code % 2 == 0)).collect::<BooleanArray>()),
        _ => {
            let lists = of.map(|code| code.map(|code| (0..code % 4).map(|it| Some(it as i32)).collect::<Vec<_>>()));
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))
        }
    }
}

/// The key of a code, as the documents define it.
fn key_of(name: &str, code: Option<i64>) -> Value {
    let Some(code) = code else { return Value::Null };
    match name {
        "u64" => Value::Unsigned((code as u64).wrapping_mul(1_000_003).into()),
        "i64" => Value::Signed((code * 11 - 5_000).into()),
        "i32" => Value::Signed((code - 500).into()),
        "i8" => Value::Signed((code as i8).into()),
        "u32" => Value::Unsigned((code as u32 * 7).into()),
        "text" => Value::Text(format!("key-{code:05}")),
        "bytes" => Value::Bytes(code.to_be_bytes().to_vec()),
        "date" => Value::Signed((code - 100).into()),
        "timestamp" => Value::Signed((code * 1_000_000).into()),
        "decimal" => Value::Signed((code - 50).into()),
        "f64" => Value::Float(code as f64 / 4.0 - 9.0),
        _ => Value::Bytes(i128::from(code).to_be_bytes().to_vec()),
    }
}

fn properties(draw: &mut Draw) -> WriterProperties {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
    ];
    let mut builder = WriterProperties::builder()
        .set_compression(draw.pick(&compressions))
        .set_writer_version(draw.pick(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]))
        .set_dictionary_enabled(!draw.chance(3))
        .set_write_batch_size(1 + draw.below(60) as usize)
        .set_data_page_row_count_limit(1 + draw.below(200) as usize)
        .set_data_page_size_limit(64 + draw.below(4000) as usize)
        .set_dictionary_page_size_limit(32 + draw.below(2000) as usize)
        .set_max_row_group_row_count(Some(1 + draw.below(700) as usize))
        .set_statistics_enabled(draw.pick(&[
            EnabledStatistics::None,
            EnabledStatistics::Chunk,
            EnabledStatistics::Page,
        ]))
        .set_offset_index_disabled(draw.chance(3));
    if draw.chance(3) {
        let encoding = |name: &str, encoding| (parquet::schema::types::ColumnPath::from(name), encoding);
        for (path, encoding) in [
            encoding("u64", Encoding::DELTA_BINARY_PACKED),
            encoding("i32", Encoding::DELTA_BINARY_PACKED),
            encoding("text", Encoding::DELTA_BYTE_ARRAY),
            encoding("bytes", Encoding::DELTA_LENGTH_BYTE_ARRAY),
            encoding("f64", Encoding::BYTE_STREAM_SPLIT),
            encoding("i64", Encoding::BYTE_STREAM_SPLIT),
        ] {
            builder = builder.set_column_encoding(path.clone(), encoding).set_column_dictionary_enabled(path, false);
        }
    }
    builder.build()
}

/// The files of a shape: codes of rows, in the order of the files.
struct Shape {
    key: Vec<&'static str>,
    files: Vec<Vec<Option<i64>>>,
}

fn draw_files(draw: &mut Draw) -> Vec<Vec<Option<i64>>> {
    let rows = draw.pick(&[0, 1, 2, 50, 700, 1500]) as usize;
    let distinct = draw.pick(&[1, 5, 120, 100_000]);
    let with_nulls = draw.chance(3);
    let mut codes: Vec<Option<i64>> =
        (0..rows).map(|_| Some(draw.below(distinct) as i64).filter(|_| !(with_nulls && draw.chance(9)))).collect();
    match draw.below(4) {
        0 => {}
        1 => codes.sort_by_key(|code| (code.is_none(), *code)),
        _ => codes.sort(),
    }
    let files = 1 + draw.below(3) as usize;
    let mut split: Vec<Vec<Option<i64>>> = codes.chunks(rows.div_ceil(files).max(1)).map(<[_]>::to_vec).collect();
    if split.is_empty() {
        split.push(Vec::new());
    }
    if draw.chance(4) {
        split.reverse();
    }
    split
}

fn batch_of(shape_key: &[&'static str], codes: &[Option<i64>], first_row: usize) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for name in ["bool", "lists"].into_iter().chain(KEY_COLUMNS) {
        // Columns beside the key have values of their own.
        let own: Vec<Option<i64>> = match shape_key.contains(&name) {
            true => codes.to_vec(),
            false => (0..codes.len()).map(|row| Some((row * 7 % 90) as i64).filter(|it| it % 11 > 0)).collect(),
        };
        columns.push((name.to_owned(), column(name, &own)));
    }
    let rows = (first_row..first_row + codes.len()).map(|row| row as u64);
    columns.push(("row".to_owned(), Arc::new(rows.collect::<UInt64Array>())));
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| {
        let nullable = name != "row";
        (name, array, nullable)
    }))
    .unwrap()
}

fn key_bytes(key_type: KeyType, names: &[&str], code: Option<i64>) -> Option<Vec<u8>> {
    let values: Vec<Value> = names.iter().map(|name| key_of(name, code)).collect();
    match key_type {
        KeyType::Tuple(_) => key_type.encode(&Value::Tuple(values)).ok(),
        _ => key_type.encode(&values[0]).ok(),
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<u64> {
    crate::support::u64s(batch, "row")
}

fn write_files(shelf: &Shelf, draw: &mut Draw, shape: &Shape) -> RecordBatch {
    let mut batches = Vec::new();
    let mut first_row = 0;
    for (number, codes) in shape.files.iter().enumerate() {
        let batch = batch_of(&shape.key, codes, first_row);
        shelf.put(&format!("{number}.parquet"), parquet_bytes(&batch, properties(draw)));
        first_row += codes.len();
        batches.push(batch);
    }
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn check(index: &ParquetIndex, shape: &Shape, all: &RecordBatch, draw: &mut Draw) {
    let key_type = index.key_type();
    let codes: Vec<Option<i64>> = shape.files.iter().flatten().copied().collect();
    let mut sorted: Vec<(Vec<u8>, u64)> = Vec::new();
    for (row, &code) in codes.iter().enumerate() {
        sorted.push((key_bytes(key_type, &shape.key, code).unwrap(), row as u64));
    }
    sorted.sort();
    let mut asked: Vec<Option<i64>> = (0..8).map(|_| Some(draw.below(100_001) as i64)).collect();
    asked.extend((0..12).filter_map(|_| codes.get(draw.below(codes.len().max(1) as u64) as usize).copied()));
    asked.extend([None, Some(0)]);
    let keys: Vec<Vec<u8>> = asked.iter().filter_map(|&code| key_bytes(key_type, &shape.key, code)).collect();
    for key in &keys {
        let expected: Vec<u64> = sorted.iter().filter(|(known, _)| known == key).map(|&(_, row)| row).collect();
        let found = index.get(key, None).unwrap();
        let mut rows = rows_of(&found);
        rows.sort_unstable();
        assert_eq!(rows, expected, "get {}", key_type.display(key));
        for (at, &row) in rows_of(&found).iter().enumerate() {
            assert_eq!(found.slice(at, 1), all.slice(row as usize, 1), "row {row}");
        }
        // Rows with null keys count only where a null is asked for.
        let is_null = |key: &Vec<u8>| key_bytes(key_type, &shape.key, None).as_ref() == Some(key);
        let below = sorted.iter().filter(|(known, _)| known < key && (is_null(key) || !is_null(known))).count() as u64;
        assert_eq!(index.rank(key).unwrap(), below, "rank {}", key_type.display(key));
        let other = draw.pick(&(0..keys.len()).collect::<Vec<_>>());
        let up_to = sorted.iter().filter(|(known, _)| key <= known && *known <= keys[other]).count() as u64;
        assert_eq!(index.count::<&[u8]>(&key[..]..=&keys[other][..]).unwrap(), up_to);
        let mut rows: Vec<u64> = Vec::new();
        let mut last: Option<Vec<u8>> = None;
        for batch in index.scan::<&[u8]>(&key[..]..&keys[other][..], Some(&["row"])).unwrap() {
            for row in rows_of(&batch.unwrap()) {
                let key = key_bytes(key_type, &shape.key, codes[row as usize]);
                assert!(last <= key, "scans ascend");
                last = key;
                rows.push(row);
            }
        }
        rows.sort_unstable();
        let mut expected: Vec<u64> =
            sorted.iter().filter(|(known, _)| key <= known && known < &keys[other]).map(|&(_, row)| row).collect();
        expected.sort_unstable();
        assert_eq!(rows, expected, "scan");
    }
    let together: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    for (key, found) in keys.iter().zip(index.multi_get(&together, Some(&["row", "lists"])).unwrap()) {
        let expected = sorted.iter().filter(|(known, _)| known == key).count();
        assert_eq!(found.num_rows(), expected, "multi_get {}", key_type.display(key));
    }
    let report = index.verify(&mut |_, _| ()).unwrap();
    assert!(report.is_sound() && report.rows == codes.len() as u64, "{report:?}");
}

fn run(seed: u64) {
    let mut draw = Draw(seed);
    let mut key = vec![draw.pick(&KEY_COLUMNS)];
    if draw.chance(4) {
        let second = draw.pick(&KEY_COLUMNS);
        if second != key[0] {
            key.push(second);
        }
    }
    let mut shape = Shape { key, files: draw_files(&mut draw) };
    if shape.key.contains(&"i8") {
        shape.files.iter_mut().flatten().for_each(|code| *code = code.map(|code| code % 100));
    }
    let shelf = Shelf::new();
    let profile = if seed.is_multiple_of(2) { "s3" } else { "optane" };
    let all = write_files(&shelf, &mut draw, &shape);
    shelf.build("", &shape.key, "index");
    check(&shelf.open_for("index", profile), &shape, &all, &mut draw);
    check_rows(&shelf, &shape, &all, &mut draw);
    // A file goes, another comes.
    let codes = draw_files(&mut draw).concat().into_iter().map(|code| code.map(|code| code % 100)).collect();
    shape.files.push(codes);
    let number = shape.files.len() - 1;
    let batch = batch_of(&shape.key, &shape.files[number], all.num_rows());
    shelf.put(&format!("{number}.parquet"), parquet_bytes(&batch, properties(&mut draw)));
    let all = arrow_select::concat::concat_batches(&all.schema(), [&all, &batch]).unwrap();
    ParquetIndex::update(shelf.storage(), "index", shelf.folder(), BuildOptions::new("", &[])).unwrap();
    check(&shelf.open_for("index", profile), &shape, &all, &mut draw);
}

/// Each file by itself has its rows in their order.
fn check_rows(shelf: &Shelf, shape: &Shape, all: &RecordBatch, draw: &mut Draw) {
    let mut start = 0;
    for (number, codes) in shape.files.iter().enumerate() {
        let wanted = all.slice(start, codes.len());
        start += codes.len();
        let name = format!("{number}.parquet");
        let rows = ParquetRows::in_folder(shelf.folder(), &name, None).unwrap();
        assert_eq!(rows.len(), codes.len() as u64);
        let schema = rows.schema();
        let found = rows.map(Result::unwrap).collect::<Vec<_>>();
        assert_eq!(arrow_select::concat::concat_batches(&schema, &found).unwrap().columns(), wanted.columns());
        let column = draw.below(wanted.num_columns() as u64) as usize;
        let names = [all.schema_ref().field(column).name().as_str()];
        let one = ParquetRows::in_folder(shelf.folder(), &name, Some(&names)).unwrap();
        let values = one.map(|batch| batch.unwrap().column(0).clone()).collect::<Vec<_>>();
        let values = values.iter().map(|values| &**values).collect::<Vec<_>>();
        if !values.is_empty() {
            assert_eq!(&arrow_select::concat::concat(&values).unwrap(), wanted.column(column));
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the environment asks for more seeds, and for how long")]
fn files_of_any_shape_answer_as_their_rows_do() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (seconds, first) = (number("OGIVE_SHAPES_SECONDS").unwrap_or(0), number("OGIVE_SHAPES_SEED").unwrap_or(1));
    let started = std::time::Instant::now();
    for seed in first.. {
        if seed >= first + SEEDS && started.elapsed().as_secs() >= seconds {
            break;
        }
        let outcome = std::panic::catch_unwind(|| run(seed));
        assert!(outcome.is_ok(), "repeat with OGIVE_SHAPES_SEED={seed}");
    }
}
