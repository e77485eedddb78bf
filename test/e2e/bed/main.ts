// Command line of the bed: starts one to look around in, lists and removes beds, runs a program in a namespace.
import { once } from 'node:events';
import { Command } from 'commander';
import { mastersGroup } from './access.ts';
import { defaultVersion } from './binaries.ts';
import { startBed } from './index.ts';
import { listBeds, reapBeds, runIsolated } from './state.ts';

const zoneNames = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

interface UpOptions {
  readonly nodes: string;
  readonly zones: string;
  readonly kubernetes: string;
}

const up = async ({ nodes, zones, kubernetes }: UpOptions): Promise<void> => {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const bed = await startBed({ version: kubernetes, signal: stop.signal });
  try {
    for (let index = 0; index < Number(nodes); index++) {
      const zone = zoneNames[index % Number(zones)] ?? 'a';
      await bed.node({ name: `node-${zone}${Math.floor(index / Number(zones)) + 1}`, zone });
    }
    const kubeconfig = await bed.kubeconfig({ user: 'admin', groups: [mastersGroup] });
    console.log(`Kubernetes ${kubernetes} with ${nodes} nodes is up.`);
    console.log(`kubeconfig: ${kubeconfig}`);
    console.log(`logs:       ${bed.directory}/logs`);
    console.log(`look in:    ${bed.enter.join(' ')} env KUBECONFIG=${kubeconfig} ${bed.binaries('kubectl')} get nodes`);
    console.log('It ends with Ctrl-C.');
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
  } finally {
    await bed.stop();
  }
};

const list = (): void => {
  for (const { id, directory, owned, state } of listBeds())
    console.log(`${id}  ${owned ? `owner ${state.owner.pid}` : 'abandoned'}  ${directory}`);
};

const reap = async (): Promise<void> => {
  const removed = await reapBeds();
  console.log(`Removed ${removed.length} abandoned beds. ${removed.join(' ')}`);
};

const program = new Command('bed').description('A real Kubernetes on one machine, for tests');
program
  .command('up')
  .description('start a bed and keep it until Ctrl-C')
  .option('--nodes <count>', 'how many nodes', '6')
  .option('--zones <count>', 'over how many zones they are spread', '3')
  .option('--kubernetes <version>', 'a folder of hack/kubernetes', defaultVersion)
  .action(up);
program.command('list').description('show the beds of this machine').action(list);
program.command('reap').description('remove beds whose owner is gone').action(reap);
program
  .command('isolate <program> [arguments...]')
  .description('run a program in a network namespace of its own, in which it may start a bed')
  .action(async (name: string, args: string[]) => {
    process.exitCode = await runIsolated([name, ...args]);
  });
await program.parseAsync();
