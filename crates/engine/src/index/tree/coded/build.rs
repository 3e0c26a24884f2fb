//! Bulk load: codes groups and writes nodes while leaves stream in.

use super::choose;
use super::node::key_width;
use super::state::CodedState;
use crate::error::Result;
use crate::index::entries::word::Word;
use crate::index::tree::router::{Gap, RouterBuilder};
use crate::io::Purpose;
use crate::page::{PageNumber, Transaction};
use ogive_model::inner::{Children, GROUP_CHILDREN_MAX, KeyWidth, NodeWriter, cut_groups, encode, plain_capacity};
use std::marker::PhantomData;

/// Children are added in parts of at least this many; fewer are not tried in smaller parts.
const PART_CHILDREN_MIN: usize = 8;

/// Builder of all levels of the tree at once.
#[derive(Debug)]
pub(super) struct CodedBuilder<W> {
    /// The lowest level first.
    levels: Vec<LevelBuilder>,
    room: usize,
    /// Number of entries in the leaves so far, minus the number that their fill asks for.
    surplus: i64,
    word: PhantomData<W>,
}

/// The open node of one level.
#[derive(Debug)]
struct LevelBuilder {
    writer: NodeWriter,
    /// The children in the node.
    taken: Children,
    /// The children for this node or the next ones.
    waiting: Children,
    /// Whether the node is plain, because it would hold fewer children coded.
    plain: bool,
}

impl LevelBuilder {
    fn new(level: u8, width: KeyWidth, room: usize) -> Self {
        let none = Children { level, ..Children::default() };
        Self { writer: NodeWriter::new(width, room), taken: none.clone(), waiting: none, plain: false }
    }

    /// Moves waiting children into the node; false if it is full.
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
            if accepted == 0 && count > PART_CHILDREN_MIN {
                part = count / 2;
            } else if accepted == 0 && self.taken.separators.len() < most {
                self.plain = true;
            } else if accepted == 0 {
                return false;
            }
        }
        true
    }

    /// Codes the first `count` waiting children, adds the groups that fit, and returns the number of their children.
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

    /// The stored form of the node with its last child; starts the next node.
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
    /// Builds nodes for pages of `payload_bytes` bytes.
    pub(super) fn new(payload_bytes: usize) -> Self {
        // Leaves room for the first change of a node.
        Self { levels: Vec::new(), room: payload_bytes - payload_bytes / 32, surplus: 0, word: PhantomData }
    }

    fn push_at(&mut self, tx: &mut Transaction, level: usize, separator: u128, page: PageNumber) -> Result<()> {
        if level == self.levels.len() {
            self.levels.push(LevelBuilder::new(level as u8, key_width::<W>(), self.room));
        }
        let Some(open) = self.levels.get_mut(level) else { return Ok(()) };
        open.waiting.separators.push(separator);
        open.waiting.pages.push(page);
        if open.waiting.separators.len() > GROUP_CHILDREN_MAX { self.fill(tx, level) } else { Ok(()) }
    }

    /// Moves the waiting children of a level into nodes.
    fn fill(&mut self, tx: &mut Transaction, level: usize) -> Result<()> {
        let (width, room) = (key_width::<W>(), self.room);
        while let Some(open) = self.levels.get_mut(level)
            && !open.take(width, room)
        {
            // The next child is the last one of the node: its separator moves to the level above.
            let (separator, last) = (open.waiting.separators.remove(0), open.waiting.pages.remove(0));
            let bytes = open.close(Some(last), width, room);
            let page = write(tx, level, &bytes)?;
            self.push_at(tx, level + 1, separator, page)?;
        }
        Ok(())
    }
}

/// Writes a node to a new page. Its depth is not known yet; the purpose only says that it is an inner node.
fn write(tx: &mut Transaction, level: usize, bytes: &[u8]) -> Result<PageNumber> {
    let page = tx.allocate_extent(1)?;
    tx.write_fresh(page, Purpose::Inner(level as u8), bytes)?;
    Ok(page)
}

impl<W: Word> RouterBuilder<W> for CodedBuilder<W> {
    fn choose_end(&mut self, keys: &[W], least: usize, near: usize, most: usize) -> usize {
        let target = (near as i64 - self.surplus).clamp(least as i64, most as i64) as usize;
        let end = choose::end(keys, least, target, most);
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
            if top && level > 0 && open.taken.separators.len() < CodedState::children_max::<W>() {
                return Ok(CodedState::of_top(Children { last, ..open.taken.clone() }).store::<W>());
            }
            let bytes = open.close(last, key_width::<W>(), self.room);
            last = Some(write(tx, level, &bytes)?);
            level += 1;
        }
        let state = last.map(|root| CodedState::of_root(root, level as u8));
        Ok(state.unwrap_or_default().store::<W>())
    }
}
