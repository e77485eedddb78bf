// Runs the contract of an API server against the sandbox; the end-to-end suite runs the same against the real one.
import { after, before, describe } from 'mocha';
import { describeContract } from '../contract/suite.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

describe('the sandbox keeps the contract of an API server', () => {
  let sandbox: Sandbox;
  before(async () => {
    sandbox = await startSandbox();
  });
  after(() => sandbox.stop());
  describeContract(
    () => ({ kubeconfig: sandbox.kubeconfig('contract', ['system:masters']), user: 'contract', minor: 36 }),
    () => Promise.resolve(sandbox.compact()),
  );
});
