//! Keyspaces: several ordered maps in one store, changed together by one batch, and an index of one over the other.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use ogive::{Db, DbOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    let (users, by_city) = (db.keyspace("users")?, db.keyspace("users-by-city")?);
    for (id, name, city) in [(1_u64, "Ada", "London"), (2, "Emmy", "Erlangen"), (3, "Alan", "London")] {
        let mut batch = db.batch();
        batch.insert(&users, id.to_be_bytes(), name);
        // The key holds all that is needed: its value is empty.
        batch.insert(&by_city, [city.as_bytes(), &[0], &id.to_be_bytes()].concat(), "");
        batch.commit()?;
    }

    let mut londoners = Vec::new();
    for entry in by_city.prefix("London\0") {
        let (key, _) = entry?;
        let id = key.last_chunk::<8>().ok_or("a short key")?;
        londoners.push(String::from_utf8(users.get(id)?.ok_or("no such user")?.to_vec())?);
    }
    println!("{londoners:?}");
    assert_eq!(londoners, ["Ada", "Alan"]);
    Ok(())
}
