// SPDX-License-Identifier: Apache-2.0
// `kubectl topology watch`: the explanation of a Service, live.
import { explain } from '../../../pkg/diagnosis/explain/explain.ts';
import type { Explanation } from '../../../pkg/diagnosis/explain/types.ts';
import { serviceKeyOfRef, serviceRefOf } from '../../../pkg/diagnosis/models/lookup.ts';
import { itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot } from '../../../pkg/diagnosis/snapshot.ts';
import { renderExplanation } from '../../../pkg/report/explanation.ts';
import { topologyCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { addExplainFlags, EXPLAIN_NEEDS, explainOptions } from '../explain-flags.ts';
import type { ExplainFlags } from '../explain-flags.ts';
import { findService, inNamespaceOf, nameOfService } from '../find-service.ts';
import { wantsColor } from '../io.ts';
import type { Io } from '../io.ts';
import { KEYS_TO_END } from '../keys.ts';
import { connect } from '../session.ts';

/** One line for a log. */
const lineOf = ({ verdict, given, effective, causes }: Explanation, now: number): string => {
  const hints = given.map(({ addressType, hinted, ready }) => `${addressType} ${hinted}/${ready} hinted`).join(', ');
  const zones = `${effective.clientZones.length - effective.unserved.length}/${effective.clientZones.length} zones served`;
  const first = causes[0] === undefined ? '' : `, ${causes[0].reason}: ${causes[0].evidence}`;
  return `${new Date(now).toISOString()} ${verdict}: ${hints}, ${zones}${first}\n`;
};

/** Draws a state where it differs from the one before. */
const createScreen = (io: Io, flags: ExplainFlags, name: string): ((snapshot: ClusterSnapshot) => void) => {
  let shown = '';
  const show = (key: string, text: string): void => {
    if (key === shown) return;
    shown = key;
    if (io.out.terminal) io.out.control('clear screen');
    io.out.write(text);
  };
  return (snapshot) => {
    const [service] = itemsOf(snapshot.services);
    if (service === undefined) {
      show(
        'gone',
        `${io.out.terminal ? '' : `${new Date(io.now()).toISOString()} `}Service ${name} does not exist (any more)\n`,
      );
      return;
    }
    const report = explain(snapshot, service, explainOptions(flags, io));
    const key = JSON.stringify(report);
    if (!io.out.terminal) {
      show(key, lineOf(report, io.now()));
      return;
    }
    const text = renderExplanation(report, { color: wantsColor(io), wide: false, columns: io.out.columns });
    const end = `\n${new Date(io.now()).toISOString()}: watching; q or Ctrl-C ends\n`;
    show(key, `${text}${end}`);
  };
};

export const watch = topologyCommand<ExplainFlags>({
  name: 'watch',
  summary: 'The explanation of a Service, live: redrawn on change; without a terminal one line per change',
  examples: [['While you scale, roll out or drain', 'watch web -n shop']],
  define(command) {
    addExplainFlags(command.argument('<service>', 'NAME or NAMESPACE/NAME'));
  },
  async run(io, flags, [name = '']) {
    if (flags.filename !== undefined)
      throw new UsageError('watch follows a cluster: leave out --filename, or use explain');
    if (flags.allNamespaces === true) throw new UsageError('watch follows one Service: leave out --all-namespaces');
    const { client, namespace } = await connect(inNamespaceOf(flags, name));
    const [{ readCluster }, { withCertificates }, { follow }] = await Promise.all([
      import('../input/cluster.ts'),
      import('../input/certificates.ts'),
      import('../live.ts'),
    ]);
    const end = new AbortController();
    const stopKeys = io.onKey((key) => KEYS_TO_END.has(key) && end.abort(new Error('ended by key')));
    const signal = AbortSignal.any([io.signal, end.signal]);
    const read = async (during: AbortSignal): Promise<ClusterSnapshot> =>
      withCertificates(
        await readCluster(client, { namespace, service: nameOfService(name), needs: EXPLAIN_NEEDS, signal: during }),
      );
    try {
      const base = await read(signal);
      const ref = serviceRefOf(findService({ snapshot: base, namespace }, name));
      await follow({ client, ref, base, reread: read, onState: createScreen(io, flags, serviceKeyOfRef(ref)), signal });
      return 0;
    } catch (error) {
      if (!signal.aborted) throw error;
      return 0;
    } finally {
      stopKeys();
      await client.close();
    }
  },
});
