// A namespace that lost its role is released by whichever replica leads.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { LABEL_ROUTING } from '../../pkg/apis/names.ts';
import { NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { eventually } from './controller-bed.ts';
import { MODE, NS, useShoots } from './settings-shoots-support.ts';

describe('settings of shoots, released', () => {
  const bed = useShoots();
  const { expectAll, setSeed } = bed;

  describe('releases a namespace that lost its role, whichever replica leads, where a leader is killed', () => {
    const labelled = () => bed.bed.sandbox.get(NAMESPACES, { name: NS })?.metadata?.labels?.[LABEL_ROUTING];
    const loseRole = (): Promise<unknown> => {
      const stored = bed.bed.sandbox.get(NAMESPACES, { name: NS });
      const labels = { ...stored?.metadata?.labels, 'gardener.cloud/role': 'none' };
      return bed.bed.apply({ ...stored, metadata: { ...stored?.metadata, labels } });
    };
    const refuse = (resource: string, name?: string) =>
      bed.bed.sandbox.addFault({
        kind: 'status',
        match: { verb: 'patch', resource, ...(name === undefined ? {} : { name }) },
        code: 500,
      });
    /** Services in the order in which they are written; the last one is the last that is released. */
    const last = (): string => {
      const names = bed.bed.sandbox.list(SERVICES).map(({ metadata }) => metadata?.name ?? '');
      return names.sort().at(-1) ?? '';
    };

    const kills: { name: string; until: () => Promise<void> }[] = [
      { name: 'as soon as the role is gone', until: () => Promise.resolve() },
      {
        name: 'while it waits',
        async until() {
          await bed.bed.quiet();
          bed.bed.clock.skip(240_000);
        },
      },
      {
        name: 'between two Services',
        async until() {
          await bed.bed.quiet();
          const fault = refuse('services', last());
          bed.bed.clock.skip(300_000);
          await bed.bed.quiet();
          fault.remove();
        },
      },
      {
        name: 'between the Services and the label',
        async until() {
          await bed.bed.quiet();
          const fault = refuse('namespaces');
          bed.bed.clock.skip(300_000);
          await expectAll(undefined);
          await bed.bed.quiet();
          fault.remove();
        },
      },
    ];
    for (const { name, until } of kills)
      it(name, async () => {
        await setSeed(true);
        const first = await bed.bed.start(`${MODE}\nkeep: on`);
        await expectAll('PreferSameZone');
        await eventually(() => expect(labelled()).to.equal('true'));
        await loseRole();
        await until();
        await first.stop();
        await bed.bed.start(`${MODE}\nkeep: on`);
        bed.bed.clock.skip(300_000);
        await expectAll(undefined);
        await eventually(() => expect(labelled()).to.equal(undefined));
      });
  });
});
