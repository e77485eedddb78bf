// SPDX-License-Identifier: Apache-2.0
// `kubectl topology evacuations`: what is evacuated, how far it is, what stays, and until when.
import { measuredLine, renderEvacuations, renderLeft } from '../../../pkg/report/evacuation.ts';
import { topologyCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addClusterFlags } from '../evacuation/flags.ts';
import type { ClusterFlags } from '../evacuation/flags.ts';
import { addOutputFlag } from '../flags.ts';
import type { OutputFlags } from '../flags.ts';
import { print } from '../print.ts';

type Flags = ClusterFlags & OutputFlags;

export const evacuations = topologyCommand<Flags>({
  name: 'evacuations',
  summary: 'Which zones are evacuated, the progress, which Services stay and why, and when it ends',
  examples: [
    ['All of them', 'evacuations'],
    ['One, with what clients measure and the Services that stay as they are', 'evacuations eu-1a'],
  ],
  define(command) {
    addOutputFlag(addClusterFlags(command.argument('[zone]', 'only those of this zone, or of this name')));
  },
  async run(io, flags, [zone]) {
    const { listEvacuations } = await import('../evacuation/objects.ts');
    const { saysNotInstalled, withClient } = await import('../evacuation/session.ts');
    const show = async (client: Parameters<typeof listEvacuations>[0]): Promise<0> => {
      const all = await listEvacuations(client, io.signal);
      const chosen = all.filter(
        ({ metadata, spec }) => zone === undefined || spec.zone === zone || metadata.name === zone,
      );
      if (zone !== undefined && chosen.length === 0) throw new UsageError(`no evacuation of ${zone}`);
      await print(io, flags.output, chosen, (wide) => {
        if (chosen.length === 0) return 'No zone is evacuated.\n';
        const more = zone === undefined ? '' : chosen.map((one) => `${measuredLine(one)}${renderLeft(one)}`).join('');
        return `${renderEvacuations(chosen, { wide, now: io.now() })}${more === '' ? '' : `\n${more}`}`;
      });
      return 0;
    };
    return withClient(flags, show).catch((error: unknown) => saysNotInstalled(error, io));
  },
});
