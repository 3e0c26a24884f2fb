//! The session that computes the reference answers of random queries.

use crate::answer::Answer;
use crate::session::{Limits, session};
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// A session of DataFusion that pushes no conditions down in physical plans. Version 55.2 finds their columns by name
/// there, so that a condition of one table lands at another with a column of the same name (apache/datafusion#25259).
///
/// # Errors
/// Those of DataFusion.
pub fn reference_session(limits: &Limits) -> Result<SessionContext> {
    let state = session(limits, &[])?.state();
    let rules = PhysicalOptimizer::new().rules.into_iter().filter(|rule| !rule.name().starts_with("FilterPushdown"));
    Ok(SessionContext::from(SessionStateBuilder::from(state).with_physical_optimizer_rules(rules.collect()).build()))
}

/// The rows of a query.
///
/// # Errors
/// Those of the engine.
pub async fn answer_of(context: &SessionContext, query: &str) -> Result<Answer> {
    let frame = context.sql(query).await?;
    let schema = Arc::clone(frame.schema().inner());
    Answer::of_batches(&schema, &frame.collect().await?)
}
