//! The rows of a full outer join as an iterator, under a condition on the values.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{JoinKind, JoinOptions, JoinSource, KeyType, RecordShape, join_rows};

/// Records of a customer's number and an amount.
fn amounts(name: &str, rows: &'static [(u64, u32)]) -> JoinSource {
    let shape = RecordShape {
        name: name.into(),
        key_type: KeyType::U64,
        value_bytes: Some(4),
        rows: rows.len() as u64,
        bytes: 12 * rows.len() as u64,
    };
    let record = |&(key, amount): &(u64, u32)| Ok((key.to_be_bytes().to_vec(), amount.to_be_bytes().to_vec()));
    JoinSource::unsorted(shape, move || Box::new(rows.iter().map(record)))
}

/// The amount in a value, which the program encodes as it likes.
fn amount(value: &[u8]) -> ogive::Result<u32> {
    let bytes = value.try_into().map_err(|_| ogive::Error::input("an amount has four bytes"))?;
    Ok(u32::from_be_bytes(bytes))
}

fn main() -> ogive::Result<()> {
    let orders = amounts("orders", &[(3, 20), (1, 5), (1, 70)]);
    let payments = amounts("payments", &[(1, 70), (3, 8), (4, 9)]);
    // A payment settles an order if it is high enough.
    let options =
        JoinOptions::default().kind(JoinKind::Full).condition(|pair| Ok(amount(pair.right)? >= amount(pair.left)?));
    let mut settled = 0;
    for row in join_rows(&orders, &payments, &options)? {
        let row = row?;
        let shown = |value: Option<Vec<u8>>| value.as_deref().map(amount).transpose();
        settled += u32::from(row.left.is_some() && row.right.is_some());
        println!("{:?}: {:?} {:?}", row.key.last(), shown(row.left)?, shown(row.right)?);
    }
    assert_eq!(settled, 2);
    Ok(())
}
