//! A snapshot of the files a check may see.
