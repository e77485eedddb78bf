// `kubectl topology evacuate ZONE`: its flags. What it does is loaded when it is run: it needs the client of a cluster.
import { Option } from 'commander';
import { topologyCommand } from '../io.ts';
import type { EvacuateFlags } from '../evacuation/evacuate.ts';
import { addClusterFlags, durationFlag, selectorFlag, sharePercent } from '../evacuation/flags.ts';
import { addOutputFlag } from '../flags.ts';
import { addMeasuredFlags } from '../measured-flags.ts';
import { addLimitFlags } from '../without.ts';

export const evacuate = topologyCommand<EvacuateFlags>({
  name: 'evacuate',
  summary: 'After a check, sends no new connections to the endpoints of a zone, in all namespaces, for a limited time',
  examples: [
    ['Would it work? Nothing is written', 'evacuate eu-1a --for 2h --dry-run'],
    [
      'Do it, and show progress until it is done; Ctrl-C does not stop it',
      'evacuate eu-1a --for 2h --reason "incident 4711"',
    ],
    [
      'With clients as the meters measure them, and new connections that still arrive',
      'evacuate eu-1a --for 2h --measured',
    ],
    ['Even if endpoints elsewhere get more than the limit', 'evacuate eu-1a --for 2h --force'],
    ['A quarter of the endpoints, of one namespace', 'evacuate eu-1a --for 30m --percent 25 --round down -n shop'],
    ['A quarter of them returns first, at least one of each Service', 'evacuate eu-1a --percent 75 --round down'],
    ['How far it is, and when it ends', 'evacuations'],
  ],
  define(command) {
    addMeasuredFlags(
      addLimitFlags(addOutputFlag(addClusterFlags(command.argument('<zone>', 'value of topology.kubernetes.io/zone')))),
      'check with the clients that the traffic-meters measure, and show new connections that still arrive in the zone',
    )
      .option(
        '--for <duration>',
        'ends by itself after this time, such as 30m, 2h or 1d; at most 7d; required, but for one that runs',
        durationFlag,
      )
      .option(
        '--percent <percent>',
        "share of each Service's endpoints in the zone; default: 100; of a zone that is evacuated already, the new share",
        sharePercent,
      )
      .addOption(
        new Option('--round <up|down>', 'if that is not a whole number of endpoints; default: up').choices([
          'up',
          'down',
        ]),
      )
      .option('--reason <text>', 'why; shown to all who list evacuations')
      .option(
        '-n, --namespace <namespace>',
        'only Services of this namespace; default: all namespaces, including kube-system',
      )
      .option('-l, --selector <selector>', 'only Services with these labels', selectorFlag)
      .option('--dry-run', 'check, ask the API server, and write nothing')
      .option('--force', 'proceed even if endpoints would be overloaded or routers could lose connections')
      .option('--no-wait', 'exit as soon as the evacuation is created');
  },
  async run(io, flags, [zone = '']) {
    const { evacuateZone } = await import('../evacuation/evacuate.ts');
    return evacuateZone(io, zone, flags);
  },
});
