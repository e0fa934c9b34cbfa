//! The tools of Sqoop 1.4 and their options.

/// An option; `=` at its end says that it takes the next word as its value.
type Options = &'static [&'static str];

/// The database, and what every tool that connects to it has.
const COMMON: Options = &[
    "--connect-string=",
    "--connect=",
    "--connection-manager=",
    "--connection-param-file=",
    "--driver=",
    "--hadoop-home=",
    "--hadoop-mapred-home=",
    "--help",
    "--metadata-transaction-isolation-level=",
    "--options-file=",
    "--oracle-escaping-disabled=",
    "--password-alias=",
    "--password-file=",
    "--password=",
    "--relaxed-isolation",
    "--schema=",
    "--skip-dist-cache",
    "--temporary-rootdir=",
    "--throw-on-error",
    "--username=",
    "--verbose",
    "--version",
    "-P",
];
/// Saved jobs.
const JOB: Options = &[
    "--create=",
    "--delete=",
    "--exec=",
    "--help",
    "--jobid=",
    "--list",
    "--meta-connect=",
    "--meta-password=",
    "--meta-username=",
    "--options-file=",
    "--show=",
    "--verbose",
];
const METASTORE: Options = &["--help", "--options-file=", "--shutdown", "--verbose"];
/// How records are written, and read again.
const FORMATS: Options = &[
    "--enclosed-by=",
    "--escaped-by=",
    "--fields-terminated-by=",
    "--input-enclosed-by=",
    "--input-escaped-by=",
    "--input-fields-terminated-by=",
    "--input-lines-terminated-by=",
    "--input-optionally-enclosed-by=",
    "--lines-terminated-by=",
    "--mysql-delimiters",
    "--optionally-enclosed-by=",
];
/// Generated classes.
const CLASSES: Options = &[
    "--bindir=",
    "--class-name=",
    "--escape-mapping-column-names=",
    "--input-null-non-string=",
    "--input-null-string=",
    "--jar-file=",
    "--map-column-java=",
    "--null-non-string=",
    "--null-string=",
    "--outdir=",
    "--package-name=",
];
/// Tables of Hive.
const HIVE: Options = &[
    "--create-hive-table",
    "--external-table-dir=",
    "--hive-compute-stats",
    "--hive-database=",
    "--hive-delims-replacement=",
    "--hive-drop-import-delims",
    "--hive-import",
    "--hive-overwrite",
    "--hive-table=",
    "--hs2-keytab=",
    "--hs2-password=",
    "--hs2-url=",
    "--hs2-user=",
];
/// Tables of HCatalog.
const HCATALOG: Options = &[
    "--hcatalog-database=",
    "--hcatalog-home=",
    "--hcatalog-partition-keys=",
    "--hcatalog-partition-values=",
    "--hcatalog-table=",
    "--hive-home=",
    "--hive-partition-key=",
    "--hive-partition-value=",
    "--map-column-hive=",
];
/// What only imports have, of one table or of all.
const IMPORT: Options = &[
    "--accumulo-batch-size=",
    "--accumulo-column-family=",
    "--accumulo-create-table",
    "--accumulo-instance=",
    "--accumulo-max-latency=",
    "--accumulo-password=",
    "--accumulo-row-key=",
    "--accumulo-table=",
    "--accumulo-user=",
    "--accumulo-visibility=",
    "--accumulo-zookeepers=",
    "--as-avrodatafile",
    "--as-binaryfile",
    "--as-parquetfile",
    "--as-sequencefile",
    "--as-textfile",
    "--autoreset-to-one-mapper",
    "--buffersize=",
    "--column-family=",
    "--compress",
    "--compression-codec=",
    "--create-hcatalog-table",
    "--delete-target-dir",
    "--direct-split-size=",
    "--drop-and-create-hcatalog-table",
    "--fetch-size=",
    "--hbase-bulkload",
    "--hbase-create-table",
    "--hbase-row-key=",
    "--hbase-table=",
    "--hcatalog-external-table",
    "--hcatalog-storage-stanza=",
    "--inline-lob-limit=",
    "--lowercase-enforce-names=",
    "--parquet-configurator-implementation=",
    "--storage-stanza=",
    "--warehouse-dir=",
    "-z",
];
/// What only an import of one table has.
const IMPORT_ONE: Options = &[
    "--append",
    "--boundary-query=",
    "--check-column=",
    "--incremental=",
    "--last-value=",
    "--merge-key=",
    "--query=",
    "--split-by=",
    "--split-limit=",
    "--target-dir=",
    "--where=",
    "-e=",
];
/// What imports and exports have.
const TRANSFER: Options =
    &["--direct", "--mapreduce-job-name=", "--multi-threaded", "--num-mappers=", "--verify", "-m="];
/// What transfers of one table have.
const TRANSFER_ONE: Options = &[
    "--columns=",
    "--table=",
    "--validate",
    "--validation-failurehandler=",
    "--validation-threshold=",
    "--validator=",
];
const IMPORT_ALL: Options = &["--all-tables-in=", "--exclude-tables=", "--tables="];
const IMPORT_MAINFRAME: Options = &["--dataset=", "--datasettype=", "--tape="];
const EXPORT: Options = &[
    "--batch",
    "--call=",
    "--clear-staging-table",
    "--export-dir=",
    "--staging-table=",
    "--update-key=",
    "--update-mode=",
];
const EVAL: Options = &["--query=", "-e="];
const ONE: Options = &["--query=", "--table=", "-e="];
const MERGE: Options = &[
    "--class-name=",
    "--database=",
    "--jar-file=",
    "--join-key=",
    "--merge-key=",
    "--new-data=",
    "--onto=",
    "--target-dir=",
];

/// The tools and their options. A tool has none listed if they are unknown.
const TOOLS: &[(&str, &[Options])] = &[
    ("codegen", &[COMMON, FORMATS, CLASSES, HIVE, HCATALOG, ONE]),
    ("create-hive-table", &[COMMON, FORMATS, CLASSES, HIVE, HCATALOG, ONE]),
    ("eval", &[COMMON, EVAL]),
    ("export", &[COMMON, FORMATS, CLASSES, HCATALOG, TRANSFER, TRANSFER_ONE, EXPORT]),
    (
        "import",
        &[COMMON, FORMATS, CLASSES, HIVE, HCATALOG, TRANSFER, TRANSFER_ONE, IMPORT, IMPORT_ONE],
    ),
    (
        "import-all-tables",
        &[COMMON, FORMATS, CLASSES, HIVE, HCATALOG, TRANSFER, IMPORT, IMPORT_ALL],
    ),
    ("import-mainframe", &[]),
    ("job", &[JOB]),
    ("list-databases", &[COMMON]),
    ("list-tables", &[COMMON]),
    ("merge", &[COMMON, MERGE]),
    ("metastore", &[METASTORE]),
];
const ALL: &[Options] = &[
    COMMON,
    JOB,
    METASTORE,
    FORMATS,
    CLASSES,
    HIVE,
    HCATALOG,
    IMPORT,
    IMPORT_ONE,
    TRANSFER,
    TRANSFER_ONE,
    IMPORT_ALL,
    IMPORT_MAINFRAME,
    EXPORT,
    EVAL,
    MERGE,
];
/// Tools without options.
pub(super) const PLAIN: [&str; 2] = ["help", "version"];

/// Returns the names of all tools with options.
pub(super) fn tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(tool, _)| *tool)
}

fn bare(option: &'static str) -> &'static str {
    option.trim_end_matches('=')
}

/// Returns the long options of all tools.
pub(super) fn options() -> impl Iterator<Item = &'static str> {
    ALL.iter().copied().flatten().copied().map(bare).filter(|option| option.starts_with("--"))
}

fn find(groups: &[Options], name: &str) -> Option<&'static str> {
    // One hyphen is equivalent to two.
    let alike = |known: &&'static str| {
        let known = bare(known);
        known == name || known.len() > 3 && known[1..] == *name
    };
    groups.iter().copied().flatten().copied().find(alike)
}

/// Whether some tool has the option, and the option takes a value.
pub(super) fn is_valued(name: &str) -> bool {
    find(ALL, name).is_some_and(|option| option.ends_with('='))
}

/// Whether some tool has the option.
pub(super) fn is_option(name: &str) -> bool {
    find(ALL, name).is_some()
}

/// Whether this tool lacks an option, as far as its options are known.
pub(super) fn lacks(tool: &str, name: &str) -> bool {
    let groups = TOOLS.iter().find(|(known, _)| *known == tool).map_or(&[][..], |(_, all)| all);
    !groups.is_empty() && find(groups, name).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_tool_is_one_of_all() {
        let of_tools = TOOLS.iter().flat_map(|(_, groups)| groups.iter().copied().flatten());
        for option in of_tools.copied() {
            assert_eq!(find(ALL, bare(option)), Some(option));
        }
        assert!(is_valued("--exec") && is_valued("-table") && !is_valued("--direct"));
        assert!(lacks("eval", "-f") && lacks("export", "--target-dir"));
        assert!(!lacks("import", "-target-dir") && !lacks("import-mainframe", "--dataset"));
    }
}
