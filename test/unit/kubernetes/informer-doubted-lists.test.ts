// The informer and lists that lack most of what is known: asked again before anything is deleted.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { gone } from '../../fixtures/model-api.ts';
import { unreachable, useInformer } from './informer-support.ts';

describe('informer, with doubtful lists', () => {
  const bed = useInformer();
  const { make, start, takeTold } = bed;

  describe('a list that lacks most of what is known', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    beforeEach(async () => {
      for (const name of names) bed.api.put(name);
      await start();
      takeTold();
    });
    const relist = async (): Promise<void> => {
      bed.api.compact();
      bed.api.endWatches({ error: gone() });
      await bed.clock.settle();
    };
    const known = (): string[] => bed.informer.store.list().map(({ metadata }) => metadata?.name ?? '');

    it('is asked for again over a new connection after a second, and changes nothing until then', async () => {
      bed.api.hidden = () => true;
      await relist();
      bed.api.hidden = undefined;
      await bed.clock.advance(999);
      expect(known()).to.deep.equal(names);
      expect(bed.api.lists).to.deep.equal([{}, {}]);
      await bed.clock.advance(1);
      expect(bed.api.lists).to.deep.equal([{}, {}, { newConnection: true }]);
      expect(takeTold(), 'what handlers were told').to.deep.equal([]);
      expect(bed.api.openWatches).to.equal(1);
    });

    it('proves nothing current', async () => {
      await bed.clock.advance(30_000);
      bed.api.hidden = () => true;
      await relist();
      await bed.clock.advance(500);
      expect(bed.informer.stalenessMs()).to.equal(30_500);
    });

    it('is believed when the second one says the same: what was really deleted is gone a second later', async () => {
      bed.api.hidden = () => true;
      await relist();
      await bed.clock.advance(999);
      expect(known()).to.deep.equal(names);
      await bed.clock.advance(1);
      expect(known()).to.deep.equal([]);
      expect(takeTold()).to.deep.equal(names.map((name) => `${name} gone`));
    });

    it('is no matter of events: what a watch says is deleted is gone at once', async () => {
      for (const name of names) bed.api.remove(name);
      await bed.clock.settle();
      expect(takeTold()).to.deep.equal(names.map((name) => `${name} gone`));
    });

    it('is looked for again the next time', async () => {
      bed.api.hidden = () => true;
      await relist();
      bed.api.hidden = undefined;
      await bed.clock.advance(1_000);
      await bed.clock.advance(200_000);
      bed.api.hidden = () => true;
      await relist();
      expect(known()).to.deep.equal(names);
    });

    it('is the second one also where an error came between', async () => {
      bed.api.hidden = () => true;
      bed.api.compact();
      bed.api.endWatches({ error: gone() });
      await bed.clock.settle();
      bed.api.failNext('list', unreachable());
      await bed.clock.advance(1_000);
      expect(known()).to.deep.equal(names);
      await bed.clock.advance(2_000);
      expect(known()).to.deep.equal([]);
    });

    it('is not one that lacks half', async () => {
      bed.api.put('f');
      await bed.clock.settle();
      bed.api.hidden = (name) => name > 'c';
      await relist();
      expect(known()).to.deep.equal(['a', 'b', 'c']);
    });

    it('may be one of a single object', async () => {
      for (const name of names.slice(1)) bed.api.remove(name);
      await bed.clock.settle();
      bed.api.hidden = () => true;
      await relist();
      expect(known()).to.deep.equal(['a']);
    });

    it('is one also for an informer that follows another one', async () => {
      const before = bed.informer;
      bed.stop.abort();
      await bed.running;
      bed.stop = new AbortController();
      bed.api.hidden = () => true;
      make({ previous: before.store });
      await start();
      expect(bed.informer.hasSynced).to.equal(false);
      bed.api.hidden = undefined;
      await bed.clock.advance(1_000);
      expect(bed.informer.hasSynced).to.equal(true);
      expect(known()).to.deep.equal(names);
    });

    it('is nothing new for an informer that begins with nothing', async () => {
      bed.stop.abort();
      await bed.running;
      bed.stop = new AbortController();
      bed.api.hidden = () => true;
      make();
      await start();
      expect(bed.informer.hasSynced).to.equal(true);
    });
  });
});
