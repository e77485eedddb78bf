// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CONNECTIONS, prepareLoad, ratiosToGo } from '../../../bench/webhook/cell.ts';
import { sumCounters } from '../../../bench/webhook/servers.ts';
import type { Measurement } from '../../../bench/webhook/types.ts';

const measurement = (requestsPerSecond: number, requestsPerCpuSecond: number, p99Ms: number): Measurement => ({
  requestsPerSecond,
  requestsPerCpuSecond,
  p50Ms: 1,
  p99Ms,
  residentBytes: 1,
  peakBytes: 1,
  serverCpuShare: 1,
  loadCpuShare: 0.5,
  logLinesPerAnswer: 1,
  metricsCounted: 1,
  answers: 1,
  rounds: { requestsPerSecond: [], p99Ms: [] },
});

describe('bench/webhook/cell', () => {
  it('compares everything with the Go program, itself included', () => {
    const ratios = ratiosToGo({ webhook: measurement(900, 1_000, 5), go: measurement(300, 250, 20) });
    expect(ratios.webhook).to.deep.equal({ requestsPerSecond: 3, requestsPerCpuSecond: 4, p99Ms: 0.25 });
    expect(ratios.go).to.deep.equal({ requestsPerSecond: 1, requestsPerCpuSecond: 1, p99Ms: 1 });
  });

  it('compares nothing where the Go program is missing', () => {
    expect(ratiosToGo({ webhook: measurement(1, 1, 1) })).to.deep.equal({});
  });

  it('prepares another request for each connection, its body as long as it says', () => {
    const loads = prepareLoad(3, 'write');
    expect(loads).to.have.length(CONNECTIONS);
    expect(new Set(loads.map(({ request }) => request.toString())).size).to.equal(CONNECTIONS);
    for (const { request, payload } of loads) {
      const [head, body] = request.toString().split('\r\n\r\n');
      expect(head).to.include(`Content-Length: ${Buffer.byteLength(body!)}`);
      expect(JSON.parse(body!)).to.deep.equal(payload.review);
    }
  });
});

describe('bench/webhook/servers', () => {
  it('adds up the admission requests that a program published', () => {
    const ours =
      'topology_aware_routing_admission_duration_seconds_count{path="/a",outcome="patched"} 40\n' +
      'topology_aware_routing_admission_duration_seconds_count{path="/a",outcome="unchanged"} 2\n' +
      'topology_aware_routing_admission_duration_seconds_sum{path="/a",outcome="patched"} 0.5\n';
    const go =
      'controller_runtime_webhook_requests_total{code="200",webhook="/a"} 1.5e+03\n' +
      'controller_runtime_webhook_requests_total{code="500",webhook="/a"} 0\n';
    expect(sumCounters(ours)).to.equal(42);
    expect(sumCounters(go)).to.equal(1_500);
    expect(sumCounters('process_cpu_seconds_total 3\n')).to.equal(0);
  });
});
