//! ALEX nodes written from plans, and bulk loads.

use super::child::Child;
use super::cost::Rules;
use super::inner::{write_model, write_plain};
use super::node::{Links, relink, write_node};
use super::plan::Plan;
use crate::batch::Batch;
use ogive::Result;
use ogive::index::extend::Word;
use ogive::page::{PageNumber, Transaction};

/// Writes the nodes of plans, in order, between two data nodes: first room for all data nodes, then each, then what is
/// above them. So data nodes and inner nodes lie in areas of their own, and the links need no second visit.
pub(super) fn write_plans<W: Word, const N: usize>(
    tx: &mut Transaction,
    rules: &Rules,
    batch: &Batch<W>,
    plans: &[Plan<W>; N],
    links: Links,
    depth: u8,
) -> Result<[Child<W>; N]> {
    let mut room = Vec::new();
    plans.iter().try_for_each(|plan| allocate(tx, plan, &mut room))?;
    if let (Some(&(first, _)), Some(&(last, pages))) = (room.first(), room.last()) {
        relink(tx, links, first, last + pages - 1)?;
    }
    let mut writer = Writer { rules, batch, room, links, written: 0 };
    let mut roots = [Child::plain(0); N];
    for (root, plan) in roots.iter_mut().zip(plans) {
        *root = writer.write(tx, plan, depth)?;
    }
    Ok(roots)
}

fn allocate<W: Word>(tx: &mut Transaction, plan: &Plan<W>, room: &mut Vec<(PageNumber, u32)>) -> Result<()> {
    match plan {
        Plan::Data { fit, .. } => {
            let pages = fit.ends.len() as u32;
            room.push((tx.allocate_extent(pages)?, pages));
        }
        Plan::Model { runs, .. } => runs.iter().try_for_each(|(_, plan)| allocate(tx, plan, room))?,
        Plan::Plain { children } => children.iter().try_for_each(|(_, plan)| allocate(tx, plan, room))?,
    }
    Ok(())
}

struct Writer<'a, W> {
    rules: &'a Rules,
    batch: &'a Batch<W>,
    /// First page and pages of each data node, in order.
    room: Vec<(PageNumber, u32)>,
    links: Links,
    written: usize,
}

impl<W: Word> Writer<'_, W> {
    fn write(&mut self, tx: &mut Transaction, plan: &Plan<W>, depth: u8) -> Result<Child<W>> {
        let shape = &self.rules.shape;
        match plan {
            Plan::Data { range, fit } => {
                let (first, pages) = self.room.get(self.written).copied().unwrap_or_default();
                let before = self.written.checked_sub(1).and_then(|node| self.room.get(node));
                let behind = self.room.get(self.written + 1);
                let links = Links {
                    previous: before.map_or(self.links.previous, |&(first, pages)| first + pages - 1),
                    next: behind.map_or(self.links.next, |&(first, _)| first),
                };
                self.written += 1;
                let node = Child::data(first, pages, fit.line);
                write_node(tx, self.rules, &node, links, fit, (self.batch, range.clone()))?;
                Ok(node)
            }
            Plan::Model { bits, line, runs } => {
                let children: Result<Vec<_>> =
                    runs.iter().map(|(end, plan)| Ok((*end, self.write(tx, plan, depth + 1)?))).collect();
                let first = tx.allocate_extent(shape.model_pages(1 << bits))?;
                let node = Child::model(first, *bits, *line);
                write_model(tx, shape, &node, depth, &children?)?;
                Ok(node)
            }
            Plan::Plain { children } => {
                let children: Result<Vec<_>> =
                    children.iter().map(|(least, plan)| Ok((*least, self.write(tx, plan, depth + 1)?))).collect();
                write_plain(tx, shape, depth, &children?)
            }
        }
    }
}
