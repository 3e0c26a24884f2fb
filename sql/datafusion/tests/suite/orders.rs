//! `ORDER BY` through an index. Goal: rows come in the same order as from a scan and a sort, no sort is in the plan,
//! and with a limit about as many rows are read as it has. Method: drawn orders and conditions on rows with nulls,
//! zeros of both signs and NaN, beside the same rows in memory, which no index leads to; rows that expire or change
//! while a query is planned; counts of `EXPLAIN ANALYZE`.

use crate::indexes::{ROWS, both, condition, opened, run, with_indexes};
use crate::{first_seed, ours, plan, reference, register_memory, rows};
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use ogive::{Db, DbOptions};
use ogive_datafusion::{OgiveOptions, configure, with_ogive, without_changes};
use ogive_testkit::Random;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The columns of indexes, and whether greater values come first.
const ORDERS: [&[(&str, bool)]; 7] = [
    &[("country", false), ("score", true)],
    &[("joined", false)],
    &[("email", true), ("id", false)],
    &[("weight", false), ("country", false)],
    &[("country", true), ("weight", false)],
    &[("score", false), ("joined", true)],
    &[("score", true)],
];

/// An order in which rows are different, or whose columns are all that is selected; mostly that of an index or its
/// reverse.
fn query(random: &mut Random) -> String {
    let columns = ORDERS[random.below(ORDERS.len() as u64) as usize];
    let columns = if random.one_in(3) { &columns[..1] } else { columns };
    let is_reversed = random.one_in(2);
    let mut order: Vec<String> = Vec::new();
    for (column, descending) in columns {
        let direction = match random.below(8) {
            0 => [" nulls first", " desc nulls last", "", " desc"][random.below(4) as usize],
            _ => ["", " desc"][usize::from(*descending != is_reversed)],
        };
        order.push(format!("{column}{direction}"));
    }
    let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
    let selected = match random.one_in(2) || names.contains(&"id") {
        true => {
            order.push(format!("id{}", ["", " desc"][usize::from(is_reversed != random.one_in(5))]));
            "*".to_owned()
        }
        false => names.join(", "),
    };
    let mut conditions: Vec<String> = (0..random.below(3)).map(|_| condition(random)).collect();
    if random.one_in(4) {
        let only = ["country = 'hf'", "score = 9", "email is not null", "score > -40", "country in ('hf', 'gg')"];
        conditions = vec![only[random.below(5) as usize].to_owned()];
    }
    // A condition `weight = 0` is no promise of one value, which DataFusion takes it for: zeros have two.
    if names.contains(&"weight") {
        conditions.retain(|condition| !condition.contains("weight"));
    }
    let conditions = if conditions.is_empty() { String::new() } else { format!("where {}", conditions.join(" and ")) };
    let limit = match random.below(4) {
        0 => String::new(),
        1 => format!("limit {} offset {}", 1 + random.below(9), random.below(9)),
        _ => format!("limit {}", 1 + random.below(40)),
    };
    format!("select {selected} from users {conditions} order by {} {limit}", order.join(", "))
}

/// A session with the same table that uses no index.
async fn without_indexes(path: &str) -> SessionContext {
    let state = SessionStateBuilder::new().with_default_features().with_config(configure(SessionConfig::new()));
    let state = without_changes(with_ogive(state, &OgiveOptions::default())).build();
    let context = SessionContext::from(SessionStateBuilder::new_from_existing(state).build());
    run(&context, &format!("create external table users stored as ogive location '{path}#users'")).await.unwrap();
    context
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_by_an_index_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference, _) = both(folder.path()).await;
    with_indexes(&context).await;
    let (mut random, mut in_order, mut reversed) = (Random::new(first_seed()), 0, 0);
    for number in 0..240 {
        // The others with these columns, whose nulls are at the other end, are used from then on.
        if number == 120 {
            run(&context, "drop index by_country on users; drop index by_mail on users").await.unwrap();
            run(&context, "create index by_score on users (score, joined desc)").await.unwrap();
        }
        let query = query(&mut random);
        assert_eq!(rows(&context, &query).await, rows(&reference, &query).await, "{query}");
        let planned = plan(&context, &query).await;
        in_order += usize::from(planned.contains("in its order"));
        reversed += usize::from(planned.contains("in its reversed order"));
        assert!(!planned.contains("in its ") || !planned.contains("SortExec"), "{query}: {planned}");
    }
    assert!(in_order > 8 && reversed > 8, "{in_order}, {reversed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_tells_the_index_in_whose_order_rows_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (context, _, _) = both(folder.path()).await;
    with_indexes(&context).await;
    for (query, read) in [
        ("order by joined limit 10", Some("by_joined, in its order, first=10")),
        ("order by joined desc limit 10", Some("by_joined, in its reversed order, first=10")),
        ("order by joined, id limit 10", Some("by_joined, in its order")),
        ("order by joined desc, id desc limit 10", Some("by_joined, in its reversed order")),
        ("order by joined limit 10 offset 20", Some("by_joined, in its order, first=30")),
        ("order by country, score desc limit 5", Some("by_country, in its order")),
        ("order by country desc, score limit 5", Some("by_country, in its reversed order")),
        ("where country = 'hf' order by score desc", Some("by_country, in its order")),
        ("where country = 'hf' order by score", Some("by_country, in its reversed order")),
        ("where country = 'hf' order by score desc limit 3", Some("by_country, in its order, first=3")),
        ("where country = 'hf' and score > 0 order by score nulls first", Some("by_country, in its reversed order")),
        ("where country = 'hf' and abs(score) > 9 order by score desc limit 3", Some("by_country, in its order")),
        ("where email is not null order by email limit 5", Some("by_email, in its order")),
        ("where email > 'u5' order by email limit 5", Some("by_email, in its order, first=5")),
        ("order by email desc limit 5", Some("by_mail, in its order, first=5")),
        // Nulls at the other end, other directions, keys that go the other way, floats, rows that the index leaves out,
        // conditions on other columns that leave any number of rows out, and most of the rows.
        ("where country = 'hf' order by score nulls first", None),
        ("order by country, score limit 5", None),
        ("order by joined, id desc limit 10", None),
        ("order by weight limit 10", None),
        ("order by country desc, id limit 5", None),
        ("where country in ('hf', 'gg') order by score desc", None),
        ("order by email nulls first limit 5", None),
        ("where abs(score) > 9 order by joined limit 3", None),
        ("where id > 9 order by joined limit 3", None),
        ("order by joined limit 1000", None),
        ("order by joined", None),
    ] {
        let query = format!("select * from users {query}");
        let planned = plan(&context, &query).await;
        match read {
            Some(read) => assert!(planned.contains(&format!("index={read}")), "{query}: {planned}"),
            None => assert!(!planned.contains("in its "), "{query}: {planned}"),
        }
        assert_eq!(planned.contains("SortExec"), read.is_none(), "{query}: {planned}");
    }
}

/// The rows that a query looks up by an index.
async fn looked_up(context: &SessionContext, query: &str) -> u64 {
    let analyzed = rows(context, &format!("explain analyze {query}")).await;
    let (_, count) = analyzed.split_once("keys_looked_up=").unwrap();
    count.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_reads_about_as_many_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (context, _, _) = both(folder.path()).await;
    with_indexes(&context).await;
    for (query, most) in [
        ("select * from users order by joined limit 10", 10),
        ("select email from users order by joined desc limit 10 offset 5", 15),
        ("select id from (select * from users order by country, score desc limit 20) where id > 100", 20),
        ("select * from users where country = 'hf' order by score desc limit 3", 3),
    ] {
        assert_eq!(looked_up(&context, query).await, most, "{query}");
    }
    let some = "select * from users where country = 'hf' and abs(score) >= 0 order by score desc limit 2";
    assert!(looked_up(&context, some).await <= 23);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_in_the_order_of_an_index_reads_the_rows_of_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference, path) = both(folder.path()).await;
    with_indexes(&context).await;
    let queries = [
        "select * from users where country = 'hf' order by score desc, id",
        "select id, joined from users order by joined, id limit 30",
        "select id, joined from users order by joined desc, id desc limit 30",
    ];
    let mut planned = Vec::new();
    for query in queries {
        let frame = context.sql(query).await.unwrap();
        assert!(plan(&context, query).await.contains("in its "), "{query}");
        planned.push((frame.task_ctx(), frame.create_physical_plan().await.unwrap()));
    }
    let other = opened(&path).await;
    for statement in [
        "update users set country = 'aa', joined = date '1969-01-01' where country = 'hf' and score > 0",
        "update users set joined = date '2100-01-01' where joined < date '1970-01-05'",
        "delete from users where country = 'hf' and score < -20",
        "insert into users values (7000, 'hf', 100, date '1960-01-01', null, 1)",
        "drop index by_joined on users",
        "create index by_joined on users (joined)",
    ] {
        run(&other, statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    for (query, (task, planned)) in queries.into_iter().zip(planned) {
        let found = collect(planned, Arc::new(task)).await.unwrap();
        let found = datafusion::arrow::util::pretty::pretty_format_batches(&found).unwrap().to_string();
        assert_eq!(found, rows(&reference, query).await, "{query}");
        assert_eq!(rows(&context, query).await, found, "{query}");
        // Rows of now, by the index and by a sort of all.
        let now = opened(&path).await;
        assert!(plan(&now, query).await.contains("in its "), "{query}");
        let sorted = without_indexes(&path).await;
        assert!(plan(&sorted, query).await.contains("SortExec"), "{query}");
        assert_eq!(rows(&now, query).await, rows(&sorted, query).await, "{query}");
        assert_ne!(rows(&now, query).await, found, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_rows_are_not_read_in_the_order_of_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference, path) = both(folder.path()).await;
    with_indexes(&context).await;
    let store = Db::open(&path, &DbOptions::default().create(false)).unwrap();
    let keyspace = store.keyspace("users").unwrap();
    let mut batch = store.batch();
    for id in (0..ROWS as i64).filter(|id| id % 4 == 0) {
        let key = ogive::encode_i64(id);
        let row = keyspace.get(key).unwrap().unwrap();
        batch.insert_with(&keyspace, key, row, SystemTime::now() - Duration::from_secs(9));
    }
    batch.commit().unwrap();
    drop(keyspace);
    store.close().unwrap();
    let after = opened(&path).await;
    for query in [
        "select * from users order by joined, id limit 50",
        "select * from users order by joined desc, id desc limit 50",
        "select * from users where country = 'hf' order by score desc, id",
    ] {
        let left = query.replace("from users", "from (select * from users where id % 4 <> 0) as users");
        assert!(plan(&after, query).await.contains("in its "), "{query}");
        assert_eq!(rows(&after, query).await, rows(&reference, &left).await, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_older_columns_and_a_session_of_a_cluster_sort() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference, path) = both(folder.path()).await;
    run(&context, "create index by_joined on users (joined)").await.unwrap();
    let query = "select * from users order by joined, id limit 9";
    let wanted = rows(&reference, query).await;
    assert!(plan(&context, query).await.contains("in its "));
    let cluster = without_indexes(&path).await;
    assert!(!plan(&cluster, query).await.contains("in its "));
    assert_eq!(rows(&cluster, query).await, wanted);
    let store = Db::open(&path, &DbOptions::default().create(false)).unwrap();
    let field = ogive::types::Field::new("more", ogive::KeyType::Text).nullable();
    store.keyspace("users").unwrap().alter(&ogive::types::Alteration::new().add_field(field)).unwrap();
    store.close().unwrap();
    // Its columns stay, and the rows are read again.
    run(&context, "delete from users where id = 999999").await.unwrap();
    assert!(!plan(&context, query).await.contains("in its "));
    assert_eq!(rows(&context, query).await, wanted);
    let now = opened(&path).await;
    assert!(plan(&now, query).await.contains("in its "));
    let all = "select id, country, score, joined, email, weight from users order by joined, id limit 9";
    assert_eq!(rows(&now, all).await, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_on_expressions_use_an_index_where_sql_has_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names").display().to_string();
    let letters = ["k", "K", "\u{212A}", "a", "A", "é", "É", "İ", "x", "ß"];
    let values = (0..1000_usize).map(|number| {
        let name: String = [number % 10, number / 10 % 10, number / 100].iter().map(|at| letters[*at]).collect();
        let seconds = (number as i64 - 500) * 7919 * 100;
        match number % 17 {
            0 => format!("({number}, null, null)"),
            _ => format!("({number}, '{name}', to_timestamp({seconds}))"),
        }
    });
    let values = values.collect::<Vec<_>>().join(", ");
    let select = format!("select column1 as id, column2 as name, column3 as at from (values {values})");
    run(&ours(1), &format!("copy ({select}) to '{path}' stored as ogive options (keyspace 'users', key 'id')"))
        .await
        .unwrap();
    let (context, reference) = (opened(&path).await, reference());
    let found = reference.sql(&select).await.unwrap().collect().await.unwrap();
    let found = datafusion::arrow::compute::concat_batches(&found[0].schema(), &found).unwrap();
    register_memory(&reference, "users", &found);
    run(&context, "create index by_lower on users (lower(name)) where name is not null").await.unwrap();
    run(&context, "create index by_prefix on users (prefix(name, 2), id)").await.unwrap();
    run(&context, "create index by_date on users (date(at) desc)").await.unwrap();
    for (condition, index) in [
        ("lower(name) = 'kax'", Some("by_lower")),
        ("'aka' = lower(name)", Some("by_lower")),
        ("lower(name) in ('kkk', 'aax')", Some("by_lower")),
        ("lower(name) = 'kax' and id > 300", None),
        ("left(name, 2) = 'kK'", Some("by_prefix")),
        ("substr(name, 1, 2) in ('éx', 'Éx')", Some("by_prefix")),
        ("left(name, 2) > '\u{212A}ß'", Some("by_prefix")),
        ("left(name, 2) like 'İk%'", Some("by_prefix")),
        ("cast(at as date) = date '1970-01-01'", Some("by_date")),
        ("at::date between date '1969-12-20' and date '1970-01-09'", Some("by_date")),
        // Other letters than those of ASCII, other functions, and other numbers of letters.
        ("lower(name) = 'éaa'", None),
        ("lower(name) > 'x'", None),
        ("upper(name) = 'KAX'", None),
        ("left(name, 1) = 'k'", None),
        ("left(name, -2) = 'k'", None),
        ("substr(name, 2, 2) = 'kk'", None),
    ] {
        let query = format!("select * from users where {condition} order by id");
        assert_eq!(rows(&context, &query).await, rows(&reference, &query).await, "{condition}");
        let planned = plan(&context, &query).await;
        match index {
            Some(index) => assert!(planned.contains(&format!("index={index}")), "{condition}: {planned}"),
            None if condition.contains("id >") => {}
            None => assert!(!planned.contains("index="), "{condition}: {planned}"),
        }
    }
    let last = "select * from users where left(name, 2) = 'kK' order by id desc limit 2";
    assert!(plan(&context, last).await.contains("index=by_prefix, in its reversed order, first=2"));
    assert_eq!(rows(&context, last).await, rows(&reference, last).await);
}
