// An extension reconciler over an in-memory API server whose cache is as fresh, or as stale, as a test wants it.
import type { Extension, ExtensionClass, Shoot } from '../../../../pkg/apis/gardener.ts';
import { EXTENSIONS } from '../../../../pkg/apis/resources.ts';
import { createRoutingConfigReader } from '../../../../pkg/apis/routing-config-reader.ts';
import { createExtensionProjection } from '../../../../pkg/controllers/settings/caches.ts';
import { createExtensionReconciler } from '../../../../pkg/controllers/extension/reconciler.ts';
import type { SeenNamespace, SeenService } from '../../../../pkg/gardener/extension/condition.ts';
import { type ReadExtension, governingExtension } from '../../../../pkg/gardener/extension/select.ts';
import type { Reconciler, Result } from '../../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { type Before, createMemoryServer } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

export const HOME = 'shoot--foo--bar';
export const KEY = `${HOME}/topology-aware-routing`;
export const REF = { namespace: HOME, name: 'topology-aware-routing' };
export const CONDITION_INTERVAL_MS = 30_000;

export const ENABLED = { kind: 'enabled' } as const;
export const effective: SeenService = { name: 'a', decision: ENABLED, effect: { kind: 'effective' } };
export const ineffective: SeenService = {
  name: 'a',
  decision: ENABLED,
  effect: { kind: 'ineffective', reason: 'HintsMissing', message: 'Service a: no hints' },
};

export const createWorld = () => {
  const server = createMemoryServer();
  const clock = createFakeClock();
  const log = recordingLogger();
  const project = createExtensionProjection(createRoutingConfigReader());
  const world = {
    server,
    clock,
    log,
    classes: ['shoot', 'seed'] as ExtensionClass[],
    services: [effective] as SeenService[],
    takingBack: false,
    shoot: undefined as Pick<Shoot, 'metadata' | 'status'> | undefined,
    /** What the cache has; undefined: what the server has. */
    cached: undefined as Extension | undefined,
    stored: (): Extension | undefined => server.read<Extension>(EXTENSIONS, REF),
    put: (extension: Extension): void => server.put(EXTENSIONS, extension),
    /** Requests that wrote. */
    writes: (): number => server.calls.filter(({ verb }) => verb === 'patch').length,
    /** A process of its own: it remembers nothing of others. */
    process(before?: Before): Reconciler & { turn(): Promise<Result> } {
      const cache = (): ReadExtension | undefined => {
        const found = world.cached ?? world.stored();
        return found === undefined ? undefined : project(found);
      };
      const reconciler = createExtensionReconciler({
        classes: world.classes,
        client: server.client(before),
        extension: cache,
        project,
        shoot: () => world.shoot,
        governed: ({ spec }) => {
          const own = spec?.class === 'seed' ? 'seed' : 'shoot';
          return { namespace: own === 'seed' ? 'garden' : HOME, governing: governingExtension([cache() ?? {}], own) };
        },
        seen: (): SeenNamespace[] => [{ name: HOME, decision: ENABLED, services: world.services }],
        isReverting: () => world.takingBack,
        clock,
        conditionIntervalMs: CONDITION_INTERVAL_MS,
        logger: log,
      });
      return { ...reconciler, turn: () => reconciler.reconcile(KEY, new AbortController().signal) };
    },
  };
  return world;
};

export type World = ReturnType<typeof createWorld>;
