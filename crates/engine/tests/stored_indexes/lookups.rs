//! Lookups in transactions and by Rust types. Goal: a lookup finds what the snapshot and the own writes have, and what
//! it has read is validated. Method: drawn writes and lookups from both ends, which a map of users predicts; then
//! writes of others, after which a transaction that would have found something else must conflict.

use crate::support::{User, Users, are_unique, check, definitions, drawn, expected, key, small, users};
use ogive::io::MemoryStorage;
use ogive::lsm::DbTransaction;
use ogive::typed::Desc;
use ogive::types::{Alteration, Field, IndexDefinition, KeyType, Value};
use ogive::{Cause, Db, Error, ErrorKind, Keyspace, Result};
use ogive_testkit::{Random, Repeat, seeds};
use std::ops::Bound;
use std::sync::Arc;

const KEYS: u64 = 16;

fn store() -> (Db, Keyspace) {
    let db = Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap();
    let keyspace = users(&db).unwrap();
    for (name, definition) in definitions() {
        db.create_index(name, &keyspace, &definition).unwrap();
    }
    (db, keyspace)
}

/// A lookup by an index.
#[derive(Clone, Debug)]
enum Lookup {
    All(usize),
    Email(String),
    Country(String),
    Score(String, i32),
    Countries(String, String),
    Letter(String),
    Initial(String),
}

impl Lookup {
    fn drawn(random: &mut Random) -> Self {
        let letter = |random: &mut Random| char::from(b'a' + random.below(6) as u8).to_string();
        let two = |random: &mut Random| letter(random) + &letter(random);
        match random.below(7) {
            0 => Self::All(random.below(3) as usize),
            1 => Self::Email(two(random) + "@x"),
            2 => Self::Country(two(random)),
            3 => Self::Score(two(random), random.below(5) as i32 - 2),
            4 => Self::Countries(two(random), two(random)),
            5 => Self::Letter(letter(random)),
            _ => Self::Initial(letter(random)),
        }
    }

    fn index(&self) -> &'static str {
        match self {
            Self::All(number) => definitions()[*number].0,
            Self::Email(_) => "by_email",
            Self::Initial(_) => "by_initial",
            _ => "by_country",
        }
    }

    fn has(&self, user: &User) -> bool {
        match self {
            Self::All(0) => user.email.is_some(),
            Self::All(_) => true,
            Self::Email(email) => user.email.as_ref().is_some_and(|found| found.to_lowercase() == *email),
            Self::Country(country) => user.country == *country,
            Self::Score(country, score) => user.country == *country && user.score == *score,
            Self::Countries(from, to) => user.country >= *from && user.country <= *to,
            Self::Letter(letter) | Self::Initial(letter) => user.country.starts_with(letter),
        }
    }

    /// The keys that it finds among users.
    fn of(&self, users: &Users) -> Vec<u64> {
        let all = expected(self.index(), users);
        all.into_iter().filter(|key| self.has(&users[key])).collect()
    }

    /// Some of what it finds: as many from the front and from the back, at most.
    fn in_transaction(&self, db: &Db, tx: &DbTransaction, ends: (usize, usize)) -> Result<[Vec<u64>; 2]> {
        let index = db.index(self.index())?;
        let text = |text: &String| Value::from(text.as_str());
        let mut found = match self {
            Self::All(_) => tx.index_range(&index, Bound::Unbounded, Bound::Unbounded)?,
            Self::Email(of) | Self::Country(of) | Self::Initial(of) => tx.index_get(&index, &[text(of)])?,
            Self::Score(country, score) => tx.index_get(&index, &[text(country), Value::Signed((*score).into())])?,
            Self::Countries(from, to) => {
                tx.index_range(&index, Bound::Included(&[text(from)]), Bound::Included(&[text(to)]))?
            }
            Self::Letter(of) => tx.index_prefix(&index, &[text(of)])?,
        };
        let number = |record: Result<(ogive::Slice, ogive::Slice)>| {
            let (key, row) = record.unwrap();
            assert!(self.has(&User::decode(&row)));
            u64::from_be_bytes((*key).try_into().unwrap())
        };
        let front = found.by_ref().take(ends.0).map(number).collect();
        let back = found.rev().take(ends.1).map(number).collect();
        Ok([front, back])
    }

    /// What [`Self::in_transaction`] finds among users.
    fn predicted(&self, users: &Users, ends: (usize, usize)) -> [Vec<u64>; 2] {
        let all = self.of(users);
        let (front, rest) = all.split_at(ends.0.min(all.len()));
        [front.to_vec(), rest.iter().rev().take(ends.1).copied().collect()]
    }
}

fn drawn_ends(random: &mut Random) -> (usize, usize) {
    match random.below(3) {
        0 => (usize::MAX, 0),
        1 => (0, usize::MAX),
        _ => (random.below(4) as usize, random.below(4) as usize),
    }
}

/// Draws a write, which `users` becomes part of; `put`, `remove` and `remove_range` write it.
trait Writes {
    fn put(&self, keyspace: &Keyspace, key: [u8; 8], row: &[u8]) -> Result<()>;
    fn remove(&self, keyspace: &Keyspace, key: [u8; 8]) -> Result<()>;
    fn remove_range(&self, keyspace: &Keyspace, from: [u8; 8], to: [u8; 8]) -> Result<()>;

    fn write(&self, keyspace: &Keyspace, users: &mut Users, random: &mut Random) -> Result<()> {
        let number = random.below(KEYS);
        match random.below(8) {
            0 | 1 => {
                users.remove(&number);
                self.remove(keyspace, key(number))
            }
            2 => {
                let end = number + 1 + random.below(3);
                users.retain(|other, _| !(number..end).contains(other));
                self.remove_range(keyspace, key(number), key(end))
            }
            _ => {
                let user = drawn(random);
                let row = user.encode();
                users.insert(number, user);
                self.put(keyspace, key(number), &row)
            }
        }
    }
}

impl Writes for DbTransaction {
    fn put(&self, keyspace: &Keyspace, key: [u8; 8], row: &[u8]) -> Result<()> {
        self.insert(keyspace, key, row)
    }

    fn remove(&self, keyspace: &Keyspace, key: [u8; 8]) -> Result<()> {
        Self::remove(self, keyspace, key)
    }

    fn remove_range(&self, keyspace: &Keyspace, from: [u8; 8], to: [u8; 8]) -> Result<()> {
        Self::remove_range(self, keyspace, from..to)
    }
}

impl Writes for Db {
    fn put(&self, keyspace: &Keyspace, key: [u8; 8], row: &[u8]) -> Result<()> {
        keyspace.insert(key, row)
    }

    fn remove(&self, keyspace: &Keyspace, key: [u8; 8]) -> Result<()> {
        keyspace.remove(key)
    }

    fn remove_range(&self, keyspace: &Keyspace, from: [u8; 8], to: [u8; 8]) -> Result<()> {
        keyspace.remove_range(from..to)
    }
}

#[test]
fn a_lookup_in_a_transaction_finds_the_snapshot_with_its_own_writes() {
    for seed in seeds(0..4) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let ((db, keyspace), mut random) = (store(), Random::new(seed));
        let mut stored = Users::new();
        for _ in 0..60 {
            let (tx, mut own) = (db.begin(), stored.clone());
            let mut savepoint = (0, stored.clone());
            let mut begun: Option<(Lookup, ogive::lsm::DbTransactionIndexRange, Vec<u64>)> = None;
            for _ in 0..12 {
                match random.below(10) {
                    0 => savepoint = (tx.savepoint(), own.clone()),
                    1 => {
                        tx.rollback_to(savepoint.0);
                        own = savepoint.1.clone();
                    }
                    2..=5 => tx.write(&keyspace, &mut own, &mut random).unwrap(),
                    6 => {
                        // A range that is read later finds what was there.
                        let index = db.index("by_country").unwrap();
                        let range = tx.index_range(&index, Bound::Unbounded, Bound::Unbounded).unwrap();
                        begun = Some((Lookup::All(1), range, Lookup::All(1).of(&own)));
                    }
                    _ => {
                        let (lookup, ends) = (Lookup::drawn(&mut random), drawn_ends(&mut random));
                        let found = lookup.in_transaction(&db, &tx, ends).unwrap();
                        assert_eq!(found, lookup.predicted(&own, ends), "{lookup:?} {ends:?}");
                    }
                }
            }
            if let Some((lookup, range, predicted)) = begun {
                let found: Vec<u64> =
                    range.map(|record| u64::from_be_bytes((*record.unwrap().0).try_into().unwrap())).collect();
                assert_eq!(found, predicted, "{lookup:?}, begun before");
            }
            match (random.below(3) > 0).then(|| tx.commit()) {
                None => {}
                Some(Ok(())) => {
                    assert!(are_unique(&own));
                    stored = own;
                }
                Some(Err(error)) => {
                    assert_eq!(error.cause, Cause::NotUnique);
                    assert!(!are_unique(&own), "{error}");
                }
            }
            check(&db, &stored).unwrap();
        }
    }
}

#[test]
fn whatever_a_lookup_would_find_otherwise_is_a_conflict() {
    let (mut changed, mut passed) = (0, 0);
    for seed in seeds(0..4) {
        let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
        let ((db, keyspace), mut random) = (store(), Random::new(seed));
        let mut stored = Users::new();
        for round in 0..250 {
            let tx = db.begin();
            let (lookup, ends) = (Lookup::drawn(&mut random), drawn_ends(&mut random));
            assert_eq!(lookup.in_transaction(&db, &tx, ends).unwrap(), lookup.predicted(&stored, ends));
            tx.insert(&db, "round", format!("{round}")).unwrap();
            let mut after = stored.clone();
            match db.write(&keyspace, &mut after, &mut random) {
                Err(error) => assert_eq!(error.cause, Cause::NotUnique),
                Ok(()) => {
                    let rows = |users: &Users| -> Vec<Option<User>> {
                        lookup.predicted(users, ends).concat().iter().map(|key| users.get(key).cloned()).collect()
                    };
                    let is_other = lookup.predicted(&stored, ends) != lookup.predicted(&after, ends)
                        || rows(&stored) != rows(&after);
                    match tx.commit() {
                        Ok(()) => {
                            assert!(!is_other, "{lookup:?} {ends:?} passed");
                            passed += 1;
                        }
                        Err(error) => {
                            assert_eq!(
                                (error.cause, error.kind(), error.name()),
                                (Cause::Conflict, ErrorKind::Busy, "users")
                            );
                            assert!(error.key().is_none_or(|key| key.len() == 8), "{error}");
                            changed += u32::from(is_other);
                        }
                    }
                    stored = after;
                }
            }
            if random.below(20) == 0 {
                db.flush().unwrap();
            }
        }
        check(&db, &stored).unwrap();
    }
    assert!(changed > 50 && passed > 200, "{changed} changed, {passed} passed");
}

#[test]
fn a_row_that_was_found_and_changes_in_another_column_is_a_conflict() {
    let (db, keyspace) = store();
    let by_email = db.index("by_email").unwrap();
    for number in [1, 2] {
        keyspace.insert(key(number), with_email(&format!("{number}@x")).encode()).unwrap();
    }
    for (written, is_conflict) in [(1, true), (2, false)] {
        let tx = db.begin();
        assert_eq!(tx.index_get(&by_email, &["1@x".into()]).unwrap().count(), 1);
        tx.insert(&db, "other", "1").unwrap();
        let renamed = User { name: "m".into(), ..with_email(&format!("{written}@x")) };
        keyspace.insert(key(written), renamed.encode()).unwrap();
        assert_eq!(tx.commit().is_err_and(|error| error.cause == Cause::Conflict), is_conflict);
    }
}

fn with_email(email: &str) -> User {
    User { name: "n".into(), email: Some(email.into()), country: "de".into(), score: 0 }
}

#[test]
fn of_two_transactions_that_find_no_row_of_a_value_one_is_run_again_and_finds_it() {
    let (db, keyspace) = store();
    let by_email = db.index("by_email").unwrap();
    let mut runs = 0;
    let outcome = db.transaction(|tx| {
        runs += 1;
        if let Some(record) = tx.index_get(&by_email, &["ann@x".into()])?.next() {
            return record.map(|(key, _)| u64::from_be_bytes((*key).try_into().unwrap()));
        }
        tx.insert(&keyspace, key(1), with_email("ann@x").encode())?;
        if runs == 1 {
            // Another one was faster: this is a conflict, not a violation.
            keyspace.insert(key(2), with_email("ann@x").encode())?;
        }
        Ok::<_, Error>(1)
    });
    assert_eq!((outcome.unwrap(), runs), (2, 2));

    // Within a transaction, the last writes count.
    let tx = db.begin();
    tx.insert(&keyspace, key(3), with_email("bob@x").encode()).unwrap();
    tx.insert(&keyspace, key(4), with_email("Bob@x").encode()).unwrap();
    let error = tx.commit().unwrap_err();
    assert_eq!((error.cause, error.name(), error.index()), (Cause::NotUnique, "users", Some("by_email")));
    assert_eq!([error.key(), error.other_key()], [Some(&key(4)[..]), Some(&key(3)[..])]);
    let tx = db.begin();
    tx.insert(&keyspace, key(3), with_email("bob@x").encode()).unwrap();
    tx.insert(&keyspace, key(2), with_email("BOB@x").encode()).unwrap();
    tx.insert(&keyspace, key(3), with_email("ann@x").encode()).unwrap();
    tx.commit().unwrap();
    let all: Users = [(2, with_email("BOB@x")), (3, with_email("ann@x"))].into();
    check(&db, &all).unwrap();
}

#[test]
fn an_index_that_was_created_or_dropped_since_a_transaction_began_is_a_conflict() {
    let db = Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap();
    let keyspace = users(&db).unwrap();
    keyspace.insert(key(1), with_email("ann@x").encode()).unwrap();
    let tx = db.begin();
    let by_email = db.create_index("by_email", &keyspace, &definitions()[0].1).unwrap();
    let error = tx.index_get(&by_email, &["ann@x".into()]).unwrap_err();
    assert_eq!((error.cause, error.name()), (Cause::Conflict, "users"));

    let tx = db.begin();
    assert_eq!(tx.index_get(&by_email, &["ann@x".into()]).unwrap().count(), 1);
    tx.insert(&db, "other", "1").unwrap();
    db.drop_index("by_email").unwrap();
    assert_eq!(tx.commit().unwrap_err().cause, Cause::Conflict);
    assert_eq!(by_email.get(&["ann@x".into()]).unwrap().next().unwrap().unwrap_err().cause, Cause::KeyspaceDropped);

    // Before it is complete, no handle finds anything.
    let stop = &mut |_| Err(Error::interrupted());
    assert!(db.create_index_showing("by_email", &keyspace, &definitions()[0].1, stop).is_err());
    let unfinished = db.indexes().pop().unwrap();
    assert!(unfinished.get(&["ann@x".into()]).unwrap_err().to_string().contains("not built to its end"));
    assert!(db.begin().index_get(&unfinished, &["ann@x".into()]).is_err());
    db.create_index("by_email", &keyspace, &definitions()[0].1).unwrap();
    assert_eq!(unfinished.get(&["ann@x".into()]).unwrap().count(), 1);
    let other = Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap();
    assert!(other.begin().index_get(&unfinished, &["ann@x".into()]).is_err());
}

ogive::row! {
    #[derive(Clone, Debug, PartialEq)]
    struct Person { name: String, email: Option<String>, country: String, score: i32 }
}

fn person(email: Option<&str>, country: &str, score: i32) -> Person {
    Person { name: "n".into(), email: email.map(str::to_owned), country: country.into(), score }
}

#[test]
fn typed_lookups_find_typed_rows_from_either_end_also_in_transactions() {
    let db = Db::open(Arc::new(MemoryStorage::new()), &small()).unwrap();
    let people = db.keyspace("users").unwrap().typed::<u64, Person>().unwrap();
    for (name, definition) in definitions() {
        db.create_index(name, people.untyped(), &definition).unwrap();
    }
    let all = [
        (1, person(Some("ann@x"), "de", 5)),
        (2, person(Some("bob@x"), "de", 7)),
        (3, person(None, "dk", 1)),
        (4, person(Some("cid@x"), "fr", -3)),
    ];
    all.iter().for_each(|(number, person)| people.insert(number, person).unwrap());
    let by_email = people.index::<str>("by_email").unwrap();
    let by_country = people.index::<(&str, Desc<i32>)>("by_country").unwrap();
    let (country, initial) =
        (people.index::<&str>("by_country").unwrap(), people.index::<(&str, Option<&str>)>("by_initial").unwrap());
    macro_rules! keys {
        ($found:expr) => {
            $found.map(|record| record.unwrap().0.value().unwrap()).collect::<Vec<u64>>()
        };
    }
    let (key, ann) = by_email.get("ann@x").next().unwrap().unwrap();
    assert_eq!((key.value().unwrap(), ann.value().unwrap()), (1, all[0].1.clone()));
    assert_eq!(keys!(by_email.range("b".."c")), [2]);
    assert_eq!(keys!(by_email.prefix("c")), [4]);
    assert_eq!(keys!(by_email.range(..).rev()), [4, 2, 1]);
    assert_eq!(keys!(by_country.get(("de", Desc(5)))), [1]);
    assert_eq!(keys!(by_country.prefix(("de",))), [2, 1]);
    assert_eq!(keys!(by_country.range(("de", Desc(6))..=("dk", Desc(1)))), [1, 3]);
    assert_eq!(keys!(country.get("de")), [2, 1]);
    assert_eq!(keys!(country.prefix("d").rev()), [3, 1, 2]);
    assert_eq!(keys!(initial.get(("d", None))), [3]);
    assert_eq!(keys!(initial.get(("d", Some("bob@x")))), [2]);

    let tx = db.begin();
    tx.typed(&people).insert(2, person(Some("abe@x"), "fr", 9)).unwrap();
    assert_eq!(keys!(tx.typed_index_get(&by_email, "abe@x")), [2]);
    assert_eq!(keys!(tx.typed_index_range(&by_country, ..).rev()), [4, 2, 3, 1]);
    assert_eq!(keys!(tx.typed_index_prefix(&by_country, ("de",))), [1]);
    drop(tx);

    // Values of other types are refused, and so is an index of another keyspace.
    for refused in [
        people.index::<u64>("by_email").map(drop),
        people.index::<(&str, i32)>("by_country").map(drop),
        people.index::<(&str, Desc<i32>, u64)>("by_country").map(drop),
        people.index::<str>("by_name").map(drop),
        db.keyspace("others").unwrap().typed::<u64, Person>().unwrap().index::<str>("by_email").map(drop),
    ] {
        assert_eq!(refused.unwrap_err().cause, Cause::Input);
    }

    // A handle from before a column came returns rows without it.
    people.untyped().alter(&Alteration::new().add_field(Field::new("more", KeyType::Text).nullable())).unwrap();
    let with_more = db.create_index("by_more", people.untyped(), &IndexDefinition::by("more").unwrap()).unwrap();
    assert_eq!(with_more.get(&[Value::Null]).unwrap().count(), 4);
    assert_eq!(by_email.get("ann@x").next().unwrap().unwrap().1.value().unwrap(), all[0].1);
}
