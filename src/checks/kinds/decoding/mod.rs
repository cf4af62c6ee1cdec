//! Tables that cannot be decoded: damaged, LFS pointers, torn text, empty.

mod empty;
mod lfs_pointer;
mod torn_row;
mod unreadable;

pub use self::empty::Empty;
pub use self::lfs_pointer::LfsPointer;
pub use self::torn_row::TornRow;
pub use self::unreadable::Unreadable;
