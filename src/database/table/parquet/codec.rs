//! Decompresses pages to exactly the size that they claim.
//!
//! A shorter result would leave zeros that look like values, and readers differ in how they treat a longer
//! one. The decoder's own decompression checks neither, and uses up to 128 MiB for zstd.

use std::io::Read;

use super::errors::{ColumnError, ColumnResult};
use crate::specs::Codec;

/// Returns the codec that a number in the footer stands for.
///
/// pyarrow, DuckDB, Spark and fastparquet write snappy by default, polars zstd. LZ4 (5) is deprecated because its
/// frames differ between writers; LZO (3) is not supported by common readers.
pub(super) fn of_number(number: i32) -> ColumnResult<Codec> {
    Ok(match number {
        0 => Codec::Uncompressed,
        1 => Codec::Snappy,
        2 => Codec::Gzip,
        4 => Codec::Brotli,
        6 => Codec::Zstd,
        7 => Codec::Lz4Raw,
        3 => return Err(ColumnError::Codec("LZO".into())),
        5 => return Err(ColumnError::Codec("deprecated LZ4".into())),
        other => return Err(ColumnError::Codec(format!("codec {other}"))),
    })
}

/// A decompressor of pages that keeps reusable state.
#[derive(Default)]
pub(super) struct Decompressor {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decompressor {
    /// Decompresses `from` into `to`.
    ///
    /// # Errors
    ///
    /// [`ColumnError::Decompress`] if `from` is damaged or its decompressed length differs from that of `to`;
    /// [`ColumnError::Sizes`] if `from` is not compressed and has another length than `to`.
    pub(super) fn fill(&mut self, codec: Codec, from: &[u8], to: &mut [u8]) -> ColumnResult<()> {
        let written = match codec {
            Codec::Uncompressed => {
                return if from.len() == to.len() {
                    to.copy_from_slice(from);
                    Ok(())
                } else {
                    Err(ColumnError::Sizes)
                };
            }
            Codec::Snappy => snappy(from, to),
            Codec::Zstd => self.zstd(from, to),
            Codec::Lz4Raw => lz4_flex::block::decompress_into(from, to).ok(),
            Codec::Gzip => stream(flate2::read::GzDecoder::new(from), to),
            Codec::Brotli => stream(brotli_decompressor::Decompressor::new(from, 4096), to),
        };
        if written == Some(to.len()) { Ok(()) } else { Err(ColumnError::Decompress) }
    }

    /// Decompresses zstd in one step, with `to` as the window. Returns the decompressed size; `None` if the data is
    /// damaged or larger than `to`.
    fn zstd(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        if self.zstd.is_none() {
            self.zstd = zstd::bulk::Decompressor::new().ok();
        }
        self.zstd.as_mut()?.decompress_to_buffer(from, to).ok()
    }
}

fn snappy(from: &[u8], to: &mut [u8]) -> Option<usize> {
    let claimed = snap::raw::decompress_len(from).ok()?;
    if claimed != to.len() {
        return None;
    }
    snap::raw::Decoder::new().decompress(from, to).ok()
}

/// Decompresses a stream into `to`; `None` if the stream has another length.
fn stream(mut from: impl Read, to: &mut [u8]) -> Option<usize> {
    from.read_exact(to).ok()?;
    (from.read(&mut [0]).ok()? == 0).then_some(to.len())
}
