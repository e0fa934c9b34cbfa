//! Calendar arithmetic of coordinators: instants, frequencies, cron, dataset instances.
