//! Tables of `create external table` whose keyspace has changed since: fields were added, or it was dropped.

use crate::{ours, rows};
use datafusion::prelude::SessionContext;
use ogive::types::{KeyColumn, RecordType, ValueType};
use ogive::{Db, DbOptions};
use std::path::Path;

/// The place of the store of a test.
fn store(folder: &Path) -> String {
    folder.join("shop").display().to_string()
}

fn open(store: &str) -> Db {
    Db::open(store, &DbOptions::default()).unwrap()
}

fn types(keys: &str, values: &str) -> RecordType {
    RecordType::new(keys.parse().unwrap(), values.parse::<ValueType>().unwrap())
}

/// States types of the keyspace `k`, as a program does.
fn declare(store: &str, types: &RecordType) {
    let db = open(store);
    db.keyspace("k").unwrap().declare(types).unwrap();
    db.close().unwrap();
}

async fn run(context: &SessionContext, statement: &str) -> Result<(), String> {
    let ran = async { context.sql(statement).await?.collect().await }.await;
    ran.map(drop).map_err(|error| error.to_string())
}

/// Copies rows into the keyspace `k`.
async fn copy(context: &SessionContext, store: &str, query: &str) -> Result<(), String> {
    run(context, &format!("copy ({query}) to '{store}' stored as ogive options (keyspace 'k', key 'id')")).await
}

/// A table of the keyspace as it is now.
async fn create(context: &SessionContext, store: &str, name: &str) {
    rows(context, &format!("create external table {name} stored as ogive location '{store}#k'")).await;
}

/// The cells of a query, a line a row.
async fn cells(context: &SessionContext, query: &str) -> Vec<String> {
    let found = rows(context, query).await;
    let row = |line: &str| line.split('|').map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned();
    found.lines().filter(|line| line.starts_with('|')).skip(1).map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_all_ages_go_on_when_fields_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let (context, other) = (ours(2), ours(3));
    // The key is neither the first column nor at a place that the added fields leave alone.
    let first = types("i64", "{a: text}").key_columns(vec![KeyColumn { name: "id".into(), position: 9 }]);
    declare(&store, &first);
    copy(&context, &store, "select 'one' as a, cast(1 as bigint) as id").await.unwrap();
    create(&context, &store, "one").await;
    create(&other, &store, "one").await;
    rows(&context, "create view seen as select id, a from one where id > 0").await;
    let mut all = vec!["one".to_owned()];
    for (number, (name, values)) in
        [("two", "{a: text, b: i64?}"), ("three", "{a: text, b: i64?, c: text?}")].into_iter().enumerate()
    {
        let added = RecordType { values: values.parse().unwrap(), ..first.clone() };
        declare(&store, &added);
        create(&context, &store, name).await;
        all.push(name.to_owned());
        for (at, table) in all.iter().enumerate() {
            let id = 10 * (number + 1) + at + 1;
            let more = ["", ", 7", ", 7, 'c'"][at];
            let insert = format!("insert into {table} values ('{table}'{more}, {id})");
            run(&context, &insert).await.unwrap_or_else(|error| panic!("{insert}: {error}"));
        }
    }
    rows(&other, "insert into one (id, a) values (40, 'other')").await;
    // Who copies from or as an older table writes nulls there.
    copy(&context, &store, "select a, id + 100 as id from one where id = 1").await.unwrap();
    copy(&context, &store, "select cast(102 as bigint) as id, 'b' as a, cast(7 as bigint) as b").await.unwrap();
    let refused = copy(&context, &store, "select cast(103 as bigint) as id, 'b' as a, 7 as d").await.unwrap_err();
    assert!(refused.contains("no column 'd'") && refused.contains("a, b, c, id"), "{refused}");
    for table in &all {
        rows(&context, &format!("insert into {table} (id, a) values (200, 'last')")).await;
    }
    let expected = [
        "one   1",
        "one   11",
        "two 7  12",
        "one   21",
        "two 7  22",
        "three 7 c 23",
        "other   40",
        "one   101",
        "b 7  102",
        "last   200",
    ];
    assert_eq!(cells(&context, "select a, b, c, id from three order by id").await, expected);
    assert_eq!(cells(&context, "select * from three order by id").await, expected);
    assert_eq!(cells(&context, "select * from two order by id").await, without(&expected, 1));
    for context in [&context, &other] {
        rows(context, "insert into one (id, a) values (200, 'last')").await;
        assert_eq!(cells(context, "select * from one order by id").await, without(&expected, 2));
        check_oldest(context).await;
    }
    assert_eq!(cells(&context, "select count(*), max(a) from seen").await, ["10 two"]);
    // An update would lose the fields that the table does not know; rows are removed by their keys.
    let refused = run(&context, "update one set a = 'x'").await.unwrap_err();
    assert!(refused.contains("open it with its own types"), "{refused}");
    run(&context, "delete from one where id = 12").await.unwrap();
    assert_eq!(cells(&context, "select count(*) from one where id <= 12").await, ["2"]);
}

/// Rows of three fields and the key without some of the last fields.
fn without(rows: &[&str], dropped: usize) -> Vec<String> {
    let row = |row: &&str| {
        let cells: Vec<&str> = row.split(' ').collect();
        let (key, fields) = cells.split_last().unwrap();
        [&fields[..fields.len() - dropped], &[*key]].concat().join(" ")
    };
    rows.iter().map(row).collect()
}

/// Queries of the table that knows the first field alone.
async fn check_oldest(context: &SessionContext) {
    for (query, expected) in [
        ("select * from one order by id desc limit 2", &["last 200", "b 102"][..]),
        ("select a from one where id in (1, 22, 23, 102)", &["one", "two", "three", "b"]),
        ("select count(*), max(id), max(a) from one", &["10 200 two"]),
        ("select id from one where a = 'three'", &["23"]),
        ("select x.a from one x join (values (23), (1)) y on x.id = y.column1 order by 1", &["one", "three"]),
    ] {
        assert_eq!(cells(context, query).await, expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_writes_into_no_other_keyspace_than_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let context = ours(2);
    let row = "select cast(1 as bigint) as id, 'one' as a";
    copy(&context, &store, row).await.unwrap();
    create(&context, &store, "k").await;
    let insert = "insert into k values (2, 'two')";
    rows(&context, insert).await;

    let db = open(&store);
    assert!(db.drop_keyspace("k").unwrap());
    db.close().unwrap();
    let refused = run(&context, insert).await.unwrap_err();
    assert!(refused.contains("the keyspace \"k\" of") && refused.contains("was dropped"), "{refused}");
    let refused = run(&context, "select * from k").await.unwrap_err();
    assert!(refused.contains("no keyspace 'k'"), "{refused}");
    let mut db = open(&store);
    assert!(!db.keyspaces().contains(&"k".to_owned()));

    // Made again with other types.
    let keys_alone = types("i64", "bytes").keys_only();
    for other in [types("i64", "{a: i64}"), types("i64", "{a: text, b: text}"), types("i64", "text"), keys_alone] {
        db.keyspace("k").unwrap().declare(&other).unwrap();
        db.close().unwrap();
        let refused = run(&context, insert).await.unwrap_err();
        assert!(refused.contains(&format!(" is {other}, not i64 -> {{a: text}}")), "{refused}");
        db = open(&store);
        assert!(db.keyspace("k").unwrap().is_empty().unwrap());
        assert_eq!(*db.keyspace("k").unwrap().record_type(), other);
        assert!(db.drop_keyspace("k").unwrap());
    }

    // Made again with its own types and a field more, or without any: the name is that of the table's keyspace.
    db.keyspace("k").unwrap().declare(&types("i64", "{a: text, b: text?}")).unwrap();
    db.close().unwrap();
    rows(&context, insert).await;
    assert_eq!(cells(&context, "select * from k").await, ["2 two"]);
    let db = open(&store);
    assert!(db.drop_keyspace("k").unwrap());
    db.keyspace("k").unwrap();
    db.close().unwrap();
    rows(&context, insert).await;
    assert_eq!(cells(&context, "select * from k").await, ["2 two"]);
    create(&context, &store, "again").await;
    assert_eq!(cells(&context, "select a from again where id = 2").await, ["two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_keyspace_whose_types_were_replaced_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let context = ours(2);
    copy(&context, &store, "select cast(1 as bigint) as id, 'one' as a").await.unwrap();
    create(&context, &store, "k").await;
    let db = open(&store);
    let keyspace = db.keyspace("k").unwrap();
    keyspace.remove_range::<&[u8]>(..).unwrap();
    keyspace.declare(&types("i64", "{a: i64}")).unwrap();
    drop(keyspace);
    db.close().unwrap();
    let refused = run(&context, "insert into k values (2, 'two')").await.unwrap_err();
    assert!(refused.contains(" is i64 -> {a: i64}, not"), "{refused}");
    let db = open(&store);
    assert!(db.keyspace("k").unwrap().is_empty().unwrap());
}
