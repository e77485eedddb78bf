// `kubectl topology snapshot`: everything that the other commands need of a cluster, in one file, without secrets.
import { defined } from '../../../pkg/apis/values.ts';
import { COLLECTIONS } from '../../../pkg/diagnosis/snapshot.ts';
import { renderJson } from '../../../pkg/report/text.ts';
import { flag, topologyCommand } from '../command.ts';
import { UsageError } from '../io.ts';
import { checkInputFlags, parseServiceName, reportMissing, withReader } from '../session.ts';
import { inputFlags } from '../flags.ts';
import { SOURCES } from '../input/resources.ts';
import { measuredFlags, readMeasured } from '../measured-flags.ts';

/** As `kubectl api-resources -o name` prints them. */
const RESOURCES = Object.values(SOURCES).flatMap((sources) => sources.map(({ resource }) => resource));
const NAMES = new Set(RESOURCES.map(({ plural, group }) => (group === '' ? plural : `${plural}.${group}`)));

/** What a plain kubectl collects to the same end, of what the cluster serves; ConfigMaps come whole, secrets in them too. */
const BY_HAND = `kubectl get "$(kubectl api-resources --verbs=list -o name | grep -xE '${[...NAMES].join('|')}' | paste -sd, -)" -A -o json > cluster.json`;

export const snapshot = topologyCommand({
  name: 'snapshot',
  summary: 'One file with everything that the other commands need of a cluster, for -f; secrets are left out',
  examples: [
    ['The whole cluster', 'snapshot > cluster.json'],
    ['One Service and its namespace', 'snapshot --service shop/web > web.json'],
    ['With measured traffic, for audit --measured -f', 'snapshot --measured > cluster.json'],
    ['Then, anywhere', 'explain shop/web -f cluster.json'],
    [`Without this plug-in: ${BY_HAND}`, 'audit -f cluster.json'],
  ],
  flags: {
    ...inputFlags(true),
    service: flag('--service <name>', 'one Service and its slices: NAMESPACE/NAME, or NAME with -n'),
    ...measuredFlags(),
  },
  async run(io, flags) {
    checkInputFlags(flags);
    if (flags.filename !== undefined) throw new UsageError('a snapshot is taken from a cluster: leave out --filename');
    const { namespace, name } =
      flags.service === undefined ? { namespace: flags.namespace } : parseServiceName(flags.service, flags.namespace);
    if (flags.service !== undefined && namespace === undefined)
      throw new UsageError(`--service ${flags.service}: name its namespace, as in NAMESPACE/NAME`);
    const { readCluster } = await import('../input/cluster.ts');
    const { snapshotDocument } = await import('../input/snapshot-file.ts');
    const { signal } = io;
    const read = await withReader(flags, io, (client, onProgress) =>
      readCluster(client, { namespace, service: name, needs: COLLECTIONS, onProgress, signal }),
    );
    reportMissing(read, COLLECTIONS, io);
    const traffic = await readMeasured(read, flags, io);
    io.out.write(renderJson(snapshotDocument({ ...read, ...defined({ traffic }) })));
    return 0;
  },
});
