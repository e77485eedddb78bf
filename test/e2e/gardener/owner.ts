// gardenlet and gardener-operator as writers: Gardener's own component packages, each call one step of a flow (hack/gardener/owner).
import { mastersGroup } from '../bed/access.ts';
import type { Bed } from '../bed/index.ts';
import { run } from '../bed/machine.ts';
import { builtProgram } from '../built.ts';

export interface DeployOptions {
  readonly namespace: string;
  /** Whether it routes by zone. */
  readonly enabled: boolean;
  /** What it takes the version of the runtime cluster to be. Default `1.36.3`. */
  readonly runtime?: string;
  /** Bound of the component's own Wait. Default: it does not wait. */
  readonly waitSeconds?: number;
}

/** How long a component's Deploy and its Wait took, in milliseconds. */
export interface Deployed {
  readonly deployMs: number;
  readonly waitMs: number;
}

export interface Owner {
  /** Its name in the audit log. */
  readonly user: string;
  /**
   * One component's Deploy, and its Wait where asked.
   *
   * @param component the Service's name in the catalogue.
   * @throws CommandError with Gardener's words, for example those of its Wait.
   */
  deploy(component: string, options: DeployOptions): Promise<Deployed>;
  /** Writes objects.yaml, tls.crt and tls.key of etcd-druid, as gardenlet installs it, to a folder. */
  describeDruid(folder: string): Promise<void>;
}

const PROGRAM = 'gardener/owner/owner';
export const RUNTIME = '1.36.3';

/**
 * Gardener's own words on something that needs no cluster.
 *
 * @param input a file for its standard input. Default: nothing.
 */
export const askGardener = (args: readonly string[], input = '/dev/null'): Promise<string> =>
  run('sh', ['-c', 'input=$1; shift; exec "$0" "$@" <"$input"', builtProgram(PROGRAM), input, ...args]);

/** @param user `gardenlet` for control planes of Shoots, `gardener-operator` for the garden. */
export const openOwner = async (bed: Bed, user: 'gardenlet' | 'gardener-operator'): Promise<Owner> => {
  const name = `system:serviceaccount:garden:${user}`;
  const kubeconfig = await bed.kubeconfig({ user: name, groups: [mastersGroup] });
  const [enter, ...prefix] = bed.enter;
  const call = (...args: string[]): Promise<string> =>
    run(enter, [...prefix, builtProgram(PROGRAM), ...args, '--kubeconfig', kubeconfig]);
  return {
    user: name,
    async deploy(component, { namespace, enabled, runtime = RUNTIME, waitSeconds = 0 }) {
      const flags = [
        '--namespace',
        namespace,
        '--runtime',
        runtime,
        `--enabled=${enabled}`,
        '--wait',
        `${waitSeconds}s`,
      ];
      return JSON.parse(await call('deploy', component, ...flags)) as Deployed;
    },
    describeDruid: async (folder) => void (await call('druid', '--folder', folder, '--runtime', RUNTIME)),
  };
};
