// What is known of who goes around the proxies of Services: a row of the table of clients.
import type { KubernetesVersion } from '../../routing/types.ts';

/** Clients of one kind that go around a Service's proxies. */
export interface Client {
  /** What decides about zones instead. Default: it chooses by itself, without zones. */
  readonly decides?: string;
  /** What to set, so that zones count. Default: nothing is known. */
  readonly setting?: string;
  /** None is known for zones, as its text says. */
  readonly none?: boolean;
  /** What comes before it: the field of the Service, where the version of its cluster has that. */
  readonly asks?: string;
  readonly source: string;
  /** An annotation (of the entry or the Service) that sends it to the cluster IP after all. */
  readonly usesClusterIp?: string;
  /** On the entry it counts for nothing. */
  readonly ofService?: boolean;
  /** It answers for the cluster IP, with endpoints that are not among these objects. */
  readonly adds?: true;
  /** It is not known what it does. */
  readonly unsure?: true;
  /** What some Nodes, or its Pods in some zones, send does not arrive; the code of the cause. */
  readonly fails?: 'NoLocalEndpoints' | 'NoBackendForZone';
  /** It follows the same hints as the Service's proxies. */
  readonly byHints?: boolean;
  /** Annotations of the Service (`key=value`), images behind it or settings of proxies, each a line, for which something else holds. */
  readonly unless?: RegExp;
  /** An annotation (`key=value`, of the entry or the Service) by which it keeps to zones already. */
  readonly kept?: RegExp;
  /** It keeps to its zone already. */
  readonly keeps?: boolean;
  /** It answers on the Node of the client, and asks another Service for what it lacks. */
  readonly onNode?: true;
  /** Where it does not, what the verdict says of it, after `which`. */
  readonly how?: string;
  /** First versions that keep to `internalTrafficPolicy: Local`, follow hints, or prefer their zone by `spec.trafficDistribution`: `PreferClose`, and other names. */
  readonly since?: Readonly<Partial<Record<'local' | 'hints' | 'field' | 'names', KubernetesVersion>>>;
  /** So they do by this annotation of the Service, as `key=value`. */
  readonly reads?: RegExp;
  /** Images that show its version. */
  readonly image?: RegExp;
  /** Those of the edition that has the setting. */
  readonly edition?: RegExp;
  /** Objects of these kinds decide first. */
  readonly byRule?: `${string}Rule` | `${string}Policy` | `${string}Strategy` | 'ServiceResolver ProxyDefaults';
}
