//! When an output is inert, for each format.

use crate::common::Run;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;

/// No character that does something to the text around it or shows as nothing, no command of a runner.
pub fn assert_inert(text: &str, what: &str) {
    for (number, line) in text.lines().enumerate() {
        let bad = |c: &char| {
            c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        };
        assert_eq!(line.chars().find(bad), None, "{what}, line {number}: {line}");
        let command = line.trim_start().starts_with("::") || line.contains("##[");
        assert!(!command, "{what}, line {number}: {line}");
    }
}

/// Markdown in which nothing but our own marks is markup.
pub fn assert_markdown(text: &str, what: &str) {
    assert_inert(text, what);
    let mut code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match &event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let own = [
                    "<details",
                    "</details>",
                    "<summary>",
                    "</summary>",
                    "<!-- perfdb-gate",
                    "<b>",
                    "</b>",
                    "<br>",
                ];
                let ours = html.split_inclusive('>').map(str::trim).filter(|h| !h.is_empty());
                for tag in ours {
                    let listed = tag.strip_prefix("<!-- findings: ");
                    let listed = listed.and_then(|tag| tag.strip_suffix("-->"));
                    if listed.is_some_and(|l| l.chars().all(|c| c.is_ascii_hexdigit() || c == ' '))
                    {
                        continue;
                    }
                    assert!(
                        own.iter().any(|o| tag.contains(o)) && !tag.contains("img"),
                        "{what}: {tag}"
                    );
                }
            }
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("{what}: {event:?}"),
            Event::Start(Tag::CodeBlock(_)) => code = true,
            Event::End(TagEnd::CodeBlock) => code = false,
            Event::Text(words) if !code => {
                assert!(!words.contains(['@', '<', '`']), "{what}: {words}");
            }
            _ => {}
        }
    }
}

pub fn assert_json(text: &str, what: &str) -> Value {
    assert_inert(text, what);
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{what}: {e}"))
}

/// Annotations by the runner's grammar, each of our own kinds.
pub fn assert_annotations(text: &str) {
    for line in text.lines() {
        let (head, message) = line
            .strip_prefix("::")
            .and_then(|l| l.split_once("::"))
            .unwrap_or_else(|| panic!("{line}"));
        let kind = head.split(' ').next().unwrap();
        assert!(["error", "warning", "notice"].contains(&kind), "{line}");
        assert!(!message.contains("%0A") && !message.contains("%0D"), "{line}");
        assert!(line.chars().all(|c| !c.is_control()), "{line}");
    }
}

/// A page whose markup is our own: names of data make no element, attribute or script.
pub fn assert_page(page: &str) {
    assert_inert(page, "html");
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert_eq!(page.matches("</script").count(), 1, "{page}");
    for bad in ["<img", "onerror=alert(1)>", "<!-- -->"] {
        assert!(!page.contains(bad), "{bad}");
    }
}

pub fn assert_svg(text: &str) {
    assert_inert(text, "svg");
    let document = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        assert!(
            !["script", "foreignObject", "image", "img", "a", "style"].contains(&name),
            "{name}"
        );
        assert!(
            node.attributes().all(|a| !a.name().starts_with("on") && !a.name().contains("href"))
        );
    }
}

pub fn assert_all(format: &str, report: &Run) {
    let text = report.out();
    assert!(!text.is_empty(), "{format}: {}", report.err());
    match format {
        "json" | "sarif" | "stages" | "audit" => drop(assert_json(&text, format)),
        "github" => assert_annotations(&text),
        "junit" => {
            assert_inert(&text, format);
            roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        }
        "markdown" => assert_markdown(&text, format),
        "human" | "concise" => assert_inert(&text, format),
        _ => panic!("add an arm that reads {format}"),
    }
}
