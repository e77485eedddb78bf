// The cluster is upgraded and downgraded while the reconciler runs: each mechanism replaces the one before, newer ones wait.
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { GROUP } from '../../pkg/apis/names.ts';
import { type RoutingShape, node, routingShapeOf, service } from '../fixtures/core.ts';
import { CILIUM, daemonSet } from '../fixtures/data-planes.ts';
import { cluster, namespace } from '../fixtures/gardener.ts';
import { eventually } from './controller-bed.ts';
import { type Bed, openBed } from './settings-support.ts';

const NS = 'shoot--foo--bar';
const MODE =
  'modes: {seed: {gardener: {version: v1.100.0}}}\nkubernetesVersion: {rereadSeconds: 60, stableSeconds: 300}';

const SHAPES: Record<string, RoutingShape> = {
  'v1.26.1': { hints: 'auto', consider: 'true' },
  'v1.27.1': { mode: 'auto', consider: 'true' },
  'v1.31.1': { field: 'PreferClose', consider: 'true' },
  'v1.32.1': { field: 'PreferClose' },
  'v1.34.0': { field: 'PreferSameZone' },
};

describe('settings while the cluster is upgraded', () => {
  let bed: Bed;
  afterEach(() => bed.close());

  const field = (): string | undefined => bed.service(NS, 'vpa-webhook').spec?.trafficDistribution;

  const open = async (version: string, kubeletVersion = 'v1.36.0'): Promise<void> => {
    bed = await openBed({ kubernetesVersion: version });
    await bed.apply(
      ...['eu-1a', 'eu-1b'].map((zone) => node({ zone, kubeletVersion })),
      namespace(),
      cluster(),
      service({ metadata: { name: 'vpa-webhook', namespace: NS } }),
    );
    await bed.start(MODE);
  };
  const shape = (): RoutingShape => routingShapeOf(bed.service(NS, 'vpa-webhook'));
  const expectShape = (wanted: RoutingShape | undefined) => eventually(() => expect(shape()).to.deep.equal(wanted));
  /** Time passes a minute at a time, and the version is read again each time. */
  const pass = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      const reads = (): number => bed.sandbox.requests.filter(({ path }) => path === '/version').length;
      const before = reads();
      bed.clock.skip(60_000);
      await eventually(() => expect(reads(), 'reads of /version').to.be.greaterThan(before));
      await bed.quiet();
    }
  };

  it('goes from 1.26 to 1.34 step by step, resetting what came before, and back at once', async () => {
    await open('v1.26.1');
    await expectShape(SHAPES['v1.26.1']);
    for (const version of ['v1.27.1', 'v1.31.1', 'v1.32.1', 'v1.34.0']) {
      const before = shape();
      bed.sandbox.setKubernetesVersion(version);
      await pass(5);
      expect(shape(), `${version}: not before it is stable`).to.deep.equal(before);
      await pass(1);
      await expectShape(SHAPES[version]);
    }
    bed.sandbox.setKubernetesVersion('v1.32.1');
    await pass(1);
    await expectShape(SHAPES['v1.32.1']);
  });

  it('starts to wait anew when an API server of the old version answers in between', async () => {
    await open('v1.32.1');
    bed.sandbox.setKubernetesVersion('v1.34.0');
    await pass(4);
    bed.sandbox.setKubernetesVersion('v1.32.1');
    await pass(1);
    bed.sandbox.setKubernetesVersion('v1.34.0');
    await pass(5);
    expect(shape()).to.deep.equal(SHAPES['v1.32.1']);
    await pass(1);
    await expectShape(SHAPES['v1.34.0']);
  });

  it('adds the annotation while some kubelet is 1.30 or older, and takes it back afterwards', async () => {
    await open('v1.34.0', 'v1.30.4');
    await expectShape({ field: 'PreferSameZone', mode: `${GROUP}/same-zone` });
    await bed.apply(...['eu-1a', 'eu-1b'].map((zone) => node({ zone, kubeletVersion: 'v1.31.0' })));
    await expectShape({ field: 'PreferSameZone' });
  });

  it('changes nothing while the version cannot be read, and says so', async () => {
    bed = await openBed({ kubernetesVersion: 'v1.34.0' });
    await bed.apply(namespace(), cluster(), service({ metadata: { name: 'vpa-webhook', namespace: NS } }));
    bed.sandbox.setKubernetesVersion('v1.22.0');
    await bed.start(MODE);
    expect(shape()).to.deep.equal({});
    expect(bed.log.entries.map(({ message }) => message)).to.include("cannot read the API server's version");
    bed.sandbox.setKubernetesVersion('v1.34.0');
    await pass(1);
    await expectShape(SHAPES['v1.34.0']);
  });

  it('the value has the name that Cilium reads, from the first write on, and its newest when Cilium is gone', async () => {
    bed = await openBed({ kubernetesVersion: 'v1.34.0' });
    const cilium = daemonSet('cilium', 'quay.io/cilium/cilium:v1.18.3', CILIUM);
    await bed.apply(
      ...['eu-1a', 'eu-1b'].map((zone) => node({ zone })),
      cilium,
      namespace(),
      cluster(),
      service({ metadata: { name: 'vpa-webhook', namespace: NS } }),
    );
    await bed.start(MODE);
    await eventually(() => expect(field()).to.equal('PreferClose'));
    await bed.quiet();
    expect(bed.writes().filter(({ path }) => path.includes('/services/'))).to.have.lengthOf(1);
    await bed.sandbox.apply(daemonSet('cilium', 'quay.io/cilium/cilium:v1.20.0', CILIUM));
    bed.clock.skip(600_000);
    await eventually(() => expect(field()).to.equal('PreferSameZone'));
  });
});
