//! Oozie's own example applications, run with real systems: a Hadoop cluster, Pig, Spark, Sqoop, Git, ssh.
//!
//! `ANKUS_EXAMPLES` names a folder with the programs in `bin/` (`hadoop` for a cluster at `localhost:8020` and
//! `localhost:8032` with WebHDFS at port 9870, and any of `pig`, `spark-submit`, `sqoop`, `hive`, `beeline`, `ssh`), a
//! `hadoop-streaming*.jar`, and `oozie-examples.jar`, compiled from `fixtures/examples`. `ANKUS_EXAMPLE=NAME` runs only
//! that one. Every example has a row in the printed table, even if it is skipped.

use crate::oracle;
use crate::run::{ankus, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// An example: its folder, the program that it needs besides `hadoop`, and properties that replace its own.
const EXAMPLES: [(&str, &str, &[&str]); 27] = [
    ("aggregator", "", &[]),
    ("bundle", "", &["start=2010-01-01T01:00Z", "end=2010-01-01T03:00Z"]),
    (
        "coord-input-logic",
        "",
        &["nameNode=hdfs://localhost:8020", "resourceManager=localhost:8032"],
    ),
    ("cron", "", &[]),
    ("cron-schedule", "", &[]),
    ("custom-main", "pig", &[]),
    ("datelist-java-main", "java", &[]),
    ("demo", "pig", &[]),
    ("distcp", "", &[]),
    ("git", "git", &[]),
    ("hadoop-el", "", &[]),
    ("hcatalog", "a metastore", &[]),
    ("hive", "hive", &[]),
    ("hive2", "beeline", &["jdbcURL=jdbc:hive2://localhost:10001/default"]),
    ("java-main", "java", &[]),
    ("map-reduce", "", &[]),
    ("no-op", "", &[]),
    ("pig", "pig", &[]),
    ("pyspark", "spark-submit", &[]),
    ("shell", "", &[]),
    ("sla", "", &[]),
    ("spark", "spark-submit", &["master=local[1]"]),
    ("sqoop", "sqoop", &[]),
    ("sqoop-freeform", "sqoop", &[]),
    ("ssh", "ssh", &[]),
    ("streaming", "", &[]),
    ("subwf", "", &[]),
];

struct Parts {
    tools: PathBuf,
    folder: tempfile::TempDir,
}

impl Parts {
    fn path(&self) -> String {
        let own = std::env::var("PATH").unwrap_or_default();
        format!("{}:{own}", self.tools.join("bin").display())
    }

    fn hadoop(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new(self.tools.join("bin/hadoop"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Whether a program is available.
    fn has(&self, program: &str) -> bool {
        std::env::split_paths(&self.path()).any(|folder| folder.join(program).is_file())
    }

    fn streaming(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.tools).ok()?.filter_map(Result::ok);
        let mut jars = entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("hadoop-streaming") && name.ends_with(".jar")
        });
        jars.next()
    }

    /// Copies the applications and their data to where they are expected.
    fn set_up(&self, apps: &Path) {
        let folder = self.folder.path();
        copy(apps, &folder.join("apps"));
        for (name, _, _) in EXAMPLES {
            let library = folder.join("apps").join(name).join("lib");
            fs::create_dir_all(&library).expect("a folder");
            fs::copy(self.tools.join("oozie-examples.jar"), library.join("oozie-examples.jar"))
                .expect("a jar");
        }
        let pi = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n\
                  print(spark.sparkContext.parallelize(range(9), 2).sum())\nspark.stop()\n";
        fs::write(folder.join("apps/pyspark/pi.py"), pi).expect("a script");
        // A local repository stands for the remote one.
        let git = |arguments: &[&str]| {
            let own = ["-c", "user.name=a", "-c", "user.email=a@b"];
            let repository = folder.join("repository");
            fs::create_dir_all(&repository).expect("a folder");
            Command::new("git").current_dir(repository).args(own).args(arguments).output().is_ok()
        };
        fs::create_dir_all(folder.join("repository")).expect("a folder");
        fs::write(folder.join("repository/README"), "read me\n").expect("a file");
        let _ = git(&["init", "-q"]) && git(&["add", "."]) && git(&["commit", "-q", "-m", "first"]);
        let workflow = folder.join("apps/git/workflow.xml");
        let definition = fs::read_to_string(&workflow).expect("a workflow");
        let uri = format!("file://{}", folder.join("repository").display());
        fs::write(workflow, definition.replace("https://github.com/apache/oozie", &uri))
            .expect("a workflow");
        let data = folder.join("input-data");
        let mut names = vec!["text/data.txt".to_owned(), "table/data.txt".to_owned()];
        for (day, hour, minute) in (0..16).map(|n| (1, n / 3, n % 3 * 20)) {
            for logs in ["rawLogs", "rawLogs-2"] {
                let at = format!("{logs}/2010/01/{day:02}/{hour:02}/{minute:02}");
                names.extend([format!("{at}/data.txt"), format!("{at}/_SUCCESS")]);
            }
        }
        names.extend(["40", "20"].map(|minute| format!("rawLogs/2009/12/31/23/{minute}/_SUCCESS")));
        for name in names {
            let file = data.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            let is_flag = file.ends_with("_SUCCESS");
            fs::write(file, if is_flag { "" } else { "1\n2\n2\n" }).expect("a file");
        }
        let mut settings =
            "[hosts]\n\"hdfs://localhost:8020\" = \"webhdfs://localhost:9870\"\n".to_owned();
        if let Some(jar) = self.streaming() {
            settings.push_str(&format!("[tools]\nhadoop-streaming = \"{}\"\n", jar.display()));
        }
        fs::write(folder.join("ankus.toml"), settings).expect("settings");
        let home = format!("/user/{}/examples", user());
        self.hadoop(&["fs", "-rm", "-r", "-f", "-skipTrash", &home]);
        assert!(self.hadoop(&["fs", "-mkdir", "-p", &home]), "the cluster does not answer");
        for part in ["apps", "input-data"] {
            let part = folder.join(part).display().to_string();
            assert!(self.hadoop(&["fs", "-put", &part, &home]), "{part}");
        }
    }

    /// Runs an example.
    fn run(&self, name: &str, properties: &[&str]) -> Result<(), String> {
        let (app, store) = (format!("apps/{name}"), format!("store-{name}"));
        let mut arguments = vec!["run", app.as_str(), "--store", store.as_str()];
        arguments.extend(properties.iter().flat_map(|property| ["-D", property]));
        let mut command = ankus(self.folder.path(), &arguments);
        command.env("PATH", self.path()).env_remove("HADOOP_HOME").env("USER", user());
        let output = command.output().map_err(|error| error.to_string())?;
        match output.status.code() {
            Some(0) => Ok(()),
            _ => Err(text(&output)),
        }
    }
}

fn user() -> String {
    std::env::var("USER").ok().filter(|user| !user.is_empty()).unwrap_or_else(|| "root".to_owned())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").filter_map(Result::ok) {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => _ = fs::copy(entry.path(), target).expect("a file"),
        }
    }
}

#[test]
fn the_examples_of_oozie_end_well() {
    let Some(corpus) = oracle::folder("ANKUS_CORPUS", "corpus") else { return };
    let apps = corpus.join("apache__oozie/examples/src/main/apps");
    let Some(tools) = std::env::var_os("ANKUS_EXAMPLES").map(PathBuf::from) else {
        println!("skipped: ANKUS_EXAMPLES names no folder with programs and jars");
        return;
    };
    let parts = Parts { tools, folder: tempfile::tempdir().expect("a folder") };
    parts.set_up(&apps);
    let wanted = std::env::var("ANKUS_EXAMPLE").ok();
    let (mut rows, mut failed) = (Vec::new(), 0);
    for (name, program, properties) in EXAMPLES {
        if wanted.as_ref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let since = Instant::now();
        let row = match program {
            program if !program.is_empty() && !parts.has(program) => {
                format!("skipped: there is no {program}")
            }
            _ if ["demo", "streaming"].contains(&name) && parts.streaming().is_none() => {
                "skipped: there is no hadoop-streaming.jar".to_owned()
            }
            _ => match parts.run(name, properties) {
                Ok(()) => "SUCCEEDED".to_owned(),
                Err(said) => {
                    failed += 1;
                    format!("failed:\n{said}")
                }
            },
        };
        println!("{name:<20} {:>5.0} s  {row}", since.elapsed().as_secs_f64());
        rows.push(row);
    }
    let well = rows.iter().filter(|row| *row == "SUCCEEDED").count();
    println!("agree {well} of {}", rows.len());
    if failed > 0 {
        let folder = parts.folder.keep();
        panic!("{failed} examples failed; what they left is in {}", folder.display());
    }
}
