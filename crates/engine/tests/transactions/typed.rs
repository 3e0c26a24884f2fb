//! Tests of transactions on typed keyspaces, multimaps and keyspaces with indexes. Goal: these are read and written as
//! outside of a transaction, and conflict alike. Method: small stores of each.

use crate::support::{is_conflict, small};
use ogive::io::MemoryStorage;
use ogive::typed::TypedRecord;
use ogive::types::{Alteration, KeyType};
use ogive::{Cause, Db, Error, Result};
use std::sync::Arc;

ogive::row! {
    #[derive(Clone, Debug, PartialEq)]
    struct Order { item: String, amount: u32 }
}

fn store() -> Db {
    Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap()
}

#[test]
fn typed_keyspaces_are_read_and_written() {
    let db = store();
    let orders = db.keyspace("orders").unwrap().typed::<(u32, u32), Order>().unwrap();
    let order = |amount| Order { item: "fig".into(), amount };
    orders.insert((1, 1), order(1)).unwrap();
    orders.insert((1, 2), order(2)).unwrap();
    orders.insert((2, 1), order(3)).unwrap();
    let tx = db.begin();
    let within = tx.typed(&orders);
    within.insert((1, 3), order(4)).unwrap();
    within.remove_range(..=(1, 1)).unwrap();
    let amounts = |rows: Vec<Result<TypedRecord<(u32, u32), Order>>>| -> Vec<u32> {
        rows.into_iter().map(|row| row.unwrap().1.value().unwrap().amount).collect()
    };
    assert_eq!(amounts(within.prefix((1,)).collect()), [2, 4]);
    assert_eq!(amounts(within.range(..).rev().collect()), [3, 4, 2]);
    assert_eq!(within.load((1, 3)).unwrap(), Some(order(4)));
    assert!(!within.contains_key((1, 1)).unwrap());
    let many = within.multi_get([(1, 1), (2, 1)]).unwrap();
    assert_eq!(many.into_iter().flatten().count(), 1);
    orders.insert((1, 9), order(9)).unwrap();
    assert!(is_conflict(tx.commit()), "the prefix was read to its end");
}

#[test]
fn multimaps_and_indexes_are_changed_together() {
    let db = store();
    let tags = db.multimap::<u64, str>("tags").unwrap();
    let orders = db.keyspace("orders").unwrap().typed::<u64, Order>().unwrap();
    let orders = orders.with_index("by_item", |_, order| Some(order.item.clone())).unwrap();
    orders.insert(1, Order { item: "fig".into(), amount: 3 }).unwrap();
    orders.insert(3, Order { item: "fig".into(), amount: 3 }).unwrap();
    db.transaction(|tx| {
        tx.multimap_insert(&tags, 1, "sweet")?;
        tx.multimap_insert(&tags, 1, "old")?;
        tx.multimap_remove(&tags, 1, "old")?;
        assert_eq!(tx.multimap_get(&tags, 1).count(), 1);
        let before = tx.indexed_get(&orders, 1)?.map(|order| order.value()).transpose()?;
        assert_eq!(before.map(|order| order.amount), Some(3));
        tx.indexed_insert(&orders, 1, Order { item: "lime".into(), amount: 4 })?;
        tx.indexed_insert(&orders, 2, Order { item: "lime".into(), amount: 5 })?;
        tx.indexed_remove(&orders, 3)?;
        Ok::<_, Error>(())
    })
    .unwrap();
    let by_item = orders.by::<str>("by_item").unwrap();
    let keys = |item: &str| by_item.keys(item).map(|key| key.unwrap().value().unwrap()).collect::<Vec<u64>>();
    assert_eq!((keys("fig"), keys("lime")), (vec![], vec![1, 2]));
    assert_eq!(tags.get(1).count(), 1);

    let tx = db.begin();
    tx.indexed_insert(&orders, 1, Order { item: "fig".into(), amount: 1 }).unwrap();
    orders.insert(1, Order { item: "pear".into(), amount: 1 }).unwrap();
    assert!(is_conflict(tx.commit()), "the old row was read to find its entries");
    assert_eq!((keys("fig"), keys("pear")), (vec![], vec![1]));
    let tx = db.begin();
    assert_eq!(tx.multimap_get(&tags, 1).rev().count(), 1);
    tx.insert(&db, "x", "1").unwrap();
    tags.insert(1, "fruit").unwrap();
    assert!(is_conflict(tx.commit()));
}

#[test]
fn secondary_indexes_and_multimaps_are_read_with_own_writes() {
    let db = store();
    let tags = db.multimap::<u64, str>("tags").unwrap();
    for (key, tag) in [(1, "old"), (1, "sweet"), (2, "old")] {
        tags.insert(key, tag).unwrap();
    }
    let orders = db.keyspace("orders").unwrap().typed::<u64, Order>().unwrap();
    let orders = orders.with_index("by_item", |_, order| Some(order.item.clone())).unwrap();
    let order = |item: &str, amount| Order { item: item.into(), amount };
    orders.insert(1, order("fig", 3)).unwrap();
    orders.insert(2, order("lime", 4)).unwrap();
    let by_item = orders.by::<str>("by_item").unwrap();
    let begin = || {
        let tx = db.begin();
        tx.indexed_insert(&orders, 2, order("fig", 5)).unwrap();
        tx.multimap_remove_all(&tags, 1).unwrap();
        tx.multimap_insert(&tags, 1, "new").unwrap();
        tx
    };
    let tx = begin();
    // Another transaction's change is not seen.
    orders.insert(3, order("fig", 9)).unwrap();
    let of =
        |row: Result<TypedRecord<u64, Order>>| row.map(|(key, value)| (key.value().unwrap(), value.value().unwrap()));
    let found: Vec<_> = tx.secondary_get(&by_item, "fig").map(|row| of(row).unwrap()).collect();
    assert_eq!(found, [(1, order("fig", 3)), (2, order("fig", 5))]);
    let keys: Vec<u64> = tx.secondary_keys(&by_item, "fig").rev().map(|key| key.unwrap().value().unwrap()).collect();
    assert_eq!(keys, [2, 1]);
    let last = tx.secondary_range(&by_item, "a"..).next_back().map(|row| of(row).unwrap());
    assert_eq!(last, Some((2, order("fig", 5))));
    assert_eq!(tx.indexed_range(&orders, 2..).count(), 1);
    assert!(tx.multimap_contains(&tags, 1, "new").unwrap() && !tx.multimap_contains(&tags, 1, "old").unwrap());
    let entries = tx.multimap_range(&tags, ..).map(|entry| {
        let (key, tag) = entry.unwrap();
        (key.value().unwrap(), tag.value().unwrap().into_owned())
    });
    assert_eq!(entries.collect::<Vec<_>>(), [(1, "new".to_owned()), (2, "old".to_owned())]);
    assert!(is_conflict(tx.commit()), "an entry came into what was read of the index");

    let tx = begin();
    let first = tx.secondary_get(&by_item, "fig").next().map(|row| of(row).unwrap());
    assert_eq!(first, Some((1, order("fig", 3))));
    orders.insert(1, order("fig", 7)).unwrap();
    assert!(is_conflict(tx.commit()), "the record was read, though its entry is the same");

    let tx = begin();
    assert_eq!(tx.secondary_keys(&by_item, "fig").count(), 3);
    orders.insert(1, order("fig", 8)).unwrap();
    tx.commit().unwrap();
    assert_eq!(tags.get(1).map(|tag| tag.unwrap().value().unwrap().into_owned()).collect::<Vec<_>>(), ["new"]);
}

#[test]
fn a_batch_expects_values_of_types() {
    let db = store();
    let orders = db.keyspace("orders").unwrap().typed::<u64, Order>().unwrap();
    let halves = db.keyspace("halves").unwrap().typed::<str, f64>().unwrap();
    let order = |amount| Order { item: "fig".into(), amount };
    orders.insert(1, order(1)).unwrap();
    halves.insert("none", f64::NAN).unwrap();
    let commit = |amount: Option<u32>, half: f64| {
        let mut batch = db.batch();
        batch.typed_expect(&orders, 1, amount.map(order).as_ref()).typed_expect(&halves, "none", Some(&half));
        batch.typed_insert(&orders, 1, order(2));
        batch.commit()
    };
    assert!(is_conflict(commit(None, f64::NAN)));
    assert!(is_conflict(commit(Some(7), f64::NAN)));
    assert!(is_conflict(commit(Some(1), 0.5)));
    commit(Some(1), -f64::NAN).unwrap();
    assert_eq!(orders.load(1).unwrap(), Some(order(2)));

    // A row from before a field was added is the one that is read now.
    ogive::row! {
        #[derive(Clone, Debug, PartialEq)]
        struct Longer { item: String, amount: u32, origin: Option<String> }
    }
    let longer = db.keyspace("orders").unwrap().typed::<u64, Longer>().unwrap();
    let old = longer.load(1).unwrap().unwrap();
    assert_eq!(old.origin, None);
    let mut batch = db.batch();
    batch.typed_expect(&longer, 1, Some(&old)).typed_remove(&longer, 1);
    batch.commit().unwrap();
    assert_eq!(longer.load(1).unwrap(), None);
}

#[test]
fn an_altered_keyspace_is_a_conflict() {
    for is_read in [true, false] {
        let db = store();
        let orders = db.keyspace("orders").unwrap().typed::<u64, Order>().unwrap();
        orders.insert(1, Order { item: "fig".into(), amount: 1 }).unwrap();
        let tx = db.begin();
        let untyped = db.keyspace("orders").unwrap();
        if is_read {
            tx.typed(&orders).get(1).unwrap();
            tx.insert(&db, "x", "1").unwrap();
        } else {
            let row = untyped.get(1_u64.to_be_bytes()).unwrap().unwrap();
            tx.insert(&untyped, 2_u64.to_be_bytes(), row).unwrap();
        }
        untyped.alter(&Alteration::new().widen("amount", KeyType::U64)).unwrap();
        let error = tx.commit().unwrap_err();
        assert_eq!((error.cause, error.name()), (Cause::Conflict, "orders"));
    }
}
