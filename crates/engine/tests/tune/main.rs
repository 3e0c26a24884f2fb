//! The tuner: validity and quality of designs, and the figures of the paper.

mod paper;
mod quality;
mod search;
mod support;
mod validity;
