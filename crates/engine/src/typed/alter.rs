//! Alterations of the types of keyspaces, also of those with secondary indexes.

use super::indexed::building;
use crate::error::{Error, Result};
use crate::lsm::Keyspace;
use crate::types::{Alteration, RecordType};
use std::sync::Arc;

impl Keyspace {
    /// Alters the type of its values, without rewriting them: fields are added at the end, may be null from now on, or
    /// get a type that holds all values of the old one exactly ([`KeyType::holds`](crate::types::KeyType::holds)).
    /// Returns the types as they are then. It is durable when it returns, and a crash leaves it done or not begun; one
    /// that changes nothing writes nothing.
    ///
    /// Values are stored with the number of the type in which they were written, and converted when they are read, so
    /// that an alteration takes as long for a billion records as for one; flushes and compactions write them in the
    /// new type. In a keyspace that is never altered, no value has such a number. Otherwise the store gets the format
    /// [`ALTERED_FORMAT`](crate::lsm::ALTERED_FORMAT), which older programs refuse; but not for fields that are only
    /// added.
    ///
    /// Typed handles, ranges and batches go on after added fields, which they do not see, and after fields that may be
    /// null from now on: to them, a row with a null there is [`Cause::WrongType`](crate::Cause::WrongType). After any
    /// other alteration their next call is that. Handles without types, and snapshots of any age, read values in the
    /// type of the keyspace as it is then, and write values of the type as it was when they were passed in.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::types::{Alteration, Field, KeyType, RecordType, ValueType};
    ///
    /// let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let fruit = db.keyspace("fruit")?;
    /// let values: ValueType = "{name: text, amount: u32}".parse()?;
    /// drop(fruit.declare(&RecordType::new(KeyType::Text, values.clone()))?);
    /// fruit.insert("f1", values.parse("fig,4294967295")?)?;
    ///
    /// let origin = Field::new("origin", KeyType::Text).nullable();
    /// let more = Alteration::new().widen("amount", KeyType::U64).add_field(origin);
    /// let altered = fruit.alter(&more)?;
    /// assert_eq!(altered.values.to_string(), "{name: text, amount: u64, origin: text?}");
    /// let fig = fruit.get("f1")?.expect("it is there");
    /// assert_eq!(altered.values.display(&fig), "fig,4294967295,");
    ///
    /// let refused = fruit.alter(&Alteration::new().widen("amount", KeyType::U8)).unwrap_err();
    /// assert!(refused.to_string().contains("does not hold all its values"), "{refused}");
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for an alteration that would not keep every value with its meaning (keys,
    /// narrower types, fields that are removed, renamed or moved, timestamps in another unit), and for one that changes
    /// fields of a keyspace with a secondary index, or the entries of an index: the message has the reason, and what to
    /// do. As [`Batch::commit`](crate::lsm::Batch::commit).
    pub fn alter(&self, alteration: &Alteration) -> Result<Arc<RecordType>> {
        let _no_index_is_built = building();
        let types = self.record_type();
        let altered = alteration.of(&types)?;
        if !altered.values.extends(&types.values)
            && let Some(index) = self.index_of_it()?
        {
            return Err(Error::input(format!(
                "the fields of {:?} cannot be altered, since its secondary index {index:?} is made of them by a \
                 function of the program that declared it; add a field instead, or drop the keyspace {index:?}, alter \
                 the fields, and declare the index again",
                self.name()
            )));
        }
        self.alter_values(alteration)
    }
}
