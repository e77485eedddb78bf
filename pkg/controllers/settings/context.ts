// What all decisions about settings share: which reconciler owns a namespace, the version, what data planes read; and their shapes.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { type Namespace, type Node, type Service, isSwitchedOff } from '../../apis/core.ts';
import type { Etcd } from '../../apis/gardener.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { LABEL_ROUTING } from '../../apis/names.ts';
import { nameOf, orElse } from '../../apis/values.ts';
import { type Clients, wantsOlderName } from '../../diagnosis/models/routes.ts';
import { type RoutingDecision, type Scope, classifyNamespace } from '../../gardener/types.ts';
import type { EventInput } from '../../kubernetes/types.ts';
import type { KubernetesVersion, RoutingSettings, SettingsPlan } from '../../routing/types.ts';
import { proxyNeedsAnnotation } from '../../routing/version.ts';
import { type RouterEvidence, createClients } from '../routers/evidence.ts';
import type { SettingsCaches } from './caches.ts';

export type Owner = 'shoot-settings' | 'garden-settings' | 'extension-settings' | 'cluster-settings';

export type OwnershipRules = Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;

/** gardener-operator names the namespaces of extensions in the garden runtime cluster so; gardenlet's begin with `extension-`. */
const RUNTIME_EXTENSION = 'runtime-extension-';

/**
 * Whether the namespace is one for a mode that is not on here: an installation beside this one may look after it, as on a seed
 * that is also the garden runtime.
 */
export const isOwnedElsewhere = (namespace: Namespace, { modes }: Pick<OwnershipRules, 'modes'>): boolean => {
  const all = {
    garden: modes.garden ?? { namespace: 'garden', gardener: {} },
    seed: modes.seed ?? { extensionServices: true, gardener: {} },
  };
  const isOwned = (by: OwnershipRules['modes']): boolean =>
    ownerOf(namespace, { modes: by, excludedNamespaces: [] }) !== undefined;
  return !isOwned(modes) && isOwned(all);
};

export type OrphanRules = Pick<SettingsReconcilerConfiguration, keyof OwnershipRules | 'installation'>;

/**
 * Whether this installation is to release what is marked in the namespace: no mode owns it, it is not excluded, and no
 * installation beside this one may look after it, by its own label or by a mode that is not on here.
 */
export const isOrphaned = (namespace: Namespace, rules: OrphanRules): boolean => {
  const { excludedNamespaces, installation } = rules;
  if (excludedNamespaces.includes(nameOf(namespace)) || ownerOf(namespace, rules) !== undefined) return false;
  const label = namespace.metadata?.labels?.[LABEL_ROUTING];
  if (label !== undefined && label !== installation.routingLabel) return false;
  return installation.claim === undefined || !isOwnedElsewhere(namespace, rules);
};

/** The owner of the namespace of this name, by the cache; undefined where it has none, or is not there. */
export const ownersIn =
  ({ namespaces }: Pick<SettingsCaches, 'namespaces'>, rules: OwnershipRules) =>
  (name: string): Owner | undefined => {
    const namespace = namespaces.get({ name });
    return namespace === undefined ? undefined : ownerOf(namespace, rules);
  };

/** The one reconciler that may write in a namespace; undefined where none may. */
export const ownerOf = (namespace: Namespace, { modes, excludedNamespaces }: OwnershipRules): Owner | undefined => {
  const name = nameOf(namespace);
  if (excludedNamespaces.includes(name)) return undefined;
  const { kind } = classifyNamespace(namespace);
  if (modes.garden?.namespace === name) return 'garden-settings';
  if ((kind === 'shoot' || kind === 'selfHosted') && modes.seed !== undefined) return 'shoot-settings';
  if (kind === 'extension') {
    const runtime = name.startsWith(RUNTIME_EXTENSION);
    if (runtime && modes.garden !== undefined) return 'garden-settings';
    if (!runtime && modes.seed !== undefined) return modes.seed.extensionServices ? 'extension-settings' : undefined;
  }
  if (modes.cluster === undefined) return undefined;
  const { namespaces } = modes.cluster;
  return namespaces.length === 0 || namespaces.includes(name) ? 'cluster-settings' : undefined;
};

/** Whether the namespace has the label by which an installation marks those whose settings are kept. */
export const isRoutingLabelled = ({ metadata }: Namespace, value: string): boolean =>
  metadata?.labels?.[LABEL_ROUTING] === value;

/** What every decision needs to know about the cluster that the objects live in. */
export interface RoutingContext {
  /** Hints are switched off in the whole cluster: all settings are reverted. */
  readonly off?: boolean;
  /** Version that decides the mechanism; undefined until the API server was asked. */
  readonly version: KubernetesVersion | undefined;
  /** Some Node's kubelet is 1.30 or older; undefined where no Node is known: what objects carry stays. */
  readonly mixedKubelets: boolean | undefined;
  /**
   * Some router of the cluster reads `PreferClose` but not its newer name `PreferSameZone` (Cilium 1.18 and 1.19); undefined where
   * that could not be read: what objects carry stays.
   */
  readonly olderName: boolean | undefined;
  readonly clients: readonly Clients[];
}

export interface ObjectDecision {
  /** What a row is about: a Service that is written, or an Etcd, which never is, and whose client Service only etcd-druid writes. */
  readonly kind: 'Service' | 'Etcd';
  readonly ref: Required<ObjectRef>;
  readonly object: Service | Etcd;
  readonly decision: RoutingDecision;
  /** Settings that the Service (of an Etcd: its client Service) should have; undefined: they are reverted. */
  readonly want: RoutingSettings | undefined;
  /** Its owner writes it again and again, and admission may keep our settings in that write. */
  readonly rewritten?: boolean;
  /** What to write; `unchanged` also where a decision is held, and always for Etcds. */
  readonly plan: SettingsPlan;
}

export interface NamespaceDecision {
  /** `none`: the namespace is released. */
  readonly owner: Owner | 'none';
  readonly namespace: string;
  /** The catalogue that applies there; undefined: none. */
  readonly scope?: Scope | undefined;
  /** The decision for the namespace as a whole; single objects may differ. */
  readonly decision: RoutingDecision;
  readonly regarding: EventInput['regarding'];
  /** Where the setting was read from, for example `Cluster`. */
  readonly source: string;
  readonly objects: readonly ObjectDecision[];
}

/** What is on in a namespace, as it is published for other controllers: little, since there are thousands. */
export interface EnabledSettings {
  readonly regarding: NamespaceDecision['regarding'];
  readonly objects: readonly Pick<ObjectDecision, 'kind' | 'ref' | 'want'>[];
}

/** Gathers a snapshot of one namespace from the caches and decides; undefined: nothing there is managed (any more). */
export type Decider = (namespace: string) => NamespaceDecision | undefined;

const isOld = ({ status }: Node): boolean =>
  orElse(() => proxyNeedsAnnotation(status?.nodeInfo?.kubeletVersion), false);

/**
 * Whether some Node's kubelet, the stand-in for its proxy, wants the annotation; undefined where no Node is known. Unreadable versions say nothing.
 */
export const hasOldKubelet = ({ nodes }: Pick<SettingsCaches, 'nodes'>): boolean | undefined => {
  const known = nodes.list();
  return known.length === 0 ? undefined : known.some(isOld);
};

export const createContext = (
  caches: Pick<SettingsCaches, 'nodes' | 'namespaces'>,
  version: { readonly current: KubernetesVersion | undefined },
  routers: Pick<RouterEvidence, 'objects' | 'onChange'>,
): (() => RoutingContext) => {
  // Counting Nodes for each of thousands of namespaces would be quadratic; Nodes change seldom, and data planes more so.
  let mixedKubelets: boolean | undefined;
  let olderName: boolean | undefined;
  const clients = createClients(caches.nodes, routers);
  caches.nodes.onChange(() => (mixedKubelets = undefined));
  routers.onChange(() => (olderName = undefined));
  return () => {
    const objects = routers.objects();
    mixedKubelets ??= hasOldKubelet(caches);
    olderName ??= objects === undefined ? undefined : wantsOlderName(objects);
    const off = isSwitchedOff(caches.namespaces);
    return { off, version: version.current, mixedKubelets, olderName, clients: clients() };
  };
};
