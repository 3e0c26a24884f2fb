//! Measurements of lookups in rounds, with the subjects taking turns.

use anyhow::Result;
use ogive::lsm::DbOptions;

use super::setting::options;
use super::store::{Order, Store, StoreSetup};
use super::subjects::{BASELINE, Subject};
use crate::experiments::Context;
use crate::output::{Record, Spread};
use crate::workload::{Population, Records};

/// Minimum number of rounds; figures are medians.
const ROUNDS: u64 = 3;

/// A store for each subject, loaded alike.
pub(super) struct Stores<'r> {
    pub(super) subjects: Vec<Subject>,
    pub(super) stores: Vec<Store<'r>>,
}

impl<'r> Stores<'r> {
    pub(super) fn load(
        context: &Context,
        records: &'r Records,
        population: &'r Population,
        order: Order,
        subjects: &[Subject],
        adjust: impl Fn(DbOptions) -> DbOptions,
    ) -> Result<Self> {
        let load = |subject: &Subject| {
            let options = adjust(options(context, records, subject));
            Store::load(&StoreSetup { context, records, population, order, options: &options, subject })
        };
        Ok(Self { subjects: subjects.to_vec(), stores: subjects.iter().map(load).collect::<Result<_>>()? })
    }

    /// Figures of each store, one value per round. The stores take turns, so that other work on the machine affects
    /// all.
    pub(super) fn in_turn(
        &mut self,
        context: &Context,
        mut measure: impl FnMut(&mut Store<'r>, u64) -> Result<f64>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut all: Vec<Vec<f64>> = self.stores.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds(context) {
            for (store, values) in self.stores.iter_mut().zip(&mut all) {
                values.push(measure(store, round)?);
            }
        }
        Ok(all)
    }

    /// Each subject with its store and its values, and the baseline's median divided by its own.
    pub(super) fn compared<'s>(
        &'s self,
        all: &'s [Vec<f64>],
    ) -> impl Iterator<Item = (&'s Subject, &'s Store<'r>, &'s [f64], f64)> {
        let baseline = self.subjects.iter().position(|subject| *subject == BASELINE);
        let baseline = baseline.map_or(f64::NAN, |index| Spread::of(&all[index]).median);
        self.subjects.iter().zip(&self.stores).zip(all).map(move |((subject, store), values)| {
            (subject, store, values.as_slice(), baseline / Spread::of(values).median)
        })
    }
}

pub(super) fn rounds(context: &Context) -> u64 {
    context.seeds.max(ROUNDS)
}

/// The head of a record.
pub(super) fn record(experiment: &str, records: &Records, subject: &Subject) -> Record {
    Record::new(experiment).keys(records.name()).figure("learning", subject.name)
}
