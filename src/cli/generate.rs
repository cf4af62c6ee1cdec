//! `perfdb-gate completions` and `schema`: what other programs read of this one.

use clap::{Args, ValueEnum};

/// `perfdb-gate completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell that reads them.
    #[arg(value_enum)]
    pub shell: ShellName,
}

/// Shells with completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// `perfdb-gate schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The file.
    #[arg(value_enum)]
    pub file: SchemaName,
}

/// Files with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    /// A report, `--format json`.
    Report,
    /// `rules/<rule>.yaml`.
    Rule,
    /// `rules/tables/<family>.yaml`.
    Tables,
    /// `.perfdb-gate/waivers.yaml`.
    Waivers,
}
