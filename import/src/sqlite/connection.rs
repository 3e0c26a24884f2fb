//! A database that is read, and never written, in one read transaction.

use crate::arguments::Arguments;
use crate::failure::{Failure, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The shortest wait for a writer that is about to end its commit.
const BUSY_MIN: Duration = Duration::from_secs(1);

/// An open database.
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    /// The files of the write-ahead log that were not there before.
    made: Vec<PathBuf>,
}

impl Database {
    /// Opens a database read-only, and begins the transaction.
    pub(super) fn open(arguments: &Arguments) -> Result<Self> {
        let path = &arguments.source;
        let made: Vec<PathBuf> =
            ["-wal", "-shm"].map(|end| with_suffix(path, end)).into_iter().filter(|file| !file.exists()).collect();
        let given = address(path, arguments.immutable);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error| failure(path, &error, arguments.immutable);
        let connection = Connection::open_with_flags(given, flags).map_err(failed)?;
        let begin = || {
            connection.busy_timeout(arguments.wait.max(BUSY_MIN))?;
            connection.execute_batch(
                "pragma query_only = on; pragma trusted_schema = off; pragma cell_size_check = on; \
                 pragma cache_size = -8192; begin; select count(*) from sqlite_schema;",
            )
        };
        let begun = begin();
        let database = Self { connection, path: path.clone(), made };
        match begun {
            Ok(()) => Ok(database),
            Err(error) => {
                database.close();
                Err(failure(path, &error, arguments.immutable))
            }
        }
    }

    /// Visits the rows of a query.
    pub(super) fn each(
        &self,
        query: &str,
        given: &[&str],
        visit: &mut dyn FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let failed = |error| failure(&self.path, &error, false);
        let mut statement = self.connection.prepare(query).map_err(failed)?;
        let mut rows = statement.query(rusqlite::params_from_iter(given)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            visit(row)?;
        }
        Ok(())
    }

    /// The rows of a query on the schema.
    pub(super) fn all<T>(
        &self,
        query: &str,
        given: &[&str],
        take: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.each(query, given, &mut |row| {
            all.push(take(row).map_err(|error| self.failed(&error))?);
            Ok(())
        })?;
        Ok(all)
    }

    /// The failure of an error.
    pub(super) fn failed(&self, error: &rusqlite::Error) -> Failure {
        failure(&self.path, error, false)
    }

    /// Ends the transaction. The first connection to a database with a write-ahead log makes its files, and one that
    /// only reads leaves them: then an empty log is removed by SQLite itself, under its locks.
    pub(super) fn close(self) {
        let Self { connection, path, made } = self;
        drop(connection);
        let log = with_suffix(&path, "-wal");
        let is_ours = made.contains(&log) && log.metadata().is_ok_and(|metadata| metadata.len() == 0);
        if is_ours {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            // Left files do no harm, so a failure to remove them is none of the import.
            if let Ok(connection) = Connection::open_with_flags(&path, flags) {
                _ = connection.execute_batch("select count(*) from sqlite_schema");
            }
        }
    }
}

/// The path as a URI, which is the only way to say that a database is immutable.
fn address(path: &Path, is_immutable: bool) -> String {
    let mut uri = "file:".to_owned();
    // A path of two slashes would name a host.
    if path.is_absolute() {
        uri.push_str("//");
    }
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(byte.into()),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str(if is_immutable { "?immutable=1" } else { "?mode=ro" });
    uri
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The failure of an error of SQLite, with what to do.
fn failure(path: &Path, error: &rusqlite::Error, is_immutable: bool) -> Failure {
    let shown = path.display();
    let code = error.sqlite_error_code();
    let has_journal = with_suffix(path, "-journal").metadata().is_ok_and(|metadata| metadata.len() > 0);
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failure::refused(
            format!("{shown} is locked by another program that writes to it"),
            "wait until it has committed, as with --wait 60s",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) if has_journal => Failure::refused(
            format!("{shown} has a journal of a transaction that did not end"),
            "open it once with its program, or with `sqlite3`, which rolls the transaction back",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) if path.is_file() && !is_immutable => Failure::refused(
            format!("{shown} has a write-ahead log, whose index cannot be made in a read-only folder"),
            "copy the database with its -wal file to another folder; or, if no program writes to it and there is no \
             -wal file, read it with --immutable",
        ),
        Some(ErrorCode::NotADatabase) => Failure::refused(
            format!("{shown} is not a database of SQLite, or it is encrypted"),
            "decrypt it with the program that made it",
        ),
        _ => Failure::Source { path: shown.to_string(), detail: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_byte_that_means_anything_else() {
        assert_eq!(address(Path::new("/a b/c?d#e%.db"), false), "file:///a%20b/c%3Fd%23e%25.db?mode=ro");
        assert_eq!(address(Path::new("a.db"), true), "file:a.db?immutable=1");
    }
}
