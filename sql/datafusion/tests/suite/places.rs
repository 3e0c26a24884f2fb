//! Tables by their places: external tables, schemas of stores, and what is not there.

use crate::relations::{Form, Rows};
use crate::{ours, rows};
use datafusion::catalog::CatalogProvider;
use datafusion::catalog::MemoryCatalogProvider;
use ogive::types::RecordType;
use ogive::{Db, DbOptions, KeyType};
use ogive_datafusion::{OgiveOptions, StoreSchema};
use ogive_testkit::Random;
use std::sync::Arc;

fn store(folder: &std::path::Path) -> String {
    let path = folder.join("shop");
    let db = Db::open(&path, &DbOptions::default()).unwrap();
    for (name, count) in [("orders", 20_u64), ("users", 7), ("a#b", 3)] {
        let keyspace = db.keyspace(name).unwrap();
        let keyspace = keyspace.stating(&RecordType::new(KeyType::U64, KeyType::Text)).unwrap();
        (0..count).for_each(|key| keyspace.insert(key.to_be_bytes(), format!("{name} {key}")).unwrap());
    }
    db.close().unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn external_tables_are_tables_and_keyspaces() {
    let folder = tempfile::tempdir().unwrap();
    let (context, store) = (ours(2), store(folder.path()));
    let data = Rows::random(&mut Random::new(1), KeyType::U64, 100, true);
    data.open(&mut Random::new(1), folder.path(), Form::Table);
    let path = folder.path().join("t.ogive");
    let statements = [
        format!("create external table t stored as ogive location '{}'", path.display()),
        format!("create external table users stored as ogive location '{store}' options (keyspace 'users')"),
        format!("create external table orders stored as ogive location '{store}#orders'"),
    ];
    for statement in &statements {
        context.sql(statement).await.unwrap().collect().await.unwrap();
    }
    assert!(rows(&context, "select count(*) as n from t").await.contains("| 100 |"));
    assert!(rows(&context, "select value from users where key = 3").await.contains("users 3"));
    // A keyspace may have the sign in its name that separates it from its store.
    run(&context, &format!("create external table marked stored as ogive location '{store}#a#b'")).await.unwrap();
    assert!(rows(&context, "select max(value) as m from marked").await.contains("a#b 2"));
    let joined = rows(&context, "select count(*) as n from orders join users on orders.key = users.key").await;
    assert!(joined.contains("| 7 |"), "{joined}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_a_schema_of_its_keyspaces() {
    let folder = tempfile::tempdir().unwrap();
    let (context, store) = (ours(2), store(folder.path()));
    let catalog = MemoryCatalogProvider::new();
    let schema = StoreSchema::open(&store, &OgiveOptions::default()).unwrap();
    catalog.register_schema("shop", Arc::new(schema)).unwrap();
    context.register_catalog("stores", Arc::new(catalog));
    let found =
        rows(&context, "select value from stores.shop.orders where key between 4 and 5 order by key desc").await;
    assert!(found.contains("orders 5") && found.contains("orders 4"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (context, store) = (ours(2), store(folder.path()));
    std::fs::write(folder.path().join("text.ogive"), "no table").unwrap();
    let expected = [
        (format!("location '{store}' options (keyspace 'cats')"), "has no keyspace 'cats'; it has"),
        (format!("location '{}/none.ogive'", folder.path().display()), "check the path"),
        (format!("location '{}/text.ogive'", folder.path().display()), "text.ogive is not"),
        (format!("location '{store}' options (colour 'red')"), "has no option"),
    ];
    for (rest, message) in expected {
        let failed =
            async { context.sql(&format!("create external table x stored as ogive {rest}")).await?.collect().await };
        let error = failed.await.unwrap_err().to_string();
        assert!(error.contains(message) || error.contains("have no option"), "{rest}: {error}");
    }
}

async fn run(context: &datafusion::prelude::SessionContext, statement: &str) -> datafusion::error::Result<String> {
    let found = context.sql(statement).await?.collect().await?;
    Ok(datafusion::arrow::util::pretty::pretty_format_batches(&found)?.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_sorted_tables_that_replace_none() {
    let folder = tempfile::tempdir().unwrap();
    let context = ours(3);
    let path = folder.path().join("copy.ogive");
    let copy = format!(
        "copy (select column1 as a, column2 as b, column3 as c \
         from (values (3, 'x', 1.5), (1, 'y', null), (2, 'y', 0.5))) to '{}' stored as ogive",
        path.display()
    );
    let written = run(&context, &format!("{copy} options (key 'b,a')")).await.unwrap();
    assert!(written.contains("| 3     |"), "{written}");
    let read = format!("create external table copy stored as ogive location '{}'", path.display());
    run(&context, &read).await.unwrap();
    let rows = run(&context, "select a, b, c from copy where b = 'y' and a > 1").await.unwrap();
    assert!(rows.contains("| 2 | y | 0.5 |") && rows.lines().count() == 5, "{rows}");
    let again = run(&context, &copy).await.unwrap_err().to_string();
    assert!(again.contains("copy.ogive"), "{again}");
    run(&context, &format!("{copy} options (key 'a', replace true)")).await.unwrap();
    // A query that fails leaves nothing behind.
    let failing = format!(
        "copy (select arrow_cast(column1, 'Int8') as a, 1 / column1 as b from (values (1), (0))) to '{}' \
         stored as ogive",
        folder.path().join("failed.ogive").display()
    );
    run(&context, &failing).await.unwrap_err();
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["copy.ogive"]);
    let place = folder.path().join("twice.ogive");
    let twice = format!("(select 1 as a, 2 as b) to '{}' stored as ogive options (key 'a,a')", place.display());
    run(&context, &format!("copy {twice}")).await.unwrap_err();
    let unknown = run(&context, &format!("{copy} options (colour 'red')")).await.unwrap_err().to_string();
    assert!(unknown.contains("have no option"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn inserts_into_keyspaces_are_seen_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = (ours(2), folder.path().join("shop"));
    let fields = vec![ogive::types::Field::new("name", KeyType::Text).nullable()];
    let values = ogive::types::ValueType::Row(ogive::types::RowType::new(fields).unwrap());
    let db = Db::open(&path, &DbOptions::default()).unwrap();
    db.keyspace("users").unwrap().declare(&RecordType::new(KeyType::U64, values)).unwrap();
    db.close().unwrap();
    let create = format!("create external table users stored as ogive location '{}#users'", path.display());
    run(&context, &create).await.unwrap();
    run(&context, "insert into users values (7, 'seven'), (3, null)").await.unwrap();
    run(&context, "insert into users (key, name) select key + 1, 'next' from users").await.unwrap();
    let rows = run(&context, "select key, name from users order by key").await.unwrap();
    for row in ["| 3   |       |", "| 4   | next  |", "| 7   | seven |", "| 8   | next  |"] {
        assert!(rows.contains(row), "{rows}");
    }
    // A null in the key is named by its column.
    let error =
        run(&context, "insert into users select nullif(key, 7), name from users").await.unwrap_err().to_string();
    assert!(error.contains("'key' is null"), "{error}");
    // A key twice in one statement: nothing of it is there.
    run(&context, "insert into users values (20, 'a'), (20, 'b'), (21, 'c')").await.unwrap_err();
    let count = run(&context, "select count(*) as n from users").await.unwrap();
    assert!(count.contains("| 4 |"), "{count}");
}
