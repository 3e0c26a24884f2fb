//! Coded inner nodes agree with a map, whatever the keys, on pages as small as they may be.

use crate::index::harness::router_tests;

router_tests!(words_of_8_bytes, u64, || Box::new(crate::index::ogive::CodedRouter::new()));
router_tests!(words_of_16_bytes, u128, || Box::new(crate::index::ogive::CodedRouter::new()));
