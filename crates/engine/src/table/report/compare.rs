//! Comparison of index designs: each is built in full over the same records.

use super::summary::TableReport;
use crate::error::{Error, Result};
use crate::table::format::options::TableWriteOptions;
use crate::table::write::writer::check_block_bytes;
use crate::tune::DesignRequest;

/// The designs that are compared if no others are asked for.
pub const COMPARED_DESIGNS: [&str; 4] = ["tuned", "coded", "btree", "none"];
/// Block size of compared designs that do not choose it, in bytes.
pub const COMPARED_BLOCK_BYTES: u32 = 4096;

/// Designs that were built over the same records.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BuiltDesigns {
    /// Their names, as [`DesignRequest`] reads them, with the reports on their tables.
    pub built: Vec<(String, TableReport)>,
    /// The names of those that do not support the keys, with the reasons.
    pub left_out: Vec<(String, String)>,
}

/// Builds each design with `build`, which takes its name and the options of its table, and returns the report on it, or
/// why the design does not support the keys. All designs but the tuned one have blocks of `fixed_block_bytes`.
///
/// # Errors
/// Those of `build`. `Cause::Input` for a size that blocks do not have, and if the first design does not
/// support the keys.
pub fn compare_designs<E: From<Error>>(
    designs: &[(String, DesignRequest)],
    options: &TableWriteOptions,
    fixed_block_bytes: u32,
    mut build: impl FnMut(&str, TableWriteOptions) -> Result<Result<TableReport, String>, E>,
) -> Result<BuiltDesigns, E> {
    check_block_bytes(fixed_block_bytes)?;
    let mut compared = BuiltDesigns::default();
    for (name, design) in designs {
        let fixed = (*design != DesignRequest::Tuned).then_some(fixed_block_bytes);
        match build(name, options.clone().design(design.clone()).block_bytes(fixed))? {
            Ok(report) => compared.built.push((name.clone(), report)),
            Err(reason) if compared.built.is_empty() => return Err(Error::input(reason).into()),
            Err(reason) => compared.left_out.push((name.clone(), reason)),
        }
    }
    Ok(compared)
}
