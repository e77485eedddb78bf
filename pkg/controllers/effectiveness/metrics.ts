// Metrics of effect: data planes that are unsafe with hints, Services by state, endpoints with and without hints, and the predicted share of connections in zone.
import type { Clients } from '../../diagnosis/models/follow.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { SERVICE_LABELS, seriesLabels, limitServices } from '../../telemetry/series-limit.ts';
import type { Effects } from './reconciler.ts';

type Shown = Pick<Effects, 'counts' | 'figures'>;

const ASSUMPTION = 'assuming equally many clients on every ready Node';

/** Unweighted: traffic is not measured here. */
const meanOf = (shares: readonly number[]): number => shares.reduce((sum, share) => sum + share, 0) / shares.length;

const sharesIn = (effects: Shown): { namespace: string; service: string; share: number }[] =>
  [...effects.figures()].flatMap(({ namespace, service, figures: { inZone } }) =>
    inZone === undefined ? [] : [{ namespace, service, share: inZone }],
  );

/** Data planes whose clients may get no endpoint because of hints, although one is ready. */
export const showUnsafeRouters = (metrics: Metrics, clients: () => readonly Clients[]): void => {
  metrics.gauge({
    name: 'data_plane_unsafe_nodes',
    help: 'Ready Nodes whose data plane gives clients no endpoint, although one is ready, where hints name their zone for none or only for endpoints that are not ready. safe_since: the release from which it does not; empty where none is known.',
    labels: ['data_plane', 'version', 'safe_since'],
    collect(gauge) {
      gauge.reset();
      for (const { router, nodes } of clients()) {
        const { title, version, behaviour } = router;
        if (behaviour.unmatched !== 'none' && behaviour.unready !== 'none') continue;
        gauge.inc({ data_plane: title, version: version ?? '', safe_since: behaviour.safeSince ?? '' }, nodes);
      }
    },
  });
};

/** Gauges are computed when they are scraped. */
export const showEffectiveness = (metrics: Metrics, effects: Shown): void => {
  metrics.gauge({
    name: 'services',
    help: 'Services configured for zone-local routing by state: Effective, or the reason why not.',
    labels: ['state'],
    collect(gauge) {
      gauge.reset();
      for (const { state, services } of effects.counts()) gauge.set({ state }, services);
    },
  });
  metrics.gauge({
    name: 'ready_endpoints',
    help: 'Ready endpoints of Services configured for zone-local routing by zone hint: present or missing.',
    labels: ['hint'],
    collect(gauge) {
      let [present, missing] = [0, 0];
      for (const { figures: of } of effects.figures()) {
        present += of.hinted;
        missing += of.unhinted;
      }
      gauge.set({ hint: 'present' }, present);
      gauge.set({ hint: 'missing' }, missing);
    },
  });
  metrics.gauge({
    name: 'predicted_in_zone_ratio',
    help: `Predicted share of connections that stay in the client's zone, averaged over Services configured for zone-local routing, from hints and proxy versions, ${ASSUMPTION}. Connections, not bytes.`,
    collect(gauge) {
      const shares = sharesIn(effects).map(({ share }) => share);
      if (shares.length > 0) gauge.set(meanOf(shares));
      else gauge.remove();
    },
  });
  metrics.gauge({
    name: 'service_predicted_in_zone_ratio',
    help: `Predicted share of a Service's connections that stay in the client's zone, ${ASSUMPTION}. At most 50 Services per namespace and 1,000 in total.`,
    labels: SERVICE_LABELS,
    collect(gauge) {
      gauge.reset();
      for (const shown of limitServices(sharesIn(effects)).shown) gauge.set(seriesLabels(shown), shown.share);
    },
  });
  metrics.gauge({
    name: 'services_without_series',
    help: 'Services without a per-Service series because of the limits on series.',
    collect: (gauge) => gauge.set(limitServices(sharesIn(effects)).omitted),
  });
};
