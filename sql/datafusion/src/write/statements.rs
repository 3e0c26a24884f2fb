//! Statements that write rows, as requests: `COPY ... STORED AS OGIVE`, and `INSERT INTO` a keyspace.

use super::format::OgiveFormatFactory;
use super::options::CopyOptions;
use super::request::WriteRequest;
use crate::table::OgiveTable;
use datafusion::datasource::file_format::file_type_to_format;
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, WriteOp};
use std::sync::Arc;

impl WriteRequest {
    /// The request of a plan, and the plan of its rows; `None` for one that writes nothing of Ogive.
    ///
    /// # Errors
    /// Columns that no records can be made of, options that are not known, targets that take no rows.
    pub fn of(plan: &LogicalPlan) -> Result<Option<(Self, &Arc<LogicalPlan>)>> {
        match plan {
            LogicalPlan::Copy(CopyTo { input, output_url, file_type, options, partition_by, .. }) => {
                let format = file_type_to_format(file_type)?;
                if format.downcast_ref::<OgiveFormatFactory>().is_none() {
                    return Ok(None);
                }
                let options = CopyOptions::of(options)?;
                let request = Self::of_copy(output_url, input.schema().as_arrow(), &options, !partition_by.is_empty())?;
                Ok(Some((request, input)))
            }
            LogicalPlan::Dml(DmlStatement { target, op: WriteOp::Insert(operation), input, .. }) => {
                let provider = source_as_provider(target)?;
                let Some(table) = provider.downcast_ref::<OgiveTable>() else { return Ok(None) };
                Ok(Some((table.insert_request(*operation)?, input)))
            }
            _ => Ok(None),
        }
    }
}
