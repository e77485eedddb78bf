// Breaks the control plane under both commands, changes shoots meanwhile, and compares with a shoot that nothing happened to.
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { useBed } from '../bed/index.ts';
import { is, waitFor } from '../bed/machine.ts';
import { type Probes, startProbes, untruths } from '../faults-checks.ts';
import { type Installed, SCALE, type ShootHandle, changeShoot, createShoot, install } from '../faults-world.ts';
import { supervise } from '../kubelet.ts';

const FROZEN_MS = 30_000;
const OUTAGES = ['killed', 'frozen', 'etcd'] as const;
type Outage = (typeof OUTAGES)[number];

describe('recovery of both commands', () => {
  let installed: Installed;
  let restarts: ReadonlyMap<string, number>;
  let probes: Probes;
  const bed = useBed();
  const shoots = new Map<Outage, ShootHandle>();
  let undisturbed: string;

  const textOf = async (shoot: ShootHandle): Promise<string> =>
    JSON.stringify(await shoot.state(), undefined, 1).replaceAll(shoot.name, 'shoot');

  /** Waits until the shoot is as the undisturbed one, and says how long that took. */
  const expectUndisturbed = async (outage: Outage): Promise<void> => {
    const start = performance.now();
    const shoot = shoots.get(outage) as ShootHandle;
    await waitFor(`${outage}: as undisturbed`, () => textOf(shoot), is(undisturbed), {
      timeoutSeconds: 120,
      intervalMs: 250,
    });
    console.log(
      `      as undisturbed ${((performance.now() - start) / 1_000).toFixed(1)} s after the end of the fault`,
    );
  };
  const names = (of: readonly { readonly component: { readonly name: string } }[]): string[] =>
    of.map(({ component }) => component.name);
  /**
   * Webhooks notice nothing. A reconciler says so too, except that its leader ends when the outage lasts longer than its
   * Lease allows, as it does on a slow machine; the next process is not ready before its caches are filled.
   */
  const expectTruth = (from: number): void => {
    for (const name of names(installed.webhooks)) {
      expect(probes.answers(name, '/healthz', from), `${name} /healthz`).to.deep.equal(['yes']);
      expect(probes.answers(name, '/readyz', from), `${name} /readyz`).to.deep.equal(['yes']);
    }
    expect(untruths(probes.seen.filter(({ at }) => at >= from))).to.deep.equal([]);
  };
  const outage = (name: Outage): Promise<void> => changeShoot(shoots.get(name) as ShootHandle);

  before('two replicas each, and a shoot for every fault', async () => {
    installed = await install(bed());
    const { client } = installed.world;
    const calm = await createShoot(client, 'shoot--calm', 1_000);
    for (const [index, name] of OUTAGES.entries())
      shoots.set(name, await createShoot(client, `shoot--${name}`, 2_000 + index * 100));
    await changeShoot(calm);
    const routed = SCALE.services - 1;
    await waitFor(
      'the calm shoot routes by zone',
      () => textOf(calm),
      (text) => text.split('"trafficDistribution": "PreferSameZone"').length === routed + 1,
    );
    // Kubernetes' controllers write as well, and try again after one, two and four seconds.
    let since = performance.now();
    await waitFor(
      'nothing changes any more',
      async () => {
        const text = await textOf(calm);
        if (text !== undisturbed) since = performance.now();
        undisturbed = text;
        return performance.now() - since;
      },
      (unchangedMs) => unchangedMs > 6_000,
      { intervalMs: 250 },
    );
    expect(undisturbed.split('forZones').length, 'endpoints with hints').to.be.above(routed * (SCALE.pods - 2));
    restarts = supervise(installed.programs.map(({ component }) => component));
    probes = startProbes(installed.programs);
  });

  for (const [what, program, name, awayMs] of [
    ['kube-apiserver killed: both stay alive and ready, and go on with the next one', 'apiServer', 'killed', 3_000],
    ['etcd restarted: both stay alive and ready', 'etcd', 'etcd', 2_000],
  ] as const)
    it(what, async () => {
      const from = performance.now();
      const killed = bed().controlPlane[program];
      await killed.kill();
      const changes = outage(name);
      await pause(awayMs);
      killed.start();
      await bed().ready();
      await changes;
      await expectUndisturbed(name);
      expectTruth(from);
    });

  it('kube-apiserver frozen for 30 s: the leader ends, is started again and is ready when its caches are', async () => {
    const from = performance.now();
    const earlier = new Map(restarts);
    const { apiServer } = bed().controlPlane;
    apiServer.signal('SIGSTOP');
    await pause(FROZEN_MS);
    apiServer.signal('SIGCONT');
    await outage('frozen');
    await expectUndisturbed('frozen');
    expectTruth(from);
    const restarted = names(installed.reconcilers).filter(
      (name) => (restarts.get(name) ?? 0) > (earlier.get(name) ?? 0),
    );
    expect(restarted, 'reconcilers that were started again').not.to.deep.equal([]);
    for (const name of restarted) expect(probes.answers(name, '/readyz', from), name).to.include('no');
  });
});
