//! A database of SQLite as a source.

use super::catalog::Catalog;
use super::connection::Database;
use super::rows::RowMaker;
use super::{catalog, columns, indexes};
use crate::arguments::Arguments;
use crate::choice::Choice;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::source::{Found, LeftOut, Source, Visit};

/// An open database, and its tables that are imported.
struct SqliteSource {
    database: Database,
    makers: Vec<RowMaker>,
    found: Vec<Found>,
    names: Vec<String>,
    left_out: Vec<LeftOut>,
}

/// Opens a database, and finds the types of its tables.
///
/// # Errors
/// `Failure::Source`, `Failure::Refused`.
pub(crate) fn open(arguments: &Arguments, choice: &Choice, interrupt: &Interrupt) -> Result<Box<dyn Source>> {
    let database = Database::open(arguments)?;
    let Catalog { tables, names, mut left_out } = catalog::read(&database, choice)?;
    let (makers, found) = (Vec::new(), Vec::new());
    let mut source = SqliteSource { database, makers, found, names, left_out: Vec::new() };
    let database = &source.database;
    for table in tables {
        let (maker, remarks) = columns::examine(database, &table, arguments.as_text, interrupt)?;
        let indexes = indexes::read(database, &table, &maker, &mut left_out)?;
        let types = maker.types().clone();
        source.found.push(Found { name: table.name.clone(), types, records: Some(maker.rows()), indexes, remarks });
        source.makers.push(maker);
    }
    source.left_out = left_out;
    Ok(Box::new(source))
}

impl Source for SqliteSource {
    fn found(&self) -> &[Found] {
        &self.found
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    fn read(&self, at: usize, visit: &mut Visit<'_>) -> Result<()> {
        self.makers.get(at).map_or(Ok(()), |maker| maker.read(&self.database, visit))
    }

    fn close(self: Box<Self>) {
        self.database.close();
    }
}
