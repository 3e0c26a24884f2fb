//! The type in which the keys of both inputs of a join are compared, and that of the keys of its output.
//!
//! Keys are equal as numbers, whatever their types. One side keeps its keys, the other side's become keys of that type,
//! in their order, where it has exactly these values. Rows whose keys it does not have match nothing. The keys of the
//! output are of the left type, as all of them come from left rows; those of a full join are of a type that holds both.

use super::input::converted::ConvertedRelation;
use super::input::source::JoinSource;
use super::rows::form::RowForm;
use super::rows::options::JoinKind;
use super::rows::relation::{Relation, RelationFacts};
use super::unmatched::UnmatchedRows;
use crate::error::{Error, Result};
use crate::types::{KeyConversion, KeyType};
use std::sync::Arc;

/// The sides of a join with keys of one type.
pub(super) struct ComparedSides {
    pub(super) sides: [JoinSource; 2],
    /// The rows that match nothing, if the join returns them, and the keys of its output, if those are of another type.
    pub(super) unmatched: Option<UnmatchedRows>,
    /// The type of the keys of the output.
    pub(super) returned: KeyType,
}

/// A side whose keys are converted.
struct Converted {
    side: usize,
    conversion: Arc<KeyConversion>,
}

impl ComparedSides {
    /// The sides of a join of this kind.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for keys that cannot be compared, or that have no type in common though
    /// the join returns those of both sides.
    pub(super) fn of(left: &JoinSource, right: &JoinSource, kind: JoinKind) -> Result<Self> {
        let sources = [left, right];
        let facts = sources.map(|source| source.relation.facts());
        facts.iter().try_for_each(|facts| facts.key_type.check())?;
        let keys = facts.map(|facts| facts.key_type);
        let converted = converted(facts, kind, left.is_written() || right.is_written())?;
        let mut sides = sources.map(JoinSource::clone);
        if let Some(Converted { side, conversion }) = &converted {
            let relation = Arc::new(ConvertedRelation::new(&sides[*side].relation, conversion));
            sides[*side] = sides[*side].clone().with_keys(relation, conversion.to());
        }
        let compared = RowForm::new(kind, sides[0].relation.facts(), sides[1].relation.facts()).key_type;
        let returned = match (&converted, kind.keeps_unmatched_right()) {
            (Some(_), true) => keys[0].common(keys[1]).ok_or_else(|| no_common_type(facts))?,
            (Some(_), false) => keys[0],
            (None, _) => compared,
        };
        let kept = [kind.keeps_unmatched(), kind.keeps_unmatched_right()];
        let mut unmatched = [0, 1].map(|side| if kept[side] { sources[side].unmatched().to_vec() } else { Vec::new() });
        let returned = if unmatched.iter().all(Vec::is_empty) { returned } else { returned.with_nulls()? };
        if let Some(Converted { side, conversion }) = converted.filter(|converted| kept[converted.side]) {
            let rest = ConvertedRelation::rest(&sources[side].relation, &conversion);
            unmatched[side].extend(rest.map(|rest| Arc::new(rest) as Arc<dyn Relation>));
        }
        let is_written = left.is_written() || right.is_written();
        let conversion = KeyConversion::new(compared, returned, is_written);
        let as_returned = |relation: Arc<dyn Relation>| match relation.facts().key_type {
            own if own == returned => relation,
            own => {
                let conversion = Arc::new(KeyConversion::new(own, returned, is_written));
                Arc::new(ConvertedRelation::new(&relation, &conversion)) as Arc<dyn Relation>
            }
        };
        let is_other = compared != returned || unmatched.iter().any(|rows| !rows.is_empty());
        let unmatched = unmatched.map(|rows| rows.into_iter().map(as_returned).collect());
        let unmatched = is_other.then(|| UnmatchedRows::new(unmatched, conversion));
        Ok(Self { sides, unmatched, returned })
    }
}

/// The side whose keys are converted to the type of the other's, if they are of another type. Keys of type bytes, of
/// any or of a fixed width, or text match any type.
fn converted(facts: [&RelationFacts; 2], kind: JoinKind, is_written: bool) -> Result<Option<Converted>> {
    let keys = facts.map(|facts| facts.key_type);
    let is_open = |key_type: &KeyType| matches!(key_type, KeyType::Bytes | KeyType::FixedBytes(_) | KeyType::Text);
    if keys[0] == keys[1] || keys.iter().any(is_open) {
        return Ok(None);
    }
    if !keys[0].is_comparable(keys[1]) {
        return Err(Error::input(format!(
            "keys of type {} in {} cannot be joined with keys of type {} in {}; rebuild one of them with the other's \
             type",
            keys[0], facts[0].name, keys[1], facts[1].name
        )));
    }
    let holds = [keys[0].holds_keys(keys[1]), keys[1].holds_keys(keys[0])];
    let side = match facts.map(|facts| facts.is_sorted) {
        // The order of the output is that of the left keys.
        _ if !keys[0].keeps_order_of(keys[1]) => 1,
        // What is sorted can be looked up in while its keys are its own.
        [false, true] => 0,
        [true, false] => 1,
        [true, true] => usize::from(facts[0].rows >= facts[1].rows),
        // Each row of the output would be converted back.
        [false, false] if !kind.keeps_unmatched_right() => 1,
        [false, false] => usize::from(holds[0] || !holds[1]),
    };
    let conversion = Arc::new(KeyConversion::new(keys[side], keys[1 - side], is_written));
    Ok(Some(Converted { side, conversion }))
}

fn no_common_type([left, right]: [&RelationFacts; 2]) -> Error {
    Error::input(format!(
        "the keys of a full join are those of both inputs, and no type holds all keys of type {} in {} and of type {} \
         in {}; join them twice instead: as a left join, and as an anti join with the inputs exchanged",
        left.key_type, left.name, right.key_type, right.name
    ))
}
