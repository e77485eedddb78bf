// Cilium on Nodes of a bed: its load-balancer control plane (the `repl` of its module) fills maps of the kernel from the bed's API server,
// and its eBPF program, compiled from the same module, stands before the connections of one process on each.
//
// Not Cilium's: who gives the control plane its Node's zone. The agent copies it from the Node; here it is written to the same table.
import { mkdirSync, openSync, readFileSync, readdirSync, rmdirSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { mastersGroup } from '../bed/access.ts';
import { startAgent } from '../bed/agent-client.ts';
import { builtProgram } from '../bed/binaries.ts';
import type { Bed, BedNode } from '../bed/index.ts';
import { enterPrefix, run, waitFor } from '../bed/machine.ts';
import { moduleOf } from './cilium.ts';

/** The module that hack/planes/cilium-1.19 builds from. */
export const RELEASE = '1.19.5';
const REPL = 'planes/cilium-1.19/repl';

/** As Cilium's agent compiles it for a Node of both families; this takes a second. */
const FLAGS = [
  '-O2 -g --target=bpf -mcpu=v3 -std=gnu99 -nostdinc -ftrap-function=__undefined_trap -w -D__NR_CPUS__=64',
  '-DENABLE_IPV4=1 -DENABLE_IPV6=1 -DENABLE_NODEPORT=1 -DENABLE_SOCKET_LB_FULL=1 -DENABLE_SOCKET_LB_PEER=1',
].flatMap((line) => line.split(' '));

/** The agent's default where a Service has no endpoint: connections fail at once. */
const SOURCE = '#include "bpf_sock.c"\nASSIGN_CONFIG(bool, enable_no_service_endpoints_routable, true)\n';

/** Writes the object file into the folder. */
export const compileSocketProgram = async (folder: string): Promise<string> => {
  const sources = join(await moduleOf(RELEASE), 'bpf');
  const [file, object] = [join(folder, 'socket.c'), join(folder, 'socket.o')];
  writeFileSync(file, SOURCE);
  await run('clang-19', [...FLAGS, `-I${sources}`, `-I${join(sources, 'include')}`, '-c', file, '-o', object]);
  return object;
};

const PREFIX = 'topology-planes-';

/** Where cgroups of version 2 are; programs are attached to new ones below it, never to the root itself. */
const cgroups = (): string => {
  const mounted = /^\S+ (\S+) cgroup2 /m.exec(readFileSync('/proc/mounts', 'utf8'))?.[1];
  if (mounted === undefined) throw new Error('no cgroup2 is mounted');
  return mounted;
};

/** The kernel lets go of programs and maps with the last cgroup that they are attached to. One with processes stays: it is in use. */
export const removeLeftCgroups = (): void => {
  for (const name of readdirSync(cgroups()).filter((one) => one.startsWith(PREFIX))) {
    try {
      rmdirSync(join(cgroups(), name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    }
  }
};

/** Maps that the program takes from the control plane, by the 15 characters of a name that the kernel keeps. */
const SHARED = ['services_v2', 'backends_v3'].flatMap((name) => [`cilium_lb4_${name}`, `cilium_lb6_${name}`]);
const kept = (name: string): string => name.slice(0, 15);

/** Their ids, by name, once the process has made them. */
const mapsOf = (pid: number): Promise<ReadonlyMap<string, string>> =>
  waitFor(
    `maps of process ${pid}`,
    async () => {
      const folder = `/proc/${pid}/fdinfo`;
      const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
      const own = new Set(texts.map((text) => /^map_id:\s*(\d+)$/m.exec(text)?.[1]));
      const all = JSON.parse(await run('bpftool', ['-j', 'map', 'show'])) as { id: number; name?: string }[];
      const named = new Map(all.filter(({ id }) => own.has(`${id}`)).map(({ id, name = '' }) => [name, `${id}`]));
      return new Map(SHARED.map((name) => [name, named.get(kept(name)) ?? '']));
    },
    (found) => [...found.values()].every((id) => id !== ''),
  );

/** In a mount namespace of its own: what it pins is gone with it, and only the cgroup keeps the programs. */
const ATTACH = `
mount -t bpf none /sys/fs/bpf
object=$1 cgroup=$2 && shift 2
mkdir /sys/fs/bpf/programs
bpftool prog loadall "$object" /sys/fs/bpf/programs "$@"
for family in 4 6; do bpftool cgroup attach "$cgroup" "connect$family" pinned "/sys/fs/bpf/programs/cil_sock\${family}_connect"; done
`;
const PRIVATE = ['unshare', '--mount', 'sh', '-ec'] as const;

export interface CiliumNode {
  readonly node: BedNode;
  /** The same with another agent: its connections, and no others, go where Cilium says. */
  readonly client: BedNode;
  /** Removes the programs from the kernel; the control plane ends with the bed. */
  end(): Promise<void>;
}

const startControlPlane = async (bed: Bed, { name, zone, namespace }: BedNode): Promise<number> => {
  const folder = join(bed.directory, `cilium-${name}`);
  mkdirSync(folder);
  const [commands, local] = [join(folder, 'commands'), join(folder, 'node.yaml')];
  await run('mkfifo', [commands]);
  const labels = zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone };
  writeFileSync(local, JSON.stringify({ node: { name, labels }, local: {} }));
  const kubeconfig = await bed.kubeconfig({ user: 'cilium', groups: [mastersGroup] });
  const start = 'mount -t bpf none /sys/fs/bpf && exec "$@" <"$0"';
  const program = bed.program({
    name: `cilium-${name}`,
    command: [
      ...enterPrefix(namespace),
      ...PRIVATE,
      start,
      commands,
      builtProgram(REPL),
      `--k8s-kubeconfig-path=${kubeconfig}`,
      '--enable-service-topology',
    ],
    environment: { K8S_NODE_NAME: name },
  });
  // Open for reading too, it can be opened at once, and its reader never sees its end.
  const script = openSync(commands, 'r+');
  program.start();
  writeSync(script, `hive/start\ndb/insert local-node ${local}\n`);
  return program.pid ?? 0;
};

/** Puts Cilium in the place of a Node's kube-proxy, which ends with its rules. */
export const startCilium = async (bed: Bed, node: BedNode, object: string): Promise<CiliumNode> => {
  await node.proxy.stop();
  await run('nsenter', [...enterPrefix(node.namespace).slice(1), 'nft', 'flush', 'ruleset']);
  const maps = await mapsOf(await startControlPlane(bed, node));
  const cgroup = join(cgroups(), `${PREFIX}${bed.id}-${node.name}`);
  mkdirSync(cgroup);
  const shared = [...maps].flatMap(([name, id]) => ['map', 'name', name, 'id', id]);
  const [program, ...first] = PRIVATE;
  await run(program, [...first, ATTACH, 'sh', object, cgroup, ...shared]);
  const agent = startAgent({
    namespace: node.namespace,
    logFile: join(bed.directory, 'logs', `client-${node.name}.log`),
    onStart: ({ pid }) => writeFileSync(join(cgroup, 'cgroup.procs'), `${pid}`),
  });
  return {
    node,
    client: { ...node, agent },
    async end() {
      await agent.stop();
      rmdirSync(cgroup);
    },
  };
};
