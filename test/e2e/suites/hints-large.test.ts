// SPDX-License-Identifier: Apache-2.0
// Shows that the real controller's largest slices, 1,000 endpoints, get their hints, and what a write of one takes.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { percentile } from '../../bench/statistics.ts';
import type { BedService } from '../bed/service.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { createNodes, createPod, setPodStatus } from '../churn-objects.ts';
import type { PlainNode } from '../churn-objects.ts';
import { readAudit, refusals } from '../hints-audit.ts';
import type { Write } from '../hints-audit.ts';
import { startStrictWebhook } from '../hints-commands.ts';
import { bareVersions, recordSlices } from '../hints-history.ts';
import {
  SLICE_CONTROLLER,
  connectAs,
  each,
  expectNone,
  hasOwnZone,
  serviceSelector,
  slicesOf,
  untilAdmission,
} from '../hints-support.ts';

const namespace = 'shop';
const size = 1000;
/** Changes of a Pod in each mode, each waited for, so that every one is a write of its own. */
const changes = 10;

describe('slices of 1,000 endpoints', () => {
  let client: Client;
  // Registered before the bed's own, so that it runs before the bed is gone.
  after(() => client?.close());
  const bed = useBed({ controllerManagerFlags: [`--max-endpoints-per-slice=${size}`] });
  let nodes: PlainNode[];
  let service: BedService;

  const podOf = (index: number) => ({ namespace, name: `web-${index}` });
  const numberOf = (index: number): number => 256 + index;

  /** The one slice, once `accept` likes it. */
  const untilSlice = async (what: string, accept: (slice: EndpointSlice) => boolean): Promise<EndpointSlice> => {
    const [slice] = await waitFor(
      what,
      () => slicesOf(client, namespace, serviceSelector('web')),
      ([first, ...more]) => first !== undefined && more.length === 0 && accept(first),
      { intervalMs: 100 },
    );
    return slice!;
  };
  const isReadyAs =
    (index: number, ready: boolean) =>
    ({ endpoints }: EndpointSlice): boolean =>
      endpoints?.find(({ targetRef }) => targetRef?.name === podOf(index).name)?.conditions?.ready === ready;

  /** Switches Pods one after the other; returns the milliseconds of the controller's writes. */
  const writeTimes = async (): Promise<number[]> => {
    const audit = readAudit(bed().auditLog);
    for (let change = 0; change < changes; change += 1) {
      const index = change >> 1;
      const ready = change % 2 === 1;
      await setPodStatus(client, podOf(index), numberOf(index), ready);
      await untilSlice(`Pod ${index} ${ready ? 'ready' : 'unready'}`, isReadyAs(index, ready));
    }
    const seen: Write[] = [];
    const writes = await waitFor(
      'writes of the controller in the audit log',
      () => {
        seen.push(...audit.next());
        return seen.filter(({ user, status }) => user === SLICE_CONTROLLER && status === 200);
      },
      ({ length }) => length >= changes,
    );
    expectNone('writes that were refused', refusals(seen));
    return writes.map(({ milliseconds }) => milliseconds);
  };
  const report = (mode: string, times: readonly number[]): void => {
    const figure = (percent: number): string => percentile(times, percent).toFixed(0);
    console.log(`${mode}: ${times.length} writes, median ${figure(50)} ms, slowest ${figure(100)} ms`);
  };

  before(`${size} Pods over three zones behind one Service`, async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    nodes = await createNodes(client, ['a', 'b', 'c'], 1);
    const indices = Array.from({ length: size }, (_, index) => index);
    await each(indices, 8, (index) =>
      createPod(client, { ...podOf(index), app: 'web', node: nodes[index % 3]!, number: numberOf(index) }),
    );
    service = await bed().service({ name: 'web', namespace });
    await untilSlice('all in one slice', ({ endpoints }) => endpoints?.length === size);
  });

  it('are written without hints where the Service asks for none', async () => {
    await startStrictWebhook(bed());
    await untilAdmission(client, namespace, true);
    report('without the webhook', await writeTimes());
    const { endpoints } = await untilSlice('there', () => true);
    expect(endpoints?.filter(({ hints }) => hints !== undefined)).to.deep.equal([]);
  });

  it('get the hints of all endpoints in every write', async () => {
    await service.patch({ metadata: { labels: { [LABEL_STRATEGY]: 'same-zone' } } });
    await untilSlice('own zone on all', ({ endpoints }) => (endpoints ?? []).every(hasOwnZone));
    const history = await recordSlices(client, namespace);
    report('with the webhook', await writeTimes());
    await history.complete();
    expect(history.versions.length, 'stored versions').to.be.above(changes);
    expectNone('versions with a ready endpoint without hint', bareVersions(history.versions));
    const { endpoints } = await untilSlice('own zone on all', (slice) => (slice.endpoints ?? []).every(hasOwnZone));
    expect(endpoints).to.have.lengthOf(size);
  });
});
