//! No design that can be asked for by name has a faster first lookup than the tuned one, on any storage.

use crate::named::rivals;
use ogive::io::{MemoryStorage, Profile};
use ogive::table::{TableReport, TableWriteOptions, TableWriter};
use ogive::{KeyType, Result};
use ogive_testkit::{Random, key_sets};
use std::sync::Arc;

/// Most that a table whose block size was chosen may lose to one of 4 KiB blocks: the size is chosen by estimates.
const SIZE_ERROR_RATIO: f64 = 1.01;

/// Interleaved bits of points in a few clusters, as borders on a map have.
fn morton(count: usize, random: &mut Random) -> Vec<u64> {
    let spread = |x: u64| (0..32).fold(0, |code, bit| code | (x >> bit & 1) << (2 * bit));
    let (mut x, mut y) = (1_u64 << 31, 1_u64 << 30);
    let mut keys: Vec<u64> = (0..count)
        .map(|i| {
            if i % 1000 == 0 {
                (x, y) = (random.below(1 << 32), random.below(1 << 32));
            }
            x = x.wrapping_add(random.below(1 << 12)) & 0xffff_ffff;
            y = y.wrapping_add(random.below(1 << 11)) & 0xffff_ffff;
            spread(x) | spread(y) << 1
        })
        .collect();
    keys.sort_unstable();
    keys
}

fn report(
    keys: &[u64],
    value: &[u8],
    design: &str,
    profile: &Profile,
    block_bytes: Option<u32>,
) -> Result<TableReport> {
    let options = TableWriteOptions::default()
        .key_type(KeyType::U64)
        .value_width(value.len() as u32)
        .design(design.parse()?)
        .block_bytes(block_bytes)
        .profile(profile.clone());
    let mut writer = TableWriter::create((Arc::new(MemoryStorage::new()), "t"), options)?;
    for &key in keys {
        writer.append(&key.to_be_bytes(), value)?;
    }
    writer.finish()
}

/// The layers, the reads and the blocks of a table, for messages.
fn describe(report: &TableReport) -> String {
    let layers: Vec<&str> = report.layers.iter().map(|layer| layer.kind.as_str()).collect();
    let (opening, data) = (report.opening_bytes(), report.data_mean_read_bytes);
    let (blocks, size) = (report.blocks, report.block_size_bytes);
    format!("{} reads {opening} and {data} bytes, {blocks} blocks of {size} bytes", layers.join("/"))
}

#[test]
fn no_named_design_has_a_faster_first_lookup_than_the_tuned_one() -> Result<()> {
    let mut sets = key_sets::nasty(20_000);
    sets.push(("morton", morton(20_000, &mut Random::new(7))));
    let profiles = Profile::names().map(Profile::named).collect::<Result<Vec<_>>>()?;
    let mut faster = Vec::new();
    for ((set, keys), width) in sets.iter().zip([8, 100, 0, 30].into_iter().cycle()) {
        let value = vec![7; width];
        for profile in &profiles {
            let us = |report: &TableReport| report.modelled_us(profile);
            let table = |design, block_bytes| report(keys, &value, design, profile, block_bytes);
            let (same, own) = (table("tuned", Some(4096))?, table("tuned", None)?);
            for design in rivals() {
                let named = table(design, Some(4096))?;
                for (tuned, most_us) in [(&same, us(&named)), (&own, us(&named) * SIZE_ERROR_RATIO)] {
                    if us(tuned) > most_us * (1.0 + 1e-9) {
                        faster.push(format!(
                            "{set}, values of {width} bytes, {}: {design} {} us ({}), tuned {} us ({})",
                            profile.name(),
                            us(&named),
                            describe(&named),
                            us(tuned),
                            describe(tuned),
                        ));
                    }
                }
            }
        }
    }
    assert!(faster.is_empty(), "{}", faster.join("\n"));
    Ok(())
}
