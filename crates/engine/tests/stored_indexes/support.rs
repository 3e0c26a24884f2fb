//! Test support: users with e-mail addresses in small stores, and what their indexes must contain.

use ogive::lsm::KeyspaceIndex;
use ogive::types::{IndexDefinition, KeyType, RecordType, Value, ValueType};
use ogive::{Db, DbOptions, Keyspace, Result, Storage, TableWriteOptions, TableWriter};
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A user. Long names go to the value log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) email: Option<String>,
    pub(crate) country: String,
    pub(crate) score: i32,
}

pub(crate) type Users = BTreeMap<u64, User>;

/// A small store in which everything happens soon, on the threads of its callers.
pub(crate) fn small() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(4 << 10))
        .levels(|levels| levels.table_bytes(4 << 10).level_bytes(8 << 10).level_factor(2).block_bytes(512))
        .objects(|objects| objects.gather_ms(0))
        .values(|values| values.separation_bytes(100))
}

pub(crate) fn values() -> ValueType {
    "{name: text, email: text?, country: text, score: i32}".parse().unwrap()
}

impl User {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let email = self.email.as_ref().map_or(Value::Null, |email| Value::Text(email.clone()));
        let (name, country) = (Value::Text(self.name.clone()), Value::Text(self.country.clone()));
        values().encode(&Value::Tuple(vec![name, email, country, Value::Signed(self.score.into())])).unwrap()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let Value::Tuple(fields) = values().decode(bytes).unwrap() else { panic!() };
        let text = |value: &Value| if let Value::Text(text) = value { Some(text.clone()) } else { None };
        let Value::Signed(score) = fields[3] else { panic!() };
        let (name, country) = (text(&fields[0]).unwrap(), text(&fields[2]).unwrap());
        Self { name, email: text(&fields[1]), country, score: score as i32 }
    }
}

/// A user of few names and countries.
pub(crate) fn drawn(random: &mut Random) -> User {
    let letter = |random: &mut Random| char::from(b'a' + random.below(6) as u8);
    let email = (random.below(4) > 0).then(|| {
        let upper = random.below(2) == 0;
        let name = format!("{}{}@x", letter(random), letter(random));
        if upper { name.to_uppercase() } else { name }
    });
    let name = "n".repeat(if random.below(4) == 0 { 200 } else { 3 });
    User { name, email, country: format!("{}{}", letter(random), letter(random)), score: random.below(5) as i32 - 2 }
}

pub(crate) fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// The keyspace of users, with its types.
pub(crate) fn users(db: &Db) -> Result<Keyspace> {
    let users = db.keyspace("users")?;
    drop(users.declare(&RecordType::new(KeyType::U64, values()))?);
    Ok(users)
}

/// The indexes of users.
pub(crate) fn definitions() -> [(&'static str, IndexDefinition); 3] {
    let by = |list| IndexDefinition::by(list).unwrap();
    [
        ("by_email", by("lower(email)").unique().where_not_null("email")),
        ("by_country", by("country, score desc")),
        ("by_initial", by("prefix(country, 1), email")),
    ]
}

/// Whether no two users have the same address.
pub(crate) fn are_unique(users: &Users) -> bool {
    let emails: Vec<String> = users.values().filter_map(|user| Some(user.email.as_ref()?.to_lowercase())).collect();
    let mut distinct = emails.clone();
    distinct.sort();
    distinct.dedup();
    distinct.len() == emails.len()
}

/// The keys of users in the order of an index.
pub(crate) fn expected(name: &str, users: &Users) -> Vec<u64> {
    let mut found: Vec<(String, Option<String>, i64, u64)> = Vec::new();
    for (&key, User { email, country, score, .. }) in users {
        let nulls_last = email.is_none();
        match (name, email) {
            ("by_email", Some(email)) => found.push((email.to_lowercase(), None, 0, key)),
            ("by_email", None) => {}
            ("by_country", _) => found.push((country.clone(), None, -i64::from(*score), key)),
            _ => found.push((country[..1].to_owned(), email.clone(), i64::from(nulls_last), key)),
        }
    }
    // Nulls come last.
    found.sort_by(|one, other| {
        let rank = |it: &(String, Option<String>, i64, u64)| (it.0.clone(), it.2, it.1.clone(), it.3);
        rank(one).cmp(&rank(other))
    });
    found.into_iter().map(|(.., key)| key).collect()
}

fn check_index(index: &KeyspaceIndex, users: &Users) -> std::result::Result<(), String> {
    let read = || -> Result<Vec<(u64, User)>> {
        let all = index.range(Bound::Unbounded, Bound::Unbounded)?;
        all.map(|record| {
            let (key, row) = record?;
            Ok((u64::from_be_bytes((*key).try_into().unwrap()), User::decode(&row)))
        })
        .collect()
    };
    let found = read().map_err(|error| error.to_string())?;
    let keys: Vec<u64> = found.iter().map(|(key, _)| *key).collect();
    let expected = expected(index.name(), users);
    if keys != expected {
        return Err(format!("{} leads to {keys:?}, not {expected:?}", index.name()));
    }
    match found.iter().find(|(key, user)| users.get(key) != Some(user)) {
        Some((key, user)) => Err(format!("{} has {user:?} of {key}", index.name())),
        None => Ok(()),
    }
}

/// Checks rows and complete indexes.
pub(crate) fn check(db: &Db, users: &Users) -> std::result::Result<(), String> {
    let stored = db.keyspace("users").map_err(|error| error.to_string())?;
    let rows: Result<Users> = stored
        .iter()
        .map(|record| {
            let (key, row) = record?;
            Ok((u64::from_be_bytes((*key).try_into().unwrap()), User::decode(&row)))
        })
        .collect();
    let rows = rows.map_err(|error| error.to_string())?;
    if rows != *users {
        return Err(format!("the rows are {rows:?}, not {users:?}"));
    }
    db.indexes().iter().filter(|index| index.is_complete()).try_for_each(|index| check_index(index, users))?;
    let report = db.verify(&mut |_, _| {}).map_err(|error| error.to_string())?;
    if report.is_sound() { Ok(()) } else { Err(format!("{report:?}")) }
}

/// Writes a table of users, named "table".
pub(crate) fn table(folder: &Arc<dyn Storage>, users: impl IntoIterator<Item = (u64, User)>) {
    let options = TableWriteOptions::default().key_type(KeyType::U64).value_type(values());
    let mut writer = TableWriter::create((Arc::clone(folder), "table"), options).unwrap();
    users.into_iter().for_each(|(number, user)| writer.append(&key(number), &user.encode()).unwrap());
    writer.finish().unwrap();
}
