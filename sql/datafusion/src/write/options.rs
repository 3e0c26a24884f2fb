//! Options of `COPY ... STORED AS OGIVE`.

use datafusion::common::plan_err;
use datafusion::error::{DataFusionError, Result};
use std::collections::HashMap;

/// The options of `COPY ... TO 'x.ogive' STORED AS OGIVE OPTIONS (key 'a,b', replace true)`, or to a store in place of
/// a table: `COPY ... TO 'shop' STORED AS OGIVE OPTIONS (keyspace 'orders', key 'id')`.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyOptions {
    /// The columns of the key; the first column without any.
    pub(super) key: Option<Vec<String>>,
    /// Whether a table of the same name is replaced.
    pub(super) replace: bool,
    /// The keyspace of a store that takes the rows.
    pub(super) keyspace: Option<String>,
}

impl CopyOptions {
    /// The options of these names and values.
    pub(super) fn of(options: &HashMap<String, String>) -> Result<Self> {
        let mut found = Self::default();
        for (name, value) in options {
            match name.trim_start_matches("format.") {
                "key" => found.key = Some(value.split(',').map(|column| column.trim().to_owned()).collect()),
                "keyspace" => found.keyspace = Some(value.clone()),
                "replace" => {
                    found.replace = value.parse().map_err(|_| {
                        DataFusionError::Plan(format!("the option 'replace' is true or false, not '{value}'"))
                    })?;
                }
                other => {
                    return plan_err!(
                        "Ogive tables have no option '{other}'; there are 'key', 'keyspace' and 'replace'"
                    );
                }
            }
        }
        Ok(found)
    }
}
