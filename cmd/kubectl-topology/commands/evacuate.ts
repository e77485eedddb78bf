// `kubectl topology evacuate`, `evacuations`, `return`, `off` and `on`. What they do is loaded when one is run: it needs the client of a cluster.
import { renderEvacuations, renderLeft } from '../../../pkg/report/evacuation.ts';
import { stillSeen, stillSeenText } from '../../../pkg/traffic/measured.ts';
import { switchFlag, topologyCommand } from '../command.ts';
import { UsageError } from '../io.ts';
import { EVACUATE_FLAGS, OFF_FLAGS, RETURN_FLAGS } from '../evacuation/flags.ts';
import { CLUSTER_FLAGS, OUTPUT_FLAG } from '../flags.ts';
import { METER_FLAG } from '../measured-flags.ts';
import { print } from '../output.ts';
import { withClient } from '../session.ts';

const ZONE = ['<zone>', 'value of topology.kubernetes.io/zone'] as const;

export const evacuate = topologyCommand({
  name: 'evacuate',
  summary: 'After a check, sends no new connections to the endpoints of a zone, in all namespaces, for a limited time',
  examples: [
    ['Would it work? Nothing is written', 'evacuate eu-1a --for 2h --dry-run'],
    ['Do it, and show progress; Ctrl-C does not stop it', 'evacuate eu-1a --for 2h --reason "incident 4711"'],
    ['With clients as measured, and new connections that still arrive', 'evacuate eu-1a --for 2h --measured'],
    ['Even if endpoints elsewhere get more than the limit', 'evacuate eu-1a --for 2h --force'],
    ['A quarter of the endpoints, of one namespace', 'evacuate eu-1a --for 30m --percent 25 --round down -n shop'],
    ['A quarter of them returns first, at least one of each Service', 'evacuate eu-1a --percent 75 --round down'],
    ['How far it is, and when it ends', 'evacuations'],
  ],
  argument: ZONE,
  flags: EVACUATE_FLAGS,
  async run(io, flags, zone = '') {
    const { evacuateZone } = await import('../evacuation/evacuate.ts');
    return evacuateZone(io, zone, flags);
  },
});

export const evacuations = topologyCommand({
  name: 'evacuations',
  summary: 'Which zones are evacuated, the progress, which Services stay and why, and when it ends',
  examples: [
    ['All of them', 'evacuations'],
    ['One, with the Services that stay as they are', 'evacuations eu-1a'],
    ['With the new connections that still arrive, as the traffic-meters count them', 'evacuations eu-1a --measured'],
  ],
  argument: ['[zone]', 'only those of this zone, or of this name'],
  flags: {
    ...CLUSTER_FLAGS,
    ...OUTPUT_FLAG,
    measured: switchFlag('--measured', 'new connections that still arrive in the zones, from the traffic-meters'),
    ...METER_FLAG,
  },
  async run(io, flags, zone) {
    if (flags.measured === true && (flags.output === 'json' || flags.output === 'yaml'))
      throw new UsageError(`--measured is a line of text: leave out -o ${flags.output}`);
    const { listEvacuations, measureFromNow, saysNotInstalled } = await import('../evacuation/follow.ts');
    /** Of each zone a line: what the meters counted since this was asked. */
    const arriving = async (zones: readonly string[]): Promise<string> => {
      const measured = await measureFromNow(flags, io);
      return zones.map((each) => `${stillSeenText(stillSeen(measured, each), each)}\n`).join('');
    };
    return withClient(flags, async (client) => {
      const all = await listEvacuations(client, io.signal);
      if (all === undefined) return saysNotInstalled(io);
      const chosen = all.filter((own) => zone === undefined || [own.spec.zone, own.metadata.name].includes(zone));
      if (zone !== undefined && chosen.length === 0) throw new UsageError(`no evacuation of ${zone}`);
      const zones = [...new Set(chosen.map(({ spec }) => spec.zone))];
      const seen = flags.measured === true && zones.length > 0 ? await arriving(zones) : '';
      await print(io, flags.output, chosen, ({ wide }) => {
        if (chosen.length === 0) return 'No zone is evacuated.\n';
        const more = `${seen}${zone === undefined ? '' : chosen.map(renderLeft).join('')}`;
        return `${renderEvacuations(chosen, { wide, now: io.now() })}${more === '' ? '' : `\n${more}`}`;
      });
      return 0;
    });
  },
});

export const returnZone = topologyCommand({
  name: 'return',
  summary: 'Ends the evacuations of a zone: new connections go there again',
  examples: [
    ['End it, and show progress until every slice is restored', 'return eu-1a'],
    ['While no component of this extension runs: needs only the API server', 'return eu-1a --direct'],
  ],
  argument: ZONE,
  flags: RETURN_FLAGS,
  async run(io, flags, zone = '') {
    return (await import('../evacuation/return.ts')).runReturn(io, zone, flags);
  },
});

export const off = topologyCommand({
  name: 'off',
  summary: 'Removes every hint of this extension in the cluster, and keeps it so until `on`; needs only the API server',
  examples: [
    ['At 3 am: traffic is lost or goes astray, and hints may be the cause', 'off'],
    ['What would it remove?', 'off --dry-run'],
    ['Let the components bring everything back', 'on'],
  ],
  flags: OFF_FLAGS,
  async run(io, flags) {
    return (await import('../evacuation/switch.ts')).switchOff(io, flags);
  },
});

export const on = topologyCommand({
  name: 'on',
  summary: 'Ends `off`: components that run bring settings and hints back',
  examples: [['Hints again, without anything to install or restart', 'on']],
  flags: CLUSTER_FLAGS,
  async run(io, flags) {
    return (await import('../evacuation/switch.ts')).switchOn(io, flags);
  },
});
