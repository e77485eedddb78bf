// What the end-to-end suites judge slices and the audit log by, where no suite shows that it sees what is wrong.
import { appendFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type StoredVersion, countWrites, gapsIn, hiddenChanges, isEachPut } from '../../e2e/hints-figures.ts';
import { type Write, readAudit, refusals, untilQuiet } from '../../e2e/settings-audit.ts';
import { endpoint, slice } from '../../fixtures/core.ts';
import { useFolder } from '../../fixtures/temporary-folder.ts';

interface Overrides {
  type?: StoredVersion['type'];
  name?: string;
  annotations?: Record<string, string>;
  resourceVersion?: string;
}

const version = (generation: number, overrides: Overrides = {}): StoredVersion => {
  const { type = 'MODIFIED', name = 'web-1', annotations = {}, resourceVersion = '1' } = overrides;
  const metadata = { name, generation, annotations, resourceVersion };
  return { type, service: 'web', name, generation, slice: slice({ metadata, endpoints: [endpoint()] }), arrivedAt: 0 };
};

const write: Write = {
  user: 'controller',
  verb: 'update',
  resource: 'endpointslices',
  namespace: 'shop',
  name: 'web-1',
  status: 200,
  message: '',
  at: 0,
  milliseconds: 1,
};

describe('what end-to-end suites judge by', () => {
  it('names versions that were never seen, for each slice by itself', () => {
    expect(
      gapsIn([version(1), version(7, { name: 'web-2' }), version(2), version(2), version(8, { name: 'web-2' })]),
    ).to.deep.equal([]);
    expect(gapsIn([version(1), version(3)])).to.deep.equal(['web-1, generation 3 comes after generation 1']);
    const again = version(1, { type: 'ADDED' });
    expect(gapsIn([version(4), version(5, { type: 'DELETED' }), again])).to.deep.equal([]);
  });

  it('names changes that the generation does not show, except the time stamp of the controller', () => {
    const stamp = { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-11-21T08:00:00Z' };
    const stamped = version(1, { annotations: stamp, resourceVersion: '2' });
    expect(hiddenChanges([version(1), stamped], 0)).to.deep.equal([]);
    const touched = version(1, { annotations: { touched: 'yes' } });
    expect(hiddenChanges([version(1), touched], 0)).to.deep.equal(['web-1, generation 1']);
    expect(hiddenChanges([version(1), touched], 2), 'before the start').to.deep.equal([]);
  });

  it('counts accepted PUTs, versions and changes of the slices asked for, after the start', () => {
    const versions = [version(1), version(2), version(2), version(3), version(9, { name: 'other' })];
    const writes = [
      write,
      { ...write, status: 500 },
      { ...write, status: 201, verb: 'create' },
      { ...write, name: 'other' },
    ];
    expect(countWrites(new Set(['web-1']), writes, versions, 1)).to.deep.equal({ puts: 1, stored: 3, changed: 2 });
    expect(isEachPut(new Set(['web-1', 'other']), writes)).to.equal(true);
    expect(isEachPut(new Set(['web-1', 'web-2']), writes)).to.equal(false);
  });

  it('fails where another writer writes without end', async () => {
    let message = '';
    await untilQuiet({ next: () => [write] }, 100, 200).catch((error: Error) => (message = error.message));
    expect(message).to.match(/writes in 200 ms and no end/);
  });

  it('is not quiet while the machine stands still', async () => {
    let call = 0;
    const next = (): Write[] => {
      call += 1;
      if (call === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      return call === 3 ? [write] : [];
    };
    expect(await untilQuiet({ next }, 250)).to.deep.equal([write]);
  });

  const folder = useFolder();

  it('separates refused calls of a webhook from late ones, and skips dry runs and unfinished lines', () => {
    const post = 'failed calling webhook "h": failed to call webhook: Post "https://h:443/?timeout=5s": ';
    const line = (name: string, message: string, requestURI = '/'): string =>
      `${JSON.stringify({
        verb: 'update',
        user: { username: 'controller' },
        objectRef: { resource: 'endpointslices', name },
        responseStatus: { code: 500, message },
        requestURI,
        requestReceivedTimestamp: '2026-11-21T08:00:00.001500Z',
        stageTimestamp: '2026-11-21T08:00:00.004750Z',
      })}\n`;
    const file = folder.at('audit.log');
    writeFileSync(file, line('before', ''));
    const audit = readAudit(file);
    const refused = line('refused', `${post}dial tcp 198.18.0.9:443: connect: connection refused`);
    const texts = [
      line('late', `${post}context deadline exceeded`),
      line('no-connection', `${post}dial tcp 198.18.0.9:443: i/o timeout`),
      line('etcd', 'etcdserver: request timed out'),
      line('dry', `${post}connection refused`, '/?dryRun=All'),
      refused.slice(0, 40),
    ];
    appendFileSync(file, texts.join(''));
    const [first, ...others] = audit.next();
    expect([first, ...others].map((one) => one?.name)).to.deep.equal(['late', 'no-connection', 'etcd']);
    expect(first?.milliseconds).to.be.closeTo(3.25, 0.001);
    appendFileSync(file, refused.slice(40));
    const [last] = audit.next();
    expect(refusals([first, ...others, last] as Write[])).to.deep.equal([JSON.stringify(last)]);
  });
});
