//! The list of all tests of a kind of index.

/// Writes the tests of a kind of index: a module of the name given. `duplicates` at the end adds the tests of repeated
/// keys.
#[macro_export]
macro_rules! kind_tests {
    ($name:ident, $kind:expr, duplicates) => {
        mod $name {
            use super::*;

            $crate::kind_tests!(@common $kind);
            $crate::kind_tests!(@tests $kind;
                duplicates::all_entries_of_a_key_are_kept_and_found
                duplicates::both_ends_of_a_range_meet_within_one_key
                duplicates::one_key_may_have_any_number_of_entries
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
            crash::a_new_index_is_there_wholly_or_not_at_all
            crash::crash_in_the_normal_run
            damage::cut_and_zero
            damage::flip_bits
            damage::move_pages
            fast_paths::answers_are_alike_whichever_paths_are_off
            faults::a_read_that_fails_is_an_error_and_never_a_wrong_answer
            faults::an_iterator_that_failed_stays_failed
            faults::fail_every_call
            readers::a_reader_keeps_seeing_its_commit
            readers::an_aborted_transaction_leaves_no_trace
            readers::eight_readers_beside_a_writer_see_only_what_was_committed
            reference::an_index_that_was_never_written_to_is_empty
            reference::both_ends_of_a_range_meet_wherever_they_are
            reference::explain_shows_a_path_and_statistics_count_what_is_there
            reference::follow_nasty_keys
            reference::keys_and_payloads_may_have_any_width
            reference::removing_everything_leaves_an_empty_index_that_can_be_filled_again
            reference::what_is_out_of_order_or_repeated_is_refused_and_leaves_nothing
        );
    };
    (@tests $kind:expr; $($module:ident::$test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::kinds::$module::$test($kind);
        }
    )*};
}
