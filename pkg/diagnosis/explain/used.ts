// What routers make of hints, Node by Node: which endpoints they use, and why not those of their zone.
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { byText, nameOf, workloadTitle } from '../../apis/values.ts';
import { formatVersion } from '../../routing/version.ts';
import type { Reason } from '../../upstream/index.ts';
import { type HintRule, ciliumRule, isOptedIn, isSince } from '../../upstream/proxy/hint-rule.ts';
import { behaviourOf, firstRelease } from '../routers/behaviour.ts';
import { MENDED, type RouterAnswer, imageVersion } from '../routers/kube-proxy.ts';
import { PLANES, type Setting } from '../routers/planes.ts';
import type { Fix } from './ask.ts';
import type { Facts } from './facts.ts';
import { racedNodes } from './snapshot-index.ts';
import { type Cause, LATE_ZONE_VERSIONS, OF_ALL, cause, counted, listed, remedyOf, saying } from './reasons.ts';

/** By endpoints that are not ready, which complete hints do not have. */
const OF_UNREADY: ReadonlySet<Reason> = new Set(['UnreadyForZone', 'UnusedWithoutHint', 'TerminatingForZone']);

/** Reasons that are the proxy's fault, the most general first. */
const PROXY_REASONS = [
  'RouterUnknown',
  'NoBackendForZone',
  'UnreadyForZone',
  'HintsIgnored',
  'CiliumServiceTopologyOff',
  'CiliumNotOptedIn',
  'RouterNotOptedIn',
  'CiliumExternalTrafficPolicyLocal',
  'LinkerdSlicesOff',
  'HintsGateOff',
  'ProxyNeedsAnnotation',
  'ClientNodeWithoutZone',
  'UnusedWithoutHint',
  'TerminatingForZone',
] as const satisfies readonly Reason[];

/** Of one that is known by name. */
const MEASURE =
  'Nothing that was examined says what it does: measure it, or connect from a Pod of each zone and see which endpoints answer. Without hints `internalTrafficPolicy: Local` of a DaemonSet, or a Deployment and a Service for each zone, keep traffic inside.';

const evidenceOf = (facts: Facts, reason: Reason, routes: Facts['routes']): string => {
  const { routers } = facts.index;
  const matching = routes.filter((route) => route.reason === reason);
  const nodes = [...new Set(matching.flatMap((route) => route.nodes))];
  const who = `${nodes.length} of ${counted(facts.nodes.length, 'ready Node')} (${listed(nodes.map(nameOf))})`;
  if (reason === 'CiliumServiceTopologyOff') {
    const [own] = nodes.slice(0, 1).map((node) => routers.of(node));
    const isShown = own?.evidence.some(({ field }) => field.endsWith('enable-service-topology'));
    const off = own?.why && !isShown ? `off, as by default (${own.why})` : 'off';
    const before = (own?.notes.length ?? 0) > 0 ? 'what Pods send to cluster IPs, before kube-proxy, ' : '';
    return `Cilium routes ${before}on ${who} and has loadBalancer.serviceTopology (enable-service-topology in cilium-config) ${off}.`;
  }
  // Which release does otherwise, or that none does.
  const source = listed(nodes.map((node) => routers.of(node).behaviour.source));
  return `${who}: ${matching[0]?.message ?? reason}${reason === 'HintsIgnored' ? ` Source: ${source}.` : ''}`;
};

/** What its release has and is off, as `featureGates.X: true` in the object that has it. */
const switchesOf = ({ router, title, version, evidence }: RouterAnswer, isRead: (rule: HintRule) => boolean) => {
  const { versions = [], settings = {}, follows = {} } = PLANES.find(({ name }) => name === router) ?? {};
  const own = version === null ? undefined : imageVersion(`${title}:${version}`);
  const row = own && versions.find(({ since, when, rule }) => since && isSince(own, since) && (!when || isRead(rule)));
  if (row === undefined || !isRead(row.rule)) return [];
  return Object.entries({ ...follows, ...row.when }).flatMap(([name, values]) => {
    const { places, absent = '' }: Setting = settings[name] ?? { places: [] };
    const found = evidence.find(({ field }) => places.some(({ key }) => key === field));
    if (found === undefined || values.includes(found.value === '(not set)' ? absent : found.value)) return [];
    return [`\`${found.field}: ${values[0] ?? ''}\` in ${found.object}`];
  });
};

const SWITCHED = ' with `loadBalancer.serviceTopology=true`: this release does not read what this Service asks by.';

/** Of a data plane that ignores hints at its version, or reads other settings of a Service than this one has; undefined: nothing known makes it follow. */
export const updateOf = ({ index, service, wish, traffics }: Facts, nodes: readonly Node[], reason: Reason) => {
  const isRead = ({ optIn }: HintRule): boolean => !!optIn && (wish.mode === 'none' || isOptedIn(service, optIn));
  const isOff = reason === 'CiliumServiceTopologyOff';
  return nodes.flatMap((node) => {
    const { router, title, version, behaviour } = index.routers.of(node);
    if (behaviour.source === MENDED) return ['Update kube-proxy to 1.21.1 or newer, which follows hints.'];
    const switches = behaviour.hints === 'none' ? switchesOf(index.routers.of(node), isRead) : [];
    // That it is off is the cause already.
    if (switches.length > 0) return isOff ? [] : [`Set ${listed(switches)}, and restart the agents of ${title}.`];
    const own = PLANES.find(({ name }) => name === router)?.versions ?? [];
    const plain = own.filter(({ when, assumed }) => when === undefined && assumed === undefined);
    const later = firstRelease(plain, isRead);
    const release = imageVersion(`${title}:${version}`);
    const now = release && plain.find(({ since }) => since && isSince(release, since));
    const by =
      now?.rule.optIn && ` Or, with that switched on alone, ask by what it reads: ${behaviourOf(now.rule, '').needs}.`;
    const none = isOff ? `${SWITCHED}${by ?? ''}` : ', which follow hints.';
    // By hints clients of a zone reach no endpoint whose port they ask for there, before 1.20 (cilium/cilium#45214).
    const isUneven = traffics.some(({ count }) => count !== traffics[0]?.count);
    const instead = isUneven ? '' : ` Or ask by what this release reads: ${behaviour.needs}.`;
    const how = behaviour.hints === 'none' ? none : `: they read what this Service asks by.${instead}`;
    if (version === null || later === null || (now && isRead(now.rule))) return [];
    // Older ones read it too, before some that do not.
    const gap = plain.findIndex(({ rule }) => !isRead(rule));
    const next = plain.findIndex(({ rule }, at) => at > gap && isRead(rule));
    const [before, older] = [plain[next - 1]?.since, firstRelease(plain.slice(next), isRead)];
    const or =
      before && release && !isSince(release, before) ? `, or to ${older} or newer before ${before.join('.')}` : '';
    return [`Update ${title} to ${later} or newer${or}${how}`];
  })[0];
};

/** Nothing names the data plane of some Node: more objects may. */
export const hasUnknown = ({ nodes, index: { routers } }: Facts): boolean =>
  nodes.some((node) => routers.of(node).router === 'unknown');

/** MicrosoftDocs/azure-docs#116644; learn.microsoft.com "Azure CNI Powered by Cilium", limitations */
const AKS_REMEDY =
  'Nothing to set: AKS manages the configuration of its Cilium, which has no value for this, and writes cilium-config back. Zones count with the network dataplane azure (kube-proxy), or with a Cilium of your own (`--network-plugin none`) that has `loadBalancer.serviceTopology=true`.';

/** gardener/gardener-extension-networking-cilium#185, pkg/apis/cilium/v1alpha1/types_network.go */
const GARDENER_REMEDY =
  "Update Gardener's extension networking-cilium to 1.25.0 or newer: it then sets this in every Shoot. It writes cilium-config back, and NetworkConfig (`spec.networking.providerConfig` of the Shoot) has no field for it.";

/** Where a provider runs Cilium, and another change is reverted: of AKS by the registry of its image, of Gardener by labels. */
export const ownedRemedy = ({ daemonSets, labels }: Facts['index']['bypasses']): string | undefined => {
  const agent = daemonSets.find(({ name }) => name === 'cilium');
  if (agent?.containers.some(({ image }) => image.startsWith('mcr.microsoft'))) return AKS_REMEDY;
  const isShoot = /(?:worker|resources)\.gardener\./.test([...labels, ...Object.keys(agent?.labels ?? {})].join(' '));
  return isShoot && agent?.release === undefined ? GARDENER_REMEDY : undefined;
};

const OF_EKSA = '# EKS Anywhere writes it back: spec.clusterNetwork.cniConfig.cilium.helmValues of its Cluster';
const CILIUM_TOPOLOGY_ON = [
  '# kubectl -n kube-system rollout restart daemonset/cilium',
  // ovh/public-cloud-roadmap#1079, kubernetes-sigs/kubespray#12375, aws/eks-anywhere#10222
  '# where a provider installs it, without a release of Helm: a CiliumNodeConfig in kube-system (Cilium 1.13 and newer) with spec {"nodeSelector":{},"defaults":{"enable-service-topology":"true"}}, then the same restart; what installs it otherwise writes its own values back (kubespray: cilium_extra_values of the inventory, which 2.29.1 has)',
];

const BY_GUIDE = '# one minor release at a time (upgrade guide of Cilium), with `loadBalancer.serviceTopology: true`';

/** Where another one installs Cilium: where its values are set there (kubernetes/kops#12918, docs.rke2.io/helm). */
const installerOf = ({ labels, release: helm }: Facts['index']['bypasses']['daemonSets'][number]) => {
  const [release, set] = [labels['helm.toolkit.fluxcd.io/name'], labels['kustomize.toolkit.fluxcd.io/name']];
  if (release !== undefined)
    return `# Flux owns it: loadBalancer.serviceTopology: true under spec.values of HelmRelease ${release} (under key cilium where its chart wraps that of Cilium), then restart the agents`;
  if (set) return `# Flux owns it: the same value in the source of Kustomization ${set}, then restart the agents`;
  if (labels['app.kubernetes.io/managed-by'] === 'kops')
    return '# kops owns it: spec.networking.cilium.enableServiceTopology: true in its Cluster, then kops update';
  return helm === 'rke2-cilium'
    ? `# RKE2 owns it: loadBalancer.serviceTopology: true in a HelmChartConfig ${helm} of kube-system, then restart the agents`
    : undefined;
};

export const switchCiliumTopologyOn: Fix = (facts) => {
  const { bypasses, routers } = facts.index;
  const off = facts.routes.filter(({ reason }) => reason === 'CiliumServiceTopologyOff');
  const nodes = off.flatMap((route) => route.nodes);
  const [version = '<the installed one>'] = nodes.flatMap((node) => routers.of(node).version ?? []);
  const agent = bypasses.daemonSets.find(({ name }) => name === 'cilium');
  const owned = agent && installerOf(agent);
  if (ownedRemedy(bypasses) !== undefined) return [];
  if (owned !== undefined) return [owned];
  // A release that reads nothing, or no hints for Nodes, has to go first.
  const { optIn } = ciliumRule(imageVersion(`cilium:${version}`));
  if (optIn === undefined || (facts.wish.mode === 'same-node' && !isOptedIn(facts.service, optIn))) return [BY_GUIDE];
  if (agent?.containers.some(({ image }) => image.includes('-eksa.'))) return [OF_EKSA];
  const { namespace: at = 'kube-system' } = agent ?? {};
  // AWS has a build and a chart of its own: docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-cni.html
  const image = agent?.containers[0]?.image ?? 'cilium/';
  const others = image.startsWith('public.ecr.aws/eks/') ? 'oci://public.ecr.aws/eks/cilium/cilium' : '<its chart>';
  const chart = /^(?:(?:quay|docker)\.io\/)?cilium\//.test(image) ? 'cilium/cilium' : others;
  const [, release = version] = /:v?([\w.-]+)$/.exec(image.replace(/@.*/, '')) ?? [];
  const upgrade = `# helm upgrade cilium ${chart} -n kube-system --version ${release} --reuse-values --set loadBalancer.serviceTopology=true`;
  const lines = [upgrade, ...CILIUM_TOPOLOGY_ON].map((line) => line.replaceAll('kube-system', at));
  if (agent?.release === undefined || agent.release === 'cilium') return agent?.release ? lines.slice(0, 2) : lines;
  return [`# in the values of Helm's release ${agent.release}, by what made it; else:`, ...lines.slice(2)];
};

/** Causes in the proxies: hints that are, or would be, there and are ignored. */
export const usedCauses = (facts: Facts): Cause[] =>
  PROXY_REASONS.flatMap((reason) => {
    const routes = OF_UNREADY.has(reason) ? facts.routes : facts.idealRoutes;
    if (routes.every((route) => route.reason !== reason)) return [];
    const isOfRelease =
      reason === 'HintsIgnored' || (facts.wish.mode !== 'none' && /NotOptedIn$|TopologyOff$/.test(reason));
    const nodes = routes.flatMap((route) => (route.reason === reason ? route.nodes.slice(0, 1) : []));
    const update = isOfRelease ? updateOf(facts, nodes, reason) : undefined;
    const plane = PLANES.find(({ name }) => nodes.some((node) => facts.index.routers.of(node).router === name));
    const instead = plane?.instead && `${remedyOf(reason)} ${plane.instead}`;
    const owned = reason === 'CiliumServiceTopologyOff' ? ownedRemedy(facts.index.bypasses) : undefined;
    const remedy = reason === 'RouterUnknown' && !hasUnknown(facts) ? MEASURE : (owned ?? update ?? instead);
    const found = cause('used', reason, evidenceOf(facts, reason, routes), remedy);
    return [{ ...found, ...(owned === AKS_REMEDY && { futile: true }) }];
  });

export const usedReport = ({ routes, families, index: { routers } }: Facts) => {
  const order = families.map(({ family }) => family);
  return routes
    .flatMap(({ nodes, zone, family, port, mode, used, reason }) => {
      const inside = used.filter((endpoint) => zone !== '' && endpoint.zone === zone).length;
      const isUnknown = reason === 'RouterUnknown' || zone === '' || used.every((own) => own.zone === '');
      return nodes.map((node) => {
        const { router, certainty, version, routing } = routers.of(node);
        return {
          node: nameOf(node),
          zone,
          addressType: family,
          port,
          router,
          certainty,
          /** `1.34.2`, or the minor by which kube-proxy is judged; of others as their image names it, empty where that is not known. */
          version: router === 'kube-proxy' ? formatVersion(routing.version) : (version ?? ''),
          mode,
          /** That a connection from here is spread over. */
          endpoints: used.length,
          /** Fraction of them in the node's own zone; null where nothing is routed, or the data plane, their zones or that of the Node are not known. */
          inZone: isUnknown ? null : inside / used.length,
          reason,
        };
      });
    })
    .sort((a, b) => order.indexOf(a.addressType) - order.indexOf(b.addressType) || byText(a.node, b.node));
};

/** What kube-proxy takes for its own Node counts before all that is decided by it. */
export const strayCauses = (facts: Facts): Cause[] => {
  const own = facts.routes.filter(({ reason }) => reason === 'ProxyOfAnotherNode');
  return own.slice(0, 1).map(({ reason }) => cause('used', reason, evidenceOf(facts, reason, own)));
};

/** The remaining cause if everything that objects show is right. */
export const crossingCauses = ({ options, routes, index }: Facts, effective: boolean): Cause[] => {
  const raced = options.crossing === true && effective && routes.length > 0 ? racedNodes(index) : [];
  if (raced.length === 0) return [];
  const evidence = `${listed(raced.map(nameOf))} run kube-proxy ${LATE_ZONE_VERSIONS}, and all objects are correct.`;
  return [cause('used', 'ProxyMissedItsZone', evidence)];
};

/** That there is none, or who would find an endpoint on its own Node, as the Service asks, and looks at zones only. */
export const nodeCauses = ({ wish, nodes, hosts, name, index: { routers } }: Facts): Cause[] => {
  const none = `No ready Node is known: nothing can be said about clients of Service ${name}.`;
  if (nodes.length === 0) return [cause('used', 'NoNodes', none)];
  if (wish.mode !== 'same-node') return [];
  const isBlind = ({ router, behaviour: { hints } }: RouterAnswer) =>
    hints === 'zone' || (hints === 'none' && router === 'cilium');
  const own = nodes.filter((node) => hosts.has(nameOf(node)) && isBlind(routers.of(node)));
  const who = listed(own.map((node) => routers.of(node).title));
  const evidence = `${counted(own.length, 'Node')} with an endpoint of its own (${listed(own.map(nameOf))}): ${who} there reads no hints for Nodes.`;
  return own.length === 0 ? [] : [cause('used', 'NodeIgnored', evidence)];
};

const ONE_NUMBER =
  'Have all its Pods use one number for the port, or update the controller (haproxytech/kubernetes-ingress#777).';
const NONE_READY = `See why none of its Pods is ready: until one is, \`publishNotReadyAddresses: false\` would leave no endpoint. ${OF_ALL}`;

/** Peers find one another by a headless Service before they are ready. */
export const failingCauses = (facts: Facts): Cause[] => {
  const { name, service, slices, endpoints, nodes, notServing, noZones, bypasses, index, workloads, pods } = facts;
  const isOld = index.bypasses.images.some((image) => /ingress-nginx\/controller:v1\.4\.0\b/.test(image)); // kubernetes/ingress-nginx#9141, #9149
  const isMisled = isOld && bypasses.some(({ client }) => client === 'ingress-nginx');
  const all = slices.flatMap(({ ports, endpoints: own }) => (isMisled && !ports?.length ? (own ?? []) : []));
  const bare = all.filter(({ addresses: [own] }) => !endpoints.some(({ address }) => address === own));
  const portless = `The selector of Service ${name} takes Pods without its port too (${listed(bare.map(({ targetRef, addresses }) => targetRef?.name ?? addresses.join()))}): ingress-nginx 1.4.0 sends to them, at port 0, and these requests fail (502); a newer release does not.`;
  const callers = facts.callers.filter(({ runner }) => runner.name !== workloads[0]?.name);
  const isAsked = service.spec?.clusterIP !== 'None' || callers.length > 0;
  // tektoncd/operator#3228, vllm-project/semantic-router#2039; by its name each Pod may have another number (haproxytech/kubernetes-ingress#737, #777)
  const ports = [...new Set(slices.flatMap(({ ports: own }) => (own ?? []).flatMap(({ port }) => port ?? [])))];
  const isOnce = ports.length > (service.spec?.ports ?? []).length && bypasses.some((own) => own.client === 'haproxy');
  const unlike = `Pods of Service ${name} have ${listed(ports.map(String))} for one port: HAProxy's Ingress controller takes the first number for all in releases before April 2026, so that what it sends to others fails; the proxies of the cluster take each.`;
  const having = workloads.filter((own) => ports.some((port) => own.ports.includes(port)));
  const images = new Set(having.flatMap((own) => own.images));
  const others = workloads.filter((own) => own.images[0] && !own.images.some((image) => images.has(image)));
  const mixed = `Service ${name} selects Pods of ${listed(others.map(workloadTitle))} too, whose containers name no port ${listed(ports.map(String))}: where nothing listens there, connections that are sent to them fail.`;
  const what = notServing.map(({ addresses: [own = ''], zone = '' }) => (zone === '' ? own : `${own} of ${zone}`));
  const stuck = pods.find(({ waits }) => waits !== undefined);
  const unready = `Service ${name} publishes ${listed(what)} as ready, where the Pod is not: connections that are sent there fail, unless it answers all the same.${stuck ? ` A container of Pod ${stuck.name} waits: "${stuck.waits}".` : ''}`;
  const isNone = notServing.length === endpoints.length ? NONE_READY : undefined;
  const zoneless = (): string =>
    `${counted(nodes.filter((node) => noZones.includes(zoneOfNode(node))).length, 'Node')} in zone ${listed(noZones.map((zone) => `"${zone}"`))}: they are of pools without zones and may be anywhere in the region.`;
  return [
    ...bypasses.flatMap(({ fails, evidence: { object }, decides, setting }) =>
      fails ? cause('used', fails, `${object}: ${decides}.`, `Run ${setting}.`) : [],
    ),
    ...(isOnce
      ? [saying('its Pods have several numbers for one port', 'used', 'PortOfSomePods', unlike, ONE_NUMBER)]
      : []),
    ...(bare.length > 0 ? [cause('used', 'PortOfSomePods', portless)] : []),
    ...(images.size > 0 && others.length > 0 ? [cause('used', 'PortOfSomePods', mixed)] : []),
    ...(notServing.length > 0 && isAsked ? [cause('used', 'PublishedNotReady', unready, isNone)] : []),
    ...(noZones.length > 0 ? [cause('effective', 'ZoneIsNone', zoneless())] : []),
  ];
};
