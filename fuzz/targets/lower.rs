//! A target of cargo-fuzz for `properties::lower`: definitions to typed definitions.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the properties")]

#[path = "../properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::lower(data));
