// SPDX-License-Identifier: Apache-2.0
// Seed mode from end to end on the sandbox: settings reach Services of shoots, follow every change, and stay; Etcds are left alone.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_APPLIED, LABEL_ETCD_CLIENTS, LABEL_MANAGED, LABEL_ROUTING } from '../../pkg/apis/names.ts';
import { CLUSTERS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { node, service } from '../fixtures/core.ts';
import { cluster, etcd, namespace, seed, shoot } from '../fixtures/gardener.ts';
import { eventually } from './controller-bed.ts';
import { openBed } from './settings-support.ts';
import type { Bed } from './settings-support.ts';

const NS = 'shoot--foo--bar';
const MODE = 'modes: {seed: {gardener: {version: v1.130.0}}}';

const landscape = (): KubernetesObject[] => [
  ...['eu-1a', 'eu-1b', 'eu-1c'].map((zone) => node({ zone })),
  namespace(),
  ...['kube-apiserver', 'gardener-resource-manager', 'vpa-webhook', 'other'].map((name) =>
    service({ metadata: { name, namespace: NS } }),
  ),
  etcd(),
  etcd({ metadata: { name: 'etcd-events', namespace: NS } }),
];

const SHOOT_SERVICES = ['kube-apiserver', 'gardener-resource-manager', 'vpa-webhook'];

describe('settings of shoots', () => {
  let bed: Bed;
  beforeEach(async () => {
    bed = await openBed();
    await bed.apply(...landscape());
  });
  afterEach(() => bed.close());

  const distribution = (name: string): string | undefined => bed.service(NS, name).spec?.trafficDistribution;
  const all = (): (string | undefined)[] => SHOOT_SERVICES.map(distribution);
  const labelOf = (key: string): string | undefined =>
    bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[key];
  const expectAll = (value: string | undefined) =>
    eventually(() => expect(all(), 'trafficDistribution of Services').to.deep.equal(Array(3).fill(value)));
  const setSeed = (enabled: boolean, zones = ['eu-1a', 'eu-1b', 'eu-1c'], of = shoot()) =>
    bed.apply(cluster({ spec: { seed: seed({ enabled, zones }), shoot: of } }));

  it('follows the setting on and off with one patch an object and one event a flip', async () => {
    await setSeed(false);
    await bed.start(MODE);
    expect(bed.writes(), 'writes while the setting is off').to.have.length(0);
    await setSeed(true);
    await expectAll('PreferSameZone');
    await bed.quiet();
    const patched = bed.writes().filter(({ verb }) => verb === 'patch');
    expect(patched.map(({ resource, name }) => `${resource}/${name}`)).to.have.members([
      ...SHOOT_SERVICES.map((name) => `services/${name}`),
      `namespaces/${NS}`,
    ]);
    expect(patched[0]?.resource, 'admission keeps values from its label on, so the label comes first').to.equal(
      'namespaces',
    );
    expect(labelOf(LABEL_ETCD_CLIENTS), 'by which admission finds the client Services').to.equal('true');
    expect(labelOf(LABEL_ROUTING), 'owners of the catalogue are known to rewrite').to.equal('true');
    expect(bed.events()).to.have.length(1);
    expect(bed.events()[0]).to.match(/^RoutingEnabled: .*Etcd etcd-events, Etcd etcd-main: hints at once/);
    expect(distribution('other'), 'a Service nobody asked for').to.equal(undefined);
    expect(bed.etcd(NS, 'etcd-main').metadata?.generation, 'an Etcd is never written').to.equal(1);

    await setSeed(false);
    await expectAll(undefined);
    await bed.quiet();
    expect(bed.events().at(-1)).to.match(/^SettingDisabled: /);
    for (const key of [LABEL_ETCD_CLIENTS, LABEL_ROUTING]) expect(labelOf(key), key).to.equal(undefined);
    const reverted = bed.writes().filter(({ verb }) => verb === 'patch');
    expect(
      reverted.at(-1)?.resource,
      'the label goes last, so that a leader who takes over finds what is left',
    ).to.equal('namespaces');
    for (const name of SHOOT_SERVICES) {
      expect(bed.service(NS, name).metadata?.annotations?.[ANNOTATION_APPLIED], name).to.equal(undefined);
    }
  });

  const refusals: { name: string; broken: () => Promise<void>; reason: string }[] = [
    { name: 'a single zone', broken: () => setSeed(true, ['eu-1a']), reason: 'SingleZone' },
    { name: 'one zone listed twice', broken: () => setSeed(true, ['eu-1a', 'eu-1a']), reason: 'DuplicateZones' },
    {
      name: 'a shoot without zone failure tolerance',
      broken: () => setSeed(true, undefined, shoot({ failureTolerance: 'node' })),
      reason: 'FailureToleranceNotZone',
    },
    {
      name: 'a shoot that is being deleted',
      broken: () =>
        setSeed(true, undefined, shoot({ metadata: { name: 'bar', deletionTimestamp: '2026-01-01T00:00:00Z' } })),
      reason: 'ShootBeingDeleted',
    },
  ];
  for (const { name, broken, reason } of refusals) {
    it(`takes settings back for ${name}, says so, and heals`, async () => {
      await setSeed(true);
      await bed.start(MODE);
      await expectAll('PreferSameZone');
      await broken();
      await expectAll(undefined);
      await bed.quiet();
      expect(bed.events().at(-1)).to.match(new RegExp(`^${reason}: `));
      expect(bed.log.entries.filter(({ fields }) => fields['reason'] === reason)).to.have.length(1);
      await setSeed(true);
      await expectAll('PreferSameZone');
    });
  }

  const held: { name: string; of: Parameters<typeof shoot>[0]; reason: string }[] = [
    {
      name: 'that is ignored',
      of: { metadata: { name: 'bar', annotations: { 'shoot.gardener.cloud/ignore': 'true' } } },
      reason: 'ShootIgnored',
    },
    {
      name: 'that moves to another seed',
      of: { status: { lastOperation: { type: 'Migrate' } } },
      reason: 'ShootMigrating',
    },
    { name: 'that is hibernated', of: { spec: { hibernation: { enabled: true } } }, reason: 'ShootHibernated' },
    {
      name: 'whose last operation failed for good',
      of: { status: { lastOperation: { type: 'Reconcile', state: 'Failed' } } },
      reason: 'ShootFailed',
    },
  ];
  for (const { name, of, reason } of held) {
    it(`holds everything in the namespace of a shoot ${name}, labels too, until that is over`, async () => {
      await setSeed(true);
      await bed.start(MODE);
      await expectAll('PreferSameZone');
      await eventually(() => expect(labelOf(LABEL_ROUTING)).to.equal('true'));
      await setSeed(true, undefined, shoot(of));
      await eventually(() => expect(bed.events().at(-1)).to.match(new RegExp(`^${reason}: `)));
      await setSeed(false, undefined, shoot(of));
      await bed.quiet();
      expect(all()).to.deep.equal(Array(3).fill('PreferSameZone'));
      expect([labelOf(LABEL_ROUTING), labelOf(LABEL_ETCD_CLIENTS)]).to.deep.equal(['true', 'true']);
      await setSeed(false);
      await expectAll(undefined);
    });
  }

  it('leaves a kube-apiserver behind L7 load balancing alone, until the -mtls Service goes', async () => {
    await bed.apply(service({ metadata: { name: 'kube-apiserver-mtls', namespace: NS } }));
    await setSeed(true);
    await bed.start(MODE);
    await eventually(() => expect(distribution('vpa-webhook')).to.equal('PreferSameZone'));
    await bed.quiet();
    expect(distribution('kube-apiserver')).to.equal(undefined);
    expect(bed.events().join()).to.contain('LayerSevenLoadBalancing');
    await bed.sandbox.remove(SERVICES, { namespace: NS, name: 'kube-apiserver-mtls' });
    await expectAll('PreferSameZone');
  });

  it('keeps hands off without a Cluster, and takes up a Service that is created late', async () => {
    await bed.start(MODE);
    expect(bed.writes()).to.have.length(0);
    await setSeed(true);
    await expectAll('PreferSameZone');
    await bed.apply(service({ metadata: { name: 'mine', namespace: NS, labels: { [LABEL_MANAGED]: 'true' } } }));
    await eventually(() => expect(distribution('mine')).to.equal('PreferSameZone'));
    await bed.apply(service({ metadata: { name: 'mine', namespace: NS, labels: { [LABEL_MANAGED]: 'false' } } }));
    await eventually(() => expect(distribution('mine')).to.equal(undefined));
    await bed.sandbox.remove(CLUSTERS, { name: NS });
    await bed.quiet();
    expect(all(), 'settings stay when the source is missing').to.deep.equal(Array(3).fill('PreferSameZone'));
  });

  it('repairs what an owner overwrites: at once, then a minute apart, and says so', async () => {
    await setSeed(true);
    await bed.start(`${MODE}
keep: off`);
    await expectAll('PreferSameZone');
    const overwrite = () =>
      bed.apply({ ...bed.service(NS, 'vpa-webhook'), spec: { ports: [{ port: 443 }] } } as KubernetesObject);
    await overwrite();
    await expectAll('PreferSameZone');
    for (const round of [2, 3]) {
      await overwrite();
      await bed.quiet();
      expect(distribution('vpa-webhook'), `round ${round}: not before a minute is over`).to.equal(undefined);
      bed.clock.skip(60_000);
      await expectAll('PreferSameZone');
    }
    await bed.quiet();
    expect(bed.events().filter((event) => event.startsWith('SettingsOverwritten'))).to.have.length(1);
    expect(labelOf(LABEL_ROUTING), 'keep: off').to.equal(undefined);
    expect(labelOf(LABEL_ETCD_CLIENTS), 'hints of Etcds need no keeping').to.equal('true');
  });

  it('does not touch what is right: a restart writes nothing', async () => {
    await setSeed(true);
    const first = await bed.start(MODE);
    await expectAll('PreferSameZone');
    await bed.quiet();
    await first.stop();
    bed.sandbox.clearRequests();
    bed.log.entries.length = 0;
    await bed.start(MODE);
    expect(bed.writes()).to.deep.equal([]);
    expect(bed.sandbox.requests.filter(({ verb }) => verb === 'watch').length).to.be.greaterThan(0);
  });

  it('keeps a value of another writer and reports it', async () => {
    await bed.apply(
      service({ metadata: { name: 'vpa-webhook', namespace: NS }, spec: { trafficDistribution: 'PreferSameNode' } }),
    );
    await setSeed(true);
    await bed.start(MODE);
    await eventually(() => expect(distribution('kube-apiserver')).to.equal('PreferSameZone'));
    await bed.quiet();
    expect(distribution('vpa-webhook')).to.equal('PreferSameNode');
    expect(bed.events().join()).to.contain('ForeignValue');
    await setSeed(false);
    await eventually(() => expect(distribution('kube-apiserver')).to.equal(undefined));
    await bed.quiet();
    expect(distribution('vpa-webhook'), 'not ours to remove').to.equal('PreferSameNode');
  });

  it('comes through cut watches, expired versions, 429 and lost connections with one patch an object', async () => {
    await setSeed(false);
    await bed.start(MODE);
    bed.sandbox.addFault({
      kind: 'status',
      match: { verb: 'patch', resource: 'services' },
      code: 429,
      retryAfterSeconds: 1,
      times: 2,
    });
    bed.sandbox.addFault({ kind: 'status', match: { verb: 'patch', resource: 'namespaces' }, code: 500, times: 2 });
    bed.sandbox.compact();
    bed.sandbox.cutWatches('410');
    await setSeed(true);
    bed.sandbox.cutWatches('reset');
    for (let minute = 0; minute < 5; minute += 1) {
      await bed.quiet();
      bed.clock.skip(60_000);
    }
    await expectAll('PreferSameZone');
    await bed.quiet();
    const accepted = bed.writes().filter(({ verb, status }) => verb === 'patch' && status === 200);
    expect(accepted.map(({ name }) => name)).to.have.members([...SHOOT_SERVICES, NS]);
  });

  it('forgets a shoot that is gone and serves one that comes back under its name', async () => {
    await setSeed(true);
    await bed.start(MODE);
    await expectAll('PreferSameZone');
    for (const name of SHOOT_SERVICES) await bed.sandbox.remove(SERVICES, { namespace: NS, name });
    await bed.sandbox.remove(CLUSTERS, { name: NS });
    await bed.quiet();
    const before = bed.writes().length;
    await bed.apply(...SHOOT_SERVICES.map((name) => service({ metadata: { name, namespace: NS } })));
    await bed.quiet();
    expect(bed.writes(), 'no Cluster, no writes').to.have.length(before);
    await setSeed(true);
    await expectAll('PreferSameZone');
  });

  it('releases a namespace that lost its role, after five minutes in which it may come back', async () => {
    await setSeed(true);
    await bed.start(`${MODE}\nkeep: on`);
    await expectAll('PreferSameZone');
    const labelled = () => bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ROUTING];
    await eventually(() => expect(labelled()).to.equal('true'));
    const setRole = (role: string) => {
      const stored = bed.sandbox.get(NAMESPACES, { name: NS });
      const labels = { ...stored?.metadata?.labels, 'gardener.cloud/role': role };
      return bed.apply({ ...stored, metadata: { ...stored?.metadata, labels } });
    };
    await setRole('none');
    await bed.quiet();
    // Real time counts as well, and a slow machine needs some.
    bed.clock.skip(240_000);
    await bed.quiet();
    expect(all(), 'within five minutes').to.deep.equal(Array(3).fill('PreferSameZone'));
    bed.clock.skip(60_000);
    await expectAll(undefined);
    await eventually(() => expect(labelled()).to.equal(undefined));
    await bed.quiet();
    expect(bed.events().at(-1)).to.match(/^NamespaceNotOwned: /);
    await setRole('shoot');
    await expectAll('PreferSameZone');
  });

  describe('releases a namespace that lost its role, whichever replica leads, where a leader is killed', () => {
    const labelled = () => bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ROUTING];
    const loseRole = (): Promise<unknown> => {
      const stored = bed.sandbox.get(NAMESPACES, { name: NS });
      const labels = { ...stored?.metadata?.labels, 'gardener.cloud/role': 'none' };
      return bed.apply({ ...stored, metadata: { ...stored?.metadata, labels } });
    };
    const refuse = (resource: string, name?: string) =>
      bed.sandbox.addFault({
        kind: 'status',
        match: { verb: 'patch', resource, ...(name === undefined ? {} : { name }) },
        code: 500,
      });
    /** Services in the order in which they are written; the last one is the last that is released. */
    const last = (): string => {
      const names = bed.sandbox.list(SERVICES).map(({ metadata }) => metadata?.name ?? '');
      return names.sort().at(-1) ?? '';
    };

    const kills: { name: string; until: () => Promise<void> }[] = [
      { name: 'as soon as the role is gone', until: () => Promise.resolve() },
      {
        name: 'while it waits',
        async until() {
          await bed.quiet();
          bed.clock.skip(240_000);
        },
      },
      {
        name: 'between two Services',
        async until() {
          await bed.quiet();
          const fault = refuse('services', last());
          bed.clock.skip(300_000);
          await bed.quiet();
          fault.remove();
        },
      },
      {
        name: 'between the Services and the label',
        async until() {
          await bed.quiet();
          const fault = refuse('namespaces');
          bed.clock.skip(300_000);
          await expectAll(undefined);
          await bed.quiet();
          fault.remove();
        },
      },
    ];
    for (const { name, until } of kills)
      it(name, async () => {
        await setSeed(true);
        const first = await bed.start(`${MODE}\nkeep: on`);
        await expectAll('PreferSameZone');
        await eventually(() => expect(labelled()).to.equal('true'));
        await loseRole();
        await until();
        await first.stop();
        await bed.start(`${MODE}\nkeep: on`);
        bed.clock.skip(300_000);
        await expectAll(undefined);
        await eventually(() => expect(labelled()).to.equal(undefined));
      });
  });

  it('leaves a namespace that is being deleted to its owner', async () => {
    await setSeed(true);
    bed.sandbox.seed([
      { ...namespace({ metadata: { name: NS, deletionTimestamp: '2026-01-01T00:00:00Z', uid: 'gone' } }) },
    ]);
    expect(bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.deletionTimestamp).to.be.a('string');
    await bed.start(MODE);
    expect(bed.writes()).to.deep.equal([]);
  });
});
