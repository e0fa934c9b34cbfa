//! The only integration test binary: one module per subject.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read fixtures and say how far they agree"
)]

mod actions;
mod again;
mod applications;
mod archives;
mod browser;
#[cfg(feature = "object-stores")]
mod buckets;
mod cli;
mod clients;
mod clocks;
mod clusters;
mod codes;
mod combined;
mod commands;
mod console;
mod convert;
mod convert_actions;
mod convert_argo;
mod convert_databricks;
mod convert_expressions;
mod convert_joined;
mod convert_logic;
mod convert_missing;
mod convert_places;
mod convert_prefect;
mod convert_secrets;
mod convert_settings;
mod convert_shared;
mod convert_site;
mod convert_targets;
mod convert_traps;
mod coordinator_crash;
mod coordinator_rules;
mod coordinator_run;
mod coordinator_traces;
mod coordinators;
mod corpus;
mod crash;
mod damage;
mod disks;
mod docs;
mod edited;
mod editors;
mod elsewhere;
mod elsewhere_clusters;
mod estate;
mod eval;
mod examples;
mod expectations;
mod expressions;
mod fixes;
mod format;
mod formats;
mod fuzz_seeds;
mod graph;
mod holders;
mod hostile_jobs;
mod hostile_requests;
mod hostile_texts;
#[cfg(unix)]
mod hostile_trees;
mod hosts;
mod ide;
mod kerberos;
mod killed;
mod kubernetes;
mod launchers;
mod layout;
mod limits;
mod lint;
mod livy;
mod lsp;
mod map_reduce;
mod mending;
mod metastores;
mod mistakes;
mod one_place;
mod oozie_client;
mod operators;
mod panel;
mod quiet;
mod remote;
mod replay;
mod restarts;
mod robust;
mod run;
mod sample;
mod scenarios;
mod scenarios_real;
mod schema;
mod schemas;
mod searching;
mod secure;
mod serve;
mod simulation;
mod single_faults;
mod sink;
mod site;
mod site_functions;
mod slips;
mod slips_apart;
mod slips_callers;
mod slips_handed;
mod slips_marked;
mod slips_near;
mod slips_programs;
mod staged;
mod stores;
mod storms;
mod strangers;
mod telemetry;
mod tidy;
mod timeline;
mod traces;
mod verdicts;
mod wishes;
mod ws_api;

#[path = "../oracle.rs"]
mod oracle;

use oracle::{agree, folder as shared, root};
