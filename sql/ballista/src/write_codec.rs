//! Steps of statements that write rows, as messages. Their inputs are encoded separately.

use crate::allowed::Allowed;
use crate::codec::check_place;
use crate::error::PlanError;
use crate::message::{KeyRangesMessage, PlaceMessage, SampleMessage, StepMessage, TablesMessage};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use ogive::types::RecordType;
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
    Ok(StepMessage { types: node.types().code(), cuts, place })
}

/// The step of a message and its input.
pub(crate) fn step(message: StepMessage, inputs: &[LogicalPlan], allowed: &Allowed) -> Result<PartsNode> {
    let [input] = inputs else { return Err(one_input(inputs.len()).into()) };
    let StepMessage { types, cuts, place } = message;
    let step = match place {
        None => PartsStep::Sample,
        Some(place) => PartsStep::Write { cuts: ascending(cuts)?, place: place_of(place, allowed)? },
    };
    PartsNode::try_new(input.clone(), types_of(&types)?, step)
}

pub(crate) fn sample_message(plan: &SampleKeysExec) -> SampleMessage {
    SampleMessage { types: plan.types().code() }
}

pub(crate) fn sample(message: SampleMessage, input: Arc<dyn ExecutionPlan>) -> Result<SampleKeysExec> {
    SampleKeysExec::try_new(input, types_of(&message.types)?)
}

pub(crate) fn ranges_message(plan: &KeyRangesExec) -> KeyRangesMessage {
    let (types, cuts) = (plan.types().code(), plan.cuts().to_vec());
    KeyRangesMessage { types, cuts, partitions: plan.partitions() as u64 }
}

pub(crate) fn ranges(message: KeyRangesMessage, input: Arc<dyn ExecutionPlan>) -> Result<KeyRangesExec> {
    let KeyRangesMessage { types, cuts, partitions } = message;
    if partitions > PARTITIONS_MAX {
        return Err(PlanError::Damaged(format!("rows go to {partitions} partitions")).into());
    }
    KeyRangesExec::try_new(input, types_of(&types)?, ascending(cuts)?, partitions as usize)
}

pub(crate) fn tables_message(plan: &WriteTablesExec) -> Result<TablesMessage, PlanError> {
    Ok(TablesMessage { types: plan.types().code(), place: Some(place_message(plan.place())?) })
}

pub(crate) fn tables(
    message: TablesMessage,
    input: Arc<dyn ExecutionPlan>,
    allowed: &Allowed,
) -> Result<WriteTablesExec> {
    let place = message.place.ok_or_else(|| PlanError::Damaged("tables have no place".to_owned()))?;
    WriteTablesExec::try_new(input, &types_of(&message.types)?, place_of(place, allowed)?)
}

fn place_message(place: &TablesPlace) -> Result<PlaceMessage, PlanError> {
    check_place(&place.folder)?;
    let (name, is_final) = match &place.names {
        StagedNames::Prefix(prefix) => (prefix.clone(), false),
        StagedNames::Final(name) => (name.clone(), true),
    };
    Ok(PlaceMessage { folder: place.folder.clone(), name, is_final, is_single: place.is_single })
}

/// A place in which queries may write.
fn place_of(message: PlaceMessage, allowed: &Allowed) -> Result<TablesPlace, PlanError> {
    let PlaceMessage { folder, name, is_final, is_single } = message;
    allowed.check(&folder)?;
    if name.is_empty() || name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(PlanError::Damaged(format!("'{name}' is no name of a table")));
    }
    let names = if is_final { StagedNames::Final(name) } else { StagedNames::Prefix(name) };
    Ok(TablesPlace { folder, names, is_single })
}

/// The types of records of a code.
pub(crate) fn types_of(code: &[u8]) -> Result<RecordType, PlanError> {
    RecordType::from_code(code).ok_or_else(|| PlanError::Damaged("it has records of unknown types".to_owned()))
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
