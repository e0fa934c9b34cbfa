import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.HiveMetaStoreClient;
import org.apache.hadoop.hive.metastore.api.*;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf.ConfVars;
import org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge;

/**
 * A metastore of Hive 3 with Derby in FOLDER, on PORT of this machine, with the table `sales.orders (n int)`, which is partitioned
 * by `day string, hour int`. Prints `ready`; then adds a partition for each line `DAY HOUR` that it reads, and prints `added`.
 */
public class HiveMetastore {
    public static void main(String[] args) throws Throwable {
        String folder = args[0];
        int port = Integer.parseInt(args[1]);
        Configuration conf = MetastoreConf.newMetastoreConf();
        MetastoreConf.setVar(conf, ConfVars.CONNECT_URL_KEY, "jdbc:derby:;databaseName=" + folder + "/db;create=true");
        MetastoreConf.setVar(conf, ConfVars.CONNECTION_DRIVER, "org.apache.derby.jdbc.EmbeddedDriver");
        MetastoreConf.setVar(conf, ConfVars.WAREHOUSE, folder + "/warehouse");
        MetastoreConf.setBoolVar(conf, ConfVars.SCHEMA_VERIFICATION, false);
        MetastoreConf.setBoolVar(conf, ConfVars.AUTO_CREATE_ALL, true);
        MetastoreConf.setVar(conf, ConfVars.EXPRESSION_PROXY_CLASS, "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy");
        MetastoreConf.setVar(conf, ConfVars.TASK_THREADS_ALWAYS, "org.apache.hadoop.hive.metastore.events.EventCleanerTask");
        Thread server = new Thread(() -> {
            try {
                HiveMetaStore.startMetaStore(port, HadoopThriftAuthBridge.getBridge(), conf);
            } catch (Throwable thrown) {
                thrown.printStackTrace();
                System.exit(1);
            }
        });
        server.start();
        MetastoreConf.setVar(conf, ConfVars.THRIFT_URIS, "thrift://localhost:" + port);
        MetastoreConf.setLongVar(conf, ConfVars.THRIFT_CONNECTION_RETRIES, 60);
        HiveMetaStoreClient client = new HiveMetaStoreClient(conf);
        client.createDatabase(new Database("sales", "", folder + "/warehouse/sales.db", new HashMap<>()));
        client.createTable(table("orders", folder));
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            add(client, folder, line.split(" ")[0], line.split(" ")[1]);
            System.out.println("added");
        }
        System.exit(0);
    }

    static Table table(String name, String folder) {
        SerDeInfo serde = new SerDeInfo("s", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", new HashMap<>());
        List<FieldSchema> columns = new ArrayList<>(), keys = new ArrayList<>();
        columns.add(new FieldSchema("n", "int", ""));
        keys.add(new FieldSchema("day", "string", ""));
        keys.add(new FieldSchema("hour", "int", ""));
        StorageDescriptor storage = new StorageDescriptor(columns, folder + "/warehouse/sales.db/" + name, "org.apache.hadoop.mapred.TextInputFormat",
            "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat", false, 0, serde, new ArrayList<>(), new ArrayList<>(), new HashMap<>());
        return new Table(name, "sales", "root", 0, 0, 0, storage, keys, new HashMap<>(), null, null, "MANAGED_TABLE");
    }

    static void add(HiveMetaStoreClient client, String folder, String day, String hour) throws Exception {
        StorageDescriptor storage = client.getTable("sales", "orders").getSd();
        storage.setLocation(folder + "/warehouse/sales.db/orders/day=" + day + "/hour=" + hour);
        List<String> values = new ArrayList<>();
        values.add(day);
        values.add(hour);
        client.add_partition(new Partition(values, "sales", "orders", 0, 0, storage, new HashMap<>()));
    }
}
