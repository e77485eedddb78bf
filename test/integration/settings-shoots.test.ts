// Seed mode from end to end on the sandbox: settings reach Services of shoots, follow every change, and stay; Etcds are left alone.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_APPLIED, LABEL_ETCD_CLIENTS, LABEL_MANAGED, LABEL_ROUTING } from '../../pkg/apis/names.ts';
import { CLUSTERS, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { service } from '../fixtures/core.ts';
import { namespace, shoot } from '../fixtures/gardener.ts';
import { eventually } from './controller-bed.ts';
import { MODE, NS, SHOOT_SERVICES, useShoots } from './settings-shoots-support.ts';

describe('settings of shoots', () => {
  const bed = useShoots();
  const { distribution, all, labelOf, expectAll, setSeed } = bed;

  it('follows the setting on and off with one patch an object and one event a flip', async () => {
    await setSeed(false);
    await bed.bed.start(MODE);
    expect(bed.bed.writes(), 'writes while the setting is off').to.have.length(0);
    await setSeed(true);
    await expectAll('PreferSameZone');
    await bed.bed.quiet();
    const patched = bed.bed.writes().filter(({ verb }) => verb === 'patch');
    expect(patched.map(({ resource, name }) => `${resource}/${name}`)).to.have.members([
      ...SHOOT_SERVICES.map((name) => `services/${name}`),
      `namespaces/${NS}`,
    ]);
    expect(patched[0]?.resource, 'admission keeps values from its label on, so the label comes first').to.equal(
      'namespaces',
    );
    expect(labelOf(LABEL_ETCD_CLIENTS), 'by which admission finds the client Services').to.equal('true');
    expect(labelOf(LABEL_ROUTING), 'owners of the catalogue are known to rewrite').to.equal('true');
    expect(bed.bed.events()).to.have.length(1);
    expect(bed.bed.events()[0]).to.match(/^RoutingEnabled: .*Etcd etcd-events, Etcd etcd-main: hints at once/);
    expect(distribution('other'), 'a Service nobody asked for').to.equal(undefined);
    expect(bed.bed.etcd(NS, 'etcd-main').metadata?.generation, 'an Etcd is never written').to.equal(1);

    await setSeed(false);
    await expectAll(undefined);
    await bed.bed.quiet();
    expect(bed.bed.events().at(-1)).to.match(/^SettingDisabled: /);
    for (const key of [LABEL_ETCD_CLIENTS, LABEL_ROUTING]) expect(labelOf(key), key).to.equal(undefined);
    const reverted = bed.bed.writes().filter(({ verb }) => verb === 'patch');
    expect(
      reverted.at(-1)?.resource,
      'the label goes last, so that a leader who takes over finds what is left',
    ).to.equal('namespaces');
    for (const name of SHOOT_SERVICES)
      expect(bed.bed.service(NS, name).metadata?.annotations?.[ANNOTATION_APPLIED], name).to.equal(undefined);
  });

  it('takes settings back for a shoot that is being deleted, says so, and heals', async () => {
    const reason = 'ShootBeingDeleted';
    await setSeed(true);
    await bed.bed.start(MODE);
    await expectAll('PreferSameZone');
    await setSeed(true, undefined, shoot({ metadata: { name: 'bar', deletionTimestamp: '2026-01-01T00:00:00Z' } }));
    await expectAll(undefined);
    await bed.bed.quiet();
    expect(bed.bed.events().at(-1)).to.match(new RegExp(`^${reason}: `));
    expect(bed.bed.log.entries.filter(({ fields }) => fields['reason'] === reason)).to.have.length(1);
    await setSeed(true);
    await expectAll('PreferSameZone');
  });

  it('holds everything in the namespace of a shoot that is ignored, labels too, until that is over', async () => {
    const ignored = shoot({ metadata: { name: 'bar', annotations: { 'shoot.gardener.cloud/ignore': 'true' } } });
    await setSeed(true);
    await bed.bed.start(MODE);
    await expectAll('PreferSameZone');
    await eventually(() => expect(labelOf(LABEL_ROUTING)).to.equal('true'));
    await setSeed(true, undefined, ignored);
    await eventually(() => expect(bed.bed.events().at(-1)).to.match(/^ShootIgnored: /));
    await setSeed(false, undefined, ignored);
    await bed.bed.quiet();
    expect(all()).to.deep.equal(Array(3).fill('PreferSameZone'));
    expect([labelOf(LABEL_ROUTING), labelOf(LABEL_ETCD_CLIENTS)]).to.deep.equal(['true', 'true']);
    await setSeed(false);
    await expectAll(undefined);
  });

  it('leaves a kube-apiserver behind L7 load balancing alone, until the -mtls Service goes', async () => {
    await bed.bed.apply(service({ metadata: { name: 'kube-apiserver-mtls', namespace: NS } }));
    await setSeed(true);
    await bed.bed.start(MODE);
    await eventually(() => expect(distribution('vpa-webhook')).to.equal('PreferSameZone'));
    await bed.bed.quiet();
    expect(distribution('kube-apiserver')).to.equal(undefined);
    expect(bed.bed.events().join()).to.contain('LayerSevenLoadBalancing');
    await bed.bed.sandbox.remove(SERVICES, { namespace: NS, name: 'kube-apiserver-mtls' });
    await expectAll('PreferSameZone');
  });

  it('keeps hands off without a Cluster, and takes up a Service that is created late', async () => {
    await bed.bed.start(MODE);
    expect(bed.bed.writes()).to.have.length(0);
    await setSeed(true);
    await expectAll('PreferSameZone');
    await bed.bed.apply(service({ metadata: { name: 'mine', namespace: NS, labels: { [LABEL_MANAGED]: 'true' } } }));
    await eventually(() => expect(distribution('mine')).to.equal('PreferSameZone'));
    await bed.bed.apply(service({ metadata: { name: 'mine', namespace: NS, labels: { [LABEL_MANAGED]: 'false' } } }));
    await eventually(() => expect(distribution('mine')).to.equal(undefined));
    await bed.bed.sandbox.remove(CLUSTERS, { name: NS });
    await bed.bed.quiet();
    expect(all(), 'settings stay when the source is missing').to.deep.equal(Array(3).fill('PreferSameZone'));
  });

  it('repairs what an owner overwrites: at once, then a minute apart, and says so', async () => {
    await setSeed(true);
    await bed.bed.start(`${MODE}
keep: off`);
    await expectAll('PreferSameZone');
    const overwrite = () =>
      bed.bed.apply({ ...bed.bed.service(NS, 'vpa-webhook'), spec: { ports: [{ port: 443 }] } } as KubernetesObject);
    await overwrite();
    await expectAll('PreferSameZone');
    for (const round of [2, 3]) {
      await overwrite();
      await bed.bed.quiet();
      expect(distribution('vpa-webhook'), `round ${round}: not before a minute is over`).to.equal(undefined);
      bed.bed.clock.skip(60_000);
      await expectAll('PreferSameZone');
    }
    await bed.bed.quiet();
    expect(bed.bed.events().filter((event) => event.startsWith('SettingsOverwritten'))).to.have.length(1);
    expect(labelOf(LABEL_ROUTING), 'keep: off').to.equal(undefined);
    expect(labelOf(LABEL_ETCD_CLIENTS), 'hints of Etcds need no keeping').to.equal('true');
  });

  it('comes through cut watches, expired versions, 429 and lost connections with one patch an object', async () => {
    await setSeed(false);
    await bed.bed.start(MODE);
    bed.bed.sandbox.addFault({
      kind: 'status',
      match: { verb: 'patch', resource: 'services' },
      code: 429,
      retryAfterSeconds: 1,
      times: 2,
    });
    bed.bed.sandbox.addFault({ kind: 'status', match: { verb: 'patch', resource: 'namespaces' }, code: 500, times: 2 });
    bed.bed.sandbox.compact();
    bed.bed.sandbox.cutWatches('410');
    await setSeed(true);
    bed.bed.sandbox.cutWatches('reset');
    for (let minute = 0; minute < 5; minute += 1) {
      await bed.bed.quiet();
      bed.bed.clock.skip(60_000);
    }
    await expectAll('PreferSameZone');
    await bed.bed.quiet();
    const accepted = bed.bed.writes().filter(({ verb, status }) => verb === 'patch' && status === 200);
    expect(accepted.map(({ name }) => name)).to.have.members([...SHOOT_SERVICES, NS]);
  });

  it('forgets a shoot that is gone and serves one that comes back under its name', async () => {
    await setSeed(true);
    await bed.bed.start(MODE);
    await expectAll('PreferSameZone');
    for (const name of SHOOT_SERVICES) await bed.bed.sandbox.remove(SERVICES, { namespace: NS, name });
    await bed.bed.sandbox.remove(CLUSTERS, { name: NS });
    await bed.bed.quiet();
    const before = bed.bed.writes().length;
    await bed.bed.apply(...SHOOT_SERVICES.map((name) => service({ metadata: { name, namespace: NS } })));
    await bed.bed.quiet();
    expect(bed.bed.writes(), 'no Cluster, no writes').to.have.length(before);
    await setSeed(true);
    await expectAll('PreferSameZone');
  });

  it('releases a namespace that lost its role, after five minutes in which it may come back', async () => {
    await setSeed(true);
    await bed.bed.start(`${MODE}\nkeep: on`);
    await expectAll('PreferSameZone');
    const labelled = () => bed.bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ROUTING];
    await eventually(() => expect(labelled()).to.equal('true'));
    const setRole = (role: string) => {
      const stored = bed.bed.sandbox.get(NAMESPACES, { name: NS });
      const labels = { ...stored?.metadata?.labels, 'gardener.cloud/role': role };
      return bed.bed.apply({ ...stored, metadata: { ...stored?.metadata, labels } });
    };
    await setRole('none');
    await bed.bed.quiet();
    // Real time counts as well, and a slow machine needs some.
    bed.bed.clock.skip(240_000);
    await bed.bed.quiet();
    expect(all(), 'within five minutes').to.deep.equal(Array(3).fill('PreferSameZone'));
    bed.bed.clock.skip(60_000);
    await expectAll(undefined);
    await eventually(() => expect(labelled()).to.equal(undefined));
    await bed.bed.quiet();
    expect(bed.bed.events().at(-1)).to.match(/^NamespaceNotOwned: /);
    await setRole('shoot');
    await expectAll('PreferSameZone');
  });

  it('leaves a namespace that is being deleted to its owner', async () => {
    await setSeed(true);
    bed.bed.sandbox.seed([
      { ...namespace({ metadata: { name: NS, deletionTimestamp: '2026-01-01T00:00:00Z', uid: 'gone' } }) },
    ]);
    expect(bed.bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.deletionTimestamp).to.be.a('string');
    await bed.bed.start(MODE);
    expect(bed.bed.writes()).to.deep.equal([]);
  });
});
