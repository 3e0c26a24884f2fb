//! Goal: what joins by the methods of this crate write, and stores with its learning policies, can be read back, for
//! every shape of input. Method: the random shapes of the test kit that come out of these, and nested keys, whose
//! separators are long. With `OGIVE_SHAPES_SECONDS` and `OGIVE_SHAPES_SEED`, as many as there is time for.

use ogive::KeyType;
use ogive::io::{FastPaths, Timer};
use ogive::join::{JoinKind, JoinMethod};
use ogive::lsm::Learning;
use ogive_research::joins::{BTREE, METHODS};
use ogive_research::register;
use ogive_testkit::shapes::{Effort, Ends, JoinForm, Relation, Shape, TableForm, Values, Way};

/// Seeds of the random shapes, and the limit in bytes of their rows.
const SEEDS: std::ops::Range<u64> = 0..600;
const BYTES_MAX: u64 = 160 << 10;

/// Separators so long that the index has several layers, of which joins read the lowest.
#[test]
fn nested_keys_looked_up_by_joins() {
    register();
    for kind in [JoinKind::Inner, JoinKind::Semi, JoinKind::Anti] {
        let way = Way::Join(JoinForm {
            memory_bytes: 256 << 20,
            method: BTREE,
            kind,
            threads: 1,
            relations: (Relation::Table, Relation::Table),
            right_one_in: 1,
        });
        let table = TableForm {
            design: "tuned",
            block_bytes: Some(4096),
            states_value_width: false,
            coded: true,
            compressed: false,
            filtered: false,
        };
        let shape = Shape {
            key_type: KeyType::Text,
            ends: Ends::Nested,
            prefix_bytes: 0,
            prefixes: 1,
            rows: 2_900,
            values: Values::Empty,
            seed: 1,
            table,
            way,
            fast_paths: FastPaths::ALL,
        };
        if let Err(failure) = shape.check(Effort::QUICK) {
            panic!("{failure}");
        }
    }
}

/// Whether a shape comes out of a join by a method of this crate, or of a store with one of its policies.
fn is_ours(shape: &Shape) -> bool {
    let is_own = |method: JoinMethod| METHODS.iter().any(|own| own.to_string() == method.to_string());
    match &shape.way {
        Way::Join(form) => is_own(form.method),
        Way::Store(form) => form.learning != Learning::CODED.name(),
        _ => false,
    }
}

fn hold(seed: u64, shape: &Shape, effort: Effort) {
    if let Err(failure) = shape.check(effort) {
        panic!("seed {seed}: {failure}");
    }
}

#[test]
fn shapes_that_are_drawn_come_out_of_joins_and_stores() {
    register();
    let (mut joins, mut stores) = (0, 0);
    for seed in SEEDS {
        let shape = Shape::of_seed(seed);
        if is_ours(&shape) && shape.bytes() <= BYTES_MAX {
            hold(seed, &shape, Effort::QUICK);
            let count = if matches!(shape.way, Way::Join(_)) { &mut joins } else { &mut stores };
            *count += 1;
        }
    }
    assert!(joins > 5 && stores > 20, "{joins} joins, {stores} stores");
}

#[test]
#[ignore = "long: 10 minutes"]
fn shapes_that_are_drawn_for_as_long_as_is_said() {
    register();
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("OGIVE_SHAPES_SECONDS").unwrap_or(600) as f64;
    let timer = Timer::start();
    let seeds = number("OGIVE_SHAPES_SEED").unwrap_or(SEEDS.end)..;
    for (seed, shape) in seeds.map(|seed| (seed, Shape::of_seed(seed))).filter(|(_, shape)| is_ours(shape)) {
        hold(seed, &shape, Effort::FULL);
        if timer.elapsed_s() >= seconds {
            break;
        }
    }
}
