//! What the pages of a Parquet file say that they hold once decompressed, before any is: a kilobyte can
//! claim a gigabyte, and a footer can say less than its pages.

use std::ops::Range;

use polars_parquet_format::PageHeader;
use polars_parquet_format::thrift::protocol::TCompactInputProtocol;

/// Bytes of all pages of a file, decompressed. The public database's largest table has 1.7 MB.
const MOST_BYTES: u64 = 128 << 20;

/// A header with its statistics is far smaller.
const LONGEST_HEADER: usize = 1 << 20;

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
            let Ok(page) = usize::try_from(header.compressed_page_size) else { break };
            rest = rest.get(page..).unwrap_or_default();
        }
    }
    Ok(())
}
