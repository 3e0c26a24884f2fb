//! Comparison of answers with those of DuckDB, the reference.

use super::subject::{Subject, Taken};

/// Letters of a query that a message shows.
const SHOWN_LETTERS: usize = 200;

/// An answer that is not that of the judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrongAnswer {
    pub(super) subject: Subject,
    /// Both answers, and the query.
    pub(super) message: String,
    /// Whether the run fails by it: an answer of ours, or one without a judge.
    pub(super) is_failure: bool,
}

/// The answers to the queries of a round that differ from those of DuckDB; from the first ones if DuckDB has none,
/// since it is not there or has failed.
pub(super) fn wrong_answers(queries: &[String], answers: &[(Subject, Taken)]) -> Vec<WrongAnswer> {
    let of = |wanted: Subject| answers.iter().find(|(subject, _)| *subject == wanted);
    let judge = of(Subject::DuckDb).or_else(|| of(Subject::DuckDbParquet));
    let Some((judging, right)) = judge.or_else(|| answers.first()) else { return Vec::new() };
    let wrong = |(subject, taken): &(Subject, Taken)| {
        let differ = |at: &usize| taken.answers.get(*at) != right.answers.get(*at);
        let at = (0..queries.len()).find(differ)?;
        let query: String = queries[at].chars().take(SHOWN_LETTERS).collect();
        // The first row that the other answer has not, or the first at all.
        let row = |of: &Taken, other: &Taken| {
            let (rows, others) = (of.answers.get(at)?, other.answers.get(at));
            let is_own = |row: &&String| others.is_none_or(|others| !others.contains(row));
            rows.iter().find(is_own).or_else(|| rows.first()).map(|row| format!("{row:?}"))
        };
        let row = |of: &Taken, other: &Taken| row(of, other).unwrap_or_else(|| "no row".to_owned());
        let (judge_name, name) = (judging.name(), subject.name());
        Some(WrongAnswer {
            subject: *subject,
            message: format!("{name} has {} where {judge_name} has {}: {query}", row(taken, right), row(right, taken)),
            is_failure: judge.is_none() || subject.is_ours(),
        })
    };
    answers.iter().filter_map(wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(of: &[(Subject, &[&str])]) -> Vec<(Subject, Taken)> {
        let taken = |answers: &[&str]| Taken {
            answers: answers.iter().map(|rows| rows.split(' ').map(str::to_owned).collect()).collect(),
            ..Taken::default()
        };
        of.iter().map(|(subject, answers)| (*subject, taken(answers))).collect()
    }

    fn judged(of: &[(Subject, &[&str])]) -> Vec<(Subject, bool)> {
        let queries = ["first".to_owned(), "second".to_owned()];
        wrong_answers(&queries, &answers(of)).into_iter().map(|wrong| (wrong.subject, wrong.is_failure)).collect()
    }

    #[test]
    fn a_rival_that_differs_from_duckdb_is_wrong_and_the_run_goes_on() {
        use Subject::{DuckDb, DuckDbParquet, Ogive, Parquet};
        let (right, wrong): (&[&str], &[&str]) = (&["1 2", "3"], &["1 2", "4"]);
        let all = [(Ogive, right), (Parquet, wrong), (DuckDb, right), (DuckDbParquet, right)];
        assert_eq!(judged(&all), [(Parquet, false)]);
        assert_eq!(
            judged(&[(Ogive, right), (Parquet, right), (DuckDb, right), (DuckDbParquet, wrong)]),
            [(DuckDbParquet, false)]
        );
    }

    #[test]
    fn an_answer_of_ours_that_differs_from_duckdb_fails_the_run() {
        use Subject::{Cluster, DuckDb, DuckDbParquet, Ogive, Parquet};
        let (right, wrong): (&[&str], &[&str]) = (&["1 2", "3"], &["1 2", "4"]);
        // The majority does not count.
        let all = [(Ogive, wrong), (Parquet, wrong), (Cluster, wrong), (DuckDb, right)];
        assert_eq!(judged(&all), [(Ogive, true), (Parquet, false), (Cluster, true)]);
        // DuckDB on its own file has failed, as it does in little memory.
        assert_eq!(judged(&[(Ogive, &["1 2"]), (DuckDbParquet, right)]), [(Ogive, true)]);
    }

    #[test]
    fn without_duckdb_any_difference_fails_the_run() {
        use Subject::{Ogive, Parquet};
        assert_eq!(judged(&[(Ogive, &["1", "2"]), (Parquet, &["1", "3"])]), [(Parquet, true)]);
        assert_eq!(judged(&[(Ogive, &["1", "2"]), (Parquet, &["1", "2"])]), []);
        assert_eq!(judged(&[]), []);
    }

    #[test]
    fn the_message_has_the_rows_that_differ() {
        let answers = answers(&[(Subject::DuckDb, &["1", "3 5 7"]), (Subject::Parquet, &["1", "3 6 7"])]);
        let wrong = wrong_answers(&["first".to_owned(), "select 2".to_owned()], &answers);
        let messages: Vec<&str> = wrong.iter().map(|wrong| wrong.message.as_str()).collect();
        assert_eq!(messages, ["parquet has \"6\" where duckdb has \"5\": select 2"]);
    }
}
