//! Rows for keyspaces of other writers: values that are one column, fields of the name of a key, and keyspaces without
//! types.

use crate::{ours, rows, with_paths};
use datafusion::prelude::SessionContext;
use ogive::types::{RecordType, ValueType};
use ogive::{Db, DbOptions};
use ogive_datafusion::{OgiveOptions, StoreSchema};
use std::sync::Arc;

fn types(keys: &str, values: &str) -> RecordType {
    RecordType::new(keys.parse().unwrap(), values.parse::<ValueType>().unwrap())
}

/// Keys and values of SQL, and the same as text, of keyspaces of these types.
struct Case {
    keys: &'static str,
    values: &'static str,
    rows: [(&'static str, &'static str, &'static str); 3],
}

/// Types that no `copy` makes by itself.
const CASES: &[Case] = &[
    Case {
        keys: "u64",
        values: "f64",
        rows: [
            ("1 as key, 2.5 as value", "1", "2.5"),
            ("18446744073709551615 as key, -0.0 as value", "18446744073709551615", "-0"),
            ("3 as key, cast('NaN' as double) as value", "3", "NaN"),
        ],
    },
    Case {
        keys: "text",
        values: "i64",
        rows: [
            ("'b' as key, 7 as value", "b", "7"),
            ("'a' as key, -9223372036854775808 as value", "a", "-9223372036854775808"),
            ("'' as key, 0 as value", "", "0"),
        ],
    },
    Case {
        keys: "bytes",
        values: "bytes",
        rows: [
            ("x'00ff' as key, x'' as value", "\\x00\\xff", ""),
            ("x'' as key, x'01' as value", "", "\\x01"),
            ("x'61' as key, x'62' as value", "a", "b"),
        ],
    },
    Case {
        keys: "(i64 desc, text?)",
        values: "{a: decimal(9,2)?}",
        rows: [
            ("1 as key1, 'x' as key2, cast(1.25 as decimal(9,2)) as a", "1,x", "1.25"),
            ("1 as key1, cast(null as varchar) as key2, cast(2.5 as decimal(5,1)) as a", "1,", "2.50"),
            ("2 as key1, '' as key2, cast(null as decimal(9,2)) as a", "2,\"\"", ""),
        ],
    },
    Case {
        keys: "u64",
        values: "{key: text, a: i64?}",
        rows: [
            ("1 as key, 'one' as key_2, 7 as a", "1", "one,7"),
            ("2 as key, 'two' as key_2, cast(null as int) as a", "2", "two,"),
            ("3 as key, '' as key_2, 0 as a", "3", ",0"),
        ],
    },
    Case {
        keys: "decimal(20,3)",
        values: "timestamp(ns)",
        rows: [
            ("cast(1.5 as decimal(20,3)) as key, timestamp '2024-01-01T00:00:00' as value", "1.500", "2024-01-01T00"),
            ("cast(-1.5 as decimal(9,1)) as key, timestamp '1969-12-31' as value", "-1.500", "1969-12-31T00"),
            ("cast(0 as decimal(20,3)) as key, timestamp '2024-01-01T00:00:00.000000001' as value", "0.000", "000001"),
        ],
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn keyspaces_of_all_types_take_rows_by_copy_and_by_insert() {
    for (number, Case { keys, values, rows: all }) in CASES.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("shop").display().to_string();
        let (context, types) = (ours(2), types(keys, values));
        let db = Db::open(&store, &DbOptions::default()).unwrap();
        let [copied, inserted] = ["copied", "inserted"].map(|name| db.keyspace(name).unwrap());
        for keyspace in [copied, inserted] {
            keyspace.declare(&types).unwrap();
        }
        db.close().unwrap();
        rows(&context, &format!("create external table t stored as ogive location '{store}#inserted'")).await;
        for (columns, ..) in all {
            let copy = format!("copy (select {columns}) to '{store}' stored as ogive options (keyspace 'copied')");
            rows(&context, &copy).await;
            rows(&context, &format!("insert into t select {columns}")).await;
        }
        let db = Db::open(&store, &DbOptions::default()).unwrap();
        let records = |name: &str| {
            let keyspace = db.keyspace(name).unwrap();
            assert_eq!(*keyspace.record_type(), types, "{number} {name}");
            let records = keyspace.iter().map(|record| {
                let (key, value) = record.unwrap();
                (types.keys.display(&key).to_string(), types.values.display(&value).to_string())
            });
            records.collect::<Vec<_>>()
        };
        assert_eq!(records("copied"), records("inserted"), "{number}");
        let found = records("copied");
        assert_eq!(found.len(), all.len());
        for (columns, key, value) in all {
            let is_there = found.iter().any(|(k, v)| k == key && v.contains(value));
            assert!(is_there, "{columns}: {found:?}");
        }
        // What is read can be written again, by either.
        let copy = format!("copy (select * from t) to '{store}' stored as ogive options (keyspace 'copied')");
        drop(db);
        rows(&context, &copy).await;
        rows(&context, "insert into t select * from t").await;
        let db = Db::open(&store, &DbOptions::default()).unwrap();
        for name in ["copied", "inserted"] {
            let again = db.keyspace(name).unwrap();
            let again = again.iter().map(|record| types.values.display(&record.unwrap().1).to_string());
            assert_eq!(again.collect::<Vec<_>>(), found.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>());
        }
    }
}

async fn refused(context: &SessionContext, statement: &str) -> String {
    let ran = async { context.sql(statement).await?.collect().await }.await;
    ran.err().unwrap_or_else(|| panic!("{statement}")).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_keyspace_of_single_values_does_not_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("shop").display().to_string();
    let context = with_paths(2);
    let db = Db::open(&store, &DbOptions::default()).unwrap();
    db.typed::<u64, f64>().unwrap().insert(1, 2.5).unwrap();
    db.close().unwrap();
    let copy = |query: &str| format!("copy ({query}) to '{store}' stored as ogive options (keyspace 'default')");
    for (query, message) in [
        ("select 1 as key, 'x' as value", "CAST the column"),
        ("select -1 as key, 2.5 as value", "CAST the column"),
        ("select 1.5 as key, 2.5 as value", "CAST the column"),
        ("select 1 as key, 9007199254740993 as value", "CAST the column"),
        ("select 1 as key", "no column 'value'"),
        ("select 1 as id, 2.5 as value", "no column 'id'; they have: key, value; rename columns by AS"),
        ("select 1 as key, 2.5 as value, 3 as more", "no column 'more'"),
        ("select 1 as key, cast(null as double) as value", "column 'value' is null"),
    ] {
        let error = refused(&context, &copy(query)).await;
        assert!(error.contains(message), "{query}: {error}");
    }
    let by_value = copy("select 1 as key, 2.5 as value").replace(" 'default'", " 'default', key 'value'");
    let error = refused(&context, &by_value).await;
    assert!(error.contains("is 'key', not 'value'; leave the option 'key' out"), "{error}");
    for values in ["(1.5, 2)", "(-1, 2)", "(1, 9007199254740993)", "(null, 2)", "(2, null)", "(1)", "(1, 2, 3)"] {
        refused(&context, &format!("insert into '{store}' values {values}")).await;
    }
    rows(&context, &copy("select 7.0 as value, '2' as k, arrow_cast(2, 'UInt8') as key").replace("'2' as k, ", ""))
        .await;
    rows(&context, &format!("insert into '{store}' values (3, 9007199254740992), ('4', '0.1')")).await;
    let found = rows(&context, &format!("select * from '{store}' order by key")).await;
    for row in ["1   | 2.5", "2   | 7.0", "3   | 9007199254740992.0", "4   | 0.1"] {
        assert!(found.contains(row), "{found}");
    }
    assert_eq!(found.lines().count(), 8, "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_copied_is_converted_where_that_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("shop").display().to_string();
    let context = with_paths(2);
    let db = Db::open(&store, &DbOptions::default()).unwrap();
    let declared = types("u8", "{t: timestamp(us)?, d: date?, n: decimal(9,2)?, f: f32?, x: text?, b: bytes?}");
    db.keyspace("k").unwrap().declare(&declared).unwrap();
    db.close().unwrap();
    let copy = |value: &str, name: &str| {
        format!("copy (select 1 as key, {value} as {name}) to '{store}' stored as ogive options (keyspace 'k')")
    };
    for (value, name, stored) in [
        ("arrow_cast('2024-01-02T03:04:05.000006', 'Timestamp(Nanosecond, None)')", "t", "2024-01-02T03:04:05.000006"),
        ("arrow_cast('1969-12-31T23:59:59', 'Timestamp(Second, None)')", "t", "1969-12-31T23:59:59"),
        ("arrow_cast('2024-01-02', 'Date64')", "d", "2024-01-02"),
        ("cast('1.500' as decimal(9,3))", "n", "1.50"),
        ("7", "n", "7.00"),
        ("16777216", "f", "16777216.0"),
        ("arrow_cast('y', 'Dictionary(Int32, Utf8)')", "x", "y"),
        ("arrow_cast(x'61', 'BinaryView')", "b", "61"),
    ] {
        rows(&context, &copy(value, name)).await;
        let found = rows(&context, &format!("select {name} from '{store}#k'")).await;
        assert!(found.contains(&format!("| {stored} ")), "{value}: {found}");
    }
    for (value, name) in [
        ("5", "t"),
        ("date '2024-01-02'", "t"),
        ("arrow_cast('2024-01-02T03:04:05.0000006', 'Timestamp(Nanosecond, None)')", "t"),
        ("5", "d"),
        ("cast('1.501' as decimal(9,3))", "n"),
        ("0.5", "n"),
        ("16777217", "f"),
        ("0.1", "f"),
        ("5", "x"),
        ("'y'", "b"),
        ("true", "n"),
    ] {
        let error = refused(&context, &copy(value, name)).await;
        assert!(error.contains(&format!("column '{name}'")) && error.contains("which casts"), "{value}: {error}");
    }
    assert!(rows(&context, &format!("select b from '{store}#k'")).await.contains("| 61 "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyspace_without_types_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("shop").display().to_string();
    let context = with_paths(2);
    let db = Db::open(&store, &DbOptions::default()).unwrap();
    db.keyspace("new").unwrap();
    db.close().unwrap();
    let place = format!("{store}#new");
    let statements = [
        format!("select * from '{place}'"),
        format!("select count(name) from '{place}'"),
        format!("insert into '{place}' values (1, 'one')"),
        format!("create external table new stored as ogive location '{place}'"),
    ];
    for statement in &statements {
        let error = refused(&context, statement).await;
        let expected = format!("'new' of {store} has no rows, and no columns yet; COPY (...) TO '{store}'");
        assert!(error.contains(&expected) && !error.contains("the store has"), "{error}");
    }
    let copy = |keyspace: &str| {
        format!("copy (select 1 as id, 'one' as name) to '{store}' stored as ogive options (keyspace '{keyspace}')")
    };
    rows(&context, &copy("users")).await;
    let error = refused(&context, &format!("select * from '{store}'")).await;
    assert!(
        error.contains("'default' of") && error.contains(&format!("in 'users', named as '{store}#users'")),
        "{error}"
    );
    // As a schema, a store has the keyspaces with columns; the others say why they are no tables.
    let schema = StoreSchema::open(&store, &OgiveOptions::default()).unwrap();
    context.catalog("datafusion").unwrap().register_schema("shop", Arc::new(schema)).unwrap();
    assert!(rows(&context, "select name from shop.users").await.contains("one"));
    let error = refused(&context, "select * from shop.new").await;
    assert!(error.contains("has no rows, and no columns yet"), "{error}");
    rows(&context, &copy("new")).await;
    assert!(rows(&context, &statements[1]).await.contains("| 1"));
    rows(&context, "create external table new stored as ogive location 'PLACE'".replace("PLACE", &place).as_str())
        .await;
    // Rows of bytes have columns without any types.
    let db = Db::open(&store, &DbOptions::default()).unwrap();
    db.keyspace("raw").unwrap().insert("key", "value").unwrap();
    db.close().unwrap();
    assert!(rows(&context, &format!("select * from '{store}#raw'")).await.contains("6b6579"));
}
