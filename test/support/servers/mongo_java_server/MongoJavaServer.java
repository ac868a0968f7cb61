// Starts mongo-java-server for the tests: PORT DATA_FILE KEY_STORE, the last two empty for data in memory and for no
// TLS.
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.ServerVersion;
import de.bwaldvogel.mongo.backend.AbstractMongoBackend;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.io.FileInputStream;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.List;

public class MongoJavaServer {
    // It reports the wire version of MongoDB 4.2 with the version 5.0.0, and current drivers speak to 4.4 and later
    // only.
    private static class CurrentVersion implements MongoVersion {
        public List<Integer> getVersionArray() {
            return ServerVersion.MONGO_5_0.getVersionArray();
        }

        public int getWireVersion() {
            return 9;
        }
    }

    public static void main(String[] arguments) throws Exception {
        AbstractMongoBackend backend = arguments[1].isEmpty() ? new MemoryBackend() : new H2Backend(arguments[1]);
        backend.version(new CurrentVersion());
        MongoServer server = new MongoServer(backend);
        if (!arguments[2].isEmpty()) {
            enableTls(server, arguments[2]);
        }
        server.bind("127.0.0.1", Integer.parseInt(arguments[0]));
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
        System.out.println("ready");
    }

    private static void enableTls(MongoServer server, String path) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (FileInputStream input = new FileInputStream(path)) {
            store.load(input, "secret".toCharArray());
        }
        PrivateKey key = (PrivateKey) store.getKey("server", "secret".toCharArray());
        server.enableSsl(key, null, (X509Certificate) store.getCertificate("server"));
    }
}
