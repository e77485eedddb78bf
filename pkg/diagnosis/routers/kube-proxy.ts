// kube-proxy's own version and feature gates on one Node: its Pod's, else its DaemonSet's, never the kubelet's where either is seen.
// Finds the value of a data plane's setting for one Node, and where it stands.
import { defined } from '../../apis/values.ts';
import { type KubernetesVersion, matchesSelector } from '../../routing/types.ts';
import { NEWEST_KNOWN_VERSION, atLeast, compareVersions, formatVersion, parseVersion } from '../../routing/version.ts';
import { FEATURE_GATES, type FeatureGates, isEnabled } from '../../upstream/features.ts';
import type { RouterVersion } from '../../upstream/proxy/hint-rule.ts';
import { KUBE_PROXY_AGENT, KUBE_PROXY_CONFIG, KUBE_PROXY_SOURCE, type Place, type Setting } from './planes.ts';
import type { Behaviour, Evidence, RouterAnswer, RouterContainer, RouterNode, RouterObject, Stated } from './types.ts';

const TAG = /^v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,4}))?(?:$|[-+_.~])/;

/** Undefined where the image has no tag, or one that names no version. */
export const imageVersion = (image: string): RouterVersion | undefined => {
  const [name = ''] = image.split('@');
  const tag = /:([^:/]+)$/.exec(name)?.[1];
  const match = tag === undefined ? null : TAG.exec(tag);
  if (match === null) return undefined;
  const [, major, minor, patch] = match;
  return {
    major: Number(major),
    minor: Number(minor),
    ...(patch === undefined ? {} : { patch: Number(patch) }),
  };
};

/** `1.31.2`. */
export const versionText = ({ major, minor, patch }: RouterVersion): string =>
  `${major}.${minor}${patch === undefined ? '' : `.${patch}`}`;

export interface Found {
  /** Undefined: no object says, and nothing documents what that means. */
  readonly value: string | undefined;
  readonly evidence: readonly Evidence[];
  /** The value is taken to be its default because the object that would say otherwise is not there. */
  readonly missing?: string;
}

/** `DaemonSet kube-system/cilium`. */
export const routerObjectTitle = ({ kind, namespace, name }: RouterObject): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;

export const selectsNode = ({ nodes }: RouterObject, { metadata }: RouterNode): boolean =>
  nodes.length === 0 || nodes.some((selector) => matchesSelector(selector, metadata?.labels ?? {}));

/** Value of `--key=value`, `--key value` or `--key` in a command line, also one inside a shell's string. */
export const flagValue = (args: readonly string[], key: string): string | undefined => {
  const words = args.join(' ').split(/[\s"']+/);
  const at = words.findLastIndex((word) => word === `--${key}` || word.startsWith(`--${key}=`));
  if (at === -1) return undefined;
  const [, value] = /^--[^=]+=(.*)$/.exec(words[at] ?? '') ?? [];
  if (value !== undefined) return value;
  const next = words[at + 1] ?? '';
  return next === '' || next.startsWith('-') ? 'true' : next;
};

const inAgents = (
  agents: readonly RouterObject[],
  place: Extract<Place, { from: 'arg' | 'env' }>,
): Found | undefined => {
  for (const agent of agents) {
    for (const { name, args, env } of agent.containers) {
      const value = place.from === 'arg' ? flagValue(args, place.key) : env[place.key];
      if (value === undefined) continue;
      const field =
        place.from === 'arg' ? `containers[${name}].args --${place.key}` : `containers[${name}].env ${place.key}`;
      return { value, evidence: [{ object: routerObjectTitle(agent), field, value }] };
    }
  }
  return undefined;
};

const ofKind = (objects: readonly RouterObject[], { kind, name }: Extract<Place, { from: 'object' }>): RouterObject[] =>
  objects.filter((object) => object.kind === kind && name.test(object.name));

const inObjects = (
  objects: readonly RouterObject[],
  place: Extract<Place, { from: 'object' }>,
  node: RouterNode,
): Found | undefined => {
  for (const object of ofKind(objects, place)) {
    const value = object.settings[place.key];
    if (value === undefined || !selectsNode(object, node)) continue;
    return { value, evidence: [{ object: routerObjectTitle(object), field: place.key, value }] };
  }
  return undefined;
};

/** Objects that hold a default by leaving the setting out. */
const silent = (objects: readonly RouterObject[], { places }: Setting): readonly RouterObject[] =>
  places.flatMap((place) =>
    place.from === 'object' && place.kind !== 'CiliumNodeConfig' ? ofKind(objects, place) : [],
  );

const homeOf = ({ places }: Setting): string => {
  const home = places.find((place) => place.from === 'object' && place.kind !== 'CiliumNodeConfig');
  return home?.from === 'object' ? `${home.kind} ${home.name.source.replaceAll(/[^\w-]/g, '')}`.trim() : 'object';
};

export const settingValue = (
  setting: Setting,
  { node, agents, objects }: { node: RouterNode; agents: readonly RouterObject[]; objects: readonly RouterObject[] },
): Found => {
  for (const place of setting.places) {
    const found = place.from === 'object' ? inObjects(objects, place, node) : inAgents(agents, place);
    if (found !== undefined) return found;
  }
  const { absent: value } = setting;
  const homes = silent(objects, setting);
  const needsHome = setting.places.some((place) => place.from === 'object');
  if (value === undefined || (homes.length === 0 && needsHome)) {
    return { value, evidence: [], missing: homeOf(setting) };
  }
  const key = setting.places.find((place) => place.from === 'object')?.key ?? setting.places[0]?.key ?? '';
  return {
    value,
    evidence: homes
      .slice(0, 1)
      .map((object) => ({ object: routerObjectTitle(object), field: key, value: '(not set)' })),
  };
};

/**
 * Whether Pods with this label show no more than the DaemonSets that make them. So it is where there are such DaemonSets, and each
 * has a Pod of its present template on every Node that it selects: fewer Pods mean that a taint keeps them away somewhere.
 */
export const settledBy = (
  objects: readonly RouterObject[],
  nodes: readonly RouterNode[],
): ((key: string, value: string) => boolean) => {
  const sets = objects.filter(({ kind }) => kind === 'DaemonSet');
  const isSettled = (set: RouterObject): boolean =>
    set.scheduled !== undefined && set.scheduled === nodes.filter((node) => selectsNode(set, node)).length;
  return (key, value) => {
    const own = sets.filter(({ labels }) => labels[key] === value);
    return own.length > 0 && own.every(isSettled);
  };
};

export const kubeletOf = ({ status }: RouterNode): KubernetesVersion | undefined => {
  try {
    return parseVersion(status?.nodeInfo?.kubeletVersion);
  } catch {
    return undefined;
  }
};

const containerOf = ({ containers }: RouterObject): RouterContainer | undefined =>
  containers.find(({ name }) => KUBE_PROXY_AGENT.containers?.includes(name)) ?? containers[0];

/** `A=true,B=false` and `featureGates.A`. */
const gatesIn = (text: string | undefined, settings: Readonly<Record<string, string>>): FeatureGates => {
  const pairs = [
    ...Object.entries(settings).flatMap(([key, value]) =>
      key.startsWith('featureGates.') ? [[key.slice('featureGates.'.length), value] as const] : [],
    ),
    ...(text ?? '').split(',').map((pair) => pair.split('=') as [string, string | undefined]),
  ];
  const known = new Set<string>(FEATURE_GATES);
  return Object.fromEntries(pairs.flatMap(([name, value]) => (known.has(name) ? [[name, value === 'true']] : [])));
};

const behaviourAt = (version: KubernetesVersion, gates: FeatureGates): Behaviour => {
  const nodes = isEnabled('PreferSameTrafficDistribution', version, gates);
  const alone =
    atLeast(version, 33) || (atLeast(version, 30) && isEnabled('ServiceTrafficDistribution', version, gates));
  const on = alone || isEnabled('TopologyAwareHints', version, gates);
  const byHints = nodes ? ('zone-and-node' as const) : ('zone' as const);
  return {
    hints: on ? byHints : 'none',
    needs: alone ? 'hints alone' : `the annotation ${atLeast(version, 27) ? 'topology-mode' : 'topology-aware-hints'}`,
    unmatched: 'all',
    unready: 'all',
    safeSince: null,
    source: KUBE_PROXY_SOURCE,
  };
};

interface Config {
  readonly gates: FeatureGates;
  readonly evidence: readonly Evidence[];
  /** It reads a configuration file that was not seen. */
  readonly unseen: boolean;
}

const configOf = (agent: RouterObject, objects: readonly RouterObject[]): Config => {
  const container = containerOf(agent);
  const text = flagValue(container?.args ?? [], 'feature-gates');
  const files = objects.filter(
    ({ kind, namespace, name }) =>
      kind === 'ConfigMap' &&
      namespace === agent.namespace &&
      (agent.configMaps.length > 0 ? agent.configMaps.includes(name) : KUBE_PROXY_CONFIG.test(name)),
  );
  const settings = Object.assign({}, ...files.map((file) => file.settings)) as Record<string, string>;
  const gates = gatesIn(text, settings);
  const inArgs = {
    object: routerObjectTitle(agent),
    field: 'containers[kube-proxy].args --feature-gates',
    value: text ?? '',
  };
  const inFile = files.flatMap((file) =>
    Object.entries(file.settings).flatMap(([field, value]) =>
      field.startsWith('featureGates.') && Object.hasOwn(gates, field.slice('featureGates.'.length))
        ? [{ object: routerObjectTitle(file), field, value }]
        : [],
    ),
  );
  const reads = flagValue(container?.args ?? [], 'config') !== undefined;
  return {
    gates,
    evidence: [...(text === undefined ? [] : [inArgs]), ...inFile],
    unseen: reads && files.length === 0,
  };
};

/** Gates in a file can switch hints off before this minor only. */
const LOCKED_SINCE = 33;
const SUPPORTED_SKEW = 3;

const skewNotes = (node: RouterNode, version: KubernetesVersion): string[] => {
  const kubelet = kubeletOf(node);
  if (kubelet === undefined || compareVersions(kubelet, version) === 0) return [];
  const far = Math.abs(kubelet.minor - version.minor) > SUPPORTED_SKEW ? ', more than Kubernetes supports' : '';
  return [`version skew: kube-proxy ${formatVersion(version)}, kubelet ${formatVersion(kubelet)}${far}`];
};

interface KubeProxyInput {
  readonly node: RouterNode;
  /** Its Pod or DaemonSet; undefined where it runs inside the node, or is assumed. */
  readonly agent?: RouterObject;
  /** Its settings may be in one of these ConfigMaps. */
  readonly objects: readonly RouterObject[];
  readonly stated: Stated;
  /** What was found before, and reasons to doubt it. */
  readonly evidence?: readonly Evidence[];
  readonly doubts: readonly string[];
  readonly source?: string;
  /** Of the control plane. */
  readonly fallback: KubernetesVersion | undefined;
}

const imageEvidence = (agent: RouterObject): Evidence[] => {
  const container = containerOf(agent);
  return container === undefined
    ? [{ object: routerObjectTitle(agent), field: 'metadata.name', value: agent.name }]
    : [{ object: routerObjectTitle(agent), field: `containers[${container.name}].image`, value: container.image }];
};

export const kubeProxyAnswer = (input: KubeProxyInput): RouterAnswer => {
  const { node, agent, objects, stated, doubts } = input;
  const own = agent === undefined ? undefined : imageVersion(containerOf(agent)?.image ?? '');
  const config = agent === undefined ? undefined : configOf(agent, objects);
  const stand = kubeletOf(node) ?? input.fallback ?? NEWEST_KNOWN_VERSION;
  const version = stated.version ?? own ?? stand;
  const gates = { ...config?.gates, ...stated.gates };
  const why = [
    ...doubts,
    ...(agent !== undefined && own === undefined && stated.version === undefined
      ? [`its image names no version, so the kubelet's (${formatVersion(stand)}) is assumed`]
      : []),
    ...(config?.unseen === true && !atLeast(version, LOCKED_SINCE)
      ? [
          `its ConfigMap is not among these objects, and a feature gate there may switch hints off before 1.${LOCKED_SINCE}`,
        ]
      : []),
    ...(agent?.rolling === true
      ? ['a roll-out of its DaemonSet is under way, and its Pods are not among these objects']
      : []),
  ];
  return {
    router: 'kube-proxy',
    title: 'kube-proxy',
    version: own === undefined ? null : versionText(own),
    certainty: why.length === 0 ? 'seen' : 'assumed',
    why: why.join('; '),
    evidence: [
      ...(input.evidence ?? []),
      ...(agent === undefined ? [] : imageEvidence(agent)),
      ...(config?.evidence ?? []),
    ],
    behaviour: { ...behaviourAt(version, gates), ...defined({ source: input.source }) },
    notes: skewNotes(node, version),
    routing: { proxy: { kind: 'kube-proxy' }, version, gates },
  };
};
