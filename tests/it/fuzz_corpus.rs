//! Replays the inputs that the fuzz targets begin with, and those they have found, through the same properties.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

#[path = "../fuzz/properties/mod.rs"]
mod properties;

#[track_caller]
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut broken = Vec::new();
    let mut n_inputs = 0;
    for entry in fs::read_dir(folder.join(target)).expect("a folder of the repository") {
        let file = entry.expect("a readable folder").path();
        let input = fs::read(&file).expect("a readable file");
        n_inputs += 1;
        if catch_unwind(AssertUnwindSafe(|| check(&input))).is_err() {
            broken.push(file);
        }
    }
    assert!(n_inputs > 0, "{target} has no inputs");
    assert!(
        broken.is_empty(),
        "these inputs break a property: {broken:#?}"
    );
}

#[test]
fn frames_say_what_they_said() {
    replay("frames", properties::frames::check);
}

#[test]
fn a_splice_changes_what_it_names_only() {
    replay("splice", properties::splice::check);
}

#[test]
fn events_do_not_depend_on_how_they_arrive() {
    replay("sse", properties::sse::check);
}

#[test]
fn an_edit_of_the_configuration_changes_what_it_names_only() {
    replay("config", properties::config::check);
}

#[test]
fn callers_and_rules_are_what_they_say() {
    replay("access", properties::access::check);
}

#[test]
fn between_the_eras_only_the_dress_changes() {
    replay("eras", properties::eras::check);
}

#[test]
fn the_scanner_says_the_same_each_time_and_not_too_much() {
    replay("scanner", properties::scanner::check);
}

#[test]
fn no_id_opens_that_was_not_sealed() {
    replay("sealed_ids", properties::sealed_ids::check);
}

#[test]
fn a_patch_changes_what_it_names_only() {
    replay("patch", properties::patch::check);
}

#[test]
fn what_is_recorded_of_strangers_holds_no_secret() {
    replay("redaction", properties::redaction::check);
}

#[test]
fn challenges_and_addresses_say_what_was_written_into_them() {
    replay("authorization", properties::authorization::check);
}

#[test]
fn an_intent_is_for_one_variant_and_arguments_stay_as_they_are() {
    replay("call_arguments", properties::call_arguments::check);
}

#[test]
fn a_lock_file_accepts_what_it_names() {
    replay("lock_file", properties::lock_file::check);
}

#[test]
fn references_are_what_they_stand_for() {
    replay("references", properties::references::check);
}

#[test]
fn pages_are_the_text_and_end_where_it_has_an_end() {
    replay("pages", properties::pages::check);
}

#[test]
fn the_examples_can_be_edited() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let file = entry.expect("a readable folder").path();
        properties::config::check(&fs::read(file).expect("a readable file"));
    }
}
