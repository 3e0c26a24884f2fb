//! Every condition, projection, order and limit gives the same rows as those of the same table in memory, whatever the
//! types, the form, the number of partitions, and the repeats of keys.

use crate::conditions::Conditions;
use crate::relations::{FORMS, Form, KEY_TYPES, Rows, pick};
use crate::{first_seed, ours, reference, register_memory, rows, sorted_rows};
use datafusion::prelude::SessionContext;
use ogive::KeyType;
use ogive_testkit::Random;
use std::sync::Arc;

/// Relations of a run, and queries of each.
const RELATIONS: u64 = 24;
const QUERIES: u64 = 20;

/// A query, and whether the order of its rows is known.
fn query(random: &mut Random, conditions: &Conditions) -> (String, bool) {
    let filter = conditions.filter(random);
    let columns = if matches!(conditions.key_type, KeyType::Tuple(_)) { "key, part" } else { "key" };
    let direction = pick(random, &["", "desc"]);
    let limit = random.below(30);
    match random.below(10) {
        0 => (format!("select count(*) from t {filter}"), true),
        1 => (format!("select count(*), min(key), max(key), sum(number) from t {filter}"), true),
        2 => (format!("select {columns} from t {filter} order by key {direction}, number"), true),
        3 => (format!("select key, number from t {filter} order by key {direction}, number limit {limit}"), true),
        4 => (format!("select key from t {filter} order by key {direction} limit {limit}"), true),
        5 => (format!("select name, count(*) from t {filter} group by name"), false),
        6 => (format!("select {columns}, count(*) from t {filter} group by {columns}"), false),
        7 => (format!("select number + 1, weight from t {filter}"), false),
        8 => (format!("select max(key) from t {filter}"), true),
        _ => (format!("select * from t {filter}"), false),
    }
}

async fn check(seed: u64) {
    let mut random = Random::new(seed);
    let key_type: KeyType = pick(&mut random, &KEY_TYPES).parse().unwrap();
    let is_distinct = random.one_in(2);
    let count = *pick(&mut random, &[0, 1, 5, 300, 1_000, 3_000, 40_000]);
    let data = Rows::random(&mut random, key_type, count, is_distinct);
    let form = *pick(&mut random, &FORMS);
    let form = if data.fits(form) { form } else { Form::Table };
    let folder = tempfile::tempdir().unwrap();
    let table = data.open(&mut random, folder.path(), form);
    let (ours, reference) = (ours(*pick(&mut random, &[1, 2, 3, 16])), reference());
    ours.register_table("t", Arc::new(table)).unwrap();
    register_memory(&reference, "t", &data.batch);
    let conditions = Conditions { key_type, prefix: "" };
    for _ in 0..QUERIES {
        let (query, is_ordered) = query(&mut random, &conditions);
        let place = format!("seed {seed}, {form:?} of {key_type}: {query}");
        match is_ordered {
            true => assert_eq!(rows(&ours, &query).await, rows(&reference, &query).await, "{place}"),
            false => assert_eq!(sorted_rows(&ours, &query).await, sorted_rows(&reference, &query).await, "{place}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_give_the_rows_of_the_same_table_in_memory() {
    let first = first_seed();
    for seed in first..first + RELATIONS {
        check(seed).await;
    }
}

/// The optimiser turns lists with nulls, and other conditions, into new ones after they were handed to the table.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_that_are_rewritten_after_they_were_taken_hold() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    let data = Rows::random(&mut random, KeyType::Text, 300, true);
    let (ours, reference) = (ours(2), reference());
    ours.register_table("t", Arc::new(data.open(&mut random, folder.path(), Form::Table))).unwrap();
    register_memory(&reference, "t", &data.batch);
    for condition in [
        "key in ('k007', null)",
        "key in ('k007', null, 'k009') or key is null",
        "(key = 'k003' or null) and number < 5000",
        "key in ('k007', 'k008') and key <> 'k008' and (false or key > 'k000')",
        "case when key = 'k004' then true else null end",
        "coalesce(key, 'k001') = 'k001' or key in ('k002', null)",
    ] {
        for query in [
            format!("select * from t where {condition} order by number"),
            format!("select number from t where {condition} order by number limit 1"),
        ] {
            let wanted = rows(&reference, &query).await;
            assert_eq!(rows(&ours, &query).await, wanted, "{query}");
        }
    }
}

/// DataFusion's own optimiser forgets the null of the first condition.
#[tokio::test(flavor = "multi_thread")]
async fn nulls_of_lists_are_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    let data = Rows::random(&mut random, KeyType::Text, 300, true);
    let context = ours(2);
    context.register_table("t", Arc::new(data.open(&mut random, folder.path(), Form::Table))).unwrap();
    register_memory(&context, "m", &data.batch);
    for (condition, is_some) in [
        ("number not in (1, null) and number in (2, 5, 8)", false),
        ("key not in ('k001', null) and key in ('k002', 'k003', 'k004')", false),
        ("name is null and (name not in ('x') or name not in ('y'))", false),
        ("name is null and (name not in ('x') or name not in ('y') or number >= 0)", true),
        ("number in (null)", false),
        ("number in (2, 5, 8, null)", true),
        ("(number not in (1, null)) is null", true),
        ("not (number in (2, 5, 8, 11, null))", false),
    ] {
        let [t, m] = ["t", "m"].map(|name| format!("select count(*) > 0 as found from {name} where {condition}"));
        assert!(rows(&context, &t).await.contains(&is_some.to_string()), "{t}");
        assert!(rows(&context, &m).await.contains(&is_some.to_string()), "{m}");
    }
    let name = |context: SessionContext, table: &'static str| async move {
        let frame = context.sql(&format!("select number in (1, null) from {table} limit 1")).await.unwrap();
        let batches = frame.collect().await.unwrap();
        batches[0].schema().field(0).name().clone()
    };
    let plain = reference();
    register_memory(&plain, "t", &data.batch);
    assert_eq!(name(context, "t").await, name(plain, "t").await);
}

/// DataFusion itself takes the first two for false, since keys have no nulls.
#[tokio::test(flavor = "multi_thread")]
async fn a_subquery_without_rows_is_null_and_one_with_several_fails() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    let data = Rows::random(&mut random, KeyType::Text, 300, true);
    let context = ours(2);
    context.register_table("t", Arc::new(data.open(&mut random, folder.path(), Form::Table))).unwrap();
    for query in [
        "select (select key from t where key = 'none') is null as it",
        "select count(*) > 0 as it from t where (select key from t where key = 'none' limit 1) is null",
        "select (select count(*) from t where key = 'none') = 0 as it",
        "select (select key from t order by key limit 1) = min(key) as it from t",
    ] {
        assert!(rows(&context, query).await.contains("| true |"), "{query}");
    }
    let several = "select (select key from t) as it";
    let failed = async { context.sql(several).await?.collect().await };
    let error = failed.await.unwrap_err().to_string();
    assert!(error.contains("more than one row"), "{error}");
}

/// DataFusion refuses such a subquery unless it knows that it has a row at most.
#[tokio::test(flavor = "multi_thread")]
async fn a_subquery_about_a_unique_key_has_one_row_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(3);
    let context = ours(3);
    for (name, form) in [("stored", Form::Store), ("kept", Form::Table)] {
        let data = Rows::random(&mut random, KeyType::I64, 300, true);
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        context.register_table(name, Arc::new(data.open(&mut random, &path, form))).unwrap();
        let value = format!("(select s.name from {name} s where s.key = o.number - 60)");
        let found = sorted_rows(&context, &format!("select o.number, {value} as it from {name} o")).await;
        let join = format!("left join {name} s on s.key = o.number - 60");
        let wanted = sorted_rows(&context, &format!("select o.number, s.name as it from {name} o {join}")).await;
        assert_eq!(found, wanted, "{name}");
    }
    let several = "select (select s.name from kept s where s.number > o.number) as it from kept o";
    let failed = async { context.sql(several).await?.collect().await };
    assert!(failed.await.is_err());
}
