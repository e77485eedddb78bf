// SPDX-License-Identifier: Apache-2.0
// Two replicas of the flow controller on the sandbox, each with a part of the namespaces: nothing is planned twice, and nothing is left out.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { runCleanup } from '../../cmd/flow-controller/one-shot.ts';
import type { Lease, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { LEASES, SERVICES } from '../../pkg/apis/resources.ts';
import { shardLease, shardOf } from '../../pkg/kubernetes/shards.ts';
import { service as serviceOf } from '../fixtures/core.ts';
import { flowNode, flowPod, openFlowBed } from './flow-support.ts';
import type { FlowBed } from './flow-support.ts';

const TWO = 'shards: 2\nleaderElection: {leaseDurationSeconds: 60, renewDeadlineSeconds: 40, retryPeriodSeconds: 1}';
const NAMESPACES = ['shop', 'cart', 'pay', 'mail', 'stock', 'ship'];

describe('replicas of the flow controller with two shards', () => {
  let bed: FlowBed;
  beforeEach(async () => {
    bed = await openFlowBed();
    await bed.apply(flowNode('a'), flowNode('b'));
    for (const namespace of NAMESPACES) await join(namespace, 'web');
  });
  afterEach(() => bed.close());

  const inNamespace = (object: KubernetesObject, namespace: string): KubernetesObject => ({
    ...object,
    metadata: { ...object.metadata, name: object.metadata?.name ?? '', namespace },
  });
  /** A Service that asks for a plan, with a Pod in each zone. */
  const join = async (namespace: string, name: string): Promise<void> => {
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/proportional` };
    await bed.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const zone of ['a', 'b'])
      await bed.apply(inNamespace(flowPod(`${name}-${zone}`, zone, { app: name }), namespace));
    await bed.apply(serviceOf({ metadata: { name, namespace, annotations }, spec: { selector: { app: name } } }));
  };
  const holders = (): string[] =>
    [0, 1].map((shard) => {
      const ref = { namespace: 'default', name: shardLease('flow-controller', shard) };
      return bed.sandbox.get<Lease>(LEASES, ref)?.spec?.holderIdentity ?? '';
    });
  /** `namespace/name` of Services that were labelled, once for each time. */
  const labelled = (): string[] =>
    bed
      .writes()
      .filter(({ resource }) => resource === 'services')
      .map(({ namespace, name }) => `${namespace}/${name}`)
      .sort();
  const all = (name: string): string[] => NAMESPACES.map((namespace) => `${namespace}/${name}`).sort();
  const until = (check: () => unknown): Promise<void> => bed.until(check, 500);

  it('share them, take over, and write each plan once', async () => {
    expect(new Set(NAMESPACES.map((namespace) => shardOf(namespace, 2))), 'the test').to.deep.equal(new Set([0, 1]));
    const first = await bed.start(TWO);
    await until(() => expect(holders()).to.deep.equal(['test-1', 'test-1']));
    await until(() => expect(labelled(), 'alone').to.deep.equal(all('web')));
    await bed.start(TWO);
    await until(() => expect(holders(), 'shared').to.deep.equal(['test-1', 'test-2']));
    for (const namespace of NAMESPACES) await join(namespace, 'api');
    await until(() => expect(labelled()).to.deep.equal([...all('api'), ...all('web')].sort()));
    await first.stop();
    await until(() => expect(holders(), 'taken over').to.deep.equal(['test-2', 'test-2']));
    for (const namespace of NAMESPACES) await join(namespace, 'late');
    await until(() => expect(labelled()).to.deep.equal([...all('api'), ...all('late'), ...all('web')].sort()));
    for (const { metadata } of bed.sandbox.list<Service>(SERVICES))
      if (NAMESPACES.includes(metadata?.namespace ?? ''))
        expect(metadata?.labels?.[LABEL_STRATEGY], metadata?.name).to.equal('proportional');
  });

  it('are replaced by one that plans all, and cleaned up with their Leases', async () => {
    const first = await bed.start(TWO);
    await until(() => expect(holders()).to.deep.equal(['test-1', 'test-1']));
    await first.stop();
    const one = await bed.start(TWO.replace('shards: 2', 'shards: 1'));
    await until(() => expect(labelled()).to.deep.equal(all('web')));
    expect(holders()).to.deep.equal(['test-2', '']);
    await one.stop();
    await runCleanup(await bed.session(TWO), new AbortController().signal);
    expect(bed.sandbox.list<Lease>(LEASES).map(({ metadata }) => metadata?.name)).to.deep.equal([]);
  });
});
