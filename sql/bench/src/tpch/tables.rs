//! The eight tables, each by the columns of its primary key.

use crate::error::file;
use crate::files::{FilesWriter, TableName};
use datafusion::arrow::array::RecordBatchReader;
use datafusion::error::Result;
use ogive::Storage;
use std::path::Path;
use std::sync::Arc;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

/// Rows of a batch. A part has four suppliers, which are not sorted: no batch may end between them.
const BATCH_ROWS: usize = 8_000;

/// A table of TPC-H.
#[derive(Clone, Copy, Debug)]
pub struct TpchTable {
    name: &'static str,
    key: &'static [&'static str],
    rows: fn(f64) -> Box<dyn RecordBatchReader + Send>,
}

/// All tables.
pub const TABLES: [TpchTable; 8] = [
    TpchTable {
        name: "customer",
        key: &["c_custkey"],
        rows: |scale| Box::new(CustomerArrow::new(CustomerGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
    TpchTable {
        name: "lineitem",
        key: &["l_orderkey", "l_linenumber"],
        rows: |scale| Box::new(LineItemArrow::new(LineItemGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
    TpchTable {
        name: "nation",
        key: &["n_nationkey"],
        rows: |scale| Box::new(NationArrow::new(NationGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
    TpchTable {
        name: "orders",
        key: &["o_orderkey"],
        rows: |scale| Box::new(OrderArrow::new(OrderGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
    TpchTable {
        name: "part",
        key: &["p_partkey"],
        rows: |scale| Box::new(PartArrow::new(PartGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
    TpchTable {
        name: "partsupp",
        key: &["ps_partkey", "ps_suppkey"],
        rows: |scale| Box::new(PartSuppArrow::new(PartSuppGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
    TpchTable {
        name: "region",
        key: &["r_regionkey"],
        rows: |scale| Box::new(RegionArrow::new(RegionGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
    TpchTable {
        name: "supplier",
        key: &["s_suppkey"],
        rows: |scale| Box::new(SupplierArrow::new(SupplierGenerator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS)),
    },
];

impl TpchTable {
    /// Its name and its key.
    #[must_use]
    pub fn table(&self) -> TableName {
        TableName::new(self.name, self.key)
    }

    /// Its rows at a scale factor.
    #[must_use]
    pub fn rows(&self, scale: f64) -> Box<dyn RecordBatchReader + Send> {
        (self.rows)(scale)
    }

    fn write(&self, scale: f64, mut writer: FilesWriter) -> Result<()> {
        for batch in self.rows(scale) {
            writer.write(&batch?)?;
        }
        writer.finish()
    }
}

/// Writes all tables to a folder, as Ogive tables and as Parquet files.
///
/// # Errors
/// Failed writes.
pub fn write_files(folder: &Path, scale: f64) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(file("create", folder))?;
    TABLES.iter().try_for_each(|table| {
        let writer = FilesWriter::create(folder, &table.table(), &table.rows(scale).schema())?;
        table.write(scale, writer)
    })
}

/// Writes all tables to a storage, as Ogive tables alone.
///
/// # Errors
/// Failed writes.
pub fn write_ogive(storage: &Arc<dyn Storage>, scale: f64) -> Result<()> {
    TABLES.iter().try_for_each(|table| {
        let writer = FilesWriter::ogive(storage.clone(), &table.table(), &table.rows(scale).schema())?;
        table.write(scale, writer)
    })
}
