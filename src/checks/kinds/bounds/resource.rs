//! Describes the resource that limits a bound.

use crate::specs::Bound;

/// A clause that completes "the time that …": `reading its data takes at the memory bandwidth`.
pub(super) fn resource(bound: &Bound) -> &str {
    match bound.name.as_str() {
        "math" => "the arithmetic takes at the peak rate",
        "math-in-attn-dtype" => {
            "the arithmetic takes at the peak rate of attn_dtype (a kernel that computes in the cache's fp8 may be faster)"
        }
        "math-in-mla-dtype" => {
            "the arithmetic takes at the peak rate of mla_dtype (a kernel that computes in the cache's fp8 may be faster)"
        }
        "network" => "sending what leaves its node or rack takes at the network card's bandwidth",
        "memory" => "reading its data takes at the memory bandwidth",
        "link" => "moving its data takes at the link's bandwidth",
        other => other,
    }
}
