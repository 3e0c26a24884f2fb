//! A key set: triangular numbers with noise, whose curve bends everywhere.

use ogive_research::Result;
use ogive_research::keys::KeyGenerator;
use ogive_research::keys::spec::Plan;
use ogive_research::random::Random;

/// The keys i (i + 1) / 2 times `stride`, each moved up by less than `stride`.
#[derive(Debug, Clone, Copy)]
pub struct Triangles;

impl KeyGenerator for Triangles {
    fn name(&self) -> &'static str {
        "triangles"
    }

    fn about(&self) -> &'static str {
        "triangular numbers times STRIDE, plus noise below it"
    }

    fn most_keys(&self) -> u64 {
        1 << 31
    }

    fn options(&self) -> &'static [(&'static str, f64)] {
        &[("stride", 3.0)]
    }

    fn keys(&self, plan: &Plan) -> Result<Box<dyn Iterator<Item = Result<u64>> + Send>> {
        let stride = plan.option("stride") as u64;
        if !(1..=4).contains(&stride) {
            return Err(ogive_research::Error::spec(&plan.name, "stride is a number from 1 to 4"));
        }
        let mut random = Random::new(plan.seed, "triangles");
        Ok(Box::new((0..plan.count).map(move |index| Ok(index * (index + 1) / 2 * stride + random.below(stride)))))
    }
}
