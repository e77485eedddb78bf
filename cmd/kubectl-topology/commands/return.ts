// `kubectl topology return ZONE`: its flags. What it does is loaded when it is run: it needs the client of a cluster.
import { topologyCommand } from '../io.ts';
import { addClusterFlags } from '../evacuation/flags.ts';
import type { ReturnFlags } from '../evacuation/return.ts';

export const returnZone = topologyCommand<ReturnFlags>({
  name: 'return',
  summary: 'Ends the evacuations of a zone: new connections go there again',
  examples: [
    ['End it, and show progress until every slice is restored', 'return eu-1a'],
    ['While no component of this extension runs: needs only the API server', 'return eu-1a --direct'],
  ],
  define(command) {
    addClusterFlags(command.argument('<zone>', 'value of topology.kubernetes.io/zone'))
      .option('--direct', 'write the slices from here instead of leaving that to the settings-reconciler')
      .option('--no-wait', 'exit as soon as the evacuation is deleted');
  },
  async run(io, flags, [zone = '']) {
    const evacuation = await import('../evacuation/return.ts');
    return evacuation.runReturn(io, zone, flags);
  },
});
