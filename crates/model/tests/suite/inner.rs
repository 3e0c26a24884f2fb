//! Tests of coded inner nodes. Goal: whatever the separators, the pages and the history of a node, every key is led to
//! its child, nothing is lost, and no node takes more bytes than plain separators would. Method: nodes over separators
//! from key sets that break learned indexes, with pages in several orders, are encoded, searched at and next to each
//! separator, changed in place at random, and compared with the children they stand for.

use crate::common::{Random, nasty_sets};
use ogive_model::inner::{
    Children, GROUP_CHILDREN_MAX, HEADER_BYTES, KeyWidth, NodeForm, NodeView, NodeWriter, coded_bytes, cut_groups,
    encode, plain_capacity, replace_group, roundest, spread,
};

const ROOM: usize = 65_528;
const WIDTHS: [KeyWidth; 2] = [KeyWidth::Eight, KeyWidth::Sixteen];

/// Distinct separators from a key set; for 16-byte keys spread over more than 64 bits.
fn separators(keys: &[u64], width: KeyWidth) -> Vec<u128> {
    let mut wide: Vec<u128> = match width {
        KeyWidth::Eight => keys.iter().map(|&key| u128::from(key)).collect(),
        KeyWidth::Sixteen => keys.iter().map(|&key| u128::from(key) << 60 | u128::from(key >> 3)).collect(),
    };
    wide.sort_unstable();
    wide.dedup();
    wide
}

/// Consecutive pages, with some later ones among them, or in any order.
fn pages(count: usize, order: u64, random: &mut Random) -> Vec<u32> {
    let mut next = 100;
    let mut page = |_| match order {
        0 => {
            next += 1;
            next
        }
        1 if random.below(3) > 0 => {
            next += 1;
            next
        }
        1 => 1_000_000 + random.below(5000) as u32,
        _ => random.next() as u32 & (u32::MAX - 1),
    };
    (0..count).map(&mut page).collect()
}

fn rows(count: usize, width: KeyWidth) -> Vec<(String, Children)> {
    let mut random = Random(5);
    let mut rows = Vec::new();
    for (name, keys) in nasty_sets(count) {
        for order in 0..3 {
            let separators = separators(&keys, width);
            let pages = pages(separators.len(), order, &mut random);
            let last = Some(7).filter(|_| order != 1);
            rows.push((format!("{name}, order {order}, {width:?}"), Children { level: 3, separators, pages, last }));
        }
    }
    rows
}

fn assert_leads_everywhere(name: &str, node: &NodeView<'_>, row: &Children) {
    for (index, &separator) in row.separators.iter().enumerate() {
        for key in [separator.saturating_sub(1), separator, separator.saturating_add(1)] {
            let expected = row.separators.partition_point(|&separator| separator < key);
            let found = node.search(key).unwrap();
            assert_eq!(found.page, row.pages.get(expected).copied().or(row.last), "{name}: {key} beside {index}");
            assert_eq!(node.index_of(found.position), Some(expected), "{name}: {key} beside {index}");
        }
    }
}

#[test]
fn every_key_is_led_to_its_child_whatever_the_separators() {
    for width in WIDTHS {
        for (name, row) in rows(600, width) {
            let bytes = encode(&row, width, ROOM).unwrap();
            let plain_bytes = HEADER_BYTES + row.separators.len() * (width.bytes() + 4);
            assert!(bytes.len() <= plain_bytes, "{name}: {} bytes, {plain_bytes} plain", bytes.len());
            assert_eq!(bytes.len(), coded_bytes(&row, width), "{name}");
            let node = NodeView::new(&bytes, width).unwrap();
            assert_eq!(node.children().unwrap(), row, "{name}");
            assert_leads_everywhere(&name, &node, &row);
        }
    }
}

/// Random separators with random pages.
fn noise(count: usize, width: KeyWidth, random: &mut Random) -> Children {
    let cut = 128 - width.bytes() as u32 * 8;
    let mut wide = || u128::from(random.next()) << 64 | u128::from(random.next());
    let mut separators: Vec<u128> = (0..count).map(|_| wide() >> cut | 1).collect();
    separators.sort_unstable();
    Children { level: 0, pages: pages(count, 2, random), separators, last: None }
}

#[test]
fn noise_is_stored_plain_where_that_is_smaller_and_never_takes_more_than_in_a_b_tree() {
    let mut random = Random(3);
    for width in WIDTHS {
        let room = 504;
        let most = plain_capacity(width, room);
        // 8 bytes of header, one separator fewer than children: that many children would be too many for a B+-tree,
        // too.
        assert!(8 + 4 * (most + 2) + width.bytes() * (most + 1) > room);
        for count in 1..=most {
            let row = noise(count, width, &mut random);
            let bytes = encode(&row, width, room).unwrap();
            let node = NodeView::new(&bytes, width).unwrap();
            assert_eq!(node.children().unwrap(), row);
            assert_leads_everywhere("noise", &node, &row);
            assert!(
                count > 12 || node.kind() == NodeForm::Plain,
                "{width:?}: {count} separators in {} bytes",
                bytes.len()
            );
        }
    }
}

#[test]
fn a_group_changed_in_place_is_the_node_of_the_changed_row() {
    let mut random = Random(9);
    for width in WIDTHS {
        for (name, mut row) in rows(300, width) {
            let mut page = vec![0_u8; ROOM];
            let bytes = encode(&row, width, ROOM).unwrap();
            page[..bytes.len()].copy_from_slice(&bytes);
            for _ in 0..60 {
                let node = NodeView::new(&page, width).unwrap();
                if node.kind() == NodeForm::Plain || row.separators.len() < 2 {
                    break;
                }
                let at = 1 + random.below(row.separators.len() as u64 - 1) as usize;
                let (low, high) = (row.separators[at - 1], row.separators[at]);
                let position = node.search(high).unwrap().position;
                let leaf = random.next() as u32 >> random.below(32);
                let removes = random.below(3) == 0 || high - low < 2;
                let separator = roundest(low + 1, high.max(2) - 1);
                let change = replace_group(&node, position.group, ROOM, |separators, pages| {
                    if removes {
                        separators.remove(position.place);
                        pages.remove(position.place);
                    } else {
                        separators.insert(position.place, separator);
                        pages.insert(position.place, leaf);
                    }
                });
                let Some(change) = change else { continue };
                change.apply(&mut page);
                if removes {
                    row.separators.remove(at);
                    row.pages.remove(at);
                } else {
                    row.separators.insert(at, separator);
                    row.pages.insert(at, leaf);
                }
                let node = NodeView::new(&page, width).unwrap();
                assert_eq!(node.stored_bytes(), change.stored_bytes, "{name}");
                assert_eq!(node.children().as_ref(), Some(&row), "{name}");
            }
            assert_leads_everywhere(&name, &NodeView::new(&page, width).unwrap(), &row);
        }
    }
}

#[test]
fn nodes_that_share_a_row_are_even_and_lose_nothing() {
    for width in WIDTHS {
        for (name, row) in rows(500, width).into_iter().filter(|(_, row)| row.separators.len() > 100) {
            let whole = coded_bytes(&row, width);
            let (nodes, between) = spread(&row, 3, width, ROOM).unwrap();
            let mut joined = Children { level: row.level, ..Children::default() };
            for (place, bytes) in nodes.iter().enumerate() {
                let part = NodeView::new(bytes, width).unwrap().children().unwrap();
                joined.separators.extend(part.separators);
                joined.pages.extend(part.pages);
                if let Some(&separator) = between.get(place) {
                    joined.separators.push(separator);
                    joined.pages.extend(part.last);
                } else {
                    joined.last = part.last;
                }
                assert!(bytes.len() <= whole * 3 / 5 + 200, "{name}: a node of {} bytes of {whole}", bytes.len());
            }
            assert_eq!(joined, row, "{name}");
        }
    }
}

#[test]
fn smooth_separators_take_a_fraction_of_a_b_tree_s_bytes() {
    let mut random = Random(21);
    let mut key = 0_u128;
    let row: Vec<u128> = (0..2000)
        .map(|_| {
            // Leaves of 200 keys, 2^30 apart on average; the separator is the roundest of the 16 gaps in the middle.
            let leaf = (200 << 30) + u128::from(random.below(40 << 30));
            key += leaf;
            roundest(key, key + (16 << 30))
        })
        .collect();
    let groups = cut_groups(&row, &pages(row.len(), 0, &mut random), KeyWidth::Eight);
    let mut writer = NodeWriter::new(KeyWidth::Eight, ROOM);
    assert!(groups.iter().all(|group| group.children <= GROUP_CHILDREN_MAX));
    assert!(groups.into_iter().all(|group| writer.push(group)));
    assert!(writer.stored_bytes() * 8 < row.len() * 12, "{} bytes for {}", writer.stored_bytes(), row.len());
}
