//! `ALTER TABLE` of keyspaces, beside a session of DataFusion that casts the columns of a table in memory: the rows of
//! all ages, in all sessions, and what is refused.

use crate::{ours, reference, rows, with_paths};
use arrow_schema::DataType;
use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, PostgreSqlDialect};
use ogive::types::{RecordType, ValueType};
use ogive::{Db, DbOptions, KeyType};
use ogive_datafusion::{OgiveOptions, StoreSchema, alter_table, parse_statements};
use std::path::Path;
use std::sync::Arc;

/// A store with the keyspace `k`, which has no rows.
fn store(folder: &Path) -> String {
    let path = folder.join("shop").display().to_string();
    let values: ValueType = "{n: u8, i: i32, d: decimal(8,2), f: f32, t: time(s), s: text}".parse().unwrap();
    let db = Db::open(&path, &DbOptions::default()).unwrap();
    db.keyspace("k").unwrap().declare(&RecordType::new(KeyType::I64, values)).unwrap();
    db.close().unwrap();
    path
}

async fn alter(context: &SessionContext, text: &str) -> Result<bool> {
    let dialect: &dyn Dialect = if text.contains(" using ") { &PostgreSqlDialect {} } else { &GenericDialect {} };
    let statement = parse_statements(text, dialect)?.pop_front().unwrap();
    Ok(alter_table(context, &statement).await?.is_some())
}

/// Rows of the first types whose keys are in a range.
fn first_rows(from: u64, to: u64) -> String {
    format!(
        "select value as key, arrow_cast(value % 251, 'UInt8') as n, arrow_cast(value * 7, 'Int32') as i, \
         cast(concat(value, '.25') as decimal(8,2)) as d, arrow_cast(value / 4.0, 'Float32') as f, \
         arrow_cast(arrow_cast(value, 'Int32'), 'Time32(Second)') as t, concat('row ', value) as s \
         from generate_series({from}, {to})"
    )
}

/// Names and types of all columns, texts as such.
async fn columns(context: &SessionContext, table: &str) -> Vec<(String, DataType)> {
    let schema = context.sql(&format!("select * from {table}")).await.unwrap().schema().as_arrow().clone();
    let is_text = |data_type: &DataType| matches!(data_type, DataType::Utf8View | DataType::LargeUtf8);
    let type_of = |data_type: &DataType| if is_text(data_type) { DataType::Utf8 } else { data_type.clone() };
    schema.fields().iter().map(|field| (field.name().clone(), type_of(field.data_type()))).collect()
}

/// Alterations, what a query makes of the rows `$r` before, and rows that are written afterwards.
const STEPS: [(&str, &str, &str); 3] = [
    (
        "add column origin text, alter column n type int, alter i set data type bigint",
        "select key, cast(n as int) as n, cast(i as bigint) as i, d, f, t, s, cast(null as varchar) as origin from $r",
        "select key + 500 as key, cast(70000 as int) as n, 5000000000 as i, d, f, t, s, 'there' as origin from $r \
         where key <= 40",
    ),
    (
        "alter column s drop not null, alter column d type decimal(12,4), alter column f type double, alter column t \
         type time(6)",
        "select key, n, i, cast(d as decimal(12,4)) as d, cast(f as double) as f, \
         arrow_cast(t, 'Time64(Microsecond)') as t, s, origin from $r",
        "select key - 20 as key, n, i, cast('12345678.1234' as decimal(12,4)) as d, cast(0.1 as double) as f, t, \
         cast(null as varchar) as s, origin from $r where key between 501 and 540",
    ),
    (
        "add if not exists origin bigint, add column price decimal(6,2) null, alter column price type decimal(9,3), \
         alter column n type i128, add column \"Id\" uuid",
        "select key, arrow_cast(n, 'Decimal256(39, 0)') as n, i, d, f, t, s, origin, \
         cast(null as decimal(9,3)) as price, arrow_cast(null, 'FixedSizeBinary(16)') as \"Id\" from $r",
        "select key + 1000 as key, n, i, d, f, t, s, origin, cast('123456.125' as decimal(9,3)) as price, \"Id\" \
         from $r where key between 30 and 60",
    ),
];

const QUERIES: [&str; 4] = [
    "select * from $r order by key",
    "select key, t, n from $r where key between 490 and 515 order by key desc limit 20",
    "select count(*), count(s), sum(i), max(d), min(f), max(t) from $r as r",
    "select s, n from $r where key in (7, 485, 505, 1042) and i > 40 order by key",
];

/// Compares the columns and the rows of tables with those of `r`.
async fn check(tables: &[(&SessionContext, &str)], reference: &SessionContext) {
    let expected = columns(reference, "r").await;
    for (context, table) in tables {
        assert_eq!(columns(context, table).await, expected);
        for query in QUERIES {
            let found = rows(context, &query.replace("$r", table)).await;
            assert_eq!(found, rows(reference, &query.replace("$r", "r")).await, "{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_all_ages_are_those_of_a_table_whose_columns_were_cast() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("'{}#k'", store(folder.path()));
    let (context, other, reference) = (ours(2), with_paths(3), reference());
    let create = format!("create external table k stored as ogive location {path}");
    rows(&context, &create).await;
    rows(&context, &format!("insert into k {}", first_rows(1, 300))).await;
    rows(&reference, &format!("create table r as {}", first_rows(1, 300))).await;
    check(&[(&context, "k"), (&other, &path)], &reference).await;
    for (number, (altered, cast, written)) in STEPS.into_iter().enumerate() {
        // The other session names the keyspace by its path, and sees what the first one does.
        let (by, name) = if number == 1 { (&other, path.as_str()) } else { (&context, "k") };
        assert!(alter(by, &format!("alter table {name} {altered}")).await.unwrap());
        if number == 1 {
            rows(&context, "drop table k").await;
            rows(&context, &create).await;
        }
        let replace = |query: &str| format!("create or replace table r as {}", query.replace("$r", "r"));
        rows(&reference, &replace(cast)).await;
        check(&[(&context, "k"), (&other, &path)], &reference).await;

        rows(&context, &format!("insert into k {}", written.replace("$r", "k"))).await;
        let kept = format!("select * from $r where key not in (select key from ({written}))");
        rows(&reference, &replace(&format!("{kept} union all {written}"))).await;
        check(&[(&context, "k"), (&other, &path), (&with_paths(1), &path)], &reference).await;
    }
    let types = Db::open_read_only(folder.path().join("shop"), &DbOptions::default()).unwrap();
    let types = types.keyspace("k").unwrap().record_type().to_string();
    let fields = "n: i128, i: i64, d: decimal(12,4), f: f64, t: time(us), s: text?, origin: text?, \
                  price: decimal(9,3)?, Id: uuid?";
    assert_eq!(types, format!("i64 -> {{{fields}}}"));
}

/// Statements that are refused, and a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("drop column s", "takes no DROP COLUMN s: rows keep their columns"),
    ("rename column s to t", "takes no RENAME COLUMN s TO t: columns keep their names"),
    ("rename to other", "takes no RENAME TO other: keyspaces keep their names"),
    ("alter column s set not null", "takes no ALTER COLUMN s SET NOT NULL: there may be nulls"),
    ("alter column n set default 7", "columns have no defaults"),
    ("alter column n drop default", "columns have no defaults"),
    ("alter column n type int using n + 1", "leave USING out"),
    ("add column a int not null", "takes no ADD COLUMN a ... NOT NULL: the rows that are there have nothing for it"),
    ("add column a int default 7", "leave DEFAULT out"),
    ("add column a int unique", "leave what follows it out"),
    ("add column a int first", "leave their position out"),
    ("add constraint c check (n > 1)", "there are only ADD COLUMN"),
    ("add column a interval", "'a' cannot be of type INTERVAL; take a type such as"),
    ("add column a int[]", "'a' cannot be of type INT[]"),
    ("add column a number17", "'a' cannot be of type number17"),
    ("add column n int", "it has a column \"n\" already, of type u8"),
    ("alter column n type smallint, alter column n type tinyint", "does not hold all its values exactly"),
    ("alter column d type decimal(9,4)", "at least 6 digits before the point"),
    ("alter column s type bytea", "does not hold all its values exactly"),
    ("alter column key type decimal(38,0)", "the column \"key\" belongs to the key"),
    ("alter column key drop not null", "the column \"key\" belongs to the key"),
    ("alter column missing drop not null", "no column \"missing\"; there are: key, n, i, d, f, t, s"),
    ("add column a int, alter column n type int, drop column s", "takes no DROP COLUMN s"),
    ("add column a int, alter column i type smallint", "does not hold all its values exactly"),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_would_change_a_value_is_refused_with_the_reason_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("'{}#k'", store(folder.path()));
    let context = with_paths(2);
    rows(&context, &format!("create external table k stored as ogive location {path}")).await;
    rows(&context, &format!("insert into k {}", first_rows(1, 3))).await;
    let before = (columns(&context, &path).await, rows(&context, &format!("select * from {path}")).await);
    for &(action, reason) in REFUSED {
        for table in ["k", &path] {
            let refused = alter(&context, &format!("alter table {table} {action}")).await.unwrap_err().to_string();
            assert!(refused.contains(reason) && refused.contains("shop#k") | refused.contains("'a'"), "{refused}");
        }
    }
    let after = (columns(&context, &path).await, rows(&context, &format!("select * from {path}")).await);
    assert_eq!(before, after);

    // Only keyspaces have columns that change.
    rows(&context, "create table memory as select 1 as a").await;
    let table = folder.path().join("t.ogive").display().to_string();
    rows(&context, &format!("copy (select 1 as a) to '{table}' stored as ogive")).await;
    for name in ["memory", &format!("'{table}'")] {
        let refused = alter(&context, &format!("alter table {name} add column b int")).await.unwrap_err().to_string();
        assert!(refused.contains("is no keyspace of a store, and takes no ALTER TABLE"), "{refused}");
    }
    let absent = alter(&context, "alter table nothing add column b int").await.unwrap_err().to_string();
    assert!(absent.contains("table 'datafusion.public.nothing' not found"), "{absent}");
    assert!(alter(&context, "alter table if exists nothing add column b int").await.unwrap());
    assert!(!alter(&context, "select 1").await.unwrap(), "other statements are DataFusion's");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_keyspaces_has_the_columns_of_now_after_an_alteration() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let context = with_paths(2);
    let catalog = MemoryCatalogProvider::new();
    let schema = StoreSchema::open(&store, &OgiveOptions::default()).unwrap();
    catalog.register_schema("shop", Arc::new(schema)).unwrap();
    context.register_catalog("stores", Arc::new(catalog));
    assert!(alter(&context, "alter table stores.shop.k add column a int").await.unwrap());
    let columns = columns(&context, "stores.shop.k").await;
    assert_eq!(columns.last(), Some(&("a".to_owned(), DataType::Int32)));
}
