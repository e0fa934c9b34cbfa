//! HDFS and YARN that require Kerberos for everything: `tests/secure-hadoop.sh DIR` starts them, and
//! `ANKUS_SECURE_HADOOP=DIR` says where.

use crate::run::{application, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A cluster whose owner of a ticket, `etl`, may impersonate everybody.
struct Cluster {
    folder: PathBuf,
    addresses: Vec<(String, String)>,
}

impl Cluster {
    /// Returns none, and prints the reason, if there is none.
    fn here() -> Option<Cluster> {
        let Some(folder) = std::env::var_os("ANKUS_SECURE_HADOOP").map(PathBuf::from) else {
            println!(
                "skipped: ANKUS_SECURE_HADOOP names no cluster (tests/secure-hadoop.sh starts one)"
            );
            return None;
        };
        let addresses = fs::read_to_string(folder.join("addresses")).expect("addresses");
        let addresses = addresses.lines().filter_map(|line| line.split_once('='));
        let addresses = addresses.map(|(name, at)| (name.to_owned(), at.to_owned())).collect();
        Some(Cluster { folder, addresses })
    }

    fn at(&self, name: &str) -> &str {
        let found = self.addresses.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no address of {name}"), |(_, at)| at)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// A program with the ticket.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("KRB5_CONFIG", self.path("krb5.conf"));
        command.env("KRB5CCNAME", self.path("etl.cache"));
        command.env("HADOOP_CONF_DIR", self.path("conf")).env_remove("HADOOP_USER_NAME");
        let path = std::env::var("PATH").expect("a path");
        command.env("PATH", format!("{}:{path}", self.path("bin")));
        command
    }

    fn ankus(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_ankus"));
        command.current_dir(folder).args(arguments);
        command.args(["--config", "own.toml", "--store", "store"]);
        command
    }

    /// The owner of a file in the cluster.
    fn owner(&self, path: &str) -> String {
        let said = self.command("hadoop").args(["fs", "-stat", "%u", path]).output();
        String::from_utf8_lossy(&said.expect("it runs").stdout).trim().to_owned()
    }
}

fn workflow(cluster: &Cluster, nodes: &str) -> String {
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><global><resource-manager>{}</resource-manager>\
         <name-node>hdfs://{}</name-node></global>{nodes}\
         <kill name='bad'><message>[${{wf:errorMessage(wf:lastErrorNode())}}]</message></kill><end name='end'/></workflow-app>",
        cluster.at("rm"),
        cluster.at("hdfs"),
    )
}

fn action(name: &str, element: &str, to: &str) -> String {
    format!("<action name='{name}'>{element}<ok to='{to}'/><error to='bad'/></action>")
}

fn shell(script: &str, more: &str) -> String {
    format!(
        "<shell xmlns='uri:oozie:shell-action:1.0'><exec>sh</exec><argument>-c</argument><argument>{script}</argument>{more}</shell>"
    )
}

fn ok(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(output));
}

/// Files, distcp, a map-reduce job with counters and a shell program, as the owner of the ticket and as another user.
#[test]
fn actions_reach_a_secure_cluster_as_the_user_whom_the_ticket_impersonates() {
    let Some(cluster) = Cluster::here() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let property = |name: &str, value: &str| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    let count = [
        ("mapred.mapper.new-api", "true"),
        ("mapred.reducer.new-api", "true"),
        ("mapreduce.job.map.class", "org.apache.hadoop.mapreduce.lib.map.TokenCounterMapper"),
        ("mapreduce.job.reduces", "0"),
        ("mapreduce.job.output.key.class", "org.apache.hadoop.io.Text"),
        ("mapreduce.job.output.value.class", "org.apache.hadoop.io.IntWritable"),
        ("mapreduce.input.fileinputformat.inputdir", "${base}/in"),
        ("mapreduce.output.fileoutputformat.outputdir", "${base}/out"),
    ];
    let count: String = count.iter().map(|(name, value)| property(name, value)).collect();
    let counted = "hadoop:counters('count')['org.apache.hadoop.mapreduce.TaskCounter']['MAP_OUTPUT_RECORDS'] eq 3";
    let nodes = [
        "<start to='files'/>".to_owned(),
        action("files", "<fs><delete path='${base}'/><mkdir path='${base}/in'/></fs>", "put"),
        action(
            "put",
            &shell("hadoop fs -put in.txt ${base}/in.txt", "<file>in.txt</file>"),
            "copy",
        ),
        action(
            "copy",
            "<distcp xmlns='uri:oozie:distcp-action:1.0'><arg>${base}/in.txt</arg><arg>${base}/in/in.txt</arg></distcp>",
            "count",
        ),
        action(
            "count",
            &format!("<map-reduce><configuration>{count}</configuration></map-reduce>"),
            "look",
        ),
        format!(
            "<decision name='look'><switch><case to='end'>${{{counted} and fs:fileSize(concat(base, '/in/in.txt')) eq 6}}</case>\
             <default to='bad'/></switch></decision>"
        ),
    ];
    let settings = format!(
        "[hosts]\n\"hdfs://{}\" = \"webhdfs://{}\"\n",
        cluster.at("hdfs"),
        cluster.at("webhdfs")
    );
    application(
        folder.path(),
        &[
            ("app/workflow.xml", &workflow(&cluster, &nodes.concat())),
            ("app/in.txt", "a b a\n"),
            ("own.toml", &settings),
        ],
    );
    for user in ["etl", "alice"] {
        let base = format!("hdfs://{}/user/{user}/run", cluster.at("hdfs"));
        let mut run = cluster
            .ankus(folder.path(), &["run", "app", "--id", user, "-D", &format!("base={base}")]);
        if user != "etl" {
            run.env("HADOOP_PROXY_USER", user);
        }
        ok(&run.output().expect("it runs"));
        for file in ["", "/in.txt", "/in/in.txt", "/out/_SUCCESS"] {
            assert_eq!(cluster.owner(&format!("{base}{file}")), user, "{file}");
        }
    }
}

/// In containers nobody has a ticket: their programs get tokens, and files that are too large for the submission can be
/// brought.
#[test]
fn programs_in_containers_of_a_secure_cluster_have_tokens() {
    let Some(cluster) = Cluster::here() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (hdfs, web) = (cluster.at("hdfs"), cluster.at("web"));
    let script = "test $(wc -c &lt; big.bin) = 300000 &amp;&amp; hadoop fs -touchz ${own} &amp;&amp; hadoop job -list";
    let first = action("sh", &shell(script, "<file>big.bin</file>"), "end");
    let slow = action("slow", &shell("sleep 600", ""), "end");
    let of = |start: &str| workflow(&cluster, &format!("<start to='{start}'/>{first}{slow}"));
    let settings = |user: &str| {
        format!(
            "[hosts]\n\"hdfs://{hdfs}\" = \"webhdfs://{}\"\n[launchers.shell]\nlauncher = \"cluster\"\n[launchers.cluster]\nkind = \"yarn\"\n\
             web = \"http://{web}\"\nclasspath = \"{}:{}/*\"\njava = \"java\"\nmemory = \"256MB\"\nuser = \"{user}\"\n\
             staging = \"hdfs://{hdfs}/tmp/staging\"\nenvironment = {{ PATH = \"{}:/usr/bin:/bin\" }}\n",
            cluster.at("webhdfs"),
            cluster.path("conf"),
            cluster.path("lib"),
            cluster.path("bin"),
        )
    };
    // Random bytes cannot be packed.
    let mut random = vec![0; 300_000];
    let source = fs::File::open("/dev/urandom").expect("random bytes");
    std::io::Read::read_exact(&mut &source, &mut random).expect("random bytes");
    application(
        folder.path(),
        &[("app/workflow.xml", &of("sh")), ("slow/workflow.xml", &of("slow"))],
    );
    fs::write(folder.path().join("app/big.bin"), random).expect("writable");
    // Two users share the folder for files.
    for user in ["etl", "alice"] {
        fs::write(folder.path().join("own.toml"), settings(user)).expect("writable");
        let own = format!("own=hdfs://{hdfs}/user/{user}/touched");
        let run = cluster.ankus(folder.path(), &["run", "app", "--id", user, "-D", &own]).output();
        ok(&run.expect("it runs"));
        assert_eq!(cluster.owner(&own[4..]), user);
    }
    let mut run = cluster.ankus(folder.path(), &["run", "slow", "--id", "slow", "-D", "own=x"]);
    let quiet = std::process::Stdio::null;
    let mut running = run.stdout(quiet()).stderr(quiet()).spawn().expect("it runs");
    let apps = |states: &str| {
        let url = format!("http://{web}/ws/v1/cluster/apps?doAs=alice&states={states}");
        let mut curl = cluster.command("curl");
        let said = curl.args(["-s", "--negotiate", "-u", ":", &url]).output().expect("it runs");
        String::from_utf8_lossy(&said.stdout).into_owned()
    };
    let title = "oozie:action:T=shell:W=w:A=slow:ID=slow";
    let until = |states: &str| {
        for _ in 0..240 {
            if apps(states).contains(title) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        panic!("{title} is not {states}: {}", apps("RUNNING,FINISHED,FAILED,KILLED,ACCEPTED"));
    };
    until("RUNNING");
    let killed = cluster.ankus(folder.path(), &["job", "kill", "slow"]).output().expect("it runs");
    ok(&killed);
    until("KILLED");
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
}
