// The informer's loop against a model of the API: what it asks, when, and what it tells.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { gone } from '../../fixtures/model-api.ts';
import { cut, useInformer } from './informer-support.ts';

describe('informer', () => {
  const bed = useInformer();
  const { make, start, takeTold } = bed;

  describe('events', () => {
    beforeEach(async () => {
      bed.api.put('a');
      await start();
      takeTold();
    });

    it('stop at once with the abort', async () => {
      bed.api.put('b');
      bed.stop.abort();
      await bed.running;
      expect(takeTold()).to.deep.equal([]);
    });
  });

  describe('handlers that throw', () => {
    it('are logged', async () => {
      const broken = new Error('broken handler');
      const fail = () => {
        throw broken;
      };
      make({ onUpsert: fail, onDelete: fail });
      bed.api.put('a');
      await start();
      bed.api.remove('a');
      await bed.clock.settle();
      const errors = bed.logger.entries.filter(({ level }) => level === 'error');
      expect(errors.map(({ message, fields }) => [message, fields['object'], fields['error']])).to.deep.equal([
        ['upsert handler threw', 'a', broken],
        ['delete handler threw', 'a', broken],
      ]);
    });
  });

  describe('stalenessMs', () => {
    it('begins anew with a list, an event, a bookmark, an opened watch and an orderly end', async () => {
      await start();
      const proofs: Array<[string, () => void]> = [
        ['event', () => bed.api.put('a')],
        ['bookmark', () => bed.api.bookmark()],
        ['orderly end', () => bed.api.endWatches('close')],
      ];
      for (const [name, prove] of proofs) {
        await bed.clock.advance(10_000);
        expect(bed.informer.stalenessMs(), `before the ${name}`).to.equal(10_000);
        prove();
        await bed.clock.settle();
        expect(bed.informer.stalenessMs(), `after the ${name}`).to.equal(0);
      }
      await bed.clock.advance(10_000);
      bed.api.endWatches({ error: cut() });
      await bed.clock.advance(799);
      expect(bed.informer.stalenessMs(), 'a cut proves nothing').to.equal(10_799);
      await bed.clock.advance(1);
      expect(bed.informer.stalenessMs(), 'after the watch was opened again').to.equal(0);
    });
  });
});

describe('informer, with doubtful lists', () => {
  const bed = useInformer();
  const { start, takeTold } = bed;

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

    it('is not one that lacks half', async () => {
      bed.api.put('f');
      await bed.clock.settle();
      bed.api.hidden = (name) => name > 'c';
      await relist();
      expect(known()).to.deep.equal(['a', 'b', 'c']);
    });

    it('is one also where the informer runs again', async () => {
      bed.stop.abort();
      await bed.running;
      bed.stop = new AbortController();
      bed.api.hidden = () => true;
      await start();
      expect(known()).to.deep.equal(names);
      bed.api.hidden = undefined;
      await bed.clock.advance(1_000);
      expect(known()).to.deep.equal(names);
      expect(takeTold()).to.deep.equal([]);
    });
  });
});
