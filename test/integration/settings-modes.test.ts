// Garden mode, cluster mode and both beside a seed: each namespace has exactly one owner.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_ETCD_CLIENTS,
  LABEL_MANAGED,
  LABEL_STRATEGY,
  LABEL_CONSIDER,
} from '../../pkg/apis/names.ts';
import { NAMESPACES, NODES, ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import { node, service, slice } from '../fixtures/core.ts';
import { cluster, etcd, garden, namespace, seed } from '../fixtures/gardener.ts';
import { eventually } from './controller-bed.ts';
import { type Bed, openBed } from './settings-support.ts';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const MANAGED = { [LABEL_MANAGED]: 'true' };

describe('modes of the settings reconciler', () => {
  let bed: Bed;
  beforeEach(async () => {
    bed = await openBed();
    await bed.apply(...['eu-1a', 'eu-1b'].map((zone) => node({ zone })));
  });
  afterEach(() => bed.close());

  const distribution = (ns: string, name: string): string | undefined =>
    bed.service(ns, name).spec?.trafficDistribution;
  const expectField = (ns: string, name: string, value: string | undefined) =>
    eventually(() => expect(distribution(ns, name), `${ns}/${name}`).to.equal(value));

  describe('garden', () => {
    const MODE = 'modes: {garden: {gardener: {featureGates: {IstioTLSTermination: false}}}}';
    beforeEach(async () => {
      await bed.apply(
        namespace({ role: 'garden' }),
        namespace({ role: 'extension', metadata: { name: 'runtime-extension-x' } }),
        namespace({ role: 'extension' }),
        etcd({ metadata: { name: 'virtual-garden-etcd-main', namespace: 'garden' } }),
        ...['virtual-garden-kube-apiserver', 'gardener-apiserver', 'gardener-dashboard'].map((name) =>
          service({ metadata: { name, namespace: 'garden' } }),
        ),
        service({ metadata: { name: 'x', namespace: 'runtime-extension-x', labels: MANAGED } }),
        service({ metadata: { name: 'x', namespace: 'extension-provider-local', labels: MANAGED } }),
      );
    });

    it('sets the garden Services and those of runtime extensions, and no others', async () => {
      await bed.apply(garden());
      await bed.start(MODE);
      await expectField('garden', 'virtual-garden-kube-apiserver', 'PreferSameZone');
      await expectField('garden', 'gardener-apiserver', 'PreferSameZone');
      await expectField('runtime-extension-x', 'x', 'PreferSameZone');
      await bed.quiet();
      expect(bed.sandbox.get(NAMESPACES, { name: 'garden' })?.metadata?.labels?.[LABEL_ETCD_CLIENTS]).to.equal('true');
      expect(distribution('garden', 'gardener-dashboard')).to.equal(undefined);
      expect(distribution('extension-provider-local', 'x'), "a seed's extension").to.equal(undefined);
    });

    it('refuses without high availability with the sentence of Gardener, and heals', async () => {
      await bed.apply(garden({ highAvailability: false }));
      await bed.start(MODE);
      await eventually(() => expect(bed.events().join()).to.contain("virtual cluster's high-availability"));
      expect(distribution('garden', 'gardener-apiserver')).to.equal(undefined);
      await bed.apply(garden());
      await expectField('garden', 'gardener-apiserver', 'PreferSameZone');
    });
  });

  it('lets a seed that is also the garden runtime have one owner for each namespace', async () => {
    await bed.apply(
      namespace({ role: 'garden' }),
      namespace(),
      namespace({ role: 'extension' }),
      namespace({ role: 'extension', metadata: { name: 'runtime-extension-x' } }),
      garden({ enabled: false }),
      cluster({ spec: { seed: seed() } }),
      service({ metadata: { name: 'gardener-apiserver', namespace: 'garden' } }),
      service({ metadata: { name: 'vpa-webhook', namespace: 'shoot--foo--bar' } }),
      service({ metadata: { name: 'x', namespace: 'runtime-extension-x', labels: MANAGED } }),
      service({ metadata: { name: 'x', namespace: 'extension-provider-local', labels: MANAGED } }),
      service({ metadata: { name: 'plain', labels: MANAGED } }),
    );
    await bed.start('modes: {garden: {}, seed: {}, cluster: {}}');
    await expectField('shoot--foo--bar', 'vpa-webhook', 'PreferSameZone');
    await expectField('extension-provider-local', 'x', 'PreferSameZone');
    await expectField('default', 'plain', 'PreferSameZone');
    await bed.quiet();
    expect(distribution('garden', 'gardener-apiserver'), 'follows the Garden').to.equal(undefined);
    expect(distribution('runtime-extension-x', 'x'), 'follows the Garden').to.equal(undefined);
    await bed.apply(garden({ enabled: true }));
    await expectField('garden', 'gardener-apiserver', 'PreferSameZone');
    await expectField('runtime-extension-x', 'x', 'PreferSameZone');
    await bed.quiet();
    const patched = bed
      .writes()
      .flatMap(({ verb, namespace: ns, name }) => (verb === 'patch' ? [`${ns}/${name}`] : []));
    expect(patched, 'each object once').to.have.length(new Set(patched).size);
  });

  describe('cluster', () => {
    const MODE = 'modes: {cluster: {}}';
    const annotated = (strategy: string) => ({ [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${strategy}` });

    it('serves Services that ask by label or annotation, keeps what their authors wrote', async () => {
      await bed.apply(
        service({ metadata: { name: 'labelled', labels: MANAGED } }),
        service({ metadata: { name: 'annotated', annotations: annotated('same-zone') } }),
        service({ metadata: { name: 'planned', annotations: annotated('load-aware') } }),
        service({
          metadata: { name: 'own', annotations: annotated('same-zone') },
          spec: { trafficDistribution: 'PreferClose' },
        }),
        service({ metadata: { name: 'foreign', annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'example.com/mine' } } }),
        service({ metadata: { name: 'silent' } }),
      );
      await bed.start(MODE);
      await expectField('default', 'labelled', 'PreferSameZone');
      await eventually(() =>
        expect(bed.service('default', 'planned').metadata?.labels?.[LABEL_STRATEGY]).to.equal('load-aware'),
      );
      await eventually(() =>
        expect(bed.service('default', 'own').metadata?.labels?.[LABEL_STRATEGY]).to.equal('same-zone'),
      );
      await bed.quiet();
      expect(distribution('default', 'annotated')).to.equal('PreferSameZone');
      expect(distribution('default', 'planned')).to.equal(undefined);
      expect(distribution('default', 'own'), "the author's own value").to.equal('PreferClose');
      for (const name of ['foreign', 'silent'])
        expect(bed.service('default', name).metadata?.annotations?.[ANNOTATION_APPLIED], name).to.equal(undefined);
      await bed.apply(
        service({
          metadata: {
            name: 'annotated',
            annotations: {
              [ANNOTATION_APPLIED]:
                bed.service('default', 'annotated').metadata?.annotations?.[ANNOTATION_APPLIED] ?? '',
            },
            labels: { [LABEL_STRATEGY]: 'same-zone' },
          },
          spec: { trafficDistribution: 'PreferSameZone' },
        }),
      );
      await expectField('default', 'annotated', undefined);
      expect(
        bed.service('default', 'annotated').metadata?.labels?.[LABEL_STRATEGY],
        'our label goes with the annotation',
      ).to.equal(undefined);
    });

    it('reports Auto beside a strategy as ConflictingMode', async () => {
      await bed.apply(
        service({
          metadata: {
            name: 'both',
            labels: { [LABEL_STRATEGY]: 'same-zone' },
            annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' },
          },
        }),
      );
      await bed.start(MODE);
      await eventually(() => expect(bed.events().join()).to.contain('ConflictingMode'));
      expect(distribution('default', 'both')).to.equal(undefined);
    });

    it('follows the zones of ready Nodes', async () => {
      await bed.apply(service({ metadata: { name: 'labelled', labels: MANAGED } }));
      await bed.start(MODE);
      await expectField('default', 'labelled', 'PreferSameZone');
      await bed.sandbox.remove(NODES, { name: 'node-eu-1b' });
      await expectField('default', 'labelled', undefined);
      await eventually(() => expect(bed.events().join()).to.contain('SingleZone'));
      await bed.apply(node({ zone: 'eu-1c' }));
      await expectField('default', 'labelled', 'PreferSameZone');
    });
  });
});

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
