//! Limits on the size of plans and of the messages that carry them.

use async_trait::async_trait;
use ballista_core::extension::SessionConfigExt;
use datafusion::catalog::Session;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::AsLogicalPlan;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use prost::Message;
use std::sync::Arc;

/// Most bytes of a plan. Where a message with tasks is too large for an executor, a scheduler of Ballista 55 takes the
/// executor for dead, one after the other, and all queries wait.
const PLAN_BYTES_MAX: usize = 16 << 20;
/// Bytes of what is sent with a logical plan, such as the settings of the session: more than there are.
const LOGICAL_HEADER_BYTES: usize = 256 << 10;
/// Most bytes of a message with tasks: it may have the stages of several queries.
pub(crate) const TASK_MESSAGE_BYTES_MAX: u32 = 256 << 20;

/// Refuses plans that are too large for a message.
#[derive(Debug)]
pub(crate) struct SizedPlanner {
    pub(crate) planner: Arc<dyn QueryPlanner + Send + Sync>,
}

#[async_trait]
impl QueryPlanner for SizedPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.planner.create_physical_plan(plan, session).await?;
        let codec = session.config().ballista_physical_extension_codec();
        // One that does not travel at all has an error of its own later.
        if let Ok(message) = PhysicalPlanNode::try_from_physical_plan(plan.clone(), codec.as_ref()) {
            check(message.encoded_len())?;
        }
        Ok(plan)
    }
}

/// Fails if the message of a plan is too large for a scheduler.
pub(crate) fn check_logical(plan: &LogicalPlan, session: &dyn Session) -> Result<()> {
    let codec = session.config().ballista_logical_extension_codec();
    // A plan that does not travel has an error of its own later.
    match LogicalPlanNode::try_from_logical_plan(plan, codec.as_ref()) {
        Ok(message) => check(message.encoded_len() + LOGICAL_HEADER_BYTES),
        Err(_) => Ok(()),
    }
}

fn check(bytes: usize) -> Result<()> {
    if bytes <= PLAN_BYTES_MAX {
        return Ok(());
    }
    plan_err!(
        "the plan of the query has {} MiB, and at most {} MiB travel in a cluster; write its constants to a table or a \
         Parquet file, and join that",
        bytes.div_ceil(1 << 20),
        PLAN_BYTES_MAX >> 20
    )
}
