//! A target of cargo-fuzz for `properties::schema`: schemas of a site's actions.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the properties")]

#[path = "../properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::schema(data));
