// SPDX-License-Identifier: Apache-2.0
// Making a disagreement small: nothing that it needs is lost, nothing that it does not need is left.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { randomClusters } from '../../e2e/model-cases.ts';
import type { EndpointCase, ServiceCase } from '../../e2e/model-cases.ts';
import { shrink, smallerServices } from '../../e2e/model-shrink.ts';

const endpoint = (zone: string, forZones: readonly string[]): EndpointCase => ({
  zone,
  node: 0,
  ready: true,
  serving: true,
  terminating: false,
  forZones,
  forNodes: [],
});

const full: ServiceCase = {
  annotations: { 'service.kubernetes.io/topology-mode': 'Auto' },
  trafficDistribution: 'PreferClose',
  internalTrafficPolicy: 'Local',
  externalTrafficPolicy: 'Local',
  dualStack: true,
  source: { kind: 'selector', pods: [0, 1, 2, 3, 4, 5, 6], publishNotReady: true },
};

const plain = {
  annotations: {},
  trafficDistribution: undefined,
  internalTrafficPolicy: 'Cluster',
  externalTrafficPolicy: undefined,
  dualStack: false,
} as const;

const when = (fails: (service: ServiceCase) => boolean) => async (cases: readonly ServiceCase[]) => cases.map(fails);

describe('the smallest case of a disagreement', () => {
  it('keeps what it needs of a Service with Pods, and drops the rest', async () => {
    const needs = ({ source, trafficDistribution }: ServiceCase): boolean =>
      source.kind === 'selector' && source.pods.includes(5) && trafficDistribution === 'PreferClose';
    expect(await shrink(full, smallerServices, when(needs))).to.deep.equal({
      ...plain,
      trafficDistribution: 'PreferClose',
      source: { kind: 'selector', pods: [5], publishNotReady: false },
    });
  });

  it('drops slices and endpoints that were written by hand', async () => {
    const odd = endpoint('b', ['c']);
    const source = { kind: 'by hand', slices: [[endpoint('a', ['a'])], [endpoint('a', []), odd]] } as const;
    const needs = (service: ServiceCase): boolean =>
      service.source.kind === 'by hand' && service.source.slices.flat().includes(odd);
    expect(await shrink({ ...full, source }, smallerServices, when(needs))).to.deep.equal({
      ...plain,
      source: { kind: 'by hand', slices: [[odd]] },
    });
  });

  it('leaves a case alone that fails only as it is, and stops at its limit', async () => {
    expect(
      await shrink(
        full,
        smallerServices,
        when(() => false),
      ),
    ).to.equal(full);
    let rounds = 0;
    const count = async (cases: readonly number[]) => {
      rounds += 1;
      return cases.map(() => true);
    };
    expect(await shrink<number>(0, (of) => [of + 1], count, 5)).to.equal(5);
    expect(rounds).to.equal(5);
  });
});

describe('random clusters', () => {
  it('are the same for the same seed, and have what the models decide on', () => {
    const [some, again] = [1, 2].map(() => randomClusters(5, 4, { realNodes: 6, services: 60 }));
    expect(some).to.deep.equal(again);
    const services = some!.flatMap((cluster) => cluster.services);
    expect(services).to.have.lengthOf(240);
    const kinds = new Set(services.map(({ source }) => source.kind));
    expect([...kinds].sort()).to.deep.equal(['by hand', 'selector']);
    for (const value of ['PreferClose', 'PreferSameZone', 'PreferSameNode', undefined]) {
      expect(
        services.some(({ trafficDistribution }) => trafficDistribution === value),
        `${value}`,
      ).to.equal(true);
    }
    const endpoints = services.flatMap(({ source }) => (source.kind === 'by hand' ? source.slices.flat() : []));
    for (const key of ['ready', 'serving', 'terminating', 'zone', 'node'] as const) {
      expect(
        endpoints.some((item) => item[key] === undefined),
        `${key} left out`,
      ).to.equal(true);
    }
    expect(endpoints.some(({ forNodes }) => forNodes.length > 0)).to.equal(true);
  });
});
