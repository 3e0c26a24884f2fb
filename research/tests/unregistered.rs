//! Index files of a program that has registered nothing. Goal: such a file is refused with an error that names its kind
//! and the remedy. Method: the header of an index is
//! given the code of another kind, in a test binary of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ogive::block::checksum;
use ogive::index::{Index, IndexKind, IndexOptions};
use ogive::io::{MemoryStorage, Storage};
use ogive::{Cause, Error};
use ogive_research::{ALEX, register};
use std::sync::Arc;

/// Size of one of the two headers of a page file.
const SLOT_BYTES: usize = 4096;
/// Where a header has the code of its kind: after 320 bytes of the page file, magic and version.
const KIND_OFFSET: usize = 320 + 6;
const ALEX_CODE: u8 = 6;

#[test]
fn a_file_of_a_kind_that_is_not_registered_names_the_kind_and_the_remedy() {
    let memory = MemoryStorage::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    drop(Index::<u64, u64>::create((storage.clone(), "f"), &IndexOptions::default()).unwrap());
    let mut file = memory.content("f").unwrap();
    let file_id = u64::from_le_bytes(file[16..24].try_into().unwrap());
    for slot in [0, SLOT_BYTES] {
        let header = &mut file[slot..slot + SLOT_BYTES];
        header[KIND_OFFSET] = ALEX_CODE;
        checksum::seal(file_id, slot as u64, header);
    }
    memory.put("f", file).unwrap();
    let open = || Index::<u64, u64>::open((storage.clone(), "f"), &IndexOptions::default());
    let error = open().unwrap_err();
    assert_eq!((error.cause, error.name()), (Cause::UnregisteredKind { code: ALEX_CODE }, "alex"));
    for part in ["kind 'alex'", "use the command `ogive-research`"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = "alex".parse::<IndexKind>().unwrap_err();
    assert!(error.contains("command `ogive-research`"), "{error}");
    let options = IndexOptions::default().kind(ALEX);
    let error = Index::<u64, u64>::create((storage.clone(), "g"), &options).unwrap_err();
    assert!(matches!(error, Error { cause: Cause::Input, .. }), "{error:?}");
    assert!(!storage.exists("g").unwrap());
    register();
    Index::<u64, u64>::create((storage, "g"), &options).unwrap();
}
