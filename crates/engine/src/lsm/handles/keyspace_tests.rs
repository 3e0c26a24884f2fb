//! Tests that idle keyspaces cost nothing. Goal: the cost of an operation depends on what is written, not on the number
//! of keyspaces. Method: counts rather than times, in a store with few keyspaces and in one with many: memtables
//! visited by a commit, views and state replaced by a flush and a compaction, manifest bytes of a new keyspace,
//! keyspaces searched for due work.

use crate::io::{MemoryStorage, Storage};
use crate::lsm::state::keyspace_tree::KeyspaceTree;
use crate::lsm::state::view::KeyspaceView;
use crate::lsm::{Db, DbOptions};
use std::sync::Arc;

const MANY: usize = 3_000;

fn options() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .writes(|writes| writes.memtable_bytes(1 << 10))
        .memory_bytes(8 << 20)
        .values(|values| values.separation_bytes(100))
}

/// A store with `count` further keyspaces, each with a table if `filled`.
fn made(count: usize, filled: bool) -> (MemoryStorage, Db) {
    let memory = MemoryStorage::new();
    let db = Db::open(Arc::new(memory.clone()), &options().writes(|writes| writes.memtable_bytes(1 << 20))).unwrap();
    for number in 0..count {
        let keyspace = db.keyspace(&format!("keyspace {number}")).unwrap();
        if filled {
            keyspace.insert("key", vec![1; 200]).unwrap();
        }
    }
    db.close().unwrap();
    let db = Db::open(Arc::new(memory.clone()), &options()).unwrap();
    (memory, db)
}

fn manifest_bytes(memory: &MemoryStorage) -> usize {
    let names = memory.list().unwrap().into_iter().filter(|name| name.ends_with(".manifest"));
    names.map(|name| memory.content(&name).unwrap().len()).sum()
}

/// The views of all keyspaces except the first.
fn views(db: &Db) -> Vec<(Arc<KeyspaceTree>, Arc<KeyspaceView>)> {
    let trees = db.core().contents.lock().trees.values().skip(1).cloned().collect::<Vec<_>>();
    trees.into_iter().map(|tree| (Arc::clone(&tree), tree.view.get())).collect()
}

/// Writes, flushes and compactions in the first keyspace.
fn work(db: &Db) {
    for number in 0..60_u32 {
        db.insert((number % 20).to_be_bytes(), vec![number as u8; 90 + number as usize % 40]).unwrap();
    }
    db.flush().unwrap();
    let activity = db.activity();
    assert!(activity.flushes > 5 && activity.compactions > 2 && activity.value_bytes > 0, "{activity:?}");
}

#[test]
fn writes_flushes_and_compactions_touch_nothing_of_keyspaces_that_are_not_written() {
    for (count, filled) in [(MANY, false), (MANY / 10, true)] {
        let (_, db) = made(count, filled);
        db.insert("key", "value").unwrap();
        let before = views(&db);
        assert_eq!(before.len(), count);
        for _ in 0..2 {
            work(&db);
            let writer = db.core().writes.writer.lock();
            assert!(writer.active.memtables().len() <= 1, "memtables that a commit has to do with");
            drop(writer);
            assert!(db.core().contents.lock().active.len() <= 1);
        }
        for (tree, view) in &before {
            assert!(Arc::ptr_eq(view, &tree.view.get()), "the view of {} was replaced", tree.name);
        }
        db.core().work_after_write();
        // A view of an idle keyspace does not hold files that the store has removed.
        let shared = db.core().contents.lock();
        let held = before.iter().map(|(_, view)| view.values.0.len()).max().unwrap();
        assert!(held <= 1, "{held} value files");
        assert!(
            shared.compaction_candidates.len() <= 1,
            "{} keyspaces are looked through for work",
            shared.compaction_candidates.len()
        );
        assert!(shared.is_nothing_due);
    }
}

#[test]
fn a_new_keyspace_takes_as_much_manifest_however_many_there_are() {
    let mut taken = Vec::new();
    for count in [0, MANY] {
        let (memory, db) = made(count, false);
        let before = manifest_bytes(&memory);
        for number in 0..100 {
            db.keyspace(&format!("new keyspace {number}")).unwrap();
        }
        taken.push(manifest_bytes(&memory) - before);
    }
    assert!(taken[1] <= taken[0] + 1000, "{taken:?} bytes");
}

#[test]
fn a_change_takes_back_what_it_did_and_nothing_else() {
    let (_, db) = made(50, true);
    let mut shared = db.core().contents.lock();
    let before = shared.state.clone();
    let (id, level, table) = before.tables().nth(7).map(|(id, level, table)| (id, level, Arc::clone(table))).unwrap();
    let next = before.next_keyspace;
    let mut edit = crate::lsm::state::version::ManifestEdit {
        keyspaces_created: vec![(next, "another".to_owned())],
        keyspaces_dropped: vec![3],
        next_keyspace: Some(next + 1),
        ..crate::lsm::state::version::ManifestEdit::default()
    };
    edit.move_table(id, level, 5, &table);
    let undo = shared.state.change_undoably(&edit).unwrap();
    assert_eq!(shared.state, before.apply(&edit).unwrap());
    assert_eq!(shared.state.keyspace_named("another"), Some(next));
    shared.state.restore(undo);
    assert_eq!(shared.state, before);
    // An edit that does not fit leaves no trace, even if parts of it did fit.
    edit.removed.push((id, 0, u64::MAX));
    assert!(shared.state.change_undoably(&edit).is_err());
    assert_eq!(shared.state, before);
    edit.removed.pop();
    edit.value_files_removed.push(u64::MAX);
    assert!(shared.state.change_undoably(&edit).is_err());
    assert_eq!(shared.state, before);
}

/// Batches and compare-and-swap take turns.
#[test]
fn a_batch_waits_for_those_only_who_asked_before() {
    let db = Db::open(Arc::new(MemoryStorage::new()), &options()).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2_u8 {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    _ = db.compare_and_swap([thread], None, None).unwrap();
                }
            });
        }
        // Held until another thread waits: otherwise all writes may be done before the threads run.
        let turn = db.core().writes.writer.lock();
        while db.core().writes.writer.waits() == 0 {
            std::thread::yield_now();
        }
        drop(turn);
        for number in 0..500_u32 {
            db.insert(number.to_be_bytes(), "value").unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(db.core().writes.writer.overtakes(), 0);
    assert!(db.core().writes.writer.waits() > 0);
}
