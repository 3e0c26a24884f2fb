//! The join writer of a shape: rows pass through a join whose output is a table.

use super::check::{Answers, Effort, check_table, doing};
use super::rows::Rows;
use super::shape::{JoinForm, Relation, Shape};
use ogive::Durability;
use ogive::io::{MemoryStorage, Storage};
use ogive::join::{JoinKind, JoinOptions, JoinOutput, JoinSource, JoinedRecords, RecordShape, join};
use ogive::lsm::{Db, DbOptions};
use ogive::table::{Table, TableWriter};
use std::cell::RefCell;
use std::sync::Arc;

/// A join that says how much memory it takes may find later that another step takes more: not for each of many parts.
const RAISED_MOST: u32 = 8;

/// Joins the rows with some of their keys, and holds the table of the output against what it should be.
pub(super) fn check(shape: &Shape, form: &JoinForm, rows: &Rows, effort: Effort) -> Result<(), String> {
    let right = some_of(rows, form.right_one_in);
    let left_source = doing("the left relation", source(shape, form.relations.0, rows))?;
    let right_source = doing("the right relation", source(shape, form.relations.1, &right))?;
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let written = shape.write_options()?;
    let mut options = JoinOptions::default()
        .kind(form.kind)
        .method(form.method)
        .memory_bytes(form.memory_bytes)
        .threads(form.threads)
        .spill(Some((Arc::new(MemoryStorage::new()), "spilled".to_owned())))
        .fast_paths(shape.fast_paths);
    for raised in 0.. {
        if raised > RAISED_MOST {
            return Err(format!("memory is short after it was raised {raised} times, to {}", options.memory_bytes));
        }
        let output = JoinOutput::table(Arc::clone(&storage), "t", written.clone());
        match join(&left_source, &right_source, output, &options) {
            // Some methods take more memory than there is, and say how much.
            Err(ogive::Error { cause: ogive::Cause::JoinMemory { needed_bytes, .. }, .. })
                if needed_bytes > options.memory_bytes =>
            {
                options.memory_bytes = needed_bytes;
            }
            // Some cannot join some relations.
            Err(ogive::Error { cause: ogive::Cause::Input | ogive::Cause::ValueTooLarge { .. }, .. }) => return Ok(()),
            outcome => {
                doing("join", outcome.map(|_| ()))?;
                break;
            }
        }
    }
    let table = doing("open", Table::open((storage, "t"), &shape.open_options()))?;
    let records = doing("the types", JoinedRecords::of(&left_source, &right_source, form.kind))?;
    let mut joined = Joined::new(form, rows, &right, records);
    joined.take_order_of(&table)?;
    let answers = Answers::with(&joined.rows, |row, value| joined.value(row, value));
    check_table(&table, &answers, effort)
}

/// Every n-th key, with different values.
fn some_of(rows: &Rows, one_in: usize) -> Rows {
    let mut some = rows.none_like(0x726f_7773);
    let mut number = 0_usize;
    for row in 0..rows.len() {
        if row > 0 && rows.key(row) == rows.key(row - 1) {
            continue;
        }
        if number.is_multiple_of(one_in.max(1)) {
            some.push(rows.key(row));
        }
        number += 1;
    }
    some
}

fn source(shape: &Shape, relation: Relation, rows: &Rows) -> Result<JoinSource, ogive::Error> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let mut value = Vec::new();
    // A store has each key once.
    let repeats = (1..rows.len()).any(|row| rows.key(row) == rows.key(row - 1));
    match relation {
        Relation::Unsorted => Ok(unsorted(shape, rows)),
        Relation::Store if !repeats => {
            let (durability, fast_paths) = (Durability::Buffered, shape.fast_paths);
            let options = DbOptions::default().durability(durability).threads(0).fast_paths(fast_paths);
            let db = Db::open(storage, &options)?;
            for row in 0..rows.len() {
                rows.value(row, &mut value);
                db.insert(rows.key(row), &value)?;
            }
            Ok(JoinSource::snapshot::<Vec<u8>>(&db.snapshot(), &db, ..))
        }
        Relation::Store | Relation::Table => {
            let options = shape.write_options().map_err(ogive::Error::input)?;
            let mut writer = TableWriter::create((Arc::clone(&storage), "t"), options)?;
            for row in 0..rows.len() {
                rows.value(row, &mut value);
                writer.append(rows.key(row), &value)?;
            }
            writer.finish()?;
            Ok(JoinSource::table(&Table::open((storage, "t"), &shape.open_options())?))
        }
    }
}

/// Whether values of a relation are known to have one width.
fn states_width(shape: &Shape, relation: Relation) -> bool {
    let states = shape.table.states_value_width && shape.key_type.width().is_some();
    states && relation != Relation::Store
}

fn unsorted(shape: &Shape, rows: &Rows) -> JoinSource {
    let stated = states_width(shape, Relation::Unsorted);
    let record_shape = RecordShape {
        name: "rows".into(),
        key_type: shape.key_type,
        value_bytes: shape.values.width().filter(|_| stated),
        rows: rows.len() as u64,
        bytes: rows.bytes(),
    };
    let (rows, order) = (Arc::new(rows.clone()), Arc::new(rows.shuffled()));
    JoinSource::unsorted(record_shape, move || {
        let (rows, order) = (Arc::clone(&rows), Arc::clone(&order));
        Box::new((0..rows.len()).map(move |at| {
            let mut value = Vec::new();
            rows.value(order[at], &mut value);
            Ok((rows.key(order[at]).to_vec(), value))
        }))
    })
}

/// The expected rows of a join.
struct Joined<'a> {
    rows: Rows,
    /// For each row of the output the left row, and the right one if there is any.
    origins: Vec<(usize, Option<usize>)>,
    left: &'a Rows,
    right: &'a Rows,
    /// Makes the values of the records.
    records: RefCell<JoinedRecords>,
}

impl<'a> Joined<'a> {
    fn new(form: &JoinForm, left: &'a Rows, right: &'a Rows, records: JoinedRecords) -> Self {
        let records = RefCell::new(records);
        let mut joined = Self { rows: left.none_like(0), origins: Vec::new(), left, right, records };
        for row in 0..left.len() {
            let at = right.rank(left.key(row));
            let partner = (at < right.len() && right.key(at) == left.key(row)).then_some(at);
            let stays = match form.kind {
                JoinKind::Inner | JoinKind::Semi => partner.is_some(),
                JoinKind::Left | JoinKind::Full => true,
                JoinKind::Anti => partner.is_none(),
            };
            if stays {
                joined.rows.push(left.key(row));
                joined.origins.push((row, partner.filter(|_| form.kind.pairs())));
            }
        }
        joined
    }

    /// Puts rows of one key in the order in which the table has them: joins guarantee none.
    fn take_order_of(&mut self, table: &Table) -> Result<(), String> {
        let mut records = table.iter();
        let mut first = 0;
        while first < self.rows.len() {
            let behind = self.rows.through(self.rows.key(first));
            let mut found = Vec::new();
            for record in records.by_ref().take(behind - first) {
                found.push(doing("the rows of a key", record)?.1);
            }
            if found.len() > 1 {
                self.reorder(first, &found);
            }
            first = behind;
        }
        Ok(())
    }

    /// Reorders the rows from `first` on so that they have these values in this order; leaves them if they have others.
    fn reorder(&mut self, first: usize, found: &[Vec<u8>]) {
        let mut expected = vec![Vec::new(); found.len()];
        expected.iter_mut().zip(first..).for_each(|(value, row)| self.value(row, value));
        let sorted = |values: &[Vec<u8>]| {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|&a, &b| values[a].cmp(&values[b]));
            order
        };
        let (places, rows) = (sorted(found), sorted(&expected));
        if places.iter().zip(&rows).all(|(&place, &row)| found[place] == expected[row]) {
            let origins = self.origins[first..first + found.len()].to_vec();
            places.iter().zip(&rows).for_each(|(&place, &row)| self.origins[first + place] = origins[row]);
        }
    }

    fn value(&self, row: usize, out: &mut Vec<u8>) {
        let (left, partner) = self.origins[row];
        let (mut value, mut other) = (Vec::new(), Vec::new());
        self.left.value(left, &mut value);
        let partner = partner.map(|partner| self.right.value(partner, &mut other));
        out.clear();
        let right = partner.map(|()| &other[..]);
        if let Err(error) = self.records.borrow_mut().append(self.rows.key(row), Some(&value), right, out) {
            out.extend_from_slice(error.to_string().as_bytes());
        }
    }
}
