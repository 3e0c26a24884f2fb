//! The native module of the Python package `ogive`. What people use is the façade in `python/ogive`; this module has
//! the handles, the conversions, and nothing that Python can do as well.

mod arrow;
mod backups;
mod batch;
mod build;
mod changes;
mod convert;
mod csv;
mod equal;
mod errors;
mod fork;
mod gate;
mod index;
mod index_opening;
mod index_view;
mod join;
mod join_input;
mod json;
mod key_range;
mod keyspace;
mod object;
mod opened;
mod parquet;
mod range;
mod snapshot;
mod store;
mod table;
mod times;
mod transaction;
mod tune;
mod types;
mod voice;
mod wait;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
mod _internal {
    #[pymodule_export]
    use crate::arrow::columns::Columns;
    #[pymodule_export]
    use crate::arrow::output::{RowBatch, RowReader};
    #[pymodule_export]
    use crate::backups::{archive, back_up, list_backups, restore_backup};
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::build::{build_csv, build_pairs, build_parquet, build_stream};
    #[pymodule_export]
    use crate::changes::ChangeIterator;
    #[pymodule_export]
    use crate::convert::pair_of;
    #[pymodule_export]
    use crate::equal::equal_key;
    #[pymodule_export]
    use crate::fork::forked;
    #[pymodule_export]
    use crate::index::{Index, IndexSnapshot, IndexTransaction};
    #[pymodule_export]
    use crate::join::Join;
    #[pymodule_export]
    use crate::join_input::JoinInput;
    #[pymodule_export]
    use crate::keyspace::Keyspace;
    #[pymodule_export]
    use crate::parquet::{ParquetIndex, index_parquet};
    #[pymodule_export]
    use crate::range::RecordIterator;
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::transaction::Transaction;
    #[pymodule_export]
    use crate::tune::{measure_storage, profile_of, tune_keys, tune_table};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::wait::note_main_thread();
        ogive_object_store::register();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
