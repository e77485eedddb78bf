// SPDX-License-Identifier: Apache-2.0
// What the cluster holds right now, as the rows that the demo shows and judges.
import type { Endpoint, EndpointSlice, Service } from '../../pkg/apis/core.ts';
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_SERVICE_NAME,
  LABEL_STRATEGY,
} from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
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

/**
 * kube-proxy's rule for clients of one zone: hints count only if every ready endpoint has one and some name this zone;
 * otherwise all ready endpoints are used alike.
 */
const shareStaying = (ready: readonly Endpoint[], zone: string, hintsUsed: boolean): number => {
  const hinted = ready.filter((endpoint) => hintZones(endpoint).includes(zone));
  const allHinted = ready.every((endpoint) => hintZones(endpoint).length > 0);
  const used = hintsUsed && allHinted && hinted.length > 0 ? hinted : ready;
  return used.length === 0 ? 0 : used.filter((endpoint) => endpoint.zone === zone).length / used.length;
};

/** Proxies up to 1.30 look at hints only when the Service carries a topology annotation. */
const proxyUsesHints = (service: Service, minor: number): boolean => {
  if (minor >= 31) return true;
  const annotations = service.metadata?.annotations ?? {};
  const mode = annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS] ?? annotations[ANNOTATION_TOPOLOGY_MODE] ?? '';
  return mode !== '' && mode.toLowerCase() !== 'disabled';
};

const rowOf = (service: Service, slices: readonly EndpointSlice[], minor: number): ServiceRow => {
  const ready = slices.flatMap(({ endpoints }) => endpoints ?? []).filter(isReady);
  const used = proxyUsesHints(service, minor);
  const shares = ZONES.map((zone) => shareStaying(ready, zone, used));
  return {
    namespace: service.metadata?.namespace ?? '',
    name: service.metadata?.name ?? '',
    settings: settingsOf(service),
    readyEndpoints: ready.length,
    hintedEndpoints: ready.filter((endpoint) => hintZones(endpoint).length > 0).length,
    zones: [...new Set(ready.map(({ zone }) => zone ?? ''))].sort(),
    inZoneShare: shares.reduce((sum, share) => sum + share, 0) / shares.length,
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

/** Labels, annotations and field of every Service, to show that taking back leaves nothing behind. */
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
