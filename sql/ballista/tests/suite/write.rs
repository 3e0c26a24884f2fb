//! Statements that write rows in a cluster within the process: stores and tables then have exactly these rows, whatever
//! the number of partitions, and a statement that fails leaves nothing.

use crate::common::{rows, write_table};
use ballista::prelude::SessionConfigExt;
use datafusion::prelude::SessionContext;
use ogive::io::locate_folder;
use ogive::{Db, DbOptions};
use ogive_ballista::{OpenTables, session_config, standalone};
use std::path::Path;
use std::sync::Arc;

const ROWS: u64 = 60_000;

async fn cluster(partitions: usize) -> SessionContext {
    let tables = Arc::new(OpenTables::default());
    let config = session_config(&tables).with_target_partitions(partitions);
    standalone(config.with_ballista_standalone_parallelism(4), &tables, 4).await.unwrap()
}

async fn run(context: &SessionContext, query: &str) -> String {
    rows(context, query).await.unwrap_or_else(|error| panic!("{query}: {error}"))
}

async fn refused(context: &SessionContext, query: &str) -> String {
    rows(context, query).await.err().unwrap_or_else(|| panic!("{query} is not refused")).to_string()
}

/// The names of the files of a folder that no store has made, and no test.
fn leftovers(folder: &str) -> Vec<String> {
    let names = locate_folder(folder).unwrap().list().unwrap();
    names.into_iter().filter(|name| name.starts_with("rows-")).collect()
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_takes_the_rows_of_all_tasks() {
    ogive_object_store::register();
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", ROWS, 3, 0);
    let table = path(folder.path(), "t.ogive");
    for partitions in [1, 3, 16] {
        let context = cluster(partitions).await;
        let expected = run(&context, &format!("select number, name, key from '{table}' order by key")).await;
        for store in [path(folder.path(), &format!("store-{partitions}")), format!("memory://copies/{partitions}")] {
            let query = format!("select key, number, name from '{table}' where key > -1 order by number");
            let options = "stored as ogive options (keyspace 'rows', key 'key')";
            assert_eq!(run(&context, &format!("copy ({query}) to '{store}' {options}")).await, format!("{ROWS}\n"));
            let found = run(&context, &format!("select number, name, key from '{store}#rows' order by key")).await;
            assert_eq!(found, expected, "{store}");
            // What was written for nothing is gone; on an object store, the store has the tables themselves.
            let staged = leftovers(&store).len();
            assert_eq!(staged, if store.contains("://") { partitions } else { 0 }, "{store}");
            assert_eq!(leftovers(&path(folder.path(), "")).len(), 0);
            let db = Db::open_read_only(&store, &DbOptions::default()).unwrap();
            let stats = db.stats().keyspaces.into_iter().find(|keyspace| keyspace.name == "rows").unwrap();
            let tables: u64 = stats.levels.iter().map(|level| level.tables).sum();
            assert_eq!(tables, partitions as u64, "{store}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn inserted_rows_replace_those_of_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", ROWS, 3, 0);
    let (table, store) = (path(folder.path(), "t.ogive"), path(folder.path(), "store"));
    let context = cluster(4).await;
    let copy = format!("copy (select key, number from '{table}') to '{store}' stored as ogive options (keyspace 'k')");
    run(&context, &copy).await;
    run(&context, &format!("create external table k stored as ogive location '{store}#k'")).await;
    let insert = format!("insert into k select key + key % 2, 0 - number from '{table}' where key < 30000");
    assert_eq!(run(&context, &insert).await, "10000\n");
    let expected = format!(
        "select count(*), sum(key), sum(number) from (select key + key % 2 as key, 0 - number as number from '{table}' \
         where key < 30000 union all select key, number from '{table}' where key >= 30000 or key % 2 = 1)"
    );
    assert_eq!(run(&context, "select count(*), sum(key), sum(number) from k").await, run(&context, &expected).await);
    // The same statement once more: rows are replaced by themselves.
    run(&context, &insert).await;
    assert_eq!(run(&context, "select count(*), sum(key), sum(number) from k").await, run(&context, &expected).await);
    // Rows of a source that says less of them than the keyspace, and one that has a null indeed.
    run(&context, "insert into k select key, case when key > 0 then 5 end from k where key between 300 and 310").await;
    assert_eq!(run(&context, "select min(number), max(number) from k where key between 300 and 310").await, "5 | 5\n");
    for change in ["delete from k where key < 300", "update k set number = 1"] {
        let error = refused(&context, change).await;
        assert!(error.contains("in a session without a cluster"), "{error}");
    }
    let error = refused(&context, "insert into k values (7, null)").await;
    assert!(error.contains("'number' is null"), "{error}");
    assert_eq!(leftovers(&store), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_is_made_anew_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = path(folder.path(), "store");
    let context = cluster(2).await;
    for name in ["first", "second"] {
        let copy = format!("copy (select 1 as k, '{name}' as v) to '{store}' stored as ogive options (keyspace 'k')");
        run(&context, &copy).await;
        assert_eq!(run(&context, &format!("select v from '{store}#k'")).await, format!("{name}\n"));
        std::fs::remove_dir_all(&store).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_table_has_its_name_when_it_is_complete() {
    ogive_object_store::register();
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", ROWS, 3, 0);
    let table = path(folder.path(), "t.ogive");
    let context = cluster(4).await;
    for place in [path(folder.path(), "new"), "memory://tables/new".to_owned()] {
        let to = format!("{place}.ogive");
        let copy = |condition: &str, options: &str| {
            format!("copy (select * from '{table}' where {condition}) to '{to}' stored as ogive options ({options})")
        };
        run(&context, &copy("key < 3000", "key 'key'")).await;
        let count = format!("select count(*), sum(number) from '{to}'");
        let expected = run(&context, &format!("select count(*), sum(number) from '{table}' where key < 3000")).await;
        assert_eq!(run(&context, &count).await, expected);
        if !to.contains("://") {
            std::fs::write(format!("{place}.txt"), "a file of another kind").unwrap();
            let other = copy("key < 30", "key 'key', replace true").replace(&to, &format!("{place}.txt"));
            let error = refused(&context, &other).await;
            assert!(error.contains("is not an Ogive table"), "{error}");
        }
        let error = refused(&context, &copy("key < 30", "key 'key'")).await;
        assert!(error.contains(&to) && error.contains("replace true"), "{error}");
        run(&context, &copy("key < 0", "key 'key', replace true")).await;
        assert_eq!(run(&context, &format!("select count(*) from '{to}'")).await, "0\n");
        assert_eq!(leftovers(place.rsplit_once('/').unwrap().0), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_statement_that_fails_leaves_nothing() {
    ogive_object_store::register();
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path(), "t.ogive", ROWS, 3, 0);
    let table = path(folder.path(), "t.ogive");
    let context = cluster(4).await;
    for store in [path(folder.path(), "store"), "memory://failures/store".to_owned()] {
        let options = "stored as ogive options (keyspace 'rows', key 'k')";
        let copy = |query: &str| format!("copy ({query}) to '{store}' {options}");
        // One of the last rows of one task.
        let error = refused(&context, &copy(&format!("select key as k, 1 / (key - 150000) from '{table}'"))).await;
        assert!(error.to_lowercase().contains("divide"), "{error}");
        let error = refused(&context, &copy("select 1 as k, repeat('x', 2000000) as v")).await;
        assert!(error.contains("at most 1048576") && error.contains("write a table file"), "{error}");
        let error = refused(&context, &copy(&format!("select number as k, key from '{table}'"))).await;
        assert!(error.contains("the same key") && error.contains("group"), "{error}");
        let error = refused(&context, &format!("select * from '{store}#rows'")).await;
        assert!(error.contains("not found"), "{error}");
        // Rows without a column of those that are there.
        run(&context, &copy(&format!("select key as k, number from '{table}' where key < 100"))).await;
        let error = refused(&context, &copy(&format!("select name as k from '{table}' where key < 0"))).await;
        assert!(error.contains("no column 'number'"), "{error}");
        assert_eq!(run(&context, &format!("select count(*) from '{store}#rows'")).await, "34\n");
        // Files are removed behind the statement.
        let started = std::time::Instant::now();
        let expected = if store.contains("://") { 4 } else { 0 };
        let parent = store.rsplit_once('/').unwrap().0;
        while (leftovers(&store).len() > expected || !leftovers(parent).is_empty()) && started.elapsed().as_secs() < 20
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert!(leftovers(&store).len() <= expected && leftovers(parent).is_empty(), "{:?}", leftovers(&store));
    }
}
