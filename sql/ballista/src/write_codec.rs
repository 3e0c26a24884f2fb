//! Steps of statements that write rows, as messages. Their inputs travel by themselves.

use crate::allowed::Allowed;
use crate::codec::check_place;
use crate::error::PlanError;
use crate::message::{KeyRangesMessage, PlaceMessage, SampleMessage, StepMessage, TablesMessage};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use ogive_datafusion::{
    KeyRangesExec, PartsNode, PartsStep, SampleKeysExec, StagedNames, TablesPlace, WriteTablesExec,
};
use std::sync::Arc;

/// Most partitions that rows are exchanged to.
const PARTITIONS_MAX: u64 = 1 << 16;

/// A step of a logical plan.
pub(crate) fn step_message(node: &PartsNode) -> Result<StepMessage, PlanError> {
    let (cuts, place) = match node.step() {
        PartsStep::Sample => (Vec::new(), None),
        PartsStep::Write { cuts, place } => (cuts.clone(), Some(place_message(place)?)),
    };
    Ok(StepMessage { key: node.key().to_vec(), cuts, place })
}

/// The step of a message and its input.
pub(crate) fn step(message: StepMessage, inputs: &[LogicalPlan], allowed: &Allowed) -> Result<PartsNode> {
    let [input] = inputs else { return Err(one_input(inputs.len()).into()) };
    let StepMessage { key, cuts, place } = message;
    let step = match place {
        None => PartsStep::Sample,
        Some(place) => PartsStep::Write { cuts: ascending(cuts)?, place: place_of(place, allowed)? },
    };
    PartsNode::try_new(input.clone(), key, step)
}

pub(crate) fn sample_message(plan: &SampleKeysExec) -> SampleMessage {
    SampleMessage { key: plan.key().to_vec() }
}

pub(crate) fn sample(message: SampleMessage, input: Arc<dyn ExecutionPlan>) -> Result<SampleKeysExec> {
    SampleKeysExec::try_new(input, message.key)
}

pub(crate) fn ranges_message(plan: &KeyRangesExec) -> KeyRangesMessage {
    let (key, cuts) = (plan.key().to_vec(), plan.cuts().to_vec());
    KeyRangesMessage { key, cuts, partitions: plan.partitions() as u64 }
}

pub(crate) fn ranges(message: KeyRangesMessage, input: Arc<dyn ExecutionPlan>) -> Result<KeyRangesExec> {
    let KeyRangesMessage { key, cuts, partitions } = message;
    if partitions > PARTITIONS_MAX {
        return Err(PlanError::Damaged(format!("rows go to {partitions} partitions")).into());
    }
    KeyRangesExec::try_new(input, key, ascending(cuts)?, partitions as usize)
}

pub(crate) fn tables_message(plan: &WriteTablesExec) -> Result<TablesMessage, PlanError> {
    Ok(TablesMessage { key: plan.key().to_vec(), place: Some(place_message(plan.place())?) })
}

pub(crate) fn tables(
    message: TablesMessage,
    input: Arc<dyn ExecutionPlan>,
    allowed: &Allowed,
) -> Result<WriteTablesExec> {
    let place = message.place.ok_or_else(|| PlanError::Damaged("tables have no place".to_owned()))?;
    WriteTablesExec::try_new(input, message.key, place_of(place, allowed)?)
}

fn place_message(place: &TablesPlace) -> Result<PlaceMessage, PlanError> {
    check_place(&place.folder)?;
    let (name, is_final) = match &place.names {
        StagedNames::Prefix(prefix) => (prefix.clone(), false),
        StagedNames::Final(name) => (name.clone(), true),
    };
    let (folder, nullable) = (place.folder.clone(), place.nullable.clone());
    Ok(PlaceMessage { folder, name, is_final, is_single: place.is_single, nullable })
}

/// A place in which queries may write.
fn place_of(message: PlaceMessage, allowed: &Allowed) -> Result<TablesPlace, PlanError> {
    let PlaceMessage { folder, name, is_final, is_single, nullable } = message;
    allowed.check(&folder)?;
    if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(PlanError::Damaged(format!("'{name}' is no name of a table")));
    }
    let names = if is_final { StagedNames::Final(name) } else { StagedNames::Prefix(name) };
    Ok(TablesPlace { folder, names, is_single, nullable })
}

fn ascending(cuts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, PlanError> {
    match cuts.is_sorted() {
        true => Ok(cuts),
        false => Err(PlanError::Damaged("ranges of keys are not in order".to_owned())),
    }
}

fn one_input(found: usize) -> PlanError {
    PlanError::Damaged(format!("rows that are written come from {found} plans"))
}
