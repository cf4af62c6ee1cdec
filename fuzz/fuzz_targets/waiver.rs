#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| perfdb_gate_fuzz::beside::waiver(data));
