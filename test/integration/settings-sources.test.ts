// Where the setting is read from, and what happens when resources are missing, or come later.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { LABEL_CONSIDER, LABEL_ETCD_CLIENTS } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, NAMESPACES } from '../../pkg/apis/resources.ts';
import { node, service, slice } from '../fixtures/core.ts';
import { cluster, etcd, namespace, seed } from '../fixtures/gardener.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { eventually } from './controller-bed.ts';
import { openBed } from './settings-support.ts';
import type { Bed } from './settings-support.ts';

const NS = 'shoot--foo--bar';

describe('sources of the settings', () => {
  let bed: Bed;
  let virtual: Sandbox | undefined;
  beforeEach(async () => {
    bed = await openBed();
    await bed.apply(
      ...['eu-1a', 'eu-1b'].map((zone) => node({ zone })),
      namespace(),
      service({ metadata: { name: 'vpa-webhook', namespace: NS } }),
      etcd(),
    );
  });
  afterEach(async () => {
    await bed.close();
    await virtual?.stop();
    virtual = undefined;
  });

  const field = (): string | undefined => bed.service(NS, 'vpa-webhook').spec?.trafficDistribution;
  const expectField = (value: string | undefined) => eventually(() => expect(field()).to.equal(value));
  const messages = (): string[] => bed.log.entries.map(({ message }) => message);

  it('takes the live Seed before the configuration and the Cluster, and follows it', async () => {
    virtual = await startSandbox();
    await virtual.apply(seed({ enabled: true }));
    await virtual.apply(seed({ metadata: { name: 'another' }, enabled: false }));
    await bed.apply(cluster({ spec: { seed: seed({ enabled: false }) } }));
    const off = '{spec: {settings: {topologyAwareRouting: {enabled: false}}}}';
    await bed.start(`modes: {seed: {seedName: my-seed, gardenKubeconfig: unused, seed: ${off}}}`, virtual);
    await expectField('PreferSameZone');
    await virtual.apply(seed({ enabled: false }));
    await expectField(undefined);
  });

  it('takes the configuration while the virtual garden cannot be reached, and changes over later', async () => {
    virtual = await startSandbox();
    const fault = virtual.addFault({ kind: 'status', match: { resource: 'seeds' }, code: 503 });
    await virtual.apply(seed({ enabled: false }));
    await bed.apply(cluster({ spec: { seed: seed({ enabled: false }) } }));
    const on = '{spec: {provider: {zones: [eu-1a, eu-1b]}, settings: {topologyAwareRouting: {enabled: true}}}}';
    const starting = bed.start(`modes: {seed: {seedName: my-seed, gardenKubeconfig: unused, seed: ${on}}}`, virtual);
    await eventually(() => expect(messages()).to.include('Kubernetes version'));
    await bed.quiet();
    expect(field(), 'waits for the virtual garden first').to.equal(undefined);
    bed.clock.skip(30_000);
    await starting;
    await expectField('PreferSameZone');
    fault.remove();
    bed.clock.skip(2_000);
    await expectField(undefined);
  });

  it('goes on without Etcds where druid is missing, and picks them up when it is installed', async () => {
    const fault = bed.sandbox.addFault({ kind: 'status', match: { resource: 'etcds' }, code: 404 });
    await bed.apply(cluster());
    await bed.start('modes: {seed: {}}');
    await expectField('PreferSameZone');
    expect(messages()).to.include('resource cannot be read, continuing without it');
    const labelled = () => bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ETCD_CLIENTS];
    await eventually(() => expect(labelled(), 'before there is an Etcd').to.equal('true'));
    fault.remove();
    bed.clock.skip(60_000);
    await eventually(() => expect(labelled()).to.equal('true'));
  });
});

describe('hints after an outage of the webhook', () => {
  let bed: Bed;
  beforeEach(async () => {
    // 1.30: the webhook is what writes hints, and the EndpointSlice controller would get in the way.
    bed = await openBed({ kubernetesVersion: 'v1.30.4', endpointSliceController: false });
    await bed.apply(...['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => node({ zone })), namespace(), cluster());
    await bed.apply(service({ metadata: { name: 'vpa-webhook', namespace: NS } }));
  });
  afterEach(() => bed.close());

  const sliceNamed = (name: string): EndpointSlice =>
    slice({ service: 'vpa-webhook', metadata: { name, namespace: NS, labels: { [LABEL_CONSIDER]: 'true' } } });
  const touches = () => bed.writes().filter(({ resource }) => resource === 'endpointslices');

  it('tries one slice, says WebhookUnavailable, backs off, and tries again', async () => {
    await bed.apply(...['a', 'b', 'c'].map(sliceNamed));
    await bed.start('modes: {seed: {}}');
    bed.clock.skip(5_000);
    await eventually(() => expect(bed.events().join()).to.contain('WebhookUnavailable'));
    await bed.quiet();
    expect(touches()).to.have.length(1);
    bed.clock.skip(30_000);
    await bed.quiet();
    expect(touches(), 'still backing off').to.have.length(1);
    bed.clock.skip(31_000);
    await eventually(() => expect(touches()).to.have.length(2));
    expect(bed.events().filter((event) => event.startsWith('WebhookUnavailable'))).to.have.length(1);
  });

  it('leaves hinted slices alone', async () => {
    const hinted = sliceNamed('hinted');
    await bed.apply({
      ...hinted,
      endpoints: (hinted.endpoints ?? []).map((item) => ({
        ...item,
        hints: { forZones: [{ name: item.zone ?? '' }] },
      })),
    } as EndpointSlice);
    await bed.start('modes: {seed: {}}');
    bed.clock.skip(60_000);
    await bed.quiet();
    expect(touches()).to.deep.equal([]);
    expect(bed.sandbox.list(ENDPOINT_SLICES)).to.have.length(1);
  });
});
