import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Base64;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * The application master of a program that ankus starts in a cluster: registers, runs `sh run.sh` in the container it has itself,
 * reports that it is alive, and ends as the program does.
 *
 * YARN ends a master that does not register or goes silent for ten minutes, and takes one that ends without a word for a failure, so
 * a plain command is not enough. What the program left behind goes back in the diagnostics of the application: the exit code, the
 * beginning of its output and the end of its errors, as words of base64. The logs of the container have all of it.
 *
 * Compiled with `javac --release 8 -g:none -cp "$(hadoop classpath)" AnkusMaster.java`, beside it.
 */
public final class AnkusMaster {
    /** So many bytes of a file go back; the diagnostics of an application hold 64 KB. */
    private static final int MOST = 12 << 10;

    private AnkusMaster() {}

    public static void main(String[] arguments) throws Exception {
        AMRMClient<ContainerRequest> manager = AMRMClient.createAMRMClient();
        manager.init(new YarnConfiguration());
        manager.start();
        manager.registerApplicationMaster("", -1, "");
        File out = new File(arguments[0], "stdout");
        File err = new File(arguments[0], "stderr");
        ProcessBuilder builder = new ProcessBuilder("sh", "./run.sh");
        builder.redirectInput(new File("/dev/null"));
        builder.redirectOutput(out);
        builder.redirectError(err);
        Process program = builder.start();
        while (!program.waitFor(1, java.util.concurrent.TimeUnit.SECONDS)) {
            manager.allocate(0.1f);
        }
        int code = program.exitValue();
        String said = "ankus exit " + code
            + " stdout " + out.length() + " " + part(out, false)
            + " stderr " + err.length() + " " + part(err, true)
            + file(" output.properties ", new File("output.properties"))
            + file(" counters.json ", new File("counters.json")) + " .";
        FinalApplicationStatus status =
            code == 0 ? FinalApplicationStatus.SUCCEEDED : FinalApplicationStatus.FAILED;
        manager.unregisterApplicationMaster(status, said, "");
        manager.stop();
        // Threads of the client do not keep a container.
        System.exit(code == 0 ? 0 : 1);
    }

    private static String file(String name, File file) throws IOException {
        return file.isFile() ? name + file.length() + " " + part(file, false) : "";
    }

    /** The beginning or the end of a file; a dash where it is empty. */
    private static String part(File file, boolean end) throws IOException {
        try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
            int length = (int) Math.min(MOST, in.length());
            byte[] bytes = new byte[length];
            in.seek(end ? in.length() - length : 0);
            in.readFully(bytes);
            return length == 0 ? "-" : Base64.getEncoder().encodeToString(bytes);
        }
    }
}
