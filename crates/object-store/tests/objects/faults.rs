//! Bad days. Goal: what may be tried again is, within the deadline, and everything else is a typed error that names the
//! URL and says what to do. Method: stores that refuse, break off, cut short or keep silent.

use crate::faulty_store::{Fault, FaultyStore};
use crate::reads::{bytes_of, read};
use ogive::{Cause, Error};
use ogive_object_store::ObjectOptions;
use std::io::{ErrorKind, Write};
use std::sync::{Arc, Mutex};

fn message_of<T: std::fmt::Debug>(outcome: Result<T, Error>, kind: ErrorKind) -> String {
    match outcome {
        Err(error) if error.cause == Cause::Io(kind) => error.to_string(),
        other => panic!("not {kind:?}: {other:?}"),
    }
}

#[test]
fn refusals_resets_and_short_bodies_are_tried_again() {
    let store = FaultyStore::new();
    let content = bytes_of(1 << 20, 1);
    store.put("a", &content);
    let storage = store.storage(ObjectOptions::default());
    let faults =
        [Fault::SlowDown, Fault::Reset, Fault::Short(0), Fault::Short(1000), Fault::LateReset, Fault::SlowDown];
    store.fail_gets(&faults);
    let file = storage.open("a").unwrap();
    assert_eq!(store.take_counts().gets, 7);
    store.fail_gets(&faults);
    assert_eq!(read(&*file, 100, 5000).unwrap(), content[100..5100]);
    assert_eq!(store.take_counts().gets, 7);
}

/// One range of many that fails for good fails the call, and one that is refused for a while does not.
#[test]
fn a_batch_of_reads_repeats_only_what_failed() {
    let store = FaultyStore::new();
    let content = bytes_of(40 << 20, 1);
    store.put("a", &content);
    let file = store.storage(ObjectOptions::default()).open("a").unwrap();
    store.take_counts();
    store.fail_gets_after(3, &[Fault::SlowDown, Fault::Short(1)]);
    let ranges: Vec<_> = (0..10_u64)
        .map(|i| ogive::io::RangeRequest { offset: i << 22, bytes: 100, purpose: ogive::io::Purpose::Data })
        .collect();
    let read = file.start_reads(&ranges).unwrap().wait().unwrap();
    for (read, range) in read.iter().zip(&ranges) {
        assert_eq!(**read, content[range.offset as usize..][..100]);
    }
    assert_eq!(store.take_counts().gets, 12);
    store.fail_gets_after(4, &[Fault::Denied]);
    message_of(file.start_reads(&ranges).unwrap().wait(), ErrorKind::PermissionDenied);
}

#[test]
fn a_call_ends_at_its_deadline_however_the_store_fails() {
    let store = FaultyStore::new();
    store.put("a", &bytes_of(1000, 1));
    let storage = store.storage(ObjectOptions::default().deadline_s(0.15));
    store.fail_gets(&[Fault::Silence]);
    let message = message_of(storage.open("a"), ErrorKind::TimedOut);
    assert!(message.contains("test://bucket/folder/a") && message.contains("deadline"), "{message}");
    store.fail_gets(&[Fault::SlowDown; 1000]);
    let message = message_of(storage.open("a"), ErrorKind::ResourceBusy);
    assert!(message.contains("503 SlowDown") && message.contains("attempts"), "{message}");
}

#[test]
fn what_cannot_succeed_is_an_error_at_once_that_says_what_to_do() {
    let store = FaultyStore::new();
    store.put("a", &bytes_of(1000, 1));
    let storage = store.storage(ObjectOptions::default());
    let message = message_of(storage.open("b"), ErrorKind::NotFound);
    assert!(message.contains("test://bucket/folder/b") && message.contains("check the URL"), "{message}");
    store.take_counts();
    store.fail_gets(&[Fault::Denied]);
    let message = message_of(storage.open("a"), ErrorKind::PermissionDenied);
    assert!(message.contains("403 AccessDenied") && message.contains("credentials"), "{message}");
    assert_eq!(store.take_counts().gets, 1);
    store.fail_puts(&[Fault::Denied]);
    let message = message_of(storage.put_if_absent("c", b"x"), ErrorKind::PermissionDenied);
    assert!(message.contains("cannot create test://bucket/folder/c"), "{message}");
}

/// Lines of events.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Events come from threads of the runtime, so the subscriber is that of the whole program; other tests name other
/// objects.
#[test]
fn each_retry_is_reported_with_its_cause() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let store = FaultyStore::new();
    store.put("retried", &bytes_of(1000, 1));
    store.fail_gets(&[Fault::SlowDown, Fault::Reset]);
    store.storage(ObjectOptions::default()).open("retried").unwrap();
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let retries: Vec<&str> = text.lines().filter(|line| line.contains("/folder/retried")).collect();
    assert_eq!(retries.len(), 2, "{text}");
    assert!(retries[0].contains("retrying a request action=\"open\"") && retries[0].contains("attempt=1"), "{text}");
    assert!(retries[0].contains("503 SlowDown") && retries[1].contains("attempt=2"), "{text}");
}

/// A part that is not answered ends the upload when the deadline has passed, as every other request does.
#[test]
fn a_part_that_is_not_answered_fails_at_the_deadline() {
    let store = FaultyStore::new();
    let storage = store.storage(ObjectOptions::default().part_bytes(1000).deadline_s(0.2));
    store.fail_parts(&[None, Some(Fault::Silence)]);
    let mut file = storage.create("a").unwrap();
    let outcome = file.append(&[b'x'; 10_500]).and_then(|()| file.sync());
    assert!(matches!(&outcome, Err(error) if error.to_string().contains("no answer within 0.2 s")), "{outcome:?}");
    assert_eq!((store.content("a"), store.take_counts().aborts), (None, 1));
}
