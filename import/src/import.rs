//! The import: all keyspaces are written and flushed, then each is read back and compared, and its indexes are created.

use crate::arguments::Arguments;
use crate::check;
use crate::checksum::Checksum;
use crate::choice::Choice;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::kind::Kind;
use crate::open::open;
use crate::source::{Found, LeftOut, Source};
use crate::summary::{Imported, Summary};
use crate::target::Target;
use crate::unfinished;
use ogive::Keyspace;
use ogive_terminal::{Progress, Unit};
use std::time::Instant;

/// Records between two looks at the clock and the interrupt.
const RECORDS_A_STEP: u64 = 1 << 10;

/// Runs the import of a command line.
pub(crate) fn run(arguments: &Arguments) -> Result<Summary> {
    let (started, interrupt) = (Instant::now(), Interrupt::watch());
    let kind = Kind::of(&arguments.source, arguments.from)?;
    let choice = Choice::of(arguments)?;
    // What is refused in the source is refused before there is a store.
    let source = open(kind, arguments, &choice, &interrupt)?;
    let imported = imported(arguments, &choice, &*source, &interrupt);
    source.close();
    let (keyspaces, left_out) = imported?;
    let left_out = if choice.is_partial() { of_chosen(left_out) } else { left_out };
    let (source, store) = (arguments.source.display().to_string(), arguments.store.display().to_string());
    Ok(Summary { kind: kind.name(), source, store, keyspaces, left_out, seconds: started.elapsed().as_secs_f64() })
}

/// What is left out of the parts that were chosen, and not beside them.
fn of_chosen(left_out: Vec<LeftOut>) -> Vec<LeftOut> {
    left_out
        .into_iter()
        .filter(|left| matches!(left.what, "generated column" | "foreign key" | "index" | "trigger"))
        .collect()
}

/// Writes and checks all keyspaces; after a failure, takes them back.
fn imported(
    arguments: &Arguments,
    choice: &Choice,
    source: &dyn Source,
    interrupt: &Interrupt,
) -> Result<(Vec<Imported>, Vec<LeftOut>)> {
    let names = choice.keyspaces(source)?;
    let mut left_out = source.left_out().to_vec();
    if names.is_empty() {
        return Ok((Vec::new(), left_out));
    }
    let target = Target::open(arguments)?;
    if let Err(failure) = target.check(source.found(), &names) {
        target.db.close()?;
        return Err(failure);
    }
    let import = Import { arguments, source, target: &target, names: &names, interrupt };
    match import.all(&mut left_out) {
        Ok(keyspaces) => {
            target.db.close()?;
            Ok((keyspaces, left_out))
        }
        Err(failure) => Err(match target.take_back(&names) {
            Ok(rest) => failure.but(rest),
            // The failure to import says more than one to take back, which the next run tells by the marks.
            Err(_) => failure.but("the keyspaces are not finished"),
        }),
    }
}

/// An import in progress.
struct Import<'a> {
    arguments: &'a Arguments,
    source: &'a dyn Source,
    target: &'a Target<'a>,
    names: &'a [String],
    interrupt: &'a Interrupt,
}

impl Import<'_> {
    fn all(&self, left_out: &mut Vec<LeftOut>) -> Result<Vec<Imported>> {
        let db = &self.target.db;
        unfinished::mark(db, self.names, &self.arguments.source.display().to_string())?;
        let mut written = Vec::new();
        for (at, found) in self.source.found().iter().enumerate() {
            let keyspace = self.target.prepare(&self.names[at], &found.types)?;
            let checksum = self.write(at, found, &keyspace)?;
            written.push((keyspace, checksum));
        }
        // So that what is read back comes from the files.
        db.flush()?;
        let mut all = Vec::new();
        for (at, (found, (keyspace, checksum))) in self.source.found().iter().zip(&written).enumerate() {
            self.check(at, found, keyspace, *checksum)?;
            let indexes = self.target.create_indexes(keyspace, found, left_out, self.interrupt)?;
            all.push(Imported {
                keyspace: keyspace.name().to_owned(),
                from: found.name.clone(),
                checksum: *checksum,
                types: found.types.to_string(),
                indexes,
                remarks: found.remarks.clone(),
            });
        }
        self.source.confirm()?;
        unfinished::unmark(db, self.names)?;
        Ok(all)
    }

    fn write(&self, at: usize, found: &Found, keyspace: &Keyspace) -> Result<Checksum> {
        let mut progress = Progress::start(format!("importing {}", found.name), found.records, Unit::Items);
        let mut writer = self.target.writer(keyspace);
        self.source.read(at, &mut |key, value| {
            writer.add(key, value)?;
            if writer.records().is_multiple_of(RECORDS_A_STEP) {
                progress.reach(writer.records());
                self.interrupt.check()?;
            }
            Ok(())
        })?;
        self.interrupt.check()?;
        let checksum = writer.finish()?;
        match found.records {
            Some(records) if records != checksum.records => Err(Failure::Differs(format!(
                "{records} records of {:?} were counted, and {} were read",
                found.name, checksum.records
            ))),
            _ => Ok(checksum),
        }
    }

    fn check(&self, at: usize, found: &Found, keyspace: &Keyspace, checksum: Checksum) -> Result<()> {
        let mut progress = Progress::start(format!("checking {}", found.name), Some(checksum.records), Unit::Items);
        match self.arguments.add {
            true => check::each(self.source, at, keyspace, checksum, self.interrupt, &mut progress),
            false => check::whole(keyspace, checksum, self.interrupt, &mut progress),
        }
    }
}
