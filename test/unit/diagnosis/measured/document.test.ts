import { expect } from 'chai';
import { describe, it } from 'mocha';
import { isTraffic, parseTraffic, trafficDocument } from '../../../../pkg/diagnosis/measured.ts';
import type { Fields } from '../../../../pkg/apis/values.ts';
import { flow, measured } from '../../../fixtures/measured.ts';

const parsed = (object: unknown): unknown => parseTraffic(JSON.parse(JSON.stringify(object)) as Fields);

describe('measured traffic in a file', () => {
  const traffic = measured([flow('shop/web', 'a', 'b', 5), flow('', 'a', 'external', 0, null)], {
    notes: ['one is missing'],
    direct: {
      nodes: 2,
      seconds: 60,
      flows: [{ service: 'shop/web', source: 'a', destination: 'b', connections: 0.5 }],
    },
  });

  it('is read back as it was written', () => {
    expect(isTraffic(trafficDocument(traffic))).to.equal(true);
    expect(parsed(trafficDocument(traffic))).to.deep.equal(traffic);
  });

  const wrong: readonly (readonly [path: string, change: object])[] = [
    ['by', { by: '' }],
    ['seconds', { seconds: -1 }],
    ['flows', { flows: {} }],
    ['flows 0 service', { flows: [{}] }],
    ['flows 0 connections', { flows: [{ ...traffic.flows[0], connections: 'many' }] }],
    ['flows 0 responseBytes', { flows: [{ ...traffic.flows[0], responseBytes: -5 }] }],
    ['flows 0 requestBytes', { flows: [{ ...traffic.flows[0], requestBytes: 1e308 }] }],
    ['notes 0', { notes: [1] }],
    ['direct nodes', { direct: {} }],
    ['direct flows 0 connections', { direct: { ...traffic.direct, flows: [flow('', 'a', 'b', 0, null)] } }],
  ];
  for (const [path, change] of wrong) {
    it(`names the field that is wrong: ${path}`, () => {
      expect(() => parsed({ ...trafficDocument(traffic), ...change }))
        .to.throw()
        .with.property('path')
        .that.deep.equals(path.split(' ').map((step) => (/^\d+$/.test(step) ? Number(step) : step)));
    });
  }
});
