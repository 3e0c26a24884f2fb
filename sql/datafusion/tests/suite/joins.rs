//! Joins of every type, of relations of every form with each other and with rows in memory, give the rows of
//! DataFusion's own joins; and the cheapest way is taken.

use crate::conditions::Conditions;
use crate::relations::{FORMS, Form, Rows, pick};
use crate::{first_seed, ours, plan, reference, register_memory, rows, sorted_rows};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt64Array};
use arrow_schema::DataType;
use datafusion::arrow::compute::cast;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use ogive::KeyType;
use ogive_datafusion::{OgiveOptions, configure, with_ogive};
use ogive_testkit::Random;
use std::sync::Arc;

/// Pairs of relations of a run, and queries of each.
const PAIRS: u64 = 16;
const QUERIES: u64 = 10;

/// Key types that are joined with each other.
const PAIRED: [[&str; 2]; 12] = [
    ["u64", "u64"],
    ["i64", "i64"],
    ["text", "(text? nulls first, text)"],
    ["i32", "(i32, text)"],
    ["(i32, text)", "(i32, text)"],
    ["i64", "(i64?, text?)"],
    ["date", "date"],
    ["u64", "i64"],
    ["i64", "u64"],
    ["i32", "u64"],
    ["u8", "i64"],
    ["text", "text"],
];

/// A condition that becomes known at run time is about one of two columns of the same name.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_joins_are_about_their_own_columns() {
    let folder = tempfile::tempdir().unwrap();
    let reference = reference();
    let data = Rows::random(&mut Random::new(7), KeyType::U64, 300, true);
    let few = data.batch.slice(50, 40);
    register_memory(&reference, "t", &data.batch);
    register_memory(&reference, "few", &few);
    for partitions in [1, 2, 3] {
        let ours = ours(partitions);
        let place = folder.path().join(partitions.to_string());
        std::fs::create_dir(&place).unwrap();
        ours.register_table("t", Arc::new(data.open(&mut Random::new(1), &place, Form::Table))).unwrap();
        register_memory(&ours, "few", &few);
        for query in [
            "select count(*), sum(a.key), sum(b.key) from t a join t b on a.number + 1 = b.number join few on \
             few.key + 0 = b.key where few.number % 7 <> 3",
            "select count(*), sum(a.key), sum(b.key) from t a join t b on a.number % 9 = b.number % 9 join few on \
             few.key + 0 = b.key where few.number % 7 <> 3 and a.key in (select number from t)",
            "select a.key, b.key from t a join t b on a.number % 9 = b.number % 9 left join few on \
             b.key = few.key + 0 where few.number % 7 <> 3 order by 1, 2 limit 3",
        ] {
            assert_eq!(rows(&ours, query).await, rows(&reference, query).await, "{partitions}: {query}");
        }
    }
}

async fn check(seed: u64) {
    let mut random = Random::new(seed);
    let types: Vec<KeyType> = pick(&mut random, &PAIRED).iter().map(|it| it.parse().unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let (ours, reference) = (ours(*pick(&mut random, &[1, 2, 5])), reference());
    let mut forms = Vec::new();
    for (name, key_type) in ["a", "b"].into_iter().zip(&types) {
        let count = *pick(&mut random, &[0, 3, 300, 2_000, 20_000]);
        let is_distinct = random.one_in(2) || count > 10_000;
        let data = Rows::random(&mut random, *key_type, count, is_distinct);
        let form = *pick(&mut random, &FORMS);
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        register_memory(&reference, name, &data.batch);
        // A side may be rows of any plan.
        if data.fits(form) && !random.one_in(4) {
            ours.register_table(name, Arc::new(data.open(&mut random, &place, form))).unwrap();
        } else {
            register_memory(&ours, name, &as_views(&mut random, &data.batch));
        }
        forms.push(form);
    }
    let is_pair = types.iter().all(|key_type| matches!(key_type, KeyType::Tuple(_)));
    for _ in 0..QUERIES {
        let query = query(&mut random, &types, is_pair);
        let place = format!("seed {seed}, {forms:?} of {types:?}: {query}");
        assert_eq!(sorted_rows(&ours, &query).await, sorted_rows(&reference, &query).await, "{place}");
    }
}

/// The same rows, perhaps with the type of text that Parquet is read as.
fn as_views(random: &mut Random, batch: &RecordBatch) -> RecordBatch {
    if random.one_in(2) {
        return batch.clone();
    }
    let schema = batch.schema();
    let views = schema.fields().iter().zip(batch.columns()).map(|(field, array)| match field.data_type() {
        DataType::Utf8 => (field.name().clone(), cast(array, &DataType::Utf8View).unwrap(), field.is_nullable()),
        _ => (field.name().clone(), array.clone(), field.is_nullable()),
    });
    RecordBatch::try_from_iter_with_nullable(views.collect::<Vec<_>>()).unwrap()
}

fn is_number(key_type: &KeyType) -> bool {
    matches!(key_type, KeyType::U8 | KeyType::U64 | KeyType::I32 | KeyType::I64)
}

fn query(random: &mut Random, types: &[KeyType], is_pair: bool) -> String {
    let mut conditions = Vec::new();
    for (key_type, prefix) in types.iter().zip(["a.", "b."]) {
        if random.one_in(2) {
            conditions.push(Conditions { key_type: *key_type, prefix }.one(random));
        }
    }
    let mut on = vec!["a.key = b.key"];
    if types.iter().all(is_number) && random.one_in(3) {
        on = vec![*pick(
            random,
            &["a.key = b.number", "a.number = b.key", "a.key = b.key - 1", "abs(a.number) = b.key"],
        )];
    }
    if is_pair && random.one_in(2) {
        on.push("a.part = b.part");
    }
    if random.one_in(3) {
        on.push("a.number < b.number + 40");
    }
    let on = on.join(" and ");
    let both = conditions.join(" and ");
    let of_one = conditions.iter().filter(|it| !it.contains("b.")).cloned().collect::<Vec<_>>().join(" and ");
    let with = |word: &str, text: &str| if text.is_empty() { String::new() } else { format!(" {word} {text}") };
    match random.below(8) {
        0 => format!("select a.key, a.number, b.number from a join b on {on}{}", with("where", &both)),
        1 => format!("select a.number, b.name, b.number from a left join b on {on}{}", with("where", &of_one)),
        2 => format!("select a.number, b.key, b.number from a right join b on {on}"),
        3 => format!("select a.number, b.number from a full join b on {on}"),
        4 => format!("select a.key, a.number from a where exists (select 1 from b where {on}){}", with("and", &of_one)),
        5 => {
            format!(
                "select a.key, a.number from a where not exists (select 1 from b where {on}){}",
                with("and", &of_one)
            )
        }
        6 => format!("select count(*), sum(b.number) from a join b on {on}{}", with("where", &both)),
        _ => format!("select a.number from a where a.key in (select b.key from b){}", with("and", &of_one)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_give_the_rows_of_the_same_tables_in_memory() {
    let first = first_seed();
    for seed in first..first + PAIRS {
        check(seed).await;
    }
}

/// A session with a large table `t`, a copy `u` of it, and a few of its rows in memory as `few`.
async fn session(folder: &std::path::Path, partitions: usize) -> SessionContext {
    let context = ours(partitions);
    for name in ["t", "u"] {
        let mut random = Random::new(7);
        let data = Rows::random(&mut random, KeyType::U64, 100_000, true);
        let place = folder.join(name);
        std::fs::create_dir(&place).unwrap();
        context.register_table(name, Arc::new(data.open(&mut random, &place, Form::Table))).unwrap();
        if name == "t" {
            register_memory(&context, "few", &data.batch.slice(500, 20));
        }
    }
    context
}

/// Keys are looked up by values of other types, and by those of expressions.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_looked_up_by_values_of_other_types() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference) = (session(folder.path(), 2).await, reference());
    let data = Rows::random(&mut Random::new(7), KeyType::U64, 100_000, true);
    register_memory(&reference, "t", &data.batch);
    let text = Rows::random(&mut Random::new(8), KeyType::Text, 900, true);
    let place = folder.path().join("text");
    std::fs::create_dir(&place).unwrap();
    context.register_table("words", Arc::new(text.open(&mut Random::new(1), &place, Form::Table))).unwrap();
    register_memory(&reference, "words", &text.batch);
    for (few, join) in [
        ("select arrow_cast(column1, 'Int64') k from (values (-1), (100), (500), (501))", "few.k = t.key"),
        ("select arrow_cast(column1, 'Int16') k from (values (-1), (100), (500), (null))", "few.k = t.key"),
        ("select column1 k from (values (-1), (100), (500), (501))", "few.k * 2 = t.key"),
        ("select arrow_cast(column1, 'Utf8View') k from (values ('k7'), ('k007'), ('k100'))", "few.k = words.key"),
        ("select column1 k from (values ('k7'), ('k007'), ('k100'))", "lower(few.k) = words.key"),
    ] {
        let table = if join.ends_with("words.key") { "words" } else { "t" };
        for kind in ["join", "left join", "right join", "full join", "left semi join", "left anti join"] {
            let columns =
                if kind.ends_with("i join") { "count(*), max(few.k)" } else { "count(*), max(few.k), sum(number)" };
            let query = format!("with few as ({few}) select {columns} from few {kind} {table} on {join}");
            let planned = plan(&context, &query).await;
            let reads_all = ["right join", "full join"].contains(&kind);
            assert!(reads_all || planned.contains("LookUpJoinExec"), "{query}: {planned}");
            assert_eq!(rows(&context, &query).await, rows(&reference, &query).await, "{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn few_rows_are_looked_up_and_tables_in_order_are_merged_without_sorts() {
    let folder = tempfile::tempdir().unwrap();
    let context = session(folder.path(), 4).await;
    let few = "select few.number, t.number from few join t on few.key = t.key";
    assert!(plan(&context, few).await.contains("LookUpJoinExec"), "{}", plan(&context, few).await);
    let all = "select t.number, u.number from t join u on t.key = u.key";
    let merged = plan(&context, all).await;
    assert!(merged.contains("SortMergeJoinExec"), "{merged}");
    assert!(!merged.contains("SortExec") && !merged.contains("RepartitionExec"), "{merged}");
    let counted = sorted_rows(&context, "select count(*) from t join u on t.key = u.key").await;
    assert!(counted.iter().any(|line| line.contains("100000")), "{counted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_divide_their_batches_where_memory_is_short() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = RuntimeEnvBuilder::new().with_memory_limit(3 << 20, 1.0).build_arc().unwrap();
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(configure(SessionConfig::new().with_target_partitions(1)))
        .with_runtime_env(runtime);
    let short = SessionContext::from(with_ogive(state, &OgiveOptions::default()).build());
    let reference = reference();
    let mut random = Random::new(3);
    let many = Rows::random(&mut random, KeyType::U64, 400_000, true);
    let some = many.batch.slice(0, 30_000);
    let table = many.open(&mut random, folder.path(), Form::Table);
    short.register_table("t", Arc::new(table)).unwrap();
    register_memory(&reference, "t", &many.batch);
    register_memory(&short, "some", &some);
    register_memory(&reference, "some", &some);
    let query = "select sum(t.number), count(t.name), max(some.weight) from some join t on some.key = t.key";
    assert!(plan(&short, query).await.contains("LookUpJoinExec"), "{}", plan(&short, query).await);
    assert_eq!(sorted_rows(&short, query).await, sorted_rows(&reference, query).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_keys_of_a_batch_are_looked_up_by_several_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference) = (ours(2), reference());
    let mut random = Random::new(3);
    let many = Rows::random(&mut random, KeyType::U64, 400_000, true);
    let places: UInt64Array = (0..6_000_u64).map(|at| at * 7_919 % 5_900 * 65).collect();
    let some = arrow_select::take::take_record_batch(&many.batch, &places).unwrap();
    context.register_table("t", Arc::new(many.open(&mut random, folder.path(), Form::Table))).unwrap();
    register_memory(&context, "some", &some);
    register_memory(&reference, "t", &many.batch);
    register_memory(&reference, "some", &some);
    for kind in ["join", "left join", "left semi join", "left anti join"] {
        let query = format!("select count(*), sum(some.number), max(some.key) from some {kind} t on some.key = t.key");
        assert!(plan(&context, &query).await.contains("LookUpJoinExec"), "{}", plan(&context, &query).await);
        assert_eq!(rows(&context, &query).await, rows(&reference, &query).await, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_close_are_read_in_a_row_and_conditions_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference) = (session(folder.path(), 1).await, reference());
    let data = Rows::random(&mut Random::new(7), KeyType::U64, 100_000, true);
    let dense = data.batch.slice(40_000, 3_000);
    register_memory(&context, "dense", &dense);
    register_memory(&reference, "dense", &dense);
    register_memory(&reference, "t", &data.batch);
    let keys = dense.column_by_name("key").unwrap().as_primitive::<UInt64Type>();
    let gap = format!("(t.key < {} or t.key > {})", keys.value(1_000), keys.value(1_500));
    for (query, reads_most) in [
        ("select count(t.key), sum(t.number) from dense d left join t on d.key = t.key".to_owned(), 40),
        (format!("select count(t.key), sum(t.number) from dense d left join t on d.key = t.key and {gap}"), usize::MAX),
    ] {
        assert!(plan(&context, &query).await.contains("LookUpJoinExec"), "{}", plan(&context, &query).await);
        assert_eq!(rows(&context, &query).await, rows(&reference, &query).await, "{query}");
        let analyzed = rows(&context, &format!("explain analyze {query}")).await;
        let requests =
            analyzed.split("storage_requests=").nth(1).and_then(|rest| rest.split([',', ']']).next()).unwrap();
        assert!(requests.parse().is_ok_and(|requests: usize| requests <= reads_most), "{analyzed}");
    }
}

/// A merge repeats the rows of the right side for each row of the left one: a sort of that side orders none.
#[tokio::test(flavor = "multi_thread")]
async fn a_sort_stays_above_a_merge() {
    let (context, reference) = (ours(3), reference());
    for (name, key) in [("x", "a"), ("y", "b")] {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..600).map(|at| at % 40)));
        let others: ArrayRef = Arc::new(Int64Array::from_iter_values((0..600).map(|at| at * 7_919 % 601)));
        let batch = RecordBatch::try_from_iter([(key, keys), ("v", others)]).unwrap();
        register_memory(&context, name, &batch);
        register_memory(&reference, name, &batch);
    }
    rows(&context, "set datafusion.optimizer.prefer_hash_join = false").await;
    for query in [
        "select y.b, y.v from x join y on a = b order by 1 nulls first, 2 desc nulls first",
        "select y.b, y.v, x.v from x join y on a = b order by 1, 2, 3",
        "select b, v, row_number() over (order by b, v, w) r from (select y.b, y.v, x.v w from x join y on a = b) \
         order by r",
    ] {
        let merged = plan(&context, query).await;
        assert!(merged.contains("SortMergeJoinExec"), "{merged}");
        assert_eq!(rows(&context, query).await, rows(&reference, query).await, "{query}");
    }
}

/// Keys of other types in conditions that are one of several, which become joins with a mark.
#[tokio::test(flavor = "multi_thread")]
async fn a_subquery_beside_another_condition_may_have_another_type() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference) = (session(folder.path(), 2).await, reference());
    let data = Rows::random(&mut Random::new(7), KeyType::U64, 100_000, true);
    register_memory(&reference, "t", &data.batch);
    for condition in ["exists (select 1 from few where few.k = t.key)", "t.key in (select few.k + 1 from few)"] {
        let few = "with few as (select arrow_cast(column1, 'Int32') k from (values (-1), (99), (500), (null)))";
        for query in [
            format!("{few} select count(*), sum(key) from t where {condition} or number < 5"),
            format!("{few} select count(*), sum(key) from t where not {condition} or number < 5"),
        ] {
            assert_eq!(rows(&context, &query).await, rows(&reference, &query).await, "{query}");
        }
    }
}

/// A merge would take -0 for 0 among rows that are sorted by both.
#[tokio::test(flavor = "multi_thread")]
async fn zeros_of_either_sign_are_equal() {
    let (context, reference) = (ours(3), reference());
    for (name, sign) in [("x", 1.0), ("y", -1.0)] {
        let floats =
            Float64Array::from_iter_values((0..4_000).map(|at| if at % 2 == 0 { 0.0 * sign } else { -0.0 * sign }));
        let others = Int64Array::from_iter_values((0..4_000).map(|at| if at % 2 == 0 { at } else { -at }));
        let columns = [("a", Arc::new(floats) as ArrayRef), ("b", Arc::new(others) as ArrayRef)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        register_memory(&context, name, &batch);
        register_memory(&reference, name, &batch);
    }
    rows(&context, "set datafusion.optimizer.prefer_hash_join = false").await;
    let expected = rows(&reference, "select count(*), count(y.b) from x left join y on x.b = y.b").await;
    for kind in ["left", "inner", "full", "right"] {
        let query = format!("select count(*), count(y.b) from x {kind} join y on x.a = y.a and x.b = y.b");
        assert_eq!(rows(&context, &query).await, expected, "{kind}");
    }
}

/// DataFusion hands the limit to the sides of the merge: a column that may be null has the order of one that may not.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_stays_above_a_merge() {
    let (context, reference) = (ours(3), reference());
    let rows_of = |name: &str, numbers: std::ops::Range<i64>, is_nullable| {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        let batch = RecordBatch::try_from_iter_with_nullable([(name, numbers, is_nullable)]).unwrap();
        register_memory(&context, name, &batch);
        register_memory(&reference, name, &batch);
    };
    rows_of("x", 0..3_000, false);
    rows_of("y", 2_000..9_000, true);
    rows(&context, "set datafusion.optimizer.prefer_hash_join = false").await;
    for order in ["y", "y nulls first", "x", "y desc", "y, x desc"] {
        let query = format!("select x.x, y.y from x join y on x.x = y.y order by {order} limit 3 offset 1");
        let all = query.replace("x.x, y.y from", "y.y from").replace(", x desc", "").replace(" limit 3 offset 1", "");
        assert_eq!(rows(&context, &all).await, rows(&reference, &all).await, "{all}");
        let one = query.replace("x.x, y.y from", "y.y from").replace(", x desc", "");
        let merged = plan(&context, &one).await;
        assert!(merged.contains("SortMergeJoinExec"), "{merged}");
        assert_eq!(rows(&context, &query).await, rows(&reference, &query).await, "{query}");
        assert_eq!(rows(&context, &one).await, rows(&reference, &one).await, "{one}");
    }
}

/// DataFusion's own optimiser moves the projection below the merge, and leaves the condition with the places of before.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_of_merges_keep_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (context, reference) = (session(folder.path(), 4).await, reference());
    let data = Rows::random(&mut Random::new(7), KeyType::U64, 100_000, true);
    register_memory(&reference, "t", &data.batch);
    register_memory(&reference, "u", &data.batch);
    for query in [
        "select t.key, u.key from t join u on t.key = u.key and t.number % 7 < u.number % 5",
        "select t.name, u.number from t join u on t.key = u.key and t.weight > u.number",
    ] {
        let merged = plan(&context, query).await;
        assert!(merged.contains("FenceExec") && merged.contains("SortMergeJoinExec"), "{merged}");
        assert_eq!(sorted_rows(&context, query).await, sorted_rows(&reference, query).await, "{query}");
    }
}
