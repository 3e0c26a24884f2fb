//! The comparison of a keyspace with the records of its source.

use crate::checksum::Checksum;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::source::Source;
use ogive::Keyspace;
use ogive_terminal::{Progress, counted};
use std::ops::ControlFlow;

/// Records between two looks at the interrupt.
const RECORDS_A_STEP: u64 = 1 << 12;
/// Records, and bytes, that are looked up together.
const WAVE_RECORDS: usize = 256;
const WAVE_BYTES: usize = 4 << 20;

/// Compares all records of a keyspace with the checksum of those that were read from the source.
///
/// # Errors
/// [`Failure::Differs`]; errors of the store.
pub(crate) fn whole(
    keyspace: &Keyspace,
    expected: Checksum,
    interrupt: &Interrupt,
    progress: &mut Progress,
) -> Result<()> {
    let (mut found, mut ended) = (Checksum::default(), Ok(()));
    keyspace.iter().visit(|key, value| {
        found.add(key, value);
        if found.records.is_multiple_of(RECORDS_A_STEP) {
            progress.reach(found.records);
            ended = interrupt.check();
        }
        if ended.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    ended?;
    compare(keyspace, expected, found)
}

/// Looks each record of the source up in a keyspace, which may have others.
///
/// # Errors
/// As [`whole`], and those of the source.
pub(crate) fn each(
    source: &dyn Source,
    at: usize,
    keyspace: &Keyspace,
    expected: Checksum,
    interrupt: &Interrupt,
    progress: &mut Progress,
) -> Result<()> {
    let (mut found, mut keys, mut bytes) = (Checksum::default(), Vec::new(), 0);
    let mut look_up = |keys: &mut Vec<Vec<u8>>| {
        interrupt.check()?;
        for (key, value) in keys.iter().zip(keyspace.multi_get(&*keys)?) {
            value.iter().for_each(|value| found.add(key, value));
        }
        progress.reach(found.records);
        keys.clear();
        Ok::<_, Failure>(())
    };
    source.read(at, &mut |key, value| {
        keys.push(key.to_vec());
        bytes += key.len() + value.len();
        if keys.len() >= WAVE_RECORDS || bytes >= WAVE_BYTES {
            bytes = 0;
            look_up(&mut keys)?;
        }
        Ok(())
    })?;
    look_up(&mut keys)?;
    compare(keyspace, expected, found)
}

fn compare(keyspace: &Keyspace, expected: Checksum, found: Checksum) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let shown = |sum: Checksum| format!("{} with the checksum {sum}", counted(sum.records, "record"));
    Err(Failure::Differs(format!(
        "the keyspace {:?} has {}, and the source had {}",
        keyspace.name(),
        shown(found),
        shown(expected)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::{Db, DbOptions, MemoryStorage};
    use ogive_terminal::Unit;
    use std::sync::Arc;

    struct Records(Vec<(&'static str, &'static str)>);

    impl Source for Records {
        fn found(&self) -> &[crate::source::Found] {
            &[]
        }

        fn names(&self) -> &[String] {
            &[]
        }

        fn left_out(&self) -> &[crate::source::LeftOut] {
            &[]
        }

        fn read(&self, _: usize, visit: &mut crate::source::Visit<'_>) -> Result<()> {
            self.0.iter().try_for_each(|(key, value)| visit(key.as_bytes(), value.as_bytes()))
        }
    }

    #[test]
    fn a_record_that_is_lost_changed_or_added_is_found() {
        let source = Records(vec![("a", "1"), ("b", "2"), ("c", "")]);
        let mut expected = Checksum::default();
        source.0.iter().for_each(|(key, value)| expected.add(key.as_bytes(), value.as_bytes()));
        let (interrupt, mut progress) = (Interrupt::default(), Progress::start("checking", None, Unit::Items));
        for (records, is_whole, has_each) in [
            (&[("a", "1"), ("b", "2"), ("c", "")][..], true, true),
            (&[("a", "1"), ("b", "2")], false, false),
            (&[("a", "1"), ("b", "3"), ("c", "")], false, false),
            (&[("a", "2"), ("b", "1"), ("c", "")], false, false),
            (&[("a", "1"), ("b", "2"), ("c", ""), ("d", "")], false, true),
        ] {
            let db = Db::open(Arc::new(MemoryStorage::new()), &DbOptions::default()).unwrap();
            records.iter().for_each(|(key, value)| db.insert(key, value).unwrap());
            assert_eq!(whole(&db, expected, &interrupt, &mut progress).is_ok(), is_whole, "{records:?}");
            let each = each(&source, 0, &db, expected, &interrupt, &mut progress);
            assert_eq!(each.is_ok(), has_each, "{records:?}");
        }
    }
}
