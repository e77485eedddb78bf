// In which order Services are written: the webhook's own, then those with most traffic where that is known, then those with most endpoints.
import type { EndpointSlice } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import type { MeasuredLoad } from '../../diagnosis/survival/overload.ts';
import { FLOW_POLICIES } from '../../apis/resources.ts';
import type { Client } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { serviceKeyOf } from './view.ts';

/** What a FlowPolicy says of its Service. */
export interface ServiceTraffic {
  /** In the unit of the policy. */
  readonly demand: number;
  /** Undefined where the busiest endpoint's load is not known. */
  readonly measured: MeasuredLoad | undefined;
}

/** By `namespace/name`. */
export type Traffic = ReadonlyMap<string, ServiceTraffic>;

const PERCENT = 100;

const measuredIn = ({
  zones = [],
  maxUtilizationPercent,
}: NonNullable<FlowPolicy['status']>): MeasuredLoad | undefined => {
  const demand = new Map(zones.map(({ zone, demand: amount }) => [zone, Number(amount)] as const));
  const known =
    [...demand.values()].every((amount) => amount >= 0) && [...demand.values()].some((amount) => amount > 0);
  return known && maxUtilizationPercent !== undefined
    ? { demand, utilization: maxUtilizationPercent / PERCENT }
    : undefined;
};

/** What the flow-controller measured, by load of Pods or by the meters; empty where it cannot be read: without it Services go by their size. */
export const readTraffic = async (
  { client, logger }: { readonly client: Pick<Client, 'pages'>; readonly logger: Logger },
  signal: AbortSignal,
): Promise<Traffic> => {
  const traffic = new Map<string, ServiceTraffic>();
  try {
    for await (const { items } of client.pages<FlowPolicy & KubernetesObject>(FLOW_POLICIES, {}, signal))
      for (const { metadata, status } of items) {
        const demand = Number(status?.demand);
        if (demand > 0)
          traffic.set(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`, {
            demand,
            measured: measuredIn(status ?? {}),
          });
      }
  } catch (error) {
    signal.throwIfAborted();
    logger.debug('no FlowPolicy says how much traffic a Service has', { error });
  }
  return traffic;
};

/** Services that have slices. */
export const inOrder = (slices: readonly EndpointSlice[], traffic: Traffic, own: string): string[] => {
  const sizes = new Map<string, number>();
  for (const slice of slices) {
    const key = serviceKeyOf(slice);
    if (key !== undefined) sizes.set(key, (sizes.get(key) ?? 0) + (slice.endpoints?.length ?? 0));
  }
  const rank = (key: string): number => (key === own ? Infinity : (traffic.get(key)?.demand ?? 0));
  const sizeOf = (key: string): number => sizes.get(key) ?? 0;
  return [...sizes.keys()].sort((left, right) => {
    const [one, other] = [rank(left), rank(right)];
    return one === other ? sizeOf(right) - sizeOf(left) : other - one;
  });
};
