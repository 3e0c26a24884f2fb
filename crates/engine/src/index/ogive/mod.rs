//! Coded inner nodes: exact separators as lines and packed residuals.
