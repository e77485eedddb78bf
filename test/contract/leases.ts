// Contract: Leases and Events, as leader election and event recording use them.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { text } from './api.ts';
import { createScope, versionOf, type ContractServer, type Scope } from './server.ts';

const LEASES = 'coordination.k8s.io/v1';
const TIME = '2026-01-02T03:04:05.678901Z';

export const describeLeases = (server: () => ContractServer): void => {
  describe('leases and events', () => {
    let scope: Scope;
    before(async () => {
      scope = await createScope(server());
    });
    after(() => scope.dispose());
    const lease = (name: string, holderIdentity: string): unknown => ({
      apiVersion: LEASES,
      kind: 'Lease',
      metadata: { name },
      spec: { holderIdentity, leaseDurationSeconds: 15, acquireTime: TIME, renewTime: TIME, leaseTransitions: 0 },
    });

    it('keeps microseconds', async () => {
      const { status, body } = await scope.api.post(scope.group(LEASES, 'leases'), lease('precise', 'a'));
      expect(status).to.equal(201);
      expect(body['spec']).to.deep.equal({
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        acquireTime: TIME,
        renewTime: TIME,
        leaseTransitions: 0,
      });
      expect(body['metadata']).not.to.have.property('generation');
    });

    it('lets exactly one of two rivals win', async () => {
      const created = await scope.api.post(scope.group(LEASES, 'leases'), lease('contested', 'nobody'));
      const bid = (holder: string) =>
        scope.api.put(scope.group(LEASES, 'leases', 'contested'), {
          ...created.body,
          spec: { ...created.body['spec'], holderIdentity: holder },
        });
      const answers = await Promise.all([bid('a'), bid('b')]);
      expect(answers.map(({ status }) => status)).to.have.members([200, 409]);
      const now = await scope.api.get(scope.group(LEASES, 'leases', 'contested'));
      expect(versionOf(now.body)).to.equal(versionOf(answers.find(({ status }) => status === 200)!.body));
    });

    it('needs a resourceVersion for a PUT', async () => {
      await scope.api.post(scope.group(LEASES, 'leases'), lease('unlocked', 'a'));
      const { status, body } = await scope.api.put(scope.group(LEASES, 'leases', 'unlocked'), lease('unlocked', 'b'));
      expect([status, body['reason']]).to.deep.equal([422, 'Invalid']);
      expect(text(body['message'])).to.include('metadata.resourceVersion');
    });

    it('records events and counts them up', async () => {
      const event = {
        metadata: { name: 'svc.17' },
        involvedObject: { apiVersion: 'v1', kind: 'Service', namespace: scope.namespace, name: 'svc' },
        type: 'Warning',
        reason: 'Tested',
        message: 'once',
        count: 1,
      };
      const created = await scope.api.post(scope.core('events'), event);
      expect(created.status).to.equal(201);
      const patched = await scope.api.patch(scope.core('events', 'svc.17'), 'merge', { count: 2 });
      expect(patched.body['count']).to.equal(2);
      const selected = await scope.api.get(
        `${scope.core('events')}?fieldSelector=${encodeURIComponent('involvedObject.name=svc,reason=Tested')}`,
      );
      expect(selected.body['items']).to.have.length(1);
    });
  });
};
