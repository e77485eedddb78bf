// kube-proxy's own version and feature gates on one Node (its Pod's, else its DaemonSet's), and the value of any data plane's setting.
import type { Node } from '../../apis/core.ts';
import { NOWHERE } from '../../apis/names.ts';
import { defined, nameOf, objectTitle } from '../../apis/values.ts';
import { type KubernetesVersion, matchesSelector } from '../../routing/types.ts';
import { NEWEST_KNOWN_VERSION, atLeast, compareVersions, formatVersion } from '../../routing/version.ts';
import type { Proxy } from '../../upstream/index.ts';
import { FEATURE_GATES, type FeatureGates, isEnabled } from '../../upstream/features.ts';
import { type RouterVersion, versionText } from '../../upstream/proxy/hint-rule.ts';
import { kubeletVersion } from './nodes.ts';
import { KUBE_PROXY_AGENT, type Setting } from './planes.ts';
import type { Behaviour, Certainty, Evidence, NodeRouting, RouterName, RouterObject, Stated } from './types.ts';

const TAG = /^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4}))?(?:$|[-+_.~])/;

/** Undefined where the image has no tag, or one that names no version. */
export const imageVersion = (image: string): RouterVersion | undefined => {
  const [, major, minor, patch] = TAG.exec(/:([^:/]+)$/.exec(image.replace(/@.*/s, ''))?.[1] ?? '') ?? [];
  if (major === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), ...(patch === undefined ? {} : { patch: Number(patch) }) };
};

/** Without alternatives that say `(from 1.5)`, of a version before. */
export const knownTo = (setting: string, version: KubernetesVersion): string => {
  const ifKnown = (alternative: string, major: string, minor: string): string =>
    compareVersions(version, { major: Number(major), minor: Number(minor) }) < 0 ? '' : alternative;
  const left = setting.replace(/(?:^|, (?:or )?)[^,]*?\((?:\w+ )?from (\d+)\.(\d+)[^)]*\)/g, ifKnown);
  return left.replace(/^, (?:or )?/, '');
};

export const selectsNode = ({ nodes }: Pick<RouterObject, 'nodes'>, { metadata }: Node): boolean =>
  nodes.length === 0 || nodes.some((selector) => matchesSelector(selector, metadata?.labels ?? {}));

/** Value of `--key=value`, `--key value` or `--key` in a command line, also one inside a shell's string. */
export const flagValue = (args: readonly string[], key: string): string | undefined => {
  const words = args.join(' ').split(/[\s"']+/);
  const at = words.findLastIndex((word) => word === `--${key}` || word.startsWith(`--${key}=`));
  const [, next = ''] = at === -1 ? [] : words.slice(at);
  const [, value = next === '' || next.startsWith('-') ? 'true' : next] = /^--[^=]+=(.*)$/.exec(words[at] ?? '') ?? [];
  return at === -1 ? undefined : value;
};

/** Where settings are looked for. */
export interface Scope {
  readonly node: Node;
  readonly agents: readonly RouterObject[];
  readonly objects: readonly RouterObject[];
}

const valuesOf = ({ places }: Setting, { node, agents, objects }: Scope): Evidence[] =>
  places.flatMap((place) => {
    const found =
      place.from === 'object'
        ? objects
            .filter((own) => own.kind === place.kind && place.name.test(own.name) && selectsNode(own, node))
            .map((own) => ({ own, field: place.key, value: own.settings[place.key] }))
        : agents.flatMap((own) =>
            own.containers.map(({ name, args, env }) =>
              place.from === 'arg'
                ? { own, field: `containers[${name}].args --${place.key}`, value: flagValue(args, place.key) }
                : { own, field: `containers[${name}].env ${place.key}`, value: env[place.key] },
            ),
          );
    return found.flatMap(({ own, field, value }) =>
      value === undefined ? [] : [{ object: objectTitle(own), field, value }],
    );
  });

/** Without a value no object says it, and nothing documents what that means; `missing`: it is taken to be its default because the object that would say otherwise is not there. */
export const settingValue = (setting: Setting, scope: Scope) => {
  const [first] = valuesOf(setting, scope);
  if (first !== undefined) return { value: first.value, evidence: [first] };
  // Objects that hold the default by leaving the setting out.
  const homes = setting.places.flatMap((place) => (place.from === 'object' && place.override !== true ? [place] : []));
  const [home] = homes;
  const silent = scope.objects.find((own) => homes.some(({ kind, name }) => own.kind === kind && name.test(own.name)));
  const { absent: value } = setting;
  if (home === undefined) return { value, evidence: [] };
  if (value === undefined || silent === undefined) {
    const where = `${home.kind} ${home.name.source.replaceAll(/[^\w-]/g, '')}`.trim();
    const missing = silent === undefined ? `${where} is not among these objects` : `${where} does not set ${home.key}`;
    return { value, evidence: [], missing };
  }
  return { value, evidence: [{ object: objectTitle(silent), field: home.key, value: '(not set)' }] };
};

/** Whether Pods with this label show no more than the DaemonSets that make them. So it is where there are such DaemonSets, and each has a Pod of its present template on every Node that it selects: fewer Pods mean that a taint keeps them away somewhere. */
export const settledBy = (objects: readonly RouterObject[], nodes: readonly Node[]) => {
  const isSettled = (set: RouterObject): boolean =>
    set.scheduled !== undefined && set.scheduled === nodes.filter((node) => selectsNode(set, node)).length;
  return (key: string, value: string): boolean => {
    const own = objects.filter(({ kind, labels }) => kind === 'DaemonSet' && labels[key] === value);
    return own.length > 0 && own.every(isSettled);
  };
};

interface AnswerContext {
  readonly stated: Stated;
  /** Of the control plane, for Nodes that do not say theirs. */
  readonly fallback: KubernetesVersion | undefined;
  readonly configMaps: readonly RouterObject[];
  readonly named: ReadonlyMap<string, Node>;
}

interface Draft extends Pick<NodeRouting, 'proxy' | 'gates'> {
  readonly router: RouterName;
  /** For people: `Calico eBPF`. */
  readonly title: string;
  readonly evidence: readonly Evidence[];
  readonly behaviour: Behaviour;
  /** As its image says. */
  readonly version?: RouterVersion | undefined;
  /** Why it is not more than assumed. */
  readonly doubts?: readonly string[];
  /** What else is to be known: version skew, who routes the host network. */
  readonly notes?: readonly string[];
  readonly self?: NodeRouting['self'];
}

/** Of kube-proxy, or of what stands in for it: as stated, else as seen, as the kubelet's, as the control plane's, the newest known. */
const proxyVersion = (node: Node, seen: RouterVersion | undefined, { stated, fallback }: AnswerContext) =>
  stated.version ?? seen ?? kubeletVersion(node) ?? fallback ?? NEWEST_KNOWN_VERSION;

export const routerAnswer = (node: Node, draft: Draft, context: AnswerContext) => {
  const { router, title, version, doubts = [], evidence, behaviour, notes = [], proxy } = draft;
  const certainty: Certainty = proxy.kind === 'unknown' ? 'unknown' : doubts.length === 0 ? 'seen' : 'assumed';
  const routing: NodeRouting = {
    proxy,
    version: proxyVersion(node, router === 'kube-proxy' ? version : undefined, context),
    ...defined({ gates: draft.gates ?? context.stated.gates, self: draft.self }),
  };
  return {
    router,
    title,
    /** As its image says, `3.29.1`; null where that is not known. */
    version: version === undefined ? null : versionText(version),
    certainty,
    /** Why it is not `seen`, and what would show more; empty where it is. */
    why: doubts.join('; '),
    evidence,
    behaviour,
    notes,
    routing,
  };
};

export type RouterAnswer = Readonly<ReturnType<typeof routerAnswer>>;

const GATES = 'featureGates.';
const KNOWN_GATES: ReadonlySet<string> = new Set(FEATURE_GATES);
/** What its ConfigMap is called where no Pod says which it mounts: kubeadm, EKS, Gardener. */
const KUBE_PROXY_CONFIG = /^kube-proxy(?:-config.*)?$/;

/** Gates of `--feature-gates` and of its configuration file, which the former override, and whether it reads a file that was not seen. */
const configOf = (agent: RouterObject, args: readonly string[], { configMaps }: AnswerContext) => {
  const flag = flagValue(args, 'feature-gates');
  const files = configMaps.filter(
    ({ namespace, name }) =>
      namespace === agent.namespace &&
      (agent.configMaps.length > 0 ? agent.configMaps.includes(name) : KUBE_PROXY_CONFIG.test(name)),
  );
  const inFiles = files.flatMap((file) =>
    Object.entries(file.settings).flatMap(([field, value]) =>
      field.startsWith(GATES) && KNOWN_GATES.has(field.slice(GATES.length))
        ? [{ object: objectTitle(file), field, value }]
        : [],
    ),
  );
  const given = { object: objectTitle(agent), field: 'containers[kube-proxy].args --feature-gates' };
  const pairs = [
    ...inFiles.map(({ field, value }) => [field.slice(GATES.length), value] as const),
    ...(flag ?? '').split(',').map((pair) => pair.split('=') as [string, string | undefined]),
  ];
  return {
    gates: Object.fromEntries(
      pairs.flatMap(([name, value]) => (KNOWN_GATES.has(name) ? [[name, value === 'true']] : [])),
    ) as FeatureGates,
    evidence: [...(flag === undefined ? [] : [{ ...given, value: flag }]), ...inFiles],
    hostname: flagValue(args, 'hostname-override') ?? files[0]?.settings['hostnameOverride'] ?? '',
    unseen: files.length === 0 && flagValue(args, 'config') !== undefined,
  };
};

const behaviourAt = (version: KubernetesVersion, gates: FeatureGates): Omit<Behaviour, 'source'> => {
  const alone = isEnabled('ServiceTrafficDistribution', version, gates);
  const byHints = isEnabled('PreferSameTrafficDistribution', version, gates) ? 'zone-and-node' : 'zone';
  return {
    hints: alone || isEnabled('TopologyAwareHints', version, gates) ? byHints : 'none',
    needs: alone ? 'hints alone' : `the annotation ${atLeast(version, 27) ? 'topology-mode' : 'topology-aware-hints'}`,
    unmatched: 'all',
    unready: 'all',
    safeSince: null,
  };
};

/** Gates in a file can switch hints off before this minor only. */
const LOCKED_SINCE = 33;
const UNSEEN = `its ConfigMap is not among these objects, and a feature gate there may switch hints off before 1.${LOCKED_SINCE}`;
const SUPPORTED_SKEW = 3;

const skewNotes = (node: Node, version: KubernetesVersion): string[] => {
  const kubelet = kubeletVersion(node);
  if (kubelet === undefined || compareVersions(kubelet, version) === 0) return [];
  const far = Math.abs(kubelet.minor - version.minor) > SUPPORTED_SKEW ? ', more than Kubernetes supports' : '';
  return [`version skew: kube-proxy ${formatVersion(version)}, kubelet ${formatVersion(kubelet)}${far}`];
};

/** `agent`: its Pod or DaemonSet; undefined where it runs inside the node, or is assumed. The rest was found before. */
type KubeProxyInput = Partial<Pick<Draft, 'evidence' | 'doubts'>> & { agent?: RouterObject; source?: string };

const SOURCE = 'kubernetes/kubernetes pkg/proxy/topology.go; KEP-2433, KEP-4444, KEP-3015';
export const MENDED = 'kubernetes/kubernetes#101054: mended in 1.21.1';

const seenOf = (agent: RouterObject, context: AnswerContext) => {
  const own = agent.containers.find(({ name }) => KUBE_PROXY_AGENT.containers?.includes(name)) ?? agent.containers[0];
  const { name = '', image: value = '', args = [] } = own ?? {};
  const { evidence, ...config } = configOf(agent, args, context);
  const shown = { object: objectTitle(agent), field: `containers[${name}].image`, value };
  return { ...config, own: imageVersion(value), evidence: [shown, ...evidence] };
};

/** Without an override kube-proxy takes its hostname, which the kubelet writes as a label, for the name of its Node (kubernetes#71851, kubeadm#857); with one in the file that all read, all take themselves for one Node (kubespray#3610). A variable is its own Node's name. */
export const selfOf = (node: Node, agent: RouterObject, context: AnswerContext): NodeRouting['self'] => {
  const { hostname: override, unseen } = seenOf(agent, context);
  const name = (override || (node.metadata?.labels?.['kubernetes.io/hostname'] ?? '')).toLowerCase();
  if (unseen || name === '' || /[^a-z\d.-]/.test(name) || name === nameOf(node)) return undefined;
  const [other, by] = [context.named.get(name), override === '' ? 'its hostname' : `hostnameOverride ${name}`];
  return other === undefined
    ? { node: { metadata: { name: NOWHERE } }, why: `a Node that is not there (${by} is no Node's name)` }
    : { node: other, why: `Node ${name} (by ${by})` };
};

export const kubeProxyAnswer = (node: Node, input: KubeProxyInput, context: AnswerContext): RouterAnswer => {
  const { agent, evidence = [], doubts = [], source = SOURCE } = input;
  const { stated } = context;
  const seen = agent === undefined ? undefined : seenOf(agent, context);
  const own = seen?.own;
  const version = proxyVersion(node, own, context);
  const gates = { ...seen?.gates, ...stated.gates };
  // It never learns its zone, whatever its gates say.
  const blind = stated.version === undefined && own?.minor === 21 && own.patch === 0;
  const proxy: Proxy = blind ? { kind: 'ruled', name: 'kube-proxy 1.21.0', rule: {} } : { kind: 'kube-proxy' };
  const self = agent && selfOf(node, agent, context);
  const why = [...doubts];
  if (self !== undefined && seen?.hostname === '')
    why.push('its hostname is taken from the label kubernetes.io/hostname of the Node');
  if (agent !== undefined && own === undefined && stated.version === undefined)
    why.push(`its image names no version, so the kubelet's (${formatVersion(version)}) is assumed`);
  if (seen?.unseen === true && !atLeast(version, LOCKED_SINCE)) why.push(UNSEEN);
  if (agent?.rolling) why.push('a roll-out of its DaemonSet is under way, and its Pods are not among these objects');
  const draft = {
    router: 'kube-proxy',
    title: 'kube-proxy',
    version: own,
    doubts: why,
    evidence: [...evidence, ...(seen?.evidence ?? [])],
    behaviour: { ...behaviourAt(version, blind ? {} : gates), source: blind ? MENDED : source },
    notes: skewNotes(node, version),
    proxy,
    gates,
    self,
  } as const;
  return routerAnswer(node, draft, context);
};
