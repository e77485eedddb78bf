import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type ControllerFlags, type Ways, isUsageError, runWay } from '../../../cmd/shared/run-controller.ts';
import { ConfigError } from '../../../pkg/apis/config/config-error.ts';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { KubeConfigError } from '../../../pkg/kubernetes/kubeconfig.ts';
import { type FakeSession, LEASE, fakeSession } from '../../fixtures/controller-session.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';

const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: LEASE };
const until = new AbortController().signal;

describe('the ways of running a controller', () => {
  const setup = () => {
    const server = createMemoryServer();
    const went: string[] = [];
    const write = async (way: string, { client }: FakeSession): Promise<void> => {
      went.push(way);
      await client.create(LEASES, lease);
    };
    const ways: Ways<FakeSession> = {
      serve: (session) => write('serve', session),
      dryRun: (session, format) => write(`dry run as ${format}`, session),
      cleanup: (session) => write('cleanup', session),
    };
    return { server, went, run: (flags: Partial<ControllerFlags>) => runWay(fakeSession(server), flags, ways, until) };
  };

  const ways: { name: string; flags: Partial<ControllerFlags>; way: string }[] = [
    { name: 'serves by default', flags: {}, way: 'serve' },
    { name: 'serves whatever the output', flags: { output: 'json' }, way: 'serve' },
    { name: 'cleans up', flags: { cleanup: true }, way: 'cleanup' },
  ];
  for (const { name, flags, way } of ways) {
    it(`${name}, and may write`, async () => {
      const { server, went, run } = setup();
      await run(flags);
      expect(went).to.deep.equal([way]);
      expect(server.read(LEASES, LEASE)).to.deep.include({ kind: 'Lease' });
    });
  }

  for (const [output, way] of [
    [undefined, 'dry run as table'],
    ['json', 'dry run as json'],
  ] as const) {
    it(`a ${way} has a client that cannot write`, async () => {
      const { server, went, run } = setup();
      const error = await rejection(run({ dryRun: true, ...(output === undefined ? {} : { output }) }));
      expect(error).to.include({ message: 'a dry run does not write' });
      expect(went).to.deep.equal([way]);
      expect(server.calls).to.deep.equal([]);
    });
  }
});

describe('an error of opening', () => {
  const fileError = (path: string): Promise<unknown> => rejection(readFile(path));
  const errors: { name: string; error: () => unknown; mend: boolean }[] = [
    { name: 'a configuration that is wrong', error: () => new ConfigError('c.yaml', []), mend: true },
    { name: 'a kubeconfig that is wrong', error: () => new KubeConfigError('no context'), mend: true },
    { name: 'a file that is not there', error: () => fileError('/nowhere/c.yaml'), mend: true },
    { name: 'a folder', error: () => fileError('/'), mend: true },
    { name: 'a file that may not be read', error: () => Object.assign(new Error('x'), { code: 'EACCES' }), mend: true },
    { name: 'a network that is down', error: () => Object.assign(new Error('x'), { code: 'ENETDOWN' }), mend: false },
    { name: 'a bug', error: () => new TypeError('x is not a function'), mend: false },
    { name: 'what is no error', error: () => ({ code: 'ENOENT' }), mend: false },
  ];
  for (const { name, error, mend } of errors) {
    it(`is ${mend ? '' : 'not '}the user's to mend for ${name}`, async () =>
      expect(isUsageError(await error())).to.equal(mend));
  }
});
