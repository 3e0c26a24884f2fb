//! Reads of scans, and their division.

use crate::relations::{FORMS, Form, Rows};
use crate::{ours, plan, reference, register_memory, rows};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use datafusion::datasource::listing::FileRange;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use ogive::KeyType;
use ogive_datafusion::OgiveTable;
use ogive_testkit::Random;
use std::sync::Arc;

fn data(key_type: KeyType, count: u64) -> Rows {
    Rows::random(&mut Random::new(5), key_type, count, true)
}

async fn session(folder: &std::path::Path, partitions: usize, count: u64) -> SessionContext {
    let context = ours(partitions);
    let table = data(KeyType::U64, count).open(&mut Random::new(1), folder, Form::Table);
    context.register_table("t", Arc::new(table)).unwrap();
    context
}

/// The value of a counter of `explain analyze`.
fn counter(text: &str, name: &str) -> u64 {
    let name = format!("{name}=");
    let values = text.match_indices(&name).map(|(at, found)| {
        let digits: String = text[at + found.len()..].chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap()
    });
    values.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_point_query_reads_one_block_and_counts_of_ranges_read_none_when_they_run() {
    let folder = tempfile::tempdir().unwrap();
    let context = session(folder.path(), 4, 50_000).await;
    let point = rows(&context, "explain analyze select number from t where key = 700").await;
    assert_eq!(counter(&point, "blocks_fetched"), 1, "{point}");
    let counted = plan(&context, "select count(*) from t where key between 100 and 40000").await;
    assert!(counted.contains("PlaceholderRowExec"), "{counted}");
    let ends = plan(&context, "select min(key), max(key) from t where key > 1000").await;
    assert!(ends.contains("PlaceholderRowExec"), "{ends}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_in_the_order_of_the_key_are_not_sorted_and_groups_not_exchanged() {
    let folder = tempfile::tempdir().unwrap();
    let context = session(folder.path(), 4, 90_000).await;
    let ordered = plan(&context, "select key from t order by key limit 5").await;
    assert!(!ordered.contains("SortExec"), "{ordered}");
    let grouped = plan(&context, "select key, count(*) from t group by key").await;
    assert!(!grouped.contains("RepartitionExec"), "{grouped}");
    let last = rows(&context, "explain analyze select key from t order by key desc limit 5").await;
    assert!(last.contains("last=5") && counter(&last, "blocks_fetched") < 20, "{last}");
}

/// The bytes that a query reads from storage.
async fn storage_bytes(context: &SessionContext, query: &str) -> usize {
    fn of(plan: &dyn ExecutionPlan) -> usize {
        let own = plan.metrics().and_then(|metrics| metrics.sum_by_name("storage_bytes"));
        own.map_or(0, |bytes| bytes.as_usize()) + plan.children().into_iter().map(|child| of(&**child)).sum::<usize>()
    }
    let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
    collect(plan.clone(), context.task_ctx()).await.unwrap();
    of(&*plan)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_rows_of_files_in_no_order_cost_as_many_lookups() {
    let (folder, data) = (tempfile::tempdir().unwrap(), data(KeyType::U64, 60_000));
    // Several partitions would read ten rows each.
    let (context, reference) = (ours(1), reference());
    register_memory(&reference, "t", &data.batch);
    let table = data.open(&mut Random::new(1), folder.path(), Form::UnsortedParquet);
    context.register_table("t", Arc::new(table)).unwrap();
    let keys = data.batch.column_by_name("key").unwrap().as_primitive::<UInt64Type>();
    let lookup = storage_bytes(&context, &format!("select * from t where key = {}", keys.value(30_000))).await;
    let list = keys.values()[..2_000].iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    for condition in ["", "where key >= 70000", &format!("where key in ({list})")] {
        let query = format!("select * from t {condition} order by key limit 10");
        let bytes = storage_bytes(&context, &query).await;
        assert!(0 < bytes && bytes <= 11 * lookup, "{condition:.40}: {bytes} bytes, {lookup} for a lookup");
        let keys = query.replace('*', "key");
        assert_eq!(rows(&context, &keys).await, rows(&reference, &keys).await, "{condition:.40}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_keys_are_those_of_every_relation() {
    let data = data(KeyType::U64, 3_000);
    for form in FORMS.into_iter().filter(|&form| data.fits(form)) {
        let folder = tempfile::tempdir().unwrap();
        let reference = reference();
        register_memory(&reference, "t", &data.batch);
        let table = Arc::new(data.open(&mut Random::new(5), folder.path(), form));
        for partitions in [1, 3] {
            let context = ours(partitions);
            context.register_table("t", table.clone()).unwrap();
            for rest in ["", " limit 5", " limit 7 offset 3", " limit 10000"] {
                for condition in ["", " where key < 900", " where number > 3"] {
                    let query = format!("select key from t{condition} order by key desc{rest}");
                    let found = rows(&context, &query).await;
                    assert_eq!(found, rows(&reference, &query).await, "{form:?}, {partitions}: {query}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_hash_join_are_looked_up_in_the_other_side() {
    let folder = tempfile::tempdir().unwrap();
    let context = session(folder.path(), 2, 90_000).await;
    // Without our planner: conditions reach the scan while the query runs.
    let plain = SessionContext::new();
    plain.register_table("t", context.table_provider("t").await.unwrap()).unwrap();
    register_memory(&plain, "few", &data(KeyType::U64, 90_000).batch.slice(1000, 30));
    let query = "select sum(t.number) from few join t on few.key = t.key";
    let analyzed = rows(&plain, &format!("explain analyze {query}")).await;
    assert!(counter(&analyzed, "keys_looked_up") >= 30, "{analyzed}");
    assert!(counter(&analyzed, "blocks_fetched") < 60, "{analyzed}");
    let reference = reference();
    register_memory(&reference, "t", &data(KeyType::U64, 90_000).batch);
    register_memory(&reference, "few", &data(KeyType::U64, 90_000).batch.slice(1000, 30));
    assert_eq!(rows(&plain, query).await, rows(&reference, query).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_are_looked_up_by_several_threads_in_the_order_of_the_key() {
    let data = data(KeyType::U64, 20_000);
    let keys = data.batch.column_by_name("key").unwrap().as_primitive::<UInt64Type>();
    // In no order, some twice, and some of no row.
    let keys = (0..1_100_usize).map(|at| keys.value(at * 7_919 % 1_080 * 18) + u64::from(at % 50 == 0));
    let list = keys.map(|key| key.to_string()).collect::<Vec<_>>().join(", ");
    for form in [Form::Table, Form::Store] {
        let (folder, reference) = (tempfile::tempdir().unwrap(), reference());
        register_memory(&reference, "t", &data.batch);
        let table: Arc<OgiveTable> = Arc::new(data.open(&mut Random::new(2), folder.path(), form));
        let [one, four] = [1, 4].map(|partitions| {
            let context = ours(partitions);
            context.register_table("t", table.clone()).unwrap();
            context
        });
        for order in ["", " desc"] {
            let query = format!("select * from t where key in ({list}) order by key{order}");
            let wanted = rows(&reference, &query).await;
            assert_eq!(rows(&one, &query).await, wanted, "{form:?}{order}");
            assert_eq!(rows(&four, &query).await, wanted, "{form:?}{order}");
        }
        let query = format!("select sum(number) from t where key in ({list})");
        assert!(plan(&four, &query).await.contains("file_groups={4 groups"), "{form:?}");
        let analyze = format!("explain analyze {query}");
        let [alone, together] = [rows(&one, &analyze).await, rows(&four, &analyze).await]
            .map(|analyzed| counter(&analyzed, "blocks_fetched"));
        assert!(together <= alone + 3, "{form:?}: {together} blocks, {alone} by one thread");
    }
}

/// The rows of a scan whose files other engines split at these fractions of their bytes.
async fn split(context: &SessionContext, plan: Arc<dyn ExecutionPlan>, cuts: &[f64]) -> usize {
    let scan = plan.downcast_ref::<DataSourceExec>().unwrap();
    let config = scan.data_source().downcast_ref::<FileScanConfig>().unwrap();
    let files = config.file_groups.iter().flat_map(FileGroup::iter);
    let groups = files.flat_map(|file| {
        let bytes = file.object_meta.size as i64;
        let at = cuts.iter().map(|cut| (bytes as f64 * cut) as i64);
        let ends: Vec<i64> = std::iter::once(0).chain(at).chain([bytes]).collect();
        let parts: Vec<(i64, i64)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
        parts.into_iter().map(|(start, end)| {
            let mut part = file.clone();
            part.range = Some(FileRange { start, end });
            FileGroup::new(vec![part])
        })
    });
    let config = FileScanConfigBuilder::from(config.clone())
        .with_file_groups(groups.collect())
        .with_output_partitioning(None)
        .build();
    let batches = collect(
        Arc::new(datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec::new(
            DataSourceExec::from_data_source(config),
        )),
        context.task_ctx(),
    );
    batches.await.unwrap().iter().map(arrow_array::RecordBatch::num_rows).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_by_bytes_have_each_row_once() {
    for form in [Form::Table, Form::Store, Form::Index, Form::Parquet] {
        let folder = tempfile::tempdir().unwrap();
        let rows = data(KeyType::U64, 6_000);
        let table: OgiveTable = rows.open(&mut Random::new(2), folder.path(), form);
        let context = ours(3);
        context.register_table("t", Arc::new(table)).unwrap();
        for query in ["select * from t", "select * from t where key > 5000", "select * from t where key in (3, 9, 600)"]
        {
            let all = context.sql(query).await.unwrap().count().await.unwrap();
            let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
            for cuts in [&[][..], &[0.5], &[0.1, 0.100_1, 0.7], &[0.0, 0.999_999]] {
                assert_eq!(split(&context, plan.clone(), cuts).await, all, "{form:?} {query} {cuts:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_of_keys_is_one_value_where_it_is_a_condition_of_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, reference) = (session(folder.path(), 2, 20_000).await, reference());
    let all = data(KeyType::U64, 20_000).batch;
    register_memory(&reference, "t", &all);
    for context in [&ours, &reference] {
        register_memory(context, "few", &all.slice(5_000, 400));
    }
    let list = (0..300_u64).map(|at| (at * at).to_string()).collect::<Vec<_>>().join(", ");
    let is_packed = |plan: &str| plan.contains("IN (0, 1, 4, ... 30");
    for (condition, packs) in [
        (format!("t.key in ({list})"), true),
        (format!("t.key in ({list}, 9, 9, 0) and t.number > 3"), true),
        (format!("t.key in ({list}) and t.key in (9, 16, 17)"), true),
        // Values that no key of the column can have: of them, fractions are left out before.
        (format!("t.key in ({list}, 1.5)"), true),
        (format!("t.key in ({list}, -1)"), false),
        (format!("t.key in ({list}, null)"), false),
        (format!("t.key not in ({list})"), false),
        (format!("(t.key in ({list}) or t.number = 3)"), false),
        (format!("t.number in ({list})"), false),
    ] {
        let query = format!("select * from t where {condition} order by key");
        let planned = plan(&ours, &query).await;
        assert_eq!(is_packed(&planned), packs, "{planned}");
        assert_eq!(rows(&ours, &query).await, rows(&reference, &query).await, "{query}");
        for join in ["join", "left join", "right join", "full join"] {
            let query = format!(
                "select t.key, u.number, few.name from t {join} few on t.key = few.key left join t u on t.key = u.key \
                 where {condition} order by 1"
            );
            assert_eq!(rows(&ours, &query).await, rows(&reference, &query).await, "{query}");
        }
        let query =
            format!("select count(*) from few where exists (select 1 from t where t.key = few.key and {condition})");
        assert_eq!(rows(&ours, &query).await, rows(&reference, &query).await, "{query}");
    }
}

/// A limit is of the first rows in the order below it, whatever order or join is above.
#[tokio::test(flavor = "multi_thread")]
async fn limits_count_the_rows_below_what_is_above_them() {
    for partitions in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let (ours, reference) = (session(folder.path(), partitions, 20_000).await, reference());
        let all = data(KeyType::U64, 20_000).batch;
        register_memory(&reference, "t", &all);
        for context in [&ours, &reference] {
            register_memory(context, "few", &all.slice(2, 1).clone());
            register_memory(context, "far", &all.slice(9_000, 40).clone());
        }
        for query in [
            "select key from (select key from t order by key limit 3) order by key desc",
            "select key, rank() over (order by key desc) r from (select key from t order by key limit 3) order by 1",
            "select key from (select key from t where key in (4, 9, 16, 25) order by key limit 2) order by key desc",
            "(select key from t order by 1 limit 2) union all (select key from t order by 1 desc limit 2) order by 1",
            "select key from (select * from t order by key limit 3) where key in (select key from few) order by key",
            "select count(*), max(a.key) from (select * from t order by key limit 5000) a join far on a.key = far.key",
            "select count(*), max(a.key) from far join (select * from t order by key limit 50) a on a.key = far.key",
            "select count(*) from (select * from t order by key limit 50) a join t b on a.key = b.key",
        ] {
            assert_eq!(rows(&ours, query).await, rows(&reference, query).await, "{partitions}: {query}");
        }
    }
}
