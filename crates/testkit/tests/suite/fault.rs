//! The injector fails the call that it was told to fail, and no other.

use ogive::io::{MemoryStorage, Purpose, ReadRequest, Storage};
use ogive::{Cause, Error};
use ogive_testkit::{Fault, FaultInjector, Operation, enumerate_faults};
use std::io::ErrorKind;
use std::sync::Arc;

fn kind(error: &Error) -> ErrorKind {
    match error {
        Error { cause: Cause::Io(kind), .. } => *kind,
        other => panic!("not an error of the system: {other}"),
    }
}

#[test]
fn the_write_of_that_number_fails_and_the_file_takes_no_more() {
    for (fault, expected, left) in [
        (Fault::DeviceError, ErrorKind::Other, 20),
        (Fault::NoSpace, ErrorKind::StorageFull, 20),
        (Fault::Short, ErrorKind::StorageFull, 25),
    ] {
        let memory = MemoryStorage::new();
        let storage = FaultInjector::new(Arc::new(memory.clone()));
        storage.fail_once(Operation::Write, 2, fault);
        let mut file = storage.create("a").unwrap();
        file.append(&[1; 10]).unwrap();
        file.append(&[2; 10]).unwrap();
        assert!(!storage.triggered());
        assert_eq!(kind(&file.append(&[3; 10]).unwrap_err()), expected);
        assert!(storage.triggered());
        assert!(matches!(file.append(&[4; 10]), Err(Error { cause: Cause::Poisoned, .. })));
        assert!(matches!(file.sync(), Err(Error { cause: Cause::Poisoned, .. })));
        assert_eq!(memory.content("a").unwrap().len(), left, "{fault:?}");
        storage.create("b").unwrap().append(b"fine").unwrap();
    }
}

#[test]
fn a_lasting_fault_stays_until_it_is_cleared() {
    let storage = FaultInjector::new(Arc::new(MemoryStorage::new()));
    storage.fail_from(Operation::Create, 1, Fault::NoSpace);
    storage.create("a").unwrap();
    for _ in 0..3 {
        assert_eq!(kind(&storage.create("b").map(|_| ()).unwrap_err()), ErrorKind::StorageFull);
    }
    assert_eq!(storage.calls(Operation::Create), 4);
    storage.clear();
    storage.create("b").unwrap();
}

#[test]
fn a_short_read_fills_a_half_and_then_meets_the_end() {
    let memory = MemoryStorage::new();
    memory.put("a", vec![9; 100]).unwrap();
    let storage = FaultInjector::new(Arc::new(memory));
    storage.fail_once(Operation::Read, 1, Fault::Short);
    let file = storage.open("a").unwrap();
    let mut buffers = [[0; 10]; 3];
    let requests = buffers.iter_mut();
    let requests = requests.map(|buffer| ReadRequest { offset: 0, buffer, purpose: Purpose::Data }).collect();
    assert_eq!(kind(&file.read_many(requests).unwrap_err()), ErrorKind::UnexpectedEof);
    assert_eq!(buffers[0], [9; 10]);
    assert_eq!(buffers[1], [9, 9, 9, 9, 9, 0, 0, 0, 0, 0]);
}

#[test]
fn every_kind_of_call_can_be_failed() {
    let work = |storage: Arc<dyn Storage>| -> ogive::Result<()> {
        let mut file = storage.create("a")?;
        file.append(b"xy")?;
        file.sync()?;
        storage.rename("a", "b")?;
        storage.sync_directory()?;
        storage.open("b")?.read(ReadRequest { offset: 0, buffer: &mut [0; 2], purpose: Purpose::Data })?;
        storage.remove("b")
    };
    for operation in Operation::ALL {
        for fault in [Fault::DeviceError, Fault::NoSpace, Fault::Short] {
            let make = || Arc::new(MemoryStorage::new()) as Arc<dyn Storage>;
            let check = |_, outcome: ogive::Result<()>, storage: Arc<dyn Storage>| {
                assert!(outcome.is_err(), "{operation:?}");
                storage.list().unwrap();
            };
            assert_eq!(enumerate_faults(operation, fault, make, work, check), 1, "{operation:?}");
        }
    }
}
