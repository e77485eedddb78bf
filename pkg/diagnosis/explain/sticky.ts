// What keeps a client with one endpoint, in its zone or not: affinity, a scheduler that hashes addresses, one connection for all requests.
import type { ServicePort } from '../../apis/core.ts';
import { objectTitle, workloadTitle } from '../../apis/values.ts';
import { TRAEFIK } from '../bypasses/clients.ts';
import { AGES, BY_ROLES } from '../bypasses/programs.ts';
import { AS_TCP } from '../bypasses/kinds.ts';
import type { RouterName } from '../routers/types.ts';
import { isOnEveryNode } from './ask.ts';
import { type Facts, portOfPods } from './facts.ts';
import { type Cause, cause, counted, listed, saying } from './reasons.ts';

/** Of sidecars that balance nothing, as the endpoint is picked before. */
export const blindCauses = ({ blind, name }: Facts): Cause[] =>
  blind.map(({ client, evidence: { object }, sockets: [plane, , , remedy] }) => {
    const picked = `${plane} replaces the cluster IP of Service ${name} when a Pod connects: the sidecar of ${client === 'istio' ? 'Istio' : 'Linkerd'} (${object}) sees the endpoint that was picked, and balances nothing.`;
    return cause('used', 'StickyClients', picked, remedy);
  });

// kubernetes/kubernetes#121590; mh takes ports into account (#115527).
const SCHEDULER_REMEDY = 'Use another scheduler of IPVS: `rr` (the default), or from 1.27 on `mh`, which counts ports.';
/** kube-router pkg/controllers/proxy; dh hashes the cluster IP, of which there is one. */
const SCHEDULER = 'kube-router.io/service.scheduler';

const OVER_ALL =
  'et clients balance over all Pods (gRPC: `round_robin`, which takes a headless Service and `dns:///` before its name), or put a proxy in between that balances requests (a mesh, a Gateway).';
const OF_AGE = `Limit the age of connections at the server (gRPC: MAX_CONNECTION_AGE) or in pools of clients, l${OVER_ALL}`;
const OF_DNS =
  'Let clients balance over all Pods (gRPC: `round_robin`, and `dns:///` before the name of the Service), and limit the age of connections at the server (gRPC: MAX_CONNECTION_AGE) or in pools of clients, after which they see Pods that were added. Or put a proxy in between that balances requests (a mesh, a Gateway).';
/** istio/istio#7878, #10870 (its chart sets it) */
const OF_PILOT = 'Have istiod end connections: `--keepaliveMaxServerConnectionAge=30m` among its arguments (from 1.1).';
const OF_NGINX = // nginxinc/NGINX-Demos#54; nginx.org "Module ngx_http_upstream_module"
  'In that upstream give the server `resolve`, with `zone` and a `resolver` that has `valid=` (NGINX 1.27.3 and newer, or Plus). Before: a variable as the host of `proxy_pass`, with such a `resolver`, or a reload of NGINX once Pods were added; or an Ingress controller or a Gateway in its place, which follows Pods.';
/** What has gateways end connections of their clients, by images of their Pods: kubernetes/ingress-nginx#5947; traefik/traefik#9034, #10247; istio/istio#22635, #27280. */
const OF_GATEWAY: Readonly<Record<string, RegExp>> = {
  'Have NGINX end connections after fewer requests: `keep-alive-requests` in the ConfigMap of its controller (of old releases `http2-max-requests` too), or take HTTP/1.1 (`use-http2: "false"`).':
    /ingress-nginx/,
  'Have Traefik end connections after a time: `--entryPoints.<name>.transport.keepAliveMaxTime` (or `keepAliveMaxRequests`; releases from 2024 on).':
    TRAEFIK.image,
  'Have the gateway end connections after a time: an EnvoyFilter (context GATEWAY) that gives its connection manager `common_http_protocol_options.max_connection_duration`.':
    /^image (?:auto|\S+\/proxyv2[:@]\S+)$/,
};
/** What helps with protocols whose clients keep a connection, by name, application protocol or number of a port, by the Service, or by who calls it. */
const KEPT: Readonly<Record<string, RegExp>> = {
  'Have the route name the Service in place of the Backend: Envoy then balances requests over its Pods (by zones from Envoy Gateway 1.4 on). Or make the name of a headless Service that of the Backend.':
    /^from Backend /, // envoyproxy/gateway#8816, #10002
  'Update Envoy Gateway: in releases after August 2026 its Envoys take the endpoints of that Service. Until then restart them once Pods were added.':
    /^envoy-gateway-system\/envoy-ratelimit$/, // envoyproxy/gateway#9814
  'Have the cluster of that EnvoyFilter name a headless Service (`STRICT_DNS`, `ROUND_ROBIN`): Envoy then has the address of each Pod, and balances requests over them. One that an operator owns is made there.':
    /^from EnvoyFilter /, // Kuadrant/authorino-operator#362
  'Write to the name of a headless Service, with `round_robin_dns: true` (Prometheus from 3.1 on; `roundRobinDNS` of its operator) or `dns+` before it (vmagent from 1.149 on), raise `min_shards` of its queue_config (each shard has connections of its own), or put a proxy in between that balances requests.':
    /^from (?:Prometheus |-*remoteWrite[._]url$|remote\+write$)/, // prometheus/prometheus#8402, #15329, VictoriaMetrics/VictoriaMetrics#2388
  'Put a proxy in between that balances requests, as the chart of Vector does with `haproxy.enabled: true`: the Service of that is the address for agents.':
    /\bvector:.* to .*\bvector:/, // vectordotdev/vector#6653, #20618
  'Have NGINX end these connections after fewer requests (`keepalive_requests` in that upstream, 1000 where it is not set), or give it the addresses of Pods: a headless Service, which it looks up anew by `resolve` and a `resolver` (from 1.27.3).':
    /^from nginx\+kept$/, // comet-ml/opik#7480, cortexproject/cortex-helm-chart#330
  'Have cortex-tenant end its connections: `max_conn_duration` in its configuration.': /cortex-tenant\S* to /, // blind-oracle/cortex-tenant#25; vectordotdev/vector#22022 (open)
  'Vector has no setting that ends its connections: a restart makes it choose anew. Or put a proxy in between that balances requests.':
    /\bvector:.* to .*\b(?:loki|mimir|tempo|elasticsearch|opensearch|victoria\S*|vminsert):/,
  'Restart clients, or have servers send some away (NATS 2.10 and newer: `nats server cluster balance`, as a user of the system account; EMQX Enterprise: `emqx_ctl rebalance start`): they choose a server when they connect, and stay.':
    /^(?:nats|4222|[18]883)$|(?:^|-)mqtts?(?:-|$)/, // nats-io/nats-server#1359, #1556, #4298; emqx-docs "Node Evacuation and Cluster Load Rebalancing", vernemq#2175
  'Lower the age at which pools of clients end connections (HikariCP: `spring.datasource.hikari.max-lifetime`, 30 minutes where it is not set): each new one finds an endpoint anew.':
    /^\w*(?:jdbc|datasource)\w*,.* to .*(?:shardingsphere-proxy|proxysql|pgbouncer|pgpool|maxscale|mysql-router)/i, // apache/shardingsphere#7616; HikariCP README
  'Have OpenFaaS take Pods in turn, by `gateway.directFunctions=false` of its chart, or a mesh balance what its gateway sends (Linkerd).':
    /^faas_function$/, // openfaas/faas#1018
  'Each of its Pods has metrics of its own, and Thanos Query has to ask all: a Service with `clusterIP: None` (made anew), which Query names by `dnssrv+_grpc._tcp.` before its name.':
    /prometheus-thanos|thanos-(?:sidecar|discovery)| to .*(?:\/prometheus:.*\/thanos:|\/thanos:.*\/prometheus:)/, // bitnami/charts#3624
  'Thanos Query asks one of them for all: where they have blocks or metrics of their own, name a Service with `clusterIP: None` (made anew) by `dns+` or `dnssrv+`, and it asks each. Of replicas with the same it needs no more.':
    /\/thanos:.* to .*\/thanos:/, // thanos-io/thanos#2220
  [OF_PILOT]: /^(?:grpc|https)-xds$|^1501[0-2]$| to .*\/pilot:/,
  'Take gRPC with `round_robin` and the name of a headless Service after `dns:///`, have `otlphttp` exporters open a connection for each request (`disable_keep_alives: true` of Collectors after September 2023; their receivers limit no age of connections over HTTP), or put a proxy in between that balances requests (a mesh, a Gateway).':
    /(?:^|-)otlp-?http(?:-|$)|^4318$/, // open-telemetry/opentelemetry-collector#5964, #8260, #9211; opentelemetry-go#5838
  'Have fluentd connect anew after so many writes: `reload_connections true` and `reload_after`, with `sniffer_class_name Fluent::Plugin::ElasticsearchSimpleSniffer` (the sniffer that is there without it goes to Pods).':
    /fluentd\S* to .*(?:elasticsearch|opensearch)/, // uken/fluent-plugin-elasticsearch#459
  'Lower `frontend.keepAliveMaxConnectionAge` in the dynamic configuration of Temporal (5 minutes where it is not set): clients then choose anew.':
    /temporalio\/server[:@]/, // temporalio/temporal#1334, temporalio/sdk-java#351
  'Have ratelimit end connections: `GRPC_MAX_CONNECTION_AGE` and `GRPC_MAX_CONNECTION_AGE_GRACE` of images after September 2021. Or have Envoy balance over Pods: it takes all of a headless Service (`STRICT_DNS`).':
    /envoyproxy\/ratelimit[:@]/, // envoyproxy/ratelimit#288
  'Limit the time for which streams of clients stay open: `MAX_CLIENT_CONNECTION_TIME` of ld-relay (from 6.0 on).':
    / to .*\/ld-relay[:@]/, // launchdarkly/ld-relay#92
  [OF_AGE]:
    /(?:^|-)(?:grpcs?|h2c|http2|otlp)(?:-|$)|^(?:50051|431[78])$|^kubernetes\.io\/(?:h2c|wss?)$|image.+openim-rpc/, // The number in gRPC's own examples, those of OTLP (opentelemetry-collector#5964, #9129), openimsdk/open-im-server#2164.
  'Have connections end now and then (`--goaway-chance`; `goAwayChance` of gardenerAPIServer in a Garden), or requests balanced by the gateway in front (gate `IstioTLSTermination` of gardenlet and gardener-operator, from Gardener 1.114 on).':
    /^(?:shoot--[\w-]+|garden)\/.*apiserver$/, // gardener/gardener#11551, #8810
  'Have connections end now and then: `--goaway-chance` of API servers, where it can be set.': /apiserver$/, // kubernetes.io kube-apiserver
  'Have Fluent Bit end connections after so many uses: `net.keepalive_max_recycle` (`network.keepaliveMaxRecycle` of the logging operator). Until then a restart of the agents makes them choose anew.':
    /^(?:tcp-)?fluent|^(?:forward|24224|24240)$|^from \S*fluent-?bit[/:@]/, // kube-logging/logging-operator#661, fluent/fluent-bit#2704, #10394
  "Set `ttl` of Filebeat's output.logstash, with `pipelining: 0` (without that it does nothing), or name each Pod as a host, with `loadbalance`.":
    /^(?:tcp-)?beats$|^5044$/, // elastic/beats#661, #39127
  'Name each member by its Pod in the configuration of clients, which then choose: ClickHouse from 24.7 on by `prefer_local_availability_zone` in its section `zookeeper`. What is written goes on to the member that leads.':
    /^(?:zk|zookeeper|2181)$/, // ClickHouse/ClickHouse#29617
  'Limit queries for each connection: `maxtcpqueries 128` in `timeouts` of CoreDNS (releases after July 2026). Before, from 1.10.1 on, `prefer_udp` in place of `force_tcp` in the Corefile of the caches.':
    /^kube-system\/(?:kube-dns|node-?local-?dns\S*)-upstream$/, // coredns/coredns#6754, #6803, #8376
  'Have a router balance requests to models: a Gateway with an InferencePool, or that of vLLM or SGLang, or LiteLLM with an entry for each Pod in its `model_list` (a Service stands there for one).':
    /^image .*(?:vllm|llama[.-]?cpp|sglang|text-generation-inference|text-embeddings|ollama)/, // defilantech/LLMKube#1812, BerriAI/litellm#8444
  'Give `-storageNode` each Pod by its name behind a headless Service, or have vmagent write to the HTTP port, which balances requests.':
    /^clusternative$/, // VictoriaMetrics/VictoriaMetrics#6772
  'Have vmauth spread requests over Pods: `discover_backend_ips: true` beside `url_prefix` (from April 2024 on), which has to name a headless Service.':
    /\bvmauth:.* to /, // VictoriaMetrics/VictoriaMetrics#5707
};
/** istio/istio#53508 */
const OF_ZTUNNEL =
  'Have a waypoint balance requests: `istioctl waypoint apply`, and the label `istio.io/use-waypoint: waypoint` on the Service or its namespace. Or: ';
/** emissary-ingress/emissary#326, #1257; by default it goes to the cluster IP, in which it sees one address */
const OF_EMISSARY =
  'Have {mapping} name a KubernetesEndpointResolver as `resolver`, with a `load_balancer`: Emissary then balances requests over Pods, in whatever zone. Or: ';
const NAMED_REMEDY = 'Name the port `grpc-…`, or set its `appProtocol: grpc`: then sidecars balance requests.';

/** traefik/traefik#10303, #13358, #6069 */
const NATIVE_REMEDY =
  'For even load a route of the Kubernetes providers without `nativeLB`: then Traefik balances over Pods, in whatever zone. Or `maxIdleConnsPerHost: -1` in the ServersTransport of the route (or `--serversTransport.maxIdleConnsPerHost=-1` for all), which opens a connection for each request (of HTTP/1.1).';

/** apache/apisix#4634, envoyproxy/envoy#35083; these keep pools of connections without being asked to, which NGINX does not. From its control plane Envoy takes configuration. */
const POOLS = /[/,](?:apisix|kong|kong-gateway|haproxy|envoy)[:@].* to (?!.*(?:contour|kgateway|proxy\/gateway):)/;
const OF_POOLS =
  'Have that proxy balance over Pods: it sees one address, the cluster IP, to which its algorithm does nothing. A headless Service gives it the addresses of Pods, where it looks names up anew (Envoy: `STRICT_DNS`), and so do Ingresses or routes of its controller.';

/** What keeps a client with one endpoint; whether it matters depends on how many clients there are: at the stage `used` where some endpoints get nothing for sure. */
export const stickyCauses = (facts: Facts): Cause[] => {
  const { service, name, endpoints, bypasses, index, autoscalers, callers, callerPods } = facts;
  const { sessionAffinity, internalTrafficPolicy, clusterIP, ports = [], type = 'ClusterIP' } = service.spec ?? {};
  if (endpoints.length < 2 || /^linkerd\/linkerd-.*-headless$/.test(name)) return []; // linkerd/linkerd2#10543
  const { hashing, answers } = index;
  const scheduler = service.metadata?.annotations?.[SCHEDULER] ?? '';
  const selected = Object.keys(service.spec?.selector ?? {});
  const images = facts.workloads.flatMap((each) => each.images.map((image) => `image ${image}`));
  const isAged = facts.workloads.some(({ aged }) => aged);
  const isFew = clusterIP !== 'None' && callerPods.length > 0 && callerPods.length < endpoints.length;
  const from = callers.flatMap(({ by, scheme = '', runner }) => [by, scheme, ...runner.images]);
  const both = `${from.join()} to ${images.join()}`;
  // Those that clients name come first.
  const called = callers.map(({ port = '', scheme }) => (scheme === 'world' ? '' : port));
  const isNamed = (own?: ServicePort): boolean => called.some((by) => by === `${own?.port}` || by === own?.name);
  const isOther = (own: ServicePort): boolean => !isNamed(own) && called.length > 0 && !called.includes('');
  const [reused] = [...ports.filter((own) => !isOther(own)), ...ports.filter(isOther)].flatMap((own) => {
    if (own.protocol === 'UDP') return [];
    const isGrpc = facts.workloads.some(({ grpc }) => grpc?.includes(`${portOfPods(facts, own)}`));
    const ofPort = [own.name, own.appProtocol, `${own.port}`, `${own.targetPort}`, isGrpc ? 'grpc' : ''];
    const texts = [...ofPort, name, ...images, ...from.map((each) => `from ${each}`), ...selected, both];
    const done = isAged ? [OF_PILOT, ...(isFew && !isOther(own) && facts.wish.mode === 'none' ? [] : [OF_AGE])] : [];
    const signs = Object.entries(KEPT).filter(([remedy]) => !done.includes(remedy));
    const found = signs.filter(([, sign]) => texts.some((text = '') => sign.test(text)));
    return found.map(([remedy, sign]) => ({ own, remedy, isOfPort: ofPort.some((text = '') => sign.test(text)) }));
  });
  const sticky = (evidence: string, remedy?: string, stage: Cause['stage'] = 'prerequisite') => [
    cause(stage, 'StickyClients', evidence, remedy),
  ];
  const port = `${reused?.isOfPort || !ports[1] || isNamed(reused?.own) ? `Port ${reused?.own.name ?? reused?.own.port}` : 'A port'} of Service ${name}`;
  const [age = '$&'] = Object.entries(AGES).find(([, sign]) => sign.test(`${port} ${images.join()}`)) ?? [];
  if (clusterIP === 'None') {
    const fixed = callers.find(({ scheme }) => scheme === 'nginx+once');
    const once = `NGINX (${fixed?.by}) takes the addresses of Service ${name} from DNS when it starts or is reloaded, and not again: Pods that were added get nothing until then.`;
    if (fixed) return [saying('NGINX may know only Pods of when it started', 'used', 'StickyClients', once, OF_NGINX)];
    const evidence = `${port} is of a protocol whose clients keep to one address unless they balance, and look for other Pods in DNS when a connection ends: those that are added get nothing before.`;
    const isOfAge = reused?.remedy === OF_AGE;
    // Who asks for no zones asks for load.
    const stage = (isOfAge && facts.wish.mode === 'none') || autoscalers.length > 0 ? 'used' : 'prerequisite';
    // Who finds members otherwise asks no DNS.
    const isRing = bypasses.some(({ known, decides }) => known === 'members' && decides !== BY_ROLES);
    if (reused === undefined || (isRing && callers.length === 0)) return [];
    return sticky(evidence, (isOfAge ? OF_DNS : reused.remedy).replace('MAX_CONNECTION_AGE', age), stage);
  }
  // Beside kube-proxy Cilium keeps no affinity for the cluster IP (cilium#35254).
  if (sessionAffinity === 'ClientIP' && !answers.every(({ router, notes }) => router === 'cilium' && notes.length > 0))
    return sticky(
      `Service ${name} has sessionAffinity ClientIP: connections from one address go to one endpoint${ports.length > 1 ? ' for each port' : ''}, and what comes through a proxy has one address.`,
      undefined,
      bypasses.some(({ all, passes }) => all && !passes) ? 'prerequisite' : 'used',
    );
  const runs = (plane: RouterName): boolean => answers.some(({ router }) => router === plane);
  const hashed = (what: string, by: 'of' | 'to', remedy = SCHEDULER_REMEDY) =>
    sticky(`${what}: all connections ${by} one address go to one endpoint.`, remedy, 'used');
  // kubeovn/kube-ovn#5479
  if (runs('kube-ovn') && facts.wish.mode === 'none' && internalTrafficPolicy !== 'Local')
    return hashed('Kube-OVN (seen up to 1.14)', 'of', 'Use kube-proxy: `--enable-lb=false` of kube-ovn-controller.');
  const by = hashing?.settings['ipvs.scheduler'] ?? '';
  const isOld = answers.some(({ version }) => /^1\.(?:1?\d|2[0-6])\./.test(version ?? ''));
  if (hashing !== undefined && runs('kube-proxy') && (by !== 'mh' || isOld)) {
    const what = `${objectTitle(hashing)} has ipvs.scheduler ${by}`;
    const apart = `${what}: each Node counts its own connections only, and few long ones of many Nodes may meet on one endpoint.`; // kubernetes/kubernetes#79213
    return by.endsWith('h') ? hashed(what, 'of') : sticky(apart, SCHEDULER_REMEDY);
  }
  if (/^[sd]h$/.test(scheduler) && runs('kube-router'))
    return hashed(`Service ${name} has ${SCHEDULER} ${scheduler}`, scheduler === 'sh' ? 'of' : 'to');
  const native = callers.find(({ runner }) => runner.images.some((image) => TRAEFIK.image.test(image)));
  const kept = `Traefik sends to the cluster IP of Service ${name} (${native?.by}) and keeps its connections: requests go to the endpoints that these reached.`;
  if (native) return /idle/i.test(native.runner.steering ?? '') ? [] : sticky(kept, NATIVE_REMEDY, 'used');
  // What goes around the cluster IP may balance requests, unless it passes connections on; webhooks have a port (istio/istio#11181).
  const past = bypasses.filter((own) => !(own.possible || own.passes || own.behind || own.client === 'kube-apiserver'));
  const taken = reused?.own.appProtocol ?? reused?.own.name ?? '';
  const isTcp = AS_TCP.test(taken) && past.every(({ client }) => client === 'istio');
  if (internalTrafficPolicy === 'Local' || (past.length > 0 && !isTcp) || facts.blind.length > 0) return [];
  const few = isFew ? `: ${counted(callerPods.length, 'Pod')} for ${endpoints.length} endpoints` : '';
  const isUnnamed = reused !== undefined && isOther(reused.own);
  const titles = [...new Set(callers.map(({ runner }) => workloadTitle(runner)))];
  const who = titles[0] ? ` ${listed(titles)} ${titles[1] ? 'name' : 'names'} it${few}.` : '';
  const scaler = autoscalers.find(({ maxReplicas }) => maxReplicas !== undefined);
  const one = `A loadbalancing exporter takes Pods from DNS, where Service ${name} has a single address, and keeps its connection: one Pod gets all that it sends.${who}`; // grafana/helm-charts#2139
  const other = 'Give its `dns` resolver the name of a headless Service of the same Pods, or take its `k8s` resolver.';
  if (callers.some(({ scheme }) => scheme === 'dns+otel')) return [cause('used', 'StickyClients', one, other)];
  if (past.length > 0) {
    const evidence = `${port} is TCP for Istio, by ${taken}: its sidecars balance connections, not requests, and such a client keeps one.${who}`;
    return [cause('used', 'StickyClients', evidence, NAMED_REMEDY)];
  }
  const pooled = !bypasses[0] && (reused?.remedy ?? OF_AGE) === OF_AGE && POOLS.test(both);
  const ofGateway = Object.entries(OF_GATEWAY).find(([, image]) => image.test(images.join()))?.[0];
  const ofOwn = isAged ? `L${OVER_ALL}` : (ofGateway ?? OF_AGE);
  if (reused === undefined || isUnnamed) {
    // jacksontj/promxy#672, corazawaf/coraza-spoa#284, aio-libs/aiohttp#6629, nodejs/undici#3648
    const to = scaler ? `Pods that were there before ${scaler.kind} ${scaler.name} added some` : 'Pods they reached';
    const evidence = `The endpoint is picked once for each connection, and clients that keep theirs (HTTP keep-alive, pools) stay with ${to}.${who}`;
    const isScaled = scaler && (isFew || type !== 'ClusterIP');
    const isMeant = (callerPods.length === 1 || pooled || isScaled) && !isAged && facts.wish.mode === 'none';
    if (isMeant || reused === undefined) return isMeant ? sticky(evidence, pooled ? OF_POOLS : ofOwn) : [];
  }
  const keeps = reused.isOfPort
    ? 'is of a protocol whose clients keep one connection'
    : 'has clients that keep connections';
  const evidence = `${port} ${keeps} open: the endpoint is picked once for all their requests${isAged ? ' until the server ends them' : ''}${scaler ? `, also where ${scaler.kind} ${scaler.name} adds Pods` : ''}.${isUnnamed ? '' : who}`;
  const mapping = index.bypasses.byService.get(name)?.find(({ entry }) => entry.kind === 'Mapping')?.entry;
  const direct = mapping ? OF_EMISSARY.replace('{mapping}', objectTitle(mapping)) : '';
  const isL4 = bypasses.some(({ client, possible }) => client === 'istio-ambient' && !possible);
  // Where gRPC is all that it serves, or the program is known, and zones are not asked for, load is what is asked about.
  const isAsked = reused.remedy === OF_AGE ? bypasses.every(({ behind }) => !behind) : KEPT[reused.remedy]?.test(both);
  const isOnly = ports.every((own) => own === reused.own || (reused.remedy === OF_AGE && isOther(own)));
  const isAll = (reused.remedy === OF_PILOT || isOnly) && isAsked === true && type === 'ClusterIP';
  const stage = ((isFew && !isUnnamed) || isAll) && !isOnEveryNode(facts) ? 'used' : 'prerequisite';
  const twin = bypasses.find(({ client }) => client === 'headless-service')?.evidence.object;
  const remedy = (pooled ? OF_POOLS : reused.remedy === OF_AGE ? ofOwn : reused.remedy)
    .replace('a headless Service', twin ? `headless ${twin}` : '$&')
    .replace('MAX_CONNECTION_AGE', age);
  return [cause(stage, 'StickyClients', evidence, `${isL4 ? OF_ZTUNNEL : ''}${direct}${remedy}`)];
};
