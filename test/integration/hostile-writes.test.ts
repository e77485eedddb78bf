// Writes that lie: forged records of what we applied, reviews of anything; they cost their author at most their own settings.
import { Agent } from 'node:https';
import { expect } from 'chai';
import { after, afterEach, before, beforeEach, describe, it } from 'mocha';
import type { Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_APPLIED, LABEL_MANAGED } from '../../pkg/apis/names.ts';
import { SERVICES } from '../../pkg/apis/resources.ts';
import { type AdmissionFixture, startAdmission } from '../fixtures/admission-server.ts';
import { call, operationsOf, review } from '../fixtures/admission.ts';
import { node, service, slice } from '../fixtures/core.ts';
import { eventually } from './controller-bed.ts';
import { type Bed, openBed } from './settings-support.ts';

const [VICTIM, EVIL] = ['shop', 'evil'];
const MANAGED = { [LABEL_MANAGED]: 'true' };

const serviceIn = (namespace: string, name: string, labels: object, annotations: object = {}): Service =>
  service({ metadata: { name, namespace, labels: { app: 'x', ...labels }, annotations: { ...annotations } } });

/** Claims everything that is on the object, and more, as set by us. */
const FORGED = JSON.stringify({
  labels: { app: 'x', [LABEL_MANAGED]: 'true', 'kubernetes.io/service-name': 'web', ['__proto__']: 'x' },
  annotations: { 'prometheus.io/scrape': 'true', [ANNOTATION_APPLIED]: 'x' },
  trafficDistribution: 'PreferClose',
  removedAnnotations: { 'evil.test/planted': 'value' },
});

describe('a hostile owner of a Service, and the settings reconciler', function onSandbox() {
  this.timeout(180_000);
  let bed: Bed;
  beforeEach(async () => {
    bed = await openBed();
    bed.sandbox.seed([VICTIM, EVIL].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
    await bed.apply(node({ zone: 'a' }), node({ zone: 'b' }), serviceIn(VICTIM, 'web', MANAGED));
    await bed.start('modes: {cluster: {}}');
    await eventually(() => expect(bed.service(VICTIM, 'web').spec?.trafficDistribution).to.equal('PreferSameZone'));
  });
  afterEach(() => bed.close());

  it('who forges the record of what we set loses nothing but routing settings, and changes no other namespace', async () => {
    const { resourceVersion } = bed.service(VICTIM, 'web').metadata ?? {};
    const annotations = { [ANNOTATION_APPLIED]: FORGED, 'prometheus.io/scrape': 'true' };
    await bed.apply(serviceIn(EVIL, 'web', { [LABEL_MANAGED]: 'false' }, annotations));
    await bed.apply(serviceIn(EVIL, 'db', {}, annotations));
    await bed.quiet();
    for (const name of ['web', 'db']) {
      const { labels, annotations: left } = bed.service(EVIL, name).metadata ?? {};
      expect(labels).to.include({ app: 'x' });
      expect(left).to.include({ 'prometheus.io/scrape': 'true' }).and.not.have.property('evil.test/planted');
    }
    expect(bed.service(VICTIM, 'web').metadata?.resourceVersion).to.equal(resourceVersion);
  });

  it('who overwrites settings all the time is repaired once a minute, not each time', async () => {
    await bed.apply(serviceIn(EVIL, 'web', MANAGED));
    await eventually(() => expect(bed.service(EVIL, 'web').spec?.trafficDistribution).to.equal('PreferSameZone'));
    const already = bed.writes().length;
    for (let turn = 0; turn < 100; turn += 1) await bed.apply(serviceIn(EVIL, 'web', MANAGED));
    await bed.quiet();
    const writes = bed.writes().slice(already);
    expect(writes.filter(({ resource }) => resource === 'services')).to.have.length.below(4);
    expect(
      writes.filter(({ resource }) => resource === 'events'),
      'Events',
    ).to.have.length.below(30);
  });

  it('whose Services come and go leaves nothing in our metrics', async () => {
    const port = /metrics on port (\d+)/.exec(bed.printed.join('\n'))?.[1];
    const series = async (): Promise<string[]> => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    };
    const objects = (lines: string[]): number =>
      lines
        .filter((line) => line.includes('settings_objects{'))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    const usual = await series();
    const names = Array.from({ length: 300 }, (_, index) => `many-${index}`);
    await bed.apply(...names.map((name) => serviceIn(EVIL, name, MANAGED)));
    await bed.quiet();
    expect(objects(await series())).to.equal(301);
    const during = await series();
    expect(during.join('\n')).not.to.contain('many-').and.not.to.contain(EVIL);
    expect(during.length, 'series').to.be.below(usual.length + 30);
    for (const name of names) await bed.sandbox.remove(SERVICES, { namespace: EVIL, name });
    await bed.quiet();
    expect(objects(await series())).to.equal(1);
  });
});

describe('hostile reviews', () => {
  let admission: AdmissionFixture;
  let agent: Agent;
  before(async () => {
    admission = await startAdmission();
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
  });
  after(async () => {
    agent.destroy();
    await admission.stop();
  });

  const post = (object: KubernetesObject, overrides: Record<string, unknown> = {}) =>
    call({ port: admission.server.port, ca: admission.ca, agent, body: JSON.stringify(review(object, overrides)) });
  const series = async (): Promise<number> =>
    (await admission.metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;

  it('leave as many series behind as one of each kind, however many names they bring', async () => {
    const labels = { 'topology.extensions.gardener.cloud/strategy': 'same-zone' };
    const one = async (name: string): Promise<void> => {
      await post(slice({ metadata: { name, namespace: name, labels } }));
      await post(slice({ metadata: { name, namespace: name, labels } }), { operation: name });
      await post({ apiVersion: `${name}/v1`, kind: name, metadata: { name } });
      await post(slice({ metadata: { name, namespace: name, labels } }), { namespace: 'x'.repeat(1_000) + name });
    };
    await one('first');
    const usual = await series();
    for (let index = 0; index < 300; index += 1) await one(`name-${index}`);
    expect(await series()).to.equal(usual);
    expect([admission.budget.requests(), admission.budget.bytes()]).to.deep.equal([0, 0]);
  });

  it('are answered about their own object only', async () => {
    const labels = { 'topology.extensions.gardener.cloud/strategy': 'same-zone' };
    const mine = slice({ metadata: { name: 'mine', namespace: EVIL, labels } });
    const theirs = slice({ metadata: { name: 'web-1', namespace: VICTIM, labels } });
    const { text } = await post(mine, { namespace: VICTIM, name: 'web-1', oldObject: theirs, operation: 'UPDATE' });
    const paths = operationsOf(text).map(({ path }) => path);
    expect(paths).to.deep.equal(['/endpoints/0/hints', '/endpoints/1/hints', '/endpoints/2/hints']);
  });
});
