//! Literals that are finer than what they are compared with select the rows that they select among exact values, by
//! keys and by other columns.

use crate::{ours, rows, with_paths};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use ogive::{Db, DbOptions};

/// Rows whose numbers tell the order of their times, decimal numbers and integers, without the last, which has nulls.
const ROWS: [(&str, &str, &str, &str); 4] = [
    ("2024-01-01T00:00:00.999999", "-0.001", "-7", "2023-12-31"),
    ("2024-01-01T00:00:01", "0.000", "6", "2024-01-01"),
    ("2024-01-01T00:00:01.000001", "999999999.999", "7", "2024-01-02"),
    ("2024-01-01T00:00:02", "1000000000.000", "9007199254740993", "2024-01-03"),
];

/// Tables of the rows by each of the columns, and `n`, whose columns are no keys and have a row of nulls.
async fn session(folder: &std::path::Path) -> SessionContext {
    let context = ours(2);
    let row = |(at, (time, decimal, integer, date)): (usize, &(&str, &str, &str, &str))| {
        format!(
            "select {at} as id, arrow_cast('{time}', 'Timestamp(Microsecond, None)') as t, \
             cast('{decimal}' as decimal(13,3)) as d, cast({integer} as bigint) as i, date '{date}' as a"
        )
    };
    let selects: Vec<String> = ROWS.iter().enumerate().map(row).collect();
    let all = selects.join(" union all ");
    for name in ["t", "d", "i", "a", "id"] {
        let path = folder.join(format!("{name}.ogive")).display().to_string();
        let nulls = "select id, t, d, i, a from r union all select 9, null, null, null, null";
        let source = if name == "id" { nulls } else { "select * from r" };
        let copy = format!("copy (with r as ({all}) {source}) to '{path}' stored as ogive options (key '{name}')");
        rows(&context, &copy).await;
        rows(&context, &format!("create external table by_{name} stored as ogive location '{path}'")).await;
    }
    context
}

async fn ids(context: &SessionContext, table: &str, condition: &str) -> Vec<u64> {
    let found = rows(context, &format!("select id from {table} where {condition} order by id")).await;
    found.lines().filter_map(|line| line.trim_matches(['|', ' ']).parse().ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_literal_finer_than_a_column_is_compared_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let context = session(folder.path()).await;
    let cases: &[(&str, &[u64])] = &[
        ("t < '2024-01-01T00:00:01.000000001'", &[0, 1]),
        ("'2024-01-01T00:00:01.000000001' > t", &[0, 1]),
        ("t <= timestamp '2024-01-01T00:00:01.000000001'", &[0, 1]),
        ("t < to_timestamp('2024-01-01T00:00:01.000000001')", &[0, 1]),
        ("t >= '2024-01-01T00:00:00.999999001'", &[1, 2, 3]),
        ("t = '2024-01-01T00:00:01.000000001'", &[]),
        ("t = timestamp '2024-01-01T00:00:01.000000001'", &[]),
        ("t <> '2024-01-01T00:00:01.000000001'", &[0, 1, 2, 3]),
        ("not t = '2024-01-01T00:00:01.000000001'", &[0, 1, 2, 3]),
        ("t in ('2024-01-01T00:00:01.000000001', '2024-01-01T00:00:02')", &[3]),
        ("t not in ('2024-01-01T00:00:01.000000001', '2024-01-01T00:00:02')", &[0, 1, 2]),
        ("t in ('2024-01-01T00:00:01.000000001')", &[]),
        ("t between '2024-01-01T00:00:00.999999001' and '2024-01-01T00:00:01.000000999'", &[1]),
        ("t not between '2024-01-01T00:00:00.999999001' and '2024-01-01T00:00:01.000000999'", &[0, 2, 3]),
        ("t = '2024-01-01T00:00:01.000001000'", &[2]),
        ("t < '9999-12-31T23:59:59.999999' and t > '0001-01-01'", &[0, 1, 2, 3]),
        ("t < timestamp '9999-12-31T23:59:59.999999' and t >= timestamp '0001-01-01'", &[0, 1, 2, 3]),
        ("t in ('9999-12-31T23:59:59.999999', timestamp '2024-01-01T00:00:02')", &[3]),
        ("t > '9999-12-31T23:59:59.9999991'", &[]),
        ("a < '2024-01-01T12:00:00'", &[0, 1]),
        ("a = '2024-01-01T12:00:00'", &[]),
        ("a >= '2024-01-01T00:00:00'", &[1, 2, 3]),
        ("d = 999999999.999", &[2]),
        ("d in (999999999.999, 5, 0.00)", &[1, 2]),
        ("d < 999999999.9995", &[0, 1, 2]),
        ("d > -0.0005 and d <= 999999999.999", &[1, 2]),
        ("d = 999999999.9990001", &[]),
        ("d <> 999999999.9990001", &[0, 1, 2, 3]),
        ("d between 0.0001 and 1e9", &[2, 3]),
        ("d > 1e300", &[]),
        ("d < 1e300 and d <> -1e300 and d not in (1e300, 5)", &[0, 1, 2, 3]),
        ("d > 99999999999 or d < -99999999999.5", &[]),
        ("d > -1e-300", &[1, 2, 3]),
        ("i > 6.5", &[2, 3]),
        ("i < 6.5", &[0, 1]),
        ("i = 6.0", &[1]),
        ("i in (6.0, 6.5, 7)", &[1, 2]),
        ("i in (6.5, 9007199254740992)", &[]),
        ("i > -7.5 and i < 9007199254740992.0", &[0, 1, 2]),
        ("i < 1e300", &[0, 1, 2, 3]),
    ];
    for (condition, wanted) in cases {
        let column = &condition[condition.find(|it: char| "tadi".contains(it)).unwrap()..][..1];
        let column = match condition.strip_prefix("not ").unwrap_or(condition).strip_prefix('\'') {
            Some(_) => "t",
            None if condition.starts_with("not ") => "t",
            None => column,
        };
        for table in [format!("by_{column}"), "by_id".to_owned()] {
            assert_eq!(ids(&context, &table, condition).await, *wanted, "{condition} in {table}");
        }
        // A null is in neither a condition nor its opposite.
        let both = format!("({condition}) is null");
        assert_eq!(ids(&context, "by_id", &both).await, [9], "{both}");
    }
    let distinct = "t is distinct from '2024-01-01T00:00:01.000000001'";
    assert_eq!(ids(&context, "by_id", distinct).await, [0, 1, 2, 3, 9]);
    // Conditions of keys are ranges of them.
    let plan = crate::plan(&context, "select id from by_d where d = 999999999.999 or d > 999999999.9995").await;
    assert!(!plan.contains("FilterExec"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn digits_behind_those_of_a_float_count() {
    let context = ours(2);
    let table = "create table w as select cast('123456789012345678.901' as decimal(21,3)) as d, \
                 0.30000000000000004 as f, cast('0.92030920993190389' as double) as g";
    rows(&context, table).await;
    for (condition, is_found) in [
        ("18446744073709551615 < 18446744073709551616", true),
        ("-9223372036854775808 > -9223372036854775809", true),
        ("cast(18446744073709551615 as bigint unsigned) = 18446744073709551616", false),
        ("d = 123456789012345678.901", true),
        ("d = 123456789012345678.902", false),
        ("d < 123456789012345678.9011", true),
        ("d in (5, 123456789012345678.901)", true),
        ("d between 123456789012345678.9009 and 123456789012345678.9011", true),
        ("f = 0.30000000000000004", true),
        ("f = 0.3", false),
        ("g = 0.92030920993190389", true),
        ("g = 0.92030920993190380", false),
        ("f in (0.30000000000000004, 5, 6, 7)", true),
    ] {
        let found = count(&context, &format!("select count(*) as n from w where {condition}")).await;
        assert_eq!(found, usize::from(is_found), "{condition}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn literals_between_two_times_before_1970_are_compared_exactly() {
    let context = ours(2);
    let time = "arrow_cast('1969-12-31T23:59:59.999999', 'Timestamp(Microsecond, None)')";
    rows(&context, &format!("create table b as select 1 as id, {time} as t")).await;
    for (literal, is_less) in [("999998500", false), ("999999500", true)] {
        for said in ["", "timestamp "] {
            let literal = format!("{said}'1969-12-31T23:59:59.{literal}'");
            let wanted: &[u64] = if is_less { &[1] } else { &[] };
            assert_eq!(ids(&context, "b", &format!("t < {literal}")).await, wanted, "{literal}");
            assert_eq!(ids(&context, "b", &format!("not t > {literal}")).await, wanted, "{literal}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_beyond_nanoseconds_are_compared_with_times() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = (ours(2), folder.path().join("d").display().to_string());
    let days = "(1, date '0001-01-01'), (2, date '1969-12-31'), (3, date '2024-02-29'), (4, date '9999-12-31')";
    rows(&context, &format!("create table m as select column1 as id, column2 as k from (values {days})")).await;
    for (key, name) in [("k", "dates"), ("arrow_cast(k, 'Timestamp(Microsecond, None)')", "times")] {
        let to = format!("'{path}' stored as ogive options (keyspace '{name}', key 'k')");
        rows(&context, &format!("copy (select {key} as k, id from m) to {to}")).await;
        rows(&context, &format!("create external table {name} stored as ogive location '{path}#{name}'")).await;
    }
    let noon = "timestamp '2024-02-29T12:00:00'";
    let midnight = "timestamp '2024-02-29T00:00:00'";
    for (condition, wanted) in [
        (format!("k >= {noon}"), &[4][..]),
        (format!("k < {noon}"), &[1, 2, 3]),
        (format!("not k >= {noon}"), &[1, 2, 3]),
        (format!("k = {midnight}"), &[3]),
        (format!("k = {noon}"), &[]),
        (format!("k <> {midnight}"), &[1, 2, 4]),
        (format!("k between {midnight} and {noon}"), &[3]),
        (format!("k in ({midnight}, {noon}, date '9999-12-31')"), &[3, 4]),
        (format!("k is not distinct from {midnight}"), &[3]),
        ("timestamp '1969-12-30T23:59:59.999999' > k".to_owned(), &[1]),
        ("k <= timestamp '1969-12-31T00:00:00.000001'".to_owned(), &[1, 2]),
        ("k >= date '2024-02-29'".to_owned(), &[3, 4]),
        ("k in (date '0001-01-01', '9999-12-31')".to_owned(), &[1, 4]),
    ] {
        for table in ["dates", "times"] {
            assert_eq!(ids(&context, table, &condition).await, wanted, "{table}: {condition}");
        }
    }
}

/// The only number of a query that is parsed as the command does it.
async fn count(context: &SessionContext, query: &str) -> usize {
    let found = parsed(context, query).await.collect().await.unwrap();
    let found = datafusion::arrow::util::pretty::pretty_format_batches(&found).unwrap().to_string();
    found.lines().find_map(|line| line.trim_matches(['|', ' ']).parse().ok()).unwrap()
}

async fn parsed(context: &SessionContext, query: &str) -> datafusion::dataframe::DataFrame {
    let statement = ogive_datafusion::parse_statements(query, &GenericDialect {}).unwrap().remove(0).unwrap();
    let plan = context.state().statement_to_plan(statement).await.unwrap();
    context.execute_logical_plan(plan).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn integers_of_128_bits_are_ranges_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s").display().to_string();
    let db = Db::open(&path, &DbOptions::default()).unwrap();
    let unsigned = db.keyspace("unsigned").unwrap().typed::<u128, ()>().unwrap();
    let signed = db.keyspace("signed").unwrap().typed::<i128, ()>().unwrap();
    for key in [0, 5, 1 << 64, u128::MAX - 1, u128::MAX] {
        unsigned.insert(key, ()).unwrap();
    }
    for key in [i128::MIN, i128::MIN + 1, -1, 0, i128::MAX] {
        signed.insert(key, ()).unwrap();
    }
    drop((unsigned, signed));
    db.close().unwrap();
    let context = with_paths(2);
    let cases = [
        ("unsigned", "key = 340282366920938463463374607431768211455", 1),
        ("unsigned", "key < 340282366920938463463374607431768211455", 4),
        ("unsigned", "key <= 340282366920938463463374607431768211454.5", 4),
        ("unsigned", "key = 340282366920938463463374607431768211456", 0),
        ("unsigned", "key < 340282366920938463463374607431768211456", 5),
        ("unsigned", "key < 1e60", 5),
        ("unsigned", "key > 1e60", 0),
        ("unsigned", "key >= 5", 4),
        ("unsigned", "key > 4.5", 4),
        ("unsigned", "key > -1", 5),
        ("unsigned", "key = -1", 0),
        ("unsigned", "key <> -1", 5),
        ("unsigned", "key in (5, 18446744073709551616, 7.5, 340282366920938463463374607431768211454)", 3),
        ("unsigned", "key between 5 and 18446744073709551616", 2),
        ("unsigned", "key = '18446744073709551616'", 1),
        ("signed", "key = -170141183460469231731687303715884105728", 1),
        ("signed", "key > -170141183460469231731687303715884105728", 4),
        ("signed", "key >= -170141183460469231731687303715884105729", 5),
        ("signed", "key < 170141183460469231731687303715884105727", 4),
        ("signed", "key <= -0.5", 3),
        ("signed", "key between -1 and 0", 2),
    ];
    for (keyspace, condition, wanted) in cases {
        let query = format!("select count(*) as n from '{path}#{keyspace}' where {condition}");
        assert_eq!(count(&context, &query).await, wanted, "{condition}");
    }
    for condition in ["key > 5", "key in (5, 7)", "key <= 340282366920938463463374607431768211454"] {
        let query = format!("select key from '{path}#unsigned' where {condition} order by key");
        let plan = parsed(&context, &query).await.create_physical_plan().await.unwrap();
        let plan = datafusion::physical_plan::displayable(&*plan).indent(true).to_string();
        assert!(!plan.contains("FilterExec") && !plan.contains("SortExec"), "{plan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decimal_numbers_beside_floats_are_floats() {
    let context = ours(2);
    let values =
        "(1, '0.30000000000000004', 0.3), (2, '0.3', 0.3), (3, 'NaN', 0.3), (4, '1e300', 0.3), (5, '-Infinity', 0.3)";
    let table = format!(
        "create table n as select column1 as id, cast(column2 as double) as f, cast(column3 as decimal(9,3)) as d from \
         (values {values})"
    );
    rows(&context, &table).await;
    for (condition, wanted) in [
        ("f = d", &[2][..]),
        ("f > d", &[1, 3, 4]),
        ("d > f", &[5]),
        ("f between d and d + 1", &[1, 2]),
        ("f in (d, 1e300)", &[2, 4]),
        ("d is distinct from f", &[1, 3, 4, 5]),
    ] {
        assert_eq!(ids(&context, "n", condition).await, wanted, "{condition}");
    }
    let joined = rows(&context, "select count(*) from n as one join n as other on one.f = other.d").await;
    assert!(joined.contains("| 5 "), "{joined}");
}

#[tokio::test(flavor = "multi_thread")]
async fn zeros_of_either_sign_are_equal_in_lists() {
    let context = ours(2);
    rows(&context, "create table z as values (0.0), (-0.0), (5.0), (7.5), (null)").await;
    for (condition, wanted) in [
        ("column1 in (0.0, 5, 6, 7, 8)", 3),
        ("column1 in (-0.0, 5, 6, 7, 8)", 3),
        ("column1 in (0, 5, 6, 7, 8)", 3),
        ("column1 in (-0.0)", 2),
        ("column1 not in (-0.0, 5, 6, 7, 8)", 1),
        ("column1 not in (0.0, 1.0, null)", 0),
        ("0.0 in (-0.0, 5, 6, 7, 8)", 5),
        ("(column1 in (0.0, 5, 6, 7, 8)) is null", 1),
    ] {
        let found = rows(&context, &format!("select count(*) from z where {condition}")).await;
        assert!(found.contains(&format!("| {wanted} ")), "{condition}: {found}");
    }
}
