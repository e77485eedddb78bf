// Clients that learn addresses of Pods by other means than objects of a proxy: headless Services, members, registries, resolvers of libraries.
import type { Service } from '../../apis/core.ts';
import type { StringMap } from '../../apis/meta.ts';
import { byText, defined, keyOf, nameOf, objectTitle, refOf } from '../../apis/values.ts';
import { matchesSelector } from '../../routing/types.ts';
import { TOPOLOGY_ANNOTATIONS } from '../../apis/names.ts';
import { imageVersion, knownTo } from '../routers/kube-proxy.ts';
import type { Evidence } from '../routers/types.ts';
import { type ClusterSnapshot, type EntryObject, type PodSummary, type Workload, itemsOf } from '../snapshot.ts';
import { type ClientName, TRAEFIK } from './clients.ts';
import { addressesOf } from './kinds.ts';
import { AGENTS, ANY_ANSWERS, BY_HELLO, BY_LEADER, BY_ROLES, BY_SLOT, BY_SMART, GOES_ON, MANAGES } from './programs.ts';
import { MEMBERS, OF_DATABASE, OF_SEVERAL, PUBLIC, RING, SHARDS, SILENT, STORES } from './programs.ts';
import type { Client } from './types.ts';
import { GATEWAY, type Runner, maySelect, selects } from './watchers.ts';

const OF_PEERS = 'its own Pods take addresses of one another from the API server, and connect to those in all zones';

/** By images of clients that are seen, or of members that Helm owns: where the program has it. */
const RACKS: Readonly<Record<string, RegExp>> = {
  '; of Redpanda Console `kafka.rackId`': /redpandadata\/console/, // redpanda-data/console#166
  '; of Tempo `ingest.kafka.client_rack`, in releases from mid-2026 on': /grafana\/tempo:/, // grafana/tempo#7414, #7594
  '; of Mimir `-ingest-storage.kafka.client-rack`, which counts only with `-ingest-storage.kafka.fetch-concurrency-max=0`':
    /grafana\/mimir:/, // grafana/mimir#13558, #16566 (open)
  '; `rack` of KafkaConnect and KafkaMirrorMaker2 does it in Strimzi 0.29 and newer{seen}, of KafkaBridge in 0.32; `spec.kafka.rack` of the Kafka resource sets `broker.rack`':
    /strimzi\/kafka:|-kafka-(?:brokers|bootstrap)$/, // strimzi/strimzi-kafka-operator#6492, #7339
  '; of OpenTelemetry Collectors `rack_id` of the receiver (after September 2025)': /opentelemetry|\/alloy:/, // open-telemetry/opentelemetry-collector-contrib#42345, grafana/alloy#6952
  '; on AWS `brokerRackAssignment: aws-az` of its chart (from November 2022 on, but for those from Kafka 3.5 up to May 2024) sets `broker.rack` to the ID of the zone (as `use2-az2`), and `client.rack` has to be that ID, not the name of the zone':
    /bitnami\w*\/kafka:/, // bitnami/charts#14495, #13308, #25645
};

/** Hardly anything uses the cluster IP of a Service of these. */
export const areFoundOtherwise = (images: readonly string[]): boolean =>
  MEMBERS.some(([sign, , always]) => always === 'surely' && images.some((image) => sign.test(image)));

/** One selects all that the other does, as a Service of one member or of the whole cluster. Without selector nothing is known. */
export const isTwin = (...services: readonly Service[]): boolean => {
  const size = (selector: StringMap): number => Object.keys(selector).length;
  const [less = {}, more = {}] = services.map(({ spec }) => spec?.selector ?? {}).sort((a, b) => size(a) - size(b));
  return size(less) > 0 && matchesSelector({ matchLabels: less }, more);
};

/** The latter register endpoints of Services in Consul (hashicorp/consul-k8s#126). */
const REGISTRY = /eureka|nacos|sync-catalog|katalog-sync|consul-register/;

const INTERCEPTOR = /http-add-on-interceptor[:@]/;
export const isInterceptor = ({ images }: Runner): boolean => images.some((image) => INTERCEPTOR.test(image));
/** Where one is asked for, and none is seen: of a release that is not known. */
const NO_WORKLOAD = { kind: '', namespace: '', name: '', podLabels: {}, serviceAccount: '' };
const UNSEEN: Runner = { ...NO_WORKLOAD, images: ['http-add-on-interceptor@'] };
/** By kind: images of what connects to names that its objects hold. */
const CALLING: Record<string, RegExp> = { Backend: /\/envoy:/, EnvoyFilter: GATEWAY, Prometheus: /\/prometheus:/ };

/** Selects the Pod that leads, by a label that a program or operator moves (hashicorp/vault-helm#347). */
const LEADS = /,[^,=]*(?:active|leader)=true|,[^,=]*role=(?:leader|master|primary)/;
/** By names of all its ports, of which `http-metrics` serves other requests too (Loki, Mimir): endpoint by endpoint, past the proxies. */
export const isScraped = ({ spec: { ports = [] } = {} }: Service): boolean =>
  ports.length > 0 && ports.every(({ name = '' }) => /^(?!http-).*(?:metrics|telemetry|profiling|pprof)/.test(name));
/** After the name of a program in that of an application, none of its members: `kafka-orders`. */
const OF_APP = /\n-(?!server|cluster|community|enterprise|stack|agent|broker|coordinator|all\b|\d)[a-z][^/]*$/;
const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === 'None';
/** A sidecar may stand first (confluentinc/cp-helm-charts#639). */
const imagesOf = ({ images }: Runner) =>
  images.filter((image, at) => (at === 0 && !images.some((own) => STORES.test(own))) || !AGENTS.test(image));

/** `name`, `name.namespace` or `pod.name`, with or without `.svc…`, or a name in the DNS of Consul: which of them it is shows where there is such a Service. */
const callsOf = (runner: Runner) =>
  (runner.calls ?? []).flatMap(({ host, scheme: own, ...call }) => {
    if (/^(?!.*\.s(?:vc|ervice)\b)(?:[^.]+\.){3}/.test(host)) return [];
    const [first = '', second = runner.namespace, third] = host.replace(/\.s(?:vc|ervice\.consul)\b.*$/, '').split('.');
    const keys = third === undefined ? [`${second}/${first}`, `${runner.namespace}/${second}`] : [`${third}/${second}`];
    const usual = own ?? (runner.set?.includes('pod') ? 'lb' : undefined);
    const isPlain = usual === 'lb' && runner.set?.includes('service');
    const scheme = host.endsWith('.service.consul') ? 'consul' : isPlain ? undefined : usual;
    return keys.map((service) => ({ ...call, scheme, host, service, runner }));
  });

const hostsOf = ({ settings: { hosts = '' } }: EntryObject): string[] => hosts.split(/ +/);
/** Variables of what names a host for browsers, links or certificates. */
const FOR_OTHERS = /public|react_app|vite_|external|domain|redirect|callback|cors|origin|cookie|root|allow|ingress/i;

/** Without hosts that are no Service or route of these: variables and arguments hold secrets. */
export const withoutOtherHosts = ({ services, ingresses }: ClusterSnapshot) => {
  const own = itemsOf(services).flatMap((each) => [keyOf(each), ...addressesOf(each)]);
  const names = new Set([...own, ...itemsOf(ingresses).flatMap(hostsOf)]);
  return (workload: Workload): Workload => {
    const named = new Set(callsOf(workload).flatMap(({ service, host }) => (names.has(service) ? [host] : [])));
    const calls = workload.calls?.filter(({ host }) => named.has(host) || names.has(host));
    return defined({ ...workload, calls: calls?.[0] && calls });
  };
};

export const podsOf = ({ metadata, spec }: Service): string => {
  const labels = Object.entries(spec?.selector ?? {}).map((pair) => pair.join('='));
  return [metadata?.namespace, ...labels.sort(byText)].join();
};

export const wishTextOf = ({ metadata, spec }: Service): string =>
  [spec?.trafficDistribution, ...TOPOLOGY_ANNOTATIONS.map((key) => metadata?.annotations?.[key])].join();

/** Clients that are seen to use another Service of the same Pods, which asks for something else. */
export const aliasesOf = (service: Service, { alike, callers }: ReturnType<typeof memberIndex>) =>
  (alike.get(podsOf(service)) ?? []).flatMap((each) => {
    const caller = callers.get(keyOf(each))?.find(({ runner }) => !selects(each, runner));
    if (caller === undefined || isHeadless(service) || wishTextOf(each) === wishTextOf(service)) return [];
    const evidence = { object: `Service ${keyOf(each)}`, field: 'spec.selector', value: 'the same Pods' };
    const decides = 'it connects to that Service of the same Pods, which asks for something else';
    const setting = 'the same setting there, or this Service for these clients';
    return [{ client: caller.runner.name, evidence, decides, setting, all: false, possible: false, source: caller.by }];
  });

type Runners = ReadonlyMap<string, readonly Runner[]>;

const NATIVE = ['traefik.ingress.kubernetes.io/service.nativelb', 'traefik.io/service.nativelb'];

/** What many Services of one snapshot share; `near`: what runs, by namespace. */
export const memberIndex = (services: readonly Service[], near: Runners, entries: readonly EntryObject[]) => {
  const runners = [...near.values()].flat();
  const interceptors = runners.filter(isInterceptor);
  const traefiks = runners.filter(({ images }) => TRAEFIK.image.test(images.join()));
  const marked = services.filter(({ metadata }) => NATIVE.some((key) => metadata?.annotations?.[key] === 'true'));
  const natives = new Set(marked.map(keyOf));
  const others = services.filter((own) => own.spec?.selector && !isHeadless(own));
  const usual = traefiks.map(({ steering = '' }) => steering.toLowerCase()).join(' ');
  const calls = runners.flatMap((runner) => (runner.calls ?? []).map((call) => ({ ...call, runner, scheme: 'world' })));
  const naming = Map.groupBy(calls, ({ by, host }) => (FOR_OTHERS.test(by) || /\.svc\b/.test(host) ? '' : host));
  const proxied = entries.flatMap((entry) =>
    entry.services.flatMap((service) => {
      const provider = entry.client === 'traefik/route' ? 'crd' : entry.className === 'traefik' ? 'ingress' : '-';
      const { nativeLB = `${usual.includes(`kubernetes${provider}.nativelb`)}` } = entry.settings;
      const isNative = nativeLB === 'true' || natives.has(service);
      const isKeda = /^(?:HTTPScaledObject|InterceptorRoute)$/.test(entry.kind);
      const calling = CALLING[entry.kind];
      const named = calling ? runners.filter(({ images }) => calling.test(images.join())) : [];
      const proxies = isKeda ? (interceptors.length > 0 ? interceptors : [UNSEEN]) : isNative ? traefiks : named;
      const inside = { service, by: objectTitle(entry), host: service, port: undefined, scheme: undefined };
      const outside = hostsOf(entry).flatMap((host) => (/\..*\./.test(host) ? (naming.get(host) ?? []) : []));
      return [...proxies.map((runner) => ({ ...inside, runner })), ...outside.map((call) => ({ ...call, service }))];
    }),
  );
  return {
    near,
    names: new Set(services.map(keyOf)),
    headless: Map.groupBy(services.filter(isHeadless), (service) => refOf(service).namespace),
    /** Those with a cluster IP, by the Pods that they select. */
    alike: Map.groupBy(others, podsOf),
    leading: others.filter((own) => LEADS.test(podsOf(own))),
    /** By Service: workloads whose variables or arguments name it, or a Pod of it; KEDA's interceptors, Traefik with nativeLB, and whom objects give its name. */
    callers: Map.groupBy([...runners.flatMap(callsOf), ...proxied], ({ service }) => service),
    hosts: Map.groupBy(proxied, ({ host }) => host),
    /** Settings in custom resources, by the cluster whose brokers have them. */
    set: new Map(entries.map(({ namespace, name, settings: { set } }) => [`${namespace}/${name}`, set])),
    registries: runners.filter(({ name, images }) => [name, ...images].some((text) => REGISTRY.test(text))),
  };
};

type MemberIndex = ReturnType<typeof memberIndex>;
type Callers = Readonly<{ members: MemberIndex; pods: ReadonlyMap<string, readonly PodSummary[]> }>;

export const podsRunBy = ({ namespace, podLabels: matchLabels }: Runner, pods: Callers['pods']) =>
  (pods.get(namespace) ?? []).filter(({ labels }) => matchesSelector({ matchLabels }, labels));

/** Workloads that name the Service in variables, arguments or configuration, and their Pods. */
export const callingOf = (service: Service, { members, pods }: Callers) => {
  const callers = members.callers.get(keyOf(service)) ?? [];
  const found = callers.flatMap((each) => podsRunBy(each.runner, pods).map((pod) => [pod, { ...each, pod }] as const));
  return { callers, callerPods: [...new Map(found).values()] };
};

export interface Found {
  readonly client: ClientName;
  readonly evidence: Evidence;
  readonly controller?: string | undefined;
  readonly all?: boolean;
  readonly possible?: boolean;
  readonly image?: string | undefined;
  readonly entry?: EntryObject;
  /** The namespace of a client, and those that are seen. */
  readonly from?: string | undefined;
  readonly clients?: readonly PodSummary[];
  /** Its setting is that of the program behind the Service, of which any Pod may answer, or the one that is asked for. */
  readonly known?: 'any' | 'members' | '' | undefined;
  /** Clients take the cluster IP: it is what the Pods connect to. */
  readonly behind?: boolean;
  /** What differs for this Service. */
  readonly own?: Partial<Client> | undefined;
}

/** Other ways to the same Pods: a headless Service, or addresses that clients learn from one of the members. */
const byTwins = (service: Service, { headless, near, callers, names, leading, set }: MemberIndex): Found[] => {
  const { namespace } = refOf(service);
  const own = (near.get(namespace) ?? []).filter((runner) => maySelect(service, runner));
  const behindIt = own.filter((runner) => selects(service, runner));
  const isOther = (each: Service) => isTwin(service, each) || behindIt.some((runner) => selects(each, runner));
  const others = (headless.get(namespace) ?? []).filter(isOther);
  const ports = new Set<unknown>(service.spec?.ports?.flatMap(({ port, targetPort = port }) => [port, targetPort]));
  const callerOf = (each: Service) => callers.get(keyOf(each))?.find(({ runner }) => !own.includes(runner));
  // One that has none of its ports, or that members of a ring find one another by, is for peers.
  const sharesPort = ({ spec }: Service) => spec?.ports?.some((each) => ports.has(each.targetPort ?? each.port));
  const isUsed = (each: Service) =>
    sharesPort(each) !== false || callerOf(each) !== undefined || nameOf(each).endsWith('-dapr');
  const isForClients = (each: Service) => isUsed(each) && !/gossip|memberlist/.test(nameOf(each));
  const twins = others.filter((each) => RING.test(nameOf(service)) || isForClients(each));
  const twin = twins.find(callerOf) ?? twins[0];
  const object = `Service ${keyOf(service)}`;
  const scraped = isScraped(service) && 'scraped';
  const signs = [
    ...own.flatMap((at) => (at.set?.includes(SHARDS) ? { object: objectTitle(at), field: 'set', value: SHARDS } : [])),
    ...own.flatMap((each) => imagesOf(each).map((value) => ({ object: objectTitle(each), field: 'image', value }))),
    ...(service.spec?.ports ?? []).map(({ port }) => ({ object, field: 'spec.ports', value: scraped || `:${port}` })),
    ...[twin ?? service, service].map((at) => ({ object, field: 'metadata.name', value: nameOf(at).slice(0, 253) })),
  ];
  const isNone = (sign: RegExp): boolean =>
    nameOf(service).endsWith('-cruise-control') || // Of the image of Kafka in Strimzi.
    own.some(({ images: [image = ''] }) => MANAGES.test(image.replace(/[:@][^/]*$/, ''))) ||
    own.some((each) => each.kind === 'Deployment' && OF_APP.test(imagesOf(each)[0]?.replace(sign, '\n') ?? ''));
  const [kind = ''] = /^[A-Z][a-z]+(?=[A-Z])/.exec(service.metadata?.ownerReferences?.[0]?.kind ?? '') ?? [];
  const silent = own.some(({ images: [image = kind] }) => PUBLIC.test(image)) ? SILENT : /^$/;
  const [sign, found, always, decides] =
    MEMBERS.find(([each]) => !isNone(each) && signs.some(({ value }) => each.test(value) && !silent.test(value))) ?? [];
  const seen = [service, ...twins].flatMap((each) => callers.get(keyOf(each)) ?? []);
  const isHelms = service.metadata?.labels?.['app.kubernetes.io/managed-by'] === 'Helm';
  const asked = [...seen.map(({ runner }) => runner), ...own].filter((each) => isHelms || !own.includes(each));
  const named = `${asked.flatMap(({ images }) => images).join()} ${nameOf(twin ?? service)}`;
  const racks = Object.entries(RACKS).flatMap(([where, image]) => (image.test(named) ? where : []));
  const [version] = own.flatMap(imagesOf).flatMap((image) => imageVersion(image) ?? []);
  const next = own.flatMap(callsOf).find((call) => names.has(call.service) && call.service !== keyOf(service));
  const behind = GOES_ON.includes(decides);
  const on = decides === OF_DATABASE && next ? `${decides}: that of Service ${next.service} (${next.by})` : '';
  const isLeader = (each: Service) => isTwin(service, each) && refOf(each).namespace === namespace;
  const leader = decides === BY_LEADER ? leading.find(isLeader) : undefined;
  const direct = leader && `Service ${nameOf(leader)} for what has to reach that one: then nothing is passed on`;
  const row = direct ? { setting: direct, none: undefined } : found;
  const kafka = /strimzi\/kafka:[\d.]+(?=-)/.exec(named)?.[0];
  const there = `${set.get(`${namespace}/${service.spec?.selector?.['strimzi.io/cluster']}`)} ${own.map((each) => each.set).join()}`;
  const said = row?.setting.replace(/`[^`]+`/g, (text) => (there.includes(text) ? `${text} (set already)` : text));
  const text = said?.replace('{rack}', racks.join('')).replace('{seen}', kafka ? ` (seen: ${kafka})` : '');
  const ways = defined({ ...row, setting: text && version ? knownTo(text, version) : text, decides: on || decides });
  const shows = (what: RegExp, isPort: boolean): boolean =>
    signs.some(({ field, value }) => (field === 'spec.ports') === isPort && what.test(value));
  // The program shows, by an image or a name, and so does the port.
  const isAtPort = sign !== undefined && typeof always === 'object' && shows(sign, false) && shows(always, true);
  const isIt = (image: string) => sign?.test(image) && (decides !== BY_HELLO || STORES.test(image));
  const isMember = (each: Runner) => (each.replicas ?? 0) > 1 && imagesOf(each).some(isIt);
  const isSeveral = always === 'several' ? own.some(isMember) : always === 'alone' && service.spec?.ports?.length === 1;
  const isSure = always === 'surely' || isAtPort || isSeveral || (on !== '' && own[0]?.images[1] === undefined);
  if (isHeadless(service)) {
    const evidence = { object, field: 'spec.clusterIP', value: 'None' };
    const isAny = [...ANY_ANSWERS, BY_SMART].includes(decides) || (decides === BY_ROLES && callers.has(keyOf(service))); // grafana/mimir#3860
    const known = row && ((decides ? isAny : !row.none) ? 'any' : 'members');
    return [{ client: 'headless', evidence, all: true, known, own: ways }];
  }
  const all = always === 'surely' && !behind && (decides === BY_SLOT || callerOf(service) === undefined);
  const isOne = OF_SEVERAL.includes(decides) && behindIt.length === 1 && behindIt[0]?.replicas === 1; // kubernetes/kops#1998
  if (isOne || (leader && LEADS.test(podsOf(service)))) return [];
  if (twin === undefined || ((behind || decides === BY_SLOT) && callerOf(twin) === undefined)) {
    const evidence = always === undefined ? undefined : signs.find(({ value }) => sign?.test(value));
    return evidence ? [{ client: 'members', evidence, possible: !isSure, behind, own: ways, all }] : [];
  }
  const { by, host, runner } = callerOf(twin) ?? { by: 'spec.selector', host: 'the same Pods, without cluster IP' };
  const then = ways.decides ? `; ${ways.decides}` : ' and connects to those, whatever hints say';
  const called = runner && {
    setting: `the name of ${object} in its place, where any Pod may answer`,
    // What its Pods pass on is another matter.
    ...(behind && row?.none ? {} : ways),
    decides: `${objectTitle(runner)} takes addresses of the same Pods from it (${by} names ${host})${then}`,
  };
  const evidence = { object: `Service ${keyOf(twin)}`, field: by, value: host };
  return [{ client: 'headless-service', evidence, possible: !called && !isSure, own: called ?? ways, all }];
};

/** Services that it names, also by a cluster IP, whose Pods it selects too, or that select it. */
export const servicesOf = (entry: EntryObject, all: readonly Service[], near: Runners) => {
  const { namespace, services, pods, podLabels: labels, settings } = entry;
  const picked = pods && near.get(namespace)?.filter(({ podLabels }) => matchesSelector(pods, podLabels));
  const own = labels ? [{ namespace, podLabels: labels }] : (picked ?? []);
  const isMeant = (service: Service): boolean =>
    own.some((each) => selects(service, each)) || service.spec?.clusterIP === (settings['address'] ?? NaN);
  return [...services, ...all.filter(isMeant).map(keyOf)];
};

const OF_DUBBO =
  'a rule for tags of Dubbo, by its zone, in the configuration center (a raw rule; from 3.3.6 an affinity rule); with a registry in each zone `zone` of each, and the attachment `registry_zone` of calls (2.7.10 to 2.7.22 do not keep to it)';
/** Workloads register there by themselves: a variable or argument shows it, or no object does. */
const byRegistries = (service: Service, { registries, near, callers }: MemberIndex): Found[] => {
  const { namespace } = refOf(service);
  const isOwn = (each: Runner) => each.registry && !registries.includes(each) && selects(service, each);
  const own = near.get(namespace)?.find(isOwn);
  const isOfDubbo = service.spec?.ports?.every(({ name, port }) => /dubbo|\btri\b|2088\d$/.test(`${name} ${port}`));
  const others = registries.filter((each) => !selects(service, each) && namespace !== 'kube-system');
  return (own === undefined ? others : [own]).map((each) => {
    const { images, registry = '' } = each;
    const [field, value] = each === own ? ['registry', registry] : ['image', images.join()];
    const isSought = isOfDubbo && /dubbo/i.test(registry) && !callers.has(keyOf(service));
    const around = isSought ? [...near.values()].flat() : [];
    const peer = around.find((other) => other.registry === registry && !selects(service, other));
    const [may, seen] = peer ? ['', ` (${objectTitle(peer)} has it too, and none names the Service)`] : ['may ', ''];
    const decides = `its Pods ${may}register where ${registry} says: clients that find them there${seen} connect to Pods`;
    const ways = /dubbo/i.test(registry) ? { decides, setting: OF_DUBBO } : { decides };
    const evidence = { object: objectTitle(each), field, value };
    return { client: 'registry', evidence, possible: !peer, all: !!peer, own: each === own ? ways : {} };
  });
};

/** open-telemetry/opentelemetry-collector-contrib#24914, #25061 */
const OTEL_UPDATE = 'an update: releases before September 2023 keep addresses of Pods that are gone';
const OTEL_PLAIN = 'the `otlp` exporter, to the cluster IP, where parts of a trace need not meet in one Pod';
/** hashicorp/consul#23885 (open) */
const OF_CONSUL = 'its name in the cluster, not that in `.consul`: Consul answers with Pods of all zones';

/** spring-cloud/spring-cloud-kubernetes#2072, #2130 */
const OF_SPRING =
  '`spring.cloud.kubernetes.loadbalancer.mode=SERVICE` (POD by default) keeps to the cluster IP; or update Spring Cloud Kubernetes to a release from February 2026 on, whose `zone-preference` sees zones of Pods';

/** Libraries that are given the name of the Service, and connect to its Pods; who calls it by a host of its routes, the first of them. */
const byResolvers = (service: Service, { callers, hosts }: MemberIndex): Found[] =>
  (callers.get(keyOf(service)) ?? []).flatMap(({ runner, by, host, scheme }, at, seen): Found[] => {
    if (scheme === undefined || /^(?:dns|remote|nginx)/.test(scheme)) return [];
    const all = seen.every((each) => each.scheme === scheme && (scheme === 'world' || !selects(service, runner)));
    const evidence = { object: objectTitle(runner), field: by, value: host };
    if (scheme === 'world') {
      const first = seen.findIndex((each) => each.scheme === scheme && !selects(service, each.runner));
      const possible = hosts.get(host)?.some((each) => each.service !== keyOf(service)) === true;
      const inDns = seen.some((each) => /coredns/.test(each.runner.images.join()));
      return inDns || at !== first ? [] : [{ client: 'hairpin', evidence, possible, all: all && !possible }];
    }
    const plain = scheme.includes('+') ? scheme.replace(/.*\+(.*)/, '$1:') : 'dns:/';
    const ofOtel = runner.images.some((each) => (imageVersion(each)?.minor ?? 85) < 85) ? OTEL_UPDATE : OTEL_PLAIN;
    const ways: Readonly<Record<string, string>> = { 'k8s+otel': ofOtel, consul: OF_CONSUL, lb: OF_SPRING };
    const setting = ways[scheme] ?? `\`${plain}//\` in its place keeps to the cluster IP`;
    // authzed/spicedb#526, sourcegraph/sourcegraph-public-snapshot#45862
    const own = selects(service, runner) ? { decides: OF_PEERS, setting: '' } : { setting };
    return [{ client: 'resolver', evidence: { ...evidence, value: `${scheme}:///${host}` }, all, own }];
  });

/** KEDA's interceptors, from the release on in which they connect to Pods unless that is switched off. */
const byInterceptors = (service: Service, { callers }: MemberIndex): Found[] =>
  (callers.get(keyOf(service)) ?? []).flatMap(({ runner: { images, steering = '' }, by }) => {
    const image = images.find((each) => INTERCEPTOR.test(each)) ?? '';
    const { major = 0, minor = 16 } = imageVersion(image) ?? {};
    if (image === '' || (major === 0 && minor < 16) || steering.includes('KEDA_HTTP_DIRECT')) return [];
    const evidence = { object: by, field: 'service', value: keyOf(service) };
    return [{ client: 'keda-interceptor', evidence, possible: image.includes('@') && !imageVersion(image) }];
  });

/** All of them, by what the Pods behind the Service and others are, and name in variables and arguments. */
export const byAddresses = (service: Service, index: MemberIndex): Found[] =>
  [byTwins, byRegistries, byResolvers, byInterceptors].flatMap((by) => by(service, index));
