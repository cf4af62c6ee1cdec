//! Tables that cannot be decoded: damaged, LFS pointers, torn text, empty.

mod torn_row;
mod unreadable;

pub use self::torn_row::TornRow;
pub use self::unreadable::{Empty, LfsPointer, Unreadable};
