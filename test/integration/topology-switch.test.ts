// `kubectl topology off` and `on` on a sandbox in which none of this project's processes is alive.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../pkg/apis/admission.ts';
import type { Namespace } from '../../pkg/apis/core.ts';
import { ANNOTATION_APPLIED, ANNOTATION_HINTS, ANNOTATION_PLAN, GROUP, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { buildRegistration } from '../../pkg/webhook/registration.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';
import { ZONES, pair, useEvacuationCluster } from './topology-evacuate-support.ts';

const NAME = 'hints';
const REMOVED = 'removed: hints and annotations of';

describe('kubectl topology off, with every component dead', function onCluster() {
  this.timeout(60_000);
  const bed = useEvacuationCluster();
  const { run, hintsOf, evacuateSlice } = bed;

  const configuration = (): MutatingWebhookConfiguration | undefined =>
    bed.sandbox.get<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, { name: NAME });
  const marker = (): string | undefined =>
    bed.sandbox.get<Namespace>(NAMESPACES, { name: 'kube-system' })?.metadata?.annotations?.[ANNOTATION_HINTS];
  const hinted = (name: string, labels = {}, annotations = {}) =>
    slice({
      service: name,
      metadata: { name: `${name}-x`, labels, annotations },
      endpoints: ZONES.map((zone, index) =>
        endpoint({ zone, addresses: [`10.0.1.${index + 1}`], hints: { forZones: [{ name: zone }] } }),
      ),
    });

  beforeEach(async () => {
    await bed.sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } });
    bed.sandbox.seed([
      hinted('labelled', { [LABEL_STRATEGY]: 'same-zone' }),
      hinted('planned', {}, { [ANNOTATION_PLAN]: 'zones' }),
      hinted('own'),
      ...pair('moved', ZONES),
    ]);
    await evacuateSlice('moved-x');
    const applied = { [ANNOTATION_APPLIED]: JSON.stringify({ trafficDistribution: 'PreferClose' }) };
    bed.sandbox.seed([
      service({ metadata: { name: 'set', annotations: applied }, spec: { trafficDistribution: 'PreferClose' } }),
    ]);
    const entries = buildRegistration({
      name: NAME,
      version: { major: 1, minor: 34 },
      address: { kind: 'url', url: 'https://127.0.0.1:1' },
      excludedNamespaces: [],
      failurePolicy: 'Fail',
      timeoutSeconds: 1,
      settingsReconcilerUser: 'settings-reconciler',
      strategyAnnotation: false,
      keepSettings: false,
    });
    const [first] = entries.webhooks ?? [];
    if (first === undefined) throw new Error('nothing is registered');
    const webhooks = [
      ...(entries.webhooks ?? []),
      { ...first, name: 'other.example.org', failurePolicy: 'Ignore' as const },
    ];
    const configured: MutatingWebhookConfiguration = { ...entries, webhooks };
    bed.sandbox.seed([configured]);
  });

  it('removes what is ours though a dead webhook would refuse every write, and leaves the rest', async () => {
    const { code, out, err } = await run('off');
    expect([code, out.split('\n').slice(0, 2)], err).to.deep.equal([
      0,
      [
        `${REMOVED} 3 EndpointSlices, entries of 1 MutatingWebhookConfiguration, settings of 1 Service`,
        '1 Service with hints that the control plane or another writer gives for settings of their own: default/own',
      ],
    ]);
    for (const name of ['labelled-x', 'planned-x', 'moved-x'])
      expect(await hintsOf(name), name).to.deep.equal(['', '', '']);
    expect(await hintsOf('own-x')).to.deep.equal([...ZONES]);
    expect(bed.sandbox.get(SERVICES, { namespace: 'default', name: 'set' })).not.to.have.nested.property(
      'spec.trafficDistribution',
    );
    expect([marker(), configuration()?.webhooks?.map(({ name }) => name)]).to.deep.equal([
      'off',
      ['other.example.org'],
    ]);
    expect(configuration()?.metadata.annotations?.[`${GROUP}/withdrawn`]).to.contain('"failurePolicy":"Fail"');
  });

  it('again has nothing to do, every other command says that it is off, and `on` removes the mark', async () => {
    await run('off');
    expect((await run('off')).out).to.contain(`${REMOVED} 0 EndpointSlices, entries of 0`);
    expect((await run('explain web -n default')).err).to.contain(
      'warning: hints are switched off in the whole cluster',
    );
    expect((await run('on')).code).to.equal(0);
    expect(marker()).to.equal(undefined);
    expect((await run('explain web -n default')).err).not.to.contain('switched off');
  });

  it('--dry-run counts and writes nothing', async () => {
    const { code, out } = await run('off --dry-run');
    expect([code, out]).to.deep.equal([
      0,
      'would remove: hints and annotations of 3 EndpointSlices, entries of 1 MutatingWebhookConfiguration, settings of 1 Service\nDry run: nothing was written.\n',
    ]);
    expect([marker(), await hintsOf('labelled-x')]).to.deep.equal([undefined, [...ZONES]]);
  });

  it('goes on where the API server is busy for a moment, and names what it could not write with exit code 1', async () => {
    bed.sandbox.addFault({ kind: 'status', match: { resource: 'endpointslices', verb: 'patch' }, code: 503, times: 2 });
    expect((await run('off')).code).to.equal(0);
    bed.sandbox.seed([hinted('late', { [LABEL_STRATEGY]: 'same-zone' })]);
    bed.sandbox.addFault({ kind: 'status', match: { resource: 'endpointslices', verb: 'patch' }, code: 403 });
    const { code, err } = await run('off');
    expect([code, err.includes('error: 1 EndpointSlice not done')], err).to.deep.equal([1, true]);
  });

  it('turns nothing where the namespace may not be written', async () => {
    bed.sandbox.addFault({ kind: 'status', match: { resource: 'namespaces', verb: 'patch' }, code: 403 });
    expect((await run('off')).code).to.equal(2);
    expect(await hintsOf('labelled-x')).to.deep.equal([...ZONES]);
  });
});
