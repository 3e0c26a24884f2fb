//! Tests of stores under every learning policy. Goal: all policies give the same answers, with honest models and with
//! wrong ones.

use super::guide::{BourbonGuide, GuideParts};
use super::learner::BourbonLearner;
use super::model::PositionModel;
use super::shape::TableModel;
use super::{Bourbon, ExpectedLookups, LearningRule, ModelReads, ModelScope, ModelShape, ShapeChoice};
use ogive::Durability;
use ogive::io::MemoryStorage;
use ogive::lsm::extend::{Learner, LearningPolicy, TableFile, put_varint};
use ogive::lsm::{Db, DbOptions, Learning};
use ogive_model::line;
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn options(learning: Learning) -> DbOptions {
    DbOptions::default()
        .memory_bytes(8 << 20)
        .writes(|writes| writes.memtable_bytes(64 << 10))
        .levels(|levels| levels.table_bytes(64 << 10).level_bytes(128 << 10).level_factor(4))
        .durability(Durability::Buffered)
        .threads(0)
        .learning(learning)
}

/// A store with some history, and what it holds.
fn filled(options: &DbOptions) -> (Db, BTreeMap<Vec<u8>, Vec<u8>>) {
    let db = Db::open(Arc::new(MemoryStorage::new()), options).unwrap();
    let mut model = BTreeMap::new();
    let mut random = Random::new(7);
    for i in 0..12_000_u64 {
        let key = format!("key{:08}", random.below(4000) * random.below(4000)).into_bytes();
        if random.below(5) == 0 {
            db.remove(&key).unwrap();
            model.remove(&key);
        } else {
            db.insert(&key, i.to_le_bytes()).unwrap();
            model.insert(key, i.to_le_bytes().to_vec());
        }
    }
    (db, model)
}

fn check(db: &Db, model: &BTreeMap<Vec<u8>, Vec<u8>>, what: &str) {
    let mut random = Random::new(9);
    for (key, value) in model {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(value.as_slice()), "{what}: {}", key.escape_ascii());
    }
    for _ in 0..3000 {
        let key = format!("key{:08}", random.below(16_000_000)).into_bytes();
        assert_eq!(db.get(&key).unwrap().as_deref(), model.get(&key).map(Vec::as_slice), "{what}");
    }
}

#[test]
fn every_policy_gives_the_same_answers() {
    for rule in LearningRule::ALL {
        for scope in [ModelScope::Tables, ModelScope::Levels, ModelScope::ByChange] {
            for reads in [ModelReads::Block, ModelReads::Window] {
                let policy = Bourbon { scope, reads, ..Bourbon::new(rule) };
                let (db, model) = filled(&options(policy.into()));
                let what = format!("{policy:?}");
                check(&db, &model, &what);
                if rule != LearningRule::Never {
                    db.learn().unwrap();
                    check(&db, &model, &what);
                }
                db.compact().unwrap();
                check(&db, &model, &what);
                db.learn().unwrap();
                check(&db, &model, &what);
                assert!(db.learning_stats().models > 0, "{what}");
            }
        }
    }
}

#[test]
fn models_of_every_shape_give_the_same_answers() {
    let shapes = ModelShape::ALL.map(ShapeChoice::Fixed);
    for shape in shapes.into_iter().chain([ShapeChoice::ByCost]) {
        for (rule, expected) in [
            (LearningRule::Offline, ExpectedLookups::LikeLevel),
            (LearningRule::CostBenefit, ExpectedLookups::LikeBefore),
        ] {
            for reads in [ModelReads::Block, ModelReads::Window] {
                let policy = Bourbon { shape, expected, reads, ..Bourbon::new(rule) };
                let what = format!("{policy:?}");
                let (db, model) = filled(&options(policy.into()));
                db.learn().unwrap();
                check(&db, &model, &what);
                let stats = db.learning_stats();
                assert!(stats.learned > 0 && stats.model_lookups > 0, "{what}: {stats:?}");
                let has_models = shape != ShapeChoice::Fixed(ModelShape::Separators);
                assert_eq!(stats.models > 0, has_models, "{what}: {stats:?}");
            }
        }
    }
}

/// A model of this many records whose lines are made up.
fn lying(random: &mut Random, records: u64) -> PositionModel {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, records);
    put_varint(&mut bytes, 3);
    bytes.extend_from_slice(b"key");
    let mut nodes = Vec::new();
    for i in 0..1 + random.below(20) {
        nodes.push(line::LineNode {
            start: i * (u64::MAX / 20) + random.below(1 << 30),
            first_child: (records * i / 20).max(i),
            slope: random.below(1000) as f32 / 1e15,
            window: 1 << random.below(7),
            drop: random.below(1 << 16) as u16,
        });
    }
    nodes.retain(|node| node.first_child < records);
    line::encode(&nodes, &mut bytes);
    PositionModel::decode(&bytes).unwrap()
}

/// Gives every table a model whose lines are made up.
#[derive(Debug)]
struct WrongModels {
    reads: ModelReads,
    random: Mutex<Random>,
}

impl LearningPolicy for WrongModels {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn start(&self, _memory_bytes: u64) -> Arc<dyn Learner> {
        let random = Mutex::new(self.random.lock().unwrap().clone());
        Arc::new(Self { reads: self.reads, random })
    }
}

impl Learner for WrongModels {
    fn open_table(&self, table: &TableFile, _stored: Option<&[u8]>) {
        let policy = Bourbon { reads: self.reads, ..Bourbon::new(LearningRule::Offline) };
        let model = lying(&mut self.random.lock().unwrap(), table.records());
        let parts = Arc::new(GuideParts::new(&policy));
        table.set_guide(Some(Arc::new(BourbonGuide::new(parts, Some(TableModel::Regression(model)), table))));
    }
}

#[test]
fn lying_models_change_no_answer() {
    for reads in [ModelReads::Block, ModelReads::Window] {
        for seed in 0..4 {
            let learning = Learning::new(WrongModels { reads, random: Mutex::new(Random::new(seed)) });
            let (db, model) = filled(&options(learning));
            db.flush().unwrap();
            let stats = db.learning_stats();
            assert!(stats.models > 2, "{stats:?}");
            check(&db, &model, &format!("{reads:?} {seed}"));
        }
    }
}

/// Learns within the memory of a small store.
#[derive(Debug)]
struct LittleMemory;

/// Less than the models of the test's tables.
const LITTLE_BYTES: u64 = 32 << 10;

impl LearningPolicy for LittleMemory {
    fn name(&self) -> &'static str {
        "little"
    }

    fn start(&self, _memory_bytes: u64) -> Arc<dyn Learner> {
        Arc::new(BourbonLearner::new(Bourbon::new(LearningRule::Offline), LITTLE_BYTES))
    }
}

#[test]
fn models_over_their_memory_are_dropped() {
    for (learning, memory_bytes) in
        [(LearningRule::Offline.into(), 1 << 20), (Learning::new(LittleMemory), LITTLE_BYTES)]
    {
        let options = options(learning).memory_bytes(1 << 20);
        let db = Db::open(Arc::new(MemoryStorage::new()), &options).unwrap();
        let mut random = Random::new(1);
        let mut keys = Vec::new();
        // Keys that no line fits: about a segment for every few records.
        for _ in 0..60_000 {
            let key = (random.below(u64::MAX) >> random.below(60)).to_be_bytes();
            db.insert(key, b"v").unwrap();
            keys.push(key);
        }
        db.learn().unwrap();
        let stats = db.learning_stats();
        assert!(stats.model_bytes <= memory_bytes / 8, "{stats:?}");
        assert!(stats.models > 0, "{stats:?}");
        assert_eq!(stats.dropped > 0, memory_bytes == LITTLE_BYTES, "{stats:?}");
        keys.iter().for_each(|key| assert_eq!(db.get(key).unwrap().as_deref(), Some(&b"v"[..])));
    }
}
