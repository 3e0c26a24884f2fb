//! The PGM index with the logarithmic method.
