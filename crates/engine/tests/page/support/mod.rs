//! A plain model of a page file, and random operations on both.

#![allow(dead_code, reason = "each test uses its part")]

use ogive::Result;
use ogive::io::Purpose;
use ogive::page::{PageFile, PageNumber, PageOptions, PageSnapshot, Pages, Transaction};
use ogive_testkit::Random;
use std::collections::BTreeMap;

/// The state after a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) pages: BTreeMap<PageNumber, Vec<u8>>,
    pub(crate) state: Vec<u8>,
}

impl Model {
    /// The claimed pages as runs.
    pub(crate) fn claimed(&self) -> Vec<(PageNumber, u32)> {
        self.pages.keys().map(|&page| (page, 1)).collect()
    }

    /// Whether a view has exactly these pages.
    pub(crate) fn check(&self, pages: &dyn Pages, state: &[u8]) -> std::result::Result<(), String> {
        if state != self.state {
            return Err(format!("state {state:?} instead of {:?}", self.state));
        }
        for (&page, expected) in &self.pages {
            let found = pages.read(page, Purpose::Leaf).map_err(|error| error.to_string())?;
            if *found != expected[..] {
                return Err(format!("page {page} is not what was committed"));
            }
        }
        let numbers: Vec<PageNumber> = self.pages.keys().rev().copied().collect();
        let many = pages.read_many(&numbers, Purpose::Inner(1)).map_err(|error| error.to_string())?;
        if !numbers.iter().zip(&many).all(|(number, page)| **page == self.pages[number][..])
            || many.len() != numbers.len()
        {
            return Err("pages read together are not those read alone".to_owned());
        }
        Ok(())
    }

    pub(crate) fn check_snapshot(&self, snapshot: &PageSnapshot) -> std::result::Result<(), String> {
        self.check(snapshot, snapshot.state())
    }
}

pub(crate) fn options(page_bytes: usize) -> PageOptions {
    let mut options = PageOptions::default();
    options.page_bytes = page_bytes;
    options
}

fn bytes(random: &mut Random, most: usize) -> Vec<u8> {
    let length = random.below(most as u64 + 1) as usize;
    let plain = random.one_in(2);
    (0..length).map(|_| if plain { 7 } else { random.next_u64() as u8 }).collect()
}

/// One random change, made in the transaction and in the model.
pub(crate) fn change(tx: &mut Transaction, model: &mut Model, random: &mut Random) -> Result<()> {
    let payload = tx.payload_bytes();
    let some = |random: &mut Random, model: &Model| {
        let index = random.below(model.pages.len() as u64) as usize;
        model.pages.keys().nth(index).copied()
    };
    match random.below(12) {
        0 | 1 => {
            let page = tx.allocate()?;
            assert!(model.pages.insert(page, vec![0; payload]).is_none(), "page {page} was in use");
        }
        2 => {
            let pages = 1 + random.below(6) as u32;
            let first = tx.allocate_extent(pages)?;
            for page in first..first + pages {
                let mut content = bytes(random, payload);
                tx.write_fresh(page, Purpose::Leaf, &content)?;
                content.resize(payload, 0);
                assert!(model.pages.insert(page, content).is_none(), "page {page} was in use");
            }
        }
        3 => {
            if let Some(page) = some(random, model) {
                model.pages.remove(&page);
                tx.free(page, 1);
            }
        }
        4 => {
            model.state = bytes(random, 200);
            tx.set_state(&model.state);
        }
        5 => tx.begin_operation(),
        _ => {
            if let Some(page) = some(random, model) {
                let purpose = if random.one_in(3) { Purpose::Inner(random.below(4) as u8) } else { Purpose::Leaf };
                let content = model.pages.get_mut(&page).unwrap();
                let mut edit = tx.edit(page, purpose)?;
                assert_eq!(*edit, content[..]);
                for _ in 0..random.below(5) {
                    let offset = random.below(payload as u64) as usize;
                    if random.one_in(3) {
                        let length = random.below((payload - offset) as u64) as usize;
                        let to = random.below((payload - length) as u64 + 1) as usize;
                        edit.shift(offset..offset + length, to);
                        content.copy_within(offset..offset + length, to);
                    } else {
                        let new = bytes(random, (payload - offset).min(40));
                        edit.write(offset, &new);
                        content[offset..offset + new.len()].copy_from_slice(&new);
                    }
                }
            }
        }
    }
    Ok(())
}

/// A transaction of random changes; returns the model after it.
pub(crate) fn transact(file: &PageFile, model: &Model, random: &mut Random, changes: u64) -> Result<Model> {
    let mut tx = file.begin()?;
    let mut after = model.clone();
    for _ in 0..changes {
        change(&mut tx, &mut after, random)?;
    }
    tx.commit()?;
    Ok(after)
}
