import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { CLUSTER_ROLES, NAMESPACES, DEPLOYMENTS } from '../../../pkg/apis/resources.ts';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { createInstallationOwner, plannerUsersOf, serviceAccountUser } from '../../../pkg/installation/owner.ts';
import { rejection, eventually } from '../../fixtures/eventually.ts';
import { type Before, type MemoryServer, createMemoryServer } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import { watchDeployment } from '../../../pkg/installation/deployment-removed.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';

const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', name: 'own', uid: 'u-namespace' };
const ROLE = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'tar:webhook', uid: 'u-role' };

describe('the owner of what is written in the whole cluster', () => {
  let server: MemoryServer;
  beforeEach(() => {
    server = createMemoryServer();
    server.put(NAMESPACES, { metadata: { name: 'own', uid: 'u-namespace' } });
    server.put(CLUSTER_ROLES, { metadata: { name: 'tar:webhook', uid: 'u-role', labels: { a: 'b' } } });
  });
  const reading = (before?: Before, hasRole = true) =>
    createInstallationOwner({
      client: server.client(before),
      namespace: 'own',
      clusterRole: hasRole ? 'tar:webhook' : undefined,
      logger: recordingLogger(),
    });
  const owner = (before?: Before) => reading(before)();
  const roleOwners = () =>
    server.read<KubernetesObject>(CLUSTER_ROLES, { name: 'tar:webhook' })?.metadata?.ownerReferences;
  const failing =
    (plural: string, status: number): Before =>
    ({ verb, resource, name }) => {
      if (resource === plural && (status !== 409 || verb === 'patch'))
        throw new ApiError({ method: 'GET', path: `${plural}/${name}`, status });
    };

  it('is the ClusterRole, which gets the namespace as owner, once', async () => {
    expect(await owner()).to.deep.equal(ROLE);
    expect(roleOwners()).to.deep.equal([NAMESPACE]);
    const patches = () => server.calls.filter(({ verb }) => verb === 'patch').length;
    expect(patches()).to.equal(1);
    expect(await owner()).to.deep.equal(ROLE);
    expect(patches(), 'patches after the second time').to.equal(1);
  });

  it('is the namespace where no ClusterRole is named', async () => {
    expect(await reading(undefined, false)()).to.deep.equal(NAMESPACE);
    expect(roleOwners()).to.equal(undefined);
  });

  const cases = [
    { name: 'the namespace where the ClusterRole is not there', plural: 'clusterroles', status: 404, owner: NAMESPACE },
    {
      name: 'the namespace where the ClusterRole is not ours to read',
      plural: 'clusterroles',
      status: 403,
      owner: NAMESPACE,
    },
    { name: 'the ClusterRole where the namespace is not ours to read', plural: 'namespaces', status: 403, owner: ROLE },
    {
      name: 'the ClusterRole where another replica gives it its owner',
      plural: 'clusterroles',
      status: 409,
      owner: ROLE,
    },
  ];
  for (const { name, plural, status, owner: wanted } of cases) {
    it(`is ${name}`, async () => {
      expect(await owner(failing(plural, status))).to.deep.equal(wanted);
      expect(roleOwners()).to.equal(undefined);
    });
  }

  for (const { status, reason } of [
    { status: 403, reason: 'the right to read it was taken' },
    { status: 404, reason: 'it is gone' },
  ]) {
    it(`stays the ClusterRole that was seen once ${reason}, so that what is written while we are removed goes too`, async () => {
      let failed = false;
      const read = reading((...call) => (failed ? failing('clusterroles', status)(...call) : undefined));
      await read();
      failed = true;
      expect(await read()).to.deep.equal(ROLE);
    });
  }

  it('is not fought over: who takes the namespace off the ClusterRole again is left alone, until it is made anew', async () => {
    const role = (uid: string) => server.put(CLUSTER_ROLES, { metadata: { name: 'tar:webhook', uid } });
    const read = reading();
    await read();
    role('u-role');
    await read();
    expect(roleOwners(), 'taken off by a resource manager').to.equal(undefined);
    role('u-new');
    await read();
    expect(roleOwners(), 'of the one that was made anew').to.deep.equal([NAMESPACE]);
  });

  it('has no owner where neither is there', async () => {
    server.remove(NAMESPACES, { name: 'own' });
    server.remove(CLUSTER_ROLES, { name: 'tar:webhook' });
    expect(await owner()).to.equal(undefined);
  });

  it('passes on every other failure: a missing answer does not make a registration without owner', async () => {
    for (const plural of ['namespaces', 'clusterroles'])
      expect(await rejection(owner(failing(plural, 500)))).to.include({ status: 500 });
    const cut = new ConnectionError({ reason: 'Cut', message: 'cut', method: 'PATCH', path: '/x' });
    const cutting: Before = ({ verb }) => {
      if (verb === 'patch') throw cut;
    };
    expect(await rejection(owner(cutting))).to.equal(cut);
  });
});

describe('whether the Deployment is removed', () => {
  const ref = { namespace: 'own', name: 'webhook' };
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  const THERE = { metadata: ref, spec: { replicas: 2 } };

  interface World {
    /** What there is when the watch begins; undefined: nothing. */
    first: object | undefined;
    /** What there is when it is asked. */
    now: object | undefined;
    /** Goes before the answer, from then on. */
    before?: Before | undefined;
  }

  const setup = async ({ first, now, before }: World) => {
    const server = createMemoryServer();
    if (first !== undefined) server.put(DEPLOYMENTS, first);
    const clock = createFakeClock();
    const logger = recordingLogger();
    const faults: { now?: Before | undefined } = {};
    const client = server.client((...call) => faults.now?.(...call));
    const watch = watchDeployment({ client, deployment: ref, clock, timeoutMs: 3_000, logger });
    await eventually(() => clock.pending === 0 || 'the first look has not ended');
    server.remove(DEPLOYMENTS, ref);
    if (now !== undefined) server.put(DEPLOYMENTS, now);
    faults.now = before;
    return { clock, logger, removed: watch.removed() };
  };

  const failing =
    (status: number): Before =>
    () => {
      throw new ApiError({ method: 'GET', path: '/x', status });
    };

  const leaving = { metadata: { ...ref, deletionTimestamp }, spec: { replicas: 2 } };
  const cases: { name: string; first?: object | undefined; now?: object; before?: Before; removed: boolean }[] = [
    { name: 'is there', now: THERE, removed: false },
    { name: 'leaves the number of replicas to the server', now: { metadata: ref, spec: {} }, removed: false },
    { name: 'is gone', removed: true },
    { name: 'is being deleted', now: leaving, removed: true },
    { name: 'was on its way out from the start, and is gone', first: leaving, removed: true },
    { name: 'is scaled to nothing', now: { metadata: ref, spec: { replicas: 0 } }, removed: true },
    { name: 'never was there: this process belongs to none', first: undefined, removed: false },
    { name: 'was made later, and is being deleted', first: undefined, now: leaving, removed: true },
    { name: 'is not ours to read', before: failing(403), removed: false },
    { name: 'cannot be read', before: failing(500), removed: false },
  ];
  for (const { name, removed, now, before, ...rest } of cases) {
    it(`${removed ? 'it is' : 'it is not'} where it ${name}`, async () => {
      const first = 'first' in rest ? rest.first : THERE;
      const run = await setup({ first, now, before });
      expect(await run.removed).to.equal(removed);
      expect(run.logger.entries).to.have.lengthOf(before === undefined ? 0 : 1);
      expect(run.clock.pending).to.equal(0);
    });
  }
});

describe('the user of a ServiceAccount', () => {
  it('is named as the API server names it', () =>
    expect(serviceAccountUser('garden', 'flow-controller')).to.equal('system:serviceaccount:garden:flow-controller'));
});

const own = 'system:serviceaccount:own:flow-controller';
const other = 'system:serviceaccount:other:flow-controller';

describe('plannerUsersOf', () => {
  const cases: { name: string; configured?: string[]; planning: string; users: string[] }[] = [
    { name: 'our own where no Lease says who plans', planning: '', users: [own] },
    { name: 'our own once where we plan', planning: 'own', users: [own] },
    { name: 'our own and the one that plans', planning: 'other', users: [own, other] },
    { name: 'those configured alone', configured: ['a', 'b'], planning: 'other', users: ['a', 'b'] },
    { name: 'our own for a name that is none of a namespace', planning: 'x:admin:y', users: [own] },
    { name: 'our own for a quotation mark', planning: 'x" || true || "', users: [own] },
    { name: 'our own for a name that is too long', planning: 'x'.repeat(64), users: [own] },
  ];
  for (const { name, configured = [], planning, users } of cases)
    it(`is ${name}`, () => expect(plannerUsersOf(configured, { ownNamespace: 'own', planning })).to.deep.equal(users));
});
