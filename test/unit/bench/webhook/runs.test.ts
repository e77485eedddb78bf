// SPDX-License-Identifier: Apache-2.0
// Several runs of the webhook benchmark become one table of CPU time: medians with the least and the most.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { calibrate } from '../../../bench/calibration.ts';
import { runOf, runsMarkdown } from '../../../bench/webhook/runs.ts';
import type { WebhookRun } from '../../../bench/webhook/runs.ts';
import type { WebhookResults } from '../../../bench/webhook/types.ts';

const MIB = 2 ** 20;

const run = (at: string, own: number, bare: number, go: number | undefined, resident: number): WebhookRun => ({
  at,
  node: '24.0.0',
  cpu: 'a processor',
  loadAverage: { begin: 1, end: 2 },
  calibrationMs: { begin: 100, end: 110 },
  cells: [
    {
      scenario: 'write',
      endpoints: 3,
      cpuMicroseconds: { webhook: own, bare, ...(go === undefined ? {} : { go }) },
      residentBytes: { webhook: resident * MIB, bare: 90 * MIB, ...(go === undefined ? {} : { go: 30 * MIB }) },
    },
  ],
});

describe('runs of the webhook benchmark', () => {
  it('show the median and the spread of CPU time, ratios run by run, and the most memory of all', () => {
    const runs = [
      run('2026-01-01T10:00:00.000Z', 60, 40, 240, 100),
      run('2026-01-02T10:00:00.000Z', 90, 50, 300, 120),
      run('2026-01-03T10:00:00.000Z', 50, 45, undefined, 110),
    ];
    const text = runsMarkdown(runs);
    expect(text).to.contain('of 3 runs: median');
    expect(text).to.match(
      /\| 3, hints to write \| \*\*endpointslice-webhook\*\* \| 60 \(50 to 90\) \| 3\.7 \(3\.3 to 4\) \| 0\.67 \(0\.56 to 0\.9\) \| 120 MB \|/,
    );
    expect(text).to.match(/\| 3, hints to write \| Go \| 270 \(240 to 300\) \| 1 \|/);
    expect(text).to.contain('| 2026-01-02 10:00 | a processor | 100 / 110 ms | 1 / 2 |');
  });

  it('show one figure where there is one run', () => {
    expect(runsMarkdown([run('2026-01-01T10:00:00.000Z', 60, 40, 240, 100)])).to.match(
      /endpointslice-webhook\*\* \| 60 \| 4 \|/,
    );
  });

  it('keep CPU time for each answer, and the speed of the machine', () => {
    const measurement = { requestsPerCpuSecond: 20_000, residentBytes: 5 };
    const results = {
      environment: { node: '24.0.0', cpu: 'a processor', loadAverage: { begin: 1, end: 2 } },
      calibrationMs: { begin: 100, end: 110 },
      cells: [{ scenario: 'keep', endpoints: 3, measurements: { webhook: measurement } }],
    } as unknown as WebhookResults;
    const { cells, calibrationMs } = runOf(results, '2026-01-01T10:00:00.000Z');
    expect(cells[0]?.cpuMicroseconds).to.deep.equal({ webhook: 50 });
    expect(calibrationMs).to.deep.equal({ begin: 100, end: 110 });
  });

  it('know the speed of the machine by CPU time that fixed work takes', () => {
    expect(calibrate(2)).to.be.above(0);
  });
});
