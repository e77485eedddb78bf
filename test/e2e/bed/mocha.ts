// Gives a mocha suite a bed of its own in the namespace that the runner put it in, and keeps the logs of a failure.
import { after, afterEach, before } from 'mocha';
import { startBed } from './index.ts';
import type { Bed, BedOptions } from './index.ts';
import { isolatedNamespace, namespaceVariable } from './isolate.ts';

/** Registers the hooks; the function it returns gives the bed, inside tests and hooks that run later. */
export const useBed = (options: BedOptions = {}): (() => Bed) => {
  let bed: Bed | undefined;
  let failed = false;

  before('start the bed', async () => {
    const namespace = isolatedNamespace();
    if (namespace === undefined) throw new Error(`${namespaceVariable} is not set: start suites with test/e2e/run`);
    bed = await startBed({ namespace, ...options });
  });
  afterEach('remember failures', function () {
    failed ||= this.currentTest?.state === 'failed';
  });
  after('stop the bed', async () => {
    const logs = await bed?.stop({ keepLogs: failed });
    if (logs !== undefined) console.error(`The logs of the bed's components are in ${logs}`);
  });
  return () => {
    if (!bed) throw new Error('the bed has not started');
    return bed;
  };
};
