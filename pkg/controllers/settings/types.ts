// What the settings reconcilers decide and hand to each other: one decision a namespace, one plan an object.
import type { Service } from '../../apis/core.ts';
import type { Etcd } from '../../apis/gardener.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import type { Clients } from '../../diagnosis/models/follow.ts';
import type { RoutingDecision, Scope } from '../../gardener/types.ts';
import type { EventInput } from '../../kubernetes/types.ts';
import type { KubernetesVersion, RoutingSettings, SettingsPlan } from '../../routing/types.ts';
import type { Owner } from './ownership.ts';

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
  /** Who routes on ready Nodes, each kind once in each zone. */
  readonly clients: readonly Clients[];
}

/** What a row is about: a Service that is written, or an Etcd, which never is, and whose client Service only etcd-druid writes. */
export type RowKind = 'Service' | 'Etcd';

/** What becomes of one Service or Etcd. */
export interface ObjectDecision {
  readonly kind: RowKind;
  readonly ref: Required<ObjectRef>;
  readonly object: Service | Etcd;
  readonly decision: RoutingDecision;
  /** Settings that the Service (of an Etcd: its client Service) should have; undefined: they are reverted. */
  readonly want: RoutingSettings | undefined;
  /** Its owner writes it again and again, and admission may keep our settings in that write. */
  readonly rewritten?: boolean;
  /** The configuration of an Extension asks for it, and nothing else does. */
  readonly configured?: boolean;
  /** What to write; `unchanged` also where a decision is held, and always for Etcds. */
  readonly plan: SettingsPlan;
}

/** What becomes of one namespace. */
export interface NamespaceDecision {
  /** `none`: the namespace is released. */
  readonly owner: Owner | 'none';
  readonly namespace: string;
  /** The catalogue that applies there; undefined: none. */
  readonly scope?: Scope | undefined;
  /** The decision for the namespace as a whole; single objects may differ. */
  readonly decision: RoutingDecision;
  /** The object that events are about. */
  readonly regarding: EventInput['regarding'];
  /** Where the setting was read from, for example `Cluster`. */
  readonly source: string;
  readonly objects: readonly ObjectDecision[];
}

/** What is on in a namespace, as it is published for other controllers: little, since there are thousands. */
export interface EnabledSettings {
  readonly regarding: NamespaceDecision['regarding'];
  readonly objects: readonly Pick<ObjectDecision, 'kind' | 'ref' | 'want' | 'configured'>[];
}

/** Gathers a snapshot of one namespace from the caches and decides; undefined: nothing there is managed (any more). */
export type Decider = (namespace: string) => NamespaceDecision | undefined;
