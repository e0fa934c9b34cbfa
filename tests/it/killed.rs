//! `ankus` is killed at random moments while real tools work: every job ran once, or had ended before it was started
//! again.
//!
//! `ANKUS_EXAMPLES` names the tools, as for the examples of Oozie, and `ANKUS_KILLS` says how often `ankus` is killed
//! while actions of each type run. With `ANKUS_KILLS_LAUNCHERS=N`, N of the launchers that outlive `ankus` are killed
//! as well in each run of the workflow: their programs are then started again, and the jobs of the first attempt must
//! have ended before that.

use crate::run::{ankus, application};
use crate::shared;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The nodes: name, the tool that it runs, the element of its type, and its number of YARN applications.
const NODES: [(&str, &str, &str, usize); 10] = [
    ("shell", "", SHELL, 0),
    ("java", "java", JAVA, 0),
    ("map-reduce", "hadoop", MAP_REDUCE, 1),
    ("streaming", "hadoop", STREAMING, 1),
    (
        "distcp",
        "hadoop",
        "<distcp xmlns='uri:oozie:distcp-action:1.0'>AT<arg>${in}</arg><arg>${out}/distcp</arg></distcp>",
        1,
    ),
    ("pig", "pig", PIG, 1),
    ("hive", "hive", HIVE, 0),
    ("sqoop", "sqoop", SQOOP, 1),
    ("spark", "spark-submit", SPARK, 0),
    ("spark-yarn", "spark-submit", SPARK_YARN, 1),
];

const SHELL: &str =
    "<shell xmlns='uri:oozie:shell-action:1.0'>AT<exec>step.sh</exec><file>step.sh</file></shell>";
const JAVA: &str =
    "<java>AT<main-class>org.apache.oozie.example.DemoJavaMain</main-class><arg>a</arg></java>";
const MAP_REDUCE: &str = "<map-reduce>AT<configuration>\
    <property><name>mapred.mapper.class</name><value>org.apache.hadoop.mapred.lib.TokenCountMapper</value></property>\
    <property><name>mapred.reducer.class</name><value>org.apache.hadoop.mapred.lib.LongSumReducer</value></property>\
    <property><name>mapred.output.key.class</name><value>org.apache.hadoop.io.Text</value></property>\
    <property><name>mapred.output.value.class</name><value>org.apache.hadoop.io.LongWritable</value></property>\
    <property><name>mapred.input.dir</name><value>${in}</value></property>\
    <property><name>mapred.output.dir</name><value>${out}/map-reduce</value></property></configuration></map-reduce>";
const STREAMING: &str = "<map-reduce>AT<streaming><mapper>/bin/cat</mapper><reducer>/usr/bin/wc</reducer></streaming><configuration>\
    <property><name>mapred.input.dir</name><value>${in}</value></property>\
    <property><name>mapred.output.dir</name><value>${out}/streaming</value></property></configuration></map-reduce>";
const PIG: &str =
    "<pig>AT<script>id.pig</script><param>IN=${in}</param><param>OUT=${out}/pig</param></pig>";
const HIVE: &str = "<hive xmlns='uri:oozie:hive-action:1.0'>AT<query>select 1;</query></hive>";
const SQOOP: &str = "<sqoop xmlns='uri:oozie:sqoop-action:1.0'>AT<command>import --connect jdbc:hsqldb:file:db.hsqldb --table TT \
    --target-dir ${out}/sqoop -m 1</command><file>db.hsqldb.properties</file><file>db.hsqldb.script</file></sqoop>";
const SPARK: &str = "<spark xmlns='uri:oozie:spark-action:1.0'>AT<master>local[1]</master><name>here</name><jar>sum.py</jar></spark>";
const SPARK_YARN: &str = "<spark xmlns='uri:oozie:spark-action:1.0'>AT<master>yarn</master><mode>client</mode><name>there</name>\
    <jar>sum.py</jar></spark>";
const SUM: &str = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n\
    print(spark.sparkContext.parallelize(range(9), 2).sum())\nspark.stop()\n";
const AT: &str = "<resource-manager>localhost:8032</resource-manager><name-node>hdfs://localhost:8020</name-node>";

/// A workflow with all action types at once.
fn workflow() -> String {
    let paths: String = NODES.iter().map(|(name, ..)| format!("<path start='{name}'/>")).collect();
    let actions: String = NODES
        .iter()
        .map(|(name, _, element, _)| {
            // Every action that may be started again has this.
            let clean = format!("{AT}<prepare><delete path='${{out}}/{name}'/></prepare>");
            let element = element.replace("AT", &clean);
            format!("<action name='{name}'>{element}<ok to='all'/><error to='bad'/></action>")
        })
        .collect();
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='killed'><start to='split'/><fork name='split'>{paths}</fork>{actions}\
         <join name='all' to='end'/><kill name='bad'><message>${{wf:errorMessage(wf:lastErrorNode())}}</message></kill>\
         <end name='end'/></workflow-app>"
    )
}

struct Parts {
    tools: PathBuf,
    folder: tempfile::TempDir,
    random: u64,
}

impl Drop for Parts {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            println!("it is left in {}", self.folder.path().display());
        }
    }
}

impl Parts {
    fn hadoop(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new(self.tools.join("bin/hadoop"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// A number from `low` up to but not including `high`.
    fn number(&mut self, low: u64, high: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        low + self.random % (high - low)
    }

    fn starts(&self) -> PathBuf {
        self.folder.path().join("starts")
    }

    /// Writes the application, and tools that record their starts.
    fn set_up(&self, corpus: &Path) {
        let folder = self.folder.path();
        let step = format!(
            "#!/bin/sh\necho \"shell $ANKUS_ATTEMPT\" >> {}\nsleep 40\n",
            self.starts().display()
        );
        let pig = "a = load '$IN' as (line: chararray);\nstore a into '$OUT';\n";
        let files = [
            ("app/workflow.xml", workflow()),
            ("app/step.sh", step),
            ("app/id.pig", pig.to_owned()),
            ("app/sum.py", SUM.to_owned()),
        ];
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        application(folder, &files);
        let sqoop = corpus.join("apache__oozie/examples/src/main/apps/sqoop");
        for name in ["db.hsqldb.properties", "db.hsqldb.script"] {
            fs::copy(sqoop.join(name), folder.join("app").join(name)).expect("a database");
        }
        fs::create_dir_all(folder.join("app/lib")).expect("a folder");
        fs::copy(self.tools.join("oozie-examples.jar"), folder.join("app/lib/examples.jar"))
            .expect("a jar");
        let mut settings = "[tools]\n".to_owned();
        for tool in ["java", "hadoop", "pig", "hive", "sqoop", "spark-submit"] {
            let real = self.tools.join("bin").join(tool);
            let real = if real.exists() {
                real.display().to_string()
            } else {
                format!("/usr/bin/env {tool}")
            };
            let noted = folder.join(format!("bin/{tool}"));
            // A program that ends before it can be killed proves nothing.
            let nap = if tool == "java" { "sleep 20\n" } else { "" };
            // Clients also answer queries about jobs, which start nothing.
            let script = format!(
                "#!/bin/sh\ncase \"$1 $2\" in 'job -status'|fs*) ;; *) echo \"{tool} $ANKUS_ATTEMPT\" >> {} ;; esac\n{nap}exec {real} \"$@\"\n",
                self.starts().display()
            );
            application(folder, &[(&format!("bin/{tool}"), &script)]);
            fs::set_permissions(&noted, fs::Permissions::from_mode(0o755)).expect("a program");
            settings.push_str(&format!("{tool} = \"{}\"\n", noted.display()));
        }
        let jars = fs::read_dir(&self.tools).expect("the parts").filter_map(Result::ok);
        let mut jars = jars.map(|entry| entry.path());
        let streaming = jars.find(|path| path.to_string_lossy().contains("/hadoop-streaming"));
        let streaming = streaming.expect("a jar of Hadoop's streaming");
        settings.push_str(&format!("hadoop-streaming = \"{}\"\n", streaming.display()));
        settings.push_str("[hosts]\n\"hdfs://localhost:8020\" = \"webhdfs://localhost:9870\"\n[launchers]\nmax = 6\n");
        fs::write(folder.join("ankus.toml"), settings).expect("settings");
        fs::write(folder.join("data.txt"), "a b\nc\n").expect("a file");
        self.hadoop(&["fs", "-rm", "-r", "-f", "-skipTrash", "/killed"]);
        assert!(self.hadoop(&["fs", "-mkdir", "-p", "/killed/in"]), "the cluster does not answer");
        let data = folder.join("data.txt").display().to_string();
        assert!(self.hadoop(&["fs", "-put", &data, "/killed/in"]));
        assert!(self.hadoop(&["fs", "-chmod", "-R", "777", "/killed"]));
    }

    fn start(&self, store: &str, arguments: &[&str]) -> Child {
        let mut command = ankus(self.folder.path(), arguments);
        let log =
            fs::File::options().create(true).append(true).open(self.folder.path().join("said"));
        let log = log.expect("a log");
        command.args(["--store", store]).env("USER", "root").env_remove("HADOOP_HOME");
        command.stdout(log.try_clone().expect("a log")).stderr(log).spawn().expect("it runs")
    }

    fn show(&self, store: &str) -> serde_json::Value {
        let arguments = ["job", "show", "w", "--format", "json", "--store", store];
        let shown = ankus(self.folder.path(), &arguments).output().expect("it runs");
        serde_json::from_slice(&shown.stdout).unwrap_or_default()
    }

    /// Runs the workflow once. Returns how often ankus was killed while actions ran, by node.
    fn round(&mut self, number: usize, launchers: u64) -> BTreeMap<String, u64> {
        let store = format!("store-{number}");
        let _ = fs::remove_file(self.starts());
        let properties = [
            "in=hdfs://localhost:8020/killed/in".to_owned(),
            format!("out=hdfs://localhost:8020/killed/out-{number}"),
        ];
        let (mut kills, mut left) = (BTreeMap::new(), launchers);
        let mut arguments = vec!["run", "app", "--id", "w"];
        arguments.extend(properties.iter().flat_map(|property| ["-D", property.as_str()]));
        let mut running = self.start(&store, &arguments);
        let began = Instant::now();
        loop {
            let until = Instant::now() + Duration::from_millis(self.number(500, 9_000));
            while Instant::now() < until && running.try_wait().expect("a child").is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            if running.try_wait().expect("a child").is_some() {
                let shown = self.show(&store);
                if shown["status"] != "RUNNING" && shown["status"] != "PREP" {
                    break;
                }
            }
            assert!(began.elapsed() < Duration::from_secs(1_800), "{store} does not end");
            let shown = self.show(&store);
            let actions = shown["actions"].as_array().cloned().unwrap_or_default();
            let names = actions.iter().filter(|action| action["status"] == "RUNNING");
            let names: Vec<String> =
                names.filter_map(|action| Some(action["name"].as_str()?.to_owned())).collect();
            let _ = running.kill();
            let _ = running.wait();
            for name in names {
                *kills.entry(name).or_default() += 1;
            }
            if left > 0 && self.number(0, 3) == 0 && self.kill_a_launcher(&store) {
                left -= 1;
            }
            let has_job = shown["status"].is_string();
            running = match has_job {
                true => self.start(&store, &["job", "resume", "w"]),
                false => self.start(&store, &arguments),
            };
        }
        let shown = self.show(&store);
        let actions = shown["actions"].as_array().cloned().unwrap_or_default();
        let faults = actions.iter().filter_map(|action| action["errorMessage"].as_str());
        let faults: Vec<&str> = faults.collect();
        assert_eq!(shown["status"], "SUCCEEDED", "{store}: {faults:?}");
        self.accounts(&store, launchers - left);
        kills
    }

    /// Kills one of the launchers. Returns whether there was one.
    fn kill_a_launcher(&mut self, store: &str) -> bool {
        let of_store = self.folder.path().join(store).display().to_string();
        let processes = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
        let found: Vec<String> = processes
            .filter(|entry| {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).into_owned();
                line.contains("__launch") && line.contains(&of_store)
            })
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        if found.is_empty() {
            return false;
        }
        let chosen = self.number(0, found.len() as u64) as usize;
        Command::new("kill")
            .args(["-9", &found[chosen]])
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Asserts that every node's tool started once per attempt, that there are no more additional attempts than killed
    /// launchers, and that nothing of an attempt was running when the next one started.
    fn accounts(&self, store: &str, killed: u64) {
        let starts = fs::read_to_string(self.starts()).unwrap_or_default();
        let mut attempts: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
        let jobs = self.folder.path().join(store).join("jobs/w");
        for entry in fs::read_dir(&jobs).expect("attempts").filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let node = NODES.iter().find(|(node, ..)| {
                name.strip_prefix(node).is_some_and(|rest| rest.starts_with("-0-"))
            });
            if let Some((node, ..)) = node {
                attempts.entry(node).or_default().push(entry.path());
            }
        }
        let mut again = 0;
        for (node, tool, _, applications) in NODES {
            let mut of_node = attempts.remove(node).unwrap_or_default();
            of_node.sort();
            again += of_node.len() as u64 - 1;
            let tool = if tool.is_empty() { "shell" } else { tool };
            let mut last_end = 0;
            for (number, attempt) in of_node.iter().enumerate() {
                let line = format!("{tool} {}", attempt.display());
                let count = starts.lines().filter(|known| *known == line).count();
                let is_last = number + 1 == of_node.len();
                assert!(count == 1 || (count == 0 && !is_last), "{line} began {count} times");
                let apps = applications_of(attempt);
                if is_last {
                    assert_eq!(apps.len(), applications, "{node}: {apps:?}");
                }
                for (id, state, began, ended) in &apps {
                    assert!(!is_last || state == "SUCCEEDED", "{node}: {id} {state}");
                    assert!(
                        *began >= last_end,
                        "{node}: {id} began before that of the last attempt had ended"
                    );
                    assert!(*ended > 0, "{node}: {id} still runs");
                }
                last_end = apps.iter().map(|app| app.3).max().unwrap_or(last_end);
            }
        }
        assert!(
            again <= killed,
            "{again} programs were started again, and {killed} launchers were killed"
        );
    }
}

/// The YARN applications of an attempt: id, final status, start and end time.
fn applications_of(attempt: &Path) -> Vec<(String, String, u64, u64)> {
    let Ok(trace) = fs::read_to_string(attempt.join("cluster.json")) else { return Vec::new() };
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("a trace");
    let tag = trace["tag"].as_str().expect("a tag");
    let mut stream = TcpStream::connect("localhost:8088").expect("a resource manager");
    let path = format!("/ws/v1/cluster/apps?applicationTags={tag}");
    let request = format!("GET {path} HTTP/1.0\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let answer: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let apps = answer["apps"]["app"].as_array().cloned().unwrap_or_default();
    let text =
        |app: &serde_json::Value, name: &str| app[name].as_str().unwrap_or_default().to_owned();
    let time = |app: &serde_json::Value, name: &str| app[name].as_u64().unwrap_or_default();
    apps.iter()
        .map(|app| {
            (
                text(app, "id"),
                text(app, "finalStatus"),
                time(app, "startedTime"),
                time(app, "finishedTime"),
            )
        })
        .collect()
}

#[test]
fn whenever_ankus_is_killed_real_jobs_run_once() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (Some(tools), Some(kills)) = (std::env::var_os("ANKUS_EXAMPLES"), number("ANKUS_KILLS"))
    else {
        println!("skipped: ANKUS_EXAMPLES names no folder with programs, or ANKUS_KILLS no number");
        return;
    };
    let Some(corpus) = shared("ANKUS_CORPUS", "corpus") else { return };
    let launchers = number("ANKUS_KILLS_LAUNCHERS").unwrap_or(0);
    let seed = number("ANKUS_SEED").unwrap_or(1);
    let folder = tempfile::tempdir().expect("a folder");
    let mut parts = Parts { tools: tools.into(), folder, random: seed | 1 << 40 };
    parts.set_up(&corpus);
    let mut all: BTreeMap<String, u64> =
        NODES.iter().map(|(name, ..)| ((*name).to_owned(), 0)).collect();
    let mut rounds = 0;
    while all.values().any(|count| *count < kills) {
        for (name, count) in parts.round(rounds, launchers) {
            *all.entry(name).or_default() += count;
        }
        rounds += 1;
        println!("after {rounds} runs: {all:?}");
    }
}
