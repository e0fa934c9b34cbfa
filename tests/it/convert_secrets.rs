//! `ankus convert`: no secret of a definition or its properties is written, and applications share none.

use crate::convert::{DAILY, convert, shown, texts_below, written};
use std::path::Path;

/// Every kind of place that can contain a secret, each with a different one.
const SECRETS: &str = r#"<workflow-app name="hushed" xmlns="uri:oozie:workflow:1.0">
  <parameters><property><name>dbPassword</name><value>planted-1</value></property></parameters>
  <global><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>
    <configuration><property><name>javax.jdo.option.ConnectionPassword</name><value>planted-2</value></property></configuration>
  </global>
  <credentials><credential name="c" type="hcat"><property><name>password</name><value>planted-3</value></property></credential></credentials>
  <start to="shell"/>
  <action name="shell"><shell xmlns="uri:oozie:shell-action:1.0">
    <configuration><property><name>fs.s3a.secret.key</name><value>planted-4</value></property></configuration>
    <exec>load.sh</exec><argument>--password=planted-5</argument>
    <argument>jdbc:mysql://h/db?user=me&amp;password=planted-6</argument>
    <argument>https://me:planted-7@host/x</argument>
    <argument>--password</argument><argument>planted-21</argument><argument>-passphrase</argument><argument>planted-22</argument>
    <argument>https://me:planted-23@host/${wf:id()}</argument><argument>${pw}@${pwOfPw}</argument>
    <argument>mysql -uroot -pPlanted-25 &lt; a.sql; mysqladmin -p'planted-26 a' flush</argument>
    <env-var>DB_PASSWORD=planted-8</env-var></shell>
    <ok to="curl"/><error to="fail"/></action>
  <action name="curl"><shell xmlns="uri:oozie:shell-action:1.0"><exec>curl</exec>
    <argument>-u</argument><argument>me:planted-29</argument><argument>-H</argument><argument>Authorization: Bearer planted-30</argument>
    <argument>-H</argument><argument>Authorization: Basic planted-31</argument></shell>
    <ok to="dump"/><error to="fail"/></action>
  <action name="dump"><shell xmlns="uri:oozie:shell-action:1.0"><exec>/usr/bin/mysqldump</exec>
    <argument>-uroot</argument><argument>-pplanted-27</argument><argument>shop</argument></shell>
    <ok to="java"/><error to="fail"/></action>
  <action name="java"><java><main-class>org.Main</main-class><java-opts>-Dpassword=planted-9</java-opts>
    <arg>-Djavax.net.ssl.keyStorePassword=planted-10</arg></java>
    <ok to="hive"/><error to="fail"/></action>
  <action name="hive"><hive2 xmlns="uri:oozie:hive2-action:1.0"><jdbc-url>jdbc:hive2://h:1/db;password=planted-11</jdbc-url>
    <password>planted-12</password><script>a.q</script><param>password=planted-13</param>
    <argument>-p</argument><argument>planted-28</argument></hive2>
    <ok to="sqoop"/><error to="fail"/></action>
  <action name="sqoop"><sqoop xmlns="uri:oozie:sqoop-action:1.0"><command>import --connect jdbc:x --password planted-14</command></sqoop>
    <ok to="sub"/><error to="fail"/></action>
  <action name="sub"><sub-workflow><app-path>/apps/other</app-path>
    <configuration><property><name>api.token</name><value>planted-15</value></property></configuration></sub-workflow>
    <ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>login with password=planted-16 at https://me:planted-24@host/ failed: ${wf:lastErrorNode()}</message></kill>
  <end name="end"/>
</workflow-app>"#;

#[test]
fn no_secret_is_written_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let apps = folder.path().join("apps");
    written(&apps, "one/workflow.xml", SECRETS);
    written(
        &apps,
        "one/job.properties",
        "db.password=planted-17\nawsSecretKey=planted-18\npw=${db.password}\npwOfPw=a${pw}\n",
    );
    let timed = DAILY.replace("hunter22", "planted-19").replace("name=\"daily\"", "name=\"timed\"");
    written(&apps, "two/coordinator.xml", &timed);
    written(&apps, "two/workflow.xml", &SECRETS.replace("hushed", "hushed2"));
    written(&apps, "two/job.properties", "dbPassword=planted-20\n");
    let mut seen = String::new();
    for target in ["airflow", "airflow==2.10", "step-functions", "argo", "prefect", "databricks"] {
        let out = folder.path().join(target);
        let mut arguments: Vec<String> = vec![shown(&apps), "-o".into(), shown(&out)];
        arguments.extend(["--to".into(), target.into(), "--allow".into(), "*".into()]);
        for end in ["html", "md", "json"] {
            arguments.extend(["--report".into(), shown(&out.join(format!("report.{end}")))]);
        }
        std::fs::create_dir(&out).expect("a folder");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, printed, said) = convert(&arguments);
        assert_eq!(code, 0, "{said}");
        let all = texts_below(&out);
        assert!(all.iter().any(|text| text.contains("load.sh")), "{target} has the application");
        for text in [printed, said].into_iter().chain(all) {
            let lines = text.lines().filter(|line| line.to_lowercase().contains("planted-"));
            lines.for_each(|line| seen.push_str(&format!("{target}: {line}\n")));
        }
    }
    assert_eq!(seen, "");
}

/// Only the secret part of a command is replaced, by a reference to the target's store of secrets.
#[test]
fn a_secret_within_a_command_is_taken_from_the_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='load'/>
        <action name='load'><sqoop xmlns='uri:oozie:sqoop-action:0.2'><job-tracker>rm</job-tracker><name-node>nn</name-node>
        <command>import --connect jdbc:x;password=hush-1 --password hush-2 --table t</command></sqoop>
        <ok to='end'/><error to='fail'/></action><kill name='fail'><message>m</message></kill><end name='end'/></workflow-app>";
    written(folder.path(), "w/workflow.xml", text);
    let apps = shown(&folder.path().join("w"));
    for (target, parts) in [
        ("airflow", ["var.value.w__load_password |", "var.value.w__load_password_2 |"]),
        ("prefect", ["run.secret('w__load_password')", "run.secret(\"w__load_password_2\")"]),
        ("step-functions", ["$load_password", "$load_password_2"]),
        ("argo", ["$(SECRET_load_password)", "$(SECRET_load_password_2)"]),
        (
            "databricks",
            ["@{secret:w-secrets/load_password}", "@{secret:w-secrets/load_password_2}"],
        ),
    ] {
        let out = shown(&folder.path().join(target));
        let (code, lost, said) = convert(&[&apps, "--to", target, "-o", &out]);
        assert_eq!((code, lost.as_str()), (0, ""), "{target}: {said}");
        let all = texts_below(Path::new(&out)).join("\n");
        let one_line: String = all.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts.into_iter().chain(["jdbc:x;password=", "--table"]) {
            assert!(one_line.contains(part), "{target} has {part}: {all}");
        }
        assert!(!all.contains("hush-"), "{target}: {all}");
    }
}

/// Variables of Airflow and blocks of Prefect are shared by all applications, so each application, and each of its
/// actions, has secrets of its own.
#[test]
fn no_two_applications_share_a_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["day-load", "day_load"] {
        let text = "<workflow-app name='NAME' xmlns='uri:oozie:workflow:1.0'><start to='load'/>
            <action name='load'><hive2 xmlns='uri:oozie:hive2-action:1.0'><jdbc-url>jdbc:hive2://h</jdbc-url><password>hush-1</password><query>q</query></hive2>
            <ok to='load_2'/><error to='fail'/></action>
            <action name='load_2'><hive2 xmlns='uri:oozie:hive2-action:1.0'><configuration><property><name>db.password</name><value>hush-2</value></property></configuration>
            <jdbc-url>jdbc:hive2://h</jdbc-url><password>hush-3</password><query>${load_password}</query></hive2>
            <ok to='end'/><error to='fail'/></action><kill name='fail'><message>m</message></kill><end name='end'/></workflow-app>";
        written(folder.path(), &format!("{name}/workflow.xml"), &text.replace("NAME", name));
        written(folder.path(), &format!("{name}/job.properties"), "load_password=hush-4\n");
    }
    let apps = shown(folder.path());
    for (target, files, read, head) in [
        ("airflow", ["dags/day-load.py", "dags/day_load_2.py"], "var.value.", "Airflow to set: "),
        (
            "prefect",
            ["flows/day_load.py", "flows/day_load_2.py"],
            "run.secret(",
            "Create these blocks of type Secret: ",
        ),
    ] {
        let out = folder.path().join(target);
        let report = folder.path().join("report.md");
        let (_, lost, said) =
            convert(&[&apps, "--to", target, "-o", &shown(&out), "--report", &shown(&report)]);
        assert_eq!(lost, "", "{target}: {said}");
        let report = std::fs::read_to_string(&report).expect("a report");
        for (file, owner) in files.into_iter().zip(["day_load__", "day_load_2__"]) {
            let text = std::fs::read_to_string(out.join(file)).expect("a file");
            assert!(!text.contains("hush-") && text.contains(head), "{text}");
            // The property has the name that the password of the first action would get.
            for name in
                ["load_password", "load_password_2", "load_2_db_password", "load_2_password"]
            {
                let name = format!("{owner}{name}");
                let shown = if target == "prefect" { name.replace('_', "-") } else { name.clone() };
                assert!(text.matches(&name).count() >= 1 && text.contains(read), "{name}: {text}");
                assert!(text.contains(&shown), "{shown}: {text}");
                assert!(report.contains(&format!("`{shown}`")), "{shown}: {report}");
            }
        }
    }
}
