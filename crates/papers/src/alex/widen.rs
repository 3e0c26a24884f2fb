//! ALEX model nodes rebuilt with more slots, so that a child with one slot can be split sideways.

use super::build::write_plans;
use super::child::{AlexNodeKind, ChildPointer};
use super::cost::Planner;
use super::inner::{ModelSlots, write_model};
use super::line::AlexLine;
use super::node::NodeLinks;
use super::plan::Plan;
use super::search::AlexStep;
use super::split::{SplitBorder, SplitPlan, halves, set_child};
use super::state::AlexState;
use super::tree::Alex;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Transaction;
use std::ops::Range;

/// Most doublings at once.
const DOUBLINGS_MAX: u32 = 4;

impl Alex {
    /// Doubles the slots of the parent model node, once or more, and splits the data node sideways. False if the
    /// weighted pages cost more than another level for the entries of the data node, or if that does not divide them.
    pub(super) fn widen<W: Word>(
        &self,
        tx: &mut Transaction,
        planner: &Planner,
        state: &mut AlexState<W>,
        path: &[AlexStep<W>],
        (batch, links): (&Batch<W>, NodeLinks),
    ) -> Result<bool> {
        let [above @ .., step] = path else { return Ok(false) };
        let Some(parent) = above.last().filter(|parent| parent.node.kind == AlexNodeKind::Model) else {
            return Ok(false);
        };
        let shape = &planner.shape;
        let run = ModelSlots::new(tx, shape, &parent.node, parent.depth).run(step.index)?;
        let Some((wide, doublings, cut)) = find_cut(planner, parent, &run, &batch.keys) else { return Ok(false) };
        let SplitBorder::Slot(_, border) = cut.border else { return Ok(false) };
        tx.count("inner node widened");
        tx.count("data node split sideways");
        let mut children = ModelSlots::new(tx, shape, &parent.node, parent.depth).runs()?;
        children.iter_mut().for_each(|(end, _)| *end <<= doublings);
        let plans = [
            Plan::Data { range: 0..cut.at, fit: cut.left },
            Plan::Data { range: cut.at..batch.keys.len(), fit: cut.right },
        ];
        let [left, right] = write_plans(tx, planner, batch, &plans, links, step.depth)?;
        let Some(index) = children.iter().position(|(_, child)| child.first == step.node.first) else {
            return Err(ogive::page::Pages::damaged(tx, parent.node.first, "an inner node has lost a child"));
        };
        let end = run.end << doublings;
        children.splice(index..=index, [(border, left), (end, right)]);
        let first = tx.allocate_extent(wide.pages(shape))?;
        let wide = ChildPointer { first, ..wide };
        write_model(tx, shape, &wide, parent.depth, &children)?;
        set_child(tx, planner, state, above, &wide)?;
        tx.free(parent.node.first, parent.node.pages(shape));
        Ok(true)
    }
}

/// The fewest doublings that divide the keys of a run of slots, and the cut.
fn find_cut<W: Word>(
    planner: &Planner,
    parent: &AlexStep<W>,
    run: &Range<u32>,
    keys: &[W],
) -> Option<(ChildPointer<W>, u32, SplitPlan<W>)> {
    let middle = *keys.get(keys.len() / 2)?;
    let pages = parent.node.pages(&planner.shape);
    for doublings in 1..=DOUBLINGS_MAX {
        let bits = u32::from(parent.node.size) + doublings;
        // Scaling by a power of two is exact, so that each old slot is a union of new ones.
        let line = AlexLine { slope: parent.node.line.slope * (1 << doublings) as f32, ..parent.node.line };
        let wide = ChildPointer::model(parent.node.first, bits, line);
        if bits > u32::from(planner.options.max_fanout_bits) || !line.slope.is_normal() {
            return None;
        }
        if planner.page_weight() * f64::from(wide.pages(&planner.shape) - pages) > keys.len() as f64 {
            return None;
        }
        let all = run.start << doublings..run.end << doublings;
        let cuts =
            [wide.slot(middle), wide.slot(middle) + 1].into_iter().filter(|slot| all.start < *slot && *slot < all.end);
        let cuts = cuts.map(|slot| (slot, keys.partition_point(|&key| wide.slot(key) < slot)));
        let best = cuts.min_by_key(|(_, at)| at.abs_diff(keys.len() / 2));
        let cut = best.and_then(|(slot, at)| halves(planner, keys, at, SplitBorder::Slot(all, slot)));
        if let Some(cut) = cut {
            return Some((wide, doublings, cut));
        }
    }
    None
}
