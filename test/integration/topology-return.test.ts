// `kubectl topology evacuations` and `return` on a sandbox.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import { runTopology } from '../fixtures/topology-command.ts';
import { ZONES, pair, useEvacuationCluster } from './topology-evacuate-support.ts';

describe('kubectl topology evacuate, while one runs', function onCluster() {
  this.timeout(60_000);
  const bed = useEvacuationCluster();
  const { run, all, sliceOf, hintsOf, evacuateSlice, setStatus, services } = bed;

  describe('evacuations', () => {
    it('lists them with what is left of each', async () => {
      expect((await run('evacuations')).out).to.equal('No zone is evacuated.\n');
      await run('evacuate eu-1a --for 2h --reason why --no-wait');
      await setStatus({
        phase: 'Evacuated',
        expiresAt: new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, ''),
        services: services(1, 0, 0),
      });
      const { out } = await run('evacuations');
      expect(out).to.match(/^NAME +ZONE +PERCENT +PHASE +MOVED +PENDING +LEFT +ENDS IN +REASON\n/);
      expect(out).to.match(/eu-1a +eu-1a +100 % +Evacuated +1 +0 +0 +(?:59|60) min +why/);
      expect(JSON.parse((await run('evacuations -o json')).out)).to.have.lengthOf(1);
      expect((await run('evacuations eu-1a')).code).to.equal(0);
    });

    it('--measured asks the meters for what still arrives, and says where there are none', async () => {
      await run('evacuate eu-1a --for 2h --no-wait');
      const { code, err } = await run('evacuations --measured');
      expect([code, err.includes('no Pod of namespace topology-traffic-meter is a traffic-meter')], err).to.deep.equal([
        2,
        true,
      ]);
      expect((await run('evacuations --measured -o json')).err).to.contain('leave out -o json');
    });

    it('gives no orders to the terminal, whatever a reason says', async () => {
      const reason = '\u001B[2J\u202Ebad';
      const args = ['evacuate', 'eu-1a', '--for', '2h', '--no-wait', '--reason', reason, ...bed.access];
      expect((await runTopology(args, { now: Date.now() })).code).to.equal(0);
      expect((await run('evacuations')).out).not.to.match(/[\u001B\u202E]/u);
    });
  });

  describe('return', () => {
    const begin = async (): Promise<void> => {
      await run('evacuate eu-1a --for 2h --no-wait');
      await evacuateSlice('web-x');
      expect(await hintsOf('web-x')).to.deep.equal([NOWHERE, 'eu-1a+eu-1b+eu-1c', 'eu-1a+eu-1b+eu-1c']);
    };

    it('deletes the object and waits until no slice shows it', async () => {
      await begin();
      const undo = (): void => {
        const path = `/metadata/annotations/${ANNOTATION_EVACUATED.replace('/', '~1')}`;
        void bed.client.patch(ENDPOINT_SLICES, { namespace: 'default', name: 'web-x' }, 'json', [
          { op: 'remove', path },
        ]);
      };
      const { code, out, err } = await run('return eu-1a', {
        onErr: (text) => text.startsWith('returning: 1 slice') && undo(),
      });
      expect([code, out]).to.deep.equal([0, 'eu-1a has returned: no slice shows an evacuation of it.\n']);
      expect(err).to.contain('deleted ZoneEvacuation eu-1a');
      expect(await all()).to.deep.equal([]);
    });

    it("--direct gives every slice its hints back with none of this project's processes alive", async () => {
      await begin();
      bed.sandbox.seed(pair('other', ZONES));
      const untouched = (await sliceOf('other-x')).endpoints;
      await evacuateSlice('other-x');
      // Another writer was faster, twice.
      bed.sandbox.addFault({
        kind: 'status',
        match: { resource: 'endpointslices', verb: 'patch' },
        code: 409,
        times: 2,
      });
      const { code, out } = await run('return eu-1a --direct');
      expect([code, out]).to.deep.equal([0, 'eu-1a has returned: no slice shows an evacuation of it.\n']);
      expect(await hintsOf('web-x')).to.deep.equal(['', '', '']);
      const { endpoints, metadata } = await sliceOf('other-x');
      expect([endpoints, metadata?.annotations?.[ANNOTATION_EVACUATED]]).to.deep.equal([untouched, undefined]);
    });

    it('--direct works where the kind is gone, and keeps what a slice shows of another zone', async () => {
      bed.sandbox.seed(pair('two', ZONES));
      await evacuateSlice('two-x', 'eu-1a');
      await bed.client.delete(
        {
          group: 'apiextensions.k8s.io',
          version: 'v1',
          kind: 'CustomResourceDefinition',
          plural: 'customresourcedefinitions',
          namespaced: false,
        },
        { name: 'zoneevacuations.topology.extensions.gardener.cloud' },
      );
      expect((await run('return eu-1b --direct')).code).to.equal(0);
      expect((await hintsOf('two-x'))[0]).to.equal(NOWHERE);
      expect((await run('return eu-1a --direct')).code).to.equal(0);
      expect((await hintsOf('two-x'))[0]).to.equal('');
      const missing = await run('evacuations');
      expect([missing.code, missing.err.includes('serves no ZoneEvacuations')]).to.deep.equal([3, true]);
    });

    it('--direct names what it could not write, and ends with exit code 1', async () => {
      await begin();
      bed.sandbox.addFault({ kind: 'status', match: { resource: 'endpointslices', verb: 'patch' }, code: 403 });
      const { code, err } = await run('return eu-1a --direct');
      expect([code, err.includes('1 slice still show')], err).to.deep.equal([1, true]);
    });

    it('goes on where the person goes away, and says so', async () => {
      await begin();
      const ended = new AbortController();
      const onErr = (text: string): void => (text.startsWith('returning') ? ended.abort() : undefined);
      const { code, err } = await run('return eu-1a', { signal: ended.signal, onErr });
      expect([code, err.includes('still returning: the evacuation has ended')], err).to.deep.equal([1, true]);
    });
  });

  describe('evacuate --percent of a zone that is evacuated', () => {
    /** The controller's status of the new share, of one Service. */
    const evacuatedOf = (endpoints: { readonly total: number; readonly evacuated: number }) => (): void =>
      void setStatus({ phase: 'Evacuated', observedGeneration: 2, services: services(1, 0, 0), endpoints });

    it('sets its share, and waits until that is done', async () => {
      await run('evacuate eu-1a --for 2h --reason why --no-wait');
      await setStatus({ phase: 'Evacuated', observedGeneration: 1, services: services(1, 0, 0) });
      const { code, out } = await run('evacuate eu-1a --percent 75', {
        onErr: evacuatedOf({ total: 4, evacuated: 3 }),
      });
      expect([code, out.includes('\n1 of 4 endpoints in eu-1a get new connections\n')], out).to.deep.equal([0, true]);
      const [only, ...others] = await all();
      expect(others).to.deep.equal([]);
      expect(only?.spec).to.include({ percent: 75, rounding: 'Up', duration: '2h', reason: 'why' });
    });

    it('says where no Service has enough endpoints for the share, and --round down leaves one of each', async () => {
      bed.sandbox.seed(pair('big', ['eu-1a', 'eu-1a', 'eu-1b', 'eu-1b', 'eu-1c', 'eu-1c']));
      await run('evacuate eu-1a --for 2h --no-wait');
      const { out } = await run('evacuate eu-1a --percent 75', { onErr: evacuatedOf({ total: 2, evacuated: 2 }) });
      expect(out).to.contain('0 of 2 endpoints in eu-1a get new connections; each Service has too few there');
      expect((await run('evacuate eu-1a --percent 75 --round down --no-wait')).code).to.equal(0);
      expect((await all())[0]?.spec).to.include({ percent: 75, rounding: 'Down' });
    });

    it('is checked as at the beginning, and changes nothing then', async () => {
      await run('evacuate eu-1a --for 2h --percent 10 --no-wait');
      bed.sandbox.seed(pair('busy', ['eu-1a', 'eu-1a', 'eu-1a', 'eu-1b']));
      const { code, out } = await run('evacuate eu-1a --percent 100');
      expect([code, out.includes('Overloaded: Too much')], out).to.deep.equal([1, true]);
      expect((await run('evacuate eu-1a --percent 20 --dry-run')).code).to.equal(0);
      expect((await all())[0]?.spec.percent).to.equal(10);
    });
  });
});
