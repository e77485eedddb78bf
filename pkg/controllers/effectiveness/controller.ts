// Assesses the Services of a namespace again whenever their settings, their slices or the Nodes change.
import type { EndpointSlice, Node } from '../../apis/core.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Table } from '../../kubernetes/table.ts';
import type { Clock } from '../../kubernetes/types.ts';
import { changes, entries, signals } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { createClients } from '../routers/clients.ts';
import type { RouterEvidence } from '../routers/evidence.ts';
import { slicesOf } from '../settings/caches.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import type { EnabledSettings } from '../settings/types.ts';
import { zoneAndKubelet } from '../settings/watches.ts';
import { showEffectiveness, showUnsafeRouters } from './metrics.ts';
import { createEffectivenessReconciler } from './reconciler.ts';
import type { EffectivenessOptions, Effects } from './reconciler.ts';

export interface EffectivenessControllerOptions extends Pick<EffectivenessOptions, 'events' | 'logger'> {
  readonly caches: Pick<SettingsCaches, 'services' | 'slices' | 'nodes'>;
  /** Which settings are on, by namespace. */
  readonly enabled: Table<EnabledSettings>;
  readonly routers: RouterEvidence;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** The key is a namespace. */
export const createEffectivenessController = (
  options: EffectivenessControllerOptions,
): { readonly effects: Effects; readonly spec: ControllerSpec } => {
  const { caches, enabled, routers, metrics } = options;
  const clients = createClients(caches.nodes, routers);
  const effects = createEffectivenessReconciler({
    ...options,
    service: (namespace, name) => caches.services.get({ namespace, name }),
    slices: (namespace, name) => slicesOf(caches.slices, namespace, name),
    nodes: () => caches.nodes.list(),
    clients,
  });
  showEffectiveness(metrics, effects);
  showUnsafeRouters(metrics, clients);
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
    },
  };
};
