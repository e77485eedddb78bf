// What each endpoint of a Service can serve: as given, else what its Pod requests.
import type { EndpointSlice } from '../../apis/core.ts';
import type { FlowPolicySummary, PodSummary } from '../snapshot.ts';
import type { CapacityReport } from './types.ts';

export interface Capacity {
  readonly source: CapacityReport['source'];
  /** Cores by address of every ready endpoint. */
  readonly byAddress: ReadonlyMap<string, number>;
}

export interface CapacityInput {
  /** Of the ready endpoints. */
  readonly addresses: ReadonlySet<string>;
  readonly slices: readonly EndpointSlice[];
  readonly pods: readonly PodSummary[];
  /** Cores of each. */
  readonly given: number | undefined;
  /** Of the policy that the demand comes from. */
  readonly policy?: FlowPolicySummary | undefined;
}

const MILLI = 1000;

/** Null where nothing is given and the Pod of an endpoint is not known or requests no CPU. */
export const capacityOf = ({ addresses, slices, pods, given, policy }: CapacityInput): Capacity | null => {
  const each = (cores: number) => new Map([...addresses].map((own) => [own, cores]));
  if (given !== undefined) return { source: 'given', byAddress: each(given) };
  if (policy?.capacity !== undefined) return { source: 'flowPolicy', byAddress: each(policy.capacity) };
  // A snapshot has requests of Pods, no limits.
  if (policy !== undefined && policy.capacityFrom !== 'Requests') return null;
  const requests = new Map(
    pods.map(({ namespace, name, requestMilliCpu = 0 }) => [`${namespace}/${name}`, requestMilliCpu]),
  );
  const byAddress = new Map<string, number>();
  for (const { metadata, endpoints } of slices) {
    for (const { addresses: own, targetRef } of endpoints ?? []) {
      const milli = requests.get(`${metadata?.namespace ?? 'default'}/${targetRef?.name ?? ''}`) ?? 0;
      const address = own[0] ?? '';
      if (milli > 0 && addresses.has(address)) byAddress.set(address, milli / MILLI);
    }
  }
  return byAddress.size === addresses.size ? { source: 'requests', byAddress } : null;
};
