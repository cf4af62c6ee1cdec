//! Which side a deviation is the fault of.
//!
//! A slice and its siblings differ: one of the two is wrong, or neither is. Backends are independent of
//! each other; versions of a backend, and its other systems, share a collector and its mistakes. So a
//! table is held to the other backends first, and its own kin only where these do not speak for it.

use std::collections::BTreeMap;

use super::kept::Residual;
use super::peers::{NEARBY, OTHER_KERNELS};

/// The verdict on a slice that deviates from its references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CulpritVerdict {
    /// The slice is slow, and nothing speaks for it.
    Culprit,
    /// Another backend is at its level: the references split.
    Split,
    /// The slice is nearer to the other backends than its own kin are, so the kin are to blame.
    Victim,
    /// The slice is the fastest: the others may all be slow.
    Fastest,
    /// Other systems, and its own versions, show the same difference to the other backends.
    Backend,
    /// The slice's own kin that differ name another kernel.
    Kernel,
    /// The differences to siblings are a little off those on other systems.
    Slight,
}

impl CulpritVerdict {
    /// Returns the end of the finding's message.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Culprit | Self::Slight => "",
            Self::Split => "; the references disagree, so it is not clear which table is wrong",
            Self::Victim => {
                "; it is closer to the other backends than these references are, so they are probably wrong"
            }
            Self::Fastest => "; the fastest backend is probably not the wrong one",
            Self::Backend => {
                "; its versions and other systems show the same difference, so it is probably the backend's"
            }
            Self::Kernel => "; kernel_source shows that the framework chose another kernel",
        }
    }
}

/// The references of a slice that it stands apart from, and the others.
pub(super) struct References<'a> {
    pub backend: &'a str,
    /// All of them.
    pub all: &'a BTreeMap<String, f64>,
    /// Names of those that it stands apart from, of all on one side.
    pub far: Vec<&'a str>,
    /// The ratio that is left of its difference beside the same difference on systems of any generation.
    pub residual: Option<Residual>,
    /// Ratio within which a reference agrees.
    pub agrees: f64,
    /// The number of independent references that a judgement takes.
    pub least: usize,
}

impl References<'_> {
    fn is_kin(&self, name: &str) -> bool {
        name == NEARBY || name == OTHER_KERNELS || name == self.backend
    }

    /// Logarithms of the ratios over other backends.
    fn others(&self) -> Vec<f64> {
        let others = self.all.iter().filter(|(name, _)| !self.is_kin(name));
        others.map(|(_, ratio)| ratio.ln()).collect()
    }

    /// Says what the references say together.
    pub(super) fn verdict(&self) -> CulpritVerdict {
        let others = self.others();
        if others.iter().any(|r| r.abs() <= self.agrees.ln()) {
            return CulpritVerdict::Split;
        }
        let far = |kin: bool| self.far.iter().filter(move |name| self.is_kin(name) == kin);
        // Each of the other backends by itself, without the kin.
        let alone = far(false).count() >= self.least;
        if !alone && self.is_victim(&others) {
            return CulpritVerdict::Victim;
        }
        if far(false).chain(far(true)).filter(|n| **n != OTHER_KERNELS).count() < self.least {
            return CulpritVerdict::Kernel;
        }
        let slow = self.far.iter().all(|name| self.all[*name] > 1.0);
        // A machine that is faster than its like is no better kernel.
        if !slow && !self.far.contains(&NEARBY) {
            return CulpritVerdict::Fastest;
        }
        if self.is_of_backend() { CulpritVerdict::Backend } else { CulpritVerdict::Culprit }
    }

    /// Returns true if the slice is level with the same version on other systems, or differs from its siblings as it
    /// does there. If there are other versions, it must be level with them, too.
    fn is_of_backend(&self) -> bool {
        let agrees = |ratio: f64| ratio.ln().abs() <= self.agrees.ln();
        let is_level = |name: &str| self.all.get(name).map(|ratio| agrees(*ratio));
        let recurs = self.residual.is_some_and(|residual| agrees(residual.ratio));
        (recurs || is_level(NEARBY) == Some(true)) && is_level(self.backend) != Some(false)
    }

    /// Returns true if the slice is nearer to the other backends than all kin that it stands apart from.
    fn is_victim(&self, others: &[f64]) -> bool {
        if others.is_empty() {
            return false;
        }
        let mut sorted = others.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted[sorted.len() / 2];
        let kin: Vec<f64> = self
            .far
            .iter()
            .filter(|name| self.is_kin(name))
            .map(|name| self.all[*name].ln())
            .collect();
        // Own over other, less own over kin, is kin over other.
        !kin.is_empty() && kin.iter().all(|over_kin| (middle - over_kin).abs() > middle.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on vllm by its references, of which those in `far` are out of their band.
    fn verdict(refs: &[(&str, f64)], far: &[&str]) -> CulpritVerdict {
        let all: BTreeMap<String, f64> =
            refs.iter().map(|(name, ratio)| ((*name).to_owned(), *ratio)).collect();
        let far = far.to_vec();
        References { backend: "vllm", all: &all, far, residual: None, agrees: 1.3, least: 2 }
            .verdict()
    }

    #[test]
    fn a_backend_apart_from_all_others_is_the_culprit_unless_other_systems_show_the_same() {
        let refs = [("sglang", 6.0), ("trtllm", 11.0), ("vllm", 1.0), (NEARBY, 1.0)];
        let far = ["sglang", "trtllm"];
        assert_eq!(verdict(&refs[..3], &far), CulpritVerdict::Culprit);
        assert_eq!(verdict(&refs, &far), CulpritVerdict::Backend);
        let refs = [("sglang", 6.0), ("trtllm", 11.0), ("vllm", 2.0), (NEARBY, 1.0)];
        assert_eq!(verdict(&refs, &far), CulpritVerdict::Culprit);
    }

    #[test]
    fn a_fast_backend_beside_a_slow_majority_is_not_blamed() {
        let refs = [("sglang", 0.2), ("trtllm", 0.25), (NEARBY, 1.0)];
        assert_eq!(verdict(&refs, &["sglang", "trtllm"]), CulpritVerdict::Fastest);
        let here_alone = [("sglang", 0.2), ("trtllm", 0.25), (NEARBY, 0.3)];
        assert_eq!(verdict(&here_alone, &["sglang", "trtllm", NEARBY]), CulpritVerdict::Culprit);
    }

    #[test]
    fn what_a_repair_made_right_is_not_blamed_for_what_was_not_repaired() {
        // Its other versions and systems are still four times as slow.
        let refs = [("sglang", 1.5), ("vllm", 0.25), (NEARBY, 0.25)];
        assert_eq!(verdict(&refs, &["vllm", NEARBY]), CulpritVerdict::Victim);
        let slow = [("sglang", 4.5), ("vllm", 4.0), (NEARBY, 4.0)];
        assert_eq!(verdict(&slow, &["sglang", "vllm", NEARBY]), CulpritVerdict::Culprit);
    }

    #[test]
    fn references_that_split_blame_nobody() {
        let refs = [("sglang", 1.1), ("vllm", 2.5), ("trtllm", 5.0)];
        assert_eq!(verdict(&refs, &["vllm", "trtllm"]), CulpritVerdict::Split);
    }

    #[test]
    fn a_kernel_that_the_versions_name_explains_them() {
        let refs = [("trtllm", 3.8), (OTHER_KERNELS, 3.3), (NEARBY, 1.0)];
        assert_eq!(verdict(&refs, &["trtllm", OTHER_KERNELS]), CulpritVerdict::Kernel);
    }
}
