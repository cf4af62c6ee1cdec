//! Counts and names in a sentence.

/// Names for a sentence: the first few, each in quotes where it is empty, cut where it is not a name.
pub(crate) fn names<'a>(mut all: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    const LONGEST: usize = 200;
    let name = |name: &'a str| match name.char_indices().nth(LONGEST) {
        None if name.is_empty() => "''".to_owned(),
        None => name.to_owned(),
        Some((at, _)) => format!("{}…", &name[..at]),
    };
    let shown: Vec<String> = all.by_ref().take(SHOWN).map(name).collect();
    match all.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A count for people: `8,505`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row has`, `2 rows have`: a count with the verb for one and that for many.
pub(crate) fn plural_verb(n: usize, what: &str, [one, many]: [&str; 2]) -> String {
    format!("{} {}", plural(n, what), if n == 1 { one } else { many })
}

/// `1 row`, `2 rows`.
pub(crate) fn plural(n: usize, what: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{} {what}{end}", count(n))
}
