//! A target of cargo-fuzz for `properties::evaluation`: evaluating expressions with a small budget.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the properties")]

#[path = "../properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::evaluation(data));
