//! Writes of ALEX nodes from plans.

use super::child::ChildPointer;
use super::cost::Planner;
use super::inner::{write_model, write_plain};
use super::node::{NodeLinks, relink, write_node};
use super::plan::NodePlan;
use crate::kinds::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Transaction};

/// Writes the nodes of plans, in order, between two data nodes. Allocates all data nodes first, then writes each, then
/// the inner nodes above them. Therefore data nodes and inner nodes are in separate extents, and links are written
/// once.
pub(super) fn write_plans<W: Word, const N: usize>(
    tx: &mut Transaction,
    planner: &Planner,
    batch: &Batch<W>,
    plans: &[NodePlan<W>; N],
    links: NodeLinks,
    depth: u8,
) -> Result<[ChildPointer<W>; N]> {
    let mut room = Vec::new();
    plans.iter().try_for_each(|plan| allocate(tx, plan, &mut room))?;
    if let (Some(&(first, _)), Some(&(last, pages))) = (room.first(), room.last()) {
        relink(tx, links, first, last + pages - 1)?;
    }
    let mut writer = PlanWriter { planner, batch, room, links, written: 0 };
    let mut roots = [ChildPointer::plain(0); N];
    for (root, plan) in roots.iter_mut().zip(plans) {
        *root = writer.write(tx, plan, depth)?;
    }
    Ok(roots)
}

fn allocate<W: Word>(tx: &mut Transaction, plan: &NodePlan<W>, room: &mut Vec<(PageNumber, u32)>) -> Result<()> {
    match plan {
        NodePlan::Data { fit, .. } => {
            let pages = fit.ends.len() as u32;
            room.push((tx.allocate_extent(pages)?, pages));
        }
        NodePlan::Model { runs, .. } => runs.iter().try_for_each(|(_, plan)| allocate(tx, plan, room))?,
        NodePlan::Plain { children } => children.iter().try_for_each(|(_, plan)| allocate(tx, plan, room))?,
    }
    Ok(())
}

struct PlanWriter<'a, W> {
    planner: &'a Planner,
    batch: &'a Batch<W>,
    /// The extent of each data node, in order.
    room: Vec<(PageNumber, u32)>,
    links: NodeLinks,
    written: usize,
}

impl<W: Word> PlanWriter<'_, W> {
    fn write(&mut self, tx: &mut Transaction, plan: &NodePlan<W>, depth: u8) -> Result<ChildPointer<W>> {
        let shape = &self.planner.shape;
        match plan {
            NodePlan::Data { range, fit } => {
                let (first, pages) = self.room.get(self.written).copied().unwrap_or_default();
                let before = self.written.checked_sub(1).and_then(|node| self.room.get(node));
                let after = self.room.get(self.written + 1);
                let links = NodeLinks {
                    previous: before.map_or(self.links.previous, |&(first, pages)| first + pages - 1),
                    next: after.map_or(self.links.next, |&(first, _)| first),
                };
                self.written += 1;
                let node = ChildPointer::data(first, pages, fit.line);
                write_node(tx, self.planner, &node, links, fit, (self.batch, range.clone()))?;
                Ok(node)
            }
            NodePlan::Model { bits, line, runs } => {
                let children: Result<Vec<_>> =
                    runs.iter().map(|(end, plan)| Ok((*end, self.write(tx, plan, depth + 1)?))).collect();
                let first = tx.allocate_extent(shape.model_pages(1 << bits))?;
                let node = ChildPointer::model(first, *bits, *line);
                write_model(tx, shape, &node, depth, &children?)?;
                Ok(node)
            }
            NodePlan::Plain { children } => {
                let children: Result<Vec<_>> =
                    children.iter().map(|(least, plan)| Ok((*least, self.write(tx, plan, depth + 1)?))).collect();
                write_plain(tx, shape, depth, &children?)
            }
        }
    }
}
