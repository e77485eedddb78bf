// Holds the models of pkg/upstream against the real EndpointSlice controller and the real kube-proxies on random clusters.
//
//   E2E_SEED=<number>        repeats a run; the seed of every run is printed
//   E2E_PROXIES=1.34,1.30    versions of kube-proxy, spread over the six nodes
//   E2E_SOAK=1               ten times as many clusters
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { stringify } from 'yaml';
import { routeFor } from '../../../pkg/upstream/index.ts';
import { defaultVersion } from '../bed/binaries.ts';
import { useBed } from '../bed/index.ts';
import { randomClusters, updatesOf } from '../model-cases.ts';
import type { ClusterCase, ServiceCase } from '../model-cases.ts';
import { checkConnections, proxyKinds, proxyVersions, startFleet, startServers } from '../model-cluster.ts';
import type { FleetMember } from '../model-cluster.ts';
import type { Finding } from '../model-controller.ts';
import { type Comparison, compareCluster, compareUpdates } from '../model-judge.ts';
import { isLongForm } from '../results.ts';

const realNodes = 6;
const servicesEach = 60;
const clusters = isLongForm ? 60 : 6;
const updatedClusters = isLongForm ? 20 : 2;
const seed = Number(process.env['E2E_SEED'] ?? Date.now() % 2 ** 31);
const timeoutMs = 900_000;

const many = ['--kube-api-qps=1000', '--kube-api-burst=2000', '--max-endpoints-per-slice=4'];

describe(`models against reality (E2E_SEED=${seed})`, () => {
  const bed = useBed({ controllerManagerFlags: many });
  let fleet: FleetMember[] = [];
  let runs = 0;
  const comparison = (): Comparison => ({ bed: bed(), version: defaultVersion, fleet });

  const run = (of: Comparison, cluster: ClusterCase): Promise<(readonly Finding[])[]> =>
    compareCluster(of, `model-${++runs}`, cluster);

  /** What a Service was made of, and what was found. */
  const describeCase = ({ nodes, pods }: ClusterCase, service: ServiceCase, findings: readonly Finding[]): string => {
    const { source } = service;
    const used = source.kind === 'selector' ? source.pods.map((index) => pods[index]) : [];
    return stringify({ findings, nodes, pods: used, service });
  };

  before('six nodes with a kube-proxy each', async () => {
    fleet = await startFleet(bed(), proxyKinds(realNodes, proxyVersions(process.env)));
  });

  for (const [index, cluster] of randomClusters(seed, clusters, { realNodes, services: servicesEach }).entries()) {
    it(`cluster ${index + 1} of ${clusters}: the models agree on ${servicesEach} Services`, async function () {
      this.timeout(timeoutMs);
      const results = await run(comparison(), cluster);
      const wrong = results.flatMap((findings, position) => (findings.length > 0 ? [position] : []));
      const first = cluster.services[wrong[0] ?? -1];
      const found = results[wrong[0] ?? -1] ?? [];
      const report = first === undefined ? '' : describeCase(cluster, first, found);
      expect(report, `${wrong.length} of ${results.length} Services; the first`).to.equal('');
    });
  }

  const updated = randomClusters(seed + 1, updatedClusters, { realNodes, services: servicesEach });
  for (const [index, cluster] of updated.entries()) {
    const { start, updates } = updatesOf(cluster);
    const what = updates.map(({ name }) => name).join(', ');
    it(`cluster ${index + 1} of ${updatedClusters} that changes (${what}): the models agree after each`, async function () {
      this.timeout(timeoutMs);
      const [first, ...others] = await compareUpdates(comparison(), `update-${++runs}`, start, updates);
      const report = first === undefined ? '' : stringify(first);
      expect(report, `${others.length + 1} Services; the first`).to.equal('');
    });
  }

  describe('connections', () => {
    before('a Pod that answers on every node', () => startServers(bed(), fleet));

    for (const [index, service] of [
      {},
      {
        annotations: { 'service.kubernetes.io/topology-mode': 'example.com/nearby' },
        trafficDistribution: 'PreferClose',
      },
      { trafficDistribution: 'PreferSameZone' },
      { trafficDistribution: 'PreferSameNode' },
      { spec: { internalTrafficPolicy: 'Local' } },
    ].entries()) {
      it(`go where the model says for ${JSON.stringify(service)}`, async () => {
        expect(await checkConnections(bed(), fleet, { ...service, name: `web-${index}` })).to.deep.equal([]);
      });
    }
  });

  // Says nothing of the models, but whether this suite finds a wrong one.
  if (isLongForm)
    it('finds out a wrong model', async function () {
      this.timeout(timeoutMs);
      const [cluster] = randomClusters(7, 1, { realNodes, services: 20 });
      if (cluster === undefined) throw new Error('no cluster');
      expect((await run(comparison(), cluster)).flat(), 'by the right model').to.deep.equal([]);
      // A model that takes every kube-proxy for one of 1.30, which needs an annotation.
      const wrong: Comparison = {
        ...comparison(),
        judged: fleet.slice(0, 1),
        route: (input) => routeFor({ ...input, version: { major: 1, minor: 30 }, gates: {} }),
      };
      expect((await run(wrong, cluster)).flat(), 'by the wrong model').not.to.deep.equal([]);
    });
});
