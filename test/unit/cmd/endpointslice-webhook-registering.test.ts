import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createRegistering } from '../../../cmd/endpointslice-webhook/cluster.ts';
import { aborted } from '../../../pkg/kubernetes/wait.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

/** What happened, in order. */
const setup = (
  more: Partial<Parameters<typeof createRegistering>[0]> & { removed?: boolean; cleanup?: () => Promise<boolean> } = {},
) => {
  const happened: string[] = [];
  const said = { registered: false };
  const note = (what: string): void => void happened.push(what);
  const clock = createFakeClock();
  const logger = recordingLogger();
  const settledBy: Record<string, () => void> = {};
  const settles = (what: string, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      settledBy[what] = resolve;
      void aborted(signal).then(resolve);
    });
  const registering = createRegistering({
    deployment: { removed: () => Promise.resolve(more.removed ?? true) },
    keeper: {
      registered: () => said.registered,
      async remove() {
        note('unregister');
        return (more.cleanup ?? (() => Promise.resolve(true)))();
      },
      async run(signal) {
        note('keep');
        await aborted(signal);
        note('keep no more');
      },
    },
    claim: {
      held: () => true,
      known: () => true,
      onChange: () => () => undefined,
      settled: (signal) => settles('claim', signal),
      run: (signal) => aborted(signal),
      release: () => Promise.resolve(note('release')),
    },
    clock,
    logger,
    ...more,
  });
  const stop = new AbortController();
  return { registering, happened, said, settledBy, stop, clock, logger, running: registering.run(stop.signal) };
};

describe('the life of a registration', () => {
  it('begins when it is known who carries and whose the slices are', async () => {
    const { happened, settledBy, stop, running, clock } = setup();
    await clock.settle();
    expect(happened).to.deep.equal([]);
    settledBy['claim']?.();
    await clock.settle();
    expect(happened).to.deep.equal(['keep']);
    stop.abort();
    await running;
    expect(happened).to.deep.equal(['keep', 'keep no more']);
  });

  it('goes on after a replica: nothing is reverted', async () => {
    const { registering, happened, stop, running } = setup({ removed: false });
    await registering.goodbye();
    expect(happened).to.deep.equal([]);
    stop.abort();
    await running;
  });

  it('ends with the installation: kept no more, then reverted, then the claim given up', async () => {
    const { registering, happened, settledBy, running, clock, logger } = setup();
    settledBy['claim']?.();
    await clock.settle();
    const ending = registering.goodbye();
    await clock.advance(1_000);
    await ending;
    await running;
    // Twice: the last write of the keeper may have been under way when it was stopped.
    expect(happened).to.deep.equal(['keep', 'keep no more', 'unregister', 'unregister', 'release']);
    expect(logger.entries.map(({ level }) => level)).to.deep.equal(['info']);
    expect(clock.pending).to.equal(0);
  });

  it('gives the claim up also where the registration cannot be reverted, and says so', async () => {
    const { registering, happened, settledBy, logger } = setup({
      cleanup: () => Promise.reject(new Error('forbidden')),
    });
    settledBy['claim']?.();
    await registering.goodbye();
    expect(happened.slice(-2)).to.deep.equal(['unregister', 'release']);
    expect(logger.entries.map(({ level }) => level)).to.deep.equal(['warn']);
  });

  it('is another writer’s where the chart registers: nothing is waited for and nothing deleted', async () => {
    const { registering, happened } = setup({ keeper: undefined });
    expect(registering.readiness).to.deep.equal([]);
    await registering.goodbye();
    expect(happened).to.deep.equal(['release']);
  });

  it('is what readiness waits for', () => {
    const { registering, said } = setup();
    const check = () => registering.readiness.map((each) => each.check());
    expect(check()).to.deep.equal(['the webhooks are not registered yet']);
    said.registered = true;
    expect(check()).to.deep.equal([undefined]);
  });
});
