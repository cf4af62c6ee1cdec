//! The day that a run is on.

/// The day, UTC.
pub(crate) fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
