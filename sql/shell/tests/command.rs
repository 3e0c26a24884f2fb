//! The command as a whole: what it prints, and how it ends.
//!
//! Each test starts the program on tables and files in a folder of its own and compares its streams and its exit code.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ogive::{KeyType, LocalStorage, TableWriteOptions, TableWriter};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// A folder with `squares.ogive`, the squares of 0 to 99 with their roots as text, and `names.csv`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let storage = Arc::new(LocalStorage::new(folder.path()));
    let options = TableWriteOptions::default().key_type(KeyType::U64);
    let mut writer = TableWriter::create((storage, "squares.ogive"), options).unwrap();
    for number in 0..100_u64 {
        writer.append(&(number * number).to_be_bytes(), number.to_string().as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    std::fs::write(folder.path().join("names.csv"), "id,name\n1,one\n4,two\n9,three\n").unwrap();
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ogive-sql"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

fn of(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    of(command(folder, arguments).output().unwrap())
}

/// What a run prints that ends well.
fn rows(folder: &Path, arguments: &[&str]) -> String {
    let ran = run(folder, arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    ran.stdout
}

/// The line of an error; nothing but it is printed to standard error.
fn error(folder: &Path, arguments: &[&str], code: i32) -> String {
    let ran = run(folder, arguments);
    assert_eq!((ran.code, ran.stderr.lines().count()), (code, 1), "{arguments:?}: {}", ran.stderr);
    ran.stderr.strip_prefix("ogive-sql: ").unwrap().trim_end().to_owned()
}

fn with_input(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    let piped = Stdio::piped;
    let mut child = command(folder, arguments).stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    of(child.wait_with_output().unwrap())
}

#[test]
fn statements_come_from_options_arguments_files_and_standard_input() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("two.sql"), "-- a comment; not a statement\nselect 2 as n;\nselect ';' as n\n").unwrap();
    assert_eq!(rows(folder, &["-c", "select 1 as n; select 2 as m", "--format", "csv"]), "n\n1\nm\n2\n");
    assert_eq!(rows(folder, &["--format=csv", "select 1 as n", "two.sql"]), "n\n1\nn\n2\nn\n;\n");
    assert_eq!(rows(folder, &["--format=csv", "two.sql", "-c", "select 0 as n"]), "n\n0\nn\n2\nn\n;\n");
    let ran = with_input(folder, &["--json"], "select 1 as n;\nselect 2 as n;\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{\"n\":1}\n{\"n\":2}\n"), "{}", ran.stderr);
    assert_eq!(with_input(folder, &[], " -- nothing\n").stdout, "");
}

#[test]
fn rows_are_printed_as_tables_csv_and_json() {
    let folder = folder();
    let statement = "select key, value from 'squares.ogive' where key in (144, 7, 169)";
    let print = |arguments: &[&str]| rows(folder.path(), &[&[statement], arguments].concat());
    let table =
        "+-----+-------+\n| key | value |\n+-----+-------+\n| 144 | 3132  |\n| 169 | 3133  |\n+-----+-------+\n";
    assert_eq!(print(&[]), table);
    assert_eq!(print(&["--format", "csv"]), "key,value\n144,3132\n169,3133\n");
    let json = "{\"key\":144,\"value\":\"3132\"}\n{\"key\":169,\"value\":\"3133\"}\n";
    assert_eq!((print(&["--json"]), print(&["--format", "json"])), (json.to_owned(), json.to_owned()));
}

#[test]
fn no_rows_have_their_names_and_settings_print_nothing() {
    let folder = folder();
    let none = "select key from 'squares.ogive' where key = 7";
    assert_eq!(rows(folder.path(), &[none]), "+-----+\n| key |\n+-----+\n+-----+\n");
    assert_eq!(rows(folder.path(), &[none, "--format=csv"]), "key\n");
    assert_eq!(rows(folder.path(), &[none, "--json"]), "");
    for format in ["table", "csv", "json"] {
        assert_eq!(rows(folder.path(), &["set datafusion.execution.batch_size = 100", "--format", format]), "");
    }
}

#[test]
fn paths_among_the_arguments_are_tables() {
    let folder = folder();
    let folder = folder.path();
    std::fs::copy(folder.join("squares.ogive"), folder.join("Two Words.ogive")).unwrap();
    let joined = "select n.name from names n join squares s on n.id = s.key order by 1";
    assert_eq!(rows(folder, &["squares.ogive", "names.csv", joined, "--format=csv"]), "name\none\nthree\ntwo\n");
    let count = "select count(*) as n from q";
    assert_eq!(rows(folder, &["--format=csv", "q=squares.ogive", count]), "n\n100\n");
    assert_eq!(
        rows(folder, &["--format=csv", "Two Words.ogive", "select count(*) as n from \"two words\""]),
        "n\n100\n"
    );
    let absolute = folder.join("squares.ogive");
    let shown = rows(folder, &["--format=csv", absolute.to_str().unwrap(), "select min(key) as n from Squares"]);
    assert_eq!(shown, "n\n0\n");
}

#[test]
fn a_table_prints_all_rows_unless_it_is_limited() {
    let folder = folder();
    let arguments = ["squares.ogive", "select key from squares"];
    assert_eq!(rows(folder.path(), &arguments).lines().count(), 104);
    let limited = run(folder.path(), &[&arguments[..], &["--max-rows", "10"]].concat());
    assert_eq!((limited.code, limited.stdout.lines().count()), (0, 14));
    assert_eq!(limited.stderr, "90 rows are not shown; --max-rows all shows them\n");
    let plan = run(folder.path(), &["explain select 1", "--max-rows", "1"]);
    assert!(plan.stdout.contains("physical_plan") && plan.stderr.is_empty(), "{}", plan.stderr);
}

#[test]
fn times_go_to_standard_error() {
    let folder = folder();
    let ran = run(folder.path(), &["--timing", "--format=csv", "select 1 as n"]);
    assert_eq!(ran.stdout, "n\n1\n");
    assert!(ran.stderr.starts_with("1 row in ") && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

/// A name of the command line stands for what is at its path when a statement begins.
#[test]
fn named_tables_are_read_as_they_are() {
    let folder = folder();
    let folder = folder.path();
    let copy = |key: i64, options: &str| {
        format!("copy (select {key} as k, '-0.0'::double as f) to 'new.ogive' stored as ogive options ({options})")
    };
    rows(folder, &[&copy(1, "key 'k'")]);
    let both = format!("select k, 1 / f as f from n; {}; select k from n", copy(2, "key 'k', replace true"));
    assert_eq!(rows(folder, &["--format=csv", "n=new.ogive", &both]), "k,f\n1,-inf\ncount\n1\nk\n2\n");
    let into = "insert into 'shop#k' values (7)";
    rows(folder, &["copy (select 1 as k, 2 as v) to 'shop' stored as ogive options (keyspace 'k')"]);
    let into = into.replace("(7)", "(7, 8)");
    let counted = format!("select count(*) as n from s; {into}; select count(*) as n from s; select n from s");
    let error = error(folder, &["--format=csv", "s=shop#k", &counted], 1);
    assert!(error.contains("No field named n") && error.ends_with("and \"...\" are names"), "{error}");
    assert_eq!(rows(folder, &["--format=csv", "s=shop#k", "select count(*) as n from s"]), "n\n2\n");
    // A dropped name stays so.
    assert!(self::error(folder, &["n=new.ogive", "drop table n; select * from n"], 1).contains("not found"));
    let other = "drop table n; create table n as select 9 as k; select k from n";
    assert!(rows(folder, &["--format=csv", "n=new.ogive", other]).ends_with("k\n9\n"));
    let url = format!("select k from 'file://{}'", folder.join("new.ogive").display());
    assert_eq!(rows(folder, &["--format=csv", &url]), "k\n2\n");
}

/// A file of another format is not replaced, even if it is the one that is read.
#[test]
fn copies_replace_no_file() {
    let folder = folder();
    let folder = folder.path();
    rows(folder, &["copy (select 1 as k) to 'one.parquet'"]);
    for statement in
        ["copy (select 2 as k) to 'one.parquet'", "copy (select 1 / (k - 1) from 'one.parquet') to 'one.parquet'"]
    {
        let refused = error(folder, &[statement], 1);
        assert!(refused.starts_with("one.parquet exists, and COPY replaces no file"), "{refused}");
    }
    assert_eq!(rows(folder, &["--format=csv", "select k from 'one.parquet'"]), "k\n1\n");
    let kept = error(
        folder,
        &["copy (select 1 as k) to 'shop' stored as ogive options (keyspace 'k'); \
                                copy (select 1 as k) to 'shop' stored as ogive"],
        1,
    );
    assert!(kept.contains("is a folder") && kept.contains("'keyspace'"), "{kept}");
}

#[test]
fn an_error_is_one_line_with_its_place_and_a_remedy() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("wrong.sql"), "select 1 as n;\n\nselect 2 as n; select x\nfrom wher;\n").unwrap();
    let ran = run(folder, &["wrong.sql", "--format=csv"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "n\n1\nn\n2\n"));
    assert!(
        ran.stderr.starts_with("ogive-sql: wrong.sql:3: table 'datafusion.public.wher' not found; "),
        "{}",
        ran.stderr
    );
    std::fs::write(folder.join("parse.sql"), "select 1;\n\n   selec 2;\n").unwrap();
    let parsed = error(folder, &["parse.sql"], 1);
    assert!(parsed.starts_with("parse.sql:3: cannot parse: "), "{parsed}");
    assert!(parsed.ends_with("Line: 3, Column: 4; did you mean 'select'?"), "{parsed}");
    let table = error(folder, &["squares.ogive", "select * from square"], 1);
    assert!(table.ends_with("there is no table 'square'; did you mean 'squares'?"), "{table}");
    std::fs::create_dir(folder.join("empty")).unwrap();
    for (statement, remedy) in [
        ("\\d", "use `show tables` or `describe`"),
        ("create external table t stored as ogve location 'squares.ogive'", "STORED AS OGIVE, PARQUET"),
        ("copy (select 1 as k) to 'new.ogve'", "add STORED AS OGIVE"),
        (
            "copy (select 1 as k) to 'squares.ogive'",
            "squares.ogive exists; give another name, or add OPTIONS (replace true)",
        ),
        (
            "copy (select 1 as k) to 'new.ogive' stored as parquet",
            "leave STORED AS out, or give it the suffix .parquet",
        ),
        ("select * from 's3://new.parquet'", "it names a bucket; name a file in it"),
        ("select * from 'nowhere://bucket/new.parquet'", "there is no storage for the scheme 'nowhere'"),
        ("select * from 'empty'", "the folder has no table of Ogive"),
    ] {
        let refused = error(folder, &["-c", statement], 1);
        assert!(refused.contains(remedy), "{statement}: {refused}");
    }
    assert!(!folder.join("new.ogive").exists());
    assert!(error(folder, &["cluster", "dmo"], 2).contains("`cluster demo` starts"));
    let open = error(folder, &["select 'a"], 1);
    assert!(open.contains("Unterminated string literal"), "{open}");
    let meant = error(folder, &["squares.ogive", "select valeu from squares"], 1);
    assert!(meant.contains("valeu") && meant.contains("Did you mean 'squares.value'"), "{meant}");
    let typed = error(folder, &["names.csv", "select sum(name) from names"], 1);
    assert!(typed.starts_with("No function matches") && typed.contains("sum(Int64)"), "{typed}");
}

#[test]
fn statements_that_cannot_be_done_name_the_table_and_what_to_do() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("gaps.csv"), "id,name\n1,one\n2,\n").unwrap();
    let copy = |query: &str, target: &str, key: &str| {
        error(folder, &[&format!("copy ({query}) to '{target}' stored as ogive options (key '{key}')")], 1)
    };
    for key in ["name", "id,name"] {
        let null = copy("select * from 'gaps.csv'", "new.ogive", key);
        assert!(null.starts_with("column 'name' of the key is null") && null.contains("leave such rows out"), "{null}");
    }
    let long = copy("select repeat('x', 70000) as name, 1 as n", "new.ogive", "name");
    assert!(long.contains("70000 bytes does not fit ./new.ogive") && long.contains("65536 bytes"), "{long}");
    assert!(long.ends_with("the key is 'name': shorten it, or choose a key of other columns"), "{long}");
    let missing = copy("select 1 as n", "nowhere/new.ogive", "n");
    assert_eq!(missing, "there is no folder nowhere for nowhere/new.ogive; create it, or check the path");
    assert!(!folder.join("new.ogive").exists() && !folder.join("nowhere").exists());
    for (statement, verb) in [
        ("update squares set value = 'x' where key = 4", "UPDATE"),
        ("delete from squares where key = 4", "DELETE"),
        ("truncate table squares", "TRUNCATE"),
    ] {
        let refused = error(folder, &["squares.ogive", statement], 1);
        assert!(refused.contains(&format!("squares.ogive takes no {verb}; COPY (SELECT ")), "{refused}");
    }
    let cast = error(folder, &["squares.ogive", "select * from squares where key = 'abc'"], 1);
    assert!(cast.starts_with("Cannot cast string 'abc'") && cast.contains("; use try_cast"), "{cast}");
    let dropped = error(folder, &["drop table 'squares.ogive'"], 1);
    assert!(dropped.contains("removes names of tables, and no files"), "{dropped}");
    rows(folder, &["drop table if exists 'squares.ogive'; drop table squares", "squares.ogive"]);
    assert!(folder.join("squares.ogive").exists());
    let into = |query: &str| format!("copy ({query}) to 'shop' stored as ogive options (keyspace 'k', key 'id')");
    let large = error(folder, &[&into("select 1 as id, repeat('x', 2000000) as name")], 1);
    assert!(large.contains("at most 1048576") && large.ends_with("or write a table file"), "{large}");
    assert!(!folder.join("shop").exists());
    rows(folder, &[&into("select 1 as id, 'one' as name")]);
    let dropped = error(folder, &["drop table 'shop#k'"], 1);
    assert!(dropped.ends_with("no keyspaces; use `ogive db drop-keyspace shop k`"), "{dropped}");
    let typed = error(folder, &[&into("select 2 as id, 2 as name")], 1);
    assert!(typed.contains("column 'name'") && typed.ends_with("or use INSERT INTO, which casts"), "{typed}");
    let other = into("select 2 as number, 'two' as name").replace("key 'id'", "key 'number'");
    let named = error(folder, &[&other], 1);
    assert_eq!(named, "the key of shop#k is 'id', not 'number'; leave the option 'key' out");
    let named = error(folder, &[&into("select 2 as id, 'two' as title")], 1);
    assert!(named.contains("no column 'title'; they have: id, name; rename columns by AS"), "{named}");
    rows(folder, &[&into("select 'two' as name, 2 as id")]);
    let found = rows(folder, &["select * from 'shop#k' order by id", "--format", "csv"]);
    assert_eq!(found, "id,name\n1,one\n2,two\n");
    let twice = error(folder, &["squares.ogive", "select key from squares a join squares b on a.key = b.key"], 1);
    assert!(twice.ends_with("field key; name the table before it, as in t.column"), "{twice}");
}

#[test]
fn what_follows_is_distinct_from_is_not_part_of_it() {
    let folder = folder();
    let statement =
        "select false is not distinct from false or true as one, true is distinct from (true and false) as two";
    assert_eq!(rows(folder.path(), &["--format=csv", statement]), "one,two\ntrue,true\n");
}

#[test]
fn paths_that_lead_nowhere_are_named_with_a_remedy() {
    let folder = folder();
    let folder = folder.path();
    let unquoted = error(folder, &["select * from squares.ogive"], 1);
    assert!(unquoted.ends_with("quote paths: 'squares.ogive'"), "{unquoted}");
    let absent = error(folder, &["select * from 'nowhere.parquet'"], 1);
    assert!(absent.contains("nowhere.parquet") && absent.ends_with("check the path"), "{absent}");
    for arguments in [["nowhere.ogive", "select 1"], ["names.txt", "select 1"], ["nowhere.csv", "select 1"]] {
        let failed = run(folder, &arguments);
        assert!(failed.code != 0 && failed.stderr.contains(arguments[0]), "{}", failed.stderr);
        assert_eq!((failed.stdout.as_str(), failed.stderr.lines().count()), ("", 1), "{}", failed.stderr);
    }
    std::fs::write(folder.join("broken.ogive"), "no table").unwrap();
    let broken = run(folder, &["broken.ogive", "select 1"]);
    assert!(broken.code == 1 && broken.stderr.contains("broken.ogive"), "{}", broken.stderr);
    let twice = error(folder, &["squares.ogive", "squares=names.csv", "select 1"], 2);
    assert!(twice.contains("second table named squares") && twice.contains("NAME=PATH"), "{twice}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let folder = folder();
    let statement = "select a.value from range(2000000) a";
    let mut child = command(folder.path(), &[statement, "--format=csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 8];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    let ran = of(child.wait_with_output().unwrap());
    assert_eq!((first.as_slice(), ran.code, ran.stderr.as_str()), (b"value\n0\n".as_slice(), 0, ""));
}

#[test]
fn a_sort_larger_than_the_memory_uses_temporary_files() {
    let folder = folder();
    let sorted =
        "explain analyze select value, repeat('x', 100) as filler from range(200000) order by value % 1000, value";
    let ran = rows(folder.path(), &[sorted, "--memory", "20MB", "--partitions", "1"]);
    let spills =
        ran.split("spill_count=").skip(1).filter_map(|rest| rest.split(&[',', ']']).next()?.parse::<u64>().ok());
    assert!(spills.sum::<u64>() > 0, "{ran}");
    let short = error(folder.path(), &["select value, repeat('x', 100) from range(200000)", "--memory", "1MB"], 1);
    assert!(short.contains("not enough memory") && short.contains("--memory"), "{short}");
}

#[test]
fn a_picture_shows_the_plan_of_the_last_statement() {
    let folder = folder();
    let folder = folder.path();
    let statement = "select count(*) from 'squares.ogive' where value > '<b>'";
    let arguments = ["--format=csv", "--picture", "plan.html", "select 1 as first", statement];
    rows(folder, &arguments);
    let page = std::fs::read_to_string(folder.join("plan.html")).unwrap();
    assert!(page.contains("Content-Security-Policy") && page.contains("&lt;b&gt;") && !page.contains("<b>"));
    assert!(page.contains("Aggregate") && page.contains("Filter") && !page.contains("as first"), "{page}");
    // A page is replaced, another file is not.
    rows(folder, &["--format=csv", "--picture", "plan.html", "select 'abc' as password"]);
    let page = std::fs::read_to_string(folder.join("plan.html")).unwrap();
    assert!(page.contains("may hold credentials") && !page.contains("Filter"), "{page}");
    let refused = error(folder, &["--picture", "names.csv", "select 1"], 2);
    assert_eq!(run(folder, &["--picture", "names.csv", "select 1"]).stdout, "");
    assert!(refused.contains("names.csv exists and is not a page"), "{refused}");
    assert_eq!(std::fs::read_to_string(folder.join("names.csv")).unwrap().lines().count(), 4);
}

#[test]
fn wrong_options_are_refused_with_the_usage() {
    let folder = folder();
    for arguments in [
        &["--json", "--format", "csv"][..],
        &["--memory", "much"],
        &["--max-rows", "-1"],
        &["--partitions", "0"],
        &["--formt"],
    ] {
        let ran = run(folder.path(), arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains("--help"), "{}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_query_at_once() {
    let folder = folder();
    let endless =
        "select count(*) from range(1000000000) a cross join range(1000000000) b where a.value + b.value = -1";
    let begun = "select 1 as begun";
    let mut child = command(folder.path(), &["--format=csv", begun, endless])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 8];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = of(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.lines().count()), (130, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted"), "{}", ran.stderr);
}

#[test]
fn columns_of_a_keyspace_are_altered_as_the_documentation_says() {
    let folder = folder();
    let folder = folder.path();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md")).unwrap();
    let (_, section) = page.split_once("### Columns of a keyspace").unwrap();
    let example = section.split("```").nth(1).unwrap().strip_prefix("sql").unwrap();
    let shown = rows(folder, &["--format=csv", "-c", example]);
    let table = "id,name,amount,origin\n7,fig,3,\n8,,5000000000,Chile\n";
    assert!(shown.ends_with(table), "{shown}");
    // A name that an argument gave means the keyspace of now in each statement.
    let statements = "alter table fruit add column price decimal(8,2); alter table fruit add column \"Note\" text; \
                      insert into fruit (id, amount, price) values (9, 1, 0.25); select * from fruit where id > 7";
    let shown = rows(folder, &["--format=csv", "fruit=shop#fruit", "-c", statements]);
    let table = "id,name,amount,origin,price,Note\n8,,5000000000,Chile,,\n9,,1,,0.25,\n";
    assert!(shown.ends_with(table), "{shown}");
    let line = error(folder, &["fruit=shop#fruit", "alter table fruit drop column name"], 1);
    assert!(line.contains("takes no DROP COLUMN name: rows keep their columns; select the others"), "{line}");
    let line = error(folder, &["fruit=shop#fruit", "alter table fruit alter column amount type int"], 1);
    assert!(line.contains("shop#fruit: the types of the keyspace cannot be altered so: the field"), "{line}");
    let line = error(folder, &["fruit=shop#fruit", "alter table fruits add column a int"], 1);
    assert_eq!(line, "there is no table 'fruits'; did you mean 'fruit'?");
}

#[test]
fn statements_from_begin_to_commit_are_one_transaction() {
    let folder = folder();
    let folder = folder.path();
    let copy = "copy (values (1, 70), (2, 30)) to 'bank' stored as ogive options (keyspace 'accounts', key 'column1')";
    rows(folder, &[copy]);
    let both = "select column2 as n from 'bank#accounts' order by column1";
    let amounts = |expected: &str| assert_eq!(rows(folder, &["--format=csv", both]), expected);
    let update = |id: u8, by: &str| format!("update 'bank#accounts' set column2 = column2 {by} where column1 = {id}");
    let moved = format!("begin; {}; {}; {both}; commit", update(1, "- 20"), update(2, "+ 20"));
    let ran = rows(folder, &["--format=csv", &moved]);
    assert!(ran.ends_with("n\n50\n50\n"), "{ran}");
    amounts("n\n50\n50\n");
    rows(folder, &["--format=csv", &format!("begin; {}; rollback", update(1, "- 7"))]);
    amounts("n\n50\n50\n");
    // A failed statement ends the run, and with it the transaction; so does the end of the statements.
    for (end, code) in [("select 1 / 0", 1), ("select 1 as n", 0)] {
        let ran = run(folder, &["-c", &format!("begin; {}", update(1, "- 7")), "-c", end]);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stderr.contains("the transaction was not committed"), "{}", ran.stderr);
        amounts("n\n50\n50\n");
    }
    let told = error(folder, &["-c", "commit"], 1);
    assert!(told.contains("no transaction has begun"), "{told}");
}
