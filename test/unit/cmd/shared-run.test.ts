// How every command comes from its parts to an exit code, and what it says on the way.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type RunOptions, runToExitCode } from '../../../cmd/shared/run.ts';
import type { Logger } from '../../../pkg/telemetry/log.ts';

type Options = RunOptions<object, { logger: Pick<Logger, 'error'> }>;

const setup = (more: Partial<Options> = {}) => {
  const steps: string[] = [];
  const note = (step: string): Promise<void> => Promise.resolve(void steps.push(step));
  const error = (message: string, { error: why }: { error?: unknown } = {}): void =>
    void note(`${message}: ${(why as Error).message}`);
  const options: Options = {
    parsed: { kind: 'run', flags: {} },
    open: () => Promise.resolve({ logger: { error } }),
    isUsage: () => false,
    work: () => note('work'),
    failure: 'it failed',
    close: () => note('close'),
    ...more,
  };
  return { steps, run: () => runToExitCode(options) };
};

describe('how a command ends', () => {
  it('with 1 when its work fails, everything closed', async () => {
    const { steps, run } = setup({ work: () => Promise.reject(new Error('no luck')) });
    expect(await run()).to.equal(1);
    expect(steps).to.deep.equal(['it failed: no luck', 'close']);
  });

  it('with the error where the caller cannot fix it', async () => {
    const broken = new Error('broken');
    const { run } = setup({ open: () => Promise.reject(broken) });
    expect(await run().catch((error: unknown) => error)).to.equal(broken);
  });
});
