//! Random queries of a data set.

use super::column::{ColumnKind, RandomColumn};
use super::data_set::DataSet;
use datafusion::error::Result;
use ogive_testkit::Random;

/// A query with a total order of its rows.
///
/// # Errors
/// None but those of Arrow.
pub fn random_query(draw: &mut Random, set: &DataSet) -> Result<String> {
    let mut writer = QueryWriter { draw, set };
    match writer.draw.below(10) {
        0..=3 => Ok(writer.plain()?.0),
        4..=7 => writer.aggregate(),
        8 => writer.union(),
        _ => writer.nested(),
    }
}

/// A column that expressions may name.
#[derive(Clone, Debug)]
struct Scoped<'a> {
    sql: String,
    column: &'a RandomColumn,
}

/// Tables of a query, and their columns.
struct Source<'a> {
    from: String,
    conditions: Vec<String>,
    scope: Vec<Scoped<'a>>,
    rows: u64,
}

struct QueryWriter<'a, 'd> {
    draw: &'d mut Random,
    set: &'a DataSet,
}

fn is_joinable(one: &Scoped<'_>, other: &Scoped<'_>) -> bool {
    one.column.kind == other.column.kind || one.column.kind.is_integer() && other.column.kind.is_integer()
}

impl<'a> QueryWriter<'a, '_> {
    fn source(&mut self, alias: &str) -> Source<'a> {
        let set = self.set;
        let table = self.draw.pick(&set.tables);
        let scoped = |column: &'a RandomColumn| Scoped { sql: format!("{alias}.\"{}\"", column.name), column };
        Source {
            from: format!("{} {alias}", table.table.name),
            conditions: Vec::new(),
            scope: table.columns.iter().map(scoped).collect(),
            rows: table.rows.num_rows() as u64,
        }
    }

    /// One table, or a join of two or three.
    fn joined(&mut self) -> Result<Source<'a>> {
        let mut source = self.source("t0");
        let tables = *self.draw.pick(&[1, 1, 1, 2, 2, 2, 2, 3, 3]);
        for at in 1..tables {
            let other = self.source(&format!("t{at}"));
            self.join(&mut source, other, at + 1 == tables)?;
        }
        Ok(source)
    }

    /// Joins another table, unless it has no column in common, or the result would be large.
    fn join(&mut self, source: &mut Source<'a>, other: Source<'a>, is_last: bool) -> Result<()> {
        let most = self.set.size.joined_rows();
        let pairs = source.scope.iter().flat_map(|one| other.scope.iter().map(move |two| (one, two)));
        let pairs: Vec<_> = pairs
            .filter(|(one, two)| is_joinable(one, two))
            .map(|(one, two)| {
                let skew = if one.column.is_skewed && two.column.is_skewed { 8 } else { 1 };
                let rows = source.rows * other.rows * skew / one.column.domain.max(two.column.domain).max(1);
                (format!("{} = {}", one.sql, two.sql), rows)
            })
            .filter(|(_, rows)| *rows <= most)
            .collect();
        if pairs.is_empty() {
            return Ok(());
        }
        let (mut condition, rows) = self.draw.pick(&pairs).clone();
        // The condition of a comma is one of the query, and must be the last join to be seen as one.
        let kinds = &["join", "join", "join", "left join", "right join", "full join", ","];
        let kind = *self.draw.pick(if is_last { &kinds[..] } else { &kinds[..6] });
        if self.draw.one_in(4) {
            condition = format!("{condition} and {}", self.draw.pick(&pairs).0);
        }
        let sides = [source.rows, other.rows];
        if kind == "," {
            source.conditions.push(condition);
            source.from = format!("{}, {}", source.from, other.from);
        } else {
            // DuckDB takes no further conditions in a full join.
            if kind != "full join" && self.draw.one_in(4) {
                let mut both = source.scope.clone();
                both.extend(other.scope.iter().cloned());
                condition = format!("{condition} and {}", self.simple(&both)?);
            }
            source.from = format!("{} {kind} {} on {condition}", source.from, other.from);
        }
        source.rows = rows.max(if kind == "join" || kind == "," { 0 } else { sides[0].max(sides[1]) });
        source.scope.extend(other.scope);
        Ok(())
    }

    fn conditions(&mut self, source: &Source<'a>) -> Result<String> {
        let mut all = source.conditions.clone();
        for _ in 0..*self.draw.pick(&[0, 0, 1, 1, 2, 3]) {
            all.push(self.condition(&source.scope, true)?);
        }
        Ok(if all.is_empty() { String::new() } else { format!(" where {}", all.join(" and ")) })
    }

    fn condition(&mut self, scope: &[Scoped<'a>], with_queries: bool) -> Result<String> {
        Ok(match self.draw.below(10) {
            0 => format!("({} or {})", self.simple(scope)?, self.simple(scope)?),
            1 => format!("not ({})", self.simple(scope)?),
            2 if with_queries => self.member(scope)?,
            3 if with_queries => self.exists(scope)?,
            4 => {
                let either = format!("({} and {})", self.simple(scope)?, self.simple(scope)?);
                format!("({either} or {})", self.simple(scope)?)
            }
            _ => self.simple(scope)?,
        })
    }

    /// A condition of one column, or of two of the same type.
    fn simple(&mut self, scope: &[Scoped<'a>]) -> Result<String> {
        let keys: Vec<_> = scope.iter().filter(|of| of.column.is_key && self.draw.one_in(2)).collect();
        let Scoped { sql, column } = match keys.is_empty() {
            true => self.draw.pick(scope).clone(),
            false => (*self.draw.pick(&keys)).clone(),
        };
        if column.kind == ColumnKind::Bool {
            return Ok(match self.draw.below(4) {
                0 => sql,
                1 => format!("not {sql}"),
                2 => format!("{sql} is null"),
                _ => format!("{sql} = true"),
            });
        }
        let literal = column.literal(self.draw)?;
        let operator = *self.draw.pick(&["=", "=", "<", "<=", ">", ">=", "<>"]);
        Ok(match self.draw.below(12) {
            0 => format!("{literal} {operator} {sql}"),
            1 | 2 => format!("{sql} between {literal} and {}", column.literal(self.draw)?),
            3 => format!("{sql} in ({})", self.list(column, literal)?),
            4 => format!("{sql} not in ({})", self.list(column, literal)?),
            5 => format!("{sql} is {}null", self.draw.pick(&["", "not "])),
            6 | 7 if column.kind == ColumnKind::Text => self.pattern(&sql, column),
            6 if column.kind.is_integer() => {
                format!("cast({sql} as bigint) % {} = {}", 2 + self.draw.below(4), self.draw.below(2))
            }
            7 => match scope.iter().rfind(|other| other.column.kind == column.kind && other.sql != sql) {
                Some(other) => format!("{sql} {operator} {}", other.sql),
                None => format!("{sql} {operator} {literal}"),
            },
            _ => format!("{sql} {operator} {literal}"),
        })
    }

    fn list(&mut self, column: &RandomColumn, first: String) -> Result<String> {
        let mut list = vec![first];
        for _ in 0..*self.draw.pick(&[0, 1, 3, 3, 8, 70]) {
            list.push(column.literal(self.draw)?);
        }
        if self.draw.one_in(12) {
            list.push("null".to_owned());
        }
        Ok(list.join(", "))
    }

    fn pattern(&mut self, sql: &str, column: &RandomColumn) -> String {
        let number = self.draw.below(column.domain);
        match self.draw.below(6) {
            0 => format!("{sql} like 'k{:02}%'", number / 10),
            1 => format!("{sql} not like 'k{}%'", number / 100),
            2 => format!("{sql} like '%{}%'", self.draw.pick(&["é", " ", "日", "''s", "1", "%"])),
            3 => format!("{sql} like 'k_{}%'", number % 10),
            4 => format!("starts_with({sql}, 'k{:02}')", number / 10),
            _ => format!("{sql} like 'k{number:03}'"),
        }
    }

    /// Whether a value is among those of another query.
    fn member(&mut self, scope: &[Scoped<'a>]) -> Result<String> {
        let inner = self.source("s0");
        let pairs = scope.iter().flat_map(|one| inner.scope.iter().map(move |two| (one, two)));
        let pairs: Vec<_> = pairs.filter(|(one, two)| is_joinable(one, two)).collect();
        if pairs.is_empty() {
            return self.simple(scope);
        }
        let (one, two) = *self.draw.pick(&pairs);
        let word = *self.draw.pick(&["in", "in", "not in"]);
        let condition = self.simple(&inner.scope)?;
        Ok(format!("{} {word} (select {} from {} where {condition})", one.sql, two.sql, inner.from))
    }

    /// Whether another table has a row for this one.
    fn exists(&mut self, scope: &[Scoped<'a>]) -> Result<String> {
        let inner = self.source("s0");
        let pairs = scope.iter().flat_map(|one| inner.scope.iter().map(move |two| (one, two)));
        let pairs: Vec<_> = pairs.filter(|(one, two)| is_joinable(one, two)).collect();
        if pairs.is_empty() {
            return self.simple(scope);
        }
        let (one, two) = *self.draw.pick(&pairs);
        let word = *self.draw.pick(&["exists", "not exists"]);
        let condition = self.simple(&inner.scope)?;
        Ok(format!("{word} (select 1 from {} where {} = {} and {condition})", inner.from, two.sql, one.sql))
    }

    /// An expression, and the kind of its values if it is that of a column.
    fn expression(&mut self, scope: &[Scoped<'a>]) -> Result<String> {
        let Scoped { sql, column } = self.draw.pick(scope).clone();
        Ok(match self.draw.below(9) {
            0 if column.kind.is_integer() => format!("cast({sql} as bigint) + {}", self.draw.below(1_000)),
            1 if column.kind.is_integer() => format!("cast({sql} as bigint) * 2 - 1"),
            0 if column.kind == ColumnKind::Text => format!("length({sql})"),
            1 if column.kind == ColumnKind::Text => format!("substr({sql}, 2, 3)"),
            0 if column.kind == ColumnKind::F64 => format!("{sql} * 0.5"),
            2 if column.kind != ColumnKind::Bool => {
                format!("coalesce({sql}, {})", column.literal(self.draw)?)
            }
            3 => format!("case when {} then {sql} end", self.simple(scope)?),
            4 => self.simple(scope)?,
            _ => sql,
        })
    }

    /// Ordinals in random directions, these first.
    fn order(&mut self, ordinals: impl IntoIterator<Item = usize>) -> String {
        let direction = |draw: &mut Random| *draw.pick(&["", " desc"]);
        let nulls = |draw: &mut Random| *draw.pick(&[" nulls first", " nulls last"]);
        let parts = ordinals.into_iter().map(|at| format!("{at}{}{}", direction(self.draw), nulls(self.draw)));
        format!(" order by {}", parts.collect::<Vec<_>>().join(", "))
    }

    fn limit(&mut self) -> String {
        match self.draw.below(5) {
            0 | 1 => format!(" limit {}", self.draw.pick(&[0, 1, 3, 10, 100, 5_000])),
            2 => format!(" limit {} offset {}", self.draw.pick(&[1, 10, 50]), self.draw.below(40)),
            _ => String::new(),
        }
    }

    /// Rows of a source; returns the number of columns, too.
    fn plain(&mut self) -> Result<(String, usize)> {
        let source = self.joined()?;
        let conditions = self.conditions(&source)?;
        let count = 1 + self.draw.below(4) as usize;
        let mut items = Vec::new();
        for at in 1..=count {
            items.push(format!("{} as o{at}", self.expression(&source.scope)?));
        }
        let word = if self.draw.one_in(5) { "distinct " } else { "" };
        let first = self.draw.below(count as u64) as usize;
        let order = self.order((0..count).map(|at| (at + first) % count + 1));
        let limit = self.limit();
        Ok((format!("select {word}{} from {}{conditions}{order}{limit}", items.join(", "), source.from), count))
    }

    fn measure(&mut self, scope: &[Scoped<'a>]) -> String {
        let Scoped { sql, column } = self.draw.pick(scope).clone();
        match self.draw.below(8) {
            0 | 1 => "count(*)".to_owned(),
            2 => format!("count({sql})"),
            3 => format!("count(distinct {sql})"),
            4 => format!("min({sql})"),
            5 => format!("max({sql})"),
            6 if column.kind.is_number() => format!("sum({sql})"),
            7 if column.kind.is_number() => format!("avg({sql})"),
            _ => format!("count({sql})"),
        }
    }

    /// Groups of a source, in the order of a count or of the groups. Averages come last: they are rounded, so that an
    /// order by them may differ.
    fn aggregate(&mut self) -> Result<String> {
        let source = self.joined()?;
        let conditions = self.conditions(&source)?;
        let groups: Vec<String> =
            (0..*self.draw.pick(&[0, 0, 1, 1, 1, 2])).map(|_| self.draw.pick(&source.scope).sql.clone()).collect();
        let mut items: Vec<String> = groups.clone();
        let mut measures: Vec<String> = (0..=self.draw.below(3)).map(|_| self.measure(&source.scope)).collect();
        measures.sort_by_key(|measure| measure.starts_with("avg"));
        items.extend(measures);
        let count = items.len();
        let leads = groups.len() < count && items[groups.len()].starts_with("count") && self.draw.one_in(2);
        let first = leads.then_some(groups.len() + 1);
        let order = self.order(first.into_iter().chain((1..=count).filter(|&at| Some(at) != first)));
        let having = match groups.is_empty() || self.draw.below(4) > 0 {
            true => String::new(),
            false => format!(" having count(*) > {}", self.draw.below(4)),
        };
        let by = if groups.is_empty() { String::new() } else { format!(" group by {}", groups.join(", ")) };
        let items: Vec<String> = items.iter().zip(1..).map(|(item, at)| format!("{item} as o{at}")).collect();
        let limit = self.limit();
        Ok(format!("select {} from {}{conditions}{by}{having}{order}{limit}", items.join(", "), source.from))
    }

    /// Two columns of one kind, together.
    fn union(&mut self) -> Result<String> {
        let (one, other) = (self.source("t0"), self.source("t1"));
        let pairs = one.scope.iter().flat_map(|first| other.scope.iter().map(move |second| (first, second)));
        let pairs: Vec<_> = pairs.filter(|(first, second)| first.column.kind == second.column.kind).collect();
        if pairs.is_empty() {
            return self.aggregate();
        }
        let (first, second) = *self.draw.pick(&pairs);
        let word = *self.draw.pick(&["union", "union all"]);
        let (above, below) = (self.conditions(&one)?, self.conditions(&other)?);
        let (order, limit) = (self.order([1]), self.limit());
        Ok(format!(
            "select {} as o1 from {}{above} {word} select {} as o1 from {}{below}{order}{limit}",
            first.sql, one.from, second.sql, other.from
        ))
    }

    /// A summary of another query, with its limit.
    fn nested(&mut self) -> Result<String> {
        let (inner, count) = self.plain()?;
        let at = 1 + self.draw.below(count as u64);
        Ok(format!("select count(*), count(o{at}), count(distinct o{at}), min(o{at}), max(o{at}) from ({inner}) as n"))
    }
}
