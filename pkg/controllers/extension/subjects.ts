// What each Extension is about, by the caches: its namespaces, what was decided there, and whether it has effect.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { ExtensionClass } from '../../apis/extension.ts';
import type { SeenNamespace } from '../../gardener/extension/condition.ts';
import { extensionClassOf, extensionNameOf } from '../../gardener/extension/governing.ts';
import type { ReadExtension } from '../../gardener/extension/types.ts';
import type { Table } from '../../kubernetes/table.ts';
import type { Clock } from '../../kubernetes/types.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { Watch } from '../../kubernetes/watches.ts';
import { serviceNameOf } from '../effectiveness/reconciler.ts';
import type { Effects } from '../effectiveness/reconciler.ts';
import { inNamespace, namespaceNames } from '../settings/caches.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import { ownersIn } from '../settings/ownership.ts';
import type { Owner } from '../settings/ownership.ts';
import type { Decider, EnabledSettings, NamespaceDecision } from '../settings/types.ts';
import { extensionClassesOf, homeOf } from '../settings/homes.ts';

export interface SubjectsOptions {
  readonly config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;
  readonly caches: Pick<SettingsCaches, 'namespaces' | 'extensions' | 'slices'>;
  decide: Decider;
  readonly effects: Pick<Effects, 'effectOf' | 'onChange'>;
  /** Which settings are on, by namespace. */
  readonly enabled: Table<EnabledSettings>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export interface Subjects {
  /** What was decided in the namespaces that the Extension is about. */
  decisions(extension: ReadExtension): NamespaceDecision[];
  /** Those namespaces, with their Services and whether they have effect. */
  seen(extension: ReadExtension): SeenNamespace[];
  /** What makes an Extension worth another look. */
  readonly watch: Watch;
}

/** Classes that are about all namespaces of an owner; class shoot is about the one that its Extension is in. */
const OWNERS: Readonly<Record<Exclude<ExtensionClass, 'shoot'>, Owner>> = {
  seed: 'extension-settings',
  garden: 'garden-settings',
};

/** Upper bound for a list of all EndpointSlices. */
const SLICES_LIST_MS = 10_000;

/** Has the slices of what configuration asks for kept whole: neither their name nor a label says that they matter. */
const createSliceInterest = ({ caches, enabled, effects, clock }: SubjectsOptions) => {
  /** Since when slices are awaited, by namespace, monotonic milliseconds. */
  const since = new Map<string, number>();
  const configured = (namespace: string): string[] =>
    (enabled.get(namespace)?.objects ?? []).flatMap((item) =>
      item.kind === 'Service' && item.configured === true ? [`${namespace}/${item.ref.name}`] : [],
    );
  return {
    /** True where slices are listed anew. */
    update(namespace: string): boolean {
      const asked = configured(namespace);
      const listed = caches.slices.keepWhole(namespace, asked);
      if (listed) since.set(namespace, clock.monotonic());
      else if (asked.length === 0) since.delete(namespace);
      return listed;
    },
    /** What is found about a Service, but for one whose slices have yet to come: that would be no finding. */
    effectOf(namespace: string, service: string): ReturnType<typeof effects.effectOf> {
      const found = effects.effectOf(namespace, service);
      const waits = clock.monotonic() - (since.get(namespace) ?? -Infinity) < SLICES_LIST_MS;
      const absent = found?.kind === 'ineffective' && found.reason === 'NoReadyEndpoints';
      return waits && absent && configured(namespace).includes(`${namespace}/${service}`) ? undefined : found;
    },
  };
};

const seenIn = ({ namespace, decision, objects }: NamespaceDecision, effectOf: Effects['effectOf']): SeenNamespace => ({
  name: namespace,
  decision,
  services: objects.map((item) => {
    const name = serviceNameOf(item);
    return { name, decision: item.decision, effect: effectOf(namespace, name) };
  }),
});

export const createSubjects = (options: SubjectsOptions): Subjects => {
  const { config, caches, decide, effects, enabled } = options;
  const slices = createSliceInterest(options);

  const ownerOfName = ownersIn(caches, config);
  const namespacesOf = (extension: ReadExtension): string[] => {
    const own = extensionClassOf(extension) ?? 'shoot';
    if (own === 'shoot') return [extension.metadata?.namespace ?? ''];
    return namespaceNames(caches)
      .filter((name) => ownerOfName(name) === OWNERS[own])
      .sort();
  };
  /** Keys of the Extensions that a namespace concerns. */
  const keysFor = (name: string): string[] => {
    const owner = ownerOfName(name);
    return extensionClassesOf(config.modes).flatMap((own) => {
      if (own !== 'shoot' && OWNERS[own] !== owner) return [];
      const found = inNamespace(caches.extensions, homeOf(own, name, config.modes));
      return found.filter((item) => item.reading && extensionClassOf(item) === own).map(extensionNameOf);
    });
  };
  const decisions = (extension: ReadExtension): NamespaceDecision[] =>
    namespacesOf(extension).flatMap((name) => decide(name) ?? []);

  return {
    decisions,
    seen: (extension) => decisions(extension).map((decision) => seenIn(decision, slices.effectOf)),
    watch: signals((enqueue) => {
      enabled.onChange((name) => {
        const listed = slices.update(name);
        for (const key of keysFor(name)) {
          enqueue(key);
          if (listed) enqueue(key, SLICES_LIST_MS);
        }
      });
      effects.onChange((name) => keysFor(name).forEach((key) => enqueue(key)));
    }),
  };
};
