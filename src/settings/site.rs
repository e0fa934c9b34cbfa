//! The site's configuration: `oozie-site.xml` as data.
//!
//! Parses the file into its properties. One table says for each known property what happens to it here: it is honored,
//! or it has no effect, and why. The table is also the page of the manual (`docs/site.md`). Which settings of
//! `ankus.toml` a property corresponds to is decided in [`Settings::apply_site`](super::Settings::apply_site).

use super::{Settings, SiteFunction};
use ankus_lang::configuration::{read_xml, substitute};
use ankus_lang::el::Phase;
use ankus_lang::time::ProcessingZone;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What a property of the site does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is honored; describes the effect.
    Honored(&'static str),
    /// It is recognized, but needs another declaration to have an effect; names that.
    Declare(&'static str),
    /// It has no effect; gives the reason.
    Without(&'static str),
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Text,
    /// An integer.
    Number,
    /// A decimal number.
    Fraction,
    /// `true` or `false`; with any other value a server uses the default.
    Boolean,
    /// `UTC`, or an offset like `GMT+0530`.
    Zone,
}

/// A server property.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// Its name; with `*` at the end, every name with this prefix.
    pub name: &'static str,
    /// What it does here.
    pub effect: Effect,
    value: Value,
    /// Its default as shipped, for the manual; empty if there is none or it does not matter here.
    usual: &'static str,
}

impl Property {
    /// Whether this entry applies to a property name.
    fn covers(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == self.name,
        }
    }

    /// Whether it is honored.
    pub fn is_honored(&self) -> bool {
        matches!(self.effect, Effect::Honored(_))
    }
}

const fn honored(
    name: &'static str,
    value: Value,
    usual: &'static str,
    what: &'static str,
) -> Property {
    Property { name, effect: Effect::Honored(what), value, usual }
}

const fn declare(name: &'static str, what: &'static str) -> Property {
    let effect = Effect::Declare(what);
    Property { name, effect, value: Value::Text, usual: "" }
}

const fn without(name: &'static str, why: &'static str) -> Property {
    let effect = Effect::Without(why);
    Property { name, effect, value: Value::Text, usual: "" }
}

/// Names of properties that are used elsewhere as well.
pub mod names {
    /// Location of the share library.
    pub const SHARE_LIB: &str = "oozie.service.WorkflowAppService.system.libpath";
    /// The processing time zone of the server.
    pub const ZONE: &str = "oozie.processing.timezone";
    /// Whether forks and joins are validated.
    pub const VALIDATE_FORK_JOIN: &str = "oozie.validate.ForkJoin";
    /// Maximum length of a definition.
    pub const LENGTH: &str = "oozie.service.WorkflowAppService.WorkflowDefinitionMaxLength";
    /// Supported file system schemes.
    pub const SCHEMES: &str = "oozie.service.HadoopAccessorService.supported.filesystems";
    /// Maximum number of user retries that an action may ask for.
    pub const RETRY_MAX: &str = "oozie.service.LiteWorkflowStoreService.user.retry.max";
    /// Default name node of actions.
    pub const NAME_NODE: &str = "oozie.actions.default.name-node";
    /// Default job tracker of actions.
    pub const JOB_TRACKER: &str = "oozie.actions.default.job-tracker";
    /// Default resource manager of actions.
    pub const RESOURCE_MANAGER: &str = "oozie.actions.default.resource-manager";
    /// Folders with default configurations of actions.
    pub const ACTION_DEFAULTS: &str = "oozie.service.HadoopAccessorService.action.configurations";
    /// Password of the mail server.
    pub const MAIL_PASSWORD: &str = "oozie.email.smtp.password";
    /// Prefix of the properties that declare functions of the site.
    pub const FUNCTIONS: &str = "oozie.service.ELService.ext.functions.";
    /// Default time-out of coordinator actions.
    pub const TIMEOUT: &str = "oozie.service.coord.normal.default.timeout";
    /// Maximum time-out.
    pub const TIMEOUT_MAX: &str = "oozie.service.coord.default.max.timeout";
    /// Default number of coordinator actions that run at once.
    pub const CONCURRENCY: &str = "oozie.service.coord.default.concurrency";
    /// Default number of coordinator actions that wait at once.
    pub const THROTTLE: &str = "oozie.service.coord.default.throttle";
    /// The fraction of the queue that the waiting actions of one coordinator may take.
    pub const THROTTLING: &str = "oozie.service.coord.materialization.throttling.factor";
    /// Size of the server's command queue.
    pub const QUEUE: &str = "oozie.service.CallableQueueService.queue.size";
    /// Prefix of the properties of proxy users.
    pub const PROXY_USER: &str = "oozie.service.ProxyUserService.proxyuser.";
    /// Whether frequencies below five minutes are refused.
    pub const FREQUENCY: &str = "oozie.service.coord.check.maximum.frequency";
}

use Value::{Boolean, Fraction, Number, Text, Zone};

const OWN_STORE: &str = "jobs are kept in the store of ankus, not in a database server";
const OWN_SECURITY: &str = "`ankus serve` has options for this: `--auth` for who may sign in, `--accounts` for what they may do";
const OWN_EXECUTOR: &str =
    "ankus has its own executor, which continues interrupted work at once after a stop or a crash";
const OWN_PACE: &str = "ankus does not wait for intervals: work is done when it is due";
const NO_EVENTS: &str = "no messages are published; use notification URLs";
const OWN_WEB: &str = "`ankus serve` has options for this: `--listen`, `--host` and `--tls`";
const OWN_PROCESS: &str = "this is a setting of the server's own process";
const NO_LAUNCHER: &str = "actions start the tool itself, without a launcher in the cluster";
const MEASURES: &str =
    "ankus has its own metrics: `admin/metrics` and `admin/prometheus` of `ankus serve`";

/// Every known property, in the order of the manual; the first entry that matches a name applies.
#[rustfmt::skip]
pub static PROPERTIES: &[Property] = &[
    // Validation.
    honored(names::ZONE, Zone, "UTC", "the time zone of dates in coordinators and bundles; `[server] timezone` takes precedence"),
    honored(names::VALIDATE_FORK_JOIN, Boolean, "true", "with `false`, a submission does not check forks and joins; ankus still reports faults that occur at run time"),
    honored(names::LENGTH, Number, "100000", "the longest workflow definition, in bytes (E0736); `[server] definition-limit` takes precedence"),
    honored(names::SCHEMES, Text, "hdfs,hftp,webhdfs", "the file systems that applications, actions, data and `fs:` functions may use (E0904), and those that `[hosts]` names; `[server] filesystems` takes precedence. Without an `oozie-site.xml`, a run may use all"),
    honored(names::NAME_NODE, Text, "", "the name node of actions that name none; `[server] name-node` takes precedence"),
    honored(names::JOB_TRACKER, Text, "", "the job tracker of actions that name none; `[server] job-tracker` takes precedence"),
    honored(names::RESOURCE_MANAGER, Text, "", "the resource manager of actions that name none, before the job tracker; `[server] resource-manager` takes precedence"),
    honored("oozie.service.ELService.ext.functions.*", Text, "", "the functions of the site, by group: their names are known to checks. A call fails in a run unless `[[el.functions]]` declares the function with a `value` or a `command`, or a scenario stubs it"),
    declare("oozie.service.ELService.ext.constants.*", "constants of the site are values of Java classes, which ankus cannot read: list the names under `[server] variables`"),
    declare("oozie.service.ELService.functions.*", "the functions of a server as shipped are built in; those of the site belong in `ext.functions`"),
    without("oozie.service.ELService.latest-el.use-current-time", "`coord:latest` and `coord:future` count from the time at which the action was created, as shipped"),
    without("oozie.service.ELService.*", "the groups of functions are those of the server as shipped"),
    declare("oozie.service.ActionService.executor.ext.classes", "classes of Java cannot be loaded here: declare each action type of the site with `[[actions.types]]`"),
    without("oozie.service.ActionService.executor.classes", "the action types of the server as shipped are built in"),
    declare("oozie.service.SchemaService.wf.ext.schemas", "the schemas are on the server's class path: declare each action type with `[[actions.types]]`, and its schema with `xsd`"),
    declare("oozie.service.WorkflowSchemaService.ext.schemas", "the schemas are on the server's class path: declare each action type with `[[actions.types]]`, and its schema with `xsd`"),
    without("oozie.service.SchemaService.*", "the schemas of the server as shipped are built in, by `target`"),
    without("oozie.service.WorkflowSchemaService.*", "the schemas of the server as shipped are built in, by `target`"),

    // Retries.
    honored("oozie.action.retries.max", Number, "3", "how often an action is retried automatically; `oozie.wf.action.max.retries` of a job takes precedence"),
    honored("oozie.action.retry.interval", Number, "10", "seconds between automatic retries, 60 if it is not positive; `oozie.wf.action.retry.interval` of a job takes precedence"),
    honored("oozie.action.retry.policy", Text, "periodic", "`periodic` or `exponential`"),
    honored(names::RETRY_MAX, Number, "3", "the maximum of `retry-max`; `[server] retry-max` takes precedence"),
    honored("oozie.service.LiteWorkflowStoreService.user.retry.default", Number, "0", "`retry-max` of actions without one"),
    honored("oozie.service.LiteWorkflowStoreService.user.retry.inteval", Number, "10", "`retry-interval` of actions without one, in minutes; this is the server's spelling"),
    honored("oozie.service.LiteWorkflowStoreService.user.retry.policy", Text, "periodic", "`retry-policy` of actions without one"),
    honored("oozie.service.LiteWorkflowStoreService.user.retry.error.code", Text, "JA008,JA009,JA017,JA018,JA019,FS009,FS008,FS014", "the error codes that `retry-max` applies to; `ALL` for all"),
    honored("oozie.service.LiteWorkflowStoreService.user.retry.error.code.ext", Text, "", "additional error codes"),
    without("oozie.service.LiteWorkflowStoreService.user.retry.interval", "no server reads it: the name is `…user.retry.inteval`"),
    without("oozie.service.LiteWorkflowStoreService.node.def.version", "plans have their own format"),

    // Actions.
    honored("oozie.action.max.output.data", Number, "2048", "the maximum size of captured output, in bytes (JA018); the same property of an action takes precedence"),
    honored("oozie.servlet.CallbackServlet.max.data.len", Number, "2048", "the maximum length of the captured output of ssh actions, in characters (ERR_UNKNOWN_ERROR)"),
    honored("oozie.action.fs.glob.max", Number, "50000", "the maximum number of files that a pattern of an `fs` action or of `<prepare>` may match (FS013)"),
    honored("oozie.action.subworkflow.max.depth", Number, "50", "how deep sub-workflows may be nested (SUBWF001)"),
    honored("oozie.email.smtp.host", Text, "localhost", "the mail server; without it, mail is kept in the store. `[mail]` replaces all mail settings of the site"),
    honored("oozie.email.smtp.port", Number, "25", "its port"),
    honored("oozie.email.from.address", Text, "oozie@localhost", "the sender of mail"),
    honored("oozie.email.smtp.auth", Boolean, "false", "with `true`, user name and password are sent, but only over TLS, unless `[mail] plain-password` is set"),
    honored("oozie.email.smtp.username", Text, "", "the user, with `oozie.email.smtp.auth`"),
    honored(names::MAIL_PASSWORD, Text, "", "the password; it is read from the file when a mail is sent, and is not stored"),
    honored("oozie.email.smtp.socket.timeout.ms", Number, "10000", "how long to wait for the mail server, in milliseconds"),
    honored("oozie.email.attachment.enabled", Boolean, "true", "with `false`, mail is sent without its attachments, and its text says so"),
    without("oozie.email.smtp.starttls.enable", "STARTTLS is used whenever the server offers it; `[mail] tls` requires it or turns it off"),
    without("oozie.email.smtp.ssl.protocols", "TLS 1.2 and 1.3 are used"),
    honored(names::ACTION_DEFAULTS, Text, "*=action-conf", "folders with defaults for the configuration of actions, by resource manager, `*` for all others: `default.xml` for all types, then `TYPE.xml` and `TYPE/*.xml`, below the action's own configuration. They are beside the file"),
    without("oozie.service.HadoopAccessorService.hadoop.configurations", "the client settings for clusters are those of `HADOOP_CONF_DIR`"),
    without("oozie.service.HadoopAccessorService.*", "clusters are those of `[hosts]`, with the client settings of `HADOOP_CONF_DIR`"),
    honored("oozie.subworkflow.classpath.inheritance", Boolean, "false", "with `true`, a sub-workflow has the `lib/` of its parents as well; `oozie.wf.subworkflow.classpath.inheritance` of a job takes precedence"),
    without("oozie.wf.subworkflow.classpath.inheritance", "this is a property of jobs; that of a server is `oozie.subworkflow.classpath.inheritance`"),
    without("oozie.action.ssh.allow.user.at.host", "a user before `@` is always allowed; `ssh` itself decides who may sign in"),
    without("oozie.action.ssh.*", "the command of an `ssh` action runs under the client here, and ends with it"),
    without("oozie.action.shell.*", "shell actions run here, in the environment of the submission"),
    without("oozie.action.launcher.*", NO_LAUNCHER),
    honored("oozie.action.mapreduce.uber.jar.enable", Boolean, "false", "with `false`, an action with `oozie.mapreduce.uber.jar` ends with MR003; without this property uber jars are allowed"),
    honored("oozie.action.sharelib.for.*", Text, "", "the part of the share library for an action type, and with `.exclude` a pattern of files to leave out; the same property of an action or a job takes precedence"),
    honored(names::SHARE_LIB, Text, "", "the folder of the share library, whose newest `lib_TIMESTAMP` is used; without it tools use their own libraries. `[server] share-lib` takes precedence"),
    honored("oozie.use.system.libpath", Boolean, "false", "with `true`, actions have the share library; the same property of an action or a job takes precedence"),
    without("oozie.action.sharelib.*", "the share library is a folder: `oozie.service.WorkflowAppService.system.libpath`"),
    without("oozie.service.ShareLibService.*", "the share library is looked up when an action starts"),
    without("oozie.launcher.*", NO_LAUNCHER),
    honored("oozie.credentials.skip", Boolean, "false", "with `true`, no credentials are looked up; the same property of an action or a job takes precedence"),
    without("oozie.credentials.*", "programs use the credentials of the user who runs ankus"),
    without("oozie.external.stats.max.size", "statistics of actions are not limited"),
    without("oozie.action.*", "actions of this machine do not need it"),

    // Coordinators.
    honored(names::TIMEOUT, Number, "120", "minutes that an action of a coordinator without `<timeout>` waits for its data"),
    honored(names::TIMEOUT_MAX, Number, "86400", "the maximum number of minutes that it may wait"),
    honored(names::CONCURRENCY, Number, "1", "`<concurrency>` of coordinators without one"),
    honored(names::THROTTLE, Number, "12", "`<throttle>` of coordinators without one"),
    honored(names::THROTTLING, Fraction, "0.05", "the largest `<throttle>`, as a fraction of the queue size"),
    honored(names::QUEUE, Number, "10000", "the queue size, from which the largest `<throttle>` is computed"),
    honored(names::FREQUENCY, Boolean, "true", "with `false`, frequencies below five minutes are accepted"),
    honored("oozie.service.CoordMaterializeTriggerService.materialization.window", Number, "3600", "how far ahead one materialization creates actions, in seconds"),
    honored("oozie.service.CoordMaterializeTriggerService.lookup.interval", Number, "300", "how long before its time an action is created, in seconds"),
    honored("oozie.service.CoordMaterializeTriggerService.scheduling.interval", Number, "", "seconds between two passes that create actions of a coordinator, each of which catches up with part of a backlog; without it, a backlog is processed at once"),
    honored("oozie.coord.execution.none.tolerance", Number, "1", "minutes after which the execution order NONE skips an action"),
    honored("oozie.service.StatusTransitService.backward.support.for.states.without.error", Boolean, "true", "with `false`, the states RUNNINGWITHERROR, SUSPENDEDWITHERROR and PAUSEDWITHERROR are shown"),
    honored("oozie.service.StatusTransitService.statusTransit.interval", Number, "", "seconds between two passes over the state of a coordinator, which ends in the one after its last action; without it, it ends with that action"),
    honored("oozie.services.ext", Text, "", "with the SLA service in it, an SLA that expects something before its nominal time is refused; other services have no effect"),
    honored("oozie.sla.disable.alerts.older.than", Number, "48", "hours after which an action that is created late sends no SLA alerts; the same property of a job takes precedence"),
    honored("oozie.service.coord.input.check.requeue.interval", Number, "60000", "milliseconds between two checks for data in scenarios; a run notices new data by itself"),
    without("oozie.service.coord.*", OWN_PACE),
    without("oozie.service.CoordMaterializeTriggerService.*", OWN_PACE),
    without("oozie.service.StatusTransitService.*", OWN_PACE),
    without("oozie.service.PauseTransitService.*", OWN_PACE),
    without("oozie.service.AbandonedCoordCheckerService.*", "ankus does not search for abandoned coordinators"),
    without("oozie.sla.service.SLAService.alert.events", "an `<alert-events>` that is missing means END_MISS, as shipped"),
    without("oozie.sla.service.*", "an SLA is evaluated when an event affects it, without a limit on memory"),
    without("oozie.coord.actions.default.length", "`ankus job show` shows all actions unless `-len` says otherwise"),

    // Notifications.
    honored("oozie.notification.proxy", Text, "", "the proxy of notifications; `oozie.wf.workflow.notification.proxy` and `oozie.coord.action.notification.proxy` of a job take precedence"),
    honored("oozie.notification.url.connection.timeout", Number, "10000", "how long to wait for a listener, in milliseconds"),
    without("oozie.wf.workflow.notification.*", "this is a property of jobs"),
    without("oozie.wf.action.notification.*", "this is a property of jobs"),
    without("oozie.coord.action.notification.*", "this is a property of jobs"),

    // Keeping jobs.
    honored("oozie.service.PurgeService.older.than", Number, "30", "days that ended workflows are kept; without it, forever. `[store] keep` takes precedence"),
    honored("oozie.service.PurgeService.coord.older.than", Number, "7", "days that ended coordinators are kept; without it, forever"),
    honored("oozie.service.PurgeService.bundle.older.than", Number, "7", "days that ended bundles are kept; without it, forever"),
    honored("oozie.service.PurgeService.purge.old.coord.action", Boolean, "false", "with `true`, actions of running coordinators are purged with their workflows, when these are as old as `older.than`. `[store] keep` takes precedence"),
    without("oozie.service.PurgeService.*", "ankus purges when it starts to run a store, and then every hour; coordinators and bundles go with everything below them"),

    // Properties of jobs, not of a server.
    without("oozie.wf.rerun.failnodes", "this is a property of jobs: `ankus job rerun --failed`"),
    without("oozie.wf.*", "this is a property of jobs"),
    without("oozie.coord.*", "this is a property of jobs"),
    without("oozie.bundle.*", "this is a property of jobs"),
    without("oozie.libpath", "this is a property of jobs"),
    without("oozie.default.configuration.path", "this is a property of jobs"),
    without("oozie.suspend.on.nodes", "this is a property of jobs"),

    // Properties that matter only to a server.
    without("oozie.service.CallableQueueService.*", "`[launchers]` limits how many programs run at once; nothing else queues"),
    without("oozie.service.CallbackService.*", "programs are watched; there are no callbacks"),
    without("oozie.service.RecoveryService.*", OWN_EXECUTOR),
    without("oozie.service.ActionCheckerService.*", OWN_EXECUTOR),
    without("oozie.service.UUIDService.*", "ids end with `-ankus-W`, `-C` or `-B`, and count in each store"),
    without("oozie.system.id", "ids end with `-ankus-W`, `-C` or `-B`, and count in each store"),
    without("oozie.systemmode", "`ankus serve` starts in the mode NORMAL; `oozie admin -systemmode` changes it"),
    without("oozie.configuration.substitute.depth", "a value is resolved with at most 20 substitutions, as shipped"),
    without("oozie.configuration.*", OWN_PROCESS),
    without("oozie.service.JPAService.*", OWN_STORE),
    without("oozie.db.*", OWN_STORE),
    without("oozie.service.StoreService.*", OWN_STORE),
    without("oozie.service.DBLiteWorkflowStoreService.*", OWN_STORE),
    without("oozie.service.AuthorizationService.*", OWN_SECURITY),
    without("oozie.serviceAuthorizationService.*", OWN_SECURITY),
    honored("oozie.service.ProxyUserService.proxyuser.*", Text, "", "for `ankus serve`: the hosts from which (`.hosts`) and the groups for whose members (`.groups`) a user may act on behalf of others (`doAs`), `*` for all. Hosts are resolved when it starts; a proxy user of the accounts file takes precedence"),
    without("oozie.service.ProxyUserService.*", OWN_SECURITY),
    without("oozie.service.GroupsService.*", OWN_SECURITY),
    without("oozie.service.UserGroupInformationService.*", OWN_SECURITY),
    without("oozie.authentication.*", OWN_SECURITY),
    without("oozie.server.authentication.*", OWN_SECURITY),
    without("oozie.zookeeper.*", "one process runs a store"),
    without("oozie.service.ZKLocksService.*", "one process runs a store"),
    without("oozie.service.MemoryLocksService.*", "one process runs a store"),
    without("oozie.service.EventHandlerService.*", NO_EVENTS),
    without("oozie.service.JMS*", NO_EVENTS),
    without("oozie.jms.*", NO_EVENTS),
    without("oozie.service.HCatAccessorService.*", NO_EVENTS),
    without("oozie.service.URIHandlerService.*", "the schemes of data are built in"),
    without("oozie.service.PartitionDependencyManagerService.*", NO_EVENTS),
    without("oozie.service.XLogStreamingService.*", "logs are read from the store, with `ankus job log`"),
    without("oozie.service.XLogService.*", "logs are read from the store, with `ankus job log`"),
    without("oozie.service.InstrumentationService.*", MEASURES),
    without("oozie.service.MetricsInstrumentationService.*", MEASURES),
    without("oozie.instrumentation.*", MEASURES),
    without("oozie.external_monitoring.*", MEASURES),
    without("oozie.jmx_monitoring.*", MEASURES),
    without("oozie.service.JvmPauseMonitorService.*", MEASURES),
    without("oozie.service.SchedulerService.*", OWN_EXECUTOR),
    without("oozie.service.SparkConfigurationService.*", "`spark-submit` finds its own configuration, by `SPARK_CONF_DIR`"),
    without("oozie.service.*", "this service belongs to the server, and ankus has no counterpart"),
    without("oozie.services", "the services of a server are not loaded here"),
    without("oozie.base.url", OWN_WEB),
    without("oozie.http.*", OWN_WEB),
    without("oozie.https.*", OWN_WEB),
    without("oozie.jetty.*", OWN_PROCESS),
    without("oozie.servlet.*", OWN_PROCESS),
    without("oozie.filesystem.*", OWN_PROCESS),
    without("oozie.fluent-job-api.*", "workflows that a client generates are kept in the store"),
    without("oozie.test.*", "this is for the server's own tests"),
    without("hadoop.*", "client settings of Hadoop are those of `HADOOP_CONF_DIR`"),
    without("dfs.*", "client settings of Hadoop are those of `HADOOP_CONF_DIR`"),
    without("fs.*", "client settings of Hadoop are those of `HADOOP_CONF_DIR`"),
    without("local.realm", OWN_SECURITY),
];

/// The file systems that a server supports by default.
pub const FILE_SYSTEMS: [&str; 3] = ["hdfs", "hftp", "webhdfs"];

/// The entry of a property, if its name is known.
pub fn property(name: &str) -> Option<&'static Property> {
    PROPERTIES.iter().find(|property| property.covers(name))
}

/// The site's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The path of the file as displayed; empty if there is none.
    pub file: String,
    /// Its actual path, for files that are read again later.
    pub path: String,
    /// Its properties, trimmed and with references between them resolved.
    pub properties: BTreeMap<String, String>,
    /// The properties that settings in `ankus.toml` override.
    pub overridden: BTreeSet<String>,
    /// Default configurations of actions, set by the caller that reads files.
    pub action_defaults: Vec<ActionDefaults>,
}

/// Default configuration of actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionDefaults {
    /// The resource manager of those actions; `*` applies to all without defaults of their own.
    pub authority: String,
    /// Their action type; `default` for all.
    pub kind: String,
    /// Properties, in the order of the files.
    pub properties: Vec<(String, String)>,
}

impl Site {
    /// Parses a site's configuration.
    ///
    /// ```
    /// use ankus::settings::site::Site;
    ///
    /// let text = "<configuration><property><name>oozie.action.retries.max</name><value>7</value></property></configuration>";
    /// let site = Site::parse(text).expect("it is well formed");
    /// assert_eq!(site.number("oozie.action.retries.max"), Some(7));
    /// ```
    ///
    /// # Errors
    /// A sentence, if the text is not a configuration, or if an honored property has a value with which no server
    /// starts.
    pub fn parse(text: &str) -> Result<Site, String> {
        let raw: BTreeMap<String, String> = read_xml(text)?.into_iter().collect();
        let mut properties = BTreeMap::new();
        for (name, value) in &raw {
            let lookup = |name: &str| raw.get(name).map(|value| value.as_str().into());
            let value = substitute(value, lookup).map_err(|why| format!("`{name}`: {why}"))?;
            let value = value.trim();
            let Some(known) = property(name).filter(|known| known.is_honored()) else {
                properties.insert(name.clone(), value.to_owned());
                continue;
            };
            // An empty list differs from a missing one.
            if value.is_empty() && !name.starts_with(names::PROXY_USER) {
                continue;
            }
            let wanted = match known.value {
                Value::Number => value.parse::<i64>().is_err().then_some("a number"),
                Value::Fraction => {
                    let fits = value.parse::<f64>().is_ok_and(f64::is_finite);
                    (!fits).then_some("a number")
                }
                Value::Zone => ProcessingZone::from_id(value)
                    .is_none()
                    .then_some("`UTC` or an offset as `GMT+0530`"),
                Value::Text | Value::Boolean => None,
            };
            if let Some(wanted) = wanted {
                return Err(format!("`{name}` has the value `{value}`, but must be {wanted}"));
            }
            properties.insert(name.clone(), value.to_owned());
        }
        Ok(Site { properties, ..Site::default() })
    }

    /// Whether there is no site configuration.
    pub fn is_empty(&self) -> bool {
        self.file.is_empty() && self.properties.is_empty()
    }

    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// The value of a numeric property.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    /// The value of a boolean property; `None` for anything but `true` and `false`.
    pub fn is(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?;
        let words = [("true", true), ("false", false)];
        words.into_iter().find(|(word, _)| value.eq_ignore_ascii_case(word)).map(|(_, is_so)| is_so)
    }

    /// The folders with default configurations of actions, by resource manager; also whether the configuration lists
    /// any.
    pub fn action_folders(&self) -> (Vec<(&str, &str)>, bool) {
        match self.get(names::ACTION_DEFAULTS) {
            Some(listed) => {
                let pairs = listed.split(',').filter_map(|entry| entry.split_once('='));
                (pairs.map(|(manager, folder)| (manager.trim(), folder.trim())).collect(), true)
            }
            None => (vec![("*", "action-conf")], false),
        }
    }

    /// The properties that a job keeps: those that are honored, without the password. A job needs to know nothing
    /// about a database, a web server and its users, or a cluster.
    pub fn kept(&self) -> Site {
        let is_of_server =
            |name: &str| name == names::MAIL_PASSWORD || name.starts_with(names::PROXY_USER);
        let is_kept =
            |name: &str| !is_of_server(name) && property(name).is_some_and(Property::is_honored);
        let kept = self.properties.iter().filter(|(name, _)| is_kept(name));
        Site {
            properties: kept.map(|(name, value)| (name.clone(), value.clone())).collect(),
            overridden: BTreeSet::new(),
            action_defaults: Vec::new(),
            ..self.clone()
        }
    }

    /// Number of its properties that have no effect here.
    pub fn idle(&self) -> usize {
        let is_idle = |name: &String| !property(name).is_some_and(Property::is_honored);
        self.properties.keys().filter(|name| is_idle(name)).count()
    }

    /// The maximum throttle of a coordinator.
    pub fn most_throttle(&self) -> Option<i64> {
        let factor = self.get(names::THROTTLING).and_then(|text| text.parse::<f64>().ok());
        let queue = self.number(names::QUEUE);
        if factor.is_none() && queue.is_none() {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the server cuts off, too")]
        #[expect(clippy::cast_precision_loss, reason = "a queue is not that long")]
        Some((queue.unwrap_or(10_000) as f64 * factor.unwrap_or(0.05)) as i64)
    }

    /// The functions that it adds, by their groups. Only the names of Java classes are known, so any number of
    /// parameters may be right.
    pub fn functions(&self) -> Vec<SiteFunction> {
        let mut phases: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, value) in &self.properties {
            let Some(group) = name.strip_prefix(names::FUNCTIONS) else { continue };
            if Phase::from_name(group).is_none() {
                continue;
            }
            for entry in value.split(',') {
                let function = entry.split('=').next().unwrap_or_default().trim();
                if !function.is_empty() {
                    phases.entry(function).or_default().push(group.to_owned());
                }
            }
        }
        let mut functions = Vec::new();
        for (name, phases) in phases {
            functions.extend((0..=MOST_PARAMETERS).map(|count| SiteFunction {
                name: name.to_owned(),
                parameters: vec!["any".to_owned(); count],
                result: "any".to_owned(),
                phases: phases.clone(),
                value: None,
                command: Vec::new(),
                time: None,
                is_of_site: true,
            }));
        }
        functions
    }

    /// Its properties with what is known of each, sorted by name.
    pub fn told(&self) -> impl Iterator<Item = (&str, &str, Option<&'static Property>)> {
        self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str(), property(name)))
    }
}

/// Maximum number of parameters assumed for a function of which only the name is known.
const MOST_PARAMETERS: usize = 8;

impl Settings {
    /// Fills unset settings from the site's configuration. Mail and the retention of jobs concern only commands that
    /// act, as opposed to those that only read.
    pub fn apply_site(&mut self, acts: bool) {
        let mut site = std::mem::take(&mut self.server.site);
        let mut overridden = BTreeSet::new();
        let mut text = |own: &mut Option<String>, name: &str| match (&own, site.get(name)) {
            (None, Some(value)) => *own = Some(value.to_owned()),
            (Some(own), Some(value)) if own != value => {
                overridden.insert(name.to_owned());
            }
            _ => {}
        };
        let server = &mut self.server;
        text(&mut server.name_node, names::NAME_NODE);
        text(&mut server.job_tracker, names::JOB_TRACKER);
        text(&mut server.resource_manager, names::RESOURCE_MANAGER);
        // If the settings name a mail host, the site's are ignored entirely: user and password belong to a host.
        let mail = &mut self.mail;
        let is_own_mail = mail.host.is_some();
        if is_own_mail {
            let of_mail =
                site.properties.keys().filter(|name| name.starts_with("oozie.email.smtp."));
            overridden.extend(of_mail.filter(|name| !name.ends_with(".timeout.ms")).cloned());
        } else if acts {
            mail.host = site.get("oozie.email.smtp.host").map(str::to_owned);
            let port = site.number("oozie.email.smtp.port");
            mail.port = mail.port.or(port.and_then(|port| u16::try_from(port).ok()));
            if site.is("oozie.email.smtp.auth") == Some(true) && mail.user.is_none() {
                mail.user = site.get("oozie.email.smtp.username").map(str::to_owned);
                mail.password_site =
                    mail.user.is_some() && site.properties.contains_key(names::MAIL_PASSWORD);
            }
        }
        match (&mail.from, site.get("oozie.email.from.address")) {
            (None, Some(from)) if acts => mail.from = Some(from.to_owned()),
            (Some(own), Some(from)) if own != from => {
                overridden.insert("oozie.email.from.address".to_owned());
            }
            _ => {}
        }
        let positive = |name: &str| site.number(name).and_then(|number| u64::try_from(number).ok());
        let purges_actions =
            site.is("oozie.service.PurgeService.purge.old.coord.action") == Some(true);
        let keep = &mut self.keep;
        let days =
            |name: &str| positive(name).filter(|_| acts).map(|days| days.saturating_mul(86_400));
        for (own, name, value) in [
            (&mut server.definition_limit, names::LENGTH, positive(names::LENGTH)),
            (&mut server.retry_max, names::RETRY_MAX, positive(names::RETRY_MAX)),
            (&mut keep.workflows, PURGE[0], days(PURGE[0])),
            (&mut keep.coordinators, PURGE[1], days(PURGE[1])),
            (&mut keep.bundles, PURGE[2], days(PURGE[2])),
            (&mut keep.actions, PURGE[0], days(PURGE[0]).filter(|_| purges_actions)),
        ] {
            match (&own, value) {
                (None, Some(value)) => *own = Some(value),
                (Some(own), Some(value)) if *own != value => {
                    overridden.insert(name.to_owned());
                }
                _ => {}
            }
        }
        match (server.timezone, site.get(names::ZONE).and_then(ProcessingZone::from_id)) {
            (None, Some(zone)) => server.timezone = Some(zone),
            (Some(own), Some(zone)) if own != zone => {
                overridden.insert(names::ZONE.to_owned());
            }
            _ => {}
        }
        if let Some(schemes) = site.get(names::SCHEMES) {
            let schemes: Vec<String> =
                schemes.split(',').map(|scheme| scheme.trim().to_owned()).collect();
            match server.filesystems.is_empty() {
                true => server.filesystems = schemes,
                false if server.filesystems != schemes => {
                    overridden.insert(names::SCHEMES.to_owned());
                }
                false => {}
            }
        }
        self.functions.retain(|function| !function.is_of_site);
        let declared: BTreeSet<String> =
            self.functions.iter().map(|function| function.name.clone()).collect();
        let of_site = site.functions();
        self.functions
            .extend(of_site.into_iter().filter(|function| !declared.contains(&function.name)));
        site.overridden = overridden;
        self.server.site = site;
    }
}

/// The properties for the number of days that ended jobs are kept.
const PURGE: [&str; 3] = [
    "oozie.service.PurgeService.older.than",
    "oozie.service.PurgeService.coord.older.than",
    "oozie.service.PurgeService.bundle.older.than",
];

/// Generates the page of the manual: every property, and what it does.
pub fn page() -> String {
    let mut page = String::from(
        "<!-- Made from src/settings/site.rs by `cargo xtask gen`. -->\n# The site's configuration\n\n",
    );
    page.push_str(INTRODUCTION);
    page.push_str(
        "\n## Honored\n\n| property | default | what it does here |\n| --- | --- | --- |\n",
    );
    for property in PROPERTIES {
        if let Effect::Honored(what) = property.effect {
            let usual = match property.usual {
                "" => String::new(),
                usual => format!("`{}`", usual.replace(',', ", ")),
            };
            let _ = writeln!(page, "| `{}` | {usual} | {what} |", property.name);
        }
    }
    page.push_str("\n## To be declared\n\nWhat these add to a server is Java code, which ankus does not run.\n\n| property | what to do |\n| --- | --- |\n");
    for property in PROPERTIES {
        if let Effect::Declare(what) = property.effect {
            let _ = writeln!(page, "| `{}` | {what} |", property.name);
        }
    }
    page.push_str("\n## Without effect\n\nThe first matching row applies; `*` stands for any ending.\n\n| property | why |\n| --- | --- |\n");
    for property in PROPERTIES {
        if let Effect::Without(why) = property.effect {
            let _ = writeln!(page, "| `{}` | {why} |", property.name);
        }
    }
    page
}

const INTRODUCTION: &str = r#"A server reads `oozie-site.xml` when it starts. ankus reads the same file, so that checks and runs behave like your
server:

```
ankus check app/ --site conf/oozie-site.xml
ankus run app/ --site conf/oozie-site.xml
```

```toml
[server]
site = "conf/oozie-site.xml"    # relative to this file
```

- `--site` takes precedence over `[server] site`, and that of a tree over that of your own settings. Only one file is read;
  files are not merged.
- Explicit values in `ankus.toml` or your own settings take precedence over the file. Properties of a job (`job.properties`, `-D`)
  take precedence if they do so on the server.
- A job keeps the values at its submission: sub-workflows, workflows of a coordinator and reruns use them, even if the
  file changes. Only the password of the mail server is read from the file when a mail is sent, and is not stored.
- `ankus config show` lists every property of the file with its effect, `ankus doctor` those without effect and those
  that are unknown; `ankus run --dry-run` counts them. Values that look secret are masked everywhere.
- A value with which no server would start is an error. So is a file with a DOCTYPE. References such as `${name}`
  are resolved from properties of the same file.
- The file is data: it starts no program. A read-only command reads the file that a tree names only if it is in the tree, and
  no mail, proxy or purge depends on it ([SECURITY.md](../SECURITY.md)). `--site` may name any file.
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn site(properties: &[(&str, &str)]) -> Result<Site, String> {
        let property = |(name, value): &(&str, &str)| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        };
        let all: String = properties.iter().map(property).collect();
        Site::parse(&format!("<configuration>{all}</configuration>"))
    }

    #[test]
    fn values_are_resolved_from_one_another() {
        let read = site(&[("a", "1"), ("oozie.action.retries.max", " ${a}${a} ")]).expect("a site");
        assert_eq!(read.number("oozie.action.retries.max"), Some(11));
        assert!(site(&[("a", "${b}"), ("b", "${a}")]).is_err(), "in a circle");
    }

    #[test]
    fn what_no_server_starts_with_is_refused() {
        for (name, value) in [
            ("oozie.processing.timezone", "Europe/Paris"),
            ("oozie.action.retries.max", "many"),
            ("oozie.service.coord.materialization.throttling.factor", "half"),
            ("oozie.action.retries.max", "${nobody}"),
        ] {
            let why = site(&[(name, value)]).expect_err(name);
            assert!(why.contains(name) && why.contains(value), "{why}");
        }
        assert!(site(&[("oozie.validate.ForkJoin", "perhaps")]).is_ok(), "as shipped");
    }

    #[test]
    fn files_that_are_no_configuration_are_refused() {
        for text in [
            "",
            "<configuration>",
            "<site/>",
            "<!DOCTYPE configuration [<!ENTITY a 'b'>]><configuration/>",
            "<configuration><include/></configuration>",
        ] {
            assert!(Site::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_row_can_be_reached() {
        for (at, row) in PROPERTIES.iter().enumerate() {
            let name = row.name.replace('*', "x");
            let first = PROPERTIES.iter().position(|known| known.covers(&name));
            assert_eq!(first, Some(at), "{}", row.name);
        }
    }

    #[test]
    fn what_a_job_takes_along_has_no_password() {
        let read = site(&[
            ("oozie.email.smtp.password", "hunter2"),
            ("oozie.service.JPAService.jdbc.password", "hunter3"),
            ("oozie.action.retries.max", "1"),
            ("oozie.service.ProxyUserService.proxyuser.hue.hosts", "*"),
        ]);
        let kept = read.expect("a site").kept();
        assert_eq!(kept.properties.keys().collect::<Vec<_>>(), ["oozie.action.retries.max"]);
    }

    #[test]
    fn what_settings_say_wins() {
        let text = "[server]\nname-node = \"hdfs://own\"\ntimezone = \"UTC\"\n[[el.functions]]\nname = \"s:f\"\n";
        let mut settings = Settings::parse(text, &[]).expect("settings");
        settings.server.site = site(&[
            (names::NAME_NODE, "hdfs://site"),
            (names::JOB_TRACKER, "jt:1"),
            (names::ZONE, "GMT+0530"),
            (names::RETRY_MAX, "9"),
            ("oozie.service.ELService.ext.functions.workflow", "s:f=a.B#f, s:g=a.B#g"),
        ])
        .expect("a site");
        settings.apply_site(true);
        let server = &settings.server;
        assert_eq!(server.name_node.as_deref(), Some("hdfs://own"));
        assert_eq!(server.job_tracker.as_deref(), Some("jt:1"));
        assert_eq!(server.zone(), ProcessingZone::UTC);
        assert_eq!(server.retry_max, Some(9));
        let overridden: Vec<&str> = server.site.overridden.iter().map(String::as_str).collect();
        assert_eq!(overridden, [names::NAME_NODE, names::ZONE]);
        let own = settings.functions.iter().filter(|function| !function.is_of_site);
        assert_eq!(own.map(|function| function.name.as_str()).collect::<Vec<_>>(), ["s:f"]);
        assert!(settings.functions.iter().any(|function| function.name == "s:g"));
        let before = settings.clone();
        settings.apply_site(true);
        assert_eq!(settings.functions, before.functions, "again, it changes nothing");
    }
}
