//! Tests of open indexes on a device that fails. Goal: verification of an open index names the part that the device
//! cannot read. Method: every sector of an index and its log becomes unreadable.

use ogive::index::{Index, IndexKind, IndexOptions};
use ogive::io::{LenientStorage, MemoryStorage, Storage};
use ogive::{Cause, Error};
use ogive_testkit::BadSectors;
use std::sync::Arc;

const SECTOR_BYTES: u64 = 4096;

#[test]
fn a_part_that_cannot_be_read_is_damage_to_an_open_index() {
    for kind in [IndexKind::OGIVE, IndexKind::BTREE] {
        let options = IndexOptions::default().kind(kind);
        let memory: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let index = Index::<u64, u64>::create((Arc::clone(&memory), "index"), &options).unwrap();
        index.bulk_load((0..20_000).map(|i| (i * 7, i))).unwrap();
        index.checkpoint().unwrap();
        let mut transaction = index.write().unwrap();
        (0..500).for_each(|i| _ = transaction.insert(i * 70 + 1, i).unwrap());
        transaction.commit().unwrap();
        drop(index);
        let (mut verified, mut found) = (0, 0);
        for name in memory.list().unwrap() {
            let bytes = memory.open(&name).unwrap().len();
            for start in (0..bytes).step_by(SECTOR_BYTES as usize) {
                let device = BadSectors::new(Arc::clone(&memory)).with(&name, start..start + 1);
                let device: Arc<dyn Storage> = Arc::new(device);
                let lenient = LenientStorage::around(&device);
                // Some sectors are read when the index is opened.
                let open = |storage| Index::<u64, u64>::open_read_only((storage, "index"), &options);
                let Ok(index) = open(Arc::clone(&device)) else { continue };
                let expected = open(Arc::clone(&lenient)).unwrap().verify();
                verified += 1;
                match (index.verify(), expected) {
                    // Pages that are free are not read.
                    (Ok(report), Ok(expected)) => {
                        assert!(lenient.unreadable().is_empty());
                        assert_eq!(report, expected);
                    }
                    (Err(error @ Error { cause: Cause::Damaged, .. }), Err(expected)) => {
                        found += 1;
                        let part = SECTOR_BYTES.min(bytes - start);
                        let place = (error.path(), error.offset());
                        assert_eq!(place, (Some(&*memory.path(&name)), Some(start)), "{kind}: {error}");
                        let begin = format!("{part} bytes cannot be read: ");
                        assert!(error.detail().starts_with(&begin), "{kind}: {error}");
                        assert_eq!(expected.to_string(), error.to_string());
                    }
                    (found, expected) => panic!("{kind}, {start} of {name}: {found:?}, not {expected:?}"),
                }
            }
        }
        assert!(found > 20 && found * 2 > verified, "{kind}: {found} of {verified} sectors");
    }
}
