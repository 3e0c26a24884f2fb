//! The stored form of the options of structures: an id and eight bytes for each.

use crate::airindex::structures::{AirIndexOptions, LOOKUPS_PER_INSERT_MAX};
use crate::aulid::structures::AulidOptions;
use crate::disk_indexes::structures::alex::AlexOptions;
use crate::disk_indexes::structures::fiting::FitingOptions;
use crate::disk_indexes::structures::lipp::LippOptions;
use crate::disk_indexes::structures::pgm::PgmOptions;
use ogive::index::extend::Tunable;

/// The options of all structures, of which a kind uses those of its family.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tunables {
    pub(crate) aulid: AulidOptions,
    pub(crate) fiting: FitingOptions,
    pub(crate) pgm: PgmOptions,
    pub(crate) alex: AlexOptions,
    pub(crate) lipp: LippOptions,
    pub(crate) airindex: AirIndexOptions,
}

/// A structure and its hybrid, which share their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Aulid,
    Fiting,
    Pgm,
    Alex,
    Lipp,
    AirIndex,
}

impl Tunables {
    /// The complete stored form.
    pub(crate) fn list(&self, family: Family) -> Vec<Tunable> {
        match family {
            Family::Aulid => stored::aulid(&self.aulid),
            Family::Fiting => stored::fiting(&self.fiting),
            Family::Pgm => stored::pgm(&self.pgm),
            Family::Alex => stored::alex(&self.alex),
            Family::Lipp => stored::lipp(&self.lipp),
            Family::AirIndex => stored::airindex(&self.airindex),
        }
    }

    /// Parses a stored form; missing options have their defaults.
    ///
    /// # Errors
    /// The accepted values.
    pub(crate) fn parse(family: Family, list: &[Tunable]) -> Result<Self, String> {
        let mut tunables = Self::default();
        for &(id, value) in list {
            let known = match family {
                Family::Aulid => stored::set_aulid(&mut tunables.aulid, id, value),
                Family::Pgm => stored::set_pgm(&mut tunables.pgm, id, value),
                Family::Fiting => stored::set_fiting(&mut tunables.fiting, id, value),
                Family::Alex => stored::set_alex(&mut tunables.alex, id, value),
                Family::Lipp => stored::set_lipp(&mut tunables.lipp, id, value),
                Family::AirIndex => stored::set_airindex(&mut tunables.airindex, id, value),
            };
            known.ok_or_else(|| format!("no tunable {id} of value {value}"))?;
        }
        match tunables.violation(family) {
            Some(accepted) => Err(accepted.to_owned()),
            None => Ok(tunables),
        }
    }

    /// The accepted values, if a value is out of range.
    fn violation(&self, family: Family) -> Option<&'static str> {
        match family {
            Family::Aulid => aulid_violation(&self.aulid),
            Family::Fiting => fiting_violation(&self.fiting),
            Family::Pgm => pgm_violation(&self.pgm),
            Family::Alex => alex_violation(&self.alex),
            Family::Lipp => lipp_violation(&self.lipp),
            Family::AirIndex => airindex_violation(&self.airindex),
        }
    }
}

/// The stored form of options, as [`IndexOptions::tunables`](ogive::index::IndexOptions::tunables) takes it.
macro_rules! tunables {
    ($($options:ty, $list:ident;)*) => {$(
        impl $options {
            /// The options as [`IndexOptions::tunables`](ogive::index::IndexOptions::tunables) takes them.
            pub fn tunables(&self) -> Vec<Tunable> {
                stored::$list(self)
            }
        }
    )*};
}

tunables! {
    AulidOptions, aulid;
    FitingOptions, fiting;
    PgmOptions, pgm;
    AlexOptions, alex;
    LippOptions, lipp;
    AirIndexOptions, airindex;
}

/// The greatest error of a line, in positions.
const ERROR_MAX: u32 = 1 << 20;
/// The greatest base of PGM's logarithmic method.
const BASE_MAX: u32 = 1 << 10;
/// The greatest number of slots per leaf.
const SLOTS_MAX: u8 = 64;
const ERROR_ACCEPTED: &str = "an error from 1 to 1,048,576 positions";

fn aulid_violation(options: &AulidOptions) -> Option<&'static str> {
    if !(0.0..=1.0).contains(&options.alpha) {
        return Some("an alpha from 0 to 1");
    }
    if !(options.beta >= 1.0 && options.beta.is_finite()) {
        return Some("a beta of at least 1");
    }
    let mut slots = options.slots_per_leaf.into_iter().chain([options.slots_per_leaf_rebuilt]);
    slots.any(|slots| !(1..=SLOTS_MAX).contains(&slots)).then_some("1 to 64 slots for each leaf")
}

fn fiting_violation(options: &FitingOptions) -> Option<&'static str> {
    (!(1..=ERROR_MAX).contains(&options.error)).then_some(ERROR_ACCEPTED)
}

fn pgm_violation(options: &PgmOptions) -> Option<&'static str> {
    if !(1..=ERROR_MAX).contains(&options.error) {
        return Some(ERROR_ACCEPTED);
    }
    (!(2..=BASE_MAX).contains(&options.base)).then_some("a base from 2 to 1,024")
}

fn alex_violation(options: &AlexOptions) -> Option<&'static str> {
    let percents = [10, options.min_percent, options.initial_percent, options.max_percent, 100];
    if !percents.is_sorted() {
        return Some("percents that ascend: min, initial, max, from 10 to 100");
    }
    if !(1..=4096).contains(&options.max_node_pages) {
        return Some("data nodes of 1 to 4,096 pages");
    }
    (!(1..=24).contains(&options.max_fanout_bits)).then_some("inner nodes of 2^1 to 2^24 children")
}

fn lipp_violation(options: &LippOptions) -> Option<&'static str> {
    if !options.slots_per_key.iter().all(|slots| (1..=32).contains(slots)) {
        return Some("1 to 32 slots for each key");
    }
    if options.rebuild_growth < 2 || options.rebuild_keys_min < 4 {
        return Some("rebuilds of nodes from twice their keys on, and from 4 keys on");
    }
    (options.rebuild_conflict_percent > 100 || options.model_levels > 16)
        .then_some("up to 100 percent of conflicts, and up to 16 levels of models")
}

fn airindex_violation(options: &AirIndexOptions) -> Option<&'static str> {
    if options.profile().is_none() {
        return Some("a latency of up to 10^12 us and a bandwidth of up to 10^9 MB/s, both above 0");
    }
    let accepted = (0.0..=LOOKUPS_PER_INSERT_MAX).contains(&options.lookups_per_insert);
    (!accepted).then_some("0 to 10^9 lookups per insert")
}

/// The stored forms.
mod stored {
    use super::{AirIndexOptions, AlexOptions, AulidOptions, FitingOptions, LippOptions, PgmOptions};

    /// Conversion of an option to and from eight bytes.
    trait Stored: Sized {
        fn to_stored(self) -> u64;
        fn from_stored(value: u64) -> Option<Self>;
    }

    macro_rules! integers {
        ($($type:ty)*) => {$(
            impl Stored for $type {
                fn to_stored(self) -> u64 {
                    self as u64
                }

                fn from_stored(value: u64) -> Option<Self> {
                    Self::try_from(value).ok()
                }
            }
        )*};
    }

    integers!(u8 u16 u32 usize);

    impl Stored for bool {
        fn to_stored(self) -> u64 {
            u64::from(self)
        }

        fn from_stored(value: u64) -> Option<Self> {
            (value <= 1).then_some(value == 1)
        }
    }

    impl Stored for f64 {
        fn to_stored(self) -> u64 {
            self.to_bits()
        }

        fn from_stored(value: u64) -> Option<Self> {
            Some(Self::from_bits(value))
        }
    }

    /// One byte per element, the first one lowest.
    impl Stored for [u8; 3] {
        fn to_stored(self) -> u64 {
            let [first, second, third] = self.map(u64::from);
            first | second << 8 | third << 16
        }

        fn from_stored(value: u64) -> Option<Self> {
            let [first, second, third, 0, 0, 0, 0, 0] = value.to_le_bytes() else { return None };
            Some([first, second, third])
        }
    }

    /// 0 encodes `None`.
    impl Stored for Option<u8> {
        fn to_stored(self) -> u64 {
            u64::from(self.unwrap_or(0))
        }

        fn from_stored(value: u64) -> Option<Self> {
            let value = u8::try_from(value).ok()?;
            Some((value > 0).then_some(value))
        }
    }

    /// Two functions for the options of a structure: one lists them, the other sets one by its id.
    macro_rules! options {
        ($list:ident, $set:ident, $options:ty: $($id:literal $field:ident,)*) => {
            pub(super) fn $list(options: &$options) -> Vec<(u8, u64)> {
                vec![$(($id, options.$field.to_stored())),*]
            }

            pub(super) fn $set(options: &mut $options, id: u8, value: u64) -> Option<()> {
                match id {
                    $($id => options.$field = Stored::from_stored(value)?,)*
                    _ => return None,
                }
                Some(())
            }
        };
    }

    options! {
        aulid, set_aulid, AulidOptions:
        1 packed_arrays, 2 two_layer_nodes, 3 scan_forward, 4 fulfill, 5 statistics, 6 adjust, 7 alpha, 8 beta,
        9 slots_per_leaf, 10 slots_per_leaf_rebuilt,
    }
    options! {
        lipp, set_lipp, LippOptions:
        1 slots_per_key, 2 rebuild_growth, 3 rebuild_keys_min, 4 rebuild_conflict_percent, 5 model_levels,
    }
    options! {
        airindex, set_airindex, AirIndexOptions:
        1 latency_us, 2 bandwidth_mb_per_s, 3 lookups_per_insert,
    }
    options! { pgm, set_pgm, PgmOptions: 1 error, 2 base, 3 buffer_entries, }
    options! { fiting, set_fiting, FitingOptions: 1 error, 2 buffer_entries, }
    options! {
        alex, set_alex, AlexOptions:
        1 initial_percent, 2 max_percent, 3 min_percent, 4 max_node_pages, 5 max_fanout_bits, 6 page_weight,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AULID, FITING, KINDS};

    #[test]
    fn stored_options_round_trip_and_invalid_values_are_rejected() {
        for kind in KINDS {
            let complete = kind.factory().tunables(&[]).unwrap();
            assert!(!complete.is_empty(), "{kind}");
            assert_eq!(kind.factory().tunables(&complete), Ok(complete), "{kind}");
            assert!(kind.factory().tunables(&[(250, 1)]).is_err(), "{kind}: an unknown id");
        }
        let fiting = FitingOptions { error: 0, ..FitingOptions::default() };
        assert!(FITING.factory().tunables(&fiting.tunables()).is_err());
        assert!(FITING.factory().tunables(&[(1, 0)]).is_err());
        let mut aulid = AulidOptions { slots_per_leaf: Some(3), alpha: 0.2, fulfill: true, ..AulidOptions::default() };
        assert_eq!(AULID.factory().tunables(&aulid.tunables()), Ok(aulid.tunables()));
        assert_eq!(Tunables::parse(Family::Aulid, &aulid.tunables()).unwrap().aulid, aulid);
        for (alpha, beta) in [(-0.1, 1.2), (1.1, 1.2), (f64::NAN, 1.2), (0.1, 0.9), (0.1, f64::INFINITY)] {
            (aulid.alpha, aulid.beta) = (alpha, beta);
            assert!(AULID.factory().tunables(&aulid.tunables()).is_err());
        }
    }
}
