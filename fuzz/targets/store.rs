//! A target of cargo-fuzz for `properties::store`: damaged stores.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the properties")]

#[path = "../properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::store(data));
