// RoutingConfig: what the providerConfig of an Extension may ask for beyond the setting of Seed or Garden, and how reading it ends. Its
// types are not taken from the schema: extensions import these declarations without the packages of the schema.
import type { LabelSelector } from './admission.ts';
import type { Strategy } from './names.ts';

/** One Service by name, or all that a selector finds: exactly one of both. */
export interface ServiceSelection {
  /** Name of the Service. */
  name?: string;
  /** On the labels of Services; must not be empty. */
  selector?: LabelSelector;
  /** Class seed and garden only: the namespace of the Services; default: all that the Extension is about. */
  namespace?: string;
}

/** Services to be routed by zone although they are neither Gardener's own nor labelled. */
export interface RoutedServices extends ServiceSelection {
  /** Default: same-zone with the mechanism of the Kubernetes version. What a Service itself asks for goes before. */
  strategy?: Strategy;
}

export interface RoutingConfig {
  /** The first that fits a Service counts. */
  services: RoutedServices[];
  /** Services that are left alone, Gardener's own included; goes before `services`. */
  exclude: ServiceSelection[];
}

/** Where it stands in an Extension. */
export const PROVIDER_CONFIG_FIELD = 'spec.providerConfig';

/** One thing wrong with a providerConfig. */
export interface RoutingConfigProblem {
  /** Below the Extension, for example `spec.providerConfig.services[0].strategy`. */
  readonly field: string;
  /** One sentence, the allowed values included. */
  readonly message: string;
}

/** `absent`: nothing is asked for beyond the setting. */
export type RoutingConfigReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'valid'; readonly config: RoutingConfig }
  | { readonly kind: 'invalid'; readonly problems: readonly RoutingConfigProblem[] };
