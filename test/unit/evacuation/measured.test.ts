// SPDX-License-Identifier: Apache-2.0
// Tests of the condition that says what clients measure of an evacuated zone.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { measuredCondition } from '../../../pkg/evacuation/measured.ts';
import type { Arrivals, Measurement, Unit } from '../../../pkg/evacuation/measured.ts';

const values = (name: string, unit: Unit, found: Readonly<Record<string, number>>): Measurement => ({
  name,
  unit,
  found: new Map(Object.entries(found)),
});
const failed = (name: string, failure: string): Measurement => ({ name, unit: 'None', found: { failure } });

describe('the condition Measured', () => {
  const cases: {
    name: string;
    measurements?: Measurement[];
    arrivals?: Arrivals;
    status?: 'True' | 'Unknown';
    message: string;
  }[] = [
    {
      name: 'compares the zone with the worst of the others, in the unit of each measurement',
      measurements: [
        values('errors', 'Ratio', { a: 0.0412, b: 0.001, c: 0.0031 }),
        values('p99', 'Seconds', { a: 1.24, b: 0.0541, c: 0.05 }),
        values('requests', 'PerSecond', { a: 120.4, b: 1000 }),
        values('queue', 'None', { a: 3, b: 0 }),
      ],
      message:
        'errors: 4.1 % in a, at most 0.31 % elsewhere (c); p99: 1.2 s in a, at most 54 ms elsewhere (b); ' +
        'requests: 120 a second in a, at most 1000 a second elsewhere (b); queue: 3 in a, at most 0 elsewhere (b)',
    },
    {
      name: 'says that a zone without traffic has no sample',
      measurements: [values('errors', 'Ratio', { b: 0.001 })],
      message: 'errors: no sample of a, at most 0.1 % elsewhere (b)',
    },
    {
      name: 'says that no other zone has a sample',
      measurements: [values('errors', 'Ratio', { a: 0 })],
      message: 'errors: 0 % in a, no sample elsewhere',
    },
    {
      name: 'holds where one of two measurements can be read, and names the failure of the other',
      measurements: [failed('errors', 'no answer within 8 s'), values('p99', 'Seconds', { a: 2 })],
      message: 'errors: no answer within 8 s; p99: 2 s in a, no sample elsewhere',
    },
    {
      name: 'is Unknown where nothing can be read',
      measurements: [failed('errors', 'status 503')],
      arrivals: { failure: 'no Pod is a meter' },
      status: 'Unknown',
      message: 'errors: status 503; traffic-meters: no Pod is a meter',
    },
    {
      name: 'has the new connections that the meters count',
      arrivals: { text: 'new connections to a: 2 a second' },
      message: 'new connections to a: 2 a second',
    },
  ];
  for (const { name, measurements = [], arrivals, status = 'True', message } of cases)
    it(name, () => {
      const reason = status === 'True' ? 'Measured' : 'CannotMeasure';
      expect(measuredCondition('a', measurements, arrivals)).to.deep.equal({ status, reason, message });
    });

  it('keeps its words while values differ by noise alone', () => {
    const of = (value: number) => measuredCondition('a', [values('errors', 'Ratio', { a: value })], undefined).message;
    expect(of(0.04121)).to.equal(of(0.04139));
  });
});
