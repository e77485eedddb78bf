// SPDX-License-Identifier: Apache-2.0
// What the nodes reported, as a source of metrics sees it: served requests over a window that is over.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { TrafficReport } from '../../e2e/closed-loop-protocol.ts';
import { createRecorder } from '../../e2e/closed-loop-recorder.ts';

const second = (zone: string, at: number, served?: number): TrafficReport => ({
  zone,
  second: at,
  lateMs: 0,
  clients: {},
  pods: served === undefined ? {} : { web: { service: 'web', served, refused: 0, filled: 0 } },
});

describe('the recorder', () => {
  it('gives the mean of a window, and when it ended', () => {
    const recorder = createRecorder();
    for (const [at, served] of [90, 10, 20, 30, 90].entries()) recorder.add(second('a', at, served));
    expect(recorder.served('a', 'web', 3, 4)).to.deep.equal({ requestsPerSecond: 20, endsAt: 4 });
  });

  it('counts a second without the Pod as none served', () => {
    const recorder = createRecorder();
    recorder.add(second('a', 0, 30));
    recorder.add(second('a', 1));
    expect(recorder.served('a', 'web', 2, 2)?.requestsPerSecond).to.equal(15);
  });

  it('knows nothing before the window is full, or of a zone that never reported', () => {
    const recorder = createRecorder();
    recorder.add(second('a', 0, 30));
    expect(recorder.served('a', 'web', 2, 1)).to.equal(undefined);
    expect(recorder.served('b', 'web', 1, 1)).to.equal(undefined);
  });

  it('gives the reports of all zones between two seconds', () => {
    const recorder = createRecorder();
    for (const zone of ['a', 'b']) for (const at of [1, 2, 3, 4]) recorder.add(second(zone, at));
    expect(recorder.between(2, 4).map(({ zone, second: at }) => `${zone}${at}`)).to.deep.equal([
      'a2',
      'a3',
      'b2',
      'b3',
    ]);
    expect(recorder.newest('b')).to.equal(4);
    expect(recorder.newest('c')).to.equal(undefined);
  });

  it('knows the newest of every Pod’s own counter', () => {
    const recorder = createRecorder();
    recorder.count({ zone: 'a', served: { web: 5, api: 1 } });
    recorder.count({ zone: 'a', served: { web: 9 } });
    expect(recorder.total('web')).to.equal(9);
    expect(recorder.total('api')).to.equal(1);
    expect(recorder.total('other')).to.equal(undefined);
  });
});
