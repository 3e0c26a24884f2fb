//! Page files: reference model, crashes, damage, faults, readers and costs.

mod costs;
mod crash;
mod damage;
mod faults;
mod model;
mod readers;
mod support;
