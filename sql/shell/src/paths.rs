//! Paths of tables: their suffixes, and relative paths in statements for a cluster.

use datafusion::sql::parser::{CopyToSource, CopyToStatement, ExplainStatement, Statement};
use datafusion::sql::sqlparser::ast::{ObjectName, ObjectNamePart, VisitMut, visit_relations_mut};
use ogive_datafusion::stores_and_keyspaces;
use std::ops::ControlFlow;
use std::path::Path;

/// Suffixes of the names of tables.
const SUFFIXES: [&str; 4] = ["ogive", "parquet", "csv", "json"];

/// Whether a path has the suffix of a file with rows.
pub(crate) fn has_table_name(path: &str) -> bool {
    let suffix = path.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
    suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix.as_str()))
}

/// Writes `'./users.ogive'` for `'users.ogive'` if this is a path here: on the way to a scheduler, DataFusion 55 takes
/// a name with a dot, and without a slash, for those of a schema and a table.
pub(crate) fn with_folders(statement: &mut Statement) {
    match statement {
        Statement::Statement(of) => write_folders(of.as_mut()),
        Statement::Explain(ExplainStatement { statement, .. }) => with_folders(statement),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => write_folders(query.as_mut()),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Relation(name), .. }) => write_folder(name),
        _ => {}
    }
}

fn write_folders(parsed: &mut impl VisitMut) {
    _ = visit_relations_mut(parsed, |name| {
        write_folder(name);
        ControlFlow::<()>::Continue(())
    });
}

fn write_folder(name: &mut ObjectName) {
    let [ObjectNamePart::Identifier(ident)] = &mut name.0[..] else { return };
    // A keyspace is named behind its store.
    let is_there = |path: &str| Path::new(path).exists();
    let is_keyspace = || stores_and_keyspaces(&ident.value).any(|(store, _)| is_there(store));
    let is_bare = ident.quote_style.is_some() && ident.value.contains('.') && !ident.value.contains(['/', '\\']);
    if is_bare && (is_there(&ident.value) || is_keyspace()) {
        ident.value.insert_str(0, "./");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use ogive_datafusion::parse_statements;

    #[test]
    fn paths_of_files_here_get_their_folder() {
        // Tests run in the folder of the crate.
        for (text, expected) in [
            (
                "select * from 'Cargo.toml' where a = 'Cargo.toml'",
                "SELECT * FROM './Cargo.toml' WHERE a = 'Cargo.toml'",
            ),
            ("insert into 'Cargo.toml#k' select 1", "INSERT INTO './Cargo.toml#k' SELECT 1"),
            ("select * from 'absent.ogive', 'src/main.rs'", "SELECT * FROM 'absent.ogive', 'src/main.rs'"),
            ("select * from a.b join 'Cargo.toml' c on c.x = 1", "SELECT * FROM a.b JOIN './Cargo.toml' c ON c.x = 1"),
            ("explain select 1 from 'Cargo.toml'", "EXPLAIN SELECT 1 FROM './Cargo.toml'"),
        ] {
            let mut statement = parse_statements(text, &GenericDialect {}).unwrap().pop_front().unwrap();
            with_folders(&mut statement);
            assert_eq!(statement.to_string().trim(), expected, "{text}");
        }
    }
}
