// What the suites about hints share: clients that keep their connection, and how a slice is looked at.
import { expect } from 'chai';
import type { Endpoint, EndpointSlice } from '../../pkg/apis/core.ts';
import { LABEL_SERVICE_NAME, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../fixtures/core.ts';
import type { Bed } from './bed/index.ts';
import { mastersGroup } from './bed/kubeconfig.ts';
import { waitFor } from './bed/wait-for.ts';
import { isLate } from './hints-audit.ts';

/** The user that the real controller writes slices as. */
export const SLICE_CONTROLLER = 'system:serviceaccount:kube-system:endpointslice-controller';

/** A user of the real API server, by default an administrator under a name of its own; the caller closes it. */
export const connectAs = async (
  bed: Bed,
  user: string,
  groups: readonly string[] = [mastersGroup],
): Promise<Client> => {
  const kubeconfig = await bed.kubeconfig({ user, groups });
  return createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'e2e/1' });
};

/** An endpoint as any reader types it. */
interface Hinted {
  readonly hints?: { readonly forZones?: readonly { readonly name: string }[] } | undefined;
}

export const zonesOf = ({ hints }: Hinted): string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** Hinted for exactly its own zone. */
export const hasOwnZone = (one: Endpoint): boolean => one.zone !== undefined && zonesOf(one).join() === one.zone;

/** What a proxy takes for ready: absent means yes. */
export const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false;

/** Addresses of ready endpoints without any hint: one of them, and proxies ignore the hints of all. */
export const bareAddresses = ({ endpoints }: EndpointSlice): string[] =>
  (endpoints ?? []).filter((one) => isReady(one) && zonesOf(one).length === 0).flatMap(({ addresses }) => addresses);

/** All slices of a Service, or of every Service with this label. */
export const slicesOf = async (client: Client, namespace: string, labelSelector: string): Promise<EndpointSlice[]> => {
  const found: EndpointSlice[] = [];
  for await (const { items } of client.pages<EndpointSlice>(ENDPOINT_SLICES, { namespace, labelSelector })) {
    found.push(...items);
  }
  return found;
};

/** Repeats a write for as long as the webhook is late: with `Fail` it is refused. */
export const untilAnswered = async <T>(write: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isLate(String(error))) throw error;
    }
  }
};

/** Writes an annotation to every slice of a namespace: without a change there would be nothing to admit. */
export const touchSlices = async (client: Client, namespace: string, value: string): Promise<void> => {
  const { items } = await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace });
  const patch = { metadata: { annotations: { touched: value } } };
  await each(items, 4, ({ metadata }) =>
    untilAnswered(() => client.patch(ENDPOINT_SLICES, { namespace, name: metadata?.name ?? '' }, 'merge', patch)),
  );
};

export const serviceSelector = (service: string): string => `${LABEL_SERVICE_NAME}=${service}`;

/** Waits until writes to the namespace get their hints, or no longer: a registration acts a moment later. */
export const untilAdmission = async (client: Client, namespace: string, hints: boolean): Promise<void> => {
  const probe = slice({
    endpoints: [endpoint({ zone: 'probe' })],
    metadata: { name: 'probe', namespace, labels: { [LABEL_STRATEGY]: 'same-zone' } },
  });
  await waitFor(
    `admission ${hints ? 'gives' : 'gives no'} hints in ${namespace}`,
    () => client.create(ENDPOINT_SLICES, probe, { dryRun: true }),
    ({ endpoints }) => (endpoints ?? []).every(hasOwnZone) === hints,
  );
};

/** Calls `task` for every item, at most `concurrency` at a time. */
export const each = async <T>(
  items: readonly T[],
  concurrency: number,
  task: (item: T, index: number) => Promise<unknown>,
): Promise<void> => {
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of queue) await task(item, index);
  };
  await Promise.all(Array.from({ length: concurrency }, work));
};

/** Fails with the first few of the findings. */
export const expectNone = (what: string, findings: readonly string[]): void => {
  expect(findings.length, `${what}: ${findings.length}, e.g.\n${findings.slice(0, 5).join('\n')}`).to.equal(0);
};
