//! Bulk loading: groups are coded and nodes closed while leaves come in.

use super::choose;
use super::node::key_width;
use super::state::State;
use crate::error::Result;
use crate::index::router::{Gap, RouterBuilder};
use crate::index::word::Word;
use crate::io::Purpose;
use crate::page::{PageNumber, Transaction};
use ogive_model::inner::{Children, GROUP_CHILDREN_MAX, KeyWidth, NodeWriter, cut_groups, encode, plain_capacity};
use std::marker::PhantomData;

/// Where fewer children are left for a node, they are not tried in smaller parts.
const LEAST_PART: usize = 8;

/// Builds the levels of the tree, all at a time.
#[derive(Debug)]
pub(super) struct CodedBuilder<W> {
    /// The lowest level first.
    levels: Vec<Level>,
    room: usize,
    /// Entries that leaves so far hold beyond what the fill asks for.
    surplus: i64,
    word: PhantomData<W>,
}

/// The open node of one level.
#[derive(Debug)]
struct Level {
    writer: NodeWriter,
    /// What is in the node.
    taken: Children,
    /// What is to come in, or into the nodes that follow.
    waiting: Children,
    /// Whether the node takes its children plain, because coded it would hold fewer.
    plain: bool,
}

impl Level {
    fn new(level: u8, width: KeyWidth, room: usize) -> Self {
        let none = Children { level, ..Children::default() };
        Self { writer: NodeWriter::new(width, room), taken: none.clone(), waiting: none, plain: false }
    }

    /// Moves waiting children into the node; false where it is full.
    fn take(&mut self, width: KeyWidth, room: usize) -> bool {
        let most = plain_capacity(width, room);
        let mut part = GROUP_CHILDREN_MAX;
        while !self.waiting.separators.is_empty() {
            if self.plain {
                let count = (most - self.taken.separators.len()).min(self.waiting.separators.len());
                self.accept(count);
                return self.waiting.separators.is_empty();
            }
            let count = part.min(self.waiting.separators.len());
            let accepted = self.take_groups(count, width);
            self.accept(accepted);
            if accepted == count {
                continue;
            }
            if accepted == 0 && count > LEAST_PART {
                part = count / 2;
            } else if accepted == 0 && self.taken.separators.len() < most {
                self.plain = true;
            } else if accepted == 0 {
                return false;
            }
        }
        true
    }

    /// Codes the first `count` waiting children, and puts those groups in for which there is room; returns how many
    /// children they have.
    fn take_groups(&mut self, count: usize, width: KeyWidth) -> usize {
        let separators = self.waiting.separators.get(..count).unwrap_or(&[]);
        let pages = self.waiting.pages.get(..count).unwrap_or(&[]);
        let mut accepted = 0;
        for group in cut_groups(separators, pages, width) {
            let children = group.children;
            if !self.writer.push(group) {
                break;
            }
            accepted += children;
        }
        accepted
    }

    fn accept(&mut self, count: usize) {
        self.taken.separators.extend(self.waiting.separators.drain(..count));
        self.taken.pages.extend(self.waiting.pages.drain(..count));
    }

    /// The stored form of the node with its last child; the node that follows is begun.
    fn close(&mut self, last: Option<u32>, width: KeyWidth, room: usize) -> Vec<u8> {
        let next = Self::new(self.taken.level, width, room);
        let waiting = std::mem::take(&mut self.waiting);
        let mut closed = std::mem::replace(self, Self { waiting, ..next });
        if closed.plain {
            closed.taken.last = last;
            encode(&closed.taken, width, room).unwrap_or_default()
        } else {
            closed.writer.finish(closed.taken.level, last)
        }
    }
}

impl<W: Word> CodedBuilder<W> {
    /// For pages of so many bytes.
    pub(super) fn new(payload_bytes: usize) -> Self {
        // The first change of a node should not have to make room.
        Self { levels: Vec::new(), room: payload_bytes - payload_bytes / 32, surplus: 0, word: PhantomData }
    }

    fn push_at(&mut self, tx: &mut Transaction, level: usize, separator: u128, page: PageNumber) -> Result<()> {
        if level == self.levels.len() {
            self.levels.push(Level::new(level as u8, key_width::<W>(), self.room));
        }
        let Some(open) = self.levels.get_mut(level) else { return Ok(()) };
        open.waiting.separators.push(separator);
        open.waiting.pages.push(page);
        if open.waiting.separators.len() > GROUP_CHILDREN_MAX { self.fill(tx, level) } else { Ok(()) }
    }

    /// Puts the waiting children of a level into nodes.
    fn fill(&mut self, tx: &mut Transaction, level: usize) -> Result<()> {
        let (width, room) = (key_width::<W>(), self.room);
        while let Some(open) = self.levels.get_mut(level)
            && !open.take(width, room)
        {
            // The next child is the last one of the node: its separator goes up.
            let (separator, last) = (open.waiting.separators.remove(0), open.waiting.pages.remove(0));
            let bytes = open.close(Some(last), width, room);
            let page = write(tx, level, &bytes)?;
            self.push_at(tx, level + 1, separator, page)?;
        }
        Ok(())
    }
}

/// Writes a node into a page of its own. Its depth is known when the tree is: what counts is that it is an inner node.
fn write(tx: &mut Transaction, level: usize, bytes: &[u8]) -> Result<PageNumber> {
    let page = tx.allocate_extent(1)?;
    tx.write_fresh(page, Purpose::Inner(level as u8), bytes)?;
    Ok(page)
}

impl<W: Word> RouterBuilder<W> for CodedBuilder<W> {
    fn choose_end(&mut self, keys: &[W], least: usize, near: usize, most: usize) -> usize {
        let aim = (near as i64 - self.surplus).clamp(least as i64, most as i64) as usize;
        let end = choose::end(keys, least, aim, most);
        self.surplus += end as i64 - near as i64;
        end
    }

    fn push(&mut self, tx: &mut Transaction, gap: Gap<W>, leaf: PageNumber) -> Result<()> {
        self.push_at(tx, 0, choose::separator(gap), leaf)
    }

    fn finish(mut self: Box<Self>, tx: &mut Transaction) -> Result<Vec<u8>> {
        let mut last = None;
        let mut level = 0;
        while level < self.levels.len() {
            self.fill(tx, level)?;
            let top = level + 1 == self.levels.len();
            let Some(open) = self.levels.get_mut(level) else { break };
            if top && level > 0 && open.taken.separators.len() < State::most_children::<W>() {
                return Ok(State::of_top(Children { last, ..open.taken.clone() }).store::<W>());
            }
            let bytes = open.close(last, key_width::<W>(), self.room);
            last = Some(write(tx, level, &bytes)?);
            level += 1;
        }
        let state = last.map(|root| State::of_root(root, level as u8));
        Ok(state.unwrap_or_default().store::<W>())
    }
}
