//! Rows that are their keys: what is copied or inserted has no other column than it had.

use crate::{rows, with_paths};
use datafusion::prelude::SessionContext;
use ogive::index::{Index, IndexOptions};
use ogive::types::{KeyColumn, KeyType, RecordType};
use ogive::{Db, DbOptions, LocalStorage, Storage};
use std::sync::Arc;

/// The names of the columns of a query, and its rows.
async fn shown(context: &SessionContext, query: &str) -> (String, usize) {
    let batches = context.sql(query).await.unwrap();
    let names: Vec<String> = batches.schema().fields().iter().map(|field| field.name().clone()).collect();
    (names.join(" "), batches.count().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_copied_of_one_column_has_one_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let context = with_paths(2);
    let (table, store) = (path("t.ogive"), path("s"));
    for (columns, names, key) in [
        ("cast(column1 as bigint) as value", "value", "value"),
        ("cast(column1 as bigint) as b, 'x' as a", "b a", "a,b"),
    ] {
        let query = format!("select {columns} from (values (3), (1), (2))");
        let options = format!("options (key '{key}', replace true)");
        rows(&context, &format!("copy ({query}) to '{table}' stored as ogive {options}")).await;
        assert_eq!(shown(&context, &format!("select * from '{table}'")).await, (names.to_owned(), 3));
        let options = format!("options (keyspace '{key}', key '{key}')");
        rows(&context, &format!("copy ({query}) to '{store}' stored as ogive {options}")).await;
        let keyspace = format!("{store}#{key}");
        assert_eq!(shown(&context, &format!("select * from '{keyspace}'")).await, (names.to_owned(), 3));
        // The same rows again are the same rows.
        rows(&context, &format!("copy ({query}) to '{store}' stored as ogive {options}")).await;
        let name = if key == "value" { "one" } else { "two" };
        rows(&context, &format!("create external table {name} stored as ogive location '{keyspace}'")).await;
        assert_eq!(shown(&context, &format!("select * from {name}")).await, (names.to_owned(), 3));
        let row = if key == "value" { "(7)" } else { "(7, 'y')" };
        rows(&context, &format!("insert into {name} values {row}")).await;
        assert_eq!(shown(&context, &format!("select * from {name}")).await, (names.to_owned(), 4));
    }
    let found = rows(&context, "select * from one where value >= 2 order by value").await;
    assert!(found.contains("| 2     |\n| 3     |\n| 7     |"), "{found}");
    let refused = context.sql("insert into one values (8, 'eight')").await.err().map(|error| error.to_string());
    assert!(refused.is_some());
    // Nor does any other way of writing bring values that no query shows.
    let db = Db::open(&store, &DbOptions::default()).unwrap();
    let keyspace = db.keyspace("value").unwrap();
    assert_eq!(keyspace.record_type().to_string(), "i64 -> {}");
    keyspace.insert(9_i64.to_be_bytes(), "").unwrap();
    let refused = keyspace.insert(10_i64.to_be_bytes(), "ten").unwrap_err().to_string();
    assert!(refused.contains("keys alone"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_other_writers_have_the_columns_that_they_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let context = with_paths(2);
    // A store of an older version has a column of values, which stays: rows without it would empty values.
    let store = path("old");
    let db = Db::open(&store, &DbOptions::default()).unwrap();
    let names = vec![KeyColumn { name: "a".into(), position: 0 }];
    let older = db.keyspace("k").unwrap();
    older.declare(&RecordType::new(KeyType::I64, KeyType::Bytes).key_columns(names)).unwrap();
    older.insert(KeyType::I64.parse("5").unwrap(), "").unwrap();
    db.keyspace("typed").unwrap().typed::<i64, ()>().unwrap().insert(7, ()).unwrap();
    drop(older);
    db.close().unwrap();
    assert_eq!(shown(&context, &format!("select * from '{store}#k'")).await, ("a value".to_owned(), 1));
    let copy = format!("copy (select cast(6 as bigint) as a) to '{store}' stored as ogive options (keyspace 'k')");
    let refused = match context.sql(&copy).await {
        Ok(copy) => copy.collect().await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(refused.contains("no column 'value'"), "{refused}");
    rows(&context, &copy.replace(" as a)", " as a, arrow_cast('', 'Binary') as value)")).await;
    assert_eq!(shown(&context, &format!("select * from '{store}#k'")).await, ("a value".to_owned(), 2));
    assert_eq!(shown(&context, &format!("select * from '{store}#typed'")).await, ("key".to_owned(), 1));

    let options = IndexOptions::default().key_type(KeyType::U64).payload_bytes(0);
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder.path()));
    let index = Index::<u64, ()>::create((storage, "x"), &options).unwrap();
    let mut write = index.write().unwrap();
    write.insert(4, ()).unwrap();
    write.commit().unwrap();
    drop(index);
    assert_eq!(shown(&context, &format!("select * from '{}'", path("x"))).await, ("key".to_owned(), 1));
}
