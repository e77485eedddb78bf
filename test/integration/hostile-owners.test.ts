// Owners of Services and slices who want what is not theirs: another namespace's routing, our memory, our logs.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { Endpoint, EndpointSlice, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_PLAN, LABEL_SERVICE_NAME, LABEL_STRATEGY, PLAN_SPREAD } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, LEASES, SERVICES } from '../../pkg/apis/resources.ts';
import { HOLDER_TIMEOUT_MS, createLeaseWatch, microTime } from '../../pkg/kubernetes/lease.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';
import { eventually } from './controller-bed.ts';
import { type FlowBed, NAMESPACE, flowNode, flowPod, flowPolicy, flowService, openFlowBed } from './flow-support.ts';

const EVIL = 'evil';
const ZONES = ['a', 'b'];
const LABELS = { [LABEL_STRATEGY]: 'load-aware' };

const evilService = (name: string, labels: Record<string, string> = LABELS): Service =>
  service({ metadata: { name, namespace: EVIL, labels }, spec: { selector: undefined } as never });

/** A slice of the attacker's namespace that says it is one of the Service `name`. */
const evilSlice = (name: string, endpoints: Endpoint[], annotations = {}, suffix = '1'): EndpointSlice =>
  slice({
    metadata: {
      name: `${name}-${suffix}`,
      namespace: EVIL,
      labels: { [LABEL_SERVICE_NAME]: name, ...LABELS, 'endpointslice.kubernetes.io/managed-by': 'me' },
      annotations,
    },
    endpoints,
  });

const target = (pod: string, zone: string, hints: string[] = []): Endpoint =>
  endpoint({
    zone,
    addresses: [`198.18.${Math.floor(pod.length / 250)}.${1 + (pod.length % 250)}`],
    targetRef: { kind: 'Pod', name: pod, namespace: NAMESPACE, uid: pod },
    ...(hints.length === 0 ? {} : { hints: { forZones: hints.map((name) => ({ name })) } }),
  });

describe('a hostile owner of Services and slices', function onSandbox() {
  this.timeout(120_000);
  let bed: FlowBed;
  beforeEach(async () => {
    bed = await openFlowBed();
    bed.sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: EVIL } }]);
    await bed.apply(...ZONES.map((zone) => flowNode(zone)), ...ZONES.map((zone) => flowPod(`web-${zone}`, zone)));
    bed.plant.demand = { a: 0.3, b: 0.3 };
    await bed.apply(flowService({ labels: LABELS }));
  });
  afterEach(() => bed.close());

  const metrics = async (): Promise<string[]> => {
    const port = /metrics on port (\d+)/.exec(bed.printed.join('\n'))?.[1];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return text.split('\n').filter((line) => line.includes(`namespace="${EVIL}"`));
  };
  const evilSlices = (): EndpointSlice[] => bed.sandbox.list<EndpointSlice>(ENDPOINT_SLICES, EVIL);
  const linesAbout = (key: string): number => bed.log.entries.filter(({ fields }) => fields['service'] === key).length;

  describe('cannot change the routing of another namespace', () => {
    const untouched = async (): Promise<void> => {
      const before = { hints: bed.hints('web'), slices: bed.slices('web'), status: bed.policy('web')?.status?.plan };
      bed.clock.skip(60_000);
      await bed.quiet();
      expect(bed.hints('web')).to.deep.equal({ 'web-a': 'a', 'web-b': 'b' });
      expect(bed.slices('web').map(({ metadata }) => metadata?.resourceVersion)).to.deep.equal(
        before.slices.map(({ metadata }) => metadata?.resourceVersion),
      );
      expect(bed.policy('web')?.status?.plan).to.deep.equal(before.status);
    };

    it('with slices of its own that name the Service, its Pods, and zones for them', async () => {
      await bed.start();
      await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
      const foreign = [target('web-a', 'b', ['b']), target('web-b', 'a', ['a'])];
      await bed.apply(evilSlice('web', foreign, { [ANNOTATION_PLAN]: PLAN_SPREAD }));
      await untouched();
      const own = evilSlices().map(({ metadata, endpoints }) => [metadata?.annotations, endpoints?.length]);
      expect(own, 'no such Service there: nobody writes to them').to.deep.equal([
        [{ [ANNOTATION_PLAN]: PLAN_SPREAD }, 2],
      ]);
    });

    it('with a Service and a FlowPolicy of the same name', async () => {
      await bed.start();
      await eventually(() => expect(bed.conditions('web')['Effective']).to.equal('True/PlanInForce'));
      const policy = flowPolicy({ capacity: { from: 'Value', value: '1m' }, safeMode: 'Spread' });
      await bed.apply(evilService('web'), { ...policy, metadata: { name: 'web', namespace: EVIL } });
      await bed.apply(evilSlice('web', [target('web-a', 'b'), target('web-b', 'a')]));
      await untouched();
    });

    it('with a Lease of the planner’s name: it neither revives plans, nor does its end drop them', async () => {
      const lease = (namespace: string, agoMs: number): KubernetesObject =>
        ({
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: 'flow-controller', namespace },
          spec: { holderIdentity: 'me', renewTime: microTime(bed.clock.now() - agoMs) },
        }) as KubernetesObject;
      const { client, clock, random, logger } = await bed.session();
      const watch = createLeaseWatch({
        client,
        lease: { namespace: NAMESPACE, name: 'flow-controller' },
        clock,
        random,
        logger,
      });
      const stop = new AbortController();
      const running = watch.run(stop.signal);
      await bed.apply(lease(EVIL, 0), lease(NAMESPACE, 2 * HOLDER_TIMEOUT_MS));
      await eventually(() => expect([watch.known(), watch.alive()]).to.deep.equal([true, false]));
      await bed.apply(lease(EVIL, -1_000), lease(NAMESPACE, 0));
      await eventually(() => expect(watch.alive()).to.equal(true));
      await bed.sandbox.remove(LEASES, { namespace: EVIL, name: 'flow-controller' });
      await bed.quiet();
      expect(watch.alive()).to.equal(true);
      stop.abort();
      await running;
      // It is the webhook that watches, with rights of its own.
      bed.sandbox.clearRequests();
    });
  });

  describe('cannot grow what we hold or say', () => {
    it('with thousands of zones: metrics and status stay as small as for one', async () => {
      await bed.start();
      const zones = Array.from({ length: 1_000 }, (_, index) => `zone-${index}`);
      const endpoints = zones.map((zone, index) => target(`${index}`.padStart(3 + index, 'p').slice(-200), zone));
      await bed.apply(
        evilService('wide'),
        {
          ...flowPolicy({ capacity: { from: 'Value', value: '1' } }, 'wide'),
          metadata: { name: 'wide', namespace: EVIL },
        },
        evilSlice('wide', endpoints.slice(0, 500), {}, '1'),
        evilSlice('wide', endpoints.slice(500), {}, '2'),
      );
      await bed.until(async () => expect(await metrics()).to.have.length.above(0));
      expect(await metrics()).to.have.length.below(100);
      const status = bed.sandbox.get(FLOW_POLICIES, { namespace: EVIL, name: 'wide' });
      expect(JSON.stringify(status).length, 'characters of the FlowPolicy').to.be.below(30_000);
    });

    it('with many Services: series go with them', async () => {
      await bed.start();
      const names = Array.from({ length: 100 }, (_, index) => `many-${index}`);
      for (const name of names) {
        const policy = flowPolicy({ capacity: { from: 'Value', value: '1' } }, name);
        const own = { ...policy, metadata: { name, namespace: EVIL } };
        await bed.apply(own, evilSlice(name, [target(name, 'a')]), evilService(name));
      }
      await bed.until(async () => expect(await metrics()).to.have.length.within(100, 2_000));
      for (const name of names) {
        await bed.sandbox.remove(SERVICES, { namespace: EVIL, name });
        await bed.sandbox.remove(ENDPOINT_SLICES, { namespace: EVIL, name: `${name}-1` });
      }
      await bed.until(async () => expect(await metrics()).to.deep.equal([]));
    });

    it('with a label that it sets and removes all day: lines and Events are few', async () => {
      await bed.start();
      const pod = flowPod('flap', 'a', { cpu: '' });
      await bed.apply(
        { ...pod, metadata: { name: 'flap', namespace: EVIL } },
        evilSlice('flap', [target('flap', 'a')]),
      );
      const isLooped = (): boolean => bed.sandbox.get(FLOW_POLICIES, { namespace: EVIL, name: 'flap' }) !== undefined;
      const turns = 80;
      const began = bed.clock.monotonic();
      for (let turn = 0; turn < turns; turn += 1) {
        await bed.apply(evilService('flap'));
        await eventually(() => expect(isLooped()).to.equal(true));
        await bed.apply(evilService('flap', { [LABEL_STRATEGY]: '' }));
        await eventually(() => expect(isLooped()).to.equal(false));
      }
      // A line more for each ten seconds that this took.
      const most = 55 + Math.floor((bed.clock.monotonic() - began) / 10_000);
      expect(linesAbout(`${EVIL}/flap`), `lines of ${turns} times in trouble`).to.be.within(50, most);
      expect(bed.events().filter((event) => event.startsWith('NoCapacity'))).to.have.length.below(26);
    });
  });
});
