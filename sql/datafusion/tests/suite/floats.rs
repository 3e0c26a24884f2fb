//! Floats of Parquet files, whose writers leave NaN out of the least and the greatest value of a column: queries give
//! the rows of the same table in memory, and what is known of other columns is still taken from the files.

use crate::{ours, plan, reference, register_memory, rows, sorted_rows};
use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field};
use datafusion::arrow::compute::cast;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use ogive::{LocalStorage, Storage};
use ogive_parquet::{BuildOptions, ParquetIndex, PathFolder};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;

/// Rows of three widths of floats, with zeros and NaNs of both signs, and two rows that are one number and NaN.
fn batch() -> RecordBatch {
    let values = [-2.5, -0.0, 1.5, f64::NAN, 7.5, f64::NAN, 7.5, 7.5, -f64::NAN, -3.0, 0.0, 2.5];
    let double: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let single: ArrayRef = Arc::new(Float32Array::from_iter_values(values.map(|value| value as f32)));
    let half = cast(&single, &DataType::Float16).unwrap();
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..values.len() as i64));
    let field = Arc::new(Field::new("x", DataType::Float64, true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, double.clone())]));
    RecordBatch::try_from_iter([("id", id), ("d", double), ("s", single), ("h", half), ("n", nested)]).unwrap()
}

/// Writes a file in row groups, and pages, of two rows.
fn write(path: &Path, batch: &RecordBatch) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(4))
        .set_data_page_row_count_limit(2)
        .set_write_batch_size(1)
        .build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// A session of ours with a Parquet file, and one with the same rows in memory.
async fn sessions(folder: &Path, batch: &RecordBatch) -> (SessionContext, SessionContext) {
    let path = folder.join("t.parquet");
    write(&path, batch);
    let (ours, reference) = (ours(2), reference());
    ours.register_parquet("t", path.to_str().unwrap(), ParquetReadOptions::default()).await.unwrap();
    register_memory(&reference, "t", batch);
    (ours, reference)
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_beside_nan_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let pair = batch().slice(4, 2);
    let (ours, reference) = sessions(folder.path(), &pair).await;
    for query in ["select * from t order by id", "select d, s, h from t order by id"] {
        let wanted = rows(&reference, query).await;
        assert!(wanted.contains("NaN") && wanted.contains("7.5"));
        assert_eq!(rows(&ours, query).await, wanted, "{query}");
    }
    let path = folder.path().join("copy.ogive");
    let copy = format!("copy (select id, d, s from t) to '{}' stored as ogive", path.display());
    rows(&ours, &copy).await;
    rows(&ours, &format!("create external table c stored as ogive location '{}'", path.display())).await;
    let query = "select id, d, s from t order by id";
    assert_eq!(rows(&ours, &query.replace("from t", "from c")).await, rows(&reference, query).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_greatest_of_floats_may_be_nan() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, reference) = sessions(folder.path(), &batch()).await;
    for column in ["d", "s", "h", "n['x']"] {
        for query in [
            format!("select min({column}), max({column}), count({column}) from t"),
            format!("select min({column}), max({column}) from t where id < 4"),
            format!("select id from t order by {column}, id"),
            format!("select id from t order by {column}, id limit 2"),
            format!("select id from t order by {column} desc, id limit 2"),
            format!("select id, {column} from t where id in (4, 5) order by {column}"),
        ] {
            assert_eq!(rows(&ours, &query).await, rows(&reference, &query).await, "{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_select_nan_behind_all_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, reference) = sessions(folder.path(), &batch()).await;
    let settings = ["false", "true"].map(|it| format!("set datafusion.execution.parquet.pushdown_filters = {it}"));
    for setting in &settings {
        rows(&ours, setting).await;
        for column in ["d", "s", "h", "n['x']"] {
            for condition in [
                format!("{column} > 100"),
                format!("{column} >= 7.6"),
                format!("{column} <> 7.5"),
                format!("not {column} < 100"),
                format!("{column} < -100"),
                format!("{column} = 'NaN'"),
                format!("{column} not in (7.5, 1.5)"),
                format!("{column} = 7.5"),
                format!("({column} is distinct from 7.5) and id between 4 and 7"),
                format!("{column} > 100 or id = 2"),
            ] {
                let query = format!("select id, {column} from t where {condition}");
                assert_eq!(sorted_rows(&ours, &query).await, sorted_rows(&reference, &query).await, "{query}");
                let first = format!("select count(*) from (select id from t where {condition} limit 3)");
                assert_eq!(rows(&ours, &first).await, rows(&reference, &first).await, "{first}");
            }
        }
        let join = "select l.id, r.id from t l join (select * from t where id in (2, 3, 8)) r on l.d = r.d";
        assert_eq!(sorted_rows(&ours, join).await, sorted_rows(&reference, join).await, "{setting}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_other_columns_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, _) = sessions(folder.path(), &batch()).await;
    let known = plan(&ours, "select count(*), count(d), min(id), max(id) from t").await;
    assert!(!known.contains("DataSourceExec"), "{known}");
    let read = plan(&ours, "select max(d) from t").await;
    assert!(read.contains("DataSourceExec"), "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_floats_beside_files_gives_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, reference) = sessions(folder.path(), &batch().project(&[0, 1, 2]).unwrap()).await;
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    for column in ["d", "s"] {
        let (name, beside) = (format!("{column}.idx"), Arc::new(PathFolder::new(folder.path())));
        ParquetIndex::build(storage.clone(), &name, beside, BuildOptions::new("t.parquet", &[column])).unwrap();
        let location = folder.path().join(&name).display().to_string();
        rows(&ours, &format!("create external table by_{column} stored as ogive location '{location}'")).await;
        for query in [
            format!("select {column}, id from t order by {column}, id"),
            format!("select {column}, id from t order by {column} desc, id limit 4"),
            format!("select min({column}) as least, max({column}) as greatest from t"),
            format!("select {column}, id from t where {column} > 7.6 order by id"),
            format!("select {column}, id from t where {column} < -100 order by id"),
            format!("select {column}, id from t where {column} <= 0.0 order by id"),
            format!("select {column}, id from t where {column} between -0.0 and 2.5 order by id"),
            format!("select {column}, id from t where {column} = 'NaN' order by id"),
            format!("select {column}, id from t where {column} in (1.5, 7.5) order by id"),
        ] {
            let found = rows(&ours, &query.replace("from t", &format!("from by_{column}"))).await;
            assert_eq!(found, rows(&reference, &query).await, "{query}");
        }
    }
}
