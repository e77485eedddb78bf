// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { cachesListed } from '../../../pkg/kubernetes/freshness.ts';
import { openPorts } from '../../../pkg/telemetry/ports.ts';
import type { Ports } from '../../../pkg/telemetry/ports.ts';
import { SERVICES, NODES } from '../../../pkg/apis/resources.ts';
import { nullLogger } from '../../../pkg/telemetry/log.ts';
import { createMetrics } from '../../../pkg/telemetry/metrics.ts';
import { FREE_PORT } from '../../fixtures/controller-session.ts';
import { rejection } from '../../fixtures/eventually.ts';

describe('the ports of a command', () => {
  const opened: Ports[] = [];
  afterEach(async () => {
    for (const ports of opened.splice(0)) await ports.close();
  });

  const open = async (health = FREE_PORT, metrics = FREE_PORT): Promise<Ports> => {
    const ports = await openPorts({
      config: { health, metrics },
      liveness: [{ name: 'alive', check: () => undefined }],
      readiness: [{ name: 'ready', check: () => 'not yet' }],
      metrics: createMetrics(),
      logger: nullLogger,
    });
    opened.push(ports);
    return ports;
  };
  const answer = async ({ port }: { port: number }, path: string): Promise<[number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()];
  };

  it('serve liveness, readiness and metrics, each by itself', async () => {
    const { health, metrics } = await open();
    expect(await answer(health, '/healthz')).to.deep.equal([200, 'ok\n']);
    const [status, text] = await answer(health, '/readyz');
    expect([status, text]).to.deep.equal([503, '[-]ready failed: not yet\ncheck failed\n']);
    const [code, figures] = await answer(metrics, '/metrics');
    expect(code).to.equal(200);
    expect(figures).to.contain('process_cpu_seconds_total');
    expect((await answer(metrics, '/healthz'))[0]).to.equal(404);
  });

  it('are both free after closing', async () => {
    const { health, metrics, close } = await open();
    await close();
    for (const { port } of [health, metrics])
      expect(await rejection(fetch(`http://127.0.0.1:${port}/`))).to.be.instanceOf(TypeError);
  });

  it('are both closed where the second is taken', async () => {
    const taken = await open();
    const free = await open();
    await free.close();
    const health = { bindAddress: '127.0.0.1', port: free.health.port };
    const metrics = { bindAddress: '127.0.0.1', port: taken.metrics.port };
    expect(await rejection(open(health, metrics))).to.include({ code: 'EADDRINUSE' });
    expect(await rejection(fetch(`http://127.0.0.1:${health.port}/healthz`))).to.be.instanceOf(TypeError);
  });
});

describe('readiness by caches', () => {
  const cases = [
    { name: 'all listed', states: ['synced', 'synced'] as const, says: undefined },
    { name: 'one absent', states: ['synced', 'absent'] as const, says: undefined },
    { name: 'one not listed yet', states: ['pending', 'synced'] as const, says: 'still listing services' },
    { name: 'none listed yet', states: ['pending', 'pending'] as const, says: 'still listing services, nodes' },
  ];
  for (const { name, states, says } of cases) {
    it(`${name}: ${says ?? 'ready'}`, () => {
      const [services, nodes] = states;
      const caches = [
        { resource: SERVICES, state: services },
        { resource: NODES, state: nodes },
      ];
      expect(cachesListed(caches).check()).to.equal(says);
    });
  }
});
