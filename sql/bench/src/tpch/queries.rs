//! The 22 queries as text.

use crate::answer::Answer;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// A query of TPC-H.
#[derive(Clone, Copy, Debug)]
pub struct TpchQuery {
    /// Its number, from 1.
    pub number: u8,
    /// Its text, which DataFusion and DuckDB both take.
    pub sql: &'static str,
    /// DuckDB's answer at scale factor 0.01.
    pub answer: &'static str,
}

impl TpchQuery {
    /// Runs it.
    ///
    /// # Errors
    /// Those of DataFusion.
    pub async fn run(&self, context: &SessionContext) -> Result<Answer> {
        let frame = context.sql(self.sql).await?;
        let schema = Arc::clone(frame.schema().inner());
        Answer::of_batches(&schema, &frame.collect().await?)
    }
}

macro_rules! queries {
    ($($number:literal $name:literal),* $(,)?) => {
        [$(TpchQuery {
            number: $number,
            sql: include_str!(concat!("../../queries/", $name, ".sql")),
            answer: include_str!(concat!("../../answers/", $name, ".csv")),
        }),*]
    };
}

/// All queries.
pub const QUERIES: [TpchQuery; 22] = queries![
    1 "q01", 2 "q02", 3 "q03", 4 "q04", 5 "q05", 6 "q06",
    7 "q07", 8 "q08", 9 "q09", 10 "q10", 11 "q11", 12 "q12",
    13 "q13", 14 "q14", 15 "q15", 16 "q16", 17 "q17", 18 "q18",
    19 "q19", 20 "q20", 21 "q21", 22 "q22",
];
