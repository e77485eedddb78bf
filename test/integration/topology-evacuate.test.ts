// `kubectl topology evacuate`, `evacuations` and `return` on a cluster: the check, what is made and followed, and the way back.
import { expect } from 'chai';
import { describe, it, beforeEach } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { runTopology } from '../fixtures/topology-command.ts';
import { ZONES, pair, useEvacuationCluster } from './topology-evacuate-support.ts';
import type { MutatingWebhookConfiguration } from '../../pkg/apis/admission.ts';
import type { Namespace } from '../../pkg/apis/core.ts';
import { ANNOTATION_APPLIED, ANNOTATION_HINTS, ANNOTATION_PLAN, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { buildRegistration } from '../../pkg/webhook/register.ts';
import { endpointsIn, service, slice } from '../fixtures/core.ts';

describe('kubectl topology evacuate, evacuations, return', function onCluster() {
  this.timeout(60_000);
  const bed = useEvacuationCluster();
  const { run, all, services, answering } = bed;

  describe('before anything is written', () => {
    it('--measured without a meter says so, and writes nothing', async () => {
      const { code, err } = await run('evacuate eu-1a --for 2h --measured');
      expect([code, await all()]).to.deep.equal([2, []]);
      expect(err).to.contain('no Pod of namespace topology-traffic-meter is a traffic-meter');
    });

    it('a dry run shows the check and the estimate, asks the API server, and stores nothing', async () => {
      const { code, out, err } = await run('evacuate eu-1a --for 2h --dry-run');
      expect([code, err]).to.deep.equal([0, '']);
      expect(out)
        .to.contain('1 of 1 Service would leave eu-1a')
        .and.to.contain('1 of 3 ready endpoints get no new connections');
      expect(out.replaceAll('\n', ' ')).to.match(
        /1 slice would be written, about \d+ B as JSON; the proxies of 3 Nodes receive about [\d.]+ kB/,
      );
      expect(out.replaceAll('\n', ' ')).to.contain(
        'answers with 1 write that changes nothing: 0.05 s of its 20 requests a second',
      );
      expect(out).to.contain('Dry run: the API server accepts it');
      expect(await all()).to.deep.equal([]);
      const writes = bed.sandbox.requests.filter(({ user, method }) => user === 'operator' && method !== 'GET');
      expect(writes.map(({ resource, query }) => [resource, query['dryRun']])).to.deep.equal([
        ['zoneevacuations', 'All'],
      ]);
    });

    const refused: readonly (readonly [
      name: string,
      more: readonly KubernetesObject[],
      flags: string,
      expected: string,
      forced: number,
    ])[] = [
      [
        'endpoints that would be overloaded',
        pair('busy', ['eu-1a', 'eu-1a', 'eu-1a', 'eu-1b']),
        '',
        'Overloaded: Too much',
        0,
      ],
      ['a stricter limit', [], '--max-overload 20', 'Overloaded: Too much', 0],
      ['nothing to move', [], '-l app=none', 'NothingToMove', 1],
    ];
    for (const [name, more, flags, expected, forced] of refused) {
      it(`refuses ${name} with exit code 1${forced === 0 ? ', unless forced' : ', forced or not'}`, async () => {
        bed.sandbox.seed(more);
        const line = `evacuate eu-1a --for 2h --dry-run ${flags}`.trim();
        const { code, out, err } = await run(line);
        expect([code, out.includes(expected)]).to.deep.equal([1, true]);
        expect(err).to.contain('refused, nothing was written');
        expect((await run(`${line} --force`)).code).to.equal(forced);
        expect(await all()).to.deep.equal([]);
      });
    }

    const wrong: readonly (readonly [string, string, string])[] = [
      ['no time', 'evacuate eu-1a', '--for is required: an evacuation ends by itself'],
      ['a time that is none', 'evacuate eu-1a --for soon', 'expected a duration such as 30m'],
      ['a share that is none', 'evacuate eu-1a --for 2h --percent 0', 'expected a whole percentage'],
      ['a zone that nothing is in', 'evacuate eu-1d --for 2h', 'did you mean "eu-1a"?'],
      ['labels that are none', 'evacuate eu-1a --for 2h -l app==(x', 'expected labels such as'],
      ['a zone that is not evacuated', 'return eu-1b', 'no evacuation of eu-1b, and no slice shows one'],
      ['an evacuation that is not there', 'evacuations eu-1b', 'no evacuation of eu-1b'],
    ];
    for (const [name, line, message] of wrong) {
      it(`exit code 2: ${name}`, async () => {
        const { code, err } = await run(line);
        expect([code, err.includes(message)], err).to.deep.equal([2, true]);
      });
    }
  });

  describe('evacuate', () => {
    it('makes the object, shows how far it is, and ends when it is done', async () => {
      const world = answering(
        { phase: 'Moving', services: services(0, 1, 0) },
        {
          phase: 'Evacuated',
          services: services(1, 0, 1),
          left: [
            { namespace: 'shop', name: 'solo', reason: 'NoEndpointElsewhere', message: 'no ready endpoint elsewhere' },
          ],
        },
      );
      const { code, out, err } = await run('evacuate eu-1a --for 2h --reason incident-4711', world);
      expect(code).to.equal(0);
      expect(err.split('\n').slice(0, 3)).to.deep.equal([
        'accepted by the API server; waiting for the settings-reconciler',
        'Moving: 0 of 1 Service moved, 1 pending, 0 left',
        'Evacuated: 1 of 2 Services moved, 0 pending, 1 left',
      ]);
      expect(out).to.match(/shop +solo +NoEndpointElsewhere +no ready endpoint elsewhere/);
      expect(out)
        .to.contain('It ends by itself 2h after it began; earlier: kubectl topology return eu-1a')
        .and.to.contain('it stays until: kubectl topology return eu-1a --direct');
      const [made] = await all();
      expect(made?.spec).to.deep.equal({
        zone: 'eu-1a',
        duration: '2h',
        percent: 100,
        rounding: 'Up',
        capacityCheck: 'Skip',
        force: false,
        reason: 'incident-4711',
      });
    });

    it('ends with exit code 1 where the controller refuses', async () => {
      const refusal = {
        type: 'Accepted',
        status: 'False',
        reason: 'NoAdmission',
        message: 'no webhook of ours',
        lastTransitionTime: '2026-11-22T00:00:00Z',
      };
      const { code, out } = await run(
        'evacuate eu-1a --for 2h',
        answering({ phase: 'Refused', conditions: [refusal] }),
      );
      expect([code, out.includes('Refused: NoAdmission: no webhook of ours')]).to.deep.equal([1, true]);
    });

    it('of a part of the Services gets a name of its own and selectors', async () => {
      bed.sandbox.seed(pair('db', ZONES, { app: 'db' }));
      const line = 'evacuate eu-1a --for 30m --percent 50 --round down -n default --no-wait --round up';
      const args = [...line.split(' '), '-l', 'app in (db, web),!old', ...bed.access];
      const { code, out } = await runTopology(args, { now: Date.now() });
      expect(code, out).to.equal(0);
      const [made] = await all();
      expect(made?.metadata.name).to.match(/^eu-1a-/);
      expect(made?.spec).to.deep.include({
        percent: 50,
        rounding: 'Up',
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
      });
      expect(made?.spec.serviceSelector).to.deep.equal({
        matchExpressions: [
          { key: 'app', operator: 'In', values: ['db', 'web'] },
          { key: 'old', operator: 'DoesNotExist' },
        ],
      });
    });

    it('of a share that is none of its few endpoints gives back those of one that runs', async () => {
      await run('evacuate eu-1a --for 2h --no-wait');
      const { code, err } = await run('evacuate eu-1a --percent 75 --round down --no-wait');
      expect(code, err).to.equal(0);
      expect((await all()).map(({ spec }) => [spec.percent, spec.rounding])).to.deep.equal([[75, 'Down']]);
    });

    it('by a second operator is refused while the first runs, and makes room for itself when that is over', async () => {
      await run('evacuate eu-1a --for 1m --reason first --no-wait');
      const second = await run('evacuate eu-1a --for 2h --no-wait --force');
      expect([second.code, second.err.includes('eu-1a is evacuated already (first)')], second.err).to.deep.equal([
        2,
        true,
      ]);
      expect((await run('evacuate eu-1a --for 2h --no-wait', { now: Date.now() + 120_000 })).code).to.equal(0);
      expect((await all()).map(({ spec }) => spec.duration)).to.deep.equal(['2h']);
    });
  });
});

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
      endpoints: endpointsIn(ZONES, true),
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
