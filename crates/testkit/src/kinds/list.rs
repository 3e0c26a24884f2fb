//! `kind_tests!`: the list of all tests of a kind of index.

/// Generates the tests of a kind of index, as a module `$name`. `duplicates` at the end adds tests of repeated keys.
#[macro_export]
macro_rules! kind_tests {
    ($name:ident, $kind:expr, duplicates) => {
        mod $name {
            use super::*;

            $crate::kind_tests!(@common $kind);
            $crate::kind_tests!(@tests $kind;
                batches::a_batch_may_repeat_one_key_any_number_of_times
                batches::batches_of_repeated_keys_match_a_map_of_lists
                duplicates::repeated_keys_match_a_map_of_lists
                duplicates::both_ends_of_a_range_meet_within_one_key
                duplicates::one_key_may_have_any_number_of_entries
                repair::intact_leaves_of_repeated_keys_are_saved
            );
        }
    };
    ($name:ident, $kind:expr) => {
        mod $name {
            use super::*;

            $crate::kind_tests!(@common $kind);
        }
    };
    (@common $kind:expr) => {
        $crate::kind_tests!(@tests $kind;
            batches::a_load_that_fails_is_whole_or_absent
            batches::batches_match_a_map
            batches::failed_batches_change_nothing
            crash::batches_are_whole_or_absent
            crash::creation_is_atomic
            crash::crashes_lose_no_acknowledged_commit
            damage::cut_and_zero
            damage::flip_bits
            damage::move_pages
            fast_paths::answers_do_not_depend_on_fast_paths
            faults::failed_reads_return_errors
            faults::iterators_end_after_an_error
            faults::fail_every_call
            readers::readers_keep_their_snapshot
            readers::aborted_transactions_change_nothing
            readers::concurrent_readers_see_whole_commits
            reference::an_unwritten_index_is_empty
            reference::both_ends_of_a_range_meet
            reference::explain_and_statistics_match_the_entries
            reference::follow_nasty_keys
            reference::all_key_and_payload_types_round_trip
            reference::an_emptied_index_can_be_refilled
            reference::failed_bulk_loads_change_nothing
            repair::a_page_file_cut_off_beside_its_log_keeps_what_is_left
            repair::commits_before_damage_to_the_log_are_saved
            repair::intact_leaves_are_saved
            repair::sectors_that_cannot_be_read_are_told_and_cost_their_leaves
        );
    };
    (@tests $kind:expr; $($module:ident::$test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::kinds::$module::$test($kind);
        }
    )*};
}
