//! Goal: joins of text keys that share a long prefix cost what the planner predicts.
//! Method: tables whose front-coded blocks take a fraction of the memory of their rows; a meter counts what is spilled.

use crate::support::{Row, Shape, collect, options, reference, table};
use ogive::KeyType;
use ogive::io::{MemoryStorage, Meter, Profile};
use ogive::join::{JoinExplanation, JoinKind, JoinMethod, JoinReport};
use ogive_testkit::Random;
use std::sync::Arc;

const MEMORY_BYTES: u64 = 64 << 20;
const ROWS: u64 = 200_000;
/// Rows of the larger relation per row of the smaller one.
const RATIO: u64 = 20;

/// One in `rarity` of the first pages of a site, drawn at random, in order.
fn pages(count: u64, rarity: u64, coding: bool) -> (Vec<Row>, Shape) {
    let mut random = Random::new(rarity);
    let key = |page: u64| format!("https://www.example.org/catalogue/items/{page:012}/overview.html").into_bytes();
    let drawn = (0..count).filter(|_| random.one_in(rarity));
    let rows = drawn.map(|page| (key(page), vec![page as u8; (page % 3) as usize])).collect();
    (rows, Shape { key_type: KeyType::Text, value_width: None, design: "coded", block_bytes: 4096, coding })
}

/// Bytes of the blocks of both relations.
fn input_bytes(explanation: &JoinExplanation) -> f64 {
    explanation.left.bytes + explanation.right.bytes
}

fn predicted(report: &JoinReport) -> &JoinExplanation {
    report.explanation.as_ref().unwrap()
}

#[test]
fn a_hash_join_of_text_that_fits_memory_spills_nothing() {
    for coding in [true, false] {
        let ((few, shape), (many, _)) = (pages(ROWS, RATIO, coding), pages(ROWS, 1, coding));
        for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Full] {
            let spilled = Meter::new(Arc::new(MemoryStorage::new()));
            let asked = options(kind, JoinMethod::Hash, MEMORY_BYTES).profile(Profile::named("nvme").unwrap());
            let asked = asked.spill(Some((Arc::new(spilled.clone()), "spilled".into())));
            let (mut rows, report) = collect(&table(&many, shape), &table(&few, shape), &asked).unwrap();
            let explanation = predicted(&report);
            let what = format!("coding: {coding}, {kind}: {} bytes read", report.bytes_read);
            assert!(rows.is_sorted_by(|a, b| a.0 <= b.0), "{what}");
            rows.sort();
            assert!(rows == reference(kind, &many, &few), "{what}");
            if kind != JoinKind::Full {
                assert_eq!(spilled.snapshot().writes.bytes, 0, "{what}");
                assert_eq!(report.bytes_read as f64, input_bytes(explanation), "{what}");
                assert_eq!(explanation.predicted.bytes_spilled, 0.0, "{what}");
                assert_eq!(explanation.predicted.bytes_read, input_bytes(explanation), "{what}");
            }
        }
    }
}

#[test]
fn a_hash_join_of_text_that_does_not_fit_memory_is_predicted_to_spill() {
    let ((few, shape), (many, _)) = (pages(ROWS, 2, true), pages(ROWS, 1, true));
    let asked = options(JoinKind::Inner, JoinMethod::Hash, 8 << 20).profile(Profile::named("nvme").unwrap());
    let spilled = Meter::new(Arc::new(MemoryStorage::new()));
    let asked = asked.spill(Some((Arc::new(spilled.clone()), "spilled".into())));
    let inputs = (table(&many, shape), table(&few, shape));
    // In key order, what does not fit is merged, and both inputs are sorted.
    let (rows, report) = collect(&inputs.0, &inputs.1, &asked).unwrap();
    assert_eq!(rows, reference(JoinKind::Inner, &many, &few));
    assert_eq!((spilled.snapshot().writes.bytes, predicted(&report).predicted.bytes_spilled), (0, 0.0));
    let (mut rows, report) = collect(&inputs.0, &inputs.1, &asked.any_order(true)).unwrap();
    rows.sort();
    let mut all = reference(JoinKind::Inner, &many, &few);
    all.sort();
    assert_eq!(rows, all);
    assert!(spilled.snapshot().writes.bytes > 0 && predicted(&report).predicted.bytes_spilled > 0.0);
    let ratio = predicted(&report).predicted.bytes_read / report.bytes_read as f64;
    assert!((0.5..2.0).contains(&ratio), "predicted {ratio} of {} bytes", report.bytes_read);
}

/// Rows whose blocks are many: values that do not compress.
fn with_values(rows: &[Row]) -> Vec<Row> {
    let mut random = Random::new(3);
    let mut value = || (0..10).flat_map(|_| random.below(u64::MAX).to_be_bytes()).collect();
    rows.iter().map(|(key, _)| (key.clone(), value())).collect()
}

#[test]
fn reads_of_a_planned_scan_are_predicted_for_keys_with_a_long_shared_prefix() {
    for coding in [true, false] {
        let (many, shape) = pages(ROWS, 1, coding);
        let many = with_values(&many);
        // Spread over all blocks, far apart, and in a tenth of them.
        for (pages_of_few, rarity) in [(ROWS, RATIO), (ROWS, 1000), (ROWS / 10, 2)] {
            let (few, _) = pages(pages_of_few, rarity, coding);
            let asked = options(JoinKind::Inner, JoinMethod::Inlj, MEMORY_BYTES);
            let asked = asked.profile(Profile::named("nvme").unwrap());
            let (rows, report) = collect(&table(&many, shape), &table(&few, shape), &asked).unwrap();
            assert_eq!(rows.len(), few.len());
            let ratio = predicted(&report).predicted.bytes_read / report.bytes_read as f64;
            let what = format!("one in {rarity} of {pages_of_few} pages, coding: {coding}");
            assert!((0.5..2.0).contains(&ratio), "{what}: predicted {ratio} of {} bytes", report.bytes_read);
        }
    }
}
