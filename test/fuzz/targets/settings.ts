// Seeds, Gardens, Clusters, Etcds, Extensions and Services through caches and deciders: decisions with reasons, and patches of routing settings only.
import { CONFIG_API_VERSION, loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../pkg/apis/config/settings-reconciler.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import type { Resource } from '../../../pkg/apis/resources.ts';
import { type SettingsCaches, openSettingsCaches } from '../../../pkg/controllers/settings/caches.ts';
import { createReporter } from '../../../pkg/controllers/settings/reporter.ts';
import type { NamespaceDecision } from '../../../pkg/controllers/settings/context.ts';
import { createCaches } from '../../../pkg/kubernetes/caches.ts';
import type { Client, EventInput } from '../../../pkg/kubernetes/types.ts';
import { collectDecisions } from '../../../cmd/settings-reconciler/dry-run.ts';
import { routerEvidence } from '../../fixtures/data-planes.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { type RecordingLogger, recordingLogger } from '../../fixtures/recording-logger.ts';
import { LANDSCAPE, LANDSCAPES } from '../documents/landscape.ts';
import { ETCD, EXTENSION, NAMESPACE, NODE, SERVICE, SLICE, type Shape, UNCHECKED, isNamed, stored } from '../stored.ts';
import { type Input, type Target, must } from '../types.ts';

const CONFIG = loadConfiguration(
  SETTINGS_RECONCILER_CONFIGURATION,
  JSON.stringify({
    apiVersion: CONFIG_API_VERSION,
    kind: SETTINGS_RECONCILER_CONFIGURATION.kind,
    modes: { seed: { seedName: 'my-seed' }, garden: {}, cluster: {} },
  }),
  'config.yaml',
);

/** What an API server checks of each kind before it stores it. */
const SHAPES: Readonly<Record<string, Shape>> = {
  namespaces: NAMESPACE,
  nodes: NODE,
  services: SERVICE,
  endpointslices: SLICE,
  etcds: ETCD,
  extensions: EXTENSION,
};

type Objects = Readonly<Record<string, readonly KubernetesObject[]>>;

const objectsOf = (text: string): Objects => {
  const changed = JSON.parse(text) as Record<string, unknown>;
  const all: Record<string, unknown> = { ...LANDSCAPE, ...changed };
  return Object.fromEntries(
    Object.keys(LANDSCAPE).map((plural) => {
      const items = Array.isArray(all[plural]) ? (all[plural] as unknown[]) : [];
      const kept = items.map((item) => stored(SHAPES[plural] ?? UNCHECKED, item)).filter(isNamed);
      return [plural, kept as KubernetesObject[]];
    }),
  );
};

const LIST_META = { resourceVersion: '1' };

/** Each kind is listed once, so that nothing has to be copied: copies of what is nested too deep fail. */
const clientOf = (objects: Objects): Pick<Client, 'list' | 'pages' | 'watch'> =>
  ({
    list: () => Promise.resolve({ metadata: LIST_META, items: [] }),
    async *pages({ plural }: Resource) {
      yield { metadata: LIST_META, items: objects[plural] ?? [] };
    },
    async *watch(_resource: Resource, _options: unknown, signal: AbortSignal) {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      yield* [];
    },
  }) as unknown as Pick<Client, 'list' | 'pages' | 'watch'>;

const OWN_KEY = /topology|endpoint-slice-hints/;
const OWN_FIELD =
  /^(?:spec\.etcd\.clientService\.)?(?:metadata\.)?(?:labels|annotations)\[(?<key>.*)\]$|^spec\.(?:etcd\.clientService\.)?trafficDistribution$/;

const MAX_EVENT = 1_024;
const MAX_LINE = 4_000;

const checkDecision = ({ namespace, objects, decision }: NamespaceDecision, known: Objects): void => {
  for (const { ref, plan } of objects) {
    must(ref.namespace === namespace, () => `${ref.namespace}/${ref.name} is decided with ${namespace}`);
    if (plan.kind === 'unchanged') continue;
    for (const { field } of plan.changes) {
      const match = OWN_FIELD.exec(field);
      const key = match?.groups?.['key'];
      must(match !== null && (key === undefined || OWN_KEY.test(key)), () => `field ${field} would be changed`);
    }
  }
  const exists = known['namespaces']?.some(({ metadata }) => metadata?.name === namespace) === true;
  must(exists && (decision.kind === 'enabled' || decision.message !== ''), () => `a decision about ${namespace}`);
};

/** What people are told is bounded, whatever the objects say. */
const checkReport = (decisions: readonly NamespaceDecision[], log: RecordingLogger): void => {
  const events: EventInput[] = [];
  const reporter = createReporter({ logger: log, events: { record: (event) => void events.push(event) } });
  for (const decision of decisions) reporter.report(decision, decision.objects, decision.objects);
  const long = events.find(({ message }) => message.length > MAX_EVENT);
  must(long === undefined, () => `an event of ${long?.message.length} characters`);
  const lines = log.entries.map((entry) => JSON.stringify(entry));
  const longLine = lines.find((line) => line.length > MAX_LINE);
  must(longLine === undefined, () => `a log line of ${longLine?.length} characters: ${longLine?.slice(0, 300)}`);
};

/** The caches as they are once everything was listed. */
const filled = async (objects: Objects, log: RecordingLogger, stop: AbortController): Promise<SettingsCaches> => {
  const clock = createFakeClock();
  const set = createCaches({ client: clientOf(objects), clock, random: () => 0.5, logger: log });
  const caches = openSettingsCaches(set.open, { gardenClient: clientOf(objects), modes: CONFIG.modes });
  void set.run(stop.signal);
  await set.settled(stop.signal);
  return caches;
};

export const target: Target = {
  bytes: false,
  open: () => {
    const run = async ({ text, random }: Input): Promise<void> => {
      const objects = objectsOf(text.toString());
      const log = recordingLogger();
      const stop = new AbortController();
      try {
        const caches = await filled(objects, log, stop);
        const threw = log.entries.find(({ level }) => level === 'error');
        must(threw === undefined, () => `a cache says ${threw?.message}: ${String(threw?.fields['error'])}`);
        const version = { major: 1, minor: random.pick([26, 29, 31, 33, 36]) };
        const decisions = collectDecisions(caches, CONFIG, version, routerEvidence());
        for (const decision of decisions) checkDecision(decision, objects);
        checkReport(decisions, log);
      } finally {
        stop.abort();
      }
    };
    return { samples: LANDSCAPES, run };
  },
};
