//! `DELETE` and `UPDATE` of keyspaces: what they change, beside the same in a map, and what they refuse.

use crate::{first_seed, ours, reference, register_memory, rows, sorted_rows, with_paths};
use datafusion::prelude::SessionContext;
use ogive::{Db, DbOptions};
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::path::Path;

/// A store with the keyspaces `items`, of the rows `(id, n, name)`, and `gone`, of keys.
async fn shop(folder: &Path) -> (SessionContext, String) {
    let context = ours(2);
    let path = folder.join("shop").display().to_string();
    for statement in [
        format!(
            "copy (select value as id, value * 10 as n, concat('item ', value) as name from generate_series(0, 99)) \
             to '{path}' stored as ogive options (keyspace 'items', key 'id')"
        ),
        format!(
            "copy (select value * 7 as id from generate_series(0, 5)) to '{path}' stored as ogive options (keyspace \
             'gone', key 'id')"
        ),
        format!("create external table items stored as ogive location '{path}#items'"),
        format!("create external table gone stored as ogive location '{path}#gone'"),
        "alter table items alter column name drop not null".to_owned(),
    ] {
        run(&context, &statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    (context, path)
}

/// Runs a statement; returns the number of rows that it tells.
async fn run(context: &SessionContext, statement: &str) -> datafusion::error::Result<u64> {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    let mut count = 0;
    for statement in ogive_datafusion::parse_statements(statement, &GenericDialect {})? {
        if ogive_datafusion::alter_table(context, &statement).await?.is_none() {
            let plan = context.state().statement_to_plan(statement).await?;
            let told = context.execute_logical_plan(plan).await?.collect().await?;
            let number = told.first().filter(|batch| batch.num_columns() == 1 && batch.num_rows() == 1);
            count = number.map_or(0, |batch| {
                let counts = batch.column(0).as_any().downcast_ref::<arrow_array::UInt64Array>();
                counts.map_or(0, |counts| counts.value(0))
            });
        }
    }
    Ok(count)
}

async fn refused(context: &SessionContext, statement: &str) -> String {
    let outcome = run(context, statement).await;
    outcome.err().unwrap_or_else(|| panic!("{statement} is not refused")).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_removed_and_replaced_by_conditions_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let (context, _) = shop(folder.path()).await;
    assert_eq!(run(&context, "delete from items where id in (select id from gone)").await.unwrap(), 6);
    assert_eq!(run(&context, "delete from items where id in (select id from gone)").await.unwrap(), 0);
    assert_eq!(
        run(&context, "delete from items where not exists (select 1 from gone where gone.id > items.id)")
            .await
            .unwrap(),
        64
    );
    assert_eq!(run(&context, "delete from items where n > (select max(n) - 20 from items)").await.unwrap(), 2);
    let left = rows(&context, "select count(*) as c, min(id) as a, max(id) as b from items").await;
    assert!(left.contains("| 28 | 1 | 32 |"), "{left}");
    assert_eq!(run(&context, "update items set n = n + 1, name = null where id < 4").await.unwrap(), 3);
    let named = "update items set name = concat('of ', (select max(id) from gone)) where n % 4 = 0";
    assert_eq!(run(&context, named).await.unwrap(), 13);
    let some = rows(&context, "select * from items where id < 10 order by id").await;
    for row in ["| 1  | 11 |        |", "| 4  | 40 | of 35  |", "| 5  | 50 | item 5 |", "| 8  | 80 | of 35  |"] {
        assert!(some.contains(row), "{some}");
    }
    let plan = rows(&context, "explain delete from items where id = 4").await;
    assert!(plan.contains("OgiveKeyspace(DELETE"), "{plan}");
    assert_eq!(run(&context, "delete from items").await.unwrap(), 28);
    assert_eq!(run(&context, "insert into items values (1, 2, 'new')").await.unwrap(), 1);
    assert!(rows(&context, "select * from items").await.contains("| 1  | 2 | new  |"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_lose_something_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = shop(folder.path()).await;
    let before = sorted_rows(&context, "select * from items").await;
    for (statement, reason) in [
        ("update items set id = id + 1", "column 'id'"),
        ("update items set n = 0.5", "column 'n'"),
        ("update items set n = null where id = 3", "'n' is null"),
        ("update items set n = 1 from gone where items.id < gone.id", "not supported"),
        ("truncate table items", "DELETE FROM it removes all rows"),
        ("update items set n = 1 / (id - 50)", "ivide by zero"),
    ] {
        let told = refused(&context, statement).await;
        assert!(told.contains(reason), "{statement}: {told}");
    }
    let file = folder.path().join("t.ogive").display().to_string();
    run(&context, &format!("copy (select 1 as id) to '{file}' stored as ogive")).await.unwrap();
    run(&context, &format!("create external table t stored as ogive location '{file}'")).await.unwrap();
    assert!(refused(&context, "delete from t").await.contains("COPY (SELECT"));
    assert_eq!(sorted_rows(&context, "select * from items").await, before);
    // Another writer, while the statement is being made.
    let delete = context.sql("delete from items where id < 50").await.unwrap();
    let plan = delete.clone().create_physical_plan().await.unwrap();
    let db = Db::open(&path, &DbOptions::default()).unwrap();
    db.keyspace("other").unwrap().insert("key", "value").unwrap();
    db.close().unwrap();
    let told = datafusion::physical_plan::collect(plan, context.task_ctx()).await.unwrap_err().to_string();
    assert!(told.contains("run it again"), "{told}");
    assert_eq!(sorted_rows(&context, "select * from items").await, before);
    assert_eq!(run(&context, "delete from items where id < 50").await.unwrap(), 50);
    // Fields that were added since the table was opened would be lost.
    let other = with_paths(1);
    run(
        &other,
        &format!(
            "create external table items stored as ogive location '{path}#items'; alter table items add column x int"
        ),
    )
    .await
    .unwrap();
    assert!(refused(&context, "update items set n = 1").await.contains("x: i32?"));
    assert_eq!(run(&context, "delete from items where id < 60").await.unwrap(), 10);
    assert_eq!(run(&other, "update items set x = id where id > 97").await.unwrap(), 2);
    assert!(rows(&other, "select sum(x) as s from items").await.contains("| 197 |"));
}

#[tokio::test(flavor = "multi_thread")]
async fn drawn_statements_change_what_they_change_in_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = shop(folder.path()).await;
    let paths = with_paths(2);
    let mut random = Random::new(first_seed());
    let mut model: BTreeMap<i64, i64> = (0..100).map(|id| (id, id * 10)).collect();
    for step in 0..40 {
        let (low, high) = (random.below(100) as i64, random.below(120) as i64);
        let (divisor, rest) = (1 + random.below(4) as i64, random.below(3) as i64);
        let condition = format!("id between {low} and {high} and n % {divisor} <> {rest}");
        let is_met = |id: i64, n: i64| (low..=high).contains(&id) && n % divisor != rest;
        let place = if random.one_in(2) { (&context, "items".to_owned()) } else { (&paths, format!("'{path}#items'")) };
        let (session, name) = place;
        let met = model.iter().filter(|(id, n)| is_met(**id, **n)).count() as u64;
        let told = match random.below(3) {
            0 => {
                model.retain(|id, n| !is_met(*id, *n));
                run(session, &format!("delete from {name} where {condition}")).await
            }
            1 => {
                model.iter_mut().filter(|(id, n)| is_met(**id, **n)).for_each(|(id, n)| *n = (*n + id) % 1000);
                run(session, &format!("update {name} set n = (n + id) % 1000 where {condition}")).await
            }
            _ => {
                let id = random.below(130) as i64;
                model.insert(id, 5);
                run(session, &format!("insert into {name} values ({id}, 5, 'drawn')")).await.map(|_| met)
            }
        };
        assert_eq!(told.unwrap_or_else(|error| panic!("{step}: {error}")), met, "{step}: {condition}");
        let found = sorted_rows(&with_paths(1), &format!("select id, n from '{path}#items'")).await;
        let (ids, ns): (Vec<i64>, Vec<i64>) = model.iter().map(|(id, n)| (*id, *n)).unzip();
        let batch = arrow_array::RecordBatch::try_from_iter([
            ("id", std::sync::Arc::new(arrow_array::Int64Array::from(ids)) as arrow_array::ArrayRef),
            ("n", std::sync::Arc::new(arrow_array::Int64Array::from(ns))),
        ]);
        let expected = reference();
        register_memory(&expected, "items", &batch.unwrap());
        assert_eq!(found, sorted_rows(&expected, "select id, n from items").await, "{step}: {condition}");
    }
}
