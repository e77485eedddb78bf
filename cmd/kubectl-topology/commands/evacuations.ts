// `kubectl topology evacuations`: what is evacuated, how far it is, what stays, and until when.
import { renderEvacuations, renderLeft } from '../../../pkg/report/evacuation.ts';
import { METER_NAMESPACE } from '../../../pkg/apis/names.ts';
import { stillSeen, stillSeenText } from '../../../pkg/traffic/measured.ts';
import { UsageError, topologyCommand } from '../io.ts';
import { type ClusterFlags, addClusterFlags } from '../evacuation/flags.ts';
import { type OutputFlags, addOutputFlag } from '../flags.ts';
import type { SourceFlags } from '../measured-flags.ts';
import { print } from '../output.ts';

interface Flags extends ClusterFlags, OutputFlags, Pick<SourceFlags, 'meterNamespace'> {
  measured?: boolean;
}

export const evacuations = topologyCommand<Flags>({
  name: 'evacuations',
  summary: 'Which zones are evacuated, the progress, which Services stay and why, and when it ends',
  examples: [
    ['All of them', 'evacuations'],
    ['One, with the Services that stay as they are', 'evacuations eu-1a'],
    ['With the new connections that still arrive, as the traffic-meters count them', 'evacuations eu-1a --measured'],
  ],
  define(command) {
    addOutputFlag(addClusterFlags(command.argument('[zone]', 'only those of this zone, or of this name')))
      .option('--measured', 'new connections that still arrive in the zones, from the traffic-meters')
      .option('--meter-namespace <namespace>', `namespace of the traffic-meters (default: ${METER_NAMESPACE})`);
  },
  async run(io, flags, [zone]) {
    if (flags.measured === true && (flags.output === 'json' || flags.output === 'yaml'))
      throw new UsageError(`--measured is a line of text: leave out -o ${flags.output}`);
    const { listEvacuations, saysNotInstalled, withClient } = await import('../evacuation/session.ts');
    /** Of each zone a line: what the meters counted since this was asked. */
    const arriving = async (zones: readonly string[]): Promise<string> => {
      const { measureFromNow } = await import('../evacuation/follow.ts');
      const measured = await measureFromNow(flags, io);
      return zones.map((each) => `${stillSeenText(stillSeen(measured, each), each)}\n`).join('');
    };
    const show = async (client: Parameters<typeof listEvacuations>[0]): Promise<0> => {
      const all = await listEvacuations(client, io.signal);
      const chosen = all.filter(
        ({ metadata, spec }) => zone === undefined || spec.zone === zone || metadata.name === zone,
      );
      if (zone !== undefined && chosen.length === 0) throw new UsageError(`no evacuation of ${zone}`);
      const zones = [...new Set(chosen.map(({ spec }) => spec.zone))];
      const seen = flags.measured === true && zones.length > 0 ? await arriving(zones) : '';
      await print(io, flags.output, chosen, (wide) => {
        if (chosen.length === 0) return 'No zone is evacuated.\n';
        const more = `${seen}${zone === undefined ? '' : chosen.map(renderLeft).join('')}`;
        return `${renderEvacuations(chosen, { wide, now: io.now() })}${more === '' ? '' : `\n${more}`}`;
      });
      return 0;
    };
    return withClient(flags, show).catch((error: unknown) => saysNotInstalled(error, io));
  },
});
