//! Reads numbers from names: `…-dp_2-tp_4-…` means data parallel by 2 and tensor parallel by 4. Turns the values of a
//! document's field into columns that formulas read.

use super::frame::TraceCell;
use super::spec::{Field, LISTED, TraceFieldType};

/// Returns the number after a label in a name, such as 4 for the label `tp` in `llama-tp4`. `None` if there is no such
/// number, or if there are several different ones.
///
/// The label must start a word, as in `a-tp4`, or be in capitals after a small letter, as in `vllmEP4`. The number must
/// end the word: `mscclpp-4gpu` has no number for `pp`. If two labels precede the number, as in `fsdp_tp_4`, the number
/// belongs to neither label.
pub(crate) fn number(name: &str, label: &str) -> Option<u64> {
    let lower = name.to_ascii_lowercase();
    let mut found = None;
    for (at, _) in lower.match_indices(&label.to_ascii_lowercase()) {
        let Some(value) = number_at(name, at, label.len()) else { continue };
        if found.is_some_and(|f| f != value) {
            return None;
        }
        found = Some(value);
    }
    found
}

/// Labels that can stand directly before another label and have no number of their own, such as `fsdp` in `fsdp_tp_4`.
const BARE: [&str; 7] = ["tp", "pp", "dp", "ep", "cp", "fsdp", "hybrid"];

fn number_at(name: &str, at: usize, length: usize) -> Option<u64> {
    let (before, label) = (&name[..at], &name[at..at + length]);
    let rest = &name[at + length..];
    let starts = match before.chars().next_back() {
        None => true,
        Some(c) if !c.is_ascii_alphanumeric() => true,
        Some(c) => c.is_ascii_lowercase() && label.chars().all(|l| l.is_ascii_uppercase()),
    };
    let word = before.trim_end_matches(['_', '-', '+', '.']);
    let word = word.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    if !starts || BARE.contains(&word.to_ascii_lowercase().as_str()) {
        return None;
    }
    let digits = match rest.strip_prefix(['_', '-', '=']) {
        Some(digits) => digits,
        // `b200` is a GPU, not a batch size.
        None if length == 1 => return None,
        None => rest,
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let after = digits[end..].chars().next();
    // `tp_2.5` and `tp4x` do not state a degree.
    let ends = after.is_none_or(|c| !c.is_ascii_alphanumeric())
        && !(after == Some('.') && digits[end + 1..].starts_with(|c: char| c.is_ascii_digit()));
    if end == 0 || !ends { None } else { digits[..end].parse().ok() }
}

/// Returns the number before a word in a sentence, such as 4 for `GPU` in `on 4 A100 GPUs`. `None` if there is no such
/// number, or if there are several different ones.
pub(crate) fn number_before(text: &str, word: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |w: &str| w.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
    let mut found = None;
    for (i, w) in words.iter().enumerate() {
        let w = bare(w);
        if !w.eq_ignore_ascii_case(word) && !w.eq_ignore_ascii_case(&format!("{word}s")) {
            continue;
        }
        // The model may come in between: `4 A100 GPUs`, `8 NVIDIA A100 GPUs`.
        let number = words[i.saturating_sub(3)..i].iter().rev().find_map(|w| bare(w).parse().ok());
        if let Some(number) = number {
            if found.is_some_and(|f: f64| f != number) {
                return None;
            }
            found = Some(number);
        }
    }
    found
}

/// Returns the number after a prefix: 12.4 for `cuda_12.4`; `None` for `cuda_12.x`.
pub(crate) fn number_after(text: &str, prefix: &str) -> Option<f64> {
    text.trim().strip_prefix(prefix)?.parse().ok()
}

/// Returns the experiment id in a name, such as `E1.2` in `E1.2_llama8b` or `…-perlmutter-E1.2`; `None` if no part of
/// the name is an id.
pub(crate) fn experiment_id(name: &str) -> Option<&str> {
    name.split(['_', '-']).find(|part| {
        let mut chars = part.chars();
        let digits = |t: &str| !t.is_empty() && t.chars().all(|c| c.is_ascii_digit());
        chars.next().is_some_and(|c| c.is_ascii_uppercase())
            && chars.as_str().split_once('.').is_some_and(|(a, b)| digits(a) && digits(b))
    })
}

/// Returns true if a text is empty or means "unknown", such as `TBD` or `n/a`.
pub(crate) fn is_blank(text: &str) -> bool {
    const BLANK: [&str; 11] =
        ["", "tbd", "todo", "n/a", "na", "none", "null", "nil", "unknown", "?", "-"];
    BLANK.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Returns the columns that are filled from a document's field, as pairs of column name and cell.
pub(crate) fn columns(field: &Field, cells: Vec<TraceCell>) -> Vec<(String, TraceCell)> {
    let mut columns = Vec::new();
    let first = cells.first().cloned().unwrap_or_default();
    if let Some(text) = first.text() {
        let number = |n: Option<f64>| n.map_or(TraceCell::Null, TraceCell::Number);
        let after = field.number_after.iter();
        columns.extend(after.map(|(p, name)| (name.clone(), number(number_after(text, p)))));
        let before = field.number_before.iter();
        columns.extend(before.map(|(w, name)| (name.clone(), number(number_before(text, w)))));
    }
    let Some(name) = &field.column else { return columns };
    match field.kind {
        TraceFieldType::Numbers => {
            let at = |i: usize| cells.get(i).cloned().unwrap_or_default();
            columns.extend((0..LISTED).map(|i| (format!("{name}_{}", i + 1), at(i))));
        }
        TraceFieldType::Texts => {
            let all: Vec<&str> = cells.iter().filter_map(TraceCell::text).collect();
            let cell = if all.is_empty() {
                TraceCell::Null
            } else {
                TraceCell::Text(all.join(" ").into())
            };
            columns.push((name.clone(), cell));
        }
        // A list of several sizes has no single value that a formula could read.
        TraceFieldType::Ints if cells.len() > 1 => columns.push((name.clone(), TraceCell::Null)),
        _ => columns.push((name.clone(), first)),
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_in_a_name_are_distinguished_from_words_that_contain_them() {
        for (name, label, says) in [
            ("llama-dp_1_tp_4_ep_4_x", "tp", Some(4)),
            ("qwen3-4b-vllm-tp4-batch8-nccl", "batch", Some(8)),
            ("Mixtral8x7B-vllmEP4-Perlmutter[x_64_8192]", "ep", Some(4)),
            ("llama-mscclpp-4gpu-tp2", "pp", None),
            ("llama-mscclpp-4gpu-tp2", "tp", Some(2)),
            ("llama-3.1-8b-4gpu", "b", None),
            ("llama-b_4-s_512", "b", Some(4)),
            ("llama8b-vllm-b200-tp4", "b", None),
            ("llama-fsdp_4", "dp", None),
            ("llama-hybrid_fsdp_tp_4", "tp", None),
            ("Zero_3-DP_8-Perlmutter", "dp", Some(8)),
            ("a-tp2-b-tp4", "tp", None),
            ("step4-http2", "tp", None),
            ("tp_2.5-x", "tp", None),
            ("llama8b_vllm-tp1-vllm", "tp", Some(1)),
            ("tp99999999999999999999", "tp", None),
            ("é-tp4é", "tp", Some(4)),
        ] {
            assert_eq!(number(name, label), says, "{label} of {name}");
        }
    }

    #[test]
    fn numbers_are_read_from_sentences() {
        assert_eq!(number_before("baseline on 1 GPU (TP=1, PP=1)", "GPU"), Some(1.0));
        assert_eq!(number_before("on 8 NVIDIA A100 GPUs across 2 nodes", "GPU"), Some(8.0));
        assert_eq!(number_before("GPU trace with EP=4", "GPU"), None);
        assert_eq!(number_before("from 2 GPUs to 4 GPUs", "GPU"), None);
        assert_eq!(number_after("cuda_12.4", "cuda_"), Some(12.4));
        assert_eq!(number_after("cuda_12.x", "cuda_"), None);
        assert_eq!(experiment_id("E1.2_llama8b_tp2"), Some("E1.2"));
        assert_eq!(experiment_id("llama-3.1-8b-perlmutter-E3.4"), Some("E3.4"));
        assert_eq!(experiment_id("llama-3.1-8b"), None);
    }
}
