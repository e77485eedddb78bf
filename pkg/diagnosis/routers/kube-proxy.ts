// kube-proxy's own version and feature gates on one Node: its Pod's, else its DaemonSet's, never the kubelet's where either is seen.
import { defined } from '../../apis/defined.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { NEWEST_KNOWN_VERSION, atLeast, compareVersions, formatVersion, parseVersion } from '../../routing/version.ts';
import { FEATURE_GATES, isEnabled } from '../../upstream/features.ts';
import type { FeatureGates } from '../../upstream/features.ts';
import { imageVersion, versionText } from './image.ts';
import { KUBE_PROXY_AGENT, KUBE_PROXY_CONFIG, KUBE_PROXY_SOURCE } from './planes.ts';
import { flagValue, routerObjectTitle } from './settings.ts';
import type { Behaviour, Evidence, RouterAnswer, RouterContainer, RouterNode, RouterObject, Stated } from './types.ts';

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

export interface KubeProxyInput {
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
