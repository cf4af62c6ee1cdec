//! What a Parquet file claims, before memory is taken for it: a kilobyte can claim a gigabyte, a footer can
//! say less than its pages, and a flipped bit can make a list of a billion columns. The decoder believes them,
//! and a process that is refused memory ends.

use std::ops::Range;

use polars_parquet_format::thrift::protocol::TCompactInputProtocol;
use polars_parquet_format::{FileMetaData, PageHeader};

use super::parquet::MOST_CELLS;

/// Bytes of all pages of a file, decompressed. The public database's largest table has 1.7 MB.
const MOST_BYTES: u64 = 128 << 20;

/// A header with its statistics is far smaller.
const LONGEST_HEADER: usize = 1 << 20;

/// Bytes that a footer may take once it is read; one of 100 columns takes some 100 kB.
const MOST_FOOTER: usize = 4 << 20;

/// Refuses a file whose footer is damaged, or claims more than the footer of a table takes.
pub(super) fn footer(bytes: &[u8]) -> Result<(), String> {
    let damaged = || "its footer is damaged".to_owned();
    let end = bytes.len().checked_sub(8).ok_or_else(damaged)?;
    let length = bytes[end..end + 4].try_into().map(u32::from_le_bytes).map_err(|_| damaged())?;
    let start = end.checked_sub(length as usize).ok_or_else(damaged)?;
    let mut protocol = TCompactInputProtocol::new(&bytes[start..end], MOST_FOOTER);
    FileMetaData::read_from_in_protocol(&mut protocol).map(drop).map_err(|e| {
        let why: Vec<String> =
            e.to_string().split_whitespace().take(20).map(str::to_owned).collect();
        format!("{}: {}", damaged(), why.join(" "))
    })
}

/// Values that a page claims; the decoder takes memory for them before it looks.
fn values(header: &PageHeader) -> Option<i32> {
    let v1 = header.data_page_header.as_ref().map(|h| h.num_values);
    let v2 = header.data_page_header_v2.as_ref().map(|h| h.num_values);
    let dictionary = header.dictionary_page_header.as_ref().map(|h| h.num_values);
    [v1, v2, dictionary].into_iter().flatten().max_by_key(|n| (n.is_negative(), *n))
}

/// Refuses a file whose column `chunks` claim more bytes than a table has.
pub(super) fn check(bytes: &[u8], chunks: impl Iterator<Item = Range<u64>>) -> Result<(), String> {
    let mut claimed = 0;
    for chunk in chunks {
        let (start, end) = (chunk.start as usize, chunk.end.min(bytes.len() as u64) as usize);
        // What does not lie in the file is the decoder's to tell.
        let mut rest = bytes.get(start..end).unwrap_or_default();
        while !rest.is_empty() {
            let mut protocol = TCompactInputProtocol::new(&mut rest, LONGEST_HEADER);
            let Ok(header) = PageHeader::read_from_in_protocol(&mut protocol) else { break };
            claimed += u64::try_from(header.uncompressed_page_size).unwrap_or(u64::MAX >> 32);
            if claimed > MOST_BYTES {
                let most = MOST_BYTES >> 20;
                return Err(format!(
                    "its pages claim over {most} MiB once decompressed, more than a table has"
                ));
            }
            if values(&header).is_some_and(|n| !(0..=MOST_CELLS as i32).contains(&n)) {
                return Err("a page claims a number of values that no table has".into());
            }
            let Ok(page) = usize::try_from(header.compressed_page_size) else { break };
            rest = rest.get(page..).unwrap_or_default();
        }
    }
    Ok(())
}
