//! External indexes: index files for data that stay in another file.

use crate::failure::{Failure, Result};
use crate::input::{InputOptions, open_to_see};
use crate::interrupt::Interrupt;
use crate::load::Target;
use crate::progress::{Progress, Unit};
use crate::urls;
use crate::values::size::whole_number;
use ogive::io::{LocalStorage, StoppableStorage};
use ogive::table::TableReport;
use ogive::table::external::{RecordFile, index_records, index_table};
use ogive::{Cause, Error, KeyType};
use std::path::Path;

/// Layout of the records in a foreign file. Without any of these options, the file is a SOSD file of 8-byte keys.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RecordLayout {
    /// With --external: bytes per record, including its key [default: the size of the key]
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>, requires = "external")]
    #[arg(help_heading = "External index")]
    record_size: Option<u32>,

    /// With --external: bytes of the key at the start of each record, 8 or 16
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>, requires = "external")]
    #[arg(default_value = "8", help_heading = "External index")]
    key_size: u32,

    /// With --external: bytes before the first record [default: 8 (a count, as in SOSD files), or 0 with --record-size]
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>, requires = "external")]
    #[arg(help_heading = "External index")]
    header_size: Option<u64>,

    /// With --external: keys are big-endian instead of little-endian
    #[arg(long, requires = "external", help_heading = "External index")]
    big_endian: bool,
}

impl RecordLayout {
    /// The type of the keys. Other widths than these two are refused by the engine.
    fn key_type(&self) -> KeyType {
        if self.key_size == 16 { KeyType::U128 } else { KeyType::U64 }
    }

    fn to_record_file(&self) -> Result<RecordFile> {
        let record_size = self.record_size.unwrap_or(self.key_size);
        let value_bytes = record_size.checked_sub(self.key_size).ok_or_else(|| {
            Failure::usage(
                format!("a record of {record_size} bytes cannot hold a key of {}", self.key_size),
                "--record-size includes the key",
            )
        })?;
        let counted = self.record_size.is_none() && self.header_size.is_none();
        Ok(RecordFile {
            header_bytes: self.header_size.unwrap_or(if counted { 8 } else { 0 }),
            counted,
            key_bytes: self.key_size,
            value_bytes,
            little_endian: !self.big_endian,
        })
    }
}

/// Writes an index for the records of `input`, or a second index if it is a table, in the same folder.
///
/// # Errors
/// [`Failure::Usage`] when data and index would lie in different folders; errors of the engine.
pub(crate) fn build_external(
    input: &InputOptions,
    layout: &RecordLayout,
    target: &Target,
    interrupt: &Interrupt,
) -> Result<TableReport> {
    // The data may be a link: the index stores its name and writes nothing to it.
    let (folder, data_name) = match urls::is_url(&input.path) {
        true => {
            let (data, name) = urls::place(&input.path, false)?;
            (data.path(&name).parent().unwrap_or(Path::new("")).to_owned(), name)
        }
        false => LocalStorage::split_link(&input.path)?,
    };
    let index_path = target.storage.path(&target.name);
    if !same_folder(&folder, index_path.parent().unwrap_or(Path::new(""))) {
        return Err(Failure::usage(
            format!("{} and {} are in different folders", input.path.display(), index_path.display()),
            "an external index must be in the folder of its data: choose an output there",
        ));
    }
    let table_keys = match open_to_see(&target.storage, &data_name) {
        Ok(table) => Some(table.key_type()),
        Err(Error { cause: Cause::NotATable, .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let storage = StoppableStorage::new(target.storage.clone(), interrupt.flag());
    let _reading = Progress::start(format!("indexing {data_name}"), None, Unit::Items);
    let key_type = table_keys.unwrap_or_else(|| layout.key_type());
    let looked_up = target.lookups.as_ref().map_or(Ok(Vec::new()), |lookups| lookups.keys(key_type))?;
    let options = target.options.clone().tuning(|tuning| tuning.looked_up(looked_up));
    Ok(if table_keys.is_some() {
        index_table(storage, &data_name, &target.name, options)?
    } else {
        index_records(storage, &data_name, &target.name, layout.to_record_file()?, options)?
    })
}

/// Whether two paths lead to one folder. A path that cannot be resolved is reported when it is used.
fn same_folder(left: &Path, right: &Path) -> bool {
    let resolved = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    };
    resolved(left) == resolved(right)
}
