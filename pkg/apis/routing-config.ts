// SPDX-License-Identifier: Apache-2.0
// RoutingConfig: what the providerConfig of an Extension may ask for beyond the setting of Seed or Garden, and how reading it ends.
import type { RoutingConfig } from './routing-config-kind.ts';

export type { RoutedServices, RoutingConfig, ServiceSelection } from './routing-config-kind.ts';

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
