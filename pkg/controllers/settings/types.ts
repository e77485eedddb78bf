// SPDX-License-Identifier: Apache-2.0
// What the settings reconcilers decide and hand to each other: one decision a namespace, one plan an object.
import type { Service } from '../../apis/core.ts';
import type { Etcd } from '../../apis/gardener.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import type { RoutingDecision } from '../../gardener/types.ts';
import type { EventInput } from '../../kubernetes/types.ts';
import type {
  EtcdFieldSupport,
  KubernetesVersion,
  RoutingSettings,
  SettingsPlan,
  SettingsTarget,
} from '../../routing/types.ts';
import type { Owner } from './ownership.ts';

/** What every decision needs to know about the cluster that the objects live in. */
export interface RoutingContext {
  /** Version that decides the mechanism; undefined until the API server was asked. */
  readonly version: KubernetesVersion | undefined;
  /** Some Node's kubelet is 1.30 or older; undefined where no Node is known: what objects carry stays. */
  readonly mixedKubelets: boolean | undefined;
  readonly etcdSupport: EtcdFieldSupport;
  /** Etcds (`namespace/name`) whose last write came back without what was written. */
  readonly prunedEtcds: ReadonlySet<string>;
}

/** What becomes of one Service or Etcd. */
export interface ObjectDecision {
  readonly kind: SettingsTarget;
  readonly ref: Required<ObjectRef>;
  readonly object: Service | Etcd;
  readonly decision: RoutingDecision;
  /** Settings that the object shall have; undefined: ours are taken back. */
  readonly want: RoutingSettings | undefined;
  /** The configuration of an Extension asks for it, and nothing else does. */
  readonly configured?: boolean;
  /** What to write; `unchanged` also where a decision is held because its source is missing. */
  readonly plan: SettingsPlan;
}

/** What becomes of one namespace. */
export interface NamespaceDecision {
  readonly owner: Owner;
  readonly namespace: string;
  /** The decision for the namespace as a whole; single objects may differ. */
  readonly decision: RoutingDecision;
  /** The object that events are about. */
  readonly regarding: EventInput['regarding'];
  /** Where the setting was read from, for example `Cluster`. */
  readonly source: string;
  readonly objects: readonly ObjectDecision[];
}

/** Gathers a snapshot of one namespace from the caches and decides; undefined: nothing is ours there (any more). */
export type Decider = (namespace: string) => NamespaceDecision | undefined;
