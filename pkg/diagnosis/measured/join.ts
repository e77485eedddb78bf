// SPDX-License-Identifier: Apache-2.0
// From bytes between workloads to bytes of Services: which Service a workload stands behind, by selectors and labels of Pods.
import { addUp } from '../../traffic/measured.ts';
import type { Measured, MeasuredFlow, WorkloadFlow, WorkloadRef } from '../../traffic/measured.ts';
import { NO_SERVICE } from '../../traffic/route.ts';
import { serviceKeyOfRef, serviceRefOf, sortedServices } from '../models/lookup.ts';
import { itemsOf } from '../snapshot.ts';
import type { ClusterSnapshot, Workload } from '../snapshot.ts';

/** In place of a Service: the source does not know which. */
const UNKNOWN_SERVICE = 'unknown';

/** Services that select the Pods of a workload. */
type Behind = (ref: WorkloadRef | undefined) => readonly string[];

const selects = (selector: Readonly<Record<string, string>>, { podLabels }: Workload): boolean =>
  Object.entries(selector).every(([label, value]) => podLabels[label] === value);

/** A workload is known by namespace and name: not every source says of which kind it is, nor all the same. */
const workloadKey = ({ namespace, name }: Pick<WorkloadRef, 'namespace' | 'name'>): string => `${namespace}/${name}`;

const servicesBehind = (snapshot: ClusterSnapshot): Behind => {
  const workloads = Map.groupBy(itemsOf(snapshot.workloads), ({ namespace }) => namespace);
  const behind = new Map<string, string[]>();
  for (const service of sortedServices(snapshot)) {
    const { selector = {} } = service.spec ?? {};
    if (Object.keys(selector).length === 0) continue;
    const ref = serviceRefOf(service);
    for (const workload of workloads.get(ref.namespace) ?? []) {
      if (!selects(selector, workload)) continue;
      const key = workloadKey(workload);
      behind.set(key, [...(behind.get(key) ?? []), serviceKeyOfRef(ref)]);
    }
  }
  return (ref) => (ref === undefined ? [] : (behind.get(workloadKey(ref)) ?? []));
};

const request = (service: string, { source, destination, bytes }: WorkloadFlow): MeasuredFlow => ({
  service,
  source,
  destination,
  connections: null,
  requestBytes: bytes,
  responseBytes: 0,
});

/** The answer: its bytes go from the endpoint's zone to the client's. */
const response = (service: string, { source, destination, bytes }: WorkloadFlow): MeasuredFlow => ({
  service,
  source: destination,
  destination: source,
  connections: null,
  requestBytes: 0,
  responseBytes: bytes,
});

/** Several Services over the same Pods: which of them was called is not known. */
const only = (services: readonly string[]): string =>
  services.length === 0 ? NO_SERVICE : services.length === 1 ? (services[0] ?? '') : UNKNOWN_SERVICE;

const flowOf = (flow: WorkloadFlow, behind: Behind): MeasuredFlow => {
  if (flow.direction === 'request') return request(only(behind(flow.to)), flow);
  if (flow.direction === 'response') return response(only(behind(flow.from)), flow);
  const [from, to] = [behind(flow.from), behind(flow.to)];
  if (from.length > 0 && to.length > 0) return request(UNKNOWN_SERVICE, flow);
  return from.length > 0 ? response(only(from), flow) : request(only(to), flow);
};

/** Adds flows between workloads to those of Services. */
export const joinWorkloads = (
  snapshot: ClusterSnapshot,
  { workloads, ...measured }: Measured & { readonly workloads: readonly WorkloadFlow[] },
): Measured => {
  if (workloads.length === 0) return measured;
  const behind = servicesBehind(snapshot);
  return { ...measured, flows: addUp([...measured.flows, ...workloads.map((flow) => flowOf(flow, behind))]) };
};
