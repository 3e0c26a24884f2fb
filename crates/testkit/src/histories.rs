//! Histories of transactions, searched for anomalies of isolation, as Adya, Liskov and O'Neil name them ("Generalized
//! isolation level definitions", 2000), by the method of Elle (Kingsbury and Alvaro, 2020): values are lists, and
//! writes append elements of their own, so that each list that is read tells the order of all writes before it.
//!
//! Transactions are nodes of a graph. There is an edge from one to another that appends behind its element (ww), reads
//! a list that ends with its element (wr), or appends behind what it has read (rw). A cycle is an anomaly:
//!
//! | name | cycle of |
//! |---|---|
//! | G0 | ww |
//! | G1c | ww and wr |
//! | G2-item | ww, wr, and rw of keys that were read |
//! | G2 | all, those of ranges that were read too |
//!
//! G1a is a read of a transaction that was not committed, G1b one of a list between two writes of one transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its commit was acknowledged.
    Committed,
    /// It was not committed.
    Aborted,
    /// Its commit failed without an answer: it may be there.
    Unknown,
}

/// The list that a transaction has read, before its own writes.
#[derive(Clone, Debug)]
pub struct ListRead {
    /// The key.
    pub key: u64,
    /// The elements; none if the key is absent.
    pub list: Vec<u64>,
    /// Whether it was read by a range.
    pub is_of_range: bool,
}

/// A transaction of a history.
#[derive(Clone, Debug)]
pub struct HistoryTransaction {
    /// What it has read.
    pub reads: Vec<ListRead>,
    /// The elements that it has appended, each to a key, in order. No element is appended twice.
    pub appends: Vec<(u64, u64)>,
    /// Its end.
    pub ending: Ending,
}

/// The kind of an edge, from the least to the most that an isolation must rule out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EdgeKind {
    WriteWrite,
    WriteRead,
    ReadWriteOfKey,
    ReadWriteOfRange,
}

/// The cycles that are searched for: their name, and the edges that they may have.
const CYCLES: [(&str, EdgeKind); 4] = [
    ("G0", EdgeKind::WriteWrite),
    ("G1c", EdgeKind::WriteRead),
    ("G2-item", EdgeKind::ReadWriteOfKey),
    ("G2", EdgeKind::ReadWriteOfRange),
];

/// Searches a history for an anomaly; `last` are the lists at its end.
///
/// # Errors
/// The name of the first anomaly, and the transactions that are part of it.
pub fn check_history(history: &[HistoryTransaction], last: &BTreeMap<u64, Vec<u64>>) -> Result<(), String> {
    let writers = writers(history, last)?;
    check_reads(history, last, &writers)?;
    let mut edges: Vec<BTreeSet<(usize, EdgeKind)>> = vec![BTreeSet::new(); history.len()];
    let mut add = |from: usize, to: usize, kind| {
        if from != to {
            edges[from].insert((to, kind));
        }
    };
    for list in last.values() {
        list.windows(2).for_each(|pair| add(writers[&pair[0]], writers[&pair[1]], EdgeKind::WriteWrite));
    }
    for (reader, read) in alive(history, &writers).flat_map(|(at, it)| it.reads.iter().map(move |read| (at, read))) {
        if let Some(element) = read.list.last() {
            add(writers[element], reader, EdgeKind::WriteRead);
        }
        let kind = if read.is_of_range { EdgeKind::ReadWriteOfRange } else { EdgeKind::ReadWriteOfKey };
        if let Some(next) = last.get(&read.key).and_then(|list| list.get(read.list.len())) {
            add(reader, writers[next], kind);
        }
    }
    for (name, most) in CYCLES {
        if let Some(cycle) = cycle(&edges, most) {
            let shown: Vec<String> = cycle.iter().map(|&at| format!("{at}: {:?}", history[at])).collect();
            return Err(format!("{name}:\n{}", shown.join("\n")));
        }
    }
    Ok(())
}

/// The transactions that are in the lists at the end, or were acknowledged.
fn alive<'a>(
    history: &'a [HistoryTransaction],
    writers: &HashMap<u64, usize>,
) -> impl Iterator<Item = (usize, &'a HistoryTransaction)> {
    let found: BTreeSet<usize> = writers.values().copied().collect();
    let is_alive = move |at: usize, ending| ending == Ending::Committed || found.contains(&at);
    history.iter().enumerate().filter(move |(at, it)| is_alive(*at, it.ending))
}

/// The transaction of each element of the lists at the end: each is there wholly, in its order, or not at all.
fn writers(history: &[HistoryTransaction], last: &BTreeMap<u64, Vec<u64>>) -> Result<HashMap<u64, usize>, String> {
    let mut places: HashMap<u64, (u64, usize)> = HashMap::new();
    for (&key, list) in last {
        for (place, &element) in list.iter().enumerate() {
            if places.insert(element, (key, place)).is_some() {
                return Err(format!("the element {element} is there twice"));
            }
        }
    }
    let mut writers = HashMap::new();
    for (at, transaction) in history.iter().enumerate() {
        let found: Vec<_> = transaction.appends.iter().map(|(_, element)| places.get(element)).collect();
        let (count, all) = (found.iter().flatten().count(), transaction.appends.len());
        let is_fine = match transaction.ending {
            Ending::Committed => count == all,
            Ending::Aborted => count == 0,
            Ending::Unknown => count == 0 || count == all,
        };
        if !is_fine {
            return Err(format!("{count} of {all} writes are there of {at}: {transaction:?}"));
        }
        for ((key, element), place) in transaction.appends.iter().zip(found.into_iter().flatten()) {
            if place.0 != *key {
                return Err(format!("the element {element} is in the list of another key"));
            }
            writers.insert(*element, at);
        }
    }
    match places.keys().find(|element| !writers.contains_key(element)) {
        Some(element) => Err(format!("no transaction has written the element {element}")),
        None => Ok(writers),
    }
}

/// Checks that each list that was read was there at some time, between transactions.
fn check_reads(
    history: &[HistoryTransaction],
    last: &BTreeMap<u64, Vec<u64>>,
    writers: &HashMap<u64, usize>,
) -> Result<(), String> {
    for (reader, transaction) in alive(history, writers) {
        for read in &transaction.reads {
            let all = last.get(&read.key).map_or(&[][..], Vec::as_slice);
            if let Some(aborted) = read.list.iter().find(|element| !writers.contains_key(element)) {
                return Err(format!("G1a: {reader} has read the element {aborted}: {transaction:?}"));
            }
            if !all.starts_with(&read.list) {
                return Err(format!("{reader} has read a list that was never there: {transaction:?}, not {all:?}"));
            }
            let ends = [read.list.last(), all.get(read.list.len())].map(|end| end.map(|element| writers[element]));
            if ends[0].is_some() && ends[0] == ends[1] {
                return Err(format!("G1b: {reader} has read a list between two writes: {transaction:?}"));
            }
        }
    }
    Ok(())
}

/// A cycle of edges of kinds up to `most`, if there is one: a walk that leaves out nodes whose walks have ended.
fn cycle(edges: &[BTreeSet<(usize, EdgeKind)>], most: EdgeKind) -> Option<Vec<usize>> {
    let next = |at: usize| edges[at].iter().filter(move |(_, kind)| *kind <= most).map(|(to, _)| *to);
    let mut is_done = vec![false; edges.len()];
    for start in 0..edges.len() {
        if is_done[start] {
            continue;
        }
        let mut path = vec![start];
        let mut left: Vec<Vec<usize>> = vec![next(start).collect()];
        let mut is_on_path = BTreeSet::from([start]);
        while let (Some(open), Some(&at)) = (left.last_mut(), path.last()) {
            match open.pop() {
                Some(to) if is_on_path.contains(&to) => {
                    let from = path.iter().position(|&on_path| on_path == to)?;
                    return Some(path.split_off(from));
                }
                Some(to) if !is_done[to] => {
                    path.push(to);
                    is_on_path.insert(to);
                    left.push(next(to).collect());
                }
                Some(_) => {}
                None => {
                    is_done[at] = true;
                    is_on_path.remove(&at);
                    path.pop();
                    left.pop();
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: u64, list: &[u64]) -> ListRead {
        ListRead { key, list: list.to_vec(), is_of_range: false }
    }

    fn of_range(key: u64, list: &[u64]) -> ListRead {
        ListRead { is_of_range: true, ..read(key, list) }
    }

    fn committed(reads: Vec<ListRead>, appends: &[(u64, u64)]) -> HistoryTransaction {
        HistoryTransaction { reads, appends: appends.to_vec(), ending: Ending::Committed }
    }

    fn lists<const N: usize>(lists: [(u64, &[u64]); N]) -> BTreeMap<u64, Vec<u64>> {
        lists.into_iter().map(|(key, list)| (key, list.to_vec())).collect()
    }

    #[track_caller]
    fn assert_found(name: &str, history: &[HistoryTransaction], last: &BTreeMap<u64, Vec<u64>>) {
        let found = check_history(history, last).unwrap_err();
        assert!(found.starts_with(name), "{name} was expected: {found}");
    }

    #[test]
    fn each_anomaly_is_found_by_its_name() {
        let last = lists([(1, &[10, 20]), (2, &[21, 11])]);
        let writes = [committed(vec![], &[(1, 10), (2, 11)]), committed(vec![], &[(1, 20), (2, 21)])];
        assert_found("G0:", &writes, &last);
        let aborted = HistoryTransaction { ending: Ending::Aborted, ..committed(vec![], &[(1, 10)]) };
        assert_found("G1a:", &[aborted, committed(vec![read(1, &[10])], &[])], &lists([]));
        let twice = committed(vec![], &[(1, 10), (1, 11)]);
        assert_found("G1b:", &[twice, committed(vec![read(1, &[10])], &[])], &lists([(1, &[10, 11])]));
        let circle = [committed(vec![read(2, &[20])], &[(1, 10)]), committed(vec![read(1, &[10])], &[(2, 20)])];
        assert_found("G1c:", &circle, &lists([(1, &[10]), (2, &[20])]));
        let skew = [committed(vec![read(2, &[])], &[(1, 10)]), committed(vec![read(1, &[])], &[(2, 20)])];
        assert_found("G2-item:", &skew, &lists([(1, &[10]), (2, &[20])]));
        let skew = [committed(vec![of_range(2, &[])], &[(1, 10)]), committed(vec![of_range(1, &[])], &[(2, 20)])];
        assert_found("G2:", &skew, &lists([(1, &[10]), (2, &[20])]));
    }

    #[test]
    fn a_transaction_is_there_wholly_or_the_history_says_so() {
        let both = |ending| HistoryTransaction { ending, ..committed(vec![], &[(1, 10), (2, 11)]) };
        for (ending, last, is_fine) in [
            (Ending::Committed, lists([(1, &[10]), (2, &[11])]), true),
            (Ending::Committed, lists([(1, &[10])]), false),
            (Ending::Unknown, lists([(1, &[10]), (2, &[11])]), true),
            (Ending::Unknown, lists([]), true),
            (Ending::Unknown, lists([(2, &[11])]), false),
            (Ending::Aborted, lists([(1, &[10]), (2, &[11])]), false),
        ] {
            assert_eq!(check_history(&[both(ending)], &last).is_ok(), is_fine, "{ending:?} {last:?}");
        }
    }

    #[test]
    fn transactions_one_after_the_other_have_no_anomaly() {
        let history = [
            committed(vec![read(1, &[])], &[(1, 10)]),
            committed(vec![of_range(1, &[10]), of_range(2, &[])], &[(2, 20)]),
            committed(vec![read(2, &[20])], &[(1, 11), (2, 21)]),
        ];
        assert_eq!(check_history(&history, &lists([(1, &[10, 11]), (2, &[20, 21])])), Ok(()));
    }
}
