// SPDX-License-Identifier: Apache-2.0
// Wires a Gardener extension's duties: what is asked of Extension resources, their condition, and the heartbeat.
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import type { ExtensionClass } from '../../pkg/apis/extension.ts';
import { createRoutingConfigReader } from '../../pkg/apis/routing-config-reader.ts';
import { serviceNameOf } from '../../pkg/controllers/effectiveness/reconciler.ts';
import type { EffectivenessReport } from '../../pkg/controllers/effectiveness/reconciler.ts';
import { classesOf, governingOf, homeOf } from '../../pkg/controllers/extension/homes.ts';
import { createExtensionProjection } from '../../pkg/controllers/extension/projection.ts';
import { createExtensionReconciler } from '../../pkg/controllers/extension/reconciler.ts';
import { runHeartbeat } from '../../pkg/controllers/heartbeat/heartbeat.ts';
import { byNamespace } from '../../pkg/controllers/settings/landscape.ts';
import type { Landscape } from '../../pkg/controllers/settings/landscape.ts';
import { ownerOf } from '../../pkg/controllers/settings/ownership.ts';
import type { Owner } from '../../pkg/controllers/settings/ownership.ts';
import type { Decider, NamespaceDecision } from '../../pkg/controllers/settings/types.ts';
import type { View } from '../../pkg/controllers/settings/view.ts';
import type { SeenNamespace } from '../../pkg/gardener/extension/condition.ts';
import { extensionClassOf, extensionNameOf } from '../../pkg/gardener/extension/governing.ts';
import type { ReadExtension } from '../../pkg/gardener/extension/types.ts';
import type { Client, Clock, Reconciler, WorkQueue } from '../../pkg/kubernetes/types.ts';
import type { Logger } from '../../pkg/telemetry/types.ts';

export interface ExtensionsOptions {
  config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces' | 'extensions' | 'heartbeat'>;
  client: Client;
  landscape: Landscape;
  view: View;
  decide: Decider;
  effectiveness: () => Pick<EffectivenessReport, 'effectOf'>;
  queue: WorkQueue;
  /** Our own, where the heartbeat is. */
  namespace: string;
  clock: Clock;
  logger: Logger;
}

export interface Extensions {
  readonly reconciler: Reconciler;
  /** Something was decided in a namespace; undefined: nothing is ours there any more. */
  decided(namespace: string, decision: NamespaceDecision | undefined): void;
  /** Something was decided or found in a namespace: the condition of who asked for it is looked at. */
  changed(namespace: string): void;
  /** Beats until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Classes that are about all namespaces of an owner; class shoot is about the one that its Extension is in. */
const OWNERS: Readonly<Record<Exclude<ExtensionClass, 'shoot'>, Owner>> = {
  seed: 'extension-settings',
  garden: 'garden-settings',
};

/** What is found about a Service, but for one whose slices have yet to come: that would be no finding. */
type EffectOf = EffectivenessReport['effectOf'];

const seenIn = ({ namespace, decision, objects }: NamespaceDecision, effectOf: EffectOf): SeenNamespace => ({
  name: namespace,
  decision,
  services: objects.map((item) => {
    const name = serviceNameOf(item);
    return { name, decision: item.decision, effect: effectOf(namespace, name) };
  }),
});

/** Key of the turn that lists the slices anew; no Extension's, which has a slash. */
const SLICES_KEY = 'slices';
/** A change of configuration concerns many Services at once. */
const SLICES_DELAY_MS = 1_000;

/** So long a list of slices takes at most, on a bad day. */
const SLICES_COME_MS = 10_000;

/** Keeps the slices of what configuration asks for: nothing else tells their cache that they matter. */
const createSliceInterest = (options: ExtensionsOptions) => {
  const { landscape, queue, clock, effectiveness } = options;
  const { alsoWhole } = landscape;
  /** Since when slices are wanted, by namespace, monotonic milliseconds. */
  const since = new Map<string, number>();
  return {
    /** True where slices have to be listed anew. */
    decided(namespace: string, objects: NamespaceDecision['objects']): boolean {
      const asked = objects.flatMap(({ kind, ref, want, configured }) =>
        kind === 'Service' && configured === true && want !== undefined ? [ref.name] : [],
      );
      const before = alsoWhole.get(namespace);
      if (asked.length === 0) {
        alsoWhole.delete(namespace);
        since.delete(namespace);
        return false;
      }
      alsoWhole.set(namespace, new Set(asked));
      if (asked.every((name) => before?.has(name) === true)) return false;
      since.set(namespace, clock.monotonic());
      queue.addAfter(SLICES_KEY, SLICES_DELAY_MS);
      return true;
    },
    effectOf(namespace: string, service: string): ReturnType<EffectOf> {
      const found = effectiveness().effectOf(namespace, service);
      const waits = clock.monotonic() - (since.get(namespace) ?? -Infinity) < SLICES_COME_MS;
      const absent = found?.kind === 'ineffective' && found.reason === 'NoReadyEndpoints';
      return waits && absent && alsoWhole.get(namespace)?.has(service) === true ? undefined : found;
    },
  };
};

/** What each Extension is about, by the caches. */
const createSubjects = ({ config, landscape, view, decide }: ExtensionsOptions) => {
  const ownerOfName = (name: string): Owner | undefined => {
    const namespace = view.namespace(name);
    return namespace === undefined ? undefined : ownerOf(namespace, config);
  };
  const namespacesOf = (extension: ReadExtension): string[] => {
    const own = extensionClassOf(extension) ?? 'shoot';
    if (own === 'shoot') return [extension.metadata?.namespace ?? ''];
    const names = landscape.namespaces.list().map(({ metadata }) => metadata?.name ?? '');
    return names.filter((name) => ownerOfName(name) === OWNERS[own]).sort();
  };
  return {
    decisions: (extension: ReadExtension): NamespaceDecision[] =>
      namespacesOf(extension).flatMap((name) => decide(name) ?? []),
    /** Keys of the Extensions that a namespace concerns. */
    keysFor(name: string): string[] {
      const owner = ownerOfName(name);
      return classesOf(config.modes).flatMap((own) => {
        if (own !== 'shoot' && OWNERS[own] !== owner) return [];
        const found = byNamespace(landscape.extensions, homeOf(own, name, config.modes));
        return found.filter((item) => item.reading && extensionClassOf(item) === own).map(extensionNameOf);
      });
    },
  };
};

const createReconciler = (
  options: ExtensionsOptions,
  subjects: ReturnType<typeof createSubjects>,
  effectOf: EffectOf,
): Reconciler => {
  const { config, client, landscape, clock, logger } = options;
  const { modes } = config;
  return createExtensionReconciler({
    classes: classesOf(modes),
    client,
    extension: (ref) => landscape.extensions?.get(ref),
    project: createExtensionProjection(createRoutingConfigReader()),
    shoot: (name) => landscape.clusters?.get({ name })?.spec?.shoot,
    home(extension) {
      const own = extensionClassOf(extension) ?? 'shoot';
      const here = extension.metadata?.namespace ?? '';
      return { namespace: homeOf(own, here, modes), governing: governingOf(landscape, own, here, modes) };
    },
    seen: (extension) => subjects.decisions(extension).map((decision) => seenIn(decision, effectOf)),
    isTakingBack: (extension) =>
      subjects
        .decisions(extension)
        .some(({ objects }) => objects.some(({ want, plan }) => want === undefined && plan.kind === 'patch')),
    clock,
    conditionIntervalMs: config.extensions.conditionIntervalSeconds * 1_000,
    logger,
  });
};

export const createExtensions = (options: ExtensionsOptions): Extensions => {
  const { config, client, landscape, queue, namespace, clock, logger } = options;
  const { modes, heartbeat } = config;
  const subjects = createSubjects(options);
  landscape.extensions?.onChange((extension) => {
    if (extension.reading !== undefined) queue.add(extensionNameOf(extension));
  });
  const changed = (name: string): void => {
    for (const key of subjects.keysFor(name)) queue.add(key);
  };
  const slices = createSliceInterest(options);
  const reconciler = createReconciler(options, subjects, slices.effectOf);
  return {
    reconciler: {
      async reconcile(key, signal) {
        if (key !== SLICES_KEY) return reconciler.reconcile(key, signal);
        landscape.slices.relist();
        return { kind: 'done' };
      },
    },
    decided(name, decision) {
      const awaited = slices.decided(name, decision?.objects ?? []);
      changed(name);
      if (awaited) for (const key of subjects.keysFor(name)) queue.addAfter(key, SLICES_COME_MS);
    },
    changed,
    async run(signal) {
      for (const extension of landscape.extensions?.list() ?? []) {
        if (extension.reading !== undefined) queue.add(extensionNameOf(extension));
      }
      if (heartbeat.enabled ?? classesOf(modes).length > 0) {
        await runHeartbeat({ client, namespace, clock, logger, ...heartbeat }, signal);
      }
    },
  };
};
