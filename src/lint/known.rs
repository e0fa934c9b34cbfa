//! Names that the server and Hadoop define.

use crate::diag::{letters, may_be_within, within};

/// Properties that the server reads from jobs and actions.
pub(super) const OOZIE_PROPERTIES: &[&str] = &[
    "oozie.action.external.stats.write",
    "oozie.action.fs.glob.max",
    "oozie.action.hadoop.delete.hdfs.tmp.dir",
    "oozie.action.max.output.data",
    "oozie.action.null.args.allowed",
    "oozie.action.shell.setup.hadoop.conf.dir",
    "oozie.action.sqoop.shellsplitter",
    "oozie.bundle.application.path",
    "oozie.coord.action.notification.url",
    "oozie.coord.application.path",
    "oozie.credentials.skip",
    "oozie.default.configuration.path",
    "oozie.email.attachment.enabled",
    "oozie.hive.defaults",
    "oozie.hive.log.level",
    "oozie.hive2.log.level",
    "oozie.job.acl",
    "oozie.jobs.api.generated.path",
    "oozie.launcher.action.main.class",
    "oozie.launcher.env",
    "oozie.launcher.javaopts",
    "oozie.launcher.max.attempts",
    "oozie.launcher.memory.mb",
    "oozie.launcher.modify.acl",
    "oozie.launcher.override",
    "oozie.launcher.priority",
    "oozie.launcher.queue",
    "oozie.launcher.sharelib",
    "oozie.launcher.vcores",
    "oozie.launcher.view.acl",
    "oozie.libpath",
    "oozie.mapreduce.uber.jar",
    "oozie.pig.log.level",
    "oozie.pig.script",
    "oozie.proxysubmission",
    "oozie.sqoop.log.level",
    "oozie.spark.log.level",
    "oozie.streaming.mapper",
    "oozie.suspend.on.nodes",
    "oozie.use.system.libpath",
    "oozie.wf.action.max.retries",
    "oozie.wf.action.notification.url",
    "oozie.wf.action.retry.interval",
    "oozie.wf.application.lib",
    "oozie.wf.application.path",
    "oozie.wf.external.id",
    "oozie.wf.log.level",
    "oozie.wf.parent.id",
    "oozie.wf.rerun.failnodes",
    "oozie.wf.rerun.skip.nodes",
    "oozie.wf.subworkflow.classpath.inheritance",
    "oozie.wf.validate.ForkJoin",
    "oozie.wf.workflow.notification.proxy",
    "oozie.wf.workflow.notification.url",
];

/// Whether the server reads a property of this name, or passes on all properties with its prefix.
pub(super) fn is_oozie_property(name: &str) -> bool {
    OOZIE_PROPERTIES.contains(&name)
        || ["oozie.action.sharelib.for.", "oozie.launcher.mapred", "oozie.launcher.yarn."]
            .iter()
            .any(|start| name.starts_with(start))
}

/// Old and new names of Hadoop properties, sorted by the old.
const RENAMED: &[(&str, &str)] = &[
    ("dfs.block.size", "dfs.blocksize"),
    ("dfs.permissions", "dfs.permissions.enabled"),
    ("dfs.replication.min", "dfs.namenode.replication.min"),
    ("dfs.umaskmode", "fs.permissions.umask-mode"),
    ("io.sort.factor", "mapreduce.task.io.sort.factor"),
    ("io.sort.mb", "mapreduce.task.io.sort.mb"),
    ("io.sort.spill.percent", "mapreduce.map.sort.spill.percent"),
    ("job.end.notification.url", "mapreduce.job.end-notification.url"),
    ("keep.failed.task.files", "mapreduce.task.files.preserve.failedtasks"),
    (
        "key.value.separator.in.input.line",
        "mapreduce.input.keyvaluelinerecordreader.key.value.separator",
    ),
    ("map.input.file", "mapreduce.map.input.file"),
    ("mapred.cache.archives", "mapreduce.job.cache.archives"),
    ("mapred.cache.files", "mapreduce.job.cache.files"),
    ("mapred.compress.map.output", "mapreduce.map.output.compress"),
    ("mapred.create.symlink", "mapreduce.job.cache.symlink.create"),
    ("mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"),
    ("mapred.job.map.memory.mb", "mapreduce.map.memory.mb"),
    ("mapred.job.name", "mapreduce.job.name"),
    ("mapred.job.priority", "mapreduce.job.priority"),
    ("mapred.job.queue.name", "mapreduce.job.queuename"),
    ("mapred.job.reduce.memory.mb", "mapreduce.reduce.memory.mb"),
    ("mapred.job.reuse.jvm.num.tasks", "mapreduce.job.jvm.numtasks"),
    ("mapred.line.input.format.linespermap", "mapreduce.input.lineinputformat.linespermap"),
    ("mapred.map.child.env", "mapreduce.map.env"),
    ("mapred.map.child.java.opts", "mapreduce.map.java.opts"),
    ("mapred.map.max.attempts", "mapreduce.map.maxattempts"),
    ("mapred.map.output.compression.codec", "mapreduce.map.output.compress.codec"),
    ("mapred.map.tasks", "mapreduce.job.maps"),
    ("mapred.map.tasks.speculative.execution", "mapreduce.map.speculative"),
    ("mapred.mapoutput.key.class", "mapreduce.map.output.key.class"),
    ("mapred.mapoutput.value.class", "mapreduce.map.output.value.class"),
    ("mapred.max.split.size", "mapreduce.input.fileinputformat.split.maxsize"),
    ("mapred.min.split.size", "mapreduce.input.fileinputformat.split.minsize"),
    ("mapred.output.compress", "mapreduce.output.fileoutputformat.compress"),
    ("mapred.output.compression.codec", "mapreduce.output.fileoutputformat.compress.codec"),
    ("mapred.output.compression.type", "mapreduce.output.fileoutputformat.compress.type"),
    ("mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"),
    ("mapred.output.key.class", "mapreduce.job.output.key.class"),
    ("mapred.output.key.comparator.class", "mapreduce.job.output.key.comparator.class"),
    ("mapred.output.value.class", "mapreduce.job.output.value.class"),
    ("mapred.output.value.groupfn.class", "mapreduce.job.output.group.comparator.class"),
    ("mapred.reduce.child.env", "mapreduce.reduce.env"),
    ("mapred.reduce.child.java.opts", "mapreduce.reduce.java.opts"),
    ("mapred.reduce.max.attempts", "mapreduce.reduce.maxattempts"),
    ("mapred.reduce.parallel.copies", "mapreduce.reduce.shuffle.parallelcopies"),
    ("mapred.reduce.slowstart.completed.maps", "mapreduce.job.reduce.slowstart.completedmaps"),
    ("mapred.reduce.tasks", "mapreduce.job.reduces"),
    ("mapred.reduce.tasks.speculative.execution", "mapreduce.reduce.speculative"),
    ("mapred.task.timeout", "mapreduce.task.timeout"),
    ("mapred.text.key.comparator.options", "mapreduce.partition.keycomparator.options"),
    ("mapred.text.key.partitioner.options", "mapreduce.partition.keypartitioner.options"),
    ("mapred.textoutputformat.separator", "mapreduce.output.textoutputformat.separator"),
    ("min.num.spills.for.combine", "mapreduce.map.combine.minspills"),
];

/// Returns the name that replaced a deprecated Hadoop property.
pub(super) fn renamed(name: &str) -> Option<&'static str> {
    let at = RENAMED.binary_search_by_key(&name, |(old, _)| old).ok()?;
    Some(RENAMED[at].1)
}

/// Returns the names of properties that the server reads, and then those of Hadoop and the programs on it.
pub(crate) fn properties() -> impl Iterator<Item = &'static str> {
    OOZIE_PROPERTIES.iter().copied().chain(HADOOP.iter().copied())
}

/// A known name, with data for quickly ruling out most others.
struct Name {
    name: &'static str,
    digits: usize,
    letters: u64,
}

/// The known names by length: a misspelled name has nearly the same length.
static BY_LENGTH: std::sync::LazyLock<Vec<Vec<Name>>> = std::sync::LazyLock::new(|| {
    let longest = HADOOP.iter().map(|name| name.len()).max().unwrap_or_default();
    let mut lists: Vec<Vec<Name>> = Vec::new();
    lists.resize_with(longest + 1, Vec::new);
    for name in HADOOP.iter().copied() {
        lists[name.len()].push(Name { name, digits: digits(name), letters: letters(name.chars()) });
    }
    lists
});

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Properties of Hadoop and the programs on it that actions set.
static HADOOP: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
    let lines = include_str!("hadoop.txt").lines().filter(|line| !line.starts_with('#'));
    let mut names: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    names.extend(RENAMED.iter().flat_map(|(old, new)| [*old, *new]));
    names.sort_unstable();
    names.dedup();
    names
});

/// Returns the Hadoop property that a misspelled name most likely stands for: one that differs in a letter or two. A
/// name that is known itself is not misspelled.
pub(super) fn hadoop_property_meant(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix("oozie.launcher.").unwrap_or(name);
    if bare.len() < 12
        || !bare.contains('.')
        || bare.contains("${")
        || HADOOP.binary_search(&bare).is_ok()
    {
        return None;
    }
    // Common names for the folders and the queue of a job.
    let common = match bare {
        "mapreduce.job.queue" | "mapreduce.queue.name" => Some("mapreduce.job.queuename"),
        "mapred.input.path" | "mapred.input.folder" => Some("mapred.input.dir"),
        "mapred.output.path" | "mapred.output.folder" => Some("mapred.output.dir"),
        _ => None,
    };
    if common.is_some() {
        return common;
    }
    const MOST: usize = 2;
    let (own, own_letters) = (digits(bare), letters(bare.chars()));
    let end = BY_LENGTH.len();
    let alike = &BY_LENGTH[(bare.len() - MOST).min(end)..(bare.len() + MOST + 1).min(end)];
    let near = alike
        .iter()
        .flatten()
        .filter(|known| known.digits == own && may_be_within(own_letters, known.letters, MOST))
        .filter_map(|known| Some((within(bare, known.name, MOST)?, known.name)))
        .min();
    let Some(near) = near else {
        return without_last_word(bare).or_else(|| other_form(bare)).or_else(|| other_prefix(bare));
    };
    // A name with a different number of words is a different name, unless it differs in one letter only.
    let parts = |text: &'_ str| text.split(['.', '-']).count();
    (parts(near.1) == parts(bare) || near.0 == 1).then_some(near.1)
}

/// Returns the property whose last word, `name`, is missing.
fn without_last_word(bare: &str) -> Option<&'static str> {
    let at = HADOOP.binary_search(&&*format!("{bare}.name")).ok()?;
    Some(HADOOP[at])
}

/// Returns the property with the prefix of the other version of MapReduce: `mapreduce.mapper.class` for
/// `mapred.mapper.class`.
fn other_prefix(bare: &str) -> Option<&'static str> {
    let other = match bare.strip_prefix("mapreduce.") {
        Some(rest) => format!("mapred.{rest}"),
        None => format!("mapreduce.{}", bare.strip_prefix("mapred.")?),
    };
    // Without one of these, a job runs differently or not at all.
    if ![".class", ".dir", ".mb", ".opts", ".queuename"].iter().any(|end| bare.ends_with(end)) {
        return None;
    }
    Some(HADOOP[HADOOP.binary_search(&&*other).ok()?])
}

/// Maximum number of letters by which two forms of a word differ.
const MOST_OF_A_FORM: usize = 4;

/// Returns the MapReduce property that differs only in the form of one word: `map` for `mapper`.
fn other_form(bare: &str) -> Option<&'static str> {
    let own: Vec<&str> = bare.split('.').collect();
    if own[0] != "mapreduce" || own.len() < 4 {
        return None;
    }
    let forms = |a: &str, b: &str| {
        let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
        short.len() >= 3 && long.starts_with(short) && long.len() - short.len() <= MOST_OF_A_FORM
    };
    let dots = |text: &str| text.bytes().filter(|byte| *byte == b'.').count();
    let of_so_many = HADOOP.iter().copied().filter(|known| {
        known.len().abs_diff(bare.len()) <= MOST_OF_A_FORM && dots(known) + 1 == own.len()
    });
    let mut near = of_so_many.filter(|known| {
        let words: Vec<&str> = known.split('.').collect();
        let differ = || own.iter().zip(&words).filter(|(own, known)| own != known);
        differ().count() == 1 && differ().all(|(own, known)| forms(own, known))
    });
    near.next().filter(|_| near.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_leads_to_new_names() {
        assert!(RENAMED.is_sorted_by_key(|(old, _)| *old));
        assert!(RENAMED.iter().all(|(_, new)| renamed(new).is_none()));
        assert_eq!(renamed("mapred.reduce.tasks"), Some("mapreduce.job.reduces"));
    }

    #[test]
    fn a_slip_is_told_from_another_name() {
        let meant = hadoop_property_meant;
        assert_eq!(meant("mapred.job.queue.nam"), Some("mapred.job.queue.name"));
        assert_eq!(
            meant("oozie.launcher.mapreduce.map.memroy.mb"),
            Some("mapreduce.map.memory.mb")
        );
        assert_eq!(meant("spark.executor.memmory"), Some("spark.executor.memory"));
        assert_eq!(meant("mapreduce.job.mapper.class"), Some("mapreduce.job.map.class"));
        for name in [
            "mapreduce.job.queuename",
            "com.example.queue",
            "mapreduce.my.own",
            "hive.exec",
            "${x}.job.queue.nam",
        ] {
            assert_eq!(meant(name), None, "{name}");
        }
    }
}
