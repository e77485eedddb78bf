// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Environment } from '../../bench/environment.ts';
import { formatScaleCost, formatShoots, mergeScaleCost, mergeShoots } from '../../e2e/scale-figures.ts';
import type { ControllerPhase, ScaleCost, ShootsStep, StepCost } from '../../e2e/scale-figures.ts';

const environment: Environment = {
  date: '2026-11-23',
  node: '24.0.0',
  v8: '13.6',
  kernel: '6.1',
  cpu: 'a processor',
  cores: 2,
  memoryGib: 24,
  loadAverage: { begin: 1, end: 2 },
};

const phase = (name: string): ControllerPhase => ({
  name,
  seconds: 10,
  cpuSeconds: 5,
  peakBytes: 300_000_000,
  writes: { 'patch endpointslices': 1_200 },
  health: { asked: 9, slowestSeconds: 1.5, failed: 1 },
  leaseGapSeconds: 2.5,
  load: 3,
});

const step = (nodes: number, flow: readonly ControllerPhase[] = [phase('steady')]): StepCost => ({
  nodes,
  services: 2 * nodes,
  environment,
  commands: [],
  flow,
});

const costOf = (...steps: StepCost[]): ScaleCost => ({ endpointsPerService: 15, steps });

describe('results of the suite scale, a size at a time', () => {
  it('keeps the sizes that a run leaves out, in order', () => {
    const merged = mergeScaleCost(costOf(step(5_000), step(500)), costOf(step(2_000)));
    expect(merged.steps.map(({ nodes }) => nodes)).to.deep.equal([500, 2_000, 5_000]);
  });

  it('replaces a size that was measured again', () => {
    const merged = mergeScaleCost(costOf(step(500)), costOf(step(500, [phase('start')])));
    expect(merged.steps.map(({ flow }) => flow.map(({ name }) => name))).to.deep.equal([['start']]);
  });

  it('keeps the flow-controller of a size whose commands alone were measured again', () => {
    const merged = mergeScaleCost(costOf(step(500)), costOf(step(500, [])));
    expect(merged.steps[0]?.flow).to.have.lengthOf(1);
  });

  it('shows size, cores, health and the Lease of each phase', () => {
    const row = formatScaleCost(costOf(step(2_000)))
      .split('\n')
      .find((line) => line.startsWith('| steady'));
    expect(row).to.equal(
      '| steady | 2,000 / 4,000 / 60,000 | 10 s | 5 s | 0.5 | – | 286 MB | 1.5 s, 1 of 9 over 1 s | 2.5 s | 1,200 × patch endpointslices | 3 |',
    );
  });
});

describe('results of the suite scale-shoots', () => {
  const shootsStep = (shoots: number, name: string): ShootsStep => ({
    shoots,
    changing: 4 * shoots,
    environment,
    phases: [phase(name)],
  });

  it('keep other numbers of shoots, in order, and replace one that was measured again', () => {
    const known = [shootsStep(10_000, 'before'), shootsStep(1_000, 'before')];
    const merged = mergeShoots(known, shootsStep(10_000, 'now'));
    expect(merged.map(({ shoots, phases }) => [shoots, phases[0]?.name])).to.deep.equal([
      [1_000, 'before'],
      [10_000, 'now'],
    ]);
  });

  it('show how many writes a second there were', () => {
    expect(formatShoots([shootsStep(1_000, 'on')])).to.match(/^\| on \| 1,000 \/ 4,000 .* \| 120 \|$/m);
  });
});
