// SPDX-License-Identifier: Apache-2.0
// Assesses the Services of a namespace again whenever their settings, their slices or the Nodes change.
import type { EndpointSlice, Node } from '../../apis/core.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Table } from '../../kubernetes/table.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import { changes, entries, signals } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { slicesOf } from '../settings/caches.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import type { EnabledSettings } from '../settings/types.ts';
import { zoneAndKubelet } from '../settings/watches.ts';
import { showEffectiveness } from './metrics.ts';
import { createEffectivenessReconciler } from './reconciler.ts';
import type { EffectivenessOptions, Effects } from './reconciler.ts';
import { createRouterEvidence } from './router-evidence.ts';

export interface EffectivenessControllerOptions extends Pick<EffectivenessOptions, 'events' | 'logger'> {
  readonly caches: Pick<SettingsCaches, 'services' | 'slices' | 'nodes'>;
  /** Which settings are on, by namespace. */
  readonly enabled: Table<EnabledSettings>;
  readonly client: Pick<Client, 'list' | 'get'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** The key is a namespace. */
export const createEffectivenessController = (
  options: EffectivenessControllerOptions,
): { readonly effects: Effects; readonly spec: ControllerSpec } => {
  const { caches, enabled, metrics } = options;
  const routers = createRouterEvidence(options);
  const effects = createEffectivenessReconciler({
    ...options,
    service: (namespace, name) => caches.services.get({ namespace, name }),
    slices: (namespace, name) => slicesOf(caches.slices, namespace, name),
    nodes: () => caches.nodes.list(),
    routers: () => routers.objects(),
  });
  showEffectiveness(metrics, effects);
  const ofSlice = ({ metadata }: EndpointSlice): string[] =>
    enabled.get(metadata?.namespace ?? '') === undefined ? [] : [metadata?.namespace ?? ''];
  const all = (): string[] => [...enabled.entries()].map(([namespace]) => namespace);
  const ofNode = (node: Node, previous: Node | undefined, deleted: boolean): string[] =>
    deleted || previous === undefined || zoneAndKubelet(node) !== zoneAndKubelet(previous) ? all() : [];
  return {
    effects,
    spec: {
      watches: [
        ...entries(enabled, (namespace) => [namespace]),
        ...changes(caches.slices, ofSlice),
        ...changes(caches.nodes, ofNode),
        signals((enqueue) => routers.onChange(() => all().forEach((namespace) => enqueue(namespace)))),
      ],
      reconcile: (namespace, signal) => effects.reconcile(namespace, signal),
      follows: [routers],
    },
  };
};
