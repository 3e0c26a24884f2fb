//! Casts of what is inserted change no value, and errors name the columns of the table.

use crate::{ours, rows};
use datafusion::prelude::SessionContext;

/// A keyspace of each kind of column.
async fn keyspace(folder: &std::path::Path) -> SessionContext {
    let context = ours(2);
    let path = folder.join("shop").display().to_string();
    let copy = format!(
        "copy (select cast(1 as bigint) as k, cast(1 as double) as f, cast(1 as float) as s, \
         arrow_cast('2024-01-01', 'Timestamp(Microsecond, None)') as t, date '2024-01-01' as a, \
         cast(1 as decimal(9,2)) as d, cast(1 as smallint) as n, 'one' as x) \
         to '{path}' stored as ogive options (keyspace 'k', key 'k')"
    );
    rows(&context, &copy).await;
    rows(&context, &format!("create external table k stored as ogive location '{path}#k'")).await;
    context
}

async fn run(context: &SessionContext, statement: &str) -> datafusion::error::Result<usize> {
    Ok(context.sql(statement).await?.collect().await?.len())
}

/// Columns, and values that they do not have.
const REFUSED: &[(&str, &str)] = &[
    ("k", "6.7"),
    ("k", "'6.7'"),
    ("k", "cast(6.7 as decimal(5,1))"),
    ("n", "70000"),
    ("n", "2.5"),
    ("d", "1.239"),
    ("d", "'1.239'"),
    ("d", "cast('1.239' as decimal(9,3))"),
    ("d", "arrow_cast('1.239', 'Dictionary(Int32, Utf8)')"),
    ("f", "9007199254740993"),
    ("s", "16777217"),
    ("s", "sqrt(0.1)"),
    ("s", "0.1 + 0"),
    ("t", "'2024-01-01T00:00:00.0000001'"),
    ("t", "timestamp '2024-01-01T00:00:00.0000001'"),
    ("a", "'2024-01-01T12:00:00'"),
    ("a", "timestamp '2024-01-01T12:00:00'"),
];

/// Columns, and values of other types that they have.
const TAKEN: &[(&str, &str)] = &[
    ("k", "7.0"),
    ("k", "'7'"),
    ("k", "round(6.7)"),
    ("n", "70000 - 69999"),
    ("d", "1.23"),
    ("d", "'1.230'"),
    ("d", "arrow_cast('1.230', 'Dictionary(Int32, Utf8)')"),
    ("d", "6.7"),
    ("f", "0.1"),
    ("s", "0.25"),
    ("f", "'0.1'"),
    ("s", "16777216"),
    ("s", "cast('NaN' as double)"),
    ("f", "'NaN'"),
    ("t", "'2024-01-01T00:00:00.123456000'"),
    ("t", "date '2024-01-01'"),
    ("a", "timestamp '2024-01-01T00:00:00'"),
    ("x", "6.7"),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_an_insert_would_change_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let context = keyspace(folder.path()).await;
    let row = |column: &str, value: &str| {
        let columns = [
            ("k", "2"),
            ("f", "2"),
            ("s", "2"),
            ("t", "'2024-01-02'"),
            ("a", "date '2024-01-02'"),
            ("d", "2"),
            ("n", "2"),
            ("x", "'two'"),
        ];
        columns.map(|(name, other)| if name == column { value.to_owned() } else { other.to_owned() })
    };
    let values = |column: &str, value: &str| format!("values ({})", row(column, value).join(", "));
    let select = |column: &str, value: &str| {
        let cells: Vec<String> =
            row(column, value).iter().enumerate().map(|(at, it)| format!("{it} as c{at}")).collect();
        format!("select {}", cells.join(", "))
    };
    for &(column, value) in REFUSED {
        for rows in [values(column, value), select(column, value)] {
            let error = run(&context, &format!("insert into k {rows}")).await.err();
            let error = error.unwrap_or_else(|| panic!("{rows} is not refused")).to_string();
            assert!(
                column == "n" || error.contains(&format!("'{column}'")) || error.contains("6.7"),
                "{rows}: {error}"
            );
        }
    }
    for &(column, value) in TAKEN {
        for rows in [values(column, value), select(column, value)] {
            run(&context, &format!("insert into k {rows}")).await.unwrap_or_else(|error| panic!("{rows}: {error}"));
        }
    }
    // A cast that is asked for is done.
    run(&context, &format!("insert into k {}", select("k", "cast(100.7 as bigint)"))).await.unwrap();
    let keys = rows(&context, "select k, d from k where k > 2 order by k").await;
    assert!(keys.contains("| 7   | 2.00 |") && keys.contains("| 100 |") && !keys.contains("| 6 "), "{keys}");
    // A fraction in the row itself is the float that is nearest to it.
    run(&context, &format!("insert into k {}", values("s", "0.1"))).await.unwrap();
    let reversed = "insert into k (x, n, d, a, t, s, f, k) values ('two', 2, 2, '2024-01-02', '2024-01-02', 2, 2, 6.7)";
    let error = run(&context, reversed).await.unwrap_err().to_string();
    assert!(error.contains("column 'k'") && error.contains("6.7 would be 6"), "{error}");
    // Constants within a query are cast to the table, too.
    let nested = format!("insert into k select * from ({})", values("d", "1.239"));
    assert!(run(&context, &nested).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_null_is_named_by_the_column_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let context = keyspace(folder.path()).await;
    let rest = "2, 2, '2024-01-02', date '2024-01-02', 2, 2, 'two'";
    let row = format!("insert into k values (null, {rest})");
    let error = run(&context, &row).await.unwrap_err().to_string();
    assert!(error.contains("'k' is null"), "{error}");
    let row = format!("insert into k values (5, null, {})", &rest[3..]);
    let error = run(&context, &row).await.unwrap_err().to_string();
    assert!(error.contains("'f' is null"), "{error}");
}
