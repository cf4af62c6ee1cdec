//! Cuts and wraps the texts of a chart.

/// Cuts a text to at most `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// Wraps a text at spaces into lines of `chars` characters; the text after `most` lines is cut.
pub(super) fn broken(text: &str, chars: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= chars;
        match lines.last_mut().filter(fits) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(rest);
    }
    lines.iter().map(|line| cut(line, chars)).collect()
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn long_texts_are_broken_at_spaces() {
        assert_eq!(broken("num_heads 8, head_dim 128", 12, 3), ["num_heads 8,", "head_dim 128"]);
        assert_eq!(broken("a b c d e f", 3, 2), ["a b", "c d…"]);
        assert_eq!(broken("abcdefgh", 3, 2), ["abc…"]);
    }
}
