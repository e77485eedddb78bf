// What the cluster holds right now, as the rows that the demo shows and judges.
import type { Endpoint, EndpointSlice, Node, Service } from '../../pkg/apis/core.ts';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_SERVICE_NAME,
  LABEL_STRATEGY,
  LABEL_ZONE,
} from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { type Traffic, inZoneShare, routeFor, trafficOf } from '../../pkg/upstream/index.ts';
import { GARDEN_NAMESPACE, ZONES } from './world.ts';

export interface ServiceRow {
  readonly namespace: string;
  readonly name: string;
  /** The settings that decide routing, shortest form; `–` for none. */
  readonly settings: string;
  readonly readyEndpoints: number;
  readonly hintedEndpoints: number;
  /** Zones with a ready endpoint. */
  readonly zones: readonly string[];
  /** Predicted share of connections that stay in their zone, 0..1, clients spread evenly over the zones. */
  readonly inZoneShare: number;
  /** Predicted share of connections that go to each of the demo's zones, 0..1, in their order. */
  readonly zoneShares: readonly number[];
}

const settingsOf = ({ metadata, spec }: Service): string => {
  const { labels = {}, annotations = {} } = metadata ?? {};
  const found = [
    annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS] &&
      `topology-aware-hints=${annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS]}`,
    annotations[ANNOTATION_TOPOLOGY_MODE] && `topology-mode=${annotations[ANNOTATION_TOPOLOGY_MODE]}`,
    labels[LABEL_CONSIDER] && `consider=${labels[LABEL_CONSIDER]}`,
    labels[LABEL_STRATEGY] && `strategy=${labels[LABEL_STRATEGY]}`,
    spec?.trafficDistribution && `trafficDistribution=${spec.trafficDistribution}`,
  ].filter(Boolean);
  return found.length > 0 ? found.join(' ') : '–';
};

const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready ?? true;

const hintZones = ({ hints }: Endpoint): string[] => hints?.forZones?.map(({ name }) => name) ?? [];

/** One node with clients in each zone, as many everywhere. */
export const CLIENT_NODES: readonly Node[] = ZONES.map((zone) => ({
  metadata: { name: zone, labels: { [LABEL_ZONE]: zone } },
}));

/** What the model of kube-proxy makes of the slices. */
const trafficTo = (service: Service, slices: readonly EndpointSlice[], version: KubernetesVersion): Traffic =>
  trafficOf({ nodes: CLIENT_NODES, endpointsFor: (node) => routeFor({ node, service, slices, version }).used });

const sharesOf = ({ matrix }: Traffic): number[] =>
  ZONES.map((zone) => [...matrix.values()].reduce((sum, row) => sum + (row.get(zone) ?? 0), 0));

const rowOf = (service: Service, slices: readonly EndpointSlice[], minor: number): ServiceRow => {
  const ready = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(isReady);
  const traffic = trafficTo(service, slices, { major: 1, minor });
  return {
    namespace: service.metadata?.namespace ?? '',
    name: service.metadata?.name ?? '',
    settings: settingsOf(service),
    readyEndpoints: ready.length,
    hintedEndpoints: ready.filter((endpoint) => hintZones(endpoint).length > 0).length,
    zones: [...new Set(ready.map(({ zone }) => zone ?? ''))].sort(),
    inZoneShare: inZoneShare(traffic),
    zoneShares: sharesOf(traffic),
  };
};

/** One row a Service of the landscape, by namespace and name. */
export const takeSnapshot = async (client: Client, minor: number): Promise<ServiceRow[]> => {
  const [services, slices] = await Promise.all([
    client.list<Service>(SERVICES),
    client.list<EndpointSlice>(ENDPOINT_SLICES, { limit: 1_000 }),
  ]);
  return services.items
    .filter(
      ({ metadata }) =>
        metadata?.namespace === GARDEN_NAMESPACE || /^(shoot|extension)-/.test(metadata?.namespace ?? ''),
    )
    .map((service) => {
      const own = slices.items.filter(
        ({ metadata }) =>
          metadata?.namespace === service.metadata?.namespace &&
          metadata?.labels?.[LABEL_SERVICE_NAME] === service.metadata?.name,
      );
      return rowOf(service, own, minor);
    })
    .sort((a, b) => `${a.namespace}/${a.name}`.localeCompare(`${b.namespace}/${b.name}`));
};

/** Labels, annotations, and endpoints with their hints, of every slice, to show that a return leaves nothing behind. */
export const slicesAsText = async (client: Client): Promise<Record<string, string>> => {
  const { items } = await client.list<EndpointSlice>(ENDPOINT_SLICES, { limit: 1_000 });
  return Object.fromEntries(
    items.map(({ metadata, endpoints }) => [
      `${metadata?.namespace}/${metadata?.name}`,
      JSON.stringify([metadata?.labels ?? {}, metadata?.annotations ?? {}, endpoints ?? []]),
    ]),
  );
};

/** Labels, annotations and field of every Service, to show that reverting leaves nothing behind. */
export const metadataOf = async (client: Client): Promise<Record<string, unknown>> => {
  const { items } = await client.list<Service>(SERVICES);
  return Object.fromEntries(
    items.map(({ metadata, spec }) => [
      `${metadata?.namespace}/${metadata?.name}`,
      {
        labels: metadata?.labels ?? {},
        annotations: metadata?.annotations ?? {},
        trafficDistribution: spec?.trafficDistribution ?? null,
      },
    ]),
  );
};
