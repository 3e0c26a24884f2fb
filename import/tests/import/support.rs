//! A folder with sources and a store, runs of the program in it, and the records of the store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ogive::types::{RecordType, Value};
use ogive::{Db, DbOptions};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// A folder that is removed with the test.
pub(crate) struct Place(tempfile::TempDir);

/// What a run printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with these words, in the folder.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ogive-import"));
        command.args(words).current_dir(self.0.path());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    /// A run that succeeds.
    pub(crate) fn import(&self, words: &[&str]) -> String {
        let run = self.run(words);
        assert_eq!((run.code, &*run.err), (Some(0), ""), "{words:?}: {run:?}");
        run.out
    }

    /// A run that fails as a command does, and says each of these.
    pub(crate) fn refused(&self, words: &[&str], code: i32, said: &[&str]) {
        let run = self.run(words);
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.err.starts_with("error: ") && run.err.contains("hint: "), "{words:?}: {run:?}");
        said.iter().for_each(|said| assert!(run.err.contains(said), "{words:?}: {said:?} is missing: {run:?}"));
    }

    pub(crate) fn store(&self) -> Db {
        Db::open_read_only(self.path("store"), &DbOptions::default()).unwrap()
    }

    /// The keyspaces of the store, but for the default one if it is empty.
    pub(crate) fn keyspaces(&self) -> Vec<String> {
        let db = self.store();
        let mut names = db.keyspaces();
        names.retain(|name| name != "default" || !db.is_empty().unwrap());
        names
    }

    /// The names and bytes of all files of a folder.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }
}

/// The types and the records of a keyspace, in its order.
pub(crate) fn records(db: &Db, keyspace: &str) -> (Arc<RecordType>, Vec<(Value, Value)>) {
    assert!(db.keyspaces().iter().any(|name| name == keyspace), "{keyspace:?} in {:?}", db.keyspaces());
    let keyspace = db.keyspace(keyspace).unwrap();
    let types = keyspace.record_type();
    let decoded = keyspace.iter().map(|record| {
        let (key, value) = record.unwrap();
        let value = if types.is_keys_only() { Value::Null } else { types.values.decode(&value).unwrap() };
        (types.keys.decode(&key).unwrap(), value)
    });
    let decoded = decoded.collect();
    (types, decoded)
}

/// The records of a keyspace of bytes.
pub(crate) fn bytes_of(db: &Db, keyspace: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let records = db.keyspace(keyspace).unwrap().iter();
    records.map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

/// Whether a folder has nothing, or is not there.
pub(crate) fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none())
}
