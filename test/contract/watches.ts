// Contract: what a watch sees, from where, and how it ends.
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import { text, type Watching, type WatchFrame } from './api.ts';
import { aConfigMap, createScope, eventually, unique, versionOf, type ContractServer, type Scope } from './server.ts';

const isFor = (name: string, type?: string) => (event: WatchFrame) =>
  text(event.object['metadata']?.['name']) === name && (type === undefined || event.type === type);

export const describeWatches = (server: () => ContractServer): void => {
  describe('watches', () => {
    let scope: Scope;
    const open: Watching[] = [];
    const watch = async (query: string, path = scope.core('configmaps')): Promise<Watching> => {
      const watching = await scope.api.watch(`${path}?watch=true&${query}`);
      open.push(watching);
      return watching;
    };
    const current = async (): Promise<string> => versionOf((await scope.api.get(scope.core('configmaps'))).body);
    before(async () => {
      scope = await createScope(server());
      await scope.api.post(scope.core('configmaps'), aConfigMap('standing'));
    });
    afterEach(() => {
      for (const watching of open.splice(0)) watching.stop();
    });
    after(() => scope.dispose());

    it('sends the present state first when no version is given', async () => {
      for (const query of ['', 'resourceVersion=0']) {
        const event = await (await watch(query)).until(isFor('standing'));
        expect(event.type, query).to.equal('ADDED');
        expect(event.object).to.deep.include({ kind: 'ConfigMap', apiVersion: 'v1' });
      }
    });

    it('sends every change after a version, in order and whole', async () => {
      const from = await current();
      const name = unique('life');
      await scope.api.post(scope.core('configmaps'), aConfigMap(name, { a: '1' }));
      const watching = await watch(`resourceVersion=${from}`);
      await scope.api.patch(scope.core('configmaps', name), 'merge', { data: { a: '2' } });
      await scope.api.delete(scope.core('configmaps', name));
      await watching.until(isFor(name, 'DELETED'));
      const own = watching.events.filter(isFor(name));
      expect(own.map(({ type, object }) => [type, object['data']])).to.deep.equal([
        ['ADDED', { a: '1' }],
        ['MODIFIED', { a: '2' }],
        ['DELETED', { a: '2' }],
      ]);
      const versions = own.map(({ object }) => Number(versionOf(object)));
      expect(versions).to.deep.equal([...new Set(versions)].sort((left, right) => left - right));
    });

    it('sends nothing for a write that changes nothing', async () => {
      const from = await current();
      const watching = await watch(`resourceVersion=${from}`);
      await scope.api.patch(scope.core('configmaps', 'standing'), 'merge', { metadata: { labels: null } });
      const name = unique('mark');
      await scope.api.post(scope.core('configmaps'), aConfigMap(name));
      await watching.until(isFor(name));
      expect(watching.events.filter(isFor('standing'))).to.deep.equal([]);
    });

    it('turns a change of the selection into ADDED and DELETED', async () => {
      const name = unique('moving');
      await scope.api.post(scope.core('configmaps'), aConfigMap(name));
      const watching = await watch(`resourceVersion=${await current()}&labelSelector=in%3Dyes`);
      const label = (value: string | null) =>
        scope.api.patch(scope.core('configmaps', name), 'merge', { metadata: { labels: { in: value } } });
      await label('yes');
      await scope.api.patch(scope.core('configmaps', name), 'merge', { data: { a: 'b' } });
      const left = await label('no');
      await label('yes');
      await watching.until((event) => event.type === 'ADDED', 3);
      expect(watching.events.map(({ type }) => type)).to.deep.equal(['ADDED', 'MODIFIED', 'DELETED', 'ADDED']);
      const deleted = watching.events[2]!.object;
      // It is shown as it last matched, at the version at which it stopped to.
      expect(deleted['metadata']!['labels']).to.deep.equal({ in: 'yes' });
      expect(versionOf(deleted)).to.equal(versionOf(left.body));
    });

    it('follows one object by field selector', async () => {
      const [one, two] = [unique('one'), unique('two')];
      const watching = await watch(`resourceVersion=${await current()}&fieldSelector=metadata.name%3D${two}`);
      await scope.api.post(scope.core('configmaps'), aConfigMap(one));
      await scope.api.post(scope.core('configmaps'), aConfigMap(two));
      await watching.until(isFor(two));
      expect(watching.events.filter(isFor(one))).to.deep.equal([]);
    });

    it('sees all namespaces from the top', async () => {
      const name = unique('far');
      const watching = await watch(`resourceVersion=${await current()}`, '/api/v1/configmaps');
      await scope.api.post(scope.core('configmaps'), aConfigMap(name));
      expect((await watching.until(isFor(name))).object['metadata']!['namespace']).to.equal(scope.namespace);
    });

    it('ends after timeoutSeconds without an error', async () => {
      const watching = await watch(`resourceVersion=${await current()}&timeoutSeconds=1`);
      await watching.end();
      expect(watching.events.filter(({ type }) => type === 'ERROR')).to.deep.equal([]);
    });

    it('streams the present state and marks its end on demand', async () => {
      const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const watching = await watch(query);
      const mark = await watching.until(({ type }) => type === 'BOOKMARK');
      expect(mark.object['metadata']!['annotations']).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
      expect(mark.object).to.include({ kind: 'ConfigMap', apiVersion: 'v1' });
      const earlier = watching.events.slice(0, watching.events.indexOf(mark));
      expect(earlier.filter(isFor('standing')).map(({ type }) => type)).to.deep.equal(['ADDED']);
      // A watch from the bookmark's version misses nothing and repeats nothing.
      const name = unique('after');
      await scope.api.post(scope.core('configmaps'), aConfigMap(name));
      const next = await watch(`resourceVersion=${versionOf(mark.object)}`);
      await next.until(isFor(name));
      expect(next.events.filter(isFor('standing'))).to.deep.equal([]);
    });

    it('lets the version of a list continue as a watch without a gap', async () => {
      const from = await current();
      const wanted = Array.from({ length: 20 }, (_, index) => `${unique('gap')}-${index}`);
      const [watching] = await Promise.all([
        watch(`resourceVersion=${from}`),
        ...wanted.map((name) => scope.api.post(scope.core('configmaps'), aConfigMap(name))),
      ]);
      await eventually(
        'all events',
        () => Promise.resolve(wanted.every((name) => watching.events.some(isFor(name, 'ADDED'))) ? true : undefined),
        () => watching.events,
      );
      expect(watching.events.filter(({ type }) => type === 'ADDED')).to.have.length(wanted.length);
    });
  });
};
