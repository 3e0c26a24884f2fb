//! The objective of a design, as a table states it.

use serde::Serialize;

/// The property with the objective of the design, if it is not the usual one.
pub(in crate::table) const OBJECTIVE_PROPERTY: &str = "ogive.objective";
/// The property with the designs that the build compared.
pub(in crate::table) const COMPARED_PROPERTY: &str = "ogive.designs";

/// The objective that an index was designed by, and its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatedObjective {
    /// Its name, such as `mean` or `p99`.
    pub objective: String,
    /// Share of the lookups that find the table open.
    pub opening_hit_rate: f64,
    /// Its value for the lookups and the cache of the build, in microseconds.
    pub modelled_us: f64,
}

impl StatedObjective {
    /// The stored form: `name <tab> share <tab> microseconds`.
    pub(in crate::table) fn encode(&self) -> Vec<u8> {
        format!("{}\t{}\t{}", self.objective, self.opening_hit_rate, self.modelled_us).into_bytes()
    }

    /// Decodes a stored form; `None` if it is malformed: it informs, and nothing depends on it.
    pub(in crate::table) fn decode(stored: &[u8]) -> Option<Self> {
        let mut fields = std::str::from_utf8(stored).ok()?.split('\t');
        let objective = fields.next()?.to_owned();
        let mut number = || fields.next()?.parse().ok().filter(|number: &f64| number.is_finite());
        Some(Self { objective, opening_hit_rate: number()?, modelled_us: number()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_survives_storage_and_a_malformed_one_is_left_out() {
        let stated = StatedObjective { objective: "p99.9".into(), opening_hit_rate: 0.999, modelled_us: 0.1 + 0.2 };
        assert_eq!(StatedObjective::decode(&stated.encode()), Some(stated));
        for wrong in [&b""[..], b"p99", b"p99\t1", b"p99\t1\tNaN", b"\xff\t1\t1", b"p99\tx\t1"] {
            assert_eq!(StatedObjective::decode(wrong), None);
        }
    }
}
