//! Null keys in joins. Goal: as in SQL, a null matches nothing, and a row that is kept without a partner keeps it.
//! Method: files with nulls in their keys beside files, tables and stores, by all methods and into several outputs.

use super::run::Folder;

/// The rows of each kind of join of `left.csv` and `right.csv`, as CSV.
const KINDS: [(&str, &str); 5] = [
    ("inner", "id,name,town\n2,c,x\n"),
    ("left", "id,name,town\n1,a,\n2,c,x\n,b,\n,d,\n"),
    ("full", "id,name,town\n1,a,\n2,c,x\n3,,z\n,b,\n,d,\n,,y\n"),
    ("semi", "id,name\n2,c\n"),
    ("anti", "id,name\n1,a\n,b\n,d\n"),
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("left.csv", "id,name\n1,a\n,b\n2,c\n,d\n");
    folder.write("right.csv", "id,town\n3,z\n,y\n2,x\n");
    folder.write("right.jsonl", "{\"id\":3,\"town\":\"z\"}\n{\"town\":\"y\"}\n{\"id\":2,\"town\":\"x\"}\n");
    folder
}

fn joined(folder: &Folder, words: &[&str]) -> String {
    folder.run(&[&["join"], words, &["-o", "-", "--to", "csv"]].concat()).exits_with(0).stdout
}

#[test]
fn null_keys_of_files_match_nothing() {
    let folder = folder();
    for (kind, rows) in KINDS {
        for method in ["auto", "merge", "hash", "partition"] {
            let words = ["left.csv", "right.csv", "--kind", kind, "--method", method];
            assert_eq!(joined(&folder, &words), rows, "{kind} by {method}");
        }
        // A condition makes the join read values, and JSON is another reader.
        assert_eq!(joined(&folder, &["left.csv", "right.jsonl", "--kind", kind]), rows, "{kind}");
        let read = ["left.csv", "right.csv", "--kind", kind, "--where", "left.id = right.id"];
        assert_eq!(joined(&folder, &read), rows, "{kind}");
        folder.run(&["join", "left.csv", "right.csv", "--kind", kind, "-o", "out.ogive", "--force"]).exits_with(0);
        assert_eq!(folder.run(&["export", "out.ogive", "-"]).exits_with(0).stdout, rows, "{kind}");
        let shown = folder.run(&["info", "out.ogive"]).exits_with(0).stdout;
        let has_nulls = rows.contains("\n,");
        assert!(shown.contains(if has_nulls { " of (u64?" } else { " of u64 -> " }), "{kind}: {shown}");
    }
    // Empty text is no null.
    folder.write("left.csv", "id,name\nx,a\n,b\n\"\",c\n");
    folder.write("right.csv", "id,town\n\"\",e\n,f\nx,g\n");
    assert_eq!(joined(&folder, &["left.csv", "right.csv"]), "id,name,town\n,c,e\nx,a,g\n".replace("\n,c", "\n\"\",c"));
    let left = "id,name,town\n\"\",c,e\nx,a,g\n,b,\n";
    assert_eq!(joined(&folder, &["left.csv", "right.csv", "--kind", "left"]), left);
    // With a type, nulls are what the type says.
    let typed = ["left.csv", "right.csv", "--key-type", "text", "--kind", "anti"];
    assert_eq!(joined(&folder, &typed), "id,name\n");
    // An empty line is no row of a file of one column.
    folder.write("one.csv", "id\nx\n\nq\n");
    assert_eq!(joined(&folder, &["one.csv", "right.csv", "--on", "id", "--kind", "anti"]), "id\nq\n");
}

#[test]
fn null_keys_of_a_file_match_nothing_in_a_table_or_a_store() {
    let folder = folder();
    folder.write("towns.csv", "id,town\n2,x\n3,z\n");
    folder.build("towns.csv", "towns.ogive", &[]);
    folder.run(&["db", "import", "towns", "towns.csv"]).exits_with(0);
    let of_right = |rows: &str| rows.replace(",,y\n", "");
    for (kind, rows) in KINDS {
        for (side, method) in
            [("towns.ogive", "inlj"), ("towns", "inlj:index"), ("towns", "auto"), ("towns.ogive", "hash")]
        {
            let method = if kind == "full" { "auto" } else { method };
            let words = ["left.csv", side, "--kind", kind, "--method", method];
            assert_eq!(joined(&folder, &words), of_right(rows), "{kind} with {side} by {method}");
        }
    }
    let swapped = joined(&folder, &["towns.ogive", "left.csv", "--kind", "full"]);
    assert_eq!(swapped, "id,town,name\n1,,a\n2,x,c\n3,z,\n,,b\n,,d\n");
    // Keys of several columns, in whose order a null may come anywhere.
    folder.write("pairs.csv", "a,b,n\n1,x,1\n2,y,2\n");
    folder.build("pairs.csv", "pairs.ogive", &["--key", "a", "--key", "b"]);
    folder.write("some.csv", "a,b,m\n2,y,5\n,y,6\n1,,7\n1,w,8\n");
    let pairs = joined(&folder, &["some.csv", "pairs.ogive", "--on", "a,b", "--kind", "left"]);
    assert_eq!(pairs, "a,b,m,n\n1,w,8,\n1,,7,\n2,y,5,2\n,y,6,\n");
    assert_eq!(joined(&folder, &["some.csv", "pairs.ogive", "--on", "a,b"]), "a,b,m,n\n2,y,5,2\n");
    #[cfg(feature = "parquet")]
    {
        folder.run(&["join", "left.csv", "towns.csv", "--kind", "left", "-o", "left.parquet"]).exits_with(0);
        let kept = joined(&folder, &["left.parquet", "towns.ogive", "--kind", "anti", "--left-key", "id"]);
        assert_eq!(kept, "id,name,town\n1,a,\n,b,\n,d,\n");
    }
}

#[test]
fn a_late_value_beside_a_null_key_widens_the_column_of_a_join() {
    let folder = Folder::new();
    let rows: String = (0..1500).map(|row| format!("{row},{row}\n")).collect();
    folder.write("a.csv", format!("k,av\n{rows},x\n"));
    folder.write("b.csv", "k,bv\n1,1\n");
    for out in ["o.csv", "o.ogive"] {
        let run = folder.run(&["join", "a.csv", "b.csv", "--on", "k", "--kind", "left", "-o", out]);
        run.exits_with(0).complains_of("column 'av'");
    }
    assert!(std::fs::read_to_string(folder.path("o.csv")).unwrap().ends_with("\n,x,\n"));
}
