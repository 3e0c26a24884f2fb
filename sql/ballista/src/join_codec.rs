//! Joins by key as messages. Their inputs are encoded separately.

use crate::error::PlanError;
use crate::message::{KeyJoinMessage, LookUpMessage};
use datafusion::common::{JoinType, NullEquality};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, Join, JoinConstraint, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::logical_plan::from_proto::parse_expr;
use datafusion_proto::logical_plan::to_proto::serialize_expr;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf;
use ogive_datafusion::{KeyJoinNode, LookUpJoinExec};
use prost::Message;
use std::sync::Arc;

/// A join of a logical plan, without its inputs.
pub(crate) fn key_join_message(node: &KeyJoinNode, codec: &dyn LogicalExtensionCodec) -> Result<KeyJoinMessage> {
    let join = node.join();
    let encoded = |expr: &Expr| Ok(serialize_expr(expr, codec)?.encode_to_vec());
    Ok(KeyJoinMessage {
        left_on: join.on.iter().map(|(left, _)| encoded(left)).collect::<Result<_>>()?,
        right_on: join.on.iter().map(|(_, right)| encoded(right)).collect::<Result<_>>()?,
        filter: join.filter.as_ref().map(encoded).transpose()?,
        join_type: protobuf::JoinType::from(join.join_type) as i32,
        nulls_are_equal: join.null_equality == NullEquality::NullEqualsNull,
    })
}

/// The join of a message and its inputs.
pub(crate) fn key_join(
    message: &KeyJoinMessage,
    inputs: &[LogicalPlan],
    ctx: &TaskContext,
    codec: &dyn LogicalExtensionCodec,
) -> Result<KeyJoinNode> {
    let [left, right] = inputs else { return Err(two_inputs(inputs.len()).into()) };
    let decoded = |bytes: &Vec<u8>| -> Result<Expr> {
        let node = protobuf::LogicalExprNode::decode(&bytes[..]).map_err(damaged)?;
        Ok(parse_expr(&node, ctx, codec)?)
    };
    if message.left_on.is_empty() || message.left_on.len() != message.right_on.len() {
        return Err(PlanError::Damaged("a join has no columns, or half of a pair".to_owned()).into());
    }
    let pairs = message.left_on.iter().zip(&message.right_on);
    let on = pairs.map(|(left, right)| Ok((decoded(left)?, decoded(right)?))).collect::<Result<Vec<_>>>()?;
    for (expr, input) in on.iter().flat_map(|(one, other)| [(one, left), (other, right)]) {
        for column in expr.column_refs() {
            input.schema().index_of_column(column)?;
        }
    }
    let join_type = protobuf::JoinType::try_from(message.join_type).map_err(damaged)?;
    let nulls = match message.nulls_are_equal {
        true => NullEquality::NullEqualsNull,
        false => NullEquality::NullEqualsNothing,
    };
    let join = Join::try_new(
        Arc::new(left.clone()),
        Arc::new(right.clone()),
        on,
        message.filter.as_ref().map(decoded).transpose()?,
        JoinType::from(join_type),
        JoinConstraint::On,
        nulls,
        false,
    );
    Ok(KeyJoinNode::new(join?))
}

/// A join of a physical plan as a message: as DataFusion's own join, which has the same parts, with no rows that pass.
pub(crate) fn look_up_message(
    join: &LookUpJoinExec,
    codec: &dyn PhysicalExtensionCodec,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<LookUpMessage> {
    let stream: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(join.stream().schema()));
    let (left, right) = sides(join.looks_left(), stream, join.keyed().clone());
    let parts: Arc<dyn ExecutionPlan> = Arc::new(HashJoinExec::try_new(
        left,
        right,
        join.on().clone(),
        join.filter().cloned(),
        &join.join_type(),
        None,
        PartitionMode::CollectLeft,
        NullEquality::NullEqualsNothing,
        false,
    )?);
    let parts = converter.execution_plan_to_proto(&parts, codec)?;
    Ok(LookUpMessage { join: parts.encode_to_vec(), looks_left: join.looks_left() })
}

/// The left and the right input.
fn sides<T>(looks_left: bool, stream: T, keyed: T) -> (T, T) {
    if looks_left { (keyed, stream) } else { (stream, keyed) }
}

/// The join of a message and its input.
pub(crate) fn look_up(
    message: &LookUpMessage,
    inputs: &[Arc<dyn ExecutionPlan>],
    ctx: &PhysicalPlanDecodeContext<'_>,
    converter: &dyn PhysicalProtoConverterExtension,
) -> Result<LookUpJoinExec> {
    let [stream] = inputs else {
        return Err(PlanError::Damaged(format!("a join that looks keys up has {} inputs", inputs.len())).into());
    };
    let parts = protobuf::PhysicalPlanNode::decode(&message.join[..]).map_err(damaged)?;
    let parts = converter.proto_to_execution_plan(&parts, ctx)?;
    let join = parts.downcast_ref::<HashJoinExec>();
    let join = join.ok_or_else(|| PlanError::Damaged("a join by key is another operator".to_owned()))?;
    let (of_stream, keyed) = if message.looks_left { (join.right(), join.left()) } else { (join.left(), join.right()) };
    if of_stream.schema() != stream.schema() {
        return Err(PlanError::Damaged("a join is of other columns than its input has".to_owned()).into());
    }
    let (left, right) = sides(message.looks_left, stream.clone(), keyed.clone());
    let (on, filter) = (join.on().to_vec(), join.filter().cloned());
    LookUpJoinExec::try_new(left, right, on, filter, *join.join_type(), message.looks_left)
}

fn damaged(error: impl std::fmt::Display) -> PlanError {
    PlanError::Damaged(error.to_string())
}

fn two_inputs(found: usize) -> PlanError {
    PlanError::Damaged(format!("a join has {found} inputs"))
}
