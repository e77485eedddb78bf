import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { HEARTBEAT_LEASE } from '../../../../pkg/apis/names.ts';
import { LEASES } from '../../../../pkg/apis/resources.ts';
import { runHeartbeat } from '../../../../pkg/controllers/heartbeat/heartbeat.ts';
import type { Lease } from '../../../../pkg/apis/core.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { type Before, type MemoryServer, createMemoryServer } from '../../../fixtures/memory-client.ts';
import { type RecordingLogger, recordingLogger } from '../../../fixtures/recording-logger.ts';

const REF = { namespace: 'extension-tar', name: HEARTBEAT_LEASE };
const lease = (spec: Lease['spec']): Lease => ({ metadata: { ...REF }, ...(spec === undefined ? {} : { spec }) });

describe('the heartbeat', () => {
  let server: MemoryServer;
  let clock: FakeClock;
  let log: RecordingLogger;
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    server = createMemoryServer();
    clock = createFakeClock();
    log = recordingLogger();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.pending, 'timers after the end').to.equal(0);
  });

  const start = async (before?: Before): Promise<void> => {
    const options = {
      client: server.client(before),
      namespace: REF.namespace,
      extension: 'tar',
      renewIntervalSeconds: 30,
    };
    running = runHeartbeat({ ...options, clock, logger: log }, stop.signal);
    await clock.settle();
  };
  const spec = (): Lease['spec'] => server.read<Lease>(LEASES, REF)?.spec;

  it('renews what another process made in the same moment', async () => {
    await start(({ verb }) => {
      if (verb === 'create') server.put(LEASES, lease({ renewTime: 'before' }));
    });
    expect(spec()?.renewTime).to.equal('2026-01-01T00:00:00.000000Z');
  });
});
