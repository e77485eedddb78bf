// The shapes that routing decisions take and return.
import type { LabelSelector } from '../apis/admission.ts';
import type { StringMap } from '../apis/meta.ts';

/** A Kubernetes minor version; pre-releases and vendor suffixes count as their minor. */
export interface KubernetesVersion {
  readonly major: number;
  readonly minor: number;
}

/**
 * The part of a Service that the helpers read and return changed; client-node's V1Service satisfies it.
 * The fields of type `unknown` are not read: without them the compiler would refuse literals that lack the others.
 */
export interface ServiceLike {
  metadata?: { name?: unknown; namespace?: unknown; labels?: StringMap; annotations?: StringMap };
  spec?: { type?: unknown; selector?: unknown; ports?: unknown; clusterIP?: unknown; trafficDistribution?: string };
}

/** The part of an Etcd that the helpers read and return changed; its own metadata is only read for `applied`. */
export interface EtcdLike {
  metadata?: { name?: unknown; namespace?: unknown; labels?: StringMap; annotations?: StringMap };
  spec?: { replicas?: unknown; etcd?: { clientService?: ClientServiceSettings } };
}

export interface ClientServiceSettings {
  labels?: StringMap;
  annotations?: StringMap;
  trafficDistribution?: string;
}

/** What the served Etcd CRD accepts under spec.etcd.clientService. */
export interface EtcdFieldSupport {
  /** Accepted values of trafficDistribution; empty: the field does not exist there. */
  readonly trafficDistribution: readonly string[];
  readonly labels: boolean;
  readonly annotations: boolean;
}

/** The part that Services, wanted settings and applied records have in common. */
export interface SettingsLike {
  readonly labels?: Readonly<StringMap>;
  readonly annotations?: Readonly<StringMap>;
  readonly trafficDistribution?: string;
}

/**
 * The concrete settings that make a Service route by zone: labels, annotations and field to be present.
 * Everything else that this project sets is reset.
 */
export interface RoutingSettings extends SettingsLike {
  readonly labels: Readonly<StringMap>;
  readonly annotations: Readonly<StringMap>;
}

/** What the `applied` annotation records: exactly what we set, by key, with the value we set. */
export interface AppliedRecord extends SettingsLike {
  /** `auto` annotations of another writer that stood in the way and were removed: put back with the rest. */
  readonly removedAnnotations?: Readonly<StringMap>;
}

/** One value of another writer on the object that stands in the way. */
export interface ForeignValue {
  readonly field: string;
  readonly value: string;
}

/**
 * The outcome of comparing an object with what is wanted. `patch` is a JSON merge patch for the whole object
 * (applied annotation included) and only present where the object differs.
 */
export type SettingsPlan =
  | { readonly kind: 'unchanged'; readonly foreign: readonly ForeignValue[] }
  | {
      readonly kind: 'patch';
      readonly patch: Readonly<Record<string, unknown>>;
      /** Human-readable changes, one a field: `metadata.labels[x]: (unset) -> "true"`. */
      readonly changes: readonly SettingsChange[];
      readonly foreign: readonly ForeignValue[];
    };

export interface SettingsChange {
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** An empty selector matches everything. Own keys only: labels come from other people's JSON. */
export const matchesSelector = (
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<StringMap>,
): boolean => {
  const valueOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.keys(matchLabels).every((key) => valueOf(key) === matchLabels[key]) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key);
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const included = value !== undefined && values.includes(value);
      return operator === 'In' ? included : !included;
    })
  );
};
