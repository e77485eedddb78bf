// Programs whose clients learn addresses of members, or whose Pods pass on what reaches them, as a table.
import type { Client } from './types.ts';

/** Before other programs; as sidecars they say nothing of the Pods that they are in. */
export const BESIDE =
  /exporter|kube-state-metrics|pgbouncer|pgpool|pgcat|pgdog|odyssey|supavisor|proxysql|maxscale|mysql-?router|community-router|shardingsphere-proxy|stolon-proxy|twemproxy|mcrouter|tiproxy|percona\/haproxy/;
/** The same, and the agent that Vault's injector adds. */
export const AGENTS = new RegExp(`${BESIDE.source}|\\bvault[:@]`);
/** Operators and consoles of such programs and proxies of meshes are none of their members, by images without tags (apache/rocketmq-operator#105). */
export const MANAGES =
  /(?:operator|etcd-druid|console|ratel|attu|(?:sync|trino)-gateway|tempo-query|admin-tools|-(?:reaper|webhook|admin|browser|backup|center|ui|manager|express|commander|dashboards?|canary|box|consumer|producer|worker|client|adapter))[^/]*$|\/(?:ui|proxyv2|istio-proxy|envoy)$/;
/** Another Pod of these has data of its own, unless they are set up to copy it (argoproj/argo-cd#4256). */
export const STORES =
  /(?:^|\/)(?:(?:redis|valkey)(?:-cluster|-stack-server)?|keydb|dragonfly|memcached|postgres(?:ql)?(?:-repmgr)?|postgis|pgvector|timescaledb(?:-ha)?|spilo-\d+|mysql(?:-server)?|mariadb(?:-galera)?|(?:percona-server-)?mongo(?:db)?(?:-\w+-server)?|mssql\/server|influxdb|rabbitmq|etcd(?:-custom-image|-wrapper)?|(?:cp-)?zookeeper|(?:cp-(?:enterprise-)?)?kafka|cp-server|redpanda|cassandra|scylla|clickhouse(?:-server)?|elasticsearch|opensearch|neo4j|minio|nats|trino)(?:[:@]|$)/;
/** A public image has the name of its program, and with another one a port is silent (humio/humio-operator#340), unless it is one of a protocol that several programs have; one of a registry of one's own may have any name, and of Pods without a workload the kind of the owner is that of the program. */
export const PUBLIC = /^(?:(?:docker|ghcr|quay|gcr|icr)\.io\/)?[\w/-]+(?:[:@][^/]*)?$/;
export const SILENT = /^:(?!(?:2379|6379|9042|9866|10901|10911|19291|25520|26379|26500|61616)$)/;
/** No setting for zones, and why, or what else there is. */
const none = (why: string) => ({ none: `none${why}` });
type Setting = string | ReturnType<typeof none>;
const NEAR = 'reads from replicas near, where the client can (Lettuce `ReadFrom`, go-redis `RouteByLatency`)';
const BY_SENTINEL = 'Sentinel names the primary, in any zone; who does not ask it may reach a replica (READONLY)';
const BY_RING = 'queriers (distributors, for ingesters) find its Pods in the memberlist ring, and connect to all zones';
/** The older flag was hidden, and of ingest storage alone; grafana/mimir#2284, #3107, #3422 of writes. */
const OF_MIMIR =
  '`-querier.prefer-availability-zones` for reads (from 3.1), or `-querier.prefer-availability-zone` for reads (from 2.14 up to 3.0)';
const OF_INGESTERS = `${OF_MIMIR}, \`-ingester.client.grpc-compression=snappy\` for writes: they go to replicas in all zones, with less to send`;
const OF_WRITES = none(' for zones; `ingester_client.grpc_client_config.grpc_compression: snappy` has them send less');
const OF_KEEPER =
  '`prefer_local_availability_zone` of ClickHouse, 24.7 or newer, in its section `zookeeper` (with `placement` in servers and Keepers), which has to name each Keeper by its Pod';
/** redpanda-data/redpanda#4103, #9780, #11370; docs.redpanda.com "Follower Fetching", "Enable Rack Awareness in Kubernetes" */
const OF_REDPANDA =
  'follower fetching (KIP-392), which Redpanda has from 23.2 on: `client.rack` of consumers, with `enable_rack_awareness` of the cluster and `rack` of each broker (`rackAwareness.enabled: true` of its chart){rack}';
const OF_KAFKA =
  'rack awareness (KIP-392): `client.rack` of consumers, whose library has to have it, with `broker.rack` and `replica.selector.class` of the brokers{rack}';
export const SHARDS = '`cluster-enabled yes`';
const OF_VALKEY = `with ${SHARDS} a client that reads from replicas near (Lettuce \`ReadFrom\`, go-redis \`RouteByLatency\`; Valkey 8.0 and newer: \`availability-zone\` of servers, AZ affinity of rueidis, or of GLIDE, which reads from replicas alone unless it is \`AZ_AFFINITY_REPLICAS_AND_PRIMARY\`)`;
const OF_ROCKETMQ =
  '`-Drocketmq.zone` of brokers and clients, and of these `-Drocketmq.zone.mode=true` (RocketMQ 5; before: `AllocateMachineRoomNearby` of consumers, and a `MessageQueueSelector` of producers by names of brokers; `SelectMessageQueueByMachineRoom` selects nothing; outside: `hostNetwork: true` of its Broker)';
const BY_BROKERS = 'clients learn brokers from the one that they reach, and connect to those, in whatever zone';
const BY_PARTITION = 'clients learn leaders of partitions from brokers, and connect to those or replicas of their rack';
export const BY_LEADER = 'the member reached passes on to the leader (of a queue or the cluster), in whatever zone';
export const BY_ROLES = 'its Pods find others by a membership of their own, and connect to all zones';
const BY_WRITES = 'its Pods write to the ingesters of the ring that a hash names, in all zones';
const BY_QUEUE = 'the server that is reached passes messages on to subscribers at others, in whatever zone';
const OF_POOLER =
  '`enableReplicaConnectionPooler: true` of its postgresql, for reads (from 1.6 of its operator, which owns these objects: their Pods are `connectionPooler.numberOfInstances`)';
/** nats-io/nats-server#8072, #8073 */
const OF_NATS =
  '`no_advertise: true` of servers (clients then know no address but that of a Service), and subscribers of each queue group at servers of every zone: a server prefers its own, and picks others at random';
const BY_STORAGES = 'vminsert and vmselect connect to every vmstorage, of whatever zone, that `-storageNode` names';
const BY_PARTS = 'the Pod that a client reaches takes parts from others, in all zones';
const BY_SHARDS = 'the Pod reached asks those with the shards, in all zones (and clients that sniff connect to these)';
const OF_SHARDS =
  'searches prefer shards near by `cluster.routing.allocation.awareness.attributes` (Elasticsearch up to 7.x, OpenSearch with `cluster.search.ignore_awareness_attributes: false`); clients without sniffing keep to a cluster IP'; // elastic/elasticsearch#45735, docs.opensearch.org "Search shard routing"
const BY_LINKERD = "Linkerd's proxies balance over all addresses that DNS returns, in whatever zone";
const BY_HASH = 'clients find the Pod of a key by its hash, in whatever zone it is';
export const BY_SLOT = 'the member reached names the one with the key, and clients connect to that, in whatever zone';
export const BY_HELLO =
  'drivers learn the members from the one that they reach, and connect to these (older ones with `replicaSet` only; none with `directConnection=true`)';
const BY_COPY = 'what is written at the member that is reached goes on to all others, in all zones';
const BY_QUERY = 'Thanos Query asks every endpoint that it is given, and where DNS has Pods, each of those';
const BY_HASHRING = 'it passes series on to the receivers that their hash names, in whatever zone those are';
const BY_OSD = 'the gateway reads and writes at the OSD that leads a placement group, in whatever zone it is';
const BY_NAME = 'clients take brokers from its name servers, and connect to those, in whatever zone they are';
export const BY_SCRAPE = 'scrapers connect to every Pod behind it';
const OF_SCRAPER = 'a scraper for each zone, which keeps its targets by relabelling (`attach_metadata: {node: true}`)';
const NONE = none(' is known here; its documentation may have one');
/** Hazelcast, Infinispan and Ignite: any member answers for the others (hazelcast/hazelcast#19102). */
export const BY_SMART = 'clients learn the members from the one that they reach, and connect to each of them';
const NOT_SMART = 'clients that are not smart (BASIC, unisocket, no partition awareness) keep to a cluster IP';
export const OF_DATABASE = 'its Pods connect to the database, in whatever zone it is';
const BY_REVISION = 'hardly anything uses this cluster IP: gateways reach activators by other Services, without zones';
const BY_ALERT = 'Prometheus finds its Pods by themselves, and sends each alert to all, in whatever zones they are';
const BY_JOB = 'it has one Pod, and the Pods of the job connect to that and to one another, in whatever zone each is';
export const IN_ONE = 'a nodeSelector or podAffinity for it and what talks to it, by topology.kubernetes.io/zone';
export const RING = /ingester|store-gateway/;

/** Any Pod answers, whatever it asks others for. */
export const ANY_ANSWERS: readonly unknown[] = [BY_LEADER, BY_QUEUE, BY_PARTS, BY_OSD, BY_COPY, BY_SHARDS];
/** Clients take the cluster IP, and what their requests lead to goes on from there. */
export const GOES_ON = [...ANY_ANSWERS, OF_DATABASE, BY_ROLES, BY_WRITES, BY_STORAGES, BY_HASHRING];

/** Of one Pod that has no others. */
export const OF_SEVERAL: readonly unknown[] = [BY_LEADER, BY_QUEUE, BY_PARTS, BY_HELLO];

/** Without a headless Service too: all, all at such a port, or surely so, if of several Pods with that image, or without another port. */
type Always = true | 'surely' | 'several' | 'alone' | RegExp | undefined;

/** By image, port or name: what makes zones count for clients that learn addresses of members. */
const ROWS: readonly (readonly [sign: RegExp, setting: Setting, always?: Always, decides?: string])[] = [
  // VictoriaMetrics/VictoriaMetrics#6516; kubernetes/kube-state-metrics#312, mariadb-corporation/maxscale-docker#57
  [/^scraped$/, OF_SCRAPER, 'surely', BY_SCRAPE],
  [/exporter|kube-state-metrics/, OF_SCRAPER, true, BY_SCRAPE],
  [/acid\/pgbouncer/, OF_POOLER, true, OF_DATABASE], // zalando/postgres-operator#1119
  [/tiproxy/, '`zone` in `location-labels` of PD: from 1.1 on it prefers servers there', true, OF_DATABASE],
  [/twemproxy|mcrouter/, none(': each key is on one server'), true, OF_DATABASE],
  [BESIDE, 'a Service of replicas for reads', true, OF_DATABASE],
  [/^:26379$/, `asking Sentinel (port 26379) for the primary, and ${NEAR}`, 'alone', BY_SENTINEL], // spotahome/redis-operator#368, #106; bitnami/charts#13952
  [/redpanda/, OF_REDPANDA, /^:909\d$/, BY_PARTITION],
  // automq.com "Eliminate Inter-Zone Traffic", AutoMQ tests/kafkatest; docs.warpstream.com, buf.build/docs/bufstream on `client.id`
  [/automq/, '`automq_az=ZONE` in `client.id`, with `automq.zonerouter.channels` of brokers', /^:909\d$/, BY_BROKERS],
  [/warpstream|bufstream/, '`ws_az=ZONE` in `client.id` (of Bufstream `zone=ZONE`)', /^:909\d$/, BY_BROKERS],
  [/kafka-connect/, none(' is needed for its REST API; `consumer.client.rack` of workers for topics'), true, BY_LEADER], // strimzi/strimzi-kafka-operator#6492
  [/kafka-(?:bridge|rest)/, '`client.rack` of its consumers (`rack` of KafkaBridge, Strimzi 0.32)', true, BY_LEADER], // strimzi/strimzi-kafka-operator#6610
  [/(?:pulsar|kafka)-?proxy|kroxylicious/, none(' for a topic: one broker serves it'), true, BY_LEADER], // apache/pulsar#1086, grepplabs/kafka-proxy, kroxylicious/kroxylicious
  [/^(?!.*schema-?registry).*kafka|cp-server/, OF_KAFKA, /^:(?:909\d|9071)$/, BY_PARTITION],
  [/bookie|bookkeeper/, '`bookkeeperClientReorderReadSequenceEnabled` of brokers, with racks of bookies', true], // apache/pulsar#3104, #3119
  [/pulsar|^:6650$/, none(' for a topic: one broker serves it; near clients by `ns-isolation-policy`'), /^:665\d$/],
  [/nsq(?:io|d|lookupd)/, '`--topology-zone` of nsqd, and the zone of consumers (after April 2024)', true, BY_NAME], // nsqio/nsq#1301, nsqio.github.io#89
  [/emqx|vernemq|hivemq\d?/, NONE, true, BY_QUEUE], // emqx-docs "Node Evacuation and Cluster Load Rebalancing"; vernemq/vernemq#2175
  [/galera|xtradb-cluster/, '`gmcast.segment` by zone in `wsrep_provider_options` (once to each)', true, BY_COPY], // percona.com "New wsrep_provider_options in Galera 3.x"
  [/\bnats\b|^:4222$/, OF_NATS, 'several', BY_QUEUE],
  // rabbitmq/cluster-operator#1242, hashicorp/vault-helm#347
  [/rabbitmq/, '`rabbitmq-queues rebalance all` after restarts; clients of a queue near its leader', true, BY_LEADER],
  [/\bvault(?:-enterprise)?[:@]|openbao|zeebe|^:26500$/, none(': which member leads is elected'), 'several', BY_LEADER],
  // etcd-io/etcd Documentation/faq.md, gardener/etcd-druid#1225, docs.camunda.io "Zeebe Gateway"
  [/\betcd\b|^:2379$/, 'serializable reads: the member that is reached answers them', true, BY_LEADER],
  // ClickHouse/ClickHouse#55110, #65570; typesense.org "High Availability"; docs.confluent.io "Single Primary Architecture"
  [/clickhouse-keeper/, OF_KEEPER, true, BY_LEADER],
  [/zookeeper|typesense|schema-?registry|^:2181$/, 'reads need none: any member answers them', true, BY_LEADER],
  [/consul-server/, 'reads with `stale`: the server that is reached answers them', true, BY_LEADER],
  [/mimir.*ingester/, OF_INGESTERS, 'surely', BY_RING], // grafana/mimir#10214, #13045, #13756
  [/mimir.*store-gateway/, OF_MIMIR, 'surely', BY_RING],
  [/(?:loki|mimir|tempo|cortex).*(?:ingester|store-gateway)|^(?:ingester|store-gateway)$/, NONE, 'surely', BY_RING],
  [/(?:loki|mimir|tempo|cortex).*(?:write|distributor)(?:-headless)?$/, OF_WRITES, 'surely', BY_WRITES], // grafana/loki#19558, #24180 (open), grafana/mimir#3107, grafana/tempo#4606, cortexproject/cortex-jsonnet#47
  [/-(?:chunks|index|metadata|results)-cache$/, 'a cache by zone (Mimir: in jsonnet, not its chart)', true, BY_HASH], // grafana/mimir#13636, #16177
  [/grafana\/(?:mimir|loki|tempo|pyroscope|enterprise-\w+)|cortex(?!-t)|temporalio|^:723[3-5]$/, NONE, true, BY_ROLES],
  [/vm(?:storage|insert|select)/, 'a cluster for each zone, behind vmauth with `first_available`', true, BY_STORAGES], // VictoriaMetrics/VictoriaMetrics#4792
  [/vttablet|vtgate|\bvitess\b/, '`--cell` of vtgate by zone: it prefers replicas there', true, BY_ROLES], // vitessio/vitess#3355
  [/-(?:driver|head)-svc$/, `${IN_ONE} (\`spark.kubernetes.node.selector.*\` of Spark)`, true, BY_JOB], // kubeflow/spark-operator#2102, kuberay#2117
  [/-serve-svc$/, none(' is needed: `RAY_SERVE_PROXY_PREFER_LOCAL_AZ_ROUTING` is on by default'), true, BY_PARTS], // ray-project/ray python/ray/serve/_private/constants.py
  [/talon-gateway/, '`TALON_ZONE_AFFINITY=true` (and `TALON_ZONE`, or its Node)', true, BY_ROLES], // milvus-io/talon#532
  [/\btrino\b/, '`node-scheduler.policy=topology`, with `node-scheduler.network-topology.*`', true, BY_ROLES], // trino#15705
  [/\bspegel/, 'a release of its chart for each zone, by `nodeSelector`', true, BY_ROLES], // spegel-org/spegel#461
  // apache/druid#18136; docs.pinot.apache.org "Query Options"; doris.apache.org "Resource Group"; seaweedfs#1608, #3404
  [/\bdruid/, '`druid.broker.select.tier=preferred`, a tier by zone (releases after July 2025)', true, BY_ROLES],
  [/\bpinot/, '`orderedPreferredPools` of queries, a pool of servers by zone (1.4 and newer)', true, BY_ROLES],
  [/\bdoris/, '`resource_tags.location` of users, with backends grouped by zone', true, BY_ROLES],
  [/keycloak\S*-(?:headless|discovery)$/, `${IN_ONE} (guides of Keycloak 25, for embedded caches)`, true, BY_PARTS], // keycloak/keycloak#29258, #29581
  [/seaweedfs/, '`-dataCenter` of filers and volume servers by zone (releases after August 2022)', true, BY_PARTS],
  [/\b(?:starrocks|milvus|skywalking-oap|spicedb|quickwit|risingwave|greptime|presto)/, NONE, true, BY_ROLES], // apache/skywalking advanced-deployment.md; authzed/docs#387; quickwit-oss/quickwit node-config.md; docs.risingwave.com, docs.greptime.com on architecture; prestodb/presto concepts.rst
  [/\balluxio\b/, '`alluxio.locality.rack` with the zone, of workers and clients', true, BY_SLOT], // Alluxio/alluxio#7893
  [/\baisnode\b/, 'an AIStore cluster for each zone', true, BY_SLOT], // NVIDIA/aistore#185
  [/\bminio\b|dgraph|impala|m3coordinator|^:25520$|qdrant|weaviate|thanos-query?\w*/, NONE, true, BY_PARTS], // thanos-io/thanos#5335; docs.cloudera.com "Apache Impala Overview"; m3db.io "M3 Coordinator"; doc.akka.io reference.conf, "Cluster Sharding"
  [/thanos-receive|^:19291$/, '`az` in hashrings.json (ketama, from 0.32 on) spreads copies', true, BY_HASHRING], // thanos.io/tip/components/receive.md; thanos-io/thanos#3820, #6369
  [/ceph-rgw/, '`gateway.readAffinity.type: localize` of its CephObjectStore, for reads (Ceph 20)', true, BY_OSD], // rook/rook#15588, #15762
  [/thanos-store\w*|^:10901$/, '`--endpoint-group` for replicas: asks one, in any zone', true, BY_QUERY],
  // apache/rocketmq-operator#105, apache/rocketmq#3306, #4382
  [/^:10911$/, OF_ROCKETMQ, 'surely', BY_NAME],
  [/rocketmq/, OF_ROCKETMQ, /^:9876$/, BY_NAME],
  // ARTEMIS-1322; docs.couchbase.com "Replica reads"; aerospike-client-python#422; neo4j/neo4j#13419; SOLR-13445; hazelcast#16678
  [/activemq(?!-artemis)/, 'a transportConnector without `updateClusterClients` (the default)', true],
  [/artemis|^:61616$/, '`useTopologyForLoadBalancing=false` of clients keeps to a cluster IP', true],
  [/couchbase/, '`preferredServerGroup` of clients, for reads from replicas', true],
  [/aerospike/, 'rack-aware reads of clients (`PREFER_RACK`), with racks by zone', true],
  [/neo4j|^:7687$/, 'a server policy by zone that clients name (`?policy=`); `bolt:` keeps to a cluster IP', true],
  [/\bsolr\b|^:8983$/, '`shards.preference=node.sysprop:` with a property for the zone', true, BY_PARTS],
  // pingcap/tidb#28470, docs#10397, tiproxy#546, tidb-operator#5649, cockroachlabs.com "Follower Reads", cockroach-operator#106; yugabyte-db#12462, #14743
  [/tikv/, '`tidb_replica_read=closest-replicas` of TiDB'],
  [/tidb/, '`zone` in `location-labels` (TiProxy needs it), `tidb_replica_read=closest-replicas`', true, BY_PARTS],
  [/cockroach/, '`--locality` with the zone, and reads `AS OF SYSTEM TIME follower_read_timestamp()`', true, BY_PARTS],
  [/yugabyte/, '`load_balance=true` and `topology_keys` with its zone, in smart drivers'],
  [/cassandra|cass-man\w*|scylla|^:9042$/, 'a policy of the driver that prefers its own zone as local rack', /^:9042$/],
  [/infinispan|hazelcast|ignite|^:(?:11222|5701)$/, NOT_SMART, /^:(?:11222|5701)$/, BY_SMART],
  [/mongos\b|mongodb-sharded/, '`readPreference=nearest`, or tags of its zone, for reads', true, BY_PARTS],
  [/mongo(?!.*-search)|^:27017$/, '`readPreference=nearest`, or tags of its zone, for reads', 'several', BY_HELLO], // mongodb/specifications server-discovery-and-monitoring; mongodb-kubernetes-operator#146, #1029
  [/hdfs|^:9866$/, '`net.topology.script.file.name` of NameNodes, a rack for each zone', true], // hadoop.apache.org "Rack Awareness"
  [/nebula-graphd/, '`prioritize_intra_zone_reading` of graphd (Enterprise)', true, BY_ROLES], // vesoft-inc/nebula-docs#2250
  [/skupper-router/, 'the cost of links between sites', true, 'its Pods are routers, which send on to sites'],
  [/serving\/cmd\/activator/, none(' is there, short of a cluster for each zone'), 'surely', BY_REVISION], // knative/serving#13581, #14615
  [/prometheus\/alertmanager:/, none(' is needed: all of them are to get each alert'), 'several', BY_ALERT], // prometheus.io/docs/alerting/latest/alertmanager "High Availability"
  [/^linkerd-(?:dst|identity|policy)-headless$/, none('; its chart sets the name'), 'surely', BY_LINKERD], // linkerd/linkerd2#10543
  [/-dapr$/, none(' for calls by Dapr; one by the name of the Service takes its cluster IP (dapr/dapr#3794)')],
  [/^(?!.*keeper).*clickhouse/, '`load_balancing=nearest_hostname` for distributed queries; replication crosses'],
  [/memcached|^:11211$/, none(': each key is on one member, and one in a zone of its own misses writes elsewhere')], // bitnami/charts#5201
  // PayU/redis-operator#152; redis.io "Redis cluster specification"
  [/^`cluster-enabled yes`$/, OF_VALKEY, 'surely', BY_SLOT], // redis/rueidis#934
  [/(?:redis|valkey)-?cluster/i, OF_VALKEY, 'several', BY_SLOT],
  [/^(?!.*(?:keydb|dragonfly)).*(?:redis|valkey)|^:6379$/, OF_VALKEY], // valkey-io/valkey-io.github.io#186
  [/elasticsearch|opensearch|wazuh-indexer|graylog-datanode|^:9200$/, OF_SHARDS, true, BY_SHARDS],
];

/** By whole words: cortexlabs/istio-proxy is no Cortex (cortexlabs/cortex#2159), cockroachdb is Cockroach. */
export const MEMBERS = ROWS.map(([{ source, flags }, setting, ...row]) => {
  const [from, to] = ['(?:(?<![a-z])|(?![a-z]))', '(?:db)?(?:(?<![a-z])|(?![a-z]))'];
  const own = typeof setting === 'string' ? { setting, none: undefined } : { setting: setting.none, none: true };
  return [new RegExp(`${from}(?:${source})${to}`, flags), own, ...row] as const;
});

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z\d]/g, '');
/** Settings that these rows name: `key`, `key=value` or `key: value`. */
const NAMED = [...new Set(MEMBERS.flatMap(([, { setting }]) => setting.match(/`[^`]{9,}`/g) ?? []))];
/** Whether names that Spring Cloud Kubernetes calls lead to its Pods: in one line, or in lines of YAML. */
const SPRING_MODE = /loadbalancer(?:\n\w*){0,6}?\n?mode(pod|service)$/m;
/** Which of them lines, variables or arguments have, in whatever way they are written. */
export const settingsIn = (texts: readonly string[]): string[] => {
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => !/^\s*#|false/i.test(line));
  const all = lines.map(plain).join('\n');
  const ofSpring = all.includes('spring') ? SPRING_MODE.exec(all)?.slice(1) : undefined;
  return [...NAMED.filter((text) => all.includes(plain(text))), ...(ofSpring ?? [])];
};

/** Own names of the age at which servers end connections: grafana/mimir#3860, #3862; configgrpc README; Jaeger flags.go; Thanos components; tensorflow_serving main.cc, openvinotoolkit/model_server cli_parser.cpp. */
export const AGES: Readonly<Record<string, RegExp>> = {
  '`-server.grpc.keepalive.max-connection-age=30s`': /^(?!.*otlp).*\/(?:mimir|loki|tempo|pyroscope|cortex)[:@]/,
  '`keepalive.server_parameters.max_connection_age`': /opentelemetry|otelcol|\/(?:alloy|jaeger):|otlp.*\/tempo:/,
  '`--collector.grpc-server.max-connection-age=30s`': /^(?!.*otlp).*jaeger-collector[:@]/,
  '`--grpc-server-max-connection-age`, 60m by default': /\/thanos[:@]/,
  '`--grpc_channel_arguments=grpc.max_connection_age_ms=30000`': /tensorflow\/serving|openvino\/model_server/,
};

/** Cilium reads affinity of global Services alone (cilium/cilium#23298). */
const NOT_GLOBAL = /^(?![^]*\bglobal(?:-service)?=true)/i;
/** Up to 1.17 any other value is none (cilium/cilium#46623). */
const BY_AFFINITY = /cilium\S*affinity=(?:(?:local|remote)$|.(?![^]*\bcilium:v1\.(?:\d|1[0-7])\.))/im;

/** Who chooses among clusters, Pods of functions and models, and of what Istio has beside Services. */
export const OTHERS = {
  'cilium-clustermesh': {
    decides:
      'Cilium adds the endpoints of other clusters, which are not among these objects and get their share (before 1.19 without zones: no hint keeps to them); what reads slices (ingress controllers) does not see them without `clustermesh.enableEndpointSliceSynchronization=true` of its chart (from 1.16) and annotation service.cilium.io/global-sync-endpoint-slices: "true"',
    setting:
      'Cilium 1.19 or newer in all clusters, or `kubectl annotate service {service} -n {namespace} --overwrite service.cilium.io/affinity=local` (from 1.13), or annotation `shared` (before 1.13 `shared-service`) "false" on it in the other clusters (here it keeps none of theirs out)',
    adds: true,
    source: 'cilium/cilium#24494, #28440, #29200, #31609, #19042',
    unless: BY_AFFINITY,
  },
  'cilium-clustermesh/none': {
    decides:
      'Cilium sends to the endpoints of other clusters, near and far alike, which are not among these objects (1.18 and 1.19 before April 2026 have those of one alone of the ports that share a target port: cilium/cilium#45109)',
    setting:
      'where ports share one, an update of Cilium, or a target port for each; for zones a global Service of another name in each cluster, which clients choose by name: affinity knows this cluster and the others as one, and changes nothing without an endpoint here',
    adds: true,
    source: 'cilium/cilium#29200',
    unless: BY_AFFINITY,
  },
  'cilium-clustermesh/headless': {
    decides: 'names of a headless Service give addresses of other clusters where Cilium copies their slices',
    setting: '`clustermesh.enableEndpointSliceSynchronization=true` of its chart (from 1.16), in each cluster',
    source: 'cilium/cilium#7070, #28440, #32021',
  },
  'cilium-clustermesh/unknown': {
    decides:
      'Cilium 1.18, and 1.19 before June 2026, take an affinity other than local and remote, `none` too, for one of its own: it leaves out the endpoints of other clusters',
    setting: '`kubectl annotate service {service} -n {namespace} service.cilium.io/affinity-`, so that all count',
    source: 'cilium/cilium#46623, #46635',
    unless: /^(?![^]*\bglobal(?:-service)?=true)|\bcilium:v1\.(?:\d|1[0-7])\./i,
  },
  'cilium-clustermesh/remote': {
    decides:
      'Cilium sends to other clusters while an endpoint of the Service is ready there (it has to be global and shared there too), else to those of these objects',
    setting: '`kubectl annotate service {service} -n {namespace} --overwrite service.cilium.io/affinity=local`',
    adds: true,
    source: 'cilium/cilium pkg/clustermesh/selectbackends.go; #31609',
    unless: NOT_GLOBAL,
  },
  'istio-ambient/unselected': {
    decides:
      'ztunnel was seen to have no endpoint of a Service without a selector, so that connections to it fail; by the source of newer releases it has those whose slices name Pods (`targetRef`), with the zones of their Nodes: `istioctl ztunnel-config services` shows what it has',
    how: 'was seen to have no endpoint of a Service without a selector',
    setting: 'a selector for its Pods, which what writes the Service has to set',
    source: 'istio/istio#60951, #51921, pilot/pkg/serviceregistry/kube/controller/ambient/workloads.go',
  },
  'istio-entry': {
    decides: 'for its hosts proxies of Istio choose among the Pods, not by hints or settings of the Service',
    setting: 'a DestinationRule for its host with `outlierDetection`',
    source: 'istio.io "Service Entry"; istio/istio#25110',
  },
  'istio-entry/adds': {
    decides: 'proxies of Istio may take its addresses, which no slice has, for endpoints of the Service',
    setting: '`locality` (`region/zone`) of these, by which their zones count, or other labels, or another host',
    unsure: true,
    source: 'istio/istio architecture/networking/pilot.md; #14496, #33546, #34755, #37008, #53127',
  },
  knative: {
    decides:
      'its activator and gateways choose Pods, without zones (each activator for itself, by containerConcurrency: up to 3 the first with room, above in turn, at 0 the emptier of two, up to 1.10 the first of two idle ones), and while burst capacity does not suffice the endpoints are those of its activator, which stays in the path (mode Proxy of the ServerlessService)',
    setting: '`autoscaling.knative.dev/target-burst-capacity: "0"` of its template leaves cold starts to the activator',
    source: 'knative/serving#13316, #13581, #7087, #12593; knative/docs#2559',
  },
  openfaas: {
    decides: 'the gateway of OpenFaaS sends to Pods that it looks up, of any zone (direct_functions is not true)',
    setting: '`gateway.directFunctions=true` of its chart: then it keeps connections to the cluster IP',
    source: 'openfaas/faas-netes#706 and pkg/k8s/proxy.go',
    unless: /direct_functions/,
  },
  'inference-pool': {
    decides: 'Gateways that name this pool send to the Pod that its endpoint picker chooses, by load and caches',
    setting: 'a picker that looks at zones (llm-d: `topology-affinity-scorer`, of prefill Pods for the decode Pod)',
    source: 'gateway-api-inference-extension; llm-d/llm-d-router#545, #2299',
  },
  hairpin: {
    decides: 'it names a host of the routes: that leads to their gateway and to any zone, unless DNS says otherwise',
    setting: '`{service}.{namespace}.svc` there, or a `rewrite` of {value} to the gateway in the Corefile of CoreDNS',
    source: 'kubernetes-sigs/aws-load-balancer-controller#4803; istio/istio#6591, SeldonIO/seldon-core#3485',
  },
  'keda-interceptor': {
    decides: "KEDA's HTTP interceptor sends requests to ready Pods of any zone (from 0.16 on)",
    setting: '`KEDA_HTTP_DIRECT_POD_ROUTING=false` (chart: interceptor.extraEnvs) sends them to the cluster IP',
    source: 'kedacore/http-add-on#1585; kedacore/keda-docs#1832',
  },
} satisfies Readonly<Record<string, Client>>;
