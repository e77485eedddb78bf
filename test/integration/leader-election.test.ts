// Leader election between real processes over TLS: a crash, a theft and a clean stop, and never two leaders at once.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { LEASES } from '../../pkg/apis/resources.ts';
import type { Lease } from '../../pkg/apis/core.ts';
import { holderOf, microTime } from '../../pkg/kubernetes/lease.ts';
import { eventually } from '../fixtures/eventually.ts';
import { type TemporaryFolder, temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

const CANDIDATE = fileURLToPath(new URL('../fixtures/election-candidate.ts', import.meta.url));
const REF = { namespace: 'garden', name: 'election' };
const LEASE_MS = 6_000;
/** A Lease that does not run out however busy the machine is: who leads within it was handed the lead. */
const LONG_LEASE_MS = 600_000;
/** For a process to start or to end, and for a Lease to run out; only a machine with ten times its work needs most of it. */
const PATIENCE_MS = 100_000;

interface Note {
  readonly identity: string;
  readonly event: string;
  readonly at: number;
}

interface Term {
  readonly identity: string;
  readonly from: number;
  readonly to: number;
}

describe('leader election between processes', function () {
  this.timeout(300_000);

  let sandbox: Sandbox;
  let folder: TemporaryFolder;
  let processes: Map<string, ChildProcess>;
  /** When a process was killed: it cannot note that itself. */
  let killed: Map<string, number>;

  beforeEach(async () => {
    sandbox = await startSandbox({ endpointSliceController: false });
    sandbox.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: REF.namespace } }]);
    folder = temporaryFolder();
    processes = new Map();
    killed = new Map();
  });

  afterEach(async () => {
    for (const child of processes.values()) {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGKILL');
        await exited;
      }
    }
    await sandbox.stop();
    folder.remove();
  });

  const notes = (): Note[] => {
    const journal = folder.at('journal');
    if (!existsSync(journal)) return [];
    const lines = readFileSync(journal, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as Note);
  };
  const noted = (identity: string, event: string): Note | undefined =>
    notes().find((note) => note.identity === identity && note.event === event);

  const start = async (identity: string, leaseMs = LEASE_MS): Promise<ChildProcess> => {
    const kubeconfig = folder.write(`${identity}.kubeconfig`, sandbox.kubeconfig(identity));
    const child = spawn(process.execPath, [CANDIDATE, kubeconfig, identity, folder.at('journal'), String(leaseMs)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    processes.set(identity, child);
    await waitFor(identity, 'ready');
    return child;
  };

  const waitFor = async (identity: string, event: string): Promise<Note> => {
    await eventually(
      () => noted(identity, event) !== undefined || `${identity} ${event}; noted: ${JSON.stringify(notes())}`,
      PATIENCE_MS,
    );
    return noted(identity, event)!;
  };

  const exitOf = async (child: ChildProcess): Promise<number | null> => {
    await eventually(
      () =>
        child.exitCode !== null || child.signalCode !== null || `process still runs; noted: ${JSON.stringify(notes())}`,
      PATIENCE_MS,
    );
    return child.exitCode;
  };

  const kill = (identity: string): void => {
    processes.get(identity)?.kill('SIGKILL');
    killed.set(identity, Date.now());
  };

  /** From start to stop, to the kill, or until now. */
  const terms = (): Term[] =>
    notes()
      .filter(({ event }) => event === 'start')
      .map(({ identity, at }) => ({
        identity,
        from: at,
        to: noted(identity, 'stop')?.at ?? killed.get(identity) ?? Date.now(),
      }));

  const expectNoOverlap = (): void => {
    const all = terms().sort((a, b) => a.from - b.from);
    for (const [index, term] of all.entries()) {
      const next = all[index + 1];
      if (next === undefined) continue;
      const message = `${next.identity} began while ${term.identity} led: ${JSON.stringify(all)}`;
      expect(next.from, message).to.be.at.least(term.to);
    }
  };

  it('lets the second take over when the first is killed, and only after its lease ran out', async () => {
    await start('one');
    await waitFor('one', 'start');
    await start('two');
    // The second has seen the lease, so that its waiting starts from there.
    await eventually(
      () =>
        sandbox.requests.filter(({ user, resource }) => user === 'two' && resource === 'leases').length >= 3 ||
        'the second does not look at the lease',
    );
    expect(noted('two', 'start')).to.equal(undefined);
    const before = sandbox.get<Lease>(LEASES, REF);
    kill('one');
    const { at } = await waitFor('two', 'start');
    expect(at - Date.parse(before?.spec?.renewTime ?? ''), 'after the last renewal').to.be.at.least(LEASE_MS);
    const after = sandbox.get<Lease>(LEASES, REF);
    expect(after?.spec).to.include({
      holderIdentity: 'two',
      leaseTransitions: 1,
      leaseDurationSeconds: LEASE_MS / 1_000,
    });
    expectNoOverlap();
  });

  it('stops a leader whose lease was stolen before the other candidate can start, with a failing exit code', async () => {
    const one = await start('one');
    await waitFor('one', 'start');
    await start('two');
    const current = sandbox.get<Lease>(LEASES, REF);
    const stolenAt = Date.now();
    await sandbox.apply<Lease>({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: REF,
      spec: { ...current?.spec, holderIdentity: 'thief', renewTime: microTime(stolenAt) },
    });
    const stopped = await waitFor('one', 'stop');
    expect(await exitOf(one)).to.equal(1);
    expect(noted('one', 'lost:LeaseStolen')).not.to.equal(undefined);
    const { at } = await waitFor('two', 'start');
    expect(at).to.be.above(stopped.at);
    expect(at - stolenAt, 'a full lease after the theft').to.be.at.least(LEASE_MS);
    expectNoOverlap();
  });

  it('hands over at once when the leader is asked to stop', async () => {
    const one = await start('one', LONG_LEASE_MS);
    await waitFor('one', 'start');
    const two = await start('two', LONG_LEASE_MS);
    one.kill('SIGTERM');
    expect(await exitOf(one)).to.equal(0);
    expect(noted('one', 'stopped')).not.to.equal(undefined);
    await waitFor('two', 'start');
    expect(holderOf(sandbox.get<Lease>(LEASES, REF) ?? {})).to.equal('two');
    two.kill('SIGTERM');
    expect(await exitOf(two)).to.equal(0);
    expect(holderOf(sandbox.get<Lease>(LEASES, REF) ?? {})).to.equal('');
    expectNoOverlap();
  });

  it('stops a leader that the API server does not answer any more, before another one starts', async () => {
    const one = await start('one');
    await waitFor('one', 'start');
    await start('two');
    sandbox.addFault({ kind: 'status', match: { user: 'one' }, code: 500 });
    await waitFor('one', 'lost:RenewDeadlineExceeded');
    expect(await exitOf(one)).to.equal(1);
    await waitFor('two', 'start');
    expectNoOverlap();
  });
});
