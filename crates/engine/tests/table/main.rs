//! Tables: reference model, crashes, damage, faults, keys, reads, sorting and external data.

mod crash;
mod damage;
mod external;
mod faults;
mod keys;
mod layers_of_strings;
mod reads;
mod reference;
mod sorting;
mod support;
