// `kubectl topology off` and `on`: their flags. What they do is loaded when it is run: it needs the client of a cluster.
import { topologyCommand } from '../io.ts';
import { type ClusterFlags, addClusterFlags } from '../evacuation/flags.ts';
import type { OffFlags } from '../evacuation/switch.ts';

export const off = topologyCommand<OffFlags>({
  name: 'off',
  summary: 'Removes every hint of this extension in the cluster, and keeps it so until `on`; needs only the API server',
  examples: [
    ['At 3 am: traffic is lost or goes astray, and hints may be the cause', 'off'],
    ['What would it remove?', 'off --dry-run'],
    ['Let the components bring everything back', 'on'],
  ],
  define(command) {
    addClusterFlags(command).option('--dry-run', 'count what would be removed; writes nothing');
  },
  async run(io, flags) {
    return (await import('../evacuation/switch.ts')).switchOff(io, flags);
  },
});

export const on = topologyCommand<ClusterFlags>({
  name: 'on',
  summary: 'Ends `off`: components that run bring settings and hints back',
  examples: [['Hints again, without anything to install or restart', 'on']],
  define: addClusterFlags,
  async run(io, flags) {
    return (await import('../evacuation/switch.ts')).switchOn(io, flags);
  },
});
