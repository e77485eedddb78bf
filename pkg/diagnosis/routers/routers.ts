// Who load-balances Services on each Node: the table of data planes applied to the objects of a snapshot.
import { defined, nameOf } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { NEWEST_KNOWN_VERSION } from '../../routing/version.ts';
import { CILIUM_RULES, ciliumRule, isSince } from '../../upstream/proxy/hint-rule.ts';
import type { HintRule, Release, RouterVersion } from '../../upstream/proxy/hint-rule.ts';
import type { Proxy } from '../../upstream/index.ts';
import { LINKERD_RULE } from '../../upstream/proxy/routes.ts';
import {
  type Found,
  imageVersion,
  kubeProxyAnswer,
  kubeletOf,
  routerObjectTitle,
  selectsNode,
  settingValue,
  versionText,
} from './kube-proxy.ts';
import { EMBEDDED, VIRTUAL, disablesKubeProxy, nodeSign } from './nodes.ts';
import { type DataPlane, KUBE_PROXY_AGENT, PLANES, isAgent } from './planes.ts';
import type {
  Behaviour,
  Certainty,
  Evidence,
  NodeRouting,
  RouterAnswer,
  RouterNode,
  RouterObject,
  Routers,
  Stated,
} from './types.ts';

/** What would show more, for the sentence of an assumption. */
export const WOULD_TELL =
  'nothing in these objects shows another one; add the DaemonSets, Pods and ConfigMaps of kube-system (kubectl topology snapshot collects them)';

interface Context {
  readonly objects: readonly RouterObject[];
  readonly podsOf: ReadonlyMap<string, readonly RouterObject[]>;
  readonly daemonSets: readonly RouterObject[];
  readonly configMaps: readonly RouterObject[];
  /** Names of DaemonSets of which at least one Pod is known. */
  readonly withPods: ReadonlySet<string>;
  /** A server of k3s or RKE2 that says so for all Nodes. */
  readonly disabled: Evidence | undefined;
  readonly stated: Stated;
  readonly fallback: KubernetesVersion | undefined;
  /** Of each plane the object, of whichever Node, that shows it. */
  readonly shown: ReadonlyMap<DataPlane, RouterObject>;
  /** Answers that were found for an agent, by the kubelet's version and what is doubted: a DaemonSet has one for thousands of Nodes. */
  readonly ofAgents: Map<RouterObject, Map<string, RouterAnswer>>;
}

const ownerKey = (namespace: string, name: string): string => `${namespace}/${name}`;

/** Pods of the Node first; of DaemonSets those that select it and of which no Pod is known at all. */
const agentsOn = ({ podsOf, daemonSets, withPods }: Context, node: RouterNode): readonly RouterObject[] => [
  ...(podsOf.get(nameOf(node)) ?? []),
  ...daemonSets.filter((set) => !withPods.has(ownerKey(set.namespace, set.name)) && selectsNode(set, node)),
];

/** DaemonSets that select the Node, have Pods elsewhere, and none here. */
const absentOn = (context: Context, node: RouterNode, agents: readonly RouterObject[]): readonly RouterObject[] =>
  context.daemonSets.filter(
    (set) =>
      context.withPods.has(ownerKey(set.namespace, set.name)) &&
      selectsNode(set, node) &&
      !agents.some(({ namespace, owner }) => namespace === set.namespace && owner === set.name),
  );

/** What the image of its agent names. */
export const versionOf = (
  plane: DataPlane,
  agents: readonly RouterObject[],
): { version: RouterVersion; evidence: Evidence } | undefined => {
  for (const agent of agents) {
    const own = agent.containers.filter(({ name }) => plane.agent.containers?.includes(name) === true);
    for (const { name, image } of own.length > 0 ? own : agent.containers) {
      const version = imageVersion(image);
      if (version === undefined) continue;
      return {
        version,
        evidence: { object: routerObjectTitle(agent), field: `containers[${name}].image`, value: image },
      };
    }
  }
  return undefined;
};

interface Judged {
  readonly holds: boolean;
  readonly found: readonly Found[];
}

const judge = (
  plane: DataPlane,
  requirements: DataPlane['routes'],
  scope: Parameters<typeof settingValue>[1],
): Judged => {
  const found = requirements.map(({ setting }) => settingValue(plane.settings[setting] ?? { places: [] }, scope));
  return { holds: requirements.every(({ is }, index) => is.includes(found[index]?.value ?? '')), found };
};

const missingText = ({ found }: Judged): string[] =>
  found.flatMap(({ missing }) => (missing === undefined ? [] : [`${missing} is not among these objects`]));

const needsText = ({ optIn }: HintRule): string => {
  if (optIn === undefined) return 'no setting makes it follow hints';
  if (optIn === 'hints') return 'hints alone';
  const keys = optIn.annotations.map((key) => key.replace(/^.*\//, '')).join(' or ');
  const values = optIn.distributions.join(', ');
  return [`annotation ${keys}`, ...(values === '' ? [] : [`trafficDistribution ${values}`])].join(' or ');
};

/** What a client gets where no endpoint is hinted for it, and where only those are that are not ready. */
const fallbacks = ({ optIn, partial, counts = [], readyOnly }: HintRule): Pick<Behaviour, 'unmatched' | 'unready'> => {
  const unmatched = optIn !== undefined && partial === 'each' ? 'none' : 'all';
  // What terminates and still serves is used by all but these; what starts or has stopped by none.
  const isLost = counts.some((state) => state !== 'terminating' || readyOnly === true);
  return { unmatched, unready: optIn !== undefined && (isLost || partial === 'each') ? 'none' : 'all' };
};

const isSafe = (rule: HintRule): boolean => Object.values(fallbacks(rule)).every((answer) => answer === 'all');

/** The release from which all that follow hints are safe; null: none is, or this rule is. */
const safeSince = (rule: HintRule, releases: readonly { since: Release; rule: HintRule }[]): string | null => {
  const unsafe = releases.findIndex((each) => !isSafe(each.rule));
  const first = releases.slice(0, unsafe).findLast((each) => each.rule.optIn !== undefined);
  return isSafe(rule) || first === undefined ? null : first.since.join('.');
};

const behaviourOf = (rule: HintRule, source: string, releases: Parameters<typeof safeSince>[1] = []): Behaviour => ({
  hints: rule.optIn === undefined ? 'none' : rule.sameNode === undefined ? 'zone' : 'zone-and-node',
  needs: needsText(rule),
  ...fallbacks(rule),
  safeSince: safeSince(rule, releases),
  source,
});

const UNKNOWN: Omit<Behaviour, 'source'> = {
  hints: 'unknown',
  needs: 'unknown',
  unmatched: 'unknown',
  unready: 'unknown',
  safeSince: null,
};

interface PlaneInput {
  readonly plane: DataPlane;
  readonly node: RouterNode;
  readonly agents: readonly RouterObject[];
  readonly shown: RouterObject | undefined;
  readonly doubts: readonly string[];
  readonly routes: Judged;
}

const proxyOf = (
  plane: DataPlane,
  rule: HintRule | 'cilium' | 'unknown',
  { on, version, why }: { on: boolean; version: RouterVersion | undefined; why: string },
): Proxy => {
  const name = version === undefined ? plane.title : `${plane.title} ${versionText(version)}`;
  if (rule === 'unknown') return { kind: 'unknown', name: why };
  if (rule === 'cilium') {
    return { kind: 'cilium', serviceTopology: on, ...defined({ ciliumVersion: version }) };
  }
  return { kind: 'ruled', name, rule: on ? rule : {} };
};

const planeAnswer = (input: PlaneInput, context: Context): RouterAnswer => {
  const { plane, node, agents, shown, routes } = input;
  const { stated, objects, fallback } = context;
  const scope = { node, agents, objects };
  const follows = judge(plane, plane.follows, scope);
  const image = versionOf(plane, agents);
  const isCilium = plane.name === 'cilium' || plane.name === 'gke-dataplane-v2';
  const version = (isCilium ? stated.cilium?.ciliumVersion : undefined) ?? image?.version;
  const found = plane.versions.find(
    ({ since, when }) =>
      (version === undefined || isSince(version, since)) && (when === undefined || judge(plane, [when], scope).holds),
  );
  const on = (isCilium ? stated.cilium?.serviceTopology : undefined) ?? follows.holds;
  const undecided =
    follows.found.some(({ value }) => value === undefined) && stated.cilium?.serviceTopology === undefined;
  const rule = undecided ? 'unknown' : (found?.rule ?? {});
  const versionMatters = plane.versions.length > 1 || isCilium;
  const unnamed = version === undefined && versionMatters && (on || plane.follows.length === 0);
  const why = [
    ...input.doubts,
    ...missingText(routes),
    ...(stated.cilium?.serviceTopology === undefined ? missingText(follows) : []),
    ...(unnamed ? ['its image names no version, so the newest examined one is assumed'] : []),
    ...(found?.assumed === undefined ? [] : [found.assumed]),
  ];
  const certainty: Certainty = rule === 'unknown' ? 'unknown' : why.length === 0 ? 'seen' : 'assumed';
  const releases = plane.versions.flatMap((each) =>
    each.rule === 'cilium' ? CILIUM_RULES : [{ since: each.since, rule: each.rule }],
  );
  const effective = rule === 'cilium' ? ciliumRule(version) : rule;
  const agent = agents[0] ?? shown;
  const noted = plane.note === undefined ? undefined : judge(plane, [plane.note.when], scope);
  const gates = defined({ gates: stated.gates });
  const routing: NodeRouting = {
    proxy: proxyOf(plane, rule, { on, version, why: why.join('; ') }),
    version: stated.version ?? kubeletOf(node) ?? fallback ?? NEWEST_KNOWN_VERSION,
    ...gates,
  };
  return {
    router: plane.name,
    title: plane.title,
    version: version === undefined ? null : versionText(version),
    certainty,
    why: why.join('; '),
    evidence: [
      ...(image === undefined && agent !== undefined
        ? [{ object: routerObjectTitle(agent), field: 'metadata.name', value: agent.name }]
        : []),
      ...(image === undefined ? [] : [image.evidence]),
      ...[...routes.found, ...follows.found].flatMap(({ evidence }) => evidence),
    ],
    behaviour:
      effective === 'unknown'
        ? { ...UNKNOWN, source: plane.source }
        : behaviourOf(on ? effective : {}, plane.source, releases),
    notes: noted?.holds === true && plane.note !== undefined ? [plane.note.text] : [],
    routing,
  };
};

const shownBy = ({ shown }: DataPlane, objects: readonly RouterObject[]): RouterObject | undefined =>
  shown === undefined
    ? undefined
    : objects.find(({ kind, settings }) => kind === shown.kind && settings[shown.key] === shown.value);

const unknownAnswer = (
  node: RouterNode,
  { title, why, source, evidence }: { title: string; why: string; source: string; evidence: readonly Evidence[] },
  context: Context,
): RouterAnswer => ({
  router: 'unknown',
  title,
  version: null,
  certainty: 'unknown',
  why,
  evidence,
  behaviour: { ...UNKNOWN, source },
  notes: [],
  routing: {
    proxy: { kind: 'unknown', name: why },
    version: context.stated.version ?? kubeletOf(node) ?? context.fallback ?? NEWEST_KNOWN_VERSION,
  },
});

const statedAnswer = (node: RouterNode, proxy: Proxy, { stated, fallback }: Context): RouterAnswer => {
  const version = stated.version ?? kubeletOf(node) ?? fallback ?? NEWEST_KNOWN_VERSION;
  const source = 'as stated by --proxy';
  const base = kubeProxyAnswer({ node, objects: [], stated, doubts: [], fallback });
  const evidence = [{ object: 'flag', field: '--proxy', value: proxy.kind }];
  if (proxy.kind === 'kube-proxy') return { ...base, evidence };
  const rule =
    proxy.kind === 'cilium' && proxy.serviceTopology === true
      ? ciliumRule(proxy.ciliumVersion)
      : proxy.kind === 'linkerd' && proxy.endpointSlices !== false
        ? LINKERD_RULE
        : {};
  return {
    ...base,
    router: proxy.kind === 'cilium' || proxy.kind === 'linkerd' ? proxy.kind : 'unknown',
    title: proxy.kind === 'cilium' ? 'Cilium' : proxy.kind === 'linkerd' ? 'Linkerd' : proxy.kind,
    evidence,
    behaviour: behaviourOf(rule, source, proxy.kind === 'cilium' ? CILIUM_RULES : []),
    notes: [],
    routing: { proxy, version, ...defined({ gates: stated.gates }) },
  };
};

const doubtsAbout = (absent: readonly RouterObject[]): string[] =>
  absent.map((set) => `${routerObjectTitle(set)} has Pods on other Nodes but not here`);

const answerFor = (node: RouterNode, context: Context): RouterAnswer => {
  const { stated, objects } = context;
  if (stated.proxy !== undefined) return statedAnswer(node, stated.proxy, context);
  const virtual = nodeSign(node, VIRTUAL);
  if (virtual !== undefined) return unknownAnswer(node, { ...virtual, evidence: [virtual.evidence] }, context);
  const agents = agentsOn(context, node);
  const absent = absentOn(context, node, agents);
  const doubts: string[] = [];
  for (const plane of PLANES) {
    const own = agents.filter((agent) => isAgent(plane.agent, agent));
    const shown = context.shown.get(plane);
    doubts.push(...doubtsAbout(absent.filter((set) => isAgent(plane.agent, set))));
    if (own.length === 0 && shown === undefined) continue;
    const routes = judge(plane, plane.routes, { node, agents: own, objects });
    if (routes.holds) return planeAnswer({ plane, node, agents: own, shown, doubts, routes }, context);
    doubts.push(...missingText(routes).map((text) => `${plane.title}: ${text}`));
  }
  const embedded = nodeSign(node, EMBEDDED);
  if (embedded?.router === 'kube-proxy-windows') return windowsAnswer(node, embedded, context);
  const lacking = absent.filter((set) => isAgent(KUBE_PROXY_AGENT, set));
  const common = { node, objects: context.configMaps, stated, fallback: context.fallback };
  const agent = agents.find((each) => isAgent(KUBE_PROXY_AGENT, each));
  if (agent !== undefined) {
    const answers = context.ofAgents.get(agent) ?? new Map<string, RouterAnswer>();
    const key = JSON.stringify([node.status?.nodeInfo?.kubeletVersion, doubts]);
    const answer = answers.get(key) ?? kubeProxyAnswer({ ...common, agent, doubts });
    context.ofAgents.set(agent, answers.set(key, answer));
    return answer;
  }
  const off = disablesKubeProxy(node) ?? context.disabled;
  if (off !== undefined) {
    const why = 'kube-proxy is switched off, and no other data plane is among these objects';
    return unknownAnswer(
      node,
      { title: 'unknown', why, source: 'k3s and RKE2 server flags', evidence: [off] },
      context,
    );
  }
  if (embedded !== undefined) {
    const unsure = embedded.certainty === 'seen' ? doubts : [...doubts, embedded.why];
    return kubeProxyAnswer({ ...common, evidence: [embedded.evidence], doubts: unsure, source: embedded.source });
  }
  return kubeProxyAnswer({ ...common, doubts: [...doubts, ...doubtsAbout(lacking), WOULD_TELL] });
};

const windowsAnswer = (
  node: RouterNode,
  { title, source, evidence }: { title: string; source: string; evidence: Evidence },
  { stated, fallback }: Context,
): RouterAnswer => ({
  router: 'kube-proxy-windows',
  title,
  version: null,
  certainty: 'seen',
  why: '',
  evidence: [evidence],
  behaviour: behaviourOf({}, source),
  notes: [],
  routing: {
    proxy: { kind: 'ruled', name: title, rule: {} },
    version: stated.version ?? kubeletOf(node) ?? fallback ?? NEWEST_KNOWN_VERSION,
  },
});

export interface RoutersInput {
  readonly objects: readonly RouterObject[];
  readonly nodes: readonly RouterNode[];
  readonly stated?: Stated;
  /** Of the control plane, for Nodes that do not say theirs. */
  readonly fallback?: KubernetesVersion;
}

/** Answers are worked out once for each Node. */
export const createRouters = ({ objects, nodes, stated = {}, fallback }: RoutersInput): Routers => {
  const pods = objects.filter(({ kind, nodeName }) => kind === 'Pod' && nodeName !== '');
  const context: Context = {
    objects,
    podsOf: Map.groupBy(pods, ({ nodeName }) => nodeName),
    daemonSets: objects.filter(({ kind }) => kind === 'DaemonSet'),
    configMaps: objects.filter(({ kind }) => kind === 'ConfigMap'),
    withPods: new Set(pods.flatMap(({ namespace, owner }) => (owner === '' ? [] : [ownerKey(namespace, owner)]))),
    disabled: nodes.map(disablesKubeProxy).find((found) => found !== undefined),
    stated,
    fallback,
    ofAgents: new Map(),
    shown: new Map(
      PLANES.flatMap((plane) => {
        const object = shownBy(plane, objects);
        return object === undefined ? [] : [[plane, object] as const];
      }),
    ),
  };
  const known = new Map<string, RouterAnswer>();
  const of = (node: RouterNode): RouterAnswer => {
    const name = nameOf(node);
    const answer = known.get(name) ?? answerFor(node, context);
    known.set(name, answer);
    return answer;
  };
  const keys = new Map<RouterAnswer, string>();
  return {
    of,
    keyOf(node) {
      const answer = of(node);
      const { router, version, certainty, why, behaviour, notes, routing } = answer;
      const key = keys.get(answer) ?? JSON.stringify([router, version, certainty, why, behaviour, notes, routing]);
      keys.set(answer, key);
      return key;
    },
  };
};
