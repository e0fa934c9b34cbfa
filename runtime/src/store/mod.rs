//! Where procedures and jobs are kept: SQLite for real, memory for tests.
