//! ALEX model nodes rebuilt with more slots, so that a child with a single slot can be split sideways.

use super::build::write_plans;
use super::child::{Child, Kind};
use super::cost::Rules;
use super::inner::{Slots, write_model};
use super::line::Line;
use super::node::Links;
use super::plan::Plan;
use super::search::Step;
use super::split::{Border, Cut, halves, set_child};
use super::state::State;
use super::tree::Alex;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::Transaction;
use std::ops::Range;

/// Doublings at once, at most.
const MOST_DOUBLINGS: u32 = 4;

impl Alex {
    /// Splits a data node that has a single slot sideways, after each slot of the model node above became two, or more:
    /// as long as that costs no more pages, by weight, than another level costs the entries of the data node. False if
    /// it does, or does not divide them.
    pub(super) fn widen<W: Word>(
        &self,
        tx: &mut Transaction,
        rules: &Rules,
        state: &mut State<W>,
        path: &[Step<W>],
        (batch, links): (&Batch<W>, Links),
    ) -> Result<bool> {
        let [above @ .., step] = path else { return Ok(false) };
        let Some(parent) = above.last().filter(|parent| parent.node.kind == Kind::Model) else { return Ok(false) };
        let shape = &rules.shape;
        let run = Slots::new(tx, shape, &parent.node, parent.depth).run(step.place)?;
        let Some((wide, doublings, cut)) = find_cut(rules, parent, &run, &batch.keys) else { return Ok(false) };
        let Border::Slot(_, border) = cut.border else { return Ok(false) };
        tx.count("inner node widened");
        tx.count("data node split sideways");
        let mut children = Slots::new(tx, shape, &parent.node, parent.depth).runs()?;
        children.iter_mut().for_each(|(end, _)| *end <<= doublings);
        let plans = [
            Plan::Data { range: 0..cut.at, fit: cut.left },
            Plan::Data { range: cut.at..batch.keys.len(), fit: cut.right },
        ];
        let [left, right] = write_plans(tx, rules, batch, &plans, links, step.depth)?;
        let Some(place) = children.iter().position(|(_, child)| child.first == step.node.first) else {
            return Err(ogive::page::Pages::damaged(tx, parent.node.first, "an inner node has lost a child"));
        };
        let end = run.end << doublings;
        children.splice(place..=place, [(border, left), (end, right)]);
        let first = tx.allocate_extent(wide.pages(shape))?;
        let wide = Child { first, ..wide };
        write_model(tx, shape, &wide, parent.depth, &children)?;
        set_child(tx, rules, state, above, &wide)?;
        tx.free(parent.node.first, parent.node.pages(shape));
        Ok(true)
    }
}

/// The fewest doublings that divide the keys of a run of slots, and where.
fn find_cut<W: Word>(rules: &Rules, parent: &Step<W>, run: &Range<u32>, keys: &[W]) -> Option<(Child<W>, u32, Cut<W>)> {
    let middle = *keys.get(keys.len() / 2)?;
    let pages = parent.node.pages(&rules.shape);
    for doublings in 1..=MOST_DOUBLINGS {
        let bits = u32::from(parent.node.size) + doublings;
        // A power of two changes no digit of a normal number: each slot becomes some that together are the old one.
        let line = Line { slope: parent.node.line.slope * (1 << doublings) as f32, ..parent.node.line };
        let wide = Child::model(parent.node.first, bits, line);
        if bits > u32::from(rules.options.max_fanout_bits) || !line.slope.is_normal() {
            return None;
        }
        if rules.page_weight() * f64::from(wide.pages(&rules.shape) - pages) > keys.len() as f64 {
            return None;
        }
        let all = run.start << doublings..run.end << doublings;
        let cuts =
            [wide.slot(middle), wide.slot(middle) + 1].into_iter().filter(|slot| all.start < *slot && *slot < all.end);
        let cuts = cuts.map(|slot| (slot, keys.partition_point(|&key| wide.slot(key) < slot)));
        let best = cuts.min_by_key(|(_, at)| at.abs_diff(keys.len() / 2));
        let cut = best.and_then(|(slot, at)| halves(rules, keys, at, Border::Slot(all, slot)));
        if let Some(cut) = cut {
            return Some((wide, doublings, cut));
        }
    }
    None
}
