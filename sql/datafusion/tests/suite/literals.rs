//! Literals that are finer than what they are compared with select the rows that they select among exact values, by
//! keys and by other columns.

use crate::{ours, rows};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::GenericDialect;

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
                 0.30000000000000004 as f";
    rows(&context, table).await;
    for (condition, is_found) in [
        ("d = 123456789012345678.901", true),
        ("d = 123456789012345678.902", false),
        ("d < 123456789012345678.9011", true),
        ("d in (5, 123456789012345678.901)", true),
        ("d between 123456789012345678.9009 and 123456789012345678.9011", true),
        ("f = 0.30000000000000004", true),
        ("f = 0.3", false),
        ("f in (0.30000000000000004, 5, 6, 7)", true),
    ] {
        let query = format!("select count(*) as n from w where {condition}");
        let statement = ogive_datafusion::parse_statements(&query, &GenericDialect {}).unwrap().remove(0).unwrap();
        let state = context.state();
        let plan = state.statement_to_plan(statement).await.unwrap();
        let found = context.execute_logical_plan(plan).await.unwrap().collect().await.unwrap();
        let found = datafusion::arrow::util::pretty::pretty_format_batches(&found).unwrap().to_string();
        assert!(found.contains(if is_found { "| 1 |" } else { "| 0 |" }), "{condition}: {found}");
    }
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
