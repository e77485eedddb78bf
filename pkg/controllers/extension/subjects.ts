// What each Extension is about, by the caches: its namespaces, what was decided there, and whether it has effect.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { ExtensionClass } from '../../apis/gardener.ts';
import type { SeenNamespace } from '../../gardener/extension/condition.ts';
import { type ReadExtension, extensionClassOf, extensionNameOf } from '../../gardener/extension/select.ts';
import { type Table, signals } from '../../kubernetes/watches.ts';
import type { Clock } from '../../kubernetes/types.ts';
import { type Effects, serviceNameOf } from '../effectiveness/reconciler.ts';
import { type SettingsCaches, inNamespace, namespaceNames } from '../settings/caches.ts';
import { extensionClassesOf, extensionNamespaceOf } from '../settings/decider.ts';
import { ownersIn } from '../settings/context.ts';
import type { Decider, EnabledSettings, NamespaceDecision, Owner } from '../settings/context.ts';

export interface SubjectsOptions {
  readonly config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;
  readonly caches: Pick<SettingsCaches, 'namespaces' | 'extensions' | 'slices'>;
  decide: Decider;
  readonly effects: Pick<Effects, 'effectOf' | 'onChange'>;
  /** Which settings are on, by namespace. */
  readonly enabled: Table<EnabledSettings>;
  readonly clock: Pick<Clock, 'monotonic'>;
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

export const createSubjects = (options: SubjectsOptions) => {
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
      const found = inNamespace(caches.extensions, extensionNamespaceOf(own, name, config.modes));
      return found.filter((item) => item.reading && extensionClassOf(item) === own).map(extensionNameOf);
    });
  };
  const decisions = (extension: ReadExtension): NamespaceDecision[] =>
    namespacesOf(extension).flatMap((name) => decide(name) ?? []);

  return {
    /** Whether settings that it asked for are still to be reverted. */
    isReverting: (extension: ReadExtension): boolean =>
      decisions(extension).some(({ objects }) =>
        objects.some(({ want, plan }) => want === undefined && plan.kind === 'patch'),
      ),
    /** The namespaces that it is about, with their Services and whether they have effect. */
    seen: (extension: ReadExtension): SeenNamespace[] =>
      decisions(extension).map((decision) => seenIn(decision, slices.effectOf)),
    /** What makes an Extension worth another look. */
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
