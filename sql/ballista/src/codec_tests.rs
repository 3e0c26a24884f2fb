//! Tests of the codecs: plans come back as they went, and whatever else comes is an error.

use crate::allowed::Allowed;
use crate::codec::{OgivePhysicalCodec, table_message};
use crate::message::{ScanMessage, frame_again, is_frame};
use crate::session::session_config;
use crate::tables::OpenTables;
use ballista::prelude::SessionConfigExt;
use datafusion::catalog::TableProvider;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::physical_plan::{
    AsExecutionPlan, DefaultPhysicalProtoConverter, PhysicalExtensionCodec, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::physical_expr_node::ExprType;
use datafusion_proto::protobuf::{FileScanExecConf, PhysicalColumn, PhysicalExprNode, PhysicalPlanNode};
use ogive::{KeyType, LocalStorage, TableOptions, TableWriteOptions, TableWriter};
use ogive_datafusion::{OgiveOptions, OgiveTable, RelationIdentity};
use prost::Message;
use std::path::Path;
use std::sync::{Arc, Mutex};

const ROWS: u64 = 70_000;
/// Mutations of each message.
const MUTATIONS: u64 = 4_000;

/// A generator of numbers from a seed (SplitMix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31) % end
    }
}

fn write_numbers(folder: &Path, rows: u64) -> String {
    let options = TableWriteOptions::default().key_type(KeyType::U64).replace(true);
    let mut writer = TableWriter::create(Arc::new(LocalStorage::new(folder)), "t.ogive", options).unwrap();
    for number in 0..rows {
        writer.append(&(number * 3).to_be_bytes(), number.to_string().as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    folder.join("t.ogive").display().to_string()
}

async fn plan(location: &str, query: &str) -> Arc<dyn ExecutionPlan> {
    let config = SessionConfig::new().with_target_partitions(3).with_batch_size(777);
    let context = SessionContext::new_with_config(config);
    context
        .register_table("t", Arc::new(OgiveOptions::default().open(location).unwrap().unwrap().without_ranges()))
        .unwrap();
    context.sql(query).await.unwrap().create_physical_plan().await.unwrap()
}

const QUERIES: &[&str] = &[
    "select * from t",
    "select key from t where key between 50 and 100000 order by key",
    "select value, key + 1 as more from t where key in (3, 9, 12, 30000) or key < 5",
    "select key from t where key > 30 limit 11",
    "select count(*) from t where value like '%9'",
    "select * from t where key > 10 and key < 10",
];

/// Frames that the codec makes of plans.
#[derive(Debug)]
struct Recorder {
    codec: OgivePhysicalCodec,
    frames: Mutex<Vec<Vec<u8>>>,
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
        self.codec.try_encode(node, buf, converter)?;
        self.frames.lock().unwrap().push(buf.clone());
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
        let text = |plan: &Arc<dyn ExecutionPlan>| {
            displayable(plan.as_ref()).set_show_statistics(true).indent(true).to_string()
        };
        assert_eq!(text(&back), text(&plan), "{query}");
        let again = recorder();
        PhysicalPlanNode::try_from_physical_plan(back, &again).unwrap();
        let frames = codec.frames.into_inner().unwrap();
        assert!(!frames.is_empty() && frames.iter().all(|frame| is_frame(frame)), "{query}");
        assert_eq!(again.frames.into_inner().unwrap(), frames, "{query}");
    }
}

/// Bytes of a message that were changed, cut, repeated or replaced.
fn mutated(draw: &mut Draw, message: &[u8]) -> Vec<u8> {
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
    let mut draw = Draw(7);
    let (mut refused, mut taken) = (0, 0);
    for query in QUERIES {
        let recorder = recorder();
        PhysicalPlanNode::try_from_physical_plan(plan(&location, query).await, &recorder).unwrap();
        for frame in recorder.frames.into_inner().unwrap() {
            for _ in 0..MUTATIONS {
                // With a checksum that fits, as an attacker would send it.
                let bytes = frame_again(&frame, |message| mutated(&mut draw, message));
                match codec.try_decode(&bytes, &[], &context.task_ctx(), &converter) {
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
                    assert!(codec.try_decode(&bytes, &[], &context.task_ctx(), &converter).is_err());
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
    TableWriter::create(storage.clone(), "m.ogive", options).unwrap().finish().unwrap();
    let table = ogive::Table::open(storage, "m.ogive", &TableOptions::default()).unwrap();
    let codec = context.state().config().ballista_logical_extension_codec();
    let table: Arc<dyn TableProvider> = Arc::new(OgiveTable::new(table).unwrap());
    let error = codec.try_encode_table_provider(&"m".into(), table, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("m.ogive is known to this process alone"), "{error}");
    let identity = |location: &str| RelationIdentity {
        location: location.to_owned(),
        keyspace: String::new(),
        version: String::new(),
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
        let changed = frame_again(&recorder.frames.lock().unwrap()[0], |message| {
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
