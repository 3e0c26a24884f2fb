//! Keys of different types in joins. Goal: numbers match where they are equal, whatever their types, and a row whose
//! key the other side cannot have is one without partner; what cannot be compared is refused with a remedy. Method:
//! whole runs on files, tables and Parquet of each pair of types, and of each remedy as it is told.

use super::run::{Folder, Run};

fn join(folder: &Folder, words: &[&str]) -> Run {
    folder.run(&[&["join"], words, &["-o", "-", "--to", "csv"]].concat())
}

#[test]
fn a_key_that_a_table_cannot_have_is_one_without_partner() {
    let folder = Folder::new();
    folder.write("t.csv", "id,town\n1,x\n7,y\n");
    folder.build("t.csv", "t.ogive", &[]);
    folder.build("t.csv", "nullable.ogive", &["--key-type", "(u64?)"]);
    folder.run(&["db", "import", "t", "t.csv"]).exits_with(0);
    for (name, ids) in [("n.csv", ["-3", "7.5"]), ("j.jsonl", ["-3", "7.5"]), ("w.csv", ["-3", "18446744073709551616"])]
    {
        let lines: Vec<String> = match name {
            "j.jsonl" => [ids[0], "1", ids[1]].iter().map(|id| format!("{{\"id\":{id},\"n\":\"a\"}}")).collect(),
            _ => ["id,n", &format!("{},a", ids[0]), "1,a", &format!("{},a", ids[1])].map(str::to_owned).to_vec(),
        };
        folder.write(name, lines.join("\n") + "\n");
        let shown = if ids[1] == "7.5" { ["-3", "1", "7.5"] } else { ["-3", "1", ids[1]] };
        for (side, method) in [("t.ogive", "auto"), ("t.ogive", "inlj"), ("t", "auto"), ("nullable.ogive", "auto")] {
            let with = |kind: &str| join(&folder, &[name, side, "--kind", kind, "--method", method]).exits_with(0);
            let what = format!("{name} and {side} by {method}");
            with("inner").prints("id,n,town\n1,a,x\n").complains_of("they match where they are equal");
            let left = format!("id,n,town\n{},a,\n1,a,x\n{},a,\n", shown[0], shown[2]);
            assert_eq!(with("left").stdout, left, "{what}");
            assert_eq!(with("anti").stdout, format!("id,n\n{},a\n{},a\n", shown[0], shown[2]), "{what}");
            assert_eq!(with("semi").stdout, "id,n\n1,a\n", "{what}");
        }
    }
    let full = join(&folder, &["t.ogive", "w.csv", "--kind", "full"]).exits_with(0);
    full.prints("id,town,n\n-3,,a\n1,x,a\n7,y,\n18446744073709551616,,a\n");
    // Text is none.
    folder.write("w.csv", "id,n\n-3,a\nx,b\n");
    join(&folder, &["w.csv", "t.ogive"]).exits_with(1).complains_of("'-3' in record 1 of w.csv");
}

#[cfg(feature = "parquet")]
#[test]
fn numbers_of_any_two_types_match_where_they_are_equal() {
    let folder = Folder::new();
    let rows = "k,w\n0,a\n1,b\n7,c\n";
    let names = [("u32", 4), ("i32", 5), ("i64", 6), ("u64", 7), ("f64", 8), ("decimal(10,2)", 9), ("(u64?)", 10)];
    for (name, at) in names {
        folder.write("t.csv", rows.replace('w', &format!("v{at}")));
        folder.build("t.csv", &format!("t{at}.ogive"), &["--key-type", name]);
        folder.run(&["export", &format!("t{at}.ogive"), &format!("p{at}.parquet")]).exits_with(0);
    }
    for ((one, left), (other, right)) in names.iter().flat_map(|one| names.iter().map(move |other| (*one, *other))) {
        let sides = match (left + right) % 3 {
            0 => [format!("t{left}.ogive"), format!("t{right}.ogive")],
            1 => [format!("p{left}.parquet"), format!("t{right}.ogive")],
            _ => [format!("p{left}.parquet"), format!("p{right}.parquet")],
        };
        let second = if left == right { format!("right_v{right}") } else { format!("v{right}") };
        let zeros = if one.starts_with("dec") { ".00" } else { "" };
        let rows = ["0", "1", "7"].iter().zip(["a", "b", "c"]).map(|(key, w)| format!("{key}{zeros},{w},{w}\n"));
        let found = join(&folder, &[&sides[0], &sides[1]]).exits_with(0).stdout;
        assert_eq!(found, format!("k,v{left},{second}\n{}", rows.collect::<String>()), "{one} {other} {sides:?}");
    }
    // No neighbour is equal.
    folder.write("f.csv", "k,w\n0.1,a\n9007199254740992,b\n");
    folder.build("f.csv", "f.ogive", &["--key-type", "f64"]);
    folder.run(&["export", "f.ogive", "f.parquet"]).exits_with(0);
    folder.write("d.csv", "k,v\n0.10,x\n9007199254740993.00,y\n");
    join(&folder, &["d.csv", "f.parquet"]).exits_with(0).prints("k,v,w\n0.10,x,a\n");
    join(&folder, &["f.parquet", "d.csv", "--kind", "left"])
        .exits_with(0)
        .prints("k,w,v\n0.1,a,x\n9007199254740992,b,\n");
    let anti = join(&folder, &["d.csv", "f.parquet", "--kind", "anti"]).exits_with(0);
    anti.prints("k,v\n9007199254740993.00,y\n");
    let full = join(&folder, &["f.parquet", "d.csv", "--kind", "full"]).exits_with_error();
    full.complains_of("join them twice instead");
    folder.write("i.csv", "k,v\n9007199254740992,x\n9007199254740993,y\n");
    folder.build("i.csv", "i.ogive", &[]);
    join(&folder, &["i.ogive", "f.parquet"]).exits_with(0).prints("k,v,w\n9007199254740992,x,b\n");
}

#[test]
fn text_beside_numbers_is_refused_or_told_with_what_reads_it() {
    let folder = Folder::new();
    folder.write("n.csv", "k,n\n1,a\n7,b\n");
    folder.build("n.csv", "n.ogive", &[]);
    folder.write("t.csv", "k,t\n1,x\n7,y\n");
    folder.build("t.csv", "t.ogive", &["--key-type", "text"]);
    let refused = join(&folder, &["t.ogive", "n.ogive"]).exits_with(1).complains_of("must have one type");
    refused.complains_of("`ogive export t.ogive keys.csv`");
    folder.run(&["export", "t.ogive", "keys.csv"]).exits_with(0);
    join(&folder, &["keys.csv", "n.ogive"]).exits_with(0).prints("k,t,n\n1,x,a\n7,y,b\n");
    #[cfg(feature = "parquet")]
    {
        folder.run(&["export", "t.ogive", "t.parquet"]).exits_with(0);
        join(&folder, &["n.ogive", "t.parquet"]).exits_with(1).complains_of("give --right-type 'k=u64'");
        let told = join(&folder, &["n.ogive", "t.parquet", "--right-type", "k=u64"]).exits_with(0);
        told.prints("k,n,t\n1,a,x\n7,b,y\n");
        std::fs::create_dir(folder.path("both")).unwrap();
        folder.run(&["export", "t.ogive", "both/a.parquet"]).exits_with(0);
        folder.run(&["export", "n.ogive", "both/b.parquet"]).exits_with(0);
        let both = join(&folder, &["both", "n.csv", "--on", "k"]).exits_with(1);
        both.complains_of("give it a type with --left-type 'k=text'");
    }
    folder.write("s.jsonl", "{\"k\":\"1.0\",\"s\":\"x\"}\n{\"k\":\"7\",\"s\":\"y\"}\n");
    let told = join(&folder, &["n.csv", "s.jsonl"]).exits_with(0);
    told.prints("k,n,s\n7,b,y\n").complains_of("--right-type 'k=u64' reads those strings as numbers");
    join(&folder, &["s.jsonl", "n.csv"]).exits_with(0).complains_of("--left-type 'k=u64' reads");
    let typed = join(&folder, &["n.csv", "s.jsonl", "--right-type", "k=u64"]).exits_with(0);
    typed.prints("k,n,s\n1,a,x\n7,b,y\n").keeps_quiet_about("note:");
    // What is text alone is a decimal beside another column.
    folder.write("a.csv", "k,v\n1234567890123456.78,x\n1.5,y\n");
    join(&folder, &["a.csv", "t.csv"]).exits_with(0).prints("k,v,t\n").keeps_quiet_about("note:");
}

#[test]
fn a_failure_names_the_options_of_its_side() {
    let folder = Folder::new();
    folder.write("s.csv", "id,v\n1,x\n");
    let sides = ["s.csv", "s.csv", "--on", "id"];
    for (flag, hint) in [("--left-type", "--left-type 'v=text'"), ("--right-type", "--right-type 'v=text'")] {
        join(&folder, &[&sides[..], &[flag, "v=u8"]].concat()).exits_with(1).complains_of(hint);
    }
}

#[test]
fn columns_of_a_key_that_are_no_numbers_leave_those_that_are_compared() {
    let folder = Folder::new();
    folder.write("t.csv", "x,z,v\n1,5,a\n");
    folder.build("t.csv", "t.ogive", &["--key", "x", "--key", "z", "--key-type", "(i32, text)"]);
    folder.write("k.csv", "x,z,w\n1,5,p\n5000000000,7,q\n");
    let found = join(&folder, &["k.csv", "t.ogive", "--on", "x,z", "--kind", "left"]).exits_with(0).stdout;
    assert_eq!(found.lines().count(), 3, "{found}");
    folder.build("t.csv", "n.ogive", &["--key", "x", "--key", "z"]);
    folder.write("y.csv", "x,z,w\n1,,p\n2.5,,q\n");
    let found = join(&folder, &["y.csv", "n.ogive", "--on", "x,z", "--kind", "left"]).exits_with(0).stdout;
    assert_eq!(found.lines().count(), 3, "{found}");
    folder.write("sec.csv", "sec,title\n1.1,Intro\n1.10,Results\n");
    let told = folder.run(&["build", "sec.csv", "-o", "s.ogive"]).exits_with(0);
    told.complains_of("--type 'sec=decimal(18,2)' keeps them exact, and 'sec=text' as they are written");
}
