//! Damaged pages and states with valid checksums: any answer or error is accepted, a panic or an endless loop is not.

use super::counted_pages::CountedPages;
use super::scenarios::{MakeStructure, PAGE_BYTES, word};
use super::structures::StructureHarness;
use crate::Random;
use ogive::Result;
use ogive::index::extend::{Amount, IndexLayout, Structure, Visitor, Word};
use ogive::io::Purpose;
use ogive::page::{PageNumber, Pages, Transaction};

/// Number of entries: enough for several levels of small pages.
const ENTRIES: u64 = 1500;

/// Damages each page of a structure in turn, in several ways, and the state; then runs all operations.
pub fn survives_damage<W: Word>(make: &MakeStructure<W>) {
    let layout = IndexLayout::default();
    let structure = make(layout);
    let keys: Vec<W> = (0..ENTRIES).map(|i| word(i * i * 977)).collect();
    let mut harness = StructureHarness::new(structure.as_ref(), layout, PAGE_BYTES, &keys);
    (0..300).for_each(|i| harness.insert(word(i * 31_013)));
    harness.commit();
    let mut pages = ClaimedPages::default();
    harness.with_pages(|all| structure.verify(all, &harness.state, &mut pages).unwrap());
    let mut random = Random::new(3);
    for round in 0..3 {
        for &page in &pages.0 {
            let mut transaction = harness.file.begin().unwrap();
            damage(&mut transaction, page, &pages.0, round, &mut random);
            run_all_operations(structure.as_ref(), layout, transaction, harness.state.clone(), &mut random);
        }
    }
    for length in 0..=harness.state.len() {
        let transaction = harness.file.begin().unwrap();
        run_all_operations(structure.as_ref(), layout, transaction, harness.state[..length].to_vec(), &mut random);
    }
    for _ in 0..100 {
        let mut state = harness.state.clone();
        let offset = random.below(state.len() as u64) as usize;
        state[offset] = random.next_u64() as u8;
        run_all_operations(structure.as_ref(), layout, harness.file.begin().unwrap(), state, &mut random);
    }
}

/// Overwrites a page with another one, single bytes (mostly of the header), or noise, depending on `round`.
pub(super) fn damage(
    transaction: &mut Transaction,
    page: PageNumber,
    pages: &[PageNumber],
    round: u64,
    random: &mut Random,
) {
    let other = pages[random.below(pages.len() as u64) as usize];
    let other = transaction.read(other, Purpose::Walk).unwrap().to_vec();
    let mut edit = transaction.edit(page, Purpose::Walk).unwrap();
    let length = edit.len() as u64;
    match round {
        0 => edit.write(0, &other),
        1 => (0..=random.below(3)).for_each(|_| {
            let bound = if random.one_in(3) { length } else { 32 };
            let byte = [0, 1, 0x7f, 0xff, random.next_u64() as u8][random.below(5) as usize];
            edit.write(random.below(bound) as usize, &[byte]);
        }),
        _ => {
            let noise: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            let kept = random.below(16) as usize;
            edit.write(kept, &noise[kept..]);
        }
    }
}

fn run_all_operations<W: Word>(
    structure: &dyn Structure<W>,
    layout: IndexLayout,
    mut transaction: Transaction,
    state: Vec<u8>,
    random: &mut Random,
) {
    let mut payload = vec![0; layout.payload_bytes];
    let reads_max = 1000 + 20 * u64::from(transaction.page_count());
    let keys: Vec<W> =
        (0..4).map(|_| word(random.below(ENTRIES) * random.below(ENTRIES) * 977)).chain([W::MIN, W::MAX]).collect();
    for &key in &keys {
        let pages = CountedPages::bounded(&transaction, reads_max);
        let _ = structure.get(&pages, &state, key, &mut payload);
        let _ = structure.explain(&pages, &state, key);
        let _ = scan_some(structure, &transaction, &state, key, &mut payload);
    }
    let pages = CountedPages::bounded(&transaction, reads_max);
    let _ = structure.verify(&pages, &state, &mut ClaimedPages::default());
    let _ = structure.statistics(&CountedPages::bounded(&transaction, reads_max), &state);
    let mut changed = state.clone();
    for &key in &keys {
        let _ = structure.insert(&mut transaction, &mut changed, key, &payload);
        let _ = structure.remove(&mut transaction, &mut changed, key, Amount::All);
    }
    drop(structure.free(&mut transaction, &state));
}

fn scan_some<W: Word>(
    structure: &dyn Structure<W>,
    pages: &dyn Pages,
    state: &[u8],
    key: W,
    payload: &mut [u8],
) -> Result<()> {
    let bounded = CountedPages::bounded(pages, 1000 + 20 * u64::from(pages.page_count()));
    let mut cursor = structure.cursor(state)?;
    cursor.seek(&bounded, key)?;
    for _ in 0..60 {
        cursor.next(&bounded, payload)?;
    }
    cursor.seek_back(&bounded, key)?;
    for _ in 0..60 {
        cursor.previous(&bounded, payload)?;
    }
    Ok(())
}

/// The pages that verification visits.
#[derive(Default)]
pub(super) struct ClaimedPages(pub(super) Vec<PageNumber>);

impl<W: Word> Visitor<W> for ClaimedPages {
    fn pages(&mut self, first: PageNumber, pages: u32) -> Result<()> {
        self.0.extend(first..first.saturating_add(pages).min(first.saturating_add(100_000)));
        Ok(())
    }

    fn entry(&mut self, _key: W) -> Result<()> {
        Ok(())
    }
}
