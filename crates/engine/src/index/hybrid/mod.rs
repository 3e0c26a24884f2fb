//! Any [`Structure`](super::Structure) as the inner part over B+-tree leaves.
