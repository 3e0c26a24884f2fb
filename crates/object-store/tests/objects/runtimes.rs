//! Callers with runtimes of their own. Goal: the calls work in any thread. Method: calls from inside runtimes of tokio
//! with one and with several threads, and from many threads at once.

use ogive::KeyType;
use ogive::io::{LocatedFile, locate};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use std::path::Path;

fn build_and_get(url: &str) {
    ogive_object_store::register();
    let LocatedFile { storage, name } = locate(url).unwrap();
    let options = TableWriteOptions::default().key_type(KeyType::U64).replace(true);
    let mut writer = TableWriter::create((storage, &name), options).unwrap();
    for key in 0..10_000_u64 {
        writer.append(&key.to_be_bytes(), &key.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap();
    let table = Table::open(Path::new(url), &TableOptions::default()).unwrap();
    for key in (0..10_000_u64).step_by(997) {
        assert_eq!(table.get(&key.to_be_bytes()).unwrap(), Some(key.to_le_bytes().to_vec()));
    }
    assert_eq!(table.get(&10_000_u64.to_be_bytes()).unwrap(), None);
}

#[test]
fn calls_inside_a_runtime_of_one_thread_work() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { build_and_get("memory://runtimes/one") });
}

#[test]
fn calls_inside_a_runtime_of_several_threads_work() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> =
            (0..4).map(|i| tokio::spawn(async move { build_and_get(&format!("memory://runtimes/{i}")) })).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn calls_of_many_threads_work() {
    std::thread::scope(|scope| {
        for i in 0..16 {
            scope.spawn(move || build_and_get(&format!("memory://runtimes/thread-{i}")));
        }
    });
}
