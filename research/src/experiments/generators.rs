//! Generation speed and properties of key sets, to separate their cost from that of the engine in other experiments.

use std::time::Instant;

use super::{Context, Experiment, Output, each_set};
use crate::keys::{generators, summarise};
use crate::output::Record;

pub(super) const GENERATORS: Experiment =
    Experiment { name: "keys/generators", about: "keys generated per second, and properties of each set", run };

fn run(context: &Context, output: &mut Output<'_>) -> anyhow::Result<()> {
    let names: Vec<&str> = generators().iter().map(|generator| generator.name).collect();
    each_set(context, GENERATORS.name, &names, output, |spec, output| {
        let (mut rates, mut last) = (Vec::new(), None);
        for seed in context.seeds() {
            let set = context.open(spec, seed)?;
            let start = Instant::now();
            let mut stream = set.stream()?;
            let mut keys = 0;
            loop {
                let block = stream.next_block()?;
                if block.is_empty() {
                    break;
                }
                keys += block.len();
            }
            rates.push(keys as f64 / start.elapsed().as_secs_f64());
            last = Some(set);
        }
        let Some(set) = last else { return Ok(()) };
        let summary = summarise(set.stream()?)?;
        let (min, max) = summary.ends.unzip();
        let record = Record::new(GENERATORS.name)
            .keys(set.name())
            .figure("count", summary.count)
            .figure("distinct", summary.distinct)
            .figure("longest_repeat", summary.longest_repeat)
            .figure("min_key", min.unwrap_or_default())
            .figure("max_key", max.unwrap_or_default())
            .spread("keys_per_s", &rates);
        output.report(record)?;
        Ok(())
    })
}
