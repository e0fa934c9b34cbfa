import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Properties;
import org.apache.oozie.client.AuthOozieClient;
import org.apache.oozie.client.BulkResponse;
import org.apache.oozie.client.BundleJob;
import org.apache.oozie.client.CoordinatorAction;
import org.apache.oozie.client.CoordinatorJob;
import org.apache.oozie.client.OozieClient;
import org.apache.oozie.client.OozieClientException;
import org.apache.oozie.client.WorkflowAction;
import org.apache.oozie.client.WorkflowJob;

/**
 * The Java API of the real client against a server: its address and the folder of applications (`tidy`, `slow`, `daily`, `all`) are
 * given. Each thing that works is a line `ok …`; the first that does not ends it with its exception.
 */
public class OozieApi {
    private final OozieClient client;
    private final String apps;

    private OozieApi(OozieClient client, String apps) {
        this.client = client;
        this.apps = apps;
    }

    public static void main(String[] arguments) throws Exception {
        OozieApi api = new OozieApi(new OozieClient(arguments[0]), arguments[1]);
        api.server();
        api.workflow();
        api.commands();
        api.coordinator();
        api.bundle();
        OozieApi simple = new OozieApi(new AuthOozieClient(arguments[0], "SIMPLE"), arguments[1]);
        simple.workflow();
        ok("AuthOozieClient with simple authentication");
    }

    private static void ok(String what) {
        System.out.println("ok " + what);
    }

    private static void is(Object expected, Object actual) {
        if (!expected.equals(actual)) {
            throw new AssertionError("expected " + expected + ", and it is " + actual);
        }
    }

    private Properties of(String property, String application) {
        Properties conf = client.createConfiguration();
        conf.setProperty(property, apps + "/" + application);
        conf.setProperty("nameNode", "hdfs://nn");
        return conf;
    }

    private void reaches(String id, String status) throws Exception {
        for (int i = 0; i < 300; i++) {
            if (client.getStatus(id).equals(status)) {
                return;
            }
            Thread.sleep(50);
        }
        throw new AssertionError(id + " is " + client.getStatus(id) + " and not " + status);
    }

    private void server() throws Exception {
        is(OozieClient.SYSTEM_MODE.NORMAL, client.getSystemMode());
        is(true, client.getServerBuildVersion().contains("5.2.1"));
        client.validateWSVersion();
        if (client.getServerConfiguration().isEmpty() || client.getMetrics() == null) {
            throw new AssertionError("no configuration, or no metrics");
        }
        ok("the server");
    }

    private void workflow() throws Exception {
        Properties conf = of(OozieClient.APP_PATH, "tidy");
        is("OK", client.dryrun(conf));
        String id = client.submit(conf);
        reaches(id, "PREP");
        client.start(id);
        reaches(id, "SUCCEEDED");
        WorkflowJob job = client.getJobInfo(id);
        is("tidy", job.getAppName());
        is(WorkflowJob.Status.SUCCEEDED, job.getStatus());
        is(3, job.getActions().size());
        WorkflowAction action = client.getWorkflowActionInfo(id + "@make");
        is(WorkflowAction.Status.OK, action.getStatus());
        is("end", action.getTransition());
        is(true, client.getJobDefinition(id).contains("<workflow-app"));
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        client.getJobLog(id, null, null, "", new PrintStream(log));
        is(true, log.toString().contains("SUCCEEDED"));
        conf.setProperty(OozieClient.RERUN_FAIL_NODES, "false");
        client.reRun(id, conf);
        reaches(id, "SUCCEEDED");
        is(1, client.getJobInfo(id).getRun());
        List<WorkflowJob> jobs = client.getJobsInfo("name=tidy;status=SUCCEEDED", 1, 10);
        // Workflows of coordinators that were run again begin meanwhile.
        is(true, jobs.stream().anyMatch(listed -> listed.getId().equals(id)));
        try {
            client.getJobInfo("0000000-000000000000000-none-W");
            throw new AssertionError("a job that is not there was found");
        } catch (OozieClientException expected) {
            is("E0604", expected.getErrorCode());
        }
        ok("a workflow");
    }

    private void commands() throws Exception {
        Properties conf = of(OozieClient.APP_PATH, "slow");
        String id = client.run(conf);
        reaches(id, "RUNNING");
        client.suspend(id);
        reaches(id, "SUSPENDED");
        client.resume(id);
        reaches(id, "RUNNING");
        client.kill(id);
        reaches(id, "KILLED");
        String other = client.run(conf);
        reaches(other, "RUNNING");
        client.killJobs("name=slow;status=RUNNING", "wf", 1, 50);
        reaches(other, "KILLED");
        ok("commands, of one job and of many");
    }

    private void coordinator() throws Exception {
        String id = client.run(of(OozieClient.COORDINATOR_APP_PATH, "daily"));
        reaches(id, "SUCCEEDED");
        CoordinatorJob job = client.getCoordJobInfo(id);
        is("daily", job.getAppName());
        is(2, job.getActions().size());
        CoordinatorAction action = client.getCoordActionInfo(id + "@1");
        is(CoordinatorAction.Status.SUCCEEDED, action.getStatus());
        is(2, client.getCoordJobInfo(id, "status=SUCCEEDED", 1, 10, "desc").getActions().get(0).getActionNumber());
        is(1, client.reRunCoord(id, "action", "1", false, true).size());
        is(1, client.getCoordJobsInfo("name=daily", 1, 10).size());
        ok("a coordinator");
    }

    private void bundle() throws Exception {
        String id = client.submit(of(OozieClient.BUNDLE_APP_PATH, "all"));
        reaches(id, "PREP");
        client.start(id);
        reaches(id, "SUCCEEDED");
        BundleJob job = client.getBundleJobInfo(id);
        is(1, job.getCoordinators().size());
        is(1, client.getBundleJobsInfo("name=all", 1, 10).size());
        List<BulkResponse> bulk = client.getBulkInfo("bundle=all;actionstatus=SUCCEEDED", 1, 10);
        is(2, bulk.size());
        is("all", bulk.get(0).getBundle().getAppName());
        ok("a bundle");
    }
}
