// What each Extension is about, by the caches: its namespaces, what was decided there, and whether it has effect.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { ExtensionClass } from '../../apis/gardener.ts';
import { keyOf } from '../../apis/values.ts';
import type { SeenNamespace } from '../../gardener/extension/condition.ts';
import { type ReadExtension, extensionClassOf } from '../../gardener/extension/select.ts';
import { type Table, signals } from '../../kubernetes/watches.ts';
import { type Effects, serviceNameOf } from '../effectiveness/reconciler.ts';
import { type SettingsCaches, inNamespace, namespaceNames } from '../settings/caches.ts';
import { extensionClassesOf, extensionNamespaceOf } from '../settings/decider.ts';
import { ownersIn } from '../settings/context.ts';
import type { Decider, EnabledSettings, NamespaceDecision, Owner } from '../settings/context.ts';

/** Classes that are about all namespaces of an owner; class shoot is about the one that its Extension is in. */
const OWNERS: Readonly<Record<Exclude<ExtensionClass, 'shoot'>, Owner>> = {
  seed: 'extension-settings',
  garden: 'garden-settings',
};

const seenIn = ({ namespace, decision, objects }: NamespaceDecision, effectOf: Effects['effectOf']): SeenNamespace => ({
  name: namespace,
  decision,
  services: objects.map((item) => {
    const name = serviceNameOf(item);
    return { name, decision: item.decision, effect: effectOf(namespace, name) };
  }),
});

export const createSubjects = (options: {
  readonly config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>;
  readonly caches: Pick<SettingsCaches, 'namespaces' | 'extensions'>;
  decide: Decider;
  readonly effects: Pick<Effects, 'effectOf' | 'onChange'>;
  readonly enabled: Table<EnabledSettings>;
}) => {
  const { config, caches, decide, effects, enabled } = options;
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
      return found.filter((item) => item.reading && extensionClassOf(item) === own).map(keyOf);
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
      decisions(extension).map((decision) => seenIn(decision, effects.effectOf)),
    /** What makes an Extension worth another look. */
    watch: signals((enqueue) => {
      enabled.onChange((name) => keysFor(name).forEach((key) => enqueue(key)));
      effects.onChange((name) => keysFor(name).forEach((key) => enqueue(key)));
    }),
  };
};
