// Assesses the Services of a namespace again whenever their settings, their slices or the Nodes change; its metrics.
import type { EndpointSlice, Node } from '../../apis/core.ts';
import { sumBy } from '../../apis/values.ts';
import type { Clients } from '../../diagnosis/models/routes.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { type Table, changes, entries, signals } from '../../kubernetes/watches.ts';
import { type Metrics, SERVICE_LABELS, limitServices, seriesLabels } from '../../telemetry/metrics.ts';
import { type RouterEvidence, createClients } from '../routers/evidence.ts';
import { type SettingsCaches, slicesOf } from '../settings/caches.ts';
import type { EnabledSettings } from '../settings/context.ts';
import { zoneAndKubelet } from '../settings/watches.ts';
import { type Effects, createEffectivenessReconciler } from './reconciler.ts';

type Shown = Pick<Effects, 'services'>;

const ASSUMPTION = 'assuming equally many clients on every ready Node';

const sharesIn = ({ services }: Shown): { namespace: string; service: string; share: number }[] =>
  [...services()].flatMap(({ namespace, service, figures: { inZone } }) =>
    inZone === undefined ? [] : [{ namespace, service, share: inZone }],
  );

/** Data planes whose clients may get no endpoint because of hints, although one is ready. */
export const showUnsafeRouters = (metrics: Metrics, clients: () => readonly Clients[]): void =>
  void metrics.gauge({
    name: 'data_plane_unsafe_nodes',
    help: 'Ready Nodes whose data plane gives clients no endpoint, although one is ready, where hints name their zone for none or only for endpoints that are not ready. safe_since: the release from which it does not; empty where none is known.',
    labels: ['data_plane', 'version', 'safe_since'],
    samples: () =>
      clients()
        .filter(({ router: { behaviour } }) => behaviour.unmatched === 'none' || behaviour.unready === 'none')
        .map(({ router: { title, version, behaviour }, nodes }) => [
          { data_plane: title, version: version ?? '', safe_since: behaviour.safeSince ?? '' },
          nodes,
        ]),
  });

export const showEffectiveness = (metrics: Metrics, effects: Shown): void => {
  metrics.gauge({
    name: 'services',
    help: 'Services configured for zone-local routing by state: Effective (for connections through the cluster IP), or the reason why not.',
    labels: ['state'],
    samples: () => Array.from(effects.services(), ({ state }) => [{ state }, 1]),
  });
  metrics.gauge({
    name: 'ready_endpoints',
    help: 'Ready endpoints of Services configured for zone-local routing by zone hint: present or missing.',
    labels: ['hint'],
    *samples() {
      yield [{ hint: 'present' }, 0];
      yield [{ hint: 'missing' }, 0];
      for (const { figures } of effects.services()) {
        yield [{ hint: 'present' }, figures.hinted];
        yield [{ hint: 'missing' }, figures.unhinted];
      }
    },
  });
  metrics.gauge({
    name: 'predicted_in_zone_ratio',
    help: `Predicted share of connections through the cluster IPs that stay in the client's zone, averaged over Services configured for zone-local routing, from hints and proxy versions, ${ASSUMPTION}. Connections, not bytes.`,
    samples() {
      const shares = sharesIn(effects);
      // Unweighted: traffic is not measured here.
      return shares.length === 0 ? [] : [[{}, sumBy(shares, ({ share }) => share) / shares.length]];
    },
  });
  metrics.gauge({
    name: 'service_predicted_in_zone_ratio',
    help: `Predicted share of the connections through a Service's cluster IP that stay in the client's zone, ${ASSUMPTION}. At most 50 Services per namespace and 1,000 in total.`,
    labels: SERVICE_LABELS,
    samples: () => limitServices(sharesIn(effects)).shown.map((shown) => [seriesLabels(shown), shown.share]),
  });
  metrics.gauge({
    name: 'services_without_series',
    help: 'Services without a per-Service series because of the limits on series.',
    samples: () => [[{}, limitServices(sharesIn(effects)).omitted]],
  });
};

/** The key is a namespace. */
export const createEffectivenessController = (
  options: ControllerContext & {
    readonly caches: Pick<SettingsCaches, 'services' | 'slices' | 'nodes'>;
    readonly enabled: Table<EnabledSettings>;
    readonly routers: RouterEvidence;
  },
): { readonly effects: Effects; readonly spec: ControllerSpec } => {
  const { caches, enabled, routers, metrics } = options;
  const clients = createClients(caches.nodes, routers);
  const effects = createEffectivenessReconciler({
    ...options,
    service: (namespace, name) => caches.services.get({ namespace, name }),
    slices: (namespace, name) => slicesOf(caches.slices, namespace, name),
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
      reconcile: effects.reconcile,
    },
  };
};
