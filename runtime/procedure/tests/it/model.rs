//! The rules of the model that we follow, each by its name: small scripts, their calls in order, and how they end.
//!
//! Every script is also cut before and after each of its writes, and must end the same.

use serde_json::json;

use super::traces::check_script;

#[test]
fn a_step_that_has_more_is_followed_at_once() {
    check_script(
        json!([{"name": "a", "steps": ["again", "again", "done"]}, {"name": "b", "steps": ["done"]}]),
        "submit:a submit:b start until-finished",
        &["execute a 0", "execute a 1", "execute a 2", "execute b 0"],
        "a SUCCESS, b SUCCESS",
    );
}

#[test]
fn a_parent_goes_on_when_the_last_child_has_succeeded() {
    check_script(
        json!([
            {"name": "p", "steps": ["children:a,b", "done"]},
            {"name": "a", "steps": ["again", "done"]},
            {"name": "b", "steps": ["gate:e", "done"]},
        ]),
        "submit:p start idle state:p wake:e until-finished state:p",
        &[
            "execute p 0",
            "execute b 0",
            "execute a 0",
            "execute a 1",
            "execute b 0",
            "execute b 1",
            "execute p 1",
        ],
        "p SUCCESS",
    );
}

#[test]
fn a_time_out_that_nobody_handles_fails_the_tree() {
    check_script(
        json!([{"name": "p", "steps": ["children:c", "done"]}, {"name": "c", "steps": ["again", "wait:100", "done"]}]),
        "submit:p start until-finished",
        &[
            "execute p 0",
            "execute c 0",
            "execute c 1",
            "setTimeoutFailure c true",
            "rollback c ok",
            "rollback c ok",
            "rollback p ok",
        ],
        "p ROLLEDBACK: Operation timed out after <t>",
    );
}

#[test]
fn a_time_out_that_is_handled_goes_on() {
    check_script(
        json!([{"name": "p", "steps": ["wait-retry:100", "wait-retry:100", "done"]}]),
        "submit:p start until-finished",
        &[
            "execute p 0",
            "setTimeoutFailure p false",
            "execute p 1",
            "setTimeoutFailure p false",
            "execute p 2",
        ],
        "p SUCCESS",
    );
}

#[test]
fn undoing_that_was_interrupted_is_repeated() {
    check_script(
        json!([{"name": "p", "steps": ["again", "fail:no"], "rollback": ["interrupt", "ok"]}]),
        "submit:p start until-finished",
        &["execute p 0", "execute p 1", "rollback p interrupt", "rollback p ok", "rollback p ok"],
        "p ROLLEDBACK: no",
    );
}

#[test]
fn undoing_that_throws_counts_as_done() {
    check_script(
        json!([{"name": "p", "steps": ["again", "fail:no"], "rollback": ["throw", "throw"]}]),
        "submit:p start until-finished",
        &["execute p 0", "execute p 1", "rollback p throw", "rollback p throw"],
        "p ROLLEDBACK: no",
    );
}

#[test]
fn each_suspension_is_a_step_to_undo() {
    check_script(
        json!([{"name": "p", "steps": ["suspend:e", "suspend:f", "fail:no"]}]),
        "submit:p start idle wake:e idle wake:f until-finished",
        &[
            "execute p 0",
            "execute p 1",
            "execute p 2",
            "rollback p ok",
            "rollback p ok",
            "rollback p ok",
        ],
        "p ROLLEDBACK: no",
    );
}

#[test]
fn a_child_that_succeeded_is_not_undone() {
    check_script(
        json!([
            {"name": "p", "steps": ["children:c", "fail:no"]},
            {"name": "c", "steps": ["again", "done"]},
        ]),
        "submit:p start until-finished",
        &[
            "execute p 0",
            "execute c 0",
            "execute c 1",
            "execute p 1",
            "rollback p ok",
            "rollback p ok",
        ],
        "p ROLLEDBACK: no",
    );
}

#[test]
fn a_suspended_sibling_is_not_waited_for_when_a_tree_fails() {
    check_script(
        json!([
            {"name": "p", "steps": ["children:bad,parked", "done"]},
            {"name": "parked", "steps": ["suspend:never", "done"]},
            {"name": "bad", "steps": ["fail:no"]},
        ]),
        "submit:p start until-finished",
        &[
            "execute p 0",
            "execute parked 0",
            "execute bad 0",
            "rollback bad ok",
            "rollback parked ok",
            "rollback p ok",
        ],
        "p ROLLEDBACK: no",
    );
}

#[test]
fn of_several_children_that_fail_the_last_is_the_first_also_after_a_crash() {
    check_script(
        json!([
            {"name": "p", "steps": ["children:a,b,c", "done"]},
            {"name": "a", "steps": ["fail:a"]},
            {"name": "b", "steps": ["fail:b"]},
            {"name": "c", "steps": ["again", "fail:c"]},
        ]),
        "submit:p start until-finished",
        &[
            "execute p 0",
            "execute c 0",
            "execute c 1",
            "rollback c ok",
            "rollback c ok",
            "rollback p ok",
        ],
        "p ROLLEDBACK: c",
    );
}

#[test]
fn a_sequence_that_only_waits_has_made_its_step() {
    check_script(
        json!([{"name": "s", "kind": "sequential", "steps": ["wait-null:50"]}]),
        "submit:s start until-finished",
        &["execute s 0", "setTimeoutFailure s true", "rollback s ok"],
        "s ROLLEDBACK: Operation timed out after <t>",
    );
}

#[test]
fn a_tree_that_is_not_undoable_just_ends() {
    check_script(
        json!([
            {"name": "p", "steps": ["children:c", "done"], "rollback_supported": false},
            {"name": "c", "steps": ["again", "fail:no"]},
        ]),
        "submit:p start until-finished",
        &["execute p 0", "execute c 0", "execute c 1"],
        "p ROLLEDBACK: no",
    );
}

#[test]
fn shared_locks_are_held_together_and_an_exclusive_one_waits_for_all() {
    check_script(
        json!([
            {"name": "a", "steps": ["suspend:e", "done"], "lock": "k:shared", "hold_lock": true},
            {"name": "b", "steps": ["suspend:f", "done"], "lock": "k:shared", "hold_lock": true},
            {"name": "x", "steps": ["done"], "lock": "k:exclusive"},
            {"name": "c", "steps": ["done"], "lock": "k:shared"},
        ]),
        "submit:a submit:b submit:x submit:c start idle wake:e idle wake:f until-finished",
        &["execute a 0", "execute b 0", "execute c 0", "execute a 1", "execute b 1", "execute x 0"],
        "a SUCCESS, b SUCCESS, x SUCCESS, c SUCCESS",
    );
}

#[test]
fn a_shared_lock_waits_for_an_exclusive_one() {
    check_script(
        json!([
            {"name": "x", "steps": ["suspend:e", "done"], "lock": "k:exclusive", "hold_lock": true},
            {"name": "a", "steps": ["done"], "lock": "k:shared"},
            {"name": "b", "steps": ["done"], "lock": "k:shared"},
            {"name": "free", "steps": ["done"], "lock": "l:exclusive"},
        ]),
        "submit:x submit:a submit:b submit:free start idle wake:e until-finished",
        &["execute x 0", "execute free 0", "execute x 1", "execute a 0", "execute b 0"],
        "x SUCCESS, a SUCCESS, b SUCCESS, free SUCCESS",
    );
}

#[test]
fn descendants_use_the_lock_of_an_ancestor() {
    check_script(
        json!([
            {"name": "p", "steps": ["children:c", "done"], "lock": "k:exclusive", "hold_lock": true},
            {"name": "c", "steps": ["children:g", "done"], "lock": "k:shared"},
            {"name": "g", "steps": ["suspend:e", "done"], "lock": "k:exclusive"},
            {"name": "other", "steps": ["done"], "lock": "k:shared"},
        ]),
        "submit:p submit:other start idle wake:e until-finished",
        &[
            "execute p 0",
            "execute c 0",
            "execute g 0",
            "execute g 1",
            "execute c 1",
            "execute p 1",
            "execute other 0",
        ],
        "p SUCCESS, other SUCCESS",
    );
}

#[test]
fn a_lock_held_for_life_outlives_a_restart() {
    check_script(
        json!([
            {"name": "x", "steps": ["again", "wait-retry:50", "done"], "lock": "k:exclusive", "hold_lock": true},
            {"name": "a", "steps": ["done"], "lock": "k:exclusive"},
        ]),
        "submit:x submit:a start idle restart idle until-finished",
        &["execute x 0", "execute x 1", "setTimeoutFailure x false", "execute x 2", "execute a 0"],
        "x SUCCESS, a SUCCESS",
    );
}

#[test]
fn a_lock_is_held_while_its_holder_is_undone() {
    check_script(
        json!([
            {"name": "x", "steps": ["again", "fail:no"], "lock": "k:exclusive", "hold_lock": true,
             "rollback": ["ioexception", "ok"]},
            {"name": "a", "steps": ["done"], "lock": "k:exclusive"},
        ]),
        "submit:x submit:a start until-finished",
        &[
            "execute x 0",
            "execute x 1",
            "rollback x ioexception",
            "rollback x ok",
            "rollback x ok",
            "execute a 0",
        ],
        "x ROLLEDBACK: no, a SUCCESS",
    );
}

#[test]
fn a_state_machine_yields_without_a_step() {
    check_script(
        json!([
            {"name": "m", "kind": "state-machine", "rollback_supported": true,
             "steps": ["yield*2", "next", "fail:no"]},
        ]),
        "submit:m start until-finished",
        &[
            "execute m 0",
            "execute m 0",
            "execute m 0",
            "execute m 1",
            "execute m 2",
            "rollback m 2 ok",
            "rollback m 1 ok",
            "rollback m 0 ok",
        ],
        "m ROLLEDBACK: no",
    );
}

#[test]
fn a_state_machine_that_suspends_has_made_a_step() {
    check_script(
        json!([
            {"name": "m", "kind": "state-machine", "rollback_supported": true, "steps": ["suspend:e", "next", "last"]},
        ]),
        "submit:m start idle wake:e until-finished",
        &["execute m 0", "execute m 1", "execute m 2"],
        "m SUCCESS",
    );
}

#[test]
fn a_state_machine_waits_for_the_children_of_each_state() {
    check_script(
        json!([
            {"name": "m", "kind": "state-machine", "rollback_supported": true,
             "steps": ["next+a", "goto:3+b", "fail:never", "last+c"]},
            {"name": "a", "steps": ["done"]},
            {"name": "b", "steps": ["again", "done"]},
            {"name": "c", "steps": ["done"]},
        ]),
        "submit:m start until-finished",
        &[
            "execute m 0",
            "execute a 0",
            "execute m 1",
            "execute b 0",
            "execute b 1",
            "execute m 3",
            "execute c 0",
        ],
        "m SUCCESS",
    );
}

#[test]
fn an_abort_is_seen_by_the_next_step() {
    check_script(
        json!([{"name": "p", "steps": ["again", "gate:e", "done"]}]),
        "submit:p start idle abort:p wake:e until-finished abort:p",
        &[
            "execute p 0",
            "execute p 1",
            "abort p true",
            "execute p 1",
            "rollback p ok",
            "rollback p ok",
            "rollback p ok",
        ],
        "p ROLLEDBACK: abort requested",
    );
}

#[test]
fn a_sequence_whose_step_throws_has_nothing_to_undo() {
    check_script(
        json!([{"name": "s", "kind": "sequential", "steps": ["throw:IllegalStateException"]}]),
        "submit:s start until-finished",
        &["execute s 0"],
        "s ROLLEDBACK: boom",
    );
}

#[test]
fn the_children_of_a_sequence_are_its_end() {
    check_script(
        json!([
            {"name": "s", "kind": "sequential", "steps": ["children:a*3"]},
            {"name": "a", "steps": ["done"]},
        ]),
        "submit:s start until-finished",
        &["execute s 0", "execute a 0", "execute a 0", "execute a 0"],
        "s SUCCESS",
    );
}

#[test]
fn a_bypassed_procedure_ends_without_being_called() {
    check_script(
        json!([
            {"name": "p", "steps": ["children:c", "done"]},
            {"name": "c", "steps": ["gate:never", "done"]},
        ]),
        "submit:p start idle bypass:p bypass:p:recursive until-finished",
        &["execute p 0", "execute c 0"],
        "p SUCCESS bypassed",
    );
}

#[test]
fn number_zero_is_no_nonce() {
    check_script(
        json!([{"name": "a", "steps": ["done"]}, {"name": "b", "steps": ["done"]}]),
        "submit-nonce:a:5:0 submit-nonce:b:5:0 start until-finished",
        &["execute a 0", "execute b 0"],
        "a SUCCESS, b SUCCESS",
    );
}
