//! Fuzz target: coded inner nodes: forged nodes, and nodes over any row of children.

use crate::input::{take_u8, take_u64};
use ogive_model::inner::{Children, KeyWidth, NodeView, encode, replace_group};

fn width_of(byte: u8) -> KeyWidth {
    if byte & 1 == 0 { KeyWidth::Eight } else { KeyWidth::Sixteen }
}

/// Searches, decodes and changes a forged node. Input: width of keys u8, key u64, the node.
pub fn node(mut data: &[u8]) {
    let width = width_of(take_u8(&mut data));
    let key = u128::from(take_u64(&mut data));
    let Some(node) = NodeView::new(data, width) else { return };
    for key in [key, key << 64 | key, 0, u128::MAX] {
        if let Some(found) = node.search(key) {
            let _ = node.index_of(found.position);
        }
    }
    let _ = node.children();
    let group = if node.groups() > 0 { (key % node.groups() as u128) as usize } else { 0 };
    let change = replace_group(&node, group, data.len(), |separators, pages| {
        separators.push(key);
        pages.push(key as u32);
    });
    if let Some(change) = change {
        let mut bytes = data.to_vec();
        change.apply(&mut bytes);
        let _ = NodeView::new(&bytes, width).and_then(|node| node.search(key));
    }
}

/// Stored nodes of easy and of hard separators.
pub fn node_seeds() -> Vec<Vec<u8>> {
    let rows: [Vec<u128>; 4] = [
        (1..700).map(|i| i * 4096).collect(),
        (0..60).map(|bit| (1 << bit) + 1).collect(),
        (1..300).map(|i: u128| i * 1000 + ((i / 7) << 40) + i % 3).collect(),
        vec![7],
    ];
    let seed = |separators: &Vec<u128>, width: KeyWidth| {
        let row = row_of(separators.clone());
        let mut bytes = vec![u8::from(width == KeyWidth::Sixteen)];
        bytes.extend_from_slice(&(separators[separators.len() / 2] as u64).to_le_bytes());
        bytes.extend(encode(&row, width, 65_528).unwrap_or_default());
        bytes
    };
    rows.iter().flat_map(|row| [KeyWidth::Eight, KeyWidth::Sixteen].map(|width| seed(row, width))).collect()
}

/// Encodes any row of children and searches it. Input: width of keys u8, u64 numbers, the separators.
///
/// # Panics
/// When a key is led to the wrong child, or a node takes more bytes than plain separators: the broken promises.
pub fn row(mut data: &[u8]) {
    let width = width_of(take_u8(&mut data));
    let mut separators = Vec::new();
    while !data.is_empty() {
        separators.push(u128::from(take_u64(&mut data)));
    }
    separators.sort_unstable();
    separators.dedup();
    separators.truncate(3000);
    let row = row_of(separators);
    let Some(bytes) = encode(&row, width, 65_528) else { panic!("{} separators do not fit", row.separators.len()) };
    assert!(bytes.len() <= 12 + row.separators.len() * (width.bytes() + 4));
    let Some(node) = NodeView::new(&bytes, width) else { panic!("an unreadable node") };
    assert_eq!(node.children().as_ref(), Some(&row));
    for (index, &separator) in row.separators.iter().enumerate() {
        assert_eq!(node.search(separator).and_then(|found| found.page), row.pages.get(index).copied());
        if row.separators.get(index + 1) != Some(&(separator + 1)) {
            let above = node.search(separator + 1).and_then(|found| found.page);
            assert_eq!(above, row.pages.get(index + 1).copied().or(row.last));
        }
    }
}

/// Rows that are even, dense, and spread over all magnitudes.
pub fn row_seeds() -> Vec<Vec<u8>> {
    let spread: Vec<u64> = (0..64).flat_map(|bit| [1 << bit, (1 << bit) + 1]).chain([u64::MAX - 1, u64::MAX]).collect();
    let rows = [(1..600).map(|i| i << 40).collect(), (1..600).collect(), spread];
    let seed = |row: &Vec<u64>| {
        let mut bytes = vec![0];
        bytes.extend(row.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    };
    rows.iter().map(seed).collect()
}

/// Children in pages that follow one another, but for every third.
fn row_of(separators: Vec<u128>) -> Children {
    let page = |index: u32| if index % 3 == 2 { 900_000 - index * 7 } else { 100 + index };
    let pages = (0..separators.len() as u32).map(page).collect();
    Children { level: 0, separators, pages, last: Some(5) }
}
