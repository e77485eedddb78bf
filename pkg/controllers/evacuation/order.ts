// SPDX-License-Identifier: Apache-2.0
// In which order Services are written: the webhook's own, then those with most traffic where that is known, then those with most endpoints.
import type { EndpointSlice } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { FLOW_POLICIES } from '../../apis/resources.ts';
import type { Client } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/types.ts';
import { serviceKeyOf } from './view.ts';

/** Demand by `namespace/name`, in the units of their policies. */
export type Traffic = ReadonlyMap<string, number>;

/** What the flow-controller measured, by load of Pods or by the meters; empty where it cannot be read: it decides about an order alone. */
export const readTraffic = async (
  { client, logger }: { readonly client: Pick<Client, 'pages'>; readonly logger: Logger },
  signal: AbortSignal,
): Promise<Traffic> => {
  const traffic = new Map<string, number>();
  try {
    for await (const { items } of client.pages<FlowPolicy & KubernetesObject>(FLOW_POLICIES, {}, signal))
      for (const { metadata, status } of items) {
        const demand = Number(status?.demand);
        if (demand > 0) traffic.set(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`, demand);
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
  const rank = (key: string): number => (key === own ? Infinity : (traffic.get(key) ?? 0));
  const sizeOf = (key: string): number => sizes.get(key) ?? 0;
  return [...sizes.keys()].sort((left, right) => {
    const [one, other] = [rank(left), rank(right)];
    return one === other ? sizeOf(right) - sizeOf(left) : other - one;
  });
};
