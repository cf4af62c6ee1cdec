//! The place where this program is published.

/// Returns the URL of the program's repository; `None` while the URL has the placeholder `OWNER` instead of an
/// account's name.
pub(crate) fn repository() -> Option<&'static str> {
    Some(env!("CARGO_PKG_REPOSITORY")).filter(|address| !address.contains("/OWNER/"))
}

/// Returns true if this binary was built by the release workflow of a published repository, so that its version can be
/// downloaded.
pub(crate) fn is_release() -> bool {
    option_env!("PERFDB_GATE_RELEASE").is_some_and(|set| !set.is_empty()) && repository().is_some()
}
