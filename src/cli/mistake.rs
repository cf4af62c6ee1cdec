//! Mistakes on the command line as this program's errors: one line that says what is wrong, and a hint.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfdb_gate::base::error::Error;
use perfdb_gate::specs::{Library, Specs};

use super::groups;

/// Commands and flags of older versions. The line below each of them is a hint on what to use instead.
const REMOVED: &str = include_str!("removed.txt");

/// Turns an error of clap into this program's error. If clap only has to print help or the version, prints it and ends
/// the process.
pub(crate) fn of(error: clap::Error, cli: &Command) -> Error {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let command = std::env::args().skip(1).find_map(|arg| cli.find_subcommand(arg));
    if let Some(removed) = removed(&error, command) {
        return removed;
    }
    let text = error.to_string();
    let hint = hint(&error, command);
    Error::new(message(&text), hint).because(error)
}

/// Returns an error with a hint if the user typed a command or flag that only older versions have; `None` for any
/// other mistake.
fn removed(error: &clap::Error, command: Option<&Command>) -> Option<Error> {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.as_str()),
        _ => None,
    };
    let (name, what) = match named(ContextKind::InvalidSubcommand) {
        Some(name) => (name.to_owned(), "command"),
        None => (format!("{} {}", command?.get_name(), named(ContextKind::InvalidArg)?), "flag"),
    };
    let hint = REMOVED.lines().skip_while(|line| **line != name).nth(1)?;
    Some(Error::new(format!("the {what} `{name}` was removed"), hint))
}

/// Returns the first paragraph of clap's error text as one line. Lines of possible values, which start with `[`, are
/// left out.
fn message(text: &str) -> String {
    let lines = text.trim_start_matches("error: ").lines().take_while(|line| !line.is_empty());
    let said = lines.map(str::trim).filter(|line| !line.starts_with('['));
    said.collect::<Vec<_>>().join(" ")
}

fn hint(error: &clap::Error, command: Option<&Command>) -> String {
    let mut said = Vec::new();
    for (kind, what) in [
        (ContextKind::SuggestedArg, ""),
        (ContextKind::SuggestedSubcommand, ""),
        (ContextKind::SuggestedValue, ""),
        (ContextKind::ValidValue, "values: "),
        (ContextKind::ValidSubcommand, "commands: "),
    ] {
        let named = error.get(kind).map(listed).filter(|names| !names.is_empty());
        said.extend(named.map(|names| match what {
            "" => format!("did you mean {names}?"),
            what => format!("{what}{names}"),
        }));
    }
    if let (ErrorKind::UnknownArgument, Some(command)) = (error.kind(), command) {
        said.extend(positional(error, command));
        let named = error.get(ContextKind::InvalidArg).map(listed).unwrap_or_default();
        if let Some(meant) = option_hint(&named, command) {
            said = vec![meant];
        }
    }
    if error.kind() == ErrorKind::ArgumentConflict {
        said.push("leave one of them out".to_owned());
    }
    let word = error.get(ContextKind::InvalidSubcommand).map(listed);
    if let Some(command) = word.and_then(|word| command_for_word(&word)) {
        said = vec![format!("did you mean {command}?")];
    }
    let example = command.and_then(|command| groups::example(command.get_name()));
    let missing = error.get(ContextKind::InvalidArg).map(listed).unwrap_or_default();
    let first = missing.split(' ').next().unwrap_or_default();
    if let (ErrorKind::MissingRequiredArgument, Some(example)) = (error.kind(), example)
        && (first.starts_with('<') || example.contains(first))
    {
        said.push(format!("for example: perfdb-gate {example}"));
    }
    let shown = command.map_or(String::new(), |command| format!(" {}", command.get_name()));
    if said.is_empty() {
        said.push(format!("`perfdb-gate{shown} --help` lists what it takes"));
    }
    said.join(" ")
}

/// One line per command: its name, then other words that people use for it.
const WORDS: &str = include_str!("words.txt");

/// Returns the command for which people also use `word`, such as `validate` for `lint`; `None` if the word is not in
/// [`WORDS`].
fn command_for_word(word: &str) -> Option<&'static str> {
    let mut commands = WORDS.lines().map(|line| line.split(' '));
    commands.find_map(|mut words| {
        let command = words.next()?;
        words.any(|known| known == word).then_some(command)
    })
}

/// Returns a hint for a value that was given without its option. The hint names an option that takes such a value, such
/// as `--table gemm` for `gemm`.
fn positional(error: &clap::Error, command: &Command) -> Option<String> {
    let value = error.get(ContextKind::InvalidArg).map(listed)?;
    if value.parse::<f64>().is_ok_and(|number| number < 0.0) {
        return Some("no option takes a number below zero".to_owned());
    }
    if value.starts_with('-') {
        return None;
    }
    let takes = |long: &str| command.get_arguments().any(|arg| arg.get_long() == Some(long));
    let is_path = value.contains(['/', '.']) || std::path::Path::new(&value).exists();
    if takes("with") {
        return Some(format!("did you mean `--with {value}`?"));
    }
    if takes("table") && is_table(&value) {
        return Some(format!("did you mean `--table {value}`?"));
    }
    // The commands that compare two states; `remeasure` compares a state with a GPU.
    if takes("head-ref") && takes("base-ref") && !std::path::Path::new(&value).exists() {
        return Some(format!("did you mean `--base-ref {value}`?"));
    }
    match (is_path, takes("root"), takes("system")) {
        (false, _, true) => Some(format!("did you mean `--system {value}`?")),
        (true, true, true) => Some(
            "--root names the folder that contains systems/, --system and --table select in it"
                .to_owned(),
        ),
        (_, true, _) => Some("--root names the folder that contains systems/".to_owned()),
        (_, false, _) => None,
    }
}

/// Returns a hint for an unknown option that is the name of a report format, such as `--json`, or of a positional
/// argument; `None` for any other option.
fn option_hint(named: &str, command: &Command) -> Option<String> {
    let name = named.trim_start_matches('-');
    if command.get_positionals().any(|arg| arg.get_id() == name) {
        let example = groups::example(command.get_name())?;
        return Some(format!("leave out {named}: `perfdb-gate {example}`"));
    }
    let format = command.get_arguments().find(|arg| arg.get_long() == Some("format"))?;
    let formats = format.get_possible_values();
    if named.starts_with("--") && formats.iter().any(|format| format.get_name() == name) {
        return Some(format!("did you mean `--format {name}`?"));
    }
    (named == "-f").then(|| "did you mean `--format`?".to_owned())
}

/// Returns true for the name of a table that has a spec.
fn is_table(name: &str) -> bool {
    let specs = Specs::read(Library::embedded());
    specs.is_ok_and(|specs| {
        specs.tables.contains_key(name) || specs.tables.contains_key(&format!("{name}_perf"))
    })
}

fn listed(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        other => other.to_string(),
    }
}
