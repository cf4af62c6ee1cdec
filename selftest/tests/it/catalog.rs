//! The command `catalog`, on small trees.
