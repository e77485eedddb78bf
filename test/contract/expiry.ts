// Contract: what happens to versions and page tokens that are too old, where a test can make them so.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { text } from './api.ts';
import { aConfigMap, createScope, unique, versionOf, type ContractServer, type Scope } from './server.ts';

/** Makes every version and page token handed out so far expire. */
export type Expiry = () => Promise<void>;

export const describeExpiry = (server: () => ContractServer, expire: Expiry): void => {
  describe('expiry', () => {
    let scope: Scope;
    before(async () => {
      scope = await createScope(server());
      for (let index = 0; index < 3; index += 1)
        await scope.api.post(scope.core('configmaps'), aConfigMap(`cm-${index}`));
    });
    after(() => scope.dispose());

    it('ends a watch from a version that is too old with an ERROR event', async () => {
      const version = versionOf((await scope.api.get(scope.core('configmaps'))).body);
      await scope.api.post(scope.core('configmaps'), aConfigMap(unique('later')));
      await expire();
      const watching = await scope.api.watch(`${scope.core('configmaps')}?watch=true&resourceVersion=${version}`);
      expect(watching.status).to.equal(200);
      await watching.end();
      expect(watching.events).to.have.length(1);
      expect(watching.events[0]!.type).to.equal('ERROR');
      expect(watching.events[0]!.object).to.include({
        kind: 'Status',
        code: 410,
        reason: 'Expired',
        status: 'Failure',
      });
      expect(text(watching.events[0]!.object['message'])).to.match(/^too old resource version: \d+ \(\d+\)$/);
    });

    it('answers 410 to a page token that is too old', async () => {
      const first = await scope.api.get(`${scope.core('configmaps')}?limit=1`);
      const token = text(first.body['metadata']!['continue']);
      await scope.api.post(scope.core('configmaps'), aConfigMap(unique('later')));
      await expire();
      const { status, body } = await scope.api.get(
        `${scope.core('configmaps')}?limit=1&continue=${encodeURIComponent(token)}`,
      );
      expect([status, body['reason'], body['kind']]).to.deep.equal([410, 'Expired', 'Status']);
    });
  });
};
