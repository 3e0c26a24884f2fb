//! Sorted records that can be read repeatedly.

use crate::failure::Result;
use crate::input::{Input, InputOptions, Schema, open_to_see, table_input};
use crate::interrupt::Interrupt;
use crate::load::{Target, examine, load};
use ogive::io::ScratchFolder;
use ogive::io::Storage;
use ogive::table::{Table, TableWriteOptions};
use ogive::tune::DesignRequest;
use std::sync::Arc;

/// Origin of the records.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    /// The input itself, which is sorted.
    Sorted { input: &'a InputOptions, schema: Box<Schema> },
    /// A temporary table of an unsorted input.
    Table { scratch: ScratchFolder, table: Table },
}

impl<'a> Source<'a> {
    /// Reads an input once, and sorts it if necessary.
    pub(crate) fn prepare(input: &'a InputOptions, memory_bytes: u64, interrupt: &Interrupt) -> Result<Self> {
        if input.is_rereadable() {
            let plan = examine(input, interrupt)?.plan;
            if !plan.sort {
                return Ok(Self::Sorted { input, schema: Box::new(plan.schema) });
            }
        }
        let scratch = ScratchFolder::create()?;
        let options = TableWriteOptions::default().design(DesignRequest::Coded);
        let storage = scratch.storage();
        let target = Target { storage: storage.clone(), name: "sorted".into(), options, memory_bytes, lookups: None };
        load(input, &target, "sorting", interrupt)?;
        let storage: Arc<dyn Storage> = storage;
        let table = open_to_see(&storage, "sorted")?;
        Ok(Self::Table { scratch, table })
    }

    /// All records, from the first.
    pub(crate) fn open(&self) -> Result<Box<dyn Input>> {
        match self {
            Self::Sorted { input, schema } => Ok(input.open(schema)?),
            Self::Table { scratch, table } => Ok(Box::new(table_input(scratch.path(), table))),
        }
    }
}
