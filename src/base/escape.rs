//! Escapes text from data, so that it does nothing in a terminal, in a CI runner that reads commands from a
//! step's output, or in a file name.

use crate::base::digest::sha256;

/// Escapes text from data for display. Control characters, characters that reorder text and invisible
/// characters are replaced by their code. Workflow commands of CI runners are broken up: `::` at the start of
/// a line, and `##[` anywhere.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Fast path: plain ASCII, which most texts are, needs no check of each character.
    if text.bytes().fold(true, |plain, byte| plain & (b' '..=b'~').contains(&byte)) {
        out.push_str(text);
    } else {
        for c in text.chars() {
            if hidden(c) {
                out.extend(c.escape_unicode());
            } else {
                out.push(c);
            }
        }
    }
    if out.trim_start().starts_with("::") {
        out = out.replacen(':', "\\u{3a}", 1);
    }
    if out.contains("##[") {
        out = out.replace("##[", "##\\u{5b}");
    }
    out
}

/// Escapes each line with [`clean`].
pub fn clean_lines(text: &str) -> String {
    text.lines().map(|line| clean(line) + "\n").collect()
}

/// Returns true if a character is invisible or changes how the text around it is shown.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
        || is_noncharacter(c)
}

/// Returns true for Unicode noncharacters: U+FDD0 to U+FDEF, and the last two code points of every plane.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || u32::from(c) & 0xfffe == 0xfffe
}

/// Escapes a JSON text for display. The result is equivalent JSON, in which `\u` escapes replace hidden characters and
/// break up commands of CI runners.
pub(crate) fn inert_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && hidden(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|u| out += &format!("\\u{u:04x}"));
        } else {
            out.push(c);
        }
    }
    out.replace("##[", "##\\u005b")
}

/// Builds a file name from several texts, joined by `between`. Characters with a meaning for a shell, an archive or
/// another operating system become `_`, and long names are cut. A name that was changed in this way ends in a digest of
/// the original texts.
pub(crate) fn file_stem(parts: &[&str], between: &str) -> String {
    const LONGEST: usize = 180;
    let whole = parts.join(between);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    let mut name: String = whole.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    if name != whole || name.len() > LONGEST || name.starts_with(['.', '-']) {
        name.truncate(LONGEST);
        let name = name.trim_start_matches(['.', '-']);
        return format!("{name}-{}", &sha256(whole.as_bytes())[..8]);
    }
    name
}

/// Returns a word of a shell command, in quotes if the word has special characters.
pub(crate) fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "._+-/=".contains(c)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::{clean, file_stem, inert_json};

    #[test]
    fn control_characters_and_workflow_commands_are_escaped() {
        assert_eq!(clean("a\x1b[31mb\nc\u{202e}"), "a\\u{1b}[31mb\\u{a}c\\u{202e}");
        assert_eq!(clean(" ::error::x"), " \\u{3a}:error::x");
        assert_eq!(clean("a##[add-mask]b"), "a##\\u{5b}add-mask]b");
        assert_eq!(clean("vllm::moe [1] \u{e0041}"), "vllm::moe [1] \\u{e0041}");
        // Characters that show as nothing: a blank braille cell, annotations, a musical format,
        // noncharacters.
        for c in
            ['\u{2800}', '\u{fff9}', '\u{fffb}', '\u{1d173}', '\u{fdd0}', '\u{ffff}', '\u{1fffe}']
        {
            let shown = clean(&format!("a{c}b"));
            assert_eq!(shown, format!("a{}b", c.escape_unicode()));
            assert!(inert_json(&format!("[\"{c}\"]")).is_ascii());
        }
        assert_eq!(clean("\u{2801}\u{fffd}é"), "\u{2801}\u{fffd}é");
    }

    #[test]
    fn file_names_are_plain_and_distinct() {
        let name = |part: &str| file_stem(&["h200", part], "__");
        assert_eq!(name("0.24.0+cu130"), "h200__0.24.0+cu130");
        assert!(name("a/../b").starts_with("h200__a_.._b-") && name("a/../b") != name("a:..:b"));
        assert!(
            name(&"x".repeat(300)).len() < 200 && !file_stem(&["..", "x"], "").starts_with('.')
        );
    }

    #[test]
    fn escaped_json_is_the_same_document() {
        let text = "a\u{9b}\u{202e}\u{e0041}##[debug]\u{7f}\"\\";
        let inert = inert_json(&serde_json::to_string_pretty(&[text]).unwrap());
        assert_eq!(
            inert,
            "[\n  \"a\\u009b\\u202e\\udb40\\udc41##\\u005bdebug]\\u007f\\\"\\\\\"\n]"
        );
        assert_eq!(serde_json::from_str::<Vec<String>>(&inert).unwrap(), [text]);
    }
}
