//! Hash joins against a plain reference.
