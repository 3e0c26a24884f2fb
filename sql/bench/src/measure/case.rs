//! The queries that are measured.

use super::data::{RATIOS, UserIds};
use crate::mixed::mixed;
use ogive_testkit::Random;

/// Queries of a kind, made from random keys.
type Maker = Box<dyn Fn(&mut Random, &UserIds) -> String + Send + Sync>;

/// A kind of query.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Queries of a round; the time of one is measured.
    pub(crate) queries: usize,
    /// Memory of operators in bytes, if it is limited.
    pub(crate) memory_bytes: Option<usize>,
    maker: Maker,
}

impl Case {
    fn new(
        name: &str,
        queries: usize,
        maker: impl Fn(&mut Random, &UserIds) -> String + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), queries, memory_bytes: None, maker: Box::new(maker) }
    }

    fn fixed(name: &str, sql: impl Into<String>) -> Self {
        let sql = sql.into();
        Self::new(name, 1, move |_, _| sql.clone())
    }

    /// The queries of a round, the same for all subjects.
    pub(super) fn round(&self, round: u64, ids: &UserIds) -> Vec<String> {
        let name = self.name.bytes().fold(0, |word, byte| mixed(word ^ u64::from(byte)));
        let mut draw = Random::new(name ^ mixed(round + 1));
        (0..self.queries).map(|_| (self.maker)(&mut draw, ids)).collect()
    }
}

fn list(keys: usize) -> impl Fn(&mut Random, &UserIds) -> String {
    move |draw, ids| {
        let keys: Vec<String> = (0..keys).map(|_| ids.draw(draw).to_string()).collect();
        format!("select count(*), sum(balance) from users where id in ({})", keys.join(", "))
    }
}

/// Users of a range that is a share of all.
fn share(ids: &UserIds, divisor: u64) -> u64 {
    (ids.users() / divisor).max(1)
}

fn lookups() -> Vec<Case> {
    vec![
        Case::new("point", 50, |draw, ids| format!("select * from users where id = {}", ids.draw(draw))),
        Case::new("point, absent", 50, |draw, ids| {
            format!("select * from users where id = {}", ids.id(ids.users() - 1) + 1 + draw.below(9).cast_signed())
        }),
        Case::new("point, repeated key", 20, |draw, ids| {
            format!("select * from events where user_id = {}", ids.draw(draw))
        }),
        Case::new("in 10 keys", 20, list(10)),
        Case::new("in 1,000 keys", 5, list(1_000)),
        Case::new("in 100,000 keys", 1, list(100_000)),
    ]
}

fn ranges() -> Vec<Case> {
    let between = |(first, last): (i64, i64)| format!("between {first} and {last}");
    vec![
        Case::new("range of 100 rows", 20, move |draw, ids| {
            format!("select * from users where id {}", between(ids.range(draw, 100)))
        }),
        Case::new("sum of 1 % of rows", 5, move |draw, ids| {
            format!("select sum(balance) from users where id {}", between(ids.range(draw, share(ids, 100))))
        }),
        Case::new("sum of 10 % of rows", 1, move |draw, ids| {
            format!("select sum(balance) from users where id {}", between(ids.range(draw, share(ids, 10))))
        }),
        Case::fixed("sum of all rows", "select sum(balance) from users"),
        Case::fixed("first 10", "select * from users order by id limit 10"),
        Case::fixed("last 10", "select * from users order by id desc limit 10"),
        Case::new("next 10", 10, |draw, ids| {
            format!("select * from users where id >= {} order by id limit 10", ids.range(draw, 100).0)
        }),
        Case::new("previous 10", 10, |draw, ids| {
            format!("select * from users where id < {} order by id desc limit 10", ids.range(draw, 100).1)
        }),
        Case::fixed("count of all", "select count(*) from users"),
        Case::new("count of 1,000 rows", 10, move |draw, ids| {
            format!("select count(*) from users where id {}", between(ids.range(draw, 1_000)))
        }),
        Case::new("count of half", 5, move |draw, ids| {
            format!("select count(*) from users where id {}", between(ids.range(draw, share(ids, 2))))
        }),
        Case::new("count of half, repeated keys", 5, move |draw, ids| {
            format!("select count(*) from events where user_id {}", between(ids.range(draw, share(ids, 2))))
        }),
        Case::fixed("min and max", "select min(id), max(id) from users"),
        Case::new("min and max of 10 %", 5, move |draw, ids| {
            format!("select min(id), max(id) from users where id {}", between(ids.range(draw, share(ids, 10))))
        }),
        Case::fixed(
            "groups by key",
            "select max(n) from (select user_id, count(*) as n from events group by user_id) as g",
        ),
    ]
}

fn unsorted_join(ratio: u64) -> String {
    let sides = format!("stream_{ratio} s join users u on s.id = u.id");
    format!("select count(*), sum(s.amount), sum(u.balance) from {sides}")
}

const SORTED_JOIN: &str =
    "select count(*), sum(e.amount), sum(u.balance) from events e join users u on e.user_id = u.id";

fn joins() -> Vec<Case> {
    let mut cases: Vec<Case> =
        RATIOS.iter().rev().map(|&ratio| Case::fixed(&format!("join 1:{ratio}"), unsorted_join(ratio))).collect();
    cases.push(Case::fixed("join, both sorted", SORTED_JOIN));
    cases.push(Case::fixed(
        "left join 1:1000",
        "select count(*), count(u.id), sum(u.balance) from stream_1000 s left join users u on s.id = u.id",
    ));
    cases.push(Case::fixed(
        "semi join 1:1000",
        "select count(*), sum(balance) from users u where exists (select 1 from stream_1000 s where s.id = u.id)",
    ));
    cases
}

fn limited_joins(memory_bytes: usize) -> Vec<Case> {
    let mib = memory_bytes >> 20;
    let limited = |name: &str, sql: String| Case {
        memory_bytes: Some(memory_bytes),
        ..Case::fixed(&format!("{name}, {mib} MiB"), sql)
    };
    vec![limited("join 1:1", unsorted_join(1)), limited("join, both sorted", SORTED_JOIN.to_owned())]
}

/// All kinds of queries, with joins in these limits of memory.
pub(crate) fn cases(limits_bytes: &[usize]) -> Vec<Case> {
    let mut cases = lookups();
    cases.extend(ranges());
    cases.extend(joins());
    cases.extend(limits_bytes.iter().flat_map(|&bytes| limited_joins(bytes)));
    cases
}
