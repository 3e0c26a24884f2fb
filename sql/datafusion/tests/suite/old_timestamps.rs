//! Timestamps of the type INT96 in Parquet files that are queried themselves: they are those that indexes beside the
//! files and the command read.

use crate::{ours, rows};
use datafusion::prelude::ParquetReadOptions;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// The day of 1970-01-01 in the count of INT96.
const EPOCH: i32 = 2_440_588;

#[tokio::test(flavor = "multi_thread")]
async fn timestamps_of_96_bits_have_microseconds_and_do_not_wrap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let schema = Arc::new(parse_message_type("message rows { optional int96 at; }").unwrap());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    // 9999-12-31, 0001-01-01 and a time of today.
    let values = [(EPOCH + 2_932_896, 0), (EPOCH - 719_162, 1000), (EPOCH + 19_723, 1_000)];
    let values =
        values.map(|(day, ns): (i32, u64)| Int96::from(vec![ns as u32, (ns >> 32) as u32, day.cast_unsigned()]));
    column.typed::<Int96Type>().write_batch(&values, Some(&[1, 1, 1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();

    let context = ours(2);
    context.register_parquet("t", path.to_str().unwrap(), ParquetReadOptions::default()).await.unwrap();
    let found = rows(&context, "select at, arrow_typeof(at) as type from t order by at").await;
    let times = ["0001-01-01T00:00:00.000001", "2024-01-01T00:00:00.000001", "9999-12-31T00:00:00"];
    let places: Vec<Option<usize>> = times.iter().map(|time| found.find(time)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{found}");
    assert!(found.contains("Timestamp(µs)") || found.contains("Timestamp(Microsecond, None)"), "{found}");
    let copy = format!("copy (select at from t) to '{}' stored as ogive", folder.path().join("t.ogive").display());
    rows(&context, &copy).await;
    let found = rows(&context, "select count(*) from t where at > '2262-04-12T00:00:00'").await;
    assert!(found.contains("| 1 "), "{found}");
}
