// In which order Services are written: the webhook's own, then those with most traffic where that is known, then those with most endpoints.
import { type EndpointSlice, serviceKeyOf } from '../../apis/core.ts';
import type { FlowPolicy, FlowPolicyStatus } from '../../apis/flow-policy.ts';
import { FLOW_POLICIES } from '../../apis/resources.ts';
import { keyOf, sumsBy } from '../../apis/values.ts';
import type { MeasuredLoad } from '../../evacuation/capacity.ts';
import type { Uses } from '../../kubernetes/types.ts';

/** Undefined where the load of the busiest endpoint is not known. */
const measuredIn = ({ zones = [], maxUtilizationPercent }: FlowPolicyStatus): MeasuredLoad | undefined => {
  const demand = new Map(zones.map(({ zone, demand: amount }) => [zone, Number(amount)] as const));
  const amounts = [...demand.values()];
  const known = amounts.every((amount) => amount >= 0) && amounts.some((amount) => amount > 0);
  return known && maxUtilizationPercent !== undefined
    ? { demand, utilization: maxUtilizationPercent / 100 }
    : undefined;
};

/**
 * What the flow-controller measured of Services (`namespace/name`), by load of Pods or by the meters; empty where it cannot be read:
 * without it Services go by their size.
 */
export const readTraffic = async ({ client, logger }: Uses<'client' | 'logger', 'pages'>, signal: AbortSignal) => {
  const traffic = new Map<string, { readonly demand: number; readonly measured: MeasuredLoad | undefined }>();
  try {
    for await (const { items } of client.pages<FlowPolicy>(FLOW_POLICIES, {}, signal))
      for (const policy of items) {
        const demand = Number(policy.status?.demand);
        if (demand > 0) traffic.set(keyOf(policy), { demand, measured: measuredIn(policy.status ?? {}) });
      }
  } catch (error) {
    signal.throwIfAborted();
    logger.debug('no FlowPolicy says how much traffic a Service has', { error });
  }
  return traffic;
};

export type Traffic = Awaited<ReturnType<typeof readTraffic>>;

/** Services that have slices. */
export const inOrder = (slices: readonly EndpointSlice[], traffic: Traffic, own: string): string[] => {
  const sizes = sumsBy(slices, serviceKeyOf, ({ endpoints }) => endpoints?.length ?? 0);
  const keys = [...sizes.keys()].filter((key) => key !== undefined);
  const rank = (key: string): number => (key === own ? Infinity : (traffic.get(key)?.demand ?? 0));
  const sizeOf = (key: string): number => sizes.get(key) ?? 0;
  return keys.sort((left, right) => {
    const [one, other] = [rank(left), rank(right)];
    return one === other ? sizeOf(right) - sizeOf(left) : other - one;
  });
};
