//! Data of unusual shape: the goal is that what is legal is answered, in bounded memory and rounds of bounded size, and
//! that the rest is a clear error.

use crate::support::{Shelf, parquet_bytes};
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray, UInt64Array};
use ogive_parquet::{BuildOptions, ParquetIndex, Trace};
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

fn ids(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn rows(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter(columns.iter().cloned()).unwrap()
}

#[test]
fn long_values_that_repeat_are_decoded_a_few_at_a_time() {
    const ROWS: u64 = 60_000;
    let text = "x".repeat(4_000);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text.as_str(); ROWS as usize]));
    let shelf = Shelf::new();
    let whole = WriterProperties::builder().set_data_page_row_count_limit(ROWS as usize).build();
    shelf.put("a.parquet", parquet_bytes(&rows(&[("id", ids(0..ROWS)), ("text", texts)]), whole));
    for key in ["id", "text"] {
        shelf.build("a.parquet", &[key], "i");
        let mut found = 0;
        for batch in shelf.open("i").scan::<&[u8]>(.., None).unwrap() {
            let batch = batch.unwrap();
            found += batch.num_rows() as u64;
            let bytes = batch.column(1).get_array_memory_size();
            assert!(bytes <= 80 << 20, "{bytes} bytes after {found} rows");
        }
        assert_eq!(found, ROWS);
    }
}

#[test]
fn rows_that_lie_apart_are_read_in_rounds_of_bounded_size() {
    const ROWS: u64 = 1_500;
    let size = 60_000;
    let values: ArrayRef = Arc::new(BinaryArray::from_iter_values(
        (0..ROWS).map(|row| (0..size).map(|i| (i * 31 + row) as u8).collect::<Vec<u8>>()),
    ));
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(1)
        .set_write_batch_size(1)
        .set_dictionary_enabled(false)
        .build();
    let shelf = Shelf::new();
    let keys = ids((0..ROWS).map(|row| row * 7 % 3));
    shelf.put("a.parquet", parquet_bytes(&rows(&[("id", keys), ("value", values)]), properties));
    assert!(!shelf.build("a.parquet", &["id"], "i").is_sorted);
    let index = shelf.open("i");
    let largest = |trace: &Trace| {
        let rounds = trace.requests.chunk_by(|left, right| left.round == right.round);
        rounds.map(|round| round.iter().map(|request| request.bytes).sum::<u64>()).max()
    };
    let mut scan = index.scan_traced::<&[u8]>(.., None, Some(Trace::new())).unwrap();
    assert_eq!(scan.by_ref().map(|batch| batch.unwrap().num_rows() as u64).sum::<u64>(), ROWS);
    assert!(largest(&scan.into_trace().unwrap()) <= Some(70 << 20));
    let all: Vec<[u8; 8]> = (0..3_u64).map(u64::to_be_bytes).collect();
    let keys: Vec<&[u8]> = all.iter().map(|key| &key[..]).collect();
    let mut trace = Trace::new();
    let found = index.multi_get_traced(&keys, None, Some(&mut trace)).unwrap();
    assert_eq!(found.iter().map(|rows| rows.num_rows() as u64).collect::<Vec<_>>(), [500; 3]);
    assert!(largest(&trace) <= Some(70 << 20));
}

#[test]
fn several_columns_of_a_name_are_refused() {
    let schema = arrow_schema::Schema::new(vec![
        arrow_schema::Field::new("id", arrow_schema::DataType::UInt64, false),
        arrow_schema::Field::new("id", arrow_schema::DataType::UInt64, false),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![ids(0..3), ids(3..6)]).unwrap();
    let shelf = Shelf::new();
    shelf.write("a.parquet", &batch, WriterProperties::default());
    let refused =
        ParquetIndex::build(shelf.storage(), "i", shelf.folder(), BuildOptions::new("a.parquet", &["id"])).unwrap_err();
    assert!(refused.to_string().contains("several columns 'id'"), "{refused}");
}

/// Changes the footer of a file.
fn with_footer(file: &[u8], change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let end = file.len() - 8;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
    let footer = change(file[end - length..end].to_vec());
    [&file[..end - length], &footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

#[test]
fn a_column_of_a_type_of_a_later_parquet_is_what_it_is_stored_as() {
    use parquet::basic::{LogicalType, Repetition, Type as Physical};
    use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;
    let column = Type::primitive_type_builder("b", Physical::FIXED_LEN_BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_length(2)
        .with_logical_type(Some(LogicalType::Float16));
    let fields = vec![Arc::new(column.build().unwrap())];
    let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build().unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut of = group.next_column().unwrap().unwrap();
    let values = ["xx", "yy"].map(|text| FixedLenByteArray::from(text.as_bytes().to_vec()));
    of.typed::<FixedLenByteArrayType>().write_batch(&values, None, None).unwrap();
    of.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    // Half floats are number 15 of the types; now they are 2555.
    let later = with_footer(&file, |footer| {
        let at = footer.windows(3).position(|bytes| bytes == [0xfc, 0, 0]).unwrap();
        [&footer[..at], &[0x0c, 0xf6, 0x27, 0, 0], &footer[at + 3..]].concat()
    });
    let shelf = Shelf::new();
    shelf.put("a.parquet", later);
    shelf.build("a.parquet", &["b"], "i");
    let index = shelf.open("i");
    assert_eq!(index.key_type(), ogive::KeyType::FixedBytes(2));
    assert_eq!(index.get(b"yy", None).unwrap().num_rows(), 1);
    assert!(index.verify(&mut |_, _| ()).unwrap().is_sound());
}

#[test]
fn a_dictionary_whose_header_is_not_counted_is_read() {
    use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData};
    let names: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "x", "z"]));
    let numbers = ids([4, 4, 5, 5].into_iter());
    let properties = WriterProperties::builder()
        .set_offset_index_disabled(true)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .set_writer_version(parquet::file::properties::WriterVersion::PARQUET_1_0)
        .build();
    let file = parquet_bytes(&rows(&[("name", names), ("id", numbers)]), properties);
    let old = with_footer(&file, |footer| {
        let metadata = ParquetMetaDataReader::decode_metadata(&footer).unwrap();
        let group = metadata.row_group(0).clone();
        let column = |column: &parquet::file::metadata::ColumnChunkMetaData| {
            let first = column.dictionary_page_offset().unwrap();
            // The headers of these dictionaries have 14 bytes, as their first data pages show.
            let header = 14;
            assert!(column.data_page_offset() > first + header);
            let changed = column.clone().into_builder();
            let changed = changed.set_dictionary_page_offset(None).set_data_page_offset(first);
            changed.set_total_compressed_size(column.compressed_size() - header).build().unwrap()
        };
        let columns = group.columns().iter().map(column).collect();
        let group: RowGroupMetaData = group.into_builder().set_column_metadata(columns).build().unwrap();
        let metadata = ParquetMetaData::new(metadata.file_metadata().clone(), vec![group]);
        let mut written = Vec::new();
        ParquetMetaDataWriter::new(&mut written, &metadata).finish().unwrap();
        written.truncate(written.len() - 8);
        written
    });
    let shelf = Shelf::new();
    shelf.put("a.parquet", old);
    for key in ["id", "name"] {
        shelf.build("a.parquet", &[key], "i");
        let found: Vec<RecordBatch> = shelf.open("i").scan::<&[u8]>(.., None).unwrap().map(Result::unwrap).collect();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 4, "{key}");
    }
}
