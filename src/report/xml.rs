//! Escapes text for XML: JUnit and SVG.

/// Escapes a text for an element or an attribute. The code points U+FFFE and U+FFFF, which XML
/// cannot contain, become Rust escapes.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::xml;
    use crate::base::escape::clean;

    #[test]
    fn markup_and_control_characters_in_xml_are_escaped() {
        assert_eq!(
            xml(&clean("]]><a b='\"'>&\0\u{ffff}")),
            "]]&gt;&lt;a b=&apos;&quot;&apos;&gt;&amp;\\u{0}\\u{ffff}"
        );
    }
}
