//! B+-tree leaves, and everything that happens in them, under any [`Router`](super::Router).
