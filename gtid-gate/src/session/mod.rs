//! One client, from login to the end of its connection.
//!
//! In: the client's commands. Out: the answers of whichever server ran them.
//! A session owns its connections: at most one to the master, one to each satellite used, all as the client's user.
//! Must never: repeat a statement that may have written; let one server answer for state that only another has.

mod before;
mod command_loop;
mod commands;
mod connections;
mod exchange;
mod execute;
mod execution;
mod fault;
mod held;
mod infile;
mod kept_settings;
mod kill;
mod long_data;
mod master;
mod names;
mod parts;
mod plan;
mod prepared;
mod prepared_commands;
mod promise;
mod read_only;
mod reads;
mod recall;
mod relay;
mod satellites;
mod seek;
mod serve;
mod settings;
mod sharing;
mod state;
mod statement;
#[cfg(test)]
mod tests;
mod turns;
mod user;
mod work;

pub use serve::serve;
