// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readLogs } from '../../../../cmd/kubectl-topology/bundle/logs.ts';
import type { ComponentPod } from '../../../../pkg/diagnosis/status/evidence.ts';
import { ApiError, ConnectionError } from '../../../../pkg/kubernetes/errors.ts';

const pod = (name: string, restarts = 0): ComponentPod => ({
  namespace: 'own',
  name,
  instance: 'one',
  component: 'flow-controller',
  nodeName: 'node',
  ready: true,
  restarts,
  waiting: '',
});
const running = new AbortController().signal;

describe('logs of a bundle', () => {
  it('are asked for bounded, of the run before as well where there was one', async () => {
    const asked: URL[] = [];
    const text = (path: string): Promise<string> => {
      asked.push(new URL(path, 'https://server'));
      return Promise.resolve('a line\n');
    };
    const { logs, leftOut } = await readLogs({ text }, [pod('a'), pod('b', 3)], running);
    expect(logs).to.deep.equal(
      ['own/a.log', 'own/b.log', 'own/b.previous.log'].map((name) => ({ name, text: 'a line\n' })),
    );
    expect(leftOut).to.deep.equal([]);
    expect(asked.map(({ pathname }) => pathname)).to.deep.equal(
      ['a', 'b', 'b'].map((name) => `/api/v1/namespaces/own/pods/${name}/log`),
    );
    for (const { searchParams } of asked) {
      expect(searchParams.get('container')).to.equal('flow-controller');
      expect(Number(searchParams.get('tailLines'))).to.equal(500);
      expect(Number(searchParams.get('limitBytes'))).to.equal(1_048_576);
    }
    expect(asked.map(({ searchParams }) => searchParams.get('previous'))).to.deep.equal([null, null, 'true']);
  });

  it('keep their end, from the beginning of a line, masked before they are cut', async () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${'k'.repeat(60)}\n`.concat('k'.repeat(300_000));
    const long = `${Array.from({ length: 20_000 }, (_, index) => `line ${index} of a long log`).join('\n')}\n`;
    const text = (path: string): Promise<string> => Promise.resolve(path.includes('/a/') ? long : `start\n${key}`);
    const { logs } = await readLogs({ text }, [pod('a'), pod('b')], running);
    const [first = '', second = ''] = logs.map((log) => log.text);
    expect(Buffer.byteLength(first)).to.be.within(262_000, 262_144);
    expect(first)
      .to.match(/^line \d+ of a long log\n/)
      .and.match(/line 19999 of a long log\n$/);
    expect(second).to.equal('start\n[redacted]');
  });

  it('that cannot be read are named', async () => {
    const failures: Record<string, unknown> = {
      a: new ApiError({ status: 403, method: 'GET', path: '/' }),
      b: new ApiError({ status: 500, method: 'GET', path: '/', message: 'dial tcp: secret' }),
      c: new ConnectionError({ reason: 'Timeout', method: 'GET', path: '/', message: 'the deadline passed' }),
      d: new DOMException('late', 'TimeoutError'),
    };
    const text = (path: string): Promise<string> => Promise.reject(failures[path.split('/')[6] ?? '']);
    const { leftOut } = await readLogs(
      { text },
      ['a', 'b', 'c', 'd'].map((name) => pod(name)),
      running,
    );
    expect(leftOut).to.deep.equal([
      'log own/a.log: not allowed',
      'log own/b.log: 500 InternalError',
      'log own/c.log: no answer',
      'log own/d.log: no answer',
    ]);
  });

  it('are of so many Pods at most', async () => {
    const pods = Array.from({ length: 32 }, (_, index) => pod(`p${index}`));
    const { logs, leftOut } = await readLogs({ text: () => Promise.resolve('') }, pods, running);
    expect([logs.length, leftOut]).to.deep.equal([
      30,
      ['log of Pod own/p30: too many Pods', 'log of Pod own/p31: too many Pods'],
    ]);
  });

  it('end with the command, and with errors of our own', async () => {
    const aborted = AbortSignal.abort(new Error('ended'));
    const failing = { text: () => Promise.reject(new Error('ended')) };
    const outcome = (signal: AbortSignal) =>
      readLogs(failing, [pod('a')], signal).then(
        () => 'read',
        ({ message }: Error) => message,
      );
    expect([await outcome(aborted), await outcome(running)]).to.deep.equal(['ended', 'ended']);
  });
});
