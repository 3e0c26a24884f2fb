//! The FITing-tree.
