//! Today's date.

/// Returns today's date in UTC.
pub(crate) fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
