//! ALEX model nodes rebuilt with more slots, so that a child with one slot can be split sideways.

use super::build::write_plans;
use super::change::AlexChange;
use super::child::{AlexNodeKind, ChildPointer};
use super::cost::Planner;
use super::inner::{ModelSlots, write_model};
use super::line::AlexLine;
use super::plan::NodePlan;
use super::search::AlexStep;
use super::split::{NodeContents, SplitBorder, SplitPlan, halves};
use ogive::Result;
use ogive::index::extend::Word;
use std::ops::Range;

/// Most doublings at once.
const DOUBLINGS_MAX: u32 = 4;

impl<W: Word> AlexChange<'_, W> {
    /// Doubles the slots of the parent model node, once or more, and splits the data node sideways. False if the
    /// weighted pages cost more than another level for the entries of the data node, or if that does not divide them.
    pub(super) fn widen(&mut self, (batch, links): NodeContents<'_, W>) -> Result<bool> {
        let [above @ .., step] = self.path else { return Ok(false) };
        let Some(parent) = above.last().filter(|parent| parent.node.kind == AlexNodeKind::Model) else {
            return Ok(false);
        };
        let shape = &self.planner.shape;
        let run = ModelSlots::new(self.tx, shape, &parent.node, parent.depth).run(step.index)?;
        let Some((wide, doublings, cut)) = find_cut(self.planner, parent, &run, &batch.keys) else { return Ok(false) };
        let SplitBorder::Slot(_, border) = cut.border else { return Ok(false) };
        self.tx.count("inner node widened");
        self.tx.count("data node split sideways");
        let mut children = ModelSlots::new(self.tx, shape, &parent.node, parent.depth).runs()?;
        children.iter_mut().for_each(|(end, _)| *end <<= doublings);
        let plans = [
            NodePlan::Data { range: 0..cut.at, fit: cut.left },
            NodePlan::Data { range: cut.at..batch.keys.len(), fit: cut.right },
        ];
        let [left, right] = write_plans(self.tx, self.planner, batch, &plans, links, step.depth)?;
        let Some(index) = children.iter().position(|(_, child)| child.first == step.node.first) else {
            return Err(ogive::page::Pages::damaged(self.tx, parent.node.first, "an inner node has lost a child"));
        };
        let end = run.end << doublings;
        children.splice(index..=index, [(border, left), (end, right)]);
        let first = self.tx.allocate_extent(wide.pages(shape))?;
        let wide = ChildPointer { first, ..wide };
        write_model(self.tx, shape, &wide, parent.depth, &children)?;
        self.at(above).set_child(&wide)?;
        self.tx.free(parent.node.first, parent.node.pages(shape));
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
