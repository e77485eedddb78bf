// What the end-to-end suites about hints judge by: that it sees what is wrong, and nothing where all is right.
import { appendFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../pkg/apis/core.ts';
import { bareVersions, countWrites, gapsIn, hiddenChanges, isEachPut } from '../../e2e/hints-figures.ts';
import type { StoredVersion } from '../../e2e/hints-figures.ts';
import { type Write, readAudit, refusals, untilQuiet, untilQuietAfter } from '../../e2e/settings-audit.ts';
import { endpoint, slice } from '../../fixtures/core.ts';
import { useFolder } from '../../fixtures/temporary-folder.ts';

const hints = { forZones: [{ name: 'eu-1a' }] };

interface Overrides {
  type?: StoredVersion['type'];
  name?: string;
  endpoints?: Endpoint[];
  annotations?: Record<string, string>;
  resourceVersion?: string;
}

const version = (generation: number, overrides: Overrides = {}): StoredVersion => {
  const { type = 'MODIFIED', name = 'web-1', endpoints = [endpoint({ hints })], annotations = {} } = overrides;
  const metadata = { name, generation, annotations, resourceVersion: overrides.resourceVersion ?? '1' };
  return { type, service: 'web', name, generation, slice: slice({ metadata, endpoints }), arrivedAt: 0 };
};

describe('history of slices', () => {
  const bare = endpoint();
  const cases: { name: string; versions: StoredVersion[]; found: RegExp[] }[] = [
    { name: 'hints on all', versions: [version(1)], found: [] },
    {
      name: 'a ready endpoint without',
      versions: [version(1), version(2, { endpoints: [bare] })],
      found: [/gen.* 2: 198/],
    },
    {
      name: 'one of two without',
      versions: [version(1, { endpoints: [endpoint({ hints }), bare] })],
      found: [/web-1, generation 1/],
    },
    {
      name: 'readiness that nobody states, which proxies take for ready',
      versions: [version(1, { endpoints: [endpoint({ conditions: {} })] })],
      found: [/generation 1/],
    },
    {
      name: 'an endpoint that is not ready',
      versions: [version(1, { endpoints: [endpoint({ conditions: { ready: false } })] })],
      found: [],
    },
    { name: 'a slice that goes away', versions: [version(1, { type: 'DELETED', endpoints: [bare] })], found: [] },
  ];
  for (const { name, versions, found } of cases) {
    it(`names versions without hints: ${name}`, () => {
      const result = bareVersions(versions);
      expect(result).to.have.lengthOf(found.length);
      for (const [index, pattern] of found.entries()) expect(result[index]).to.match(pattern);
    });
  }

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
    expect(hiddenChanges([version(1), version(2, { endpoints: [] })], 0), 'another generation').to.deep.equal([]);
  });
});

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

describe('count of writes', () => {
  it('takes accepted PUTs, versions and changes of the slices asked for, after the start', () => {
    const versions = [version(1), version(2), version(2), version(3), version(9, { name: 'other' })];
    const writes = [
      { ...write, name: 'web-1', status: 200 },
      { ...write, name: 'web-1', status: 500 },
      { ...write, name: 'web-1', status: 201, verb: 'create' },
      { ...write, name: 'other', status: 200 },
    ];
    expect(countWrites(new Set(['web-1']), writes, versions, 1)).to.deep.equal({ puts: 1, stored: 3, changed: 2 });
    expect(countWrites(new Set(['web-1']), writes, versions, 2)).to.deep.equal({ puts: 1, stored: 2, changed: 1 });
    expect(isEachPut(new Set(['web-1', 'other']), writes)).to.equal(true);
    expect(isEachPut(new Set(['web-1', 'web-2']), [...writes, ...writes])).to.equal(false);
  });
});

describe('audit log', () => {
  const folder = useFolder();
  const line = (name: string, more: object = {}): string =>
    JSON.stringify({
      verb: 'update',
      user: { username: 'controller' },
      objectRef: { resource: 'endpointslices', namespace: 'shop', name },
      responseStatus: { code: 200 },
      requestURI: '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web',
      requestReceivedTimestamp: '2026-11-21T08:00:00.001500Z',
      stageTimestamp: '2026-11-21T08:00:00.004750Z',
      ...more,
    });

  it('is read from its end, line by complete line, with microseconds', () => {
    const file = folder.at('audit.log');
    writeFileSync(file, `${line('before')}\n`);
    const audit = readAudit(file);
    expect(audit.next()).to.deep.equal([]);
    const text = line('ö-second');
    const bytes = Buffer.from(`${text}\n`);
    // Cut in the middle of a character.
    const cut = bytes.indexOf('ö') + 1;
    appendFileSync(file, `${line('first')}\n`);
    appendFileSync(file, bytes.subarray(0, cut));
    const [first, ...none] = audit.next();
    expect(none).to.deep.equal([]);
    expect(first?.name).to.equal('first');
    expect(first?.milliseconds).to.be.closeTo(3.25, 0.001);
    appendFileSync(file, bytes.subarray(cut));
    expect(audit.next().map(({ name }) => name)).to.deep.equal(['ö-second']);
  });

  it('leaves out dry runs and, unless asked for, other resources', () => {
    const file = folder.at('other.log');
    writeFileSync(file, '');
    const [audit, all] = [readAudit(file), readAudit(file, () => true)];
    const lines = [line('dry', { requestURI: '/apis/x?dryRun=All' }), line('pod', { objectRef: { resource: 'pods' } })];
    appendFileSync(file, `${lines.join('\n')}\n`);
    expect(audit.next()).to.deep.equal([]);
    expect(all.next().map(({ resource }) => resource)).to.deep.equal(['pods']);
  });

  it('fails where another writer writes without end', async () => {
    const endless = { next: () => [write] };
    let message = '';
    await untilQuiet(endless, 100, 200).catch((error: Error) => (message = error.message));
    expect(message).to.match(/writes of slices in 200 ms and no end/);
  });

  /** Nothing at first, then one write, then nothing; `look` is called each time, with the number of the call. */
  const late = (calls: number, look: (call: number) => void = () => undefined) => {
    let call = 0;
    return {
      next: () => {
        call += 1;
        look(call);
        return call === calls ? [write] : [];
      },
    };
  };

  it('is not quiet while the machine stands still', async () => {
    const standStill = (call: number): void => {
      if (call === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    };
    expect(await untilQuiet(late(3, standStill), 250)).to.deep.equal([write]);
  });

  it('is not quiet before what has to come has begun', async () => {
    expect(await untilQuietAfter(late(10), ({ length }) => length > 0, 100)).to.deep.equal([write]);
  });

  const said =
    'Internal error occurred: failed calling webhook "h": failed to call webhook: Post "https://h:443/?timeout=5s": ';
  const outcomes: { name: string; message: string; found: number }[] = [
    { name: 'taken', message: '', found: 0 },
    { name: 'late', message: `${said}context deadline exceeded`, found: 0 },
    { name: 'late before there was a connection', message: `${said}dial tcp 198.18.0.9:443: i/o timeout`, found: 0 },
    { name: 'nobody there', message: `${said}dial tcp 198.18.0.9:443: connect: connection refused`, found: 1 },
    { name: 'refused by somebody else', message: 'etcdserver: request timed out', found: 0 },
  ];
  for (const { name, message, found } of outcomes) {
    it(`distinguishes what a webhook refused from what was late: ${name}`, () => {
      const file = folder.at('refused.log');
      writeFileSync(file, '');
      const audit = readAudit(file);
      appendFileSync(file, `${line('web', { responseStatus: { code: 500, message } })}\n`);
      expect(refusals(audit.next())).to.have.lengthOf(found);
    });
  }
});
