//! The table of what becomes of every element and property of an action when ankus runs its program.
//!
//! For the type of an action and an element or property, it says whether it is passed on and how, has no effect and
//! why, or is refused. `docs/action-elements.md` is generated from it; `ankus doctor APP`, `ankus run --dry-run` and
//! the log of an action list the parts without effect. A test walks the schemas of all actions, so that every element
//! has a row.

use ankus_lang::action_types::{ACTION_TYPES, is_cluster};
use roxmltree::Node;
use std::fmt::Write as _;

/// What becomes of an element or a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is passed on or carried out; the text says how.
    Carried(&'static str),
    /// It has no effect; the text says why.
    Without(&'static str),
    /// An action with it is not started; the text says why.
    Refused(&'static str),
}

use Effect::{Carried, Refused, Without};

/// Where the program of an action runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Where {
    /// On this machine.
    #[default]
    Here,
    /// On a host, by ssh.
    Ssh,
    /// In a YARN cluster.
    Yarn,
    /// In a Kubernetes cluster.
    Kubernetes,
    /// By Livy, which only runs Spark.
    Livy,
}

impl Where {
    /// All places.
    pub const ALL: [Where; 5] =
        [Where::Here, Where::Ssh, Where::Yarn, Where::Kubernetes, Where::Livy];

    /// Returns its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Where::Here => "local",
            Where::Ssh => "ssh",
            Where::Yarn => "yarn",
            Where::Kubernetes => "kubernetes",
            Where::Livy => "livy",
        }
    }

    /// Returns the place with this name in the settings.
    pub fn named(name: &str) -> Option<Where> {
        Where::ALL.into_iter().find(|at| at.name() == name)
    }
}

/// A row of the table: action types, element (below that of the action) or property, and what becomes of it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    types: Types,
    /// The path of the element, such as `launcher/queue`; or the name of the property, with a final `*` for a prefix.
    pub name: &'static str,
    /// What becomes of it.
    pub effect: Effect,
}

/// The action types that a row applies to.
#[derive(Clone, Copy, Debug)]
enum Types {
    /// All types that run in a cluster, unless they have a row of their own.
    Cluster,
    /// Only these types.
    Of(&'static [&'static str]),
}

impl Row {
    fn is_own(&self, kind: &str) -> bool {
        matches!(self.types, Types::Of(kinds) if kinds.contains(&kind))
    }

    fn covers(&self, kind: &str) -> bool {
        match self.types {
            Types::Cluster => is_cluster(kind),
            Types::Of(kinds) => kinds.contains(&kind),
        }
    }

    fn names(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => self.name == name,
        }
    }
}

const fn all(name: &'static str, effect: Effect) -> Row {
    Row { types: Types::Cluster, name, effect }
}

const fn of(kinds: &'static [&'static str], name: &'static str, effect: Effect) -> Row {
    Row { types: Types::Of(kinds), name, effect }
}

const CLIENTS: &[&str] = &["map-reduce", "hive", "hive2", "sqoop", "distcp"];
const HIVES: &[&str] = &["hive", "hive2"];
const NO_LAUNCHER: &str =
    "the program runs as a process of its host, not in a container of a launcher";
const LIVY: &str = "Livy starts the program, with options and variables of its own";
const CONTAINER_MEMORY: &str = "memory of the container";
const CONTAINER_CORES: &str = "virtual cores of the container";
const CONTAINER_QUEUE: &str =
    "the queue of the application; counts towards the limits of queues as well";
const CONTAINER_PRIORITY: &str = "the priority of the application";
const TOKENS: &str = "with Kerberos: name nodes whose tokens the program gets";
const POD_MEMORY: &str = "the memory limit of the pod";
const POD_CORES: &str = "the CPU limit of the pod";
/// Why an action does not reach a cluster whose paths it names.
pub const UNREACHED: &str = "[hosts] does not name it, and the file root takes its place, as for the cluster of the application";
/// Elements with paths that ankus reads, or copies from or to a file system.
const PATHS: [&str; 8] = [
    "file",
    "archive",
    "script",
    "job-xml",
    "app-path",
    "attachment",
    "key-path",
    "destination-uri",
];
/// The row for a `<config-class>` next to `<streaming>` or `<pipes>`.
const CLASS_OF_CLIENTS: &str = "config-class, with streaming or pipes";
const OVERRIDE: &str = "`false` ignores the older map-reduce names";
/// The effect of properties that no action may set: see `allowed` in `workplace/settings.rs`.
const DISALLOWED: &str = "ends the action with JA010, as on a server: only the server may set it";
const NO_ACL: &str = "there is no launcher job that others could see or change";

/// The rows for elements.
pub const ELEMENTS: &[Row] = &[
    all("job-tracker", Carried("`yarn.resourcemanager.address` of the configuration")),
    all("resource-manager", Carried("`yarn.resourcemanager.address` of the configuration")),
    all("name-node", Carried("`fs.defaultFS` of the configuration")),
    of(&["git"], "name-node", Carried("the file system of paths without one")),
    all("prepare", Carried("done before the program starts, in order")),
    all(
        "prepare/delete",
        Carried("deletes the path, or drops the partitions or table of an `hcat:` URI"),
    ),
    all("prepare/mkdir", Carried("creates the folder")),
    all("launcher", Carried("properties `oozie.launcher.*` of the configuration")),
    all("launcher/memory.mb", Without(NO_LAUNCHER)),
    all("launcher/vcores", Without(NO_LAUNCHER)),
    all("launcher/priority", Without(NO_LAUNCHER)),
    all("launcher/java-opts", Without("the program is not run by a Java launcher")),
    of(
        &["java"],
        "launcher/java-opts",
        Carried("options of `java`, unless the action has its own"),
    ),
    of(CLIENTS, "launcher/java-opts", Carried("`HADOOP_CLIENT_OPTS`")),
    of(&["pig"], "launcher/java-opts", Carried("`PIG_OPTS`")),
    of(&["spark"], "launcher/java-opts", Carried("`SPARK_SUBMIT_OPTS`")),
    all("launcher/env", Carried("variables of the program")),
    all("launcher/queue", Carried("counts towards the limits of queues (`[launchers]`)")),
    all(
        "launcher/sharelib",
        Carried("selects the part of the share library that is provided, if there is one"),
    ),
    all("launcher/view-acl", Without(NO_ACL)),
    all("launcher/modify-acl", Without(NO_ACL)),
    all("job-xml", Carried("merged into the configuration")),
    all(
        "configuration",
        Carried("`action.xml`, which `OOZIE_ACTION_CONF_XML` names, and the tool's own options"),
    ),
    of(&["fs"], "configuration", Carried("checked for disallowed properties")),
    of(&["fs"], "job-xml", Carried("read, and checked for disallowed properties")),
    of(&["sub-workflow"], "configuration", Carried("properties of the child")),
    all("file", Carried("copied to the working folder, under its link name")),
    all("archive", Carried("unpacked in the working folder, under its link name")),
    of(
        &["map-reduce"],
        "file",
        Carried("copied to the working folder, and shipped to the tasks (`tmpfiles`, `tmpjars`)"),
    ),
    of(
        &["map-reduce"],
        "archive",
        Carried("unpacked in the working folder, and shipped to the tasks (`tmparchives`)"),
    ),
    of(
        &["spark"],
        "file",
        Carried("copied to the working folder, and `--files`, `--py-files` or `--jars`"),
    ),
    of(&["spark"], "archive", Carried("unpacked in the working folder, and `--archives`")),
    of(&["shell"], "exec", Carried("the program: its last part, in the working folder or on PATH")),
    of(&["shell"], "argument", Carried("an argument")),
    of(&["shell"], "env-var", Carried("a variable of the program")),
    of(&["shell", "ssh"], "capture-output", Carried("the standard output, as properties")),
    of(&["java"], "main-class", Carried("the class that `java` runs")),
    of(&["java"], "java-opts", Carried("options of `java`, and `mapred.child.java.opts`")),
    of(&["java"], "java-opt", Carried("an option of `java`, and `mapred.child.java.opts`")),
    of(&["java"], "arg", Carried("an argument of the class")),
    of(
        &["java"],
        "capture-output",
        Carried("the file that `oozie.action.output.properties` names"),
    ),
    of(&["map-reduce"], "streaming", Carried("`hadoop jar HADOOP-STREAMING.JAR`")),
    of(&["map-reduce"], "streaming/mapper", Carried("`-mapper`")),
    of(&["map-reduce"], "streaming/reducer", Carried("`-reducer`")),
    of(&["map-reduce"], "streaming/record-reader", Carried("`-D stream.recordreader.class`")),
    of(
        &["map-reduce"],
        "streaming/record-reader-mapping",
        Carried("`-D stream.recordreader.NAME`"),
    ),
    of(&["map-reduce"], "streaming/env", Carried("`-cmdenv`")),
    of(&["map-reduce"], "pipes", Carried("`hadoop pipes`")),
    of(&["map-reduce"], "pipes/map", Carried("`-map`")),
    of(&["map-reduce"], "pipes/reduce", Carried("`-reduce`")),
    of(&["map-reduce"], "pipes/inputformat", Carried("`-inputformat`")),
    of(&["map-reduce"], "pipes/partitioner", Carried("`-partitioner`")),
    of(&["map-reduce"], "pipes/writer", Carried("`-writer`")),
    of(
        &["map-reduce"],
        "pipes/program",
        Carried(
            "`-program`; a relative path is below the application. For an application on this machine it becomes a local \
             file, which only a single-machine cluster finds",
        ),
    ),
    of(
        &["map-reduce"],
        "config-class",
        Carried("called before the job is submitted, which needs a JDK (`javac`)"),
    ),
    of(
        &["map-reduce"],
        CLASS_OF_CLIENTS,
        Refused(
            "the clients of streaming and pipes read their options before such a class could be called; set the same \
             properties in the configuration",
        ),
    ),
    of(&["pig"], "script", Carried("copied to the working folder, `-file`")),
    of(&["pig"], "param", Carried("`-param`")),
    of(&["pig"], "argument", Carried("an argument of `pig`")),
    of(HIVES, "script", Carried("copied to the working folder, `-f`")),
    of(HIVES, "query", Carried("`-e`")),
    of(HIVES, "param", Carried("`--hivevar`")),
    of(&["hive"], "argument", Carried("an argument of `hive`")),
    of(&["hive2"], "argument", Carried("an argument of `beeline`")),
    of(&["hive2"], "jdbc-url", Carried("`-u`")),
    of(
        &["hive2"],
        "password",
        Carried("`-w`: a file that only this user can read, which is deleted at the end"),
    ),
    of(&["hive2"], "configuration", Carried("`oozie.*` as `--hiveconf`, as a server does")),
    of(&["sqoop"], "command", Carried("arguments of `sqoop`, split at spaces")),
    of(&["sqoop"], "arg", Carried("an argument of `sqoop`")),
    of(&["spark"], "master", Carried("`--master`")),
    of(&["spark"], "mode", Carried("`--deploy-mode`")),
    of(&["spark"], "name", Carried("`--name`")),
    of(&["spark"], "class", Carried("`--class`")),
    of(&["spark"], "jar", Carried("the application, copied to the working folder if it is found")),
    of(&["spark"], "spark-opts", Carried("options of `spark-submit`, split as by the launcher")),
    of(&["spark"], "arg", Carried("an argument of the application")),
    of(&["distcp"], "java-opts", Carried("`HADOOP_CLIENT_OPTS`")),
    of(&["distcp"], "arg", Carried("an argument of `hadoop distcp`")),
    of(&["git"], "git-uri", Carried("the repository")),
    of(&["git"], "branch", Carried("`--branch`")),
    of(
        &["git"],
        "key-path",
        Carried(
            "copied to a file that only this user can read, and passed to `ssh` by `GIT_SSH_COMMAND`",
        ),
    ),
    of(
        &["git"],
        "destination-uri",
        Carried("the folder that the clone is put into, or copied to if it is in a cluster"),
    ),
    of(&["ssh"], "host", Carried("the host; without a user, the user of the job")),
    of(&["ssh"], "command", Carried("the command")),
    of(&["ssh"], "args", Carried("arguments, split again on the other machine")),
    of(&["ssh"], "arg", Carried("an argument, quoted for the other machine")),
    of(&["email"], "to", Carried("recipients")),
    of(&["email"], "cc", Carried("recipients of a copy")),
    of(&["email"], "bcc", Carried("recipients of a blind copy")),
    of(&["email"], "subject", Carried("the subject")),
    of(&["email"], "body", Carried("the text")),
    of(&["email"], "content_type", Carried("the media type of the text")),
    of(&["email"], "attachment", Carried("attached, as a server does")),
    of(&["sub-workflow"], "app-path", Carried("the application of the child")),
    of(
        &["sub-workflow"],
        "propagate-configuration",
        Carried("the child gets the properties of the job"),
    ),
    of(&["fs"], "name-node", Carried("the file system of paths without one")),
    of(
        &["fs"],
        "delete",
        Carried(
            "done, with globs; `skip-trash=\"false\"` moves to the trash of a cluster, and in a folder of this machine, which has none, \
             deletes as well; partitions or the table of an `hcat:` URI are dropped",
        ),
    ),
    of(&["fs"], "mkdir", Carried("done")),
    of(&["fs"], "move", Carried("done, with globs")),
    of(&["fs"], "chmod", Carried("done, with globs")),
    of(&["fs"], "chmod/recursive", Carried("all levels below")),
    of(&["fs"], "touchz", Carried("done")),
    of(&["fs"], "chgrp", Carried("done, with globs")),
    of(&["fs"], "chgrp/recursive", Carried("all levels below")),
    of(
        &["fs"],
        "setrep",
        Carried("done if the file system has replication; folders of this machine do not"),
    ),
];

/// The property with the uber jar of a job, and the row for it next to `<streaming>` or `<pipes>`.
const UBER_JAR: &str = "oozie.mapreduce.uber.jar";
const UBER_JAR_OF_CLIENTS: &str = "oozie.mapreduce.uber.jar, with streaming or pipes";

/// What becomes of settings of `<launcher>` where places know of such things, in place of the rows for all. The properties
/// `oozie.launcher.*` of the same names fare alike.
const OF_PLACES: &[(Where, &str, Effect)] = &[
    (Where::Yarn, "memory.mb", Carried(CONTAINER_MEMORY)),
    (Where::Yarn, "yarn.app.mapreduce.am.resource.mb", Carried(CONTAINER_MEMORY)),
    (Where::Yarn, "mapreduce.map.memory.mb", Carried(CONTAINER_MEMORY)),
    (Where::Yarn, "mapred.job.map.memory.mb", Carried(CONTAINER_MEMORY)),
    (Where::Yarn, "vcores", Carried(CONTAINER_CORES)),
    (Where::Yarn, "yarn.app.mapreduce.am.resource.cpu-vcores", Carried(CONTAINER_CORES)),
    (Where::Yarn, "mapreduce.map.cpu.vcores", Carried(CONTAINER_CORES)),
    (Where::Yarn, "queue", Carried(CONTAINER_QUEUE)),
    (Where::Yarn, "mapreduce.job.queuename", Carried(CONTAINER_QUEUE)),
    (Where::Yarn, "mapred.job.queue.name", Carried(CONTAINER_QUEUE)),
    (Where::Yarn, "priority", Carried(CONTAINER_PRIORITY)),
    (Where::Yarn, "mapreduce.job.priority", Carried(CONTAINER_PRIORITY)),
    (Where::Yarn, "mapred.job.priority", Carried(CONTAINER_PRIORITY)),
    (Where::Yarn, "override", Carried(OVERRIDE)),
    (Where::Yarn, "mapreduce.job.hdfs-servers", Carried(TOKENS)),
    (Where::Kubernetes, "memory.mb", Carried(POD_MEMORY)),
    (Where::Kubernetes, "yarn.app.mapreduce.am.resource.mb", Carried(POD_MEMORY)),
    (Where::Kubernetes, "mapreduce.map.memory.mb", Carried(POD_MEMORY)),
    (Where::Kubernetes, "mapred.job.map.memory.mb", Carried(POD_MEMORY)),
    (Where::Kubernetes, "vcores", Carried(POD_CORES)),
    (Where::Kubernetes, "yarn.app.mapreduce.am.resource.cpu-vcores", Carried(POD_CORES)),
    (Where::Kubernetes, "mapreduce.map.cpu.vcores", Carried(POD_CORES)),
    (
        Where::Kubernetes,
        "queue",
        Carried("counts towards the limits of queues (`[launchers]`); a pod has none"),
    ),
    (Where::Kubernetes, "priority", Without("a pod has no such priority")),
    (Where::Kubernetes, "override", Carried(OVERRIDE)),
    (Where::Livy, "java-opts", Without(LIVY)),
    (Where::Livy, "javaopts", Without(LIVY)),
    (Where::Livy, "env", Without(LIVY)),
    (Where::Livy, "yarn.app.mapreduce.am.env", Without(LIVY)),
    (Where::Livy, "mapreduce.map.env", Without(LIVY)),
    (Where::Livy, "mapred.child.env", Without(LIVY)),
];

/// Properties `oozie.launcher.*` that set the same: the server's own name, then those of map-reduce, which a launcher
/// adopts. The first one that is set counts. (`reference` of the language, 5.3.)
pub(crate) const MEMORY: [&str; 4] = [
    "memory.mb",
    "yarn.app.mapreduce.am.resource.mb",
    "mapreduce.map.memory.mb",
    "mapred.job.map.memory.mb",
];
pub(crate) const VCORES: [&str; 3] =
    ["vcores", "yarn.app.mapreduce.am.resource.cpu-vcores", "mapreduce.map.cpu.vcores"];
pub(crate) const QUEUE: [&str; 3] = ["queue", "mapreduce.job.queuename", "mapred.job.queue.name"];
pub(crate) const PRIORITY: [&str; 3] =
    ["priority", "mapreduce.job.priority", "mapred.job.priority"];
/// The property with further clusters whose tokens an action needs.
pub(crate) const HDFS_SERVERS: &str = "oozie.launcher.mapreduce.job.hdfs-servers";
const OPTIONS: [&str; 4] = [
    "javaopts",
    "yarn.app.mapreduce.am.command-opts",
    "mapreduce.map.java.opts",
    "mapred.child.java.opts",
];
const VARIABLES: [&str; 4] =
    ["env", "yarn.app.mapreduce.am.env", "mapreduce.map.env", "mapred.child.env"];
const SAME: [&[&str]; 6] = [&MEMORY, &VCORES, &QUEUE, &PRIORITY, &OPTIONS, &VARIABLES];

/// Why settings of Hive have no effect in an action whose queries another server runs.
const OF_BEELINE: &str = "like a server, ankus passes only `oozie.*` on to `beeline`; write `set NAME=VALUE;` in the script";
/// Why the others have no effect.
const LATER: &str = "another property is set that counts instead of it";
const OWN_OPTIONS: &str = "the action has options of its own";

/// What becomes of elements of spark actions that are given to Livy.
const OF_LIVY: &[(&str, Effect)] = &[
    ("master", Without("the settings of Livy determine where Spark runs (`livy.spark.master`)")),
    (
        "mode",
        Without("the settings of Livy determine where the driver runs (`livy.spark.deploy-mode`)"),
    ),
    ("name", Carried("the beginning of the batch's name")),
    ("class", Carried("`className`")),
    ("jar", Carried("`file`: copied to `staging` if it is a file of the application")),
    ("arg", Carried("one of `args`")),
    (
        "spark-opts",
        Carried("fields of the batch, and `conf`; an option that has neither is refused"),
    ),
    ("file", Carried("copied to `staging`: one of `files`, `pyFiles` or `jars`")),
    ("archive", Carried("copied to `staging`: one of `archives`")),
    ("configuration", Carried("`conf`")),
    ("job-xml", Carried("merged into the configuration")),
];

/// The properties of actions that a server itself reads. Others are the tool's.
pub const PROPERTIES: &[Row] = &[
    of(&["java"], "oozie.launcher.action.main.class", Carried("the class that `java` runs")),
    all(
        "oozie.launcher.action.main.class",
        Without("the program of the type is run, not Oozie's main class"),
    ),
    of(
        &["java"],
        "oozie.launcher.javaopts",
        Carried("options of `java`, unless the action has its own"),
    ),
    of(CLIENTS, "oozie.launcher.javaopts", Carried("`HADOOP_CLIENT_OPTS`")),
    of(&["pig"], "oozie.launcher.javaopts", Carried("`PIG_OPTS`")),
    of(&["spark"], "oozie.launcher.javaopts", Carried("`SPARK_SUBMIT_OPTS`")),
    all("oozie.launcher.javaopts", Without("the program is not run by a Java launcher")),
    of(
        &["java"],
        "oozie.launcher.yarn.app.mapreduce.am.command-opts",
        Carried("options of `java`, if nothing else has any"),
    ),
    of(
        &["java"],
        "oozie.launcher.mapreduce.map.java.opts",
        Carried("options of `java`, if nothing else has any"),
    ),
    of(
        &["java"],
        "oozie.launcher.mapred.child.java.opts",
        Carried("options of `java`, if nothing else has any"),
    ),
    all("oozie.launcher.env", Carried("variables of the program")),
    all("oozie.launcher.yarn.app.mapreduce.am.env", Carried("variables of the program")),
    all("oozie.launcher.mapreduce.map.env", Carried("variables of the program")),
    all("oozie.launcher.mapred.child.env", Carried("variables of the program")),
    all("oozie.launcher.queue", Carried("counts towards the limits of queues (`[launchers]`)")),
    all(
        "oozie.launcher.mapreduce.job.queuename",
        Carried("counts towards the limits of queues (`[launchers]`)"),
    ),
    all(
        "oozie.launcher.mapred.job.queue.name",
        Carried("counts towards the limits of queues (`[launchers]`)"),
    ),
    all(
        "oozie.launcher.sharelib",
        Carried("selects the part of the share library that is provided, if there is one"),
    ),
    all("oozie.launcher.override", Without("there is no launcher job to be configured")),
    all("oozie.launcher.memory.mb", Without(NO_LAUNCHER)),
    all("oozie.launcher.vcores", Without(NO_LAUNCHER)),
    all("oozie.launcher.priority", Without(NO_LAUNCHER)),
    all("oozie.launcher.view.acl", Without(NO_ACL)),
    all("oozie.launcher.modify.acl", Without(NO_ACL)),
    all("oozie.launcher.user.name", Carried(DISALLOWED)),
    all("oozie.launcher.mapreduce.job.user.name", Carried(DISALLOWED)),
    all("oozie.launcher.fs.default.name", Carried(DISALLOWED)),
    all("oozie.launcher.fs.defaultFS", Carried(DISALLOWED)),
    all("oozie.launcher.yarn.resourcemanager.address", Carried(DISALLOWED)),
    all("oozie.launcher.*", Without("a setting of the launcher job, which does not exist here")),
    all(
        "oozie.action.sharelib.for.*",
        Carried("selects the part of the share library that is provided, if there is one"),
    ),
    all("oozie.action.max.output.data", Carried("the maximum size of captured output, in bytes")),
    of(
        &["map-reduce"],
        "oozie.action.external.stats.write",
        Carried("the counters are always the action's statistics"),
    ),
    all(
        "oozie.action.external.stats.write",
        Without("only the counters of map-reduce jobs are read"),
    ),
    of(&["java"], "oozie.action.null.args.allowed", Carried("`false` omits empty arguments")),
    of(
        &["shell"],
        "oozie.action.shell.setup.hadoop.conf.dir",
        Carried("files of the configuration, to which `HADOOP_CONF_DIR` points"),
    ),
    of(
        &["shell"],
        "oozie.action.shell.setup.hadoop.conf.dir.*",
        Without("no `log4j.properties` is written into that folder"),
    ),
    of(
        &["shell"],
        "oozie.action.shell.max-print-size-kb",
        Without("scripts are not printed into the log"),
    ),
    of(
        &["sqoop"],
        "oozie.action.sqoop.shellsplitter",
        Carried("`true` splits `<command>` as a shell does"),
    ),
    of(&["map-reduce"], UBER_JAR, Carried("the jar of the job")),
    of(
        &["map-reduce"],
        UBER_JAR_OF_CLIENTS,
        Without("jobs of streaming and pipes have a jar of their own, as on a server"),
    ),
    of(
        &["distcp"],
        HDFS_SERVERS,
        Without("no tokens are fetched: the program authenticates as this machine does"),
    ),
    of(
        &["spark"],
        "oozie.action.spark.setup.hadoop.conf.dir",
        Carried("the configuration is always passed as `--conf`"),
    ),
    of(
        &["hive"],
        "oozie.hive.defaults",
        Without("servers no longer read it; name the file in a `<job-xml>`"),
    ),
    of(&["hive2"], "hive.*", Without(OF_BEELINE)),
    of(&["hive2"], "tez.*", Without(OF_BEELINE)),
    all("oozie.credentials.skip", Carried("`true` switches credentials off")),
    all("oozie.use.system.libpath", Carried("`true` provides the share library, if there is one")),
];

/// The properties of a job that a server itself reads and that have no effect here.
pub const OF_JOBS: &[(&str, &str)] = &[
    ("oozie.job.acl", "anyone who can read the store can do everything with its jobs"),
    ("group.name", "anyone who can read the store can do everything with its jobs"),
];

/// Returns what becomes of an element of an action of this type; none if no schema has it.
pub fn element(kind: &str, name: &str, at: Where) -> Option<Effect> {
    if let Some(effect) = name.strip_prefix("launcher/").and_then(|name| of_place(name, at)) {
        return Some(effect);
    }
    if at == Where::Livy
        && let Some((_, effect)) = OF_LIVY.iter().find(|(known, _)| *known == name)
    {
        return Some(*effect);
    }
    find(ELEMENTS, kind, name)
}

/// Returns what becomes of a property of an action; none if only the tool reads it.
pub fn property(kind: &str, name: &str, at: Where) -> Option<Effect> {
    let of_place = name.strip_prefix("oozie.launcher.").and_then(|name| of_place(name, at));
    of_place.or_else(|| find(PROPERTIES, kind, name))
}

fn of_place(name: &str, at: Where) -> Option<Effect> {
    OF_PLACES.iter().find(|(of, known, _)| *of == at && *known == name).map(|row| row.2)
}

/// Finds the row for a name. A row for the type takes precedence over one for all types, and a full name over a prefix.
fn find(rows: &[Row], kind: &str, name: &str) -> Option<Effect> {
    let fitting = || rows.iter().filter(|row| row.covers(kind) && row.names(name));
    let is_whole = |row: &&Row| row.name == name;
    let own = fitting().find(|row| row.is_own(kind) && is_whole(row));
    let row = own.or_else(|| fitting().find(is_whole));
    let row = row.or_else(|| fitting().find(|row| row.is_own(kind)));
    row.or_else(|| fitting().next()).map(|row| row.effect)
}

/// A part of an action that has no effect, or for which the action is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unheeded {
    /// The element or the property.
    pub what: String,
    /// The reason.
    pub why: &'static str,
    /// Whether the action is refused.
    pub is_refused: bool,
}

/// Returns what [`unheeded`] does for the text of an element, whose expressions are not evaluated. Returns nothing if
/// it cannot be parsed.
pub fn unheeded_of<'a>(
    text: &str,
    at: Where,
    properties: impl IntoIterator<Item = &'a str>,
) -> Vec<Unheeded> {
    match roxmltree::Document::parse(text) {
        Ok(document) => unheeded(document.root_element(), at, properties),
        Err(_) => Vec::new(),
    }
}

/// Returns the texts of the children with this name, such as `job-xml` or `app-path`, with their expressions.
pub fn texts(element: &str, name: &str) -> Vec<String> {
    let Ok(document) = roxmltree::Document::parse(element) else { return Vec::new() };
    let children = document.root_element().children();
    let named = children.filter(|child| child.tag_name().name() == name);
    named.filter_map(|child| Some(child.text()?.trim().to_owned())).collect()
}

/// Returns the paths that ankus itself accesses for an action, with their expressions: those that it creates, deletes,
/// moves, reads and copies. Paths that are passed to a tool are accessed by the tool.
pub fn paths(text: &str) -> Vec<String> {
    let Ok(document) = roxmltree::Document::parse(text) else { return Vec::new() };
    let action = document.root_element();
    let mut found = Vec::new();
    for element in action.descendants().filter(Node::is_element) {
        let attributes = ["path", "source", "target"];
        found.extend(attributes.iter().filter_map(|name| element.attribute(*name)));
        if element.parent() == Some(action) && PATHS.contains(&element.tag_name().name()) {
            found.extend(element.text().unwrap_or_default().split(','));
        }
    }
    found.into_iter().map(|path| path.trim().to_owned()).collect()
}

/// Returns the parts of an action that have no effect. The names of its properties are passed separately from its
/// element, because they have many sources.
pub fn unheeded<'a>(
    action: Node<'_, '_>,
    at: Where,
    properties: impl IntoIterator<Item = &'a str>,
) -> Vec<Unheeded> {
    let kind = action.tag_name().name();
    let mut found: Vec<Unheeded> = Vec::new();
    let mut add = |what: String, effect: Option<Effect>| {
        let (why, is_refused) = match effect {
            Some(Without(why)) => (why, false),
            Some(Refused(why)) => (why, true),
            Some(Carried(_)) | None => return,
        };
        if !found.iter().any(|known| known.what == what) {
            found.push(Unheeded { what, why, is_refused });
        }
    };
    let mut said = Vec::new();
    let has_client =
        action.children().any(|it| matches!(it.tag_name().name(), "streaming" | "pipes"));
    for child in action.children().filter(Node::is_element) {
        let name = child.tag_name().name();
        let path = if name == "config-class" && has_client { CLASS_OF_CLIENTS } else { name };
        add(format!("<{name}>"), element(kind, path, at));
        let names_nothing = |text: &str| text.split(',').all(|path| path.trim().is_empty());
        if matches!(name, "file" | "archive") && names_nothing(child.text().unwrap_or_default()) {
            add(format!("an empty <{name}>"), Some(Without("it names nothing")));
        }
        for below in child.children().filter(Node::is_element) {
            let below = below.tag_name().name();
            add(format!("<{name}>: {below}"), element(kind, &format!("{name}/{below}"), at));
            if name == "launcher" {
                said.push(below.replace("-acl", ".acl").replace("java-opts", "javaopts"));
            }
        }
    }
    let properties: Vec<&str> = properties.into_iter().collect();
    let launcher = |name: &'a str| name.strip_prefix("oozie.launcher.");
    let is_set = |name: &str| {
        said.iter().any(|said| said == name)
            || properties.iter().any(|known| launcher(known) == Some(name))
    };
    let has_options = matches!(kind, "java" | "distcp")
        && action.children().any(|it| matches!(it.tag_name().name(), "java-opts" | "java-opt"));
    for names in SAME {
        let counts = names.iter().position(|name| is_set(name)).unwrap_or(names.len());
        let (skipped, why) = match has_options && names == OPTIONS {
            true => (0, OWN_OPTIONS),
            false => (counts + 1, LATER),
        };
        for name in names.iter().skip(skipped).filter(|name| is_set(name)) {
            let whole = format!("oozie.launcher.{name}");
            if matches!(property(kind, &whole, at), Some(Carried(_))) {
                add(whole, Some(Without(why)));
            }
        }
    }
    for name in properties {
        // The settings of the `<launcher>` element are properties as well.
        let is_said = |own: &str| said.iter().any(|said| said == own);
        if !name.strip_prefix("oozie.launcher.").is_some_and(is_said) {
            let row = if name == UBER_JAR && has_client { UBER_JAR_OF_CLIENTS } else { name };
            add(name.to_owned(), property(kind, row, at));
        }
    }
    found
}

/// Returns the page of the manual.
pub fn page() -> String {
    let mut out = String::from(
        "# What becomes of every element of an action\n\n\
         <!-- Generated from `runtime/engine/src/actions/carried.rs`: `cargo xtask gen`. -->\n\n\
         This page lists each element, and each property that an Oozie server itself reads, with what ankus does with it when \
         the program of the action runs on this machine. Properties that are not listed are passed to the tool with the rest of the \
         configuration. Commands and arguments are described in [Actions](actions.md).\n\n\
         Elements and properties without effect are listed by `ankus doctor APP` and `ankus run --dry-run`, and at the start of the action's \
         `stderr`.\n",
    );
    for kind in &ACTION_TYPES {
        let _ = write!(out, "\n## {}\n\n| element | what happens |\n| --- | --- |\n", kind.name);
        rows(ELEMENTS, kind.name, &mut out);
        let mut properties = String::new();
        rows(PROPERTIES, kind.name, &mut properties);
        if !properties.is_empty() {
            let _ = write!(out, "\n| property | what happens |\n| --- | --- |\n{properties}");
        }
    }
    out.push_str(
        "\n## At other places\n\n\
         Programs that [launchers](actions.md#where-a-program-runs) start elsewhere get all of the above, except for these.\n\n\
         | `<launcher>` | ssh | yarn | kubernetes | livy |\n| --- | --- | --- | --- | --- |\n",
    );
    for name in
        ["memory.mb", "vcores", "queue", "priority", "java-opts", "env", "view-acl", "modify-acl"]
    {
        let _ = write!(out, "| `{name}` |");
        for at in &Where::ALL[1..] {
            let effect = element("spark", &format!("launcher/{name}"), *at);
            let _ = write!(out, " {} |", effect.map(told).unwrap_or_default());
        }
        out.push('\n');
    }
    let elements = ["memory.mb", "vcores", "queue", "priority", "java-opts", "env"];
    let mut names: Vec<&str> = OF_PLACES.iter().map(|row| row.1).collect();
    let mut seen: std::collections::BTreeSet<&str> = elements.into();
    names.retain(|name| seen.insert(name));
    out.push_str(
        "\n| property | ssh | yarn | kubernetes | livy |\n| --- | --- | --- | --- | --- |\n",
    );
    for name in names {
        let property_name = format!("oozie.launcher.{name}");
        let _ = write!(out, "| `{property_name}` |");
        for at in &Where::ALL[1..] {
            let effect = property("spark", &property_name, *at);
            let _ = write!(out, " {} |", effect.map(told).unwrap_or_default());
        }
        out.push('\n');
    }
    out.push_str("\n| spark with `livy` | what happens |\n| --- | --- |\n");
    for (name, effect) in OF_LIVY {
        let _ = writeln!(out, "| `{name}` | {} |", told(*effect));
    }
    out.push_str("\n## Jobs\n\n| property | what happens |\n| --- | --- |\n");
    for (name, why) in OF_JOBS {
        let _ = writeln!(out, "| `{name}` | no effect: {why} |");
    }
    out
}

fn rows(rows: &[Row], kind: &str, out: &mut String) {
    let mut names: Vec<&str> =
        rows.iter().filter(|row| row.covers(kind)).map(|row| row.name).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    for name in names {
        if let Some(effect) = find(rows, kind, name) {
            let _ = writeln!(out, "| `{name}` | {} |", told(effect));
        }
    }
}

fn told(effect: Effect) -> String {
    match effect {
        Carried(how) => how.to_owned(),
        Without(why) => format!("no effect: {why}"),
        Refused(why) => format!("refused: {why}"),
    }
}
