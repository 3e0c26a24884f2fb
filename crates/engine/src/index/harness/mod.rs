//! Tests that any index structure and any inner structure must pass: generated operations against a map of the standard library, nasty key
//! sets in every order, damaged pages. One line each: `structure_tests!(name, u64, |layout| Box::new(Tree::new(layout)));` and
//! `router_tests!(name, u64, |layout| Box::new(Router::new(layout)));`.

mod counting;
mod damage;
mod documents;
mod inserts;
mod routers;
mod scenarios;
mod world;

pub(crate) use counting::CountedPages;
pub(crate) use damage::survives_damage;
pub(crate) use documents::example_of_leaves;
pub(crate) use inserts::{closing_inserts, hard_inserts, shuffled};
pub(crate) use routers::{
    router_agrees_with_a_map, router_grows_high, router_survives_damage, router_takes_nasty_sets, router_tests,
};
pub(crate) use scenarios::{
    agrees_with_a_map, agrees_with_a_map_of_lists, counts_blocks, structure_tests, takes_duplicates, takes_nasty_sets,
    word,
};
pub(crate) use world::{SortedEntries, World, page_file};
