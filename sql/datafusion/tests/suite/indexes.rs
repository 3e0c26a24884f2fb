//! `CREATE INDEX`, `DROP INDEX`, and queries by indexes. Goal: an index changes no answer, is used where it reads less,
//! and is told by `EXPLAIN`. Method: drawn conditions on rows with nulls, zeros of both signs and NaN, beside the same
//! rows in memory; rows that expire or change while a query is planned.

use crate::{first_seed, ours, plan, reference, register_memory, rows, sorted_rows, with_paths};
use datafusion::arrow::compute::concat_batches;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use ogive::types::IndexDefinition;
use ogive::{Db, DbOptions};
use ogive_datafusion::{
    OgiveOptions, StoreSchema, change_indexes, configure, parse_statements, with_ogive, without_changes,
};
use ogive_testkit::Random;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) const ROWS: u64 = 3000;

const INDEXES: [&str; 7] = [
    "create index by_country on users (country, score desc)",
    "create index by_joined on users (joined)",
    "create index by_weight on users (weight, country)",
    "create unique index by_email on users (email) where email is not null",
    "create index by_mail on users (email desc, id)",
    "create index by_zone on users (country desc, weight)",
    "create index by_initial on users (lower(country), email)",
];

pub(crate) async fn run(context: &SessionContext, text: &str) -> datafusion::error::Result<()> {
    for statement in parse_statements(text, &GenericDialect {})? {
        if !change_indexes(context, &statement).await? {
            let plan = context.state().statement_to_plan(statement).await?;
            context.execute_logical_plan(plan).await?.collect().await?;
        }
    }
    Ok(())
}

/// The rows of users `from..to`.
fn users(from: u64, to: u64) -> String {
    format!(
        "select value as id, concat(chr(97 + value * 7 % 11), chr(97 + value * 31 % 13)) as country, case when value % \
         5 = 0 then null else arrow_cast(value * 37 % 100 - 50, 'Int32') end as score, arrow_cast(arrow_cast(value * \
         13 % 900, 'Int32'), 'Date32') as joined, case when value % 3 = 0 then null else concat('u', value, '@x') end \
         as email, case value % 500 when 0 then arrow_cast('-0.0', 'Float64') when 1 then arrow_cast('0.0', 'Float64') \
         when 2 then arrow_cast('NaN', 'Float64') when 3 then -arrow_cast('NaN', 'Float64') else value * 11 % 300 - \
         150.5 end as weight from generate_series({from}, {})",
        to - 1
    )
}

/// A session with the keyspace of users as the table `users`.
pub(crate) async fn opened(path: &str) -> SessionContext {
    let context = ours(2);
    run(&context, &format!("create external table users stored as ogive location '{path}#users'")).await.unwrap();
    context
}

/// A store with users, and the same rows in memory in another session.
pub(crate) async fn both(folder: &Path) -> (SessionContext, SessionContext, String) {
    let path = folder.join("shop").display().to_string();
    let copy = format!("copy ({}) to '{path}' stored as ogive options (keyspace 'users', key 'id')", users(0, ROWS));
    run(&ours(2), &copy).await.unwrap();
    let (context, reference) = (opened(&path).await, reference());
    let found = reference.sql(&users(0, ROWS)).await.unwrap().collect().await.unwrap();
    register_memory(&reference, "users", &concat_batches(&found[0].schema(), &found).unwrap());
    (context, reference, path)
}

pub(crate) async fn with_indexes(context: &SessionContext) {
    for index in INDEXES {
        run(context, index).await.unwrap();
    }
}

pub(crate) fn condition(random: &mut Random) -> String {
    let letter = |random: &mut Random| char::from(b'a' + random.below(13) as u8);
    let country = |random: &mut Random| format!("'{}{}'", letter(random), letter(random));
    let day = |random: &mut Random| format!("date '1970-01-01' + interval '{} days'", random.below(900));
    let weight = |random: &mut Random| ["-149.5", "-0.0", "0.0", "148.5"][random.below(4) as usize];
    match random.below(17) {
        0 | 1 => format!("country = {}", country(random)),
        2 => format!("country in ({}, {}, {})", country(random), country(random), country(random)),
        3 => format!("country like '{}%'", letter(random)),
        4 => format!("country between {} and {}", country(random), country(random)),
        5 => format!("score > {}", random.below(100) as i64 - 50),
        6 => "score is null".to_owned(),
        7 => format!("joined = {}", day(random)),
        8 => format!("joined >= {} and joined < {}", day(random), day(random)),
        9 => format!("email = 'u{}@x'", random.below(ROWS)),
        10 => format!("(email = 'u{}@x' or email is null)", random.below(ROWS)),
        11 => format!("weight {} {}", ["<", "<=", ">", ">="][random.below(4) as usize], weight(random)),
        12 => format!("weight = {}", weight(random)),
        13 => format!("weight in ({}, {})", weight(random), weight(random)),
        14 => format!("email like 'u{}%'", random.below(300)),
        15 => format!("email >= 'u{0}' and email < 'u{0}9'", random.below(300)),
        _ => format!("id < {}", random.below(ROWS)),
    }
}

/// A query of rows for which conditions are true.
fn query(random: &mut Random) -> String {
    let conditions: Vec<String> = (0..1 + random.below(3)).map(|_| condition(random)).collect();
    let conditions = conditions.join(" and ");
    match random.below(6) {
        0 => format!("select count(*) from users where {conditions}"),
        1 => format!("select email, id from users where {conditions} order by id desc limit 7"),
        2 => {
            format!("select a.id, b.score from (select id from users where {conditions}) a join users b on a.id = b.id")
        }
        3 => format!("select joined, count(score) from users where {conditions} group by joined"),
        _ => format!("select * from users where {conditions}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference, _) = both(folder.path()).await;
    with_indexes(&context).await;
    let (mut random, mut by_index) = (Random::new(first_seed()), 0);
    for number in 0..300 {
        // The others with these columns, which are descending, are used from then on.
        if number == 150 {
            run(&context, "drop index by_country on users; drop index by_email on users").await.unwrap();
        }
        let query = query(&mut random);
        assert_eq!(sorted_rows(&context, &query).await, sorted_rows(&reference, &query).await, "{query}");
        by_index += usize::from(plan(&context, &query).await.contains("index=by_"));
    }
    assert!(by_index > 60, "{by_index}");
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_tells_the_index_that_reads_less() {
    let folder = tempfile::tempdir().unwrap();
    let (context, _, _) = both(folder.path()).await;
    let query = "select id from users where country = 'hf' and score > 40";
    assert!(!plan(&context, query).await.contains("index="));
    with_indexes(&context).await;
    for (condition, index) in [
        ("country = 'hf' and score > 40", Some("by_country")),
        ("country = 'hf' and email = 'u7@x'", Some("by_email")),
        ("country = 'hf' and joined < date '1970-02-01'", Some("by_country")),
        ("joined = date '1970-03-01'", Some("by_joined")),
        ("email like 'u12%'", Some("by_email")),
        ("weight = 148.5", Some("by_weight")),
        // Most of the rows, rows that the index leaves out, nothing about its first column, the key itself, and floats
        // whose order is not that of an index.
        ("country >= 'a'", None),
        ("email is null", None),
        ("score = 7", None),
        ("id = 7 and country = 'hf'", None),
        ("weight < -149", None),
    ] {
        let found = plan(&context, &format!("select * from users where {condition}")).await;
        match index {
            Some(index) => assert!(found.contains(&format!("index={index}")), "{condition}: {found}"),
            None => assert!(!found.contains("index="), "{condition}: {found}"),
        }
    }
    let explained = rows(&context, &format!("explain {query}")).await;
    assert!(explained.contains("index=by_country"), "{explained}");
    // Rows that are written later are found, and a unique value is there once.
    run(&context, "insert into users values (5000, 'zz', 1, date '2000-01-01', 'new@x', 1)").await.unwrap();
    assert!(rows(&context, "select id from users where country = 'zz'").await.contains("5000"));
    let taken = run(&context, "insert into users values (5001, 'zz', 1, date '2000-01-01', 'new@x', 1)").await;
    let taken = taken.unwrap_err().to_string();
    assert!(taken.contains("by_email"), "{taken}");
    run(&context, "drop index by_country, by_zone on users").await.unwrap();
    let found = plan(&context, "select * from users where country = 'zz'").await;
    assert!(!found.contains("index="), "{found}");
    assert!(rows(&context, "select id from users where country = 'zz'").await.contains("5000"));
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_rows_are_not_found_by_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference, path) = both(folder.path()).await;
    with_indexes(&context).await;
    let ends = SystemTime::now() + Duration::from_secs(2);
    let store = Db::open(&path, &DbOptions::default().create(false)).unwrap();
    let keyspace = store.keyspace("users").unwrap();
    let mut batch = store.batch();
    for id in 0..ROWS as i64 {
        let key = ogive::encode_i64(id);
        let row = keyspace.get(key).unwrap().unwrap();
        match id % 4 {
            0 => _ = batch.insert_with(&keyspace, key, row, SystemTime::now() - Duration::from_secs(9)),
            1 => _ = batch.insert_with(&keyspace, key, row, ends),
            _ => {}
        }
    }
    batch.commit().unwrap();
    drop(keyspace);
    store.close().unwrap();
    let left = |modulus: &str| format!("(select * from users where id % 4 {modulus}) as users");
    let queries = ["country = 'hf'", "country = 'hf' and score < 9", "joined = date '1970-03-01'", "email = 'u4@x'"];
    let query = |condition: &str| format!("select * from users where {condition}");
    // A plan has the rows of the time at which the table was opened.
    let before = opened(&path).await;
    let mut planned = Vec::new();
    for condition in queries {
        assert!(plan(&before, &query(condition)).await.contains("index="), "{condition}");
        let frame = before.sql(&query(condition)).await.unwrap();
        planned.push((frame.task_ctx(), frame.create_physical_plan().await.unwrap()));
    }
    assert!(SystemTime::now() < ends, "the machine is too slow for this test");
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let after = opened(&path).await;
    for (condition, (task, planned)) in queries.into_iter().zip(planned) {
        let found = collect(planned, Arc::new(task)).await.unwrap();
        let found: usize = found.iter().map(|batch| batch.num_rows()).sum();
        let wanted = sorted_rows(&reference, &query(condition).replace("users", &left("<> 0"))).await;
        assert_eq!(found, wanted.len().saturating_sub(4), "{condition}");
        assert_eq!(sorted_rows(&before, &query(condition)).await, wanted, "{condition}");
        let wanted = sorted_rows(&reference, &query(condition).replace("users", &left("> 1"))).await;
        assert_eq!(sorted_rows(&after, &query(condition)).await, wanted, "{condition}");
        assert!(plan(&after, &query(condition)).await.contains("index="), "{condition}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_reads_the_rows_of_its_time_and_changes_go_by_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let (context, _, path) = both(folder.path()).await;
    with_indexes(&context).await;
    let query = "select * from users where country = 'hf' order by id";
    let wanted = rows(&context, query).await;
    let frame = context.sql(query).await.unwrap();
    let (task, planned) = (Arc::new(frame.task_ctx()), frame.create_physical_plan().await.unwrap());
    let other = opened(&path).await;
    for statement in [
        "update users set country = 'aa' where country = 'hf' and score > 0",
        "update users set country = 'hf' where country = 'bb'",
        "delete from users where country = 'hf' and score < -20",
        "insert into users values (7000, 'hf', 1, date '2000-01-01', null, 1)",
        "drop index by_country on users",
        "create index by_country on users (country)",
    ] {
        run(&other, statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let found = collect(planned, task).await.unwrap();
    let found = datafusion::arrow::util::pretty::pretty_format_batches(&found).unwrap().to_string();
    assert_eq!(found, wanted);
    assert_eq!(rows(&context, query).await, wanted);
    // By the index, and by reading all rows.
    let now = opened(&path).await;
    assert!(plan(&now, query).await.contains("index=by_country"));
    let found = rows(&now, query).await;
    assert!(found.contains("7000") && found != wanted);
    assert_eq!(found, rows(&now, &query.replace("country =", "country || '' =")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_complete_indexes_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, path) = both(folder.path()).await;
    let store = Db::open(&path, &DbOptions::default().create(false)).unwrap();
    let definition = IndexDefinition::by("country").unwrap();
    let keyspace = store.keyspace("users").unwrap();
    // What a crash would leave.
    let left = folder.path().join("left");
    std::fs::create_dir(&left).unwrap();
    let copied = &mut |_| {
        for file in std::fs::read_dir(&path).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), left.join(file.file_name())).unwrap();
        }
        Ok(())
    };
    store.create_index_showing("by_country", &keyspace, &definition, copied).unwrap();
    let store = Db::open(&left, &DbOptions::default().create(false)).unwrap();
    assert!(store.indexes().iter().any(|index| !index.is_complete()));
    store.close().unwrap();
    let path = left.display().to_string();
    let context = opened(&path).await;
    let query = "select count(*) from users where country = 'hf'";
    assert!(!plan(&context, query).await.contains("index="));
    let wanted = rows(&context, query).await;
    run(&context, "create index if not exists by_country on users (country)").await.unwrap();
    assert!(plan(&context, query).await.contains("index=by_country"));
    assert_eq!(rows(&context, query).await, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_keyspaces_knows_new_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, path) = both(folder.path()).await;
    let context = ours(2);
    let schema = StoreSchema::open(&path, &OgiveOptions::default()).unwrap();
    context.catalog("datafusion").unwrap().register_schema("shop", Arc::new(schema)).unwrap();
    let query = "select * from shop.users where country = 'hf'";
    assert!(!plan(&context, query).await.contains("index="));
    run(&context, "create index by_country on shop.users (country)").await.unwrap();
    assert!(plan(&context, query).await.contains("index=by_country"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_a_cluster_neither_makes_nor_uses_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let (context, _, path) = both(folder.path()).await;
    run(&context, "create index by_country on users (country)").await.unwrap();
    let state = SessionStateBuilder::new().with_default_features().with_config(configure(SessionConfig::new()));
    let state = without_changes(with_ogive(state, &OgiveOptions::default())).build();
    let cluster = SessionContext::from(SessionStateBuilder::new_from_existing(state).build());
    run(&cluster, &format!("create external table users stored as ogive location '{path}#users'")).await.unwrap();
    for text in ["create index by_score on users (score)", "drop index by_country on users"] {
        let error = run(&cluster, text).await.unwrap_err().to_string();
        assert!(error.contains("one process changes a store"), "{text}: {error}");
    }
    let query = "select * from users where country = 'hf'";
    assert!(!plan(&cluster, query).await.contains("index="));
    assert!(plan(&context, query).await.contains("index=by_country"));
    assert_eq!(sorted_rows(&cluster, query).await, sorted_rows(&context, query).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_none_can_be_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (context, _, path) = both(folder.path()).await;
    run(&context, "create table plain as values (1)").await.unwrap();
    let copy = "copy (select 1 as id, 'hf' as country) to";
    run(&context, &format!("{copy} '{path}' stored as ogive options (keyspace 'other', key 'id')")).await.unwrap();
    run(&context, &format!("create external table other stored as ogive location '{path}#other'")).await.unwrap();
    run(&context, "create index of_other on other (country)").await.unwrap();
    for (text, reason) in [
        ("create index on users (country)", "needs a name"),
        ("create index i on users (upper(country))", "upper"),
        ("create index i on users (score + 1)", "lower(COLUMN)"),
        ("create index i on users (score nulls first)", "nulls come last"),
        ("create index i on users using hash (score)", "takes UNIQUE"),
        ("create index i on users (nothing)", "there is no column \"nothing\""),
        ("create index i on users (country) where score > 1", "WHERE COLUMN IS NOT NULL"),
        ("create unique index i on users (country)", "unique"),
        ("create index if not exists of_other on users (country)", "of_other"),
        ("create index i on plain (column1)", "no keyspace"),
        ("create index i on missing (column1)", "not found"),
        ("drop index i", "ON its table"),
        ("drop index i on users", "has no index \"i\""),
        ("drop index of_other on users", "has no index \"of_other\""),
    ] {
        let error = run(&context, text).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    run(&context, "drop index if exists of_other on users").await.unwrap();
    assert!(plan(&context, "select * from other where country = 'hf'").await.contains("index=of_other"));
    // An index of one keyspace is none of another one with such a column.
    let users = opened(&path).await;
    assert!(!plan(&users, "select * from users where country = 'hf'").await.contains("index="));
    run(&context, "create index if not exists i on users (\"country\", prefix(email, 2) desc)").await.unwrap();
    run(&context, "create index if not exists i on users (country)").await.unwrap();
    assert!(plan(&context, "select * from users where country = 'hf'").await.contains("index=i"));
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_made_as_the_documentation_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop").display().to_string();
    let context = with_paths(2);
    let copy = "copy (select value as id, concat('n', value) as name, value as amount, case when value < 9 then \
                'Chile' end as origin from generate_series(1, 99)) to 'shop' stored as ogive options (keyspace \
                'fruit', key 'id')";
    run(&context, &copy.replace("'shop", &format!("'{path}"))).await.unwrap();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md")).unwrap();
    let (_, section) = page.split_once("### Indexes of a keyspace").unwrap();
    let example = section.split("```").nth(1).unwrap().strip_prefix("sql").unwrap();
    for statement in example.replace("'shop", &format!("'{path}")).split_inclusive(';') {
        let statement = statement.trim_start_matches(|c| c != '\n').trim();
        match statement.starts_with("explain") {
            true => {
                let index = if statement.contains("lower(name)") { "by_name" } else { "by_origin" };
                let explained = rows(&context, statement).await;
                assert!(explained.contains(&format!("index={index}")), "{statement}: {explained}");
                assert_eq!(explained.contains("in its reversed order"), statement.contains("order by"), "{explained}");
            }
            false => run(&context, statement).await.unwrap_or_else(|error| panic!("{statement}: {error}")),
        }
    }
    let lower = format!("insert into '{path}#fruit' values (100, 'N7', 1, null)");
    let error = run(&context, &lower).await.unwrap_err().to_string();
    assert!(error.contains("by_name"), "{error}");
}
