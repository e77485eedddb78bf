// Who load-balances Services on each Node, by the table of data planes and the objects of a snapshot; and as every report has it: Nodes
// that are alike in one group, and the whole in three stable fields.
import type { Node } from '../../apis/core.ts';
import { byText, defined, keptIn, nameOf, objectTitle } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { CILIUM_RULES, ciliumRule, isSince, versionText } from '../../upstream/proxy/hint-rule.ts';
import type { Proxy } from '../../upstream/index.ts';
import { LINKERD_RULE } from '../../upstream/proxy/routes.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import { UNKNOWN, behaviourOf } from './behaviour.ts';
import { routerAnswer, imageVersion, kubeProxyAnswer, selectsNode, selfOf, settingValue } from './kube-proxy.ts';
import type { RouterAnswer, Scope } from './kube-proxy.ts';
import { WINDOWS_BLIND, computeTypeOf, disablesKubeProxy, kubeletText, nodeSign } from './nodes.ts';
import { type DataPlane, KUBE_PROXY_AGENT, PLANES, type PlaneName, type Requirements, isAgent } from './planes.ts';
import type { Certainty, Evidence, RouterObject, Stated } from './types.ts';

interface RoutersInput {
  readonly objects: readonly RouterObject[];
  readonly nodes: readonly Node[];
  readonly stated?: Stated;
  readonly fallback?: KubernetesVersion | undefined;
}

const ownerKey = (namespace: string, name: string): string => `${namespace}/${name}`;

/** What answers for all Nodes are made of. */
const contextOf = ({ objects, nodes, stated = {}, fallback }: RoutersInput) => {
  const pods = objects.filter(({ kind, nodeName }) => kind === 'Pod' && nodeName !== '');
  return {
    objects,
    podsOf: Map.groupBy(pods, ({ nodeName }) => nodeName),
    daemonSets: objects.filter(({ kind }) => kind === 'DaemonSet'),
    configMaps: objects.filter(({ kind }) => kind === 'ConfigMap'),
    named: new Map(nodes.map((node) => [nameOf(node), node])),
    /** Names of DaemonSets of which at least one Pod is known. */
    withPods: new Set(pods.flatMap(({ namespace, owner }) => (owner === '' ? [] : [ownerKey(namespace, owner)]))),
    /** A server of k3s or RKE2 that says so for all Nodes. */
    disabled: nodes.map(disablesKubeProxy).find((found) => found !== undefined),
    stated,
    fallback,
    /** Where nothing of kube-system was read, as in the objects of one namespace, something may replace the proxy. */
    isPart: !objects.some(({ namespace }) => namespace === 'kube-system'),
    /** Answers that were found for an agent, by the kubelet's version and what is doubted: a DaemonSet has one for thousands of Nodes. */
    ofAgents: new Map<RouterObject, Map<string, RouterAnswer>>(),
    /** Of each plane the object, of whichever Node, that shows it. */
    shown: new Map(
      PLANES.flatMap(({ name, shown }) =>
        objects
          .filter(({ kind, settings }) => kind === shown?.kind && settings[shown.key] === shown.value)
          .map((object) => [name, object] as const),
      ),
    ),
  };
};

type Context = ReturnType<typeof contextOf>;

/** Pods of the Node, then DaemonSets that select it and of which no Pod is known at all; `absent`: those with Pods elsewhere and none here. */
const agentsOn = ({ podsOf, daemonSets, withPods }: Context, node: Node) => {
  const pods = podsOf.get(nameOf(node)) ?? [];
  const owners = new Set(pods.map(({ namespace, owner }) => ownerKey(namespace, owner)));
  const sets = daemonSets.filter((set) => selectsNode(set, node));
  const hasPods = ({ namespace, name }: RouterObject): boolean => withPods.has(ownerKey(namespace, name));
  return {
    agents: [...pods, ...sets.filter((set) => !hasPods(set))],
    absent: sets.filter((set) => hasPods(set) && !owners.has(ownerKey(set.namespace, set.name))),
  };
};

export const versionOf = ({ agent: { containers: names = [] } }: DataPlane, agents: readonly RouterObject[]) =>
  agents.flatMap((agent) => {
    const own = agent.containers.filter(({ name }) => names.includes(name));
    return (own.length > 0 ? own : agent.containers).flatMap(({ name, image: value }) => {
      const version = imageVersion(value);
      const evidence: Evidence = { object: objectTitle(agent), field: `containers[${name}].image`, value };
      return version === undefined ? [] : [{ version, evidence }];
    });
  })[0];

const judge = ({ settings = {} }: DataPlane, requirements: Requirements, scope: Scope) => {
  const judged = Object.entries(requirements).map(([setting, values]) => {
    const found = settingValue(settings[setting] ?? { places: [] }, scope);
    return { found, holds: values.includes(found.value ?? '') };
  });
  return { holds: judged.every(({ holds }) => holds), found: judged.map(({ found }) => found) };
};

type Judged = ReturnType<typeof judge>;

const missingText = ({ found }: Judged): string[] => found.flatMap(({ missing }) => missing ?? []);

const planeAnswer = (plane: DataPlane<PlaneName>, scope: Scope, routes: Judged, doubts: string[], context: Context) => {
  const { title, versions, source, note } = plane;
  const { node, agents } = scope;
  const stated = plane.cilium === true ? context.stated.cilium : undefined;
  const follows = judge(plane, plane.follows ?? {}, scope);
  const noted = note && judge(plane, note.when, scope);
  const hasProxy = context.podsOf.get(nameOf(node))?.some(({ containers }) => containers[0]?.name === 'kube-proxy');
  const image = versionOf(plane, agents);
  const version = stated?.ciliumVersion ?? image?.version;
  const found = versions.find(
    ({ since, when = {} }) => (!version || !since || isSince(version, since)) && judge(plane, when, scope).holds,
  );
  const on = stated?.serviceTopology ?? follows.holds;
  const isUnknown = stated?.serviceTopology === undefined && follows.found.some(({ value }) => value === undefined);
  // Without a version it is taken for the newest; older releases of some planes do otherwise.
  const unnamed = version === undefined && versions.some(({ since }) => since !== undefined);
  const why = [
    ...doubts,
    ...missingText(routes),
    ...(stated?.serviceTopology === undefined ? missingText(follows) : []),
    ...(unnamed && (on || plane.follows === undefined)
      ? ['its image names no version, so the newest examined one is assumed']
      : []),
    ...(found?.assumed === undefined ? [] : [found.assumed]),
  ];
  const policyBlind = plane.blindWith?.test(kubeletText(node)) || found?.rule.policyBlind;
  const rule = { ...(on && found?.rule), ...defined({ policyBlind }) };
  const proxy = (): Proxy => {
    if (isUnknown) return { kind: 'unknown', name: why.join('; ') };
    if (plane.cilium === true) return { kind: 'cilium', serviceTopology: on, ...defined({ ciliumVersion: version }) };
    return { kind: 'ruled', name: version === undefined ? title : `${title} ${versionText(version)}`, rule };
  };
  const agent = agents[0] ?? context.shown.get(plane.name);
  const named = agent === undefined ? [] : [{ object: objectTitle(agent), field: 'metadata.name', value: agent.name }];
  const read = [...routes.found, ...follows.found].flatMap(({ evidence }) => evidence);
  const draft = {
    router: plane.name,
    title,
    version,
    doubts: why,
    evidence: [...(image === undefined ? named : [image.evidence]), ...read],
    behaviour: isUnknown ? { ...UNKNOWN, source } : behaviourOf(rule, source, versions),
    notes: note && noted?.holds === true && (missingText(noted).length === 0 || hasProxy) ? [note.text] : [],
    proxy: proxy(),
  };
  return routerAnswer(node, draft, context);
};

type Sign = Readonly<Record<'title' | 'why' | 'source', string>> & { readonly evidence: readonly Evidence[] };

const unknownAnswer = (node: Node, { title, why, source, evidence }: Sign, context: Context): RouterAnswer => {
  const proxy = { kind: 'unknown', name: why } as const;
  const behaviour = { ...UNKNOWN, source };
  return routerAnswer(node, { router: 'unknown', title, doubts: [why], evidence, behaviour, proxy }, context);
};

const statedAnswer = (node: Node, proxy: NonNullable<Stated['proxy']>, context: Context): RouterAnswer => {
  const evidence = [{ object: 'flag', field: '--proxy', value: proxy.kind }];
  if (proxy.kind === 'kube-proxy') return kubeProxyAnswer(node, { evidence }, context);
  const [title, rule, versions] =
    proxy.kind === 'cilium'
      ? (['Cilium', proxy.serviceTopology === true ? ciliumRule(proxy.ciliumVersion) : {}, CILIUM_RULES] as const)
      : (['Linkerd', proxy.endpointSlices === false ? {} : LINKERD_RULE, []] as const);
  const behaviour = behaviourOf(rule, 'as stated by --proxy', versions);
  return routerAnswer(node, { router: proxy.kind, title, evidence, behaviour, proxy }, context);
};

const doubtsAbout = (absent: readonly RouterObject[], agent: DataPlane['agent']): string[] =>
  absent.filter((set) => isAgent(agent, set)).map((set) => `${objectTitle(set)} has Pods on other Nodes but not here`);

/** What would show more, for the sentence of an assumption. */
const WOULD_SHOW =
  'nothing in these objects shows another one; add the DaemonSets, Pods and ConfigMaps of kube-system if they are missing (kubectl topology snapshot collects them)';

const answerFor = (node: Node, context: Context): RouterAnswer => {
  const { stated, objects } = context;
  if (stated.proxy !== undefined) return statedAnswer(node, stated.proxy, context);
  const sign = nodeSign(node);
  if (sign?.router === 'unknown') return unknownAnswer(node, sign, context);
  const { agents, absent } = agentsOn(context, node);
  const doubts: string[] = [];
  for (const plane of PLANES) {
    const own = agents.filter((agent) => isAgent(plane.agent, agent));
    doubts.push(...doubtsAbout(absent, plane.agent));
    if (own.length === 0 && !context.shown.has(plane.name)) continue;
    const scope = { node, agents: own, objects };
    const routes = judge(plane, plane.routes ?? {}, scope);
    if (routes.holds) return planeAnswer(plane, scope, routes, doubts, context);
    doubts.push(...missingText(routes).map((text) => `${plane.title}: ${text}`));
  }
  if (sign?.router === 'kube-proxy-windows') {
    const { router, title, source, evidence } = sign;
    const proxy = { kind: 'ruled', name: title, rule: { policyBlind: WINDOWS_BLIND.test(kubeletText(node)) } } as const;
    return routerAnswer(node, { router, title, evidence, behaviour: behaviourOf({}, source), proxy }, context);
  }
  const agent = agents.find((each) => isAgent(KUBE_PROXY_AGENT, each));
  if (agent !== undefined) {
    const answers = keptIn(context.ofAgents, agent, () => new Map<string, RouterAnswer>());
    const key = JSON.stringify([node.status?.nodeInfo?.kubeletVersion, doubts, selfOf(node, agent, context)?.why]);
    return keptIn(answers, key, () => kubeProxyAnswer(node, { agent, doubts }, context));
  }
  const off = disablesKubeProxy(node) ?? context.disabled;
  if (off !== undefined) {
    const why = 'kube-proxy is switched off, and no other data plane is among these objects';
    const facts = { title: 'unknown', why, source: 'k3s and RKE2 server flags', evidence: [off] };
    return unknownAnswer(node, facts, context);
  }
  const running = context.daemonSets.filter(({ namespace, name }) => context.withPods.has(ownerKey(namespace, name)));
  const [first, ...others] = running.filter((set) => isAgent(KUBE_PROXY_AGENT, set));
  // DaemonSets tolerate those of kubelets and of cordons by themselves (giantswarm/k8scloudconfig#525).
  const taint = node.spec?.taints?.map(({ key }) => String(key)).find((key) => !key.startsWith('node.kubernetes.io/'));
  const skips = (set: RouterObject): boolean => !selectsNode(set, node) || (!!taint && absent.includes(set));
  // kubeedge/kubeedge#4101
  if (sign === undefined && first !== undefined && [first, ...others].every(skips)) {
    const how = selectsNode(first, node) ? `has no Pod on the Node, which has taint ${taint}` : 'leaves the Node out';
    const why = `${objectTitle(first)} ${how}, and no other data plane is seen there: where none is, Pods on it reach no cluster IP, and one has to be run (a toleration of kube-proxy, or on edge Nodes of KubeEdge EdgeMesh)`;
    return unknownAnswer(node, { title: 'none seen', why, source: 'kubeedge/kubeedge#4101', evidence: [] }, context);
  }
  if (sign === undefined) {
    const unsure = [...doubts, ...doubtsAbout(absent, KUBE_PROXY_AGENT), WOULD_SHOW];
    return kubeProxyAnswer(node, { doubts: unsure }, context);
  }
  const { evidence, source } = sign;
  const why = context.isPart && computeTypeOf(node) === '' ? WOULD_SHOW : sign.why;
  return kubeProxyAnswer(node, { evidence, doubts: why === '' ? doubts : [...doubts, why], source }, context);
};

/** Answers for Nodes, each worked out once. */
export const createRouters = (input: RoutersInput) => {
  // Volumes say nothing of it, and there may be thousands.
  const context = contextOf({ ...input, objects: input.objects.filter(({ kind }) => kind !== 'PersistentVolume') });
  const known = new Map<string, RouterAnswer>();
  const of = (node: Node): RouterAnswer => keptIn(known, nameOf(node), () => answerFor(node, context));
  const keys = new Map<RouterAnswer, string>();
  return {
    of,
    /** Answers are alike for Nodes with the same key. */
    keyOf(node: Node): string {
      const answer = of(node);
      return keptIn(keys, answer, () => JSON.stringify({ ...answer, evidence: [] }));
    },
  };
};

export type Routers = ReturnType<typeof createRouters>;

/** Who routes on the Nodes of a snapshot; `stated` counts more than its objects. */
export const routersOf = ({ routers, nodes, version }: ClusterSnapshot, stated?: Stated): Routers =>
  createRouters({ objects: itemsOf(routers), nodes: itemsOf(nodes), fallback: version, ...defined({ stated }) });

const EXAMPLES = 3;
const CERTAINTIES: readonly Certainty[] = ['unknown', 'assumed', 'seen'];

export const leastCertain = (certainties: readonly Certainty[]): Certainty =>
  CERTAINTIES.find((each) => certainties.includes(each)) ?? 'seen';

/** Nodes whose Services are load-balanced alike. */
const groupOf = (nodes: readonly [Node, ...Node[]], routers: Routers) => {
  const { routing: _, ...answer } = routers.of(nodes[0]);
  return {
    ...answer,
    /** How many; what shows it is of the first. */
    nodes: nodes.length,
    /** The first of them in name order. */
    examples: nodes.slice(0, EXAMPLES).map(nameOf),
  };
};

export type RouterGroup = ReturnType<typeof groupOf>;

export const routersReport = (nodes: readonly Node[], routers: Routers) => {
  const sorted = [...nodes].sort((a, b) => byText(nameOf(a), nameOf(b)));
  const groups = [...Map.groupBy(sorted, (node) => routers.keyOf(node)).values()]
    .map((own) => groupOf(own as [Node, ...Node[]], routers))
    .sort((a, b) => b.nodes - a.nodes || byText(a.title, b.title));
  const names = new Set(groups.map(({ router }) => router));
  const [only = 'unknown'] = names;
  return {
    /** `mixed` where Nodes differ; `unknown` also where there is no Node. */
    router: names.size > 1 ? ('mixed' as const) : only,
    certainty: groups.length === 0 ? ('unknown' as const) : leastCertain(groups.map(({ certainty }) => certainty)),
    evidence: groups.flatMap(({ evidence }) => evidence),
    /** Most Nodes first. */
    routers: groups,
  };
};

export type RoutersReport = ReturnType<typeof routersReport>;
