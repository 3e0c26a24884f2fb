//! `BEGIN`, `COMMIT` and `ROLLBACK`. Goal: the statements between see one state of the store and what they have
//! written, and are written together or not at all. Method: drawn statements beside the same in maps; others that
//! write meanwhile; what is refused.

use crate::{first_seed, reference, register_memory, rows, sorted_rows, with_paths};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use ogive::{Db, DbOptions};
use ogive_datafusion::{
    OgiveOptions, UrlTables, alter_table, begin_transaction, change_indexes, configure, has_transaction,
    parse_statements, transact, with_ogive, with_transactions, without_changes,
};
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A session with transactions, in whose statements paths are tables.
fn session() -> SessionContext {
    let config = configure(SessionConfig::new().with_target_partitions(2).with_batch_size(64));
    let state = SessionStateBuilder::new().with_default_features().with_config(config);
    let state = with_transactions(with_ogive(state, &OgiveOptions::default())).build();
    let (state, urls) = UrlTables::add_to(state, OgiveOptions::default());
    let context = SessionContext::from(state);
    urls.attach(&context);
    context
}

async fn run(context: &SessionContext, text: &str) -> datafusion::error::Result<()> {
    for statement in parse_statements(text, &GenericDialect {})? {
        if transact(context, &statement).await?
            || change_indexes(context, &statement).await?
            || alter_table(context, &statement).await?.is_some()
        {
            continue;
        }
        let plan = context.state().statement_to_plan(statement).await?;
        context.execute_logical_plan(plan).await?.collect().await?;
    }
    Ok(())
}

async fn done(context: &SessionContext, text: &str) {
    run(context, text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
}

async fn refused(context: &SessionContext, text: &str) -> String {
    run(context, text).await.err().unwrap_or_else(|| panic!("{text} is not refused")).to_string()
}

/// A store of accounts with ids and amounts, as the table `accounts` of a session, and of notes.
async fn bank(folder: &Path) -> (SessionContext, String) {
    let (context, path) = (session(), folder.join("bank").display().to_string());
    done(
        &context,
        &format!(
            "copy (select value as id, 100 as n from generate_series(0, 99)) to '{path}' stored as ogive options \
             (keyspace 'accounts', key 'id');
             copy (select value as id, value as of from generate_series(0, 9)) to '{path}' stored as ogive options \
             (keyspace 'notes', key 'id');
             create external table accounts stored as ogive location '{path}#accounts';
             create external table notes stored as ogive location '{path}#notes'"
        ),
    )
    .await;
    (context, path)
}

/// The rows of a map as a session of DataFusion has them.
fn of_model(model: &BTreeMap<i64, i64>) -> SessionContext {
    let (ids, ns): (Vec<i64>, Vec<i64>) = model.iter().map(|(id, n)| (*id, *n)).unzip();
    let columns = [("id", Arc::new(Int64Array::from(ids)) as ArrayRef), ("n", Arc::new(Int64Array::from(ns)))];
    let context = reference();
    register_memory(&context, "accounts", &RecordBatch::try_from_iter(columns).unwrap());
    context
}

#[tokio::test(flavor = "multi_thread")]
async fn drawn_transactions_read_and_write_what_they_do_in_maps() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = bank(folder.path()).await;
    done(&context, "create index by_n on accounts (n)").await;
    let mut random = Random::new(first_seed());
    let mut model: BTreeMap<i64, i64> = (0..100).map(|id| (id, 100)).collect();
    let queries = [
        "select * from accounts order by id",
        "select count(*) as c, min(id) as a, max(id) as b, sum(n) as s from accounts",
        "select min(id) as a, max(id) as b from accounts",
        "select id from accounts where n >= 105 order by n, id limit 5",
        "select id from accounts where id in (3, 50, 99, 120) order by id desc",
        "select id, n from accounts where id > 40 order by id desc limit 4",
        "select a.id from accounts a join accounts b on a.id = b.id where b.n % 3 = 0 order by 1",
    ];
    for number in 0..12 {
        let mut own = model.clone();
        done(&context, ["begin", "start transaction", "begin transaction"][number % 3]).await;
        for _ in 0..1 + random.below(4) {
            let (low, high) = (random.below(110) as i64, random.below(130) as i64);
            let is_met = |id: i64, n: i64| (low..=high).contains(&id) && n % 3 != 0;
            let condition = format!("id between {low} and {high} and n % 3 <> 0");
            let name = if random.one_in(2) { "accounts".to_owned() } else { format!("'{path}#accounts'") };
            match random.below(3) {
                0 => {
                    own.retain(|id, n| !is_met(*id, *n));
                    done(&context, &format!("delete from {name} where {condition}")).await;
                }
                1 => {
                    own.iter_mut().filter(|(id, n)| is_met(**id, **n)).for_each(|(id, n)| *n = (*n + id) % 1000);
                    done(&context, &format!("update {name} set n = (n + id) % 1000 where {condition}")).await;
                }
                _ => {
                    own.extend((low..low + 5).map(|id| (id, id * 7 % 200)));
                    let values = format!("select value, value * 7 % 200 from generate_series({low}, {})", low + 4);
                    done(&context, &format!("insert into {name} {values}")).await;
                }
            }
            let query = queries[random.below(queries.len() as u64) as usize];
            assert_eq!(rows(&context, query).await, rows(&of_model(&own), query).await, "{number}: {query}");
            // Others see nothing of it.
            let others = format!("select * from '{path}#accounts' order by id");
            assert_eq!(rows(&with_paths(1), &others).await, rows(&of_model(&model), queries[0]).await, "{number}");
        }
        match random.one_in(3) {
            true => done(&context, "rollback").await,
            false => {
                done(&context, "commit").await;
                model = own;
            }
        }
        for query in queries {
            assert_eq!(rows(&context, query).await, rows(&of_model(&model), query).await, "{number}: {query}");
        }
    }
    // The index has followed.
    let by_index = "select id from accounts where n = 100 order by id";
    assert_eq!(rows(&context, by_index).await, rows(&of_model(&model), by_index).await);
    done(&context, "begin; insert into accounts values (1000, 0); commit").await;
    assert!(rows(&context, "select n from accounts where id = 1000").await.contains("| 0 |"));
    done(&context, "begin; delete from accounts where n < 50; delete from notes where id > 4; commit").await;
    let counts = "select (select count(*) from accounts where n < 50) as a, (select count(*) from notes) as b";
    assert!(rows(&context, counts).await.contains("| 0 | 5 |"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_names_keyspace_and_key_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = bank(folder.path()).await;
    let db = Db::open(&path, &DbOptions::default().create(false)).unwrap();
    let accounts = db.keyspace("accounts").unwrap();
    let row = accounts.get(ogive::encode_i64(1)).unwrap().unwrap();
    let count = "select count(*) as c, sum(n) as n from accounts";
    for (statement, is_conflict) in [
        ("update accounts set n = n + 1 where id = 7", true),
        ("insert into accounts select 200, n from accounts where id = 7", true),
        ("insert into accounts select 200, sum(n) from accounts", true),
        ("delete from accounts where n = 77; insert into notes values (50, 50)", true),
        ("update notes set of = 1 where id in (select id from accounts where id < 8)", true),
        ("update accounts set n = n where id = 8", false),
        ("insert into accounts values (7, 1)", false),
        ("delete from notes", false),
    ] {
        begin_transaction(&context, &path, &db).unwrap();
        done(&context, statement).await;
        accounts.insert(ogive::encode_i64(7), &row).unwrap();
        let seen = rows(&context, "select n from accounts where id = 8").await;
        assert!(seen.contains("100"), "{statement}: {seen}");
        if !is_conflict {
            done(&context, "commit").await;
            continue;
        }
        let before = rows(&with_paths(1), &count.replace("accounts", &format!("'{path}#accounts'"))).await;
        let told = refused(&context, "commit").await;
        for part in ["accounts", "7", "nothing was written: run the transaction again"] {
            assert!(told.contains(part), "{statement}: {part} in {told}");
        }
        assert!(!has_transaction(&context), "{statement}");
        let after = rows(&with_paths(1), &count.replace("accounts", &format!("'{path}#accounts'"))).await;
        assert_eq!(before, after, "{statement}");
    }
    // A transaction that only reads does not conflict, and sees its snapshot.
    begin_transaction(&context, &path, &db).unwrap();
    let before = rows(&context, count).await;
    accounts.insert(ogive::encode_i64(300), &row).unwrap();
    assert_eq!(rows(&context, count).await, before);
    done(&context, "commit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_fails_writes_nothing_and_the_transaction_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = bank(folder.path()).await;
    done(&context, "create unique index by_of on notes (of)").await;
    done(&context, "begin; update accounts set n = 1 where id = 1").await;
    for (statement, reason) in [
        ("insert into accounts values (5, 1), (5, 2)", "same key"),
        ("insert into accounts values (5, null)", "'n' is null"),
        ("update accounts set n = 7 / (id - 50)", "ivide by zero"),
        ("update accounts set id = 7", "column 'id'"),
        ("truncate table accounts", "DELETE FROM it removes all rows"),
    ] {
        let told = refused(&context, statement).await;
        assert!(told.contains(reason), "{statement}: {told}");
    }
    let found = "select count(*) as c, sum(n) as n from accounts";
    assert!(rows(&context, found).await.contains("| 100 | 9901 |"));
    done(&context, "insert into accounts values (500, 2); commit").await;
    assert!(rows(&context, found).await.contains("| 101 | 9903 |"));
    // Writes beyond the memory of a transaction: the first ones of the statement are not there, either.
    let small = DbOptions::default().create(false).writes(|writes| writes.transaction_bytes(20_000));
    let db = Db::open(&path, &small).unwrap();
    begin_transaction(&context, &path, &db).unwrap();
    done(&context, "update accounts set n = 3 where id = 9").await;
    let told = refused(&context, "update accounts set n = 4").await;
    assert!(told.contains("at most 20000 bytes"), "{told}");
    assert!(rows(&context, found).await.contains("| 101 | 9806 |"));
    done(&context, "rollback").await;
    db.close().unwrap();
    // What an index refuses is told by the commit, after which nothing is there.
    done(&context, "begin; update accounts set n = 5; insert into notes values (77, 3)").await;
    let told = refused(&context, "commit").await;
    assert!(told.contains("by_of"), "{told}");
    assert!(rows(&context, found).await.contains("| 101 | 9903 |"));
    assert!(rows(&with_paths(1), &format!("select count(*) as c from '{path}#notes'")).await.contains("| 10 |"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_part_of_a_transaction_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = bank(folder.path()).await;
    let other = folder.path().join("other").display().to_string();
    let table = folder.path().join("t.ogive").display().to_string();
    let to_other = format!("copy (select 1 as id) to '{other}' stored as ogive options (keyspace 'k', key 'id')");
    done(&context, &format!("{to_other}; copy (select 3 as id) to '{table}' stored as ogive")).await;
    for (statement, reason) in [
        ("commit", "no transaction has begun"),
        ("rollback", "no transaction has begun"),
        ("begin isolation level read committed", "is serializable"),
        ("begin read only", "is serializable"),
        ("begin; begin", "has begun already"),
    ] {
        let told = refused(&context, statement).await;
        assert!(told.contains(reason), "{statement}: {told}");
    }
    for (statement, reason) in [
        (format!("select * from '{other}#k'"), "is over one store"),
        (format!("insert into '{other}#k' values (2)"), "is over one store"),
        (to_other.clone(), "COPY TO a keyspace is no part"),
        (format!("copy (select 1000 as id, 1 as n) to '{path}' stored as ogive options (keyspace 'accounts')"), "COPY"),
        ("create index by_n on accounts (n)".to_owned(), "a change of indexes is no part"),
        ("drop index by_n on accounts".to_owned(), "a change of indexes is no part"),
        ("alter table accounts add column x int".to_owned(), "ALTER TABLE is no part"),
        ("rollback to savepoint a".to_owned(), "ends the whole transaction"),
        ("commit and chain".to_owned(), "ends the whole transaction"),
    ] {
        // Its first table tells its store.
        let of_bank = if has_transaction(&context) { "" } else { "begin; " };
        done(&context, &format!("{of_bank}select * from accounts where id = 1")).await;
        let told = refused(&context, &statement).await;
        assert!(told.contains(reason), "{statement}: {told}");
    }
    // Tables that are no stores are read.
    done(&context, &format!("delete from accounts where id in (select id from '{table}'); commit")).await;
    assert!(rows(&context, "select count(*) as c from accounts").await.contains("| 99 |"));
    // Its store has another writer.
    let db = Db::open(&path, &DbOptions::default().create(false)).unwrap();
    let told = refused(&context, "begin; select * from accounts").await;
    assert!(told.contains("bank"), "{told}");
    db.close().unwrap();
    done(&context, "rollback").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_clusters_and_without_transactions_refuse_them() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = bank(folder.path()).await;
    let state = SessionStateBuilder::new().with_default_features().with_config(configure(SessionConfig::new()));
    let cluster = with_transactions(without_changes(with_ogive(state, &OgiveOptions::default())));
    let cluster = SessionContext::from(cluster.build());
    let plain = with_paths(1);
    let db = Db::open(&path, &DbOptions::default().create(false)).unwrap();
    for statement in ["begin", "commit", "rollback"] {
        let told = refused(&cluster, statement).await;
        assert!(told.contains("one process writes a store"), "{statement}: {told}");
        let told = refused(&plain, statement).await;
        assert!(told.contains("this session has no transactions"), "{statement}: {told}");
    }
    // A program that hands the text to DataFusion, which has no plan of `begin`.
    for statement in ["start transaction", "commit", "rollback"] {
        let told = async { plain.sql(statement).await?.collect().await }.await.unwrap_err().to_string();
        assert!(told.contains("this session has no transactions"), "{statement}: {told}");
    }
    assert!(begin_transaction(&plain, &path, &db).is_err());
    let query = format!("select * from '{path}#notes'");
    assert_eq!(sorted_rows(&plain, &query).await.len(), 14);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_refuses_tables_of_other_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (context, path) = bank(folder.path()).await;
    let other = session();
    let alter = "alter table accounts add column more text";
    done(&other, &format!("create external table accounts stored as ogive location '{path}#accounts'; {alter}")).await;
    for statement in ["select * from accounts", "insert into accounts values (1, 2)", "delete from accounts"] {
        done(&context, "begin").await;
        let told = refused(&context, statement).await;
        assert!(told.contains("more: text?"), "{statement}: {told}");
        done(&context, "rollback").await;
    }
    done(&other, "begin; update accounts set more = 'x' where id < 3; commit").await;
    assert!(rows(&other, "select count(more) as c from accounts").await.contains("| 3 |"));
}
