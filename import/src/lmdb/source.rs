//! An environment of LMDB as a source.

use super::form::{Form, foreign_order};
use super::meta::{Meta, RECORD_BYTES, flags_of};
use crate::arguments::Arguments;
use crate::choice::Choice;
use crate::failure::{Failure, Result};
use crate::kind::LMDB_DATA;
use crate::source::{Found, LeftOut, Source, Visit, unreadable};
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, WithoutTls};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The keyspace of the unnamed database.
const UNNAMED: &str = "default";
/// Named databases, at most.
const DATABASES_MAX: u32 = 4096;

/// A database that is imported.
struct LmdbDatabase {
    database: Database<Bytes, Bytes>,
    form: Form,
    /// The names of other databases among its keys, which are no records.
    names: BTreeSet<Vec<u8>>,
}

/// An open environment, and its databases that are imported.
struct LmdbSource<'a> {
    arguments: &'a Arguments,
    transaction: RoTxn<'static, WithoutTls>,
    databases: Vec<LmdbDatabase>,
    found: Vec<Found>,
    names: Vec<String>,
    /// The file, and its state at the beginning if no lock keeps writers away from what is read.
    unlocked: Option<(PathBuf, Meta)>,
}

/// Opens an environment.
///
/// # Errors
/// `Failure::Source`, `Failure::Refused`.
pub(crate) fn open<'a>(arguments: &'a Arguments, choice: &Choice) -> Result<Box<dyn Source + 'a>> {
    let path = &arguments.source;
    let is_folder = path.is_dir();
    let file = if is_folder { path.join(LMDB_DATA) } else { path.clone() };
    let meta = read_meta(arguments, &file)?;
    let length = file.metadata().map_err(|error| unreadable(arguments, error))?.len();
    // Its library reads through a map, and behind the end of the file the system would end the process.
    if length < meta.used_bytes {
        return Err(unreadable(arguments, format!("it is cut off: {} of {} bytes are there", length, meta.used_bytes)));
    }
    let lock = if is_folder { path.join("lock.mdb") } else { PathBuf::from(format!("{}-lock", path.display())) };
    let is_locked = lock.exists();
    let flags = if is_folder { EnvFlags::READ_ONLY } else { EnvFlags::READ_ONLY | EnvFlags::NO_SUB_DIR };
    let flags = if is_locked { flags } else { flags | EnvFlags::NO_LOCK };
    let env = open_environment(arguments, flags).map_err(|error| unreadable(arguments, error))?;
    let transaction = env.clone().static_read_txn().map_err(|error| unreadable(arguments, error))?;
    let unlocked = (!is_locked).then_some((file, meta));
    let (databases, found, names) = (Vec::new(), Vec::new(), Vec::new());
    let mut source = LmdbSource { arguments, transaction, databases, found, names, unlocked };
    source.find(&env, choice, meta)?;
    Ok(Box::new(source))
}

#[expect(
    unsafe_code,
    reason = "the map is undefined if the file changes under it: the lock file forbids that to other programs, and \
              without one the state at the end is compared with that at the beginning"
)]
fn open_environment(arguments: &Arguments, flags: EnvFlags) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.max_dbs(DATABASES_MAX);
    unsafe { options.flags(flags).open(&arguments.source) }
}

fn read_meta(arguments: &Arguments, file: &std::path::Path) -> Result<Meta> {
    let meta = Meta::read(file).map_err(|error| unreadable(arguments, error))?;
    meta.ok_or_else(|| unreadable(arguments, "its first pages are damaged"))
}

impl LmdbSource<'_> {
    /// Finds the databases: their names are keys of the unnamed one, which may have other records, too.
    fn find(&mut self, env: &Env<WithoutTls>, choice: &Choice, meta: Meta) -> Result<()> {
        let failed = |error: heed::Error| unreadable(self.arguments, error);
        let unnamed = env.open_database::<Bytes, Bytes>(&self.transaction, None).map_err(failed)?;
        let Some(unnamed) = unnamed else { return Ok(()) };
        let (mut names, mut named, mut records) = (BTreeSet::new(), Vec::new(), 0_u64);
        for entry in unnamed.iter(&self.transaction).map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            let name = std::str::from_utf8(key).ok().filter(|name| value.len() == RECORD_BYTES && !name.contains('\0'));
            match name.map(|name| env.open_database::<Bytes, Bytes>(&self.transaction, Some(name))) {
                Some(Ok(Some(database))) => {
                    names.insert(key.to_vec());
                    let name = String::from_utf8_lossy(key).into_owned();
                    named.push((name, database, flags_of(value).unwrap_or_default()));
                }
                // A record that is as long as that of a database.
                None | Some(Ok(None) | Err(heed::Error::Mdb(MdbError::Incompatible))) => records += 1,
                Some(Err(error)) => return Err(failed(error)),
            }
        }
        if records > 0 {
            self.names.push(UNNAMED.to_owned());
            if choice.takes(UNNAMED) {
                self.add(UNNAMED.to_owned(), unnamed, meta.main_flags, names)?;
            }
        }
        for (name, database, flags) in named {
            self.names.push(name.clone());
            if choice.takes(&name) {
                self.add(name, database, flags, BTreeSet::new())?;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        name: String,
        database: Database<Bytes, Bytes>,
        flags: u16,
        names: BTreeSet<Vec<u8>>,
    ) -> Result<()> {
        let failed = |error: heed::Error| unreadable(self.arguments, error);
        let first = database.first(&self.transaction).map_err(failed)?;
        let form = Form::of(&name, flags, first)?;
        let entries = database.stat(&self.transaction).map_err(failed)?.entries as u64;
        let records = Some(entries.saturating_sub(names.len() as u64));
        self.found.push(Found { name, types: form.types()?, records, indexes: Vec::new(), remarks: form.remarks() });
        self.databases.push(LmdbDatabase { database, form, names });
        Ok(())
    }
}

impl Source for LmdbSource<'_> {
    fn found(&self) -> &[Found] {
        &self.found
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn left_out(&self) -> &[LeftOut] {
        &[]
    }

    fn read(&self, at: usize, visit: &mut Visit<'_>) -> Result<()> {
        let (Some(LmdbDatabase { database, form, names }), Some(found)) = (self.databases.get(at), self.found.get(at))
        else {
            return Ok(());
        };
        let failed = |error: heed::Error| unreadable(self.arguments, error);
        let mut previous: Option<Vec<u8>> = None;
        for entry in database.iter(&self.transaction).map_err(failed)? {
            let (key, value) = entry.map_err(failed)?;
            if names.contains(key) {
                continue;
            }
            let ordered = form.ordered(key);
            if previous.as_ref().is_some_and(|previous| *previous > ordered) {
                return Err(foreign_order(&found.name, "by a comparator of its program"));
            }
            previous = Some(ordered);
            let Some(record) = form.record(&found.types, key, value) else {
                let message = format!("the database {:?} has integers of different widths", found.name);
                return Err(Failure::refused(message, format!("leave it out with --skip {}", found.name)));
            };
            let (key, value) = record?;
            visit(&key, value)?;
        }
        Ok(())
    }

    fn confirm(&self) -> Result<()> {
        match &self.unlocked {
            Some((file, before)) if read_meta(self.arguments, file)? != *before => Err(Failure::refused(
                format!("{} was written while it was read, without a lock file", self.arguments.source.display()),
                "run the program again: the lock file is there now",
            )),
            _ => Ok(()),
        }
    }
}
