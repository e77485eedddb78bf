// SPDX-License-Identifier: Apache-2.0
// Shows that tests can break parts of a bed, that the rest bears it as in a cluster, and that all of it comes back.
import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { BedNode, BedService } from '../bed/index.ts';
import { useBed } from '../bed/mocha.ts';
import type { Traffic } from '../bed/traffic.ts';
import { waitFor } from '../bed/wait-for.ts';

const connections = 200;

describe('faults', () => {
  const bed = useBed();
  let here: BedNode;
  let there: BedNode;
  let service: BedService;

  const settled = (what: string, accept: (traffic: Traffic) => boolean): Promise<Traffic> =>
    waitFor(
      `${here.name}: ${what}`,
      () => bed().connect({ node: here, service, count: 30, timeoutMs: 1000 }),
      (traffic) => traffic.total === 30 && accept(traffic),
    );

  before('two zones, a Service that keeps its traffic in each', async () => {
    here = await bed().node({ name: 'here', zone: 'a' });
    there = await bed().node({ name: 'there', zone: 'b' });
    for (const node of [here, there]) await bed().pod({ node, app: 'web' });
    service = await bed().service({ name: 'web', trafficDistribution: 'PreferSameZone' });
    await waitFor(
      '2 endpoints',
      () => service.endpoints(),
      ({ length }) => length === 2,
    );
    await settled('only its own zone', ({ byZone }) => byZone['a'] === 30);
  });

  it('goes on after kube-apiserver was killed, while proxies keep serving what they know', async () => {
    const { apiServer } = bed().controlPlane;
    await apiServer.kill();
    const traffic = await bed().connect({ node: here, service, count: connections });
    expect(traffic.byZone).to.deep.equal({ a: connections });
    apiServer.start();
    await bed().ready();
    expect(await service.endpoints()).to.have.lengthOf(2);
  });

  it('waits for a frozen kube-apiserver, and goes on with it', async () => {
    const { apiServer } = bed().controlPlane;
    apiServer.signal('SIGSTOP');
    const answer = bed().api.text('/readyz');
    const traffic = await bed().connect({ node: here, service, count: connections });
    expect(traffic.byZone).to.deep.equal({ a: connections });
    apiServer.signal('SIGCONT');
    expect(await answer).to.equal('ok');
  });

  it('replaces a kube-proxy that was stopped', async () => {
    await here.proxy.stop();
    expect(here.proxy.pid).to.equal(undefined);
    expect(() => here.proxy.assertRunning()).to.throw(/kube-proxy on here ended/);
    await service.patch({ spec: { trafficDistribution: null } });
    here.proxy.start();
    await settled('all zones', ({ byZone }) => Object.keys(byZone).length === 2);
  });

  it('shows a Node that is not ready, and removes one with all that is its own', async () => {
    const node = await bed().node({ name: 'spare', zone: 'a' });
    const ready = async (): Promise<string | undefined> => {
      type Status = { status: { conditions: { type: string; status: string }[] } };
      const { status } = await bed().api.get<Status>('/api/v1/nodes/spare');
      return status.conditions.find(({ type }) => type === 'Ready')?.status;
    };
    expect(await ready()).to.equal('True');
    await node.setReady(false);
    expect(await ready()).to.equal('False');

    await node.remove();
    expect(readdirSync('/run/netns')).not.to.include(node.namespace);
    expect(node.proxy.pid).to.equal(undefined);
    const names = (await bed().api.list('/api/v1/nodes')).map(({ metadata }) => metadata.name);
    expect(names.sort()).to.deep.equal([here.name, there.name]);
  });
});
