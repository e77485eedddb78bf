// SPDX-License-Identifier: Apache-2.0
// Counts what a planned Service of 50 slices costs in writes: of the flow controller, and of the EndpointSlice controller.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { NODES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { useBed } from '../bed/mocha.ts';
import type { BedService } from '../bed/service.ts';
import { waitFor } from '../bed/wait-for.ts';
import { createNodes, createPod, setPodStatus } from '../churn-objects.ts';
import { startWebhook } from '../commands.ts';
import { FLOW_USER, describeFlowController } from '../flow-world.ts';
import { readAudit, untilQuiet, untilQuietAfter } from '../hints-audit.ts';
import type { AuditReader, Write } from '../hints-audit.ts';
import { isEachPut } from '../hints-counts.ts';
import { SLICE_CONTROLLER, connectAs, each, serviceSelector, slicesOf, zonesOf } from '../hints-support.ts';
import { keepResults } from '../results.ts';

const namespace = 'shop';
const zones = ['a', 'b', 'c'];
const SLICES = 50;
const PER_SLICE = 3;
const PODS = SLICES * PER_SLICE;
/** Longer than the second after which the controller looks again at a slice that came back other than it wrote it. */
const QUIET_MS = 2_500;
/** A sync that met a slice which changed meanwhile is tried again, four times in a row after 1, 2, 4 and 8 seconds. */
const RETRY_MS = 10_000;
const FIRST_NUMBER = 512;

interface Count {
  readonly event: string;
  readonly slices: number;
  /** Writes of the flow controller. */
  readonly patches: number;
  /** Writes of the EndpointSlice controller. */
  readonly puts: number;
  /** Writes of the EndpointSlice controller that met a slice which had changed; each ends a sync, and brings another. */
  readonly conflicts: number;
  /** From the first to the last patch of the flow controller, in seconds. */
  readonly seconds: number;
}

describe('writes of planned slices', () => {
  let client: Client;
  after(() => client?.close());
  const bed = useBed({ controllerManagerFlags: [`--max-endpoints-per-slice=${PER_SLICE}`] });
  const counts: Count[] = [];
  let service: BedService;
  let audit: AuditReader;

  const pods = Array.from({ length: PODS }, (_, index) => ({ namespace, app: 'web', name: `web-${index}`, index }));
  const planOf = async (): Promise<string[]> =>
    (await slicesOf(client, namespace, serviceSelector('web')))
      .flatMap(({ endpoints }: EndpointSlice) => endpoints ?? [])
      .map((one) => `${one.targetRef?.name} ${zonesOf(one).join('+')}`)
      .sort();
  const by = (writes: readonly Write[], user: string, status = 200): number =>
    writes.filter((write) => write.user === user && write.status === status).length;
  const secondsOf = (writes: readonly Write[]): number => {
    const times = writes.filter(({ user }) => user === FLOW_USER).map(({ at }) => at);
    return times.length === 0 ? 0 : (Math.max(...times) - Math.min(...times)) / 1_000;
  };
  const count = async (event: string, act: () => Promise<unknown>): Promise<Count> => {
    // A sync that is still to be tried again belongs to the event before.
    await untilQuiet(audit, RETRY_MS);
    const names = new Set((await service.slices()).map(({ metadata }) => metadata.name));
    await act();
    // Each event brings a sync, which takes the hints away, and every slice has some.
    const writes = await untilQuietAfter(audit, (seen) => isEachPut(names, seen), QUIET_MS);
    const one = {
      event,
      slices: SLICES,
      patches: by(writes, FLOW_USER),
      puts: by(writes, SLICE_CONTROLLER),
      conflicts: by(writes, SLICE_CONTROLLER, 409),
      seconds: secondsOf(writes),
    };
    counts.push(one);
    return one;
  };
  const weigh = (zone: string, cpu: string): Promise<unknown> =>
    client.patch(NODES, { name: `${zone}1` }, 'merge', { status: { allocatable: { cpu } } }, { subresource: 'status' });

  before('a Service of 150 Pods on 50 slices, proportional to Nodes that are all alike', async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await startWebhook(bed());
    const { controller, ready } = await describeFlowController(bed());
    controller.start();
    await ready();
    const nodes = await createNodes(client, zones, 1);
    await each(pods, 8, (pod) =>
      createPod(client, { ...pod, node: nodes[pod.index % nodes.length]!, number: FIRST_NUMBER + pod.index }),
    );
    service = await bed().service({ name: 'web', namespace, labels: { [LABEL_STRATEGY]: 'proportional' } });
    await waitFor('50 hinted slices', planOf, (all) => all.length === PODS && all.every((one) => !one.endsWith(' ')));
    audit = readAudit(bed().auditLog);
  });

  it('a new plan is one write a slice at most, which the EndpointSlice controller answers with a few syncs', async () => {
    const planned = await planOf();
    const { patches, puts, conflicts, seconds } = await count('a new plan', async () => {
      await weigh('a', '6');
      await waitFor('another plan', planOf, (all) => all.join() !== planned.join());
    });
    expect(patches).to.be.within(1, SLICES);
    // One sync for the patches, and one more each time the controller sees what it wrote itself before the answer to it, which can
    // happen twice, as the third sync has nothing to change. While patches come, each second may bring a sync, and so may a conflict.
    expect(puts).to.be.at.most((3 + Math.floor(seconds) + conflicts) * SLICES);
  });

  it('a sync without a change writes the slices with hints, changes none, and asks nothing of the flow controller', async () => {
    const planned = await planOf();
    for (const round of ['first', 'second']) {
      const { patches, puts } = await count(`${round} sync without a change`, () =>
        service.patch({ metadata: { annotations: { touched: round } } }),
      );
      expect(puts).to.be.at.most(SLICES);
      expect(patches).to.equal(0);
    }
    expect(await planOf()).to.deep.equal(planned);
  });

  it('a Pod that comes or goes changes its own slice', async () => {
    for (const ready of [false, true]) {
      const name = pods[0]!.name;
      const { patches } = await count(`a Pod becomes ${ready ? 'ready' : 'unready'}`, () =>
        setPodStatus(client, { namespace, name }, FIRST_NUMBER, ready),
      );
      expect(patches, 'the plan will do').to.equal(0);
    }
  });

  it('are printed', () => {
    const rows = counts.map(({ event, slices, patches, puts }) => `| ${event} | ${slices} | ${patches} | ${puts} |`);
    const head = ['| event | slices | flow controller | EndpointSlice controller |', '|---|---:|---:|---:|'];
    console.log(['', ...head, ...rows, ''].join('\n'));
    expect(rows).to.have.lengthOf(5);
    keepResults('flow-writes', counts);
  });
});
