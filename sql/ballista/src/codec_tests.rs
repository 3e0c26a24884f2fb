//! Tests of the codecs: decoded plans equal the encoded ones, and any other message is an error.

use crate::allowed::Allowed;
use crate::codec::{OgiveLogicalCodec, OgivePhysicalCodec, table_message};
use crate::message::{Kind, ScanMessage, frame_again, is_frame, kind_of};
use crate::session::session_config;
use crate::tables::OpenTables;
use ballista::prelude::SessionConfigExt;
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::logical_plan::{AsLogicalPlan, LogicalExtensionCodec};
use datafusion_proto::physical_plan::{
    AsExecutionPlan, DefaultPhysicalProtoConverter, PhysicalExtensionCodec, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::physical_expr_node::ExprType;
use datafusion_proto::protobuf::{
    FileScanExecConf, LogicalPlanNode, PhysicalColumn, PhysicalExprNode, PhysicalPlanNode,
};
use ogive::types::RecordType;
use ogive::{KeyType, LocalStorage, TableOptions, TableWriteOptions, TableWriter};
use ogive_datafusion::{
    OgiveOptions, OgiveTable, PartsNode, PartsStep, RelationIdentity, StagedNames, TablesPlace, with_key_joins,
};
use ogive_testkit::Random;
use prost::Message;
use std::path::Path;
use std::sync::{Arc, Mutex};

const ROWS: u64 = 70_000;
/// Mutations of each message.
const MUTATIONS: u64 = 4_000;

fn write_numbers(folder: &Path, rows: u64) -> String {
    let options = TableWriteOptions::default().key_type(KeyType::U64).replace(true);
    let mut writer = TableWriter::create((Arc::new(LocalStorage::new(folder)), "t.ogive"), options).unwrap();
    for number in 0..rows {
        writer.append(&(number * 3).to_be_bytes(), number.to_string().as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    folder.join("t.ogive").display().to_string()
}

/// A session with joins by key, in which merges are preferred to hash joins.
fn session(location: &str) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(3).with_batch_size(777);
    config.options_mut().optimizer.prefer_hash_join = false;
    let state = SessionStateBuilder::new().with_default_features().with_config(config);
    let context = SessionContext::from(with_key_joins(state).build());
    context
        .register_table("t", Arc::new(OgiveOptions::default().open(location).unwrap().unwrap().without_ranges()))
        .unwrap();
    context
}

async fn plan(location: &str, query: &str) -> Arc<dyn ExecutionPlan> {
    session(location).sql(query).await.unwrap().create_physical_plan().await.unwrap()
}

const QUERIES: &[&str] = &[
    "select * from t",
    "select key from t where key between 50 and 100000 order by key",
    "select value, key + 1 as more from t where key in (3, 9, 12, 30000) or key < 5",
    "select key from t where key > 30 limit 11",
    "select key, value from t order by key desc limit 11",
    "select count(*) from t where value like '%9'",
    "select * from t where key > 10 and key < 10",
    LOOK_UP,
    MERGE,
    UNION,
];
const LOOK_UP: &str = "select t.key, v.k from t right join (select key as k from t where key in (3, 30000)) v on \
                       t.key = v.k and t.value < '7'";
const MERGE: &str = "select a.value from t a join t b on a.value = b.value and a.key <= b.key";
const UNION: &str =
    "select 2 as a, key from t where key < 9 union all select 1, key from t where key < 9 order by a, key";

/// Frames that the codec makes of operators, with their inputs.
#[derive(Debug)]
struct Recorder {
    codec: OgivePhysicalCodec,
    frames: Mutex<Vec<(Vec<u8>, Inputs)>>,
}

type Inputs = Vec<Arc<dyn ExecutionPlan>>;

impl Recorder {
    fn frames(self) -> Vec<Vec<u8>> {
        self.frames.into_inner().unwrap().into_iter().map(|(frame, _)| frame).collect()
    }
}

impl PhysicalExtensionCodec for Recorder {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.codec.try_decode(buf, inputs, ctx, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.codec.try_encode(node.clone(), buf, converter)?;
        let inputs = node.children().into_iter().cloned().collect();
        self.frames.lock().unwrap().push((buf.clone(), inputs));
        Ok(())
    }
}

fn recorder() -> Recorder {
    Recorder { codec: OgivePhysicalCodec::new(Arc::default()), frames: Mutex::default() }
}

#[tokio::test]
async fn plans_come_back_as_they_went() {
    let folder = tempfile::tempdir().unwrap();
    let location = write_numbers(folder.path(), ROWS);
    let ctx = SessionContext::new().task_ctx();
    for query in QUERIES {
        let (plan, codec) = (plan(&location, query).await, recorder());
        let node = PhysicalPlanNode::try_from_physical_plan(plan.clone(), &codec).unwrap();
        let back = node.try_into_physical_plan(&ctx, &codec).unwrap();
        // The ranges of partitions are in their keys, and what is known later stays in its process.
        let text = |plan: &Arc<dyn ExecutionPlan>| {
            let shown = displayable(plan.as_ref()).set_show_statistics(true).indent(true).to_string();
            let shown = shown.replace(", dynamic_keys=[DynamicFilter [ empty ]]", "");
            let mut parts = shown.split(", output_partitioning=Range(");
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |text, part| text + &part[part.find(", file_type").unwrap()..])
        };
        assert_eq!(text(&back), text(&plan), "{query}");
        assert_eq!(text(&plan).contains("descending, last=11"), query.contains("desc"), "{query}");
        let again = recorder();
        PhysicalPlanNode::try_from_physical_plan(back, &again).unwrap();
        let frames = codec.frames();
        assert!(!frames.is_empty() && frames.iter().all(|frame| is_frame(frame)), "{query}");
        let has = |kind| frames.iter().any(|frame| kind_of(frame) == Some(kind));
        assert_eq!(has(Kind::LookUp), *query == LOOK_UP, "{query}");
        assert_eq!(has(Kind::Fence), [MERGE, UNION].contains(query), "{query}");
        assert_eq!(again.frames(), frames, "{query}");
    }
}

#[tokio::test]
async fn logical_plans_with_joins_by_key_come_back_as_they_went() {
    let folder = tempfile::tempdir().unwrap();
    let context = session(&write_numbers(folder.path(), ROWS));
    let (codec, mut draw) = (OgiveLogicalCodec::new(Arc::default()), Random::new(3));
    for query in [LOOK_UP, MERGE, "select count(*) from t a full join t b on a.key = b.key"] {
        let plan = context.sql(query).await.unwrap().into_optimized_plan().unwrap();
        let node = LogicalPlanNode::try_from_logical_plan(&plan, &codec).unwrap();
        let back = node.try_into_logical_plan(&context.task_ctx(), &codec).unwrap();
        let text = plan.display_indent_schema().to_string();
        assert!(text.contains("KeyJoin"), "{text}");
        assert_eq!(back.display_indent_schema().to_string(), text);
        let mut joins = Vec::new();
        plan.apply(|plan| {
            if let LogicalPlan::Extension(node) = plan {
                joins.push(node.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
        for join in joins {
            let (mut frame, mut taken) = (Vec::new(), 0);
            codec.try_encode(&join, &mut frame).unwrap();
            let inputs: Vec<LogicalPlan> = join.node.inputs().into_iter().cloned().collect();
            for _ in 0..MUTATIONS {
                let bytes = frame_again(&frame, |message| mutated(&mut draw, message));
                if let Ok(join) = codec.try_decode(&bytes, &inputs, &context.task_ctx()) {
                    taken += 1;
                    codec.try_encode(&join, &mut Vec::new()).unwrap();
                }
            }
            assert!(taken > 0 && taken < MUTATIONS, "{taken} taken");
            assert!(codec.try_decode(&frame, &inputs[..1], &context.task_ctx()).is_err());
        }
    }
}

/// Bytes of a message that were changed, cut, repeated or replaced.
fn mutated(draw: &mut Random, message: &[u8]) -> Vec<u8> {
    let mut bytes = message.to_vec();
    for _ in 0..1 + draw.below(4) {
        let at = draw.below(bytes.len().max(1) as u64) as usize;
        match draw.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << draw.below(8),
            1 if !bytes.is_empty() => bytes[at] = draw.below(256) as u8,
            2 => bytes.truncate(at),
            3 => bytes.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x0f]).for_each(drop),
            4 => {
                let end = at + draw.below((bytes.len() - at + 1).min(40) as u64) as usize;
                let part = bytes[at..end].to_vec();
                bytes.extend(part);
            }
            _ => bytes.splice(at..at, (0..draw.below(9)).map(|byte| (byte * 31) as u8)).for_each(drop),
        }
    }
    bytes
}

#[tokio::test]
async fn damaged_plans_are_errors_and_end_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let location = write_numbers(folder.path(), ROWS);
    let (context, converter) = (SessionContext::new(), DefaultPhysicalProtoConverter {});
    let tables = Arc::new(OpenTables::new(
        Allowed::only(&[folder.path().to_str().unwrap()]).unwrap(),
        OgiveOptions::default(),
        4,
    ));
    let codec = OgivePhysicalCodec::new(tables);
    let mut draw = Random::new(7);
    let (mut refused, mut taken) = (0, 0);
    for query in QUERIES {
        let recorder = recorder();
        PhysicalPlanNode::try_from_physical_plan(plan(&location, query).await, &recorder).unwrap();
        for (frame, inputs) in recorder.frames.into_inner().unwrap() {
            for _ in 0..MUTATIONS {
                // With a checksum that fits, as an attacker would send it.
                let bytes = frame_again(&frame, |message| mutated(&mut draw, message));
                match codec.try_decode(&bytes, &inputs, &context.task_ctx(), &converter) {
                    // What is understood can be shown, and sent on.
                    Ok(plan) => {
                        taken += 1;
                        _ = displayable(plan.as_ref()).indent(true).to_string();
                        codec.try_encode(plan, &mut Vec::new(), &converter).unwrap();
                    }
                    Err(_) => refused += 1,
                }
                let bytes = mutated(&mut draw, &frame);
                if bytes != frame {
                    assert!(codec.try_decode(&bytes, &inputs, &context.task_ctx(), &converter).is_err());
                }
            }
        }
    }
    assert!(refused > 1_000 && taken > 100, "the mutations reach the message: {refused} refused, {taken} taken");
    for length in 0..200 {
        let random: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
        _ = codec.try_decode(&random, &[], &context.task_ctx(), &converter);
        let framed = [b"OGVP".as_slice(), &random].concat();
        assert!(codec.try_decode(&framed, &[], &context.task_ctx(), &converter).is_err());
    }
}

/// The steps of a statement that writes rows: at a place that is allowed, and of a checked shape.
#[tokio::test]
async fn steps_that_write_rows_come_back_as_they_went() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let context = session(&write_numbers(folder.path(), ROWS));
    let tables = |folder: &Path| {
        let allowed = Allowed::only(&[folder.to_str().unwrap()]).unwrap();
        Arc::new(OpenTables::new(allowed, OgiveOptions::default(), 4))
    };
    let logical = OgiveLogicalCodec::new(tables(folder.path()));
    let physical = OgivePhysicalCodec::new(tables(folder.path()));
    let (mut draw, converter) = (Random::new(11), DefaultPhysicalProtoConverter {});
    let input = context.sql("select key, value from t").await.unwrap().into_optimized_plan().unwrap();
    let place = |name: StagedNames, is_single| TablesPlace {
        folder: folder.path().display().to_string(),
        names: name,
        is_single,
    };
    let types = RecordType::new(KeyType::U64, KeyType::Bytes);
    let cuts = vec![vec![0, 1], vec![0, 1, 7], vec![3]];
    let prefix = StagedNames::Prefix("rows-7-".to_owned());
    for step in [
        PartsStep::Sample,
        PartsStep::Write { cuts: cuts.clone(), place: place(prefix, false) },
        PartsStep::Write { cuts: Vec::new(), place: place(StagedNames::Final("t2.ogive".to_owned()), true) },
    ] {
        let node = Arc::new(PartsNode::try_new(input.clone(), types.clone(), step.clone()).unwrap());
        let plan = LogicalPlan::Extension(Extension { node });
        let LogicalPlan::Extension(node) = &plan else { unreachable!() };
        let mut frame = Vec::new();
        logical.try_encode(node, &mut frame).unwrap();
        let inputs = [input.clone()];
        assert_eq!(logical.try_decode(&frame, &inputs, &context.task_ctx()).unwrap(), *node);
        if step != PartsStep::Sample {
            let elsewhere = OgiveLogicalCodec::new(tables(other.path()));
            let error = elsewhere.try_decode(&frame, &inputs, &context.task_ctx()).unwrap_err().to_string();
            assert!(error.contains("may not be opened by queries"), "{error}");
        }
        let mut operators = vec![context.state().create_physical_plan(&plan).await.unwrap()];
        for _ in 0..MUTATIONS {
            let bytes = frame_again(&frame, |message| mutated(&mut draw, message));
            if let Ok(node) = logical.try_decode(&bytes, &inputs, &context.task_ctx()) {
                logical.try_encode(&node, &mut Vec::new()).unwrap();
            }
        }
        let mut found = 0;
        while let Some(operator) = operators.pop() {
            operators.extend(operator.children().into_iter().cloned());
            if !["SampleKeysExec", "KeyRangesExec", "WriteTablesExec"].contains(&operator.name()) {
                continue;
            }
            found += 1;
            let (mut frame, inputs) = (Vec::new(), operator.children().into_iter().cloned().collect::<Vec<_>>());
            physical.try_encode(operator.clone(), &mut frame, &converter).unwrap();
            let back = physical.try_decode(&frame, &inputs, &context.task_ctx(), &converter).unwrap();
            let shown = |plan: &Arc<dyn ExecutionPlan>| displayable(plan.as_ref()).indent(true).to_string();
            assert_eq!(shown(&back), shown(&operator));
            let mut again = Vec::new();
            physical.try_encode(back, &mut again, &converter).unwrap();
            assert_eq!(again, frame);
            for _ in 0..MUTATIONS {
                let bytes = frame_again(&frame, |message| mutated(&mut draw, message));
                if let Ok(plan) = physical.try_decode(&bytes, &inputs, &context.task_ctx(), &converter) {
                    physical.try_encode(plan, &mut Vec::new(), &converter).unwrap();
                }
            }
        }
        assert_eq!(found, if step == PartsStep::Sample { 1 } else { 2 });
    }
}

#[tokio::test]
async fn a_table_that_changed_after_planning_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let location = write_numbers(folder.path(), ROWS);
    let (sender, receiver) = (recorder(), recorder());
    let node = PhysicalPlanNode::try_from_physical_plan(plan(&location, QUERIES[0]).await, &sender).unwrap();
    write_numbers(folder.path(), ROWS / 2);
    let ctx = SessionContext::new().task_ctx();
    let error = node.try_into_physical_plan(&ctx, &receiver).unwrap_err().to_string();
    assert!(error.contains(&location) && error.contains("changed after the query was planned"), "{error}");
    // An executor that has the new table open refuses the old plan, and takes a new one.
    let node = PhysicalPlanNode::try_from_physical_plan(plan(&location, QUERIES[0]).await, &sender).unwrap();
    node.try_into_physical_plan(&ctx, &receiver).unwrap();
    std::fs::remove_file(&location).unwrap();
    // It is open, and still the one that is asked for.
    node.try_into_physical_plan(&ctx, &receiver).unwrap();
    let error = node.try_into_physical_plan(&ctx, &recorder()).unwrap_err().to_string();
    assert!(error.contains("t.ogive"), "{error}");
}

#[tokio::test]
async fn tables_of_one_process_and_secrets_are_not_sent() {
    let context = SessionContext::new_with_config(session_config(&Arc::default()));
    let storage = Arc::new(ogive::MemoryStorage::new());
    let options = TableWriteOptions::default().key_type(KeyType::U64);
    TableWriter::create((storage.clone(), "m.ogive"), options).unwrap().finish().unwrap();
    let table = ogive::Table::open((storage, "m.ogive"), &TableOptions::default()).unwrap();
    let codec = context.state().config().ballista_logical_extension_codec();
    let table: Arc<dyn TableProvider> = Arc::new(OgiveTable::new(table).unwrap());
    let error = codec.try_encode_table_provider(&"m".into(), table, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("m.ogive is known to this process alone"), "{error}");
    let identity = |location: &str| RelationIdentity {
        location: location.to_owned(),
        keyspace: String::new(),
        version: String::new(),
        types: None,
    };
    for (secret, shown) in [
        ("https://host/t.ogive?signature=abc", "https://host/t.ogive"),
        ("https://me:abc@host/t.ogive", "https://host/t.ogive"),
    ] {
        let error = table_message([&identity(secret)].into_iter()).unwrap_err().to_string();
        assert!(error.contains(shown) && !error.contains("abc"), "{error}");
    }
    assert!(table_message([&identity("s3://bucket/a@b/t.ogive")].into_iter()).is_ok());
}

#[tokio::test]
async fn an_executor_opens_what_is_allowed_alone() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let location = write_numbers(folder.path(), ROWS);
    let node = PhysicalPlanNode::try_from_physical_plan(plan(&location, QUERIES[0]).await, &recorder()).unwrap();
    let ctx = SessionContext::new().task_ctx();
    for (allowed, expected) in [(folder.path(), true), (other.path(), false)] {
        let allowed = Allowed::only(&[allowed.to_str().unwrap()]).unwrap();
        let codec = OgivePhysicalCodec::new(Arc::new(OpenTables::new(allowed, OgiveOptions::default(), 4)));
        let decoded = node.try_into_physical_plan(&ctx, &codec);
        assert_eq!(decoded.is_ok(), expected);
        let error = decoded.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(expected || error.contains(&location) && error.contains("--allow"), "{error}");
    }
}

#[tokio::test]
async fn an_expression_about_an_absent_column_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let location = write_numbers(folder.path(), ROWS);
    let recorder = recorder();
    PhysicalPlanNode::try_from_physical_plan(plan(&location, QUERIES[0]).await, &recorder).unwrap();
    let ctx = SessionContext::new().task_ctx();
    for (index, name, is_fine) in [(1, "value", true), (0, "value", false), (9, "value", false)] {
        let changed = frame_again(&recorder.frames.lock().unwrap()[0].0, |message| {
            let mut scan = ScanMessage::decode(message).unwrap();
            let mut config = FileScanExecConf::decode(&scan.config[..]).unwrap();
            let column = PhysicalColumn { name: name.to_owned(), index };
            let expr = PhysicalExprNode { expr_type: Some(ExprType::Column(column)), ..PhysicalExprNode::default() };
            config.projection_exprs.as_mut().unwrap().projections[1].expr = Some(expr);
            scan.config = config.encode_to_vec();
            scan.encode_to_vec()
        });
        let decoded = recorder.try_decode(&changed, &[], &ctx, &DefaultPhysicalProtoConverter {});
        assert_eq!(decoded.is_ok(), is_fine, "column {index}, {name}: {decoded:?}");
    }
}
