//! Names that completion offers: words of SQL, tables, and their columns.

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::information_schema::{INFORMATION_SCHEMA, INFORMATION_SCHEMA_TABLES};
use datafusion::prelude::SessionContext;
use std::collections::{BTreeMap, BTreeSet};

/// Words that statements are written with: a choice, since all of SQL's would hide the names.
pub(crate) const WORDS: &[&str] = &[
    "add",
    "all",
    "alter",
    "analyze",
    "and",
    "any",
    "as",
    "asc",
    "avg",
    "begin",
    "between",
    "bigint",
    "boolean",
    "by",
    "case",
    "cast",
    "coalesce",
    "column",
    "commit",
    "copy",
    "count",
    "create",
    "cross",
    "current_date",
    "datafusion",
    "date",
    "date_trunc",
    "delete",
    "desc",
    "describe",
    "distinct",
    "double",
    "drop",
    "else",
    "end",
    "except",
    "exists",
    "explain",
    "external",
    "extract",
    "false",
    "fetch",
    "first",
    "following",
    "from",
    "full",
    "group",
    "having",
    "ilike",
    "in",
    "information_schema",
    "inner",
    "insert",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "join",
    "last",
    "left",
    "like",
    "limit",
    "location",
    "max",
    "min",
    "natural",
    "not",
    "null",
    "nulls",
    "offset",
    "on",
    "options",
    "or",
    "order",
    "outer",
    "over",
    "partition",
    "recursive",
    "right",
    "rollback",
    "select",
    "set",
    "show",
    "starts_with",
    "stored",
    "substr",
    "sum",
    "table",
    "tables",
    "then",
    "timestamp",
    "to",
    "true",
    "type",
    "union",
    "using",
    "values",
    "varchar",
    "verbose",
    "view",
    "when",
    "where",
    "with",
];

/// Names that can be completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Tables by name, with their columns.
    tables: BTreeMap<String, Vec<String>>,
    /// Schemas by name, with their tables.
    schemas: BTreeMap<String, Vec<String>>,
}

impl Names {
    /// Adds a table.
    pub(crate) fn learn(&mut self, table: &str, schema: &SchemaRef) {
        self.tables.insert(table.to_owned(), schema.fields().iter().map(|field| field.name().clone()).collect());
    }

    /// Replaces all by the tables that are registered now. Tables that queries named by their paths are kept.
    pub(crate) async fn refresh(&mut self, context: &SessionContext) {
        self.schemas.clear();
        self.tables.retain(|name, _| name.contains(['.', '/']));
        let catalogs = context.state().catalog_list().clone();
        for catalog in catalogs.catalog_names().into_iter().filter_map(|name| catalogs.catalog(&name)) {
            for name in catalog.schema_names() {
                let Some(schema) = catalog.schema(&name) else { continue };
                let tables = schema.table_names();
                for table in &tables {
                    // A table that cannot be opened has a name all the same.
                    if let Ok(Some(found)) = schema.table(table).await {
                        self.learn(table, &found.schema());
                    }
                }
                self.schemas.insert(name, tables);
            }
        }
        // The views of the catalog itself, which the schema does not list.
        let views = INFORMATION_SCHEMA_TABLES.iter().map(|view| (*view).to_owned()).collect();
        self.schemas.insert(INFORMATION_SCHEMA.to_owned(), views);
    }

    /// Completions of the word that ends a text: where it begins, and what may stand there.
    pub(crate) fn complete(&self, text: &str) -> (usize, Vec<String>) {
        let start = word_start(text);
        let word = &text[start..];
        if word.is_empty() && !text[..start].ends_with('.') {
            return (start, Vec::new());
        }
        let before = &text[..start];
        let found: BTreeSet<String> = match before.strip_suffix('.') {
            Some(before) => self.members(before).filter(|name| begins(name, word)).map(|name| quoted(name)).collect(),
            None => {
                let columns = self.tables.values().flatten();
                let names = self.tables.keys().chain(columns).chain(self.schemas.keys());
                let names = names.filter(|name| begins(name, word)).map(|name| quoted(name));
                let words = WORDS.iter().filter(|name| begins(name, word));
                names.chain(words.map(|name| in_case_of(name, word))).collect()
            }
        };
        (start, found.into_iter().collect())
    }

    /// Names that may follow a dot: columns of a table, tables of a schema, else, behind an alias, all columns.
    fn members(&self, before: &str) -> Box<dyn Iterator<Item = &String> + '_> {
        let qualifier = before[word_start(before)..].to_lowercase();
        match (self.tables.get(&qualifier), self.schemas.get(&qualifier)) {
            (Some(columns), _) => Box::new(columns.iter()),
            (None, Some(tables)) => Box::new(tables.iter()),
            (None, None) => Box::new(self.tables.values().flatten()),
        }
    }
}

/// Where the word that ends a text begins.
fn word_start(text: &str) -> usize {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.char_indices().rev().take_while(|(_, letter)| is_part(*letter)).last().map_or(text.len(), |(at, _)| at)
}

fn begins(name: &str, word: &str) -> bool {
    name.to_lowercase().starts_with(&word.to_lowercase())
}

/// A name as SQL takes it: in quotes unless it consists of small letters and digits.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A word of SQL in capitals if its beginning is.
fn in_case_of(name: &str, word: &str) -> String {
    let is_upper = word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase);
    if is_upper { name.to_uppercase() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;

    fn names() -> Names {
        let schema = |columns: &[&str]| {
            let fields: Vec<Field> = columns.iter().map(|name| Field::new(*name, DataType::Int64, false)).collect();
            Arc::new(Schema::new(fields))
        };
        let mut names = Names::default();
        names.learn("users", &schema(&["user_id", "Full Name"]));
        names.learn("events", &schema(&["event_id", "used"]));
        names.schemas.insert("public".to_owned(), vec!["users".to_owned(), "events".to_owned()]);
        names
    }

    fn completed(text: &str) -> Vec<String> {
        names().complete(text).1
    }

    #[test]
    fn words_tables_and_columns_are_completed() {
        assert_eq!(completed("select us"), ["used", "user_id", "users", "using"]);
        assert_eq!(completed("SELECT COUN"), ["COUNT"]);
        assert_eq!(completed("select full"), ["\"Full Name\"", "full"]);
        assert_eq!(names().complete("sel").0, 0);
        assert_eq!(names().complete("select 1, ev"), (10, vec!["event_id".to_owned(), "events".to_owned()]));
    }

    #[test]
    fn behind_a_dot_stand_columns_of_the_table_or_tables_of_the_schema() {
        assert_eq!(completed("select users."), ["\"Full Name\"", "user_id"]);
        assert_eq!(completed("select * from public.u"), ["users"]);
        assert_eq!(completed("select e.use"), ["used", "user_id"]);
    }

    #[test]
    fn nothing_is_offered_for_no_word() {
        assert_eq!(completed("select "), Vec::<String>::new());
        assert_eq!(completed(""), Vec::<String>::new());
    }

    #[test]
    fn words_stand_once_and_small() {
        let words: BTreeSet<_> = WORDS.iter().collect();
        assert_eq!(words.len(), WORDS.len());
        assert!(words.iter().all(|word| **word == word.to_lowercase()));
    }
}
