// Reconciles the Extension resources of this installation's classes: their operations, and the condition that says whether routing is effective.
import { createRoutingConfigReader } from '../../apis/routing-config-reader.ts';
import { extensionClassOf, extensionNameOf } from '../../gardener/extension/governing.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import type { Clock } from '../../kubernetes/types.ts';
import { objects } from '../../kubernetes/watches.ts';
import type { SettingsCaches } from '../settings/caches.ts';
import { extensionClassesOf, governingOf, homeOf } from '../settings/homes.ts';
import { createExtensionProjection } from '../settings/extension-projection.ts';
import { createExtensionReconciler } from './reconciler.ts';
import type { ExtensionReconcilerOptions } from './reconciler.ts';
import { createSubjects } from './subjects.ts';
import type { SubjectsOptions } from './subjects.ts';

export interface ExtensionControllerOptions
  extends Omit<SubjectsOptions, 'clock' | 'caches' | 'config'>, Pick<ExtensionReconcilerOptions, 'client' | 'logger'> {
  readonly config: SubjectsOptions['config'] & { readonly extensions: { readonly conditionIntervalSeconds: number } };
  readonly caches: SettingsCaches;
  readonly clock: Clock;
}

/** The key is `namespace/name` of an Extension. */
export const createExtensionController = (options: ExtensionControllerOptions): ControllerSpec => {
  const { config, caches, client, clock, logger } = options;
  const { modes } = config;
  const subjects = createSubjects(options);
  const reconciler = createExtensionReconciler({
    classes: extensionClassesOf(modes),
    client,
    extension: (ref) => caches.extensions?.get(ref),
    project: createExtensionProjection(createRoutingConfigReader()),
    shoot: (name) => caches.clusters?.get({ name })?.spec?.shoot,
    home(extension) {
      const own = extensionClassOf(extension) ?? 'shoot';
      const here = extension.metadata?.namespace ?? '';
      return { namespace: homeOf(own, here, modes), governing: governingOf(caches, own, here, modes) };
    },
    seen: subjects.seen,
    isReverting: (extension) =>
      subjects
        .decisions(extension)
        .some((decided) => decided.objects.some(({ want, plan }) => want === undefined && plan.kind === 'patch')),
    clock,
    conditionIntervalMs: config.extensions.conditionIntervalSeconds * 1_000,
    logger,
  });
  return {
    watches: [
      ...objects(caches.extensions, (extension) =>
        extension.reading === undefined ? [] : [extensionNameOf(extension)],
      ),
      subjects.watch,
    ],
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
  };
};
