//! Stores that answer wrongly, for the tests: the bench must find each of them, and go on with the others.

use std::path::Path;
use std::process::ExitCode;

use ogive_research::BenchCommand;
use ogive_research::command_line::Program;
use ogive_research::stores::{StoreReader, StoreResult, StoreSessions, StoreSettings, StoreSystem, StoreWriter};
use own_bench::store::LOG_STORE;

/// The fault of a store.
#[derive(Clone, Copy)]
enum Fault {
    /// Values of some keys have another last byte.
    Value,
    /// Some keys are not found.
    Missing,
    /// Scans miss their last record.
    Scan,
    /// The process ends at the first lookup.
    End,
}

struct WrongStore {
    right: Box<dyn StoreSessions>,
    fault: Fault,
}

const fn wrong(
    name: &'static str,
    open: fn(&Path, &StoreSettings) -> StoreResult<Box<dyn StoreSessions>>,
) -> StoreSystem {
    StoreSystem { name, settings: LOG_STORE.settings, reads_directly: false, open }
}

const VALUE: StoreSystem = wrong("wrong-value", |folder, settings| open(folder, settings, Fault::Value));
const MISSING: StoreSystem = wrong("missing-keys", |folder, settings| open(folder, settings, Fault::Missing));
const SCAN: StoreSystem = wrong("short-scan", |folder, settings| open(folder, settings, Fault::Scan));
const END: StoreSystem = wrong("ends", |folder, settings| open(folder, settings, Fault::End));

fn open(folder: &Path, settings: &StoreSettings, fault: Fault) -> StoreResult<Box<dyn StoreSessions>> {
    Ok(Box::new(WrongStore { right: (LOG_STORE.open)(folder, settings)?, fault }))
}

impl StoreSessions for WrongStore {
    fn writer(&self) -> StoreResult<Box<dyn StoreWriter + '_>> {
        self.right.writer()
    }

    fn reader(&self, fresh: bool) -> StoreResult<Box<dyn StoreReader + '_>> {
        Ok(Box::new(WrongReader { right: self.right.reader(fresh)?, fault: self.fault }))
    }

    fn compact(&mut self) -> StoreResult<()> {
        self.right.compact()
    }

    fn wait_idle(&mut self) -> StoreResult<()> {
        self.right.wait_idle()
    }
}

struct WrongReader<'s> {
    right: Box<dyn StoreReader + 's>,
    fault: Fault,
}

impl StoreReader for WrongReader<'_> {
    fn get(&mut self, key: &[u8], out: &mut Vec<u8>) -> StoreResult<bool> {
        let is_found = self.right.get(key, out)?;
        let is_hit = key.last().is_some_and(|byte| byte.is_multiple_of(64));
        match self.fault {
            Fault::Value => out.last_mut().into_iter().for_each(|byte| *byte ^= u8::from(is_hit)),
            Fault::Missing => return Ok(is_found && !is_hit),
            Fault::End => std::process::exit(9),
            Fault::Scan => {}
        }
        Ok(is_found)
    }

    fn scan(&mut self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> StoreResult<usize> {
        let entries = if matches!(self.fault, Fault::Scan) { entries.saturating_sub(1) } else { entries };
        self.right.scan(from, entries, out)
    }
}

fn main() -> ExitCode {
    let program =
        Program { name: "wrong-stores", version: env!("CARGO_PKG_VERSION"), about: "Find stores that answer wrongly" };
    [&LOG_STORE, &VALUE, &MISSING, &SCAN, &END].into_iter().fold(BenchCommand::new(program), BenchCommand::store).main()
}
