//! The columns that a join compares. Goal: what people mean, and never another column in silence. Method: inputs with
//! and without names and keys, beside each other.

use super::run::{Folder, Run};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("orders.csv", "order_id,customer_id,amount\n1,20,5.50\n2,10,7.25\n3,20,1.00\n");
    folder.write("customers.csv", "name,customer_id\nada,10\nbob,20\n");
    folder.write("people.csv", "id,town\n10,rome\n20,oslo\n");
    folder.write("bare.csv", "20,x\n10,y\n");
    folder.write("ids.txt", "10\n30\n");
    folder.build("customers.csv", "customers.ogive", &["--key", "customer_id"]);
    folder
}

fn join(folder: &Folder, words: &[&str]) -> Run {
    folder.run(&[&["join"], words, &["-o", "-"]].concat())
}

#[test]
fn files_are_joined_by_their_common_column() {
    let folder = folder();
    let rows = "10\t2\t7.25\tada\n20\t1\t5.50\tbob\n20\t3\t1.00\tbob\n";
    let joined = join(&folder, &["orders.csv", "customers.csv"]).exits_with(0);
    let joined = joined.complains_of("joined orders.customer_id = customers.customer_id");
    assert_eq!(joined.stdout, rows);
    // A table is joined by its key, a file beside it by the column of that name.
    let beside = join(&folder, &["orders.csv", "customers.ogive"]).exits_with(0);
    let beside = beside.complains_of("joined orders.customer_id = customers.customer_id");
    assert_eq!(beside.stdout, rows);
    let report = folder.run(&["join", "orders.csv", "customers.csv", "-o", "j.ogive", "--json"]).exits_with(0).json();
    assert_eq!(report["on"], serde_json::json!({ "left": ["customer_id"], "right": ["customer_id"] }));
}

#[test]
fn columns_of_other_names_are_given() {
    let folder = folder();
    let refused = join(&folder, &["orders.csv", "people.csv"]).exits_with(2);
    refused.complains_of("'order_id', 'customer_id', 'amount'").complains_of("'id', 'town'").complains_of("--on");
    let joined = join(&folder, &["orders.csv", "people.csv", "--on", "customer_id=id"]).exits_with(0);
    assert_eq!(joined.stdout, "10\t2\t7.25\trome\n20\t1\t5.50\toslo\n20\t3\t1.00\toslo\n");
    let swapped = join(&folder, &["customers.ogive", "people.csv", "--on", "customer_id=id"]).exits_with(0);
    assert_eq!(swapped.stdout, "10\tada\trome\n20\tbob\toslo\n");
    join(&folder, &["customers.ogive", "people.csv", "--on", "name=id"])
        .exits_with(2)
        .complains_of("customers.ogive is joined by 'customer_id', not by 'name'")
        .complains_of("--on 'customer_id=id'");
    join(&folder, &["orders.csv", "people.csv", "--on", "id"]).exits_with(1).complains_of("no column 'id'");
    join(&folder, &["orders.csv", "people.csv", "--on", "id", "--left-key", "1"]).exits_with(2);
    // Names with the characters between names.
    folder.write("c.csv", "\"a,b\",n\n1,5\n");
    folder.write("d.csv", "m,\"x=y\"\n6,1\n");
    join(&folder, &["c.csv", "d.csv"]).exits_with(2).complains_of("--on '\"a,b\"=m'");
    assert_eq!(join(&folder, &["c.csv", "d.csv", "--on", "\"a,b\"=\"x=y\""]).exits_with(0).stdout, "1\t5\t6\n");
    // Several columns of both sides.
    folder.write("a.csv", "x,y,n\n1,a,5\n1,b,6\n");
    folder.write("b.csv", "y,x,m\na,1,7\nb,2,8\n");
    let several = join(&folder, &["a.csv", "b.csv"]).exits_with(2);
    several.complains_of("several have the same name");
    assert_eq!(join(&folder, &["a.csv", "b.csv", "--on", "x,y"]).exits_with(0).stdout, "1,a\t5\t7\n");
}

#[test]
fn inputs_without_names_have_one_key_or_say_which() {
    let folder = folder();
    assert_eq!(join(&folder, &["ids.txt", "people.csv"]).exits_with(0).stdout, "10\trome\n");
    assert_eq!(join(&folder, &["ids.txt", "customers.ogive"]).exits_with(0).stdout, "10\tada\n");
    let words = ["bare.csv", "customers.ogive", "--no-header"];
    join(&folder, &words).exits_with(2).complains_of("bare.csv has 2 columns without names").complains_of("--on 1");
    let given = join(&folder, &[&words[..], &["--on", "1=customer_id"]].concat()).exits_with(0);
    assert_eq!(given.stdout, "10\ty\tada\n20\tx\tbob\n");
    // A pipe is copied before its columns are looked for.
    let piped = folder.run_piped("orders.csv", &["join", "-", "customers.csv", "-o", "-"]).exits_with(0);
    assert_eq!(piped.stdout.lines().count(), 3);
}

#[test]
fn equal_numbers_are_equal_however_they_are_written() {
    let folder = Folder::new();
    let rows = |left: &str, right: &str, more: &[&str]| {
        folder.write("l.csv", format!("k,a\n{left}\n"));
        folder.write("r.csv", format!("k,b\n{right}\n"));
        join(&folder, &[&["l.csv", "r.csv", "--on", "k"], more].concat()).exits_with(0)
    };
    // Ids as programs write them that have no integers with nulls.
    let ids = rows("9007199254740993,x\n2,y", "2.0,p\n,q\n9007199254740993.0,r", &[]);
    ids.prints("2\ty\tp\n9007199254740993\tx\tr\n");
    let scales = rows("1234567890123456.78,x\n1.50,y", "1.5,p\n7,q", &[]).keeps_quiet_about("are text");
    scales.prints("1.50\ty\tp\n");
    // What floats hold is compared as before, and what is no number as text.
    rows("10,x\n2,y", "2,p\n2.5,q", &[]).prints("2\ty\tp\n");
    rows("12345678901234567890,x", "1e1,p", &["--kind", "anti"]).prints("12345678901234567890\tx\n");
    // A later row of another form is met with all rows.
    let many: String = (0..2000).map(|id| format!("{id}.0,p\n")).collect();
    let later = rows("9007199254740993,x\n7,y", &format!("{many}0.25,q"), &[]);
    later.complains_of("all rows are read for their types").prints("7.00\ty\tp\n");
    // A table has a type, which such numbers are read as.
    folder.build("l.csv", "l.ogive", &[]);
    folder.write("f.csv", "k,b\n7.0,p\n,q\n8.0,r\n");
    assert_eq!(join(&folder, &["f.csv", "l.ogive"]).exits_with(0).stdout, "7\tp\ty\n");
    folder.write("f.csv", "k,b\n7.5,p\n");
    join(&folder, &["f.csv", "l.ogive"]).exits_with(0).prints("");
}

#[test]
fn several_columns_of_a_key_are_given_in_any_order_and_words_of_conditions_are_columns() {
    let folder = Folder::new();
    folder.write("ab.csv", "a,b,x\n1,2,p\n2,1,q\n3,4,r\n");
    folder.write("ab2.csv", "a,b,y\n1,2,P\n2,1,Q\n3,4,R\n");
    folder.build("ab.csv", "ab.ogive", &["--key", "a", "--key", "b"]);
    let rows = "1,2\tP\tp\n2,1\tQ\tq\n3,4\tR\tr\n";
    for on in ["b,a", "a,b", "b=b,a=a"] {
        assert_eq!(join(&folder, &["ab2.csv", "ab.ogive", "--on", on]).exits_with(0).stdout, rows, "{on}");
    }
    join(&folder, &["ab2.csv", "ab.ogive", "--on", "b"]).exits_with(2).complains_of("give --on 'a,b'");
    folder.write("w1.csv", "id,city,n\n1,Ulm,5\n2,Bonn,7\n3,Rom,1\n");
    folder.write("w2.csv", "id,town,m\n1,Ulm,4\n2,Bonn 2,8\n3,town,1\n");
    for (condition, ids) in [
        ("left.city = town", "1"),
        ("city = right.town", "1"),
        ("city = \"town\"", "1"),
        ("left.city != town", "2 3"),
        ("right.town = 'town'", "3"),
        ("left.n > m", "1"),
    ] {
        let found = join(&folder, &["w1.csv", "w2.csv", "--on", "id", "--where", condition]).exits_with(0).stdout;
        let found: Vec<&str> = found.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(found.join(" "), ids, "{condition}");
    }
    folder.write("n1.csv", "1,x\n2,y\n");
    join(&folder, &["n1.csv", "ab2.csv"]).exits_with(2).complains_of("--no-header --on 1");
}

#[test]
fn what_is_not_there_is_said_before_its_format() {
    let folder = Folder::new();
    for command in
        [&["db", "import", "s", "nothere", "--key", "id"][..], &["build", "nothere", "-o", "t", "--key", "a"]]
    {
        folder.run(command).exits_with(1).complains_of("No such file").keeps_quiet_about("lines of text");
    }
    folder.write("sex.csv", "id,sex\n1,f\n2,f\n");
    let told = folder.run(&["build", "sex.csv", "-o", "t.ogive"]).exits_with(0);
    told.complains_of("column 'sex' is bool, since each of its values is 'f'");
}
