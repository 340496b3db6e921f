//! Doing it: a pure engine, and a driver with real I/O.
