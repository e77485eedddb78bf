// Carries out what Gardener asks of our Extensions, and keeps current whether what each is about has effect; thin I/O over pkg/gardener/extension.
import { defined, keptIn, keyOf, refOfKey } from '../../apis/values.ts';
import type { Extension, ExtensionClass, OperationType } from '../../apis/gardener.ts';
import type { Condition } from '../../apis/meta.ts';
import { EXTENSIONS } from '../../apis/resources.ts';
import { createRoutingConfigReader } from '../../apis/routing-config-reader.ts';
import { type SeenNamespace, decideCondition, nextCondition } from '../../gardener/extension/condition.ts';
import { type ReadExtension, extensionClassOf, isResponsible } from '../../gardener/extension/select.ts';
import {
  beginPatch,
  conditionOf,
  conditionPatch,
  decideOperation,
  endPatch,
  isOperation,
  letGoPatch,
  misconfiguration,
  takeUpPatch,
} from '../../gardener/extension/status.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { type Result, DONE } from '../../kubernetes/types.ts';
import { type Table, objects, signals } from '../../kubernetes/watches.ts';
import { type SettingsCaches, createExtensionProjection, inNamespace, namespaceNames } from '../settings/caches.ts';
import { extensionClassesOf, extensionNamespaceOf, governingOf } from '../settings/decider.ts';
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { type Effects, serviceNameOf } from '../effectiveness/reconciler.ts';
import { ownersIn } from '../settings/context.ts';
import type { Decider, EnabledSettings, NamespaceDecision, Owner } from '../settings/context.ts';

/** Classes that are about all namespaces of an owner; class shoot is about the one that its Extension is in. */
const OWNERS: Readonly<Record<Exclude<ExtensionClass, 'shoot'>, Owner>> = {
  seed: 'extension-settings',
  garden: 'garden-settings',
};

const seenIn = (
  { namespace, decision, objects: items }: NamespaceDecision,
  effectOf: Effects['effectOf'],
): SeenNamespace => ({
  name: namespace,
  decision,
  services: items.map((item) => {
    const name = serviceNameOf(item);
    return { name, decision: item.decision, effect: effectOf(namespace, name) };
  }),
});

/** What each Extension is about, by the caches: its namespaces, what was decided there, and whether it has effect. */
const createSubjects = (options: {
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
    const names = namespaceNames(caches).filter((name) => ownerOfName(name) === OWNERS[own]);
    return names.sort();
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
      decisions(extension).some(({ objects: items }) =>
        items.some(({ want, plan }) => want === undefined && plan.kind === 'patch'),
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

/** How long a deletion waits for settings to be reverted: they are reverted afterwards just as well, and no Shoot is to wait for it. */
const REVERT_PATIENCE_MS = 30_000;
const LOOK_AGAIN_MS = 500;
/** An order that stays after it failed, as the one to restore does, is tried again after this time, or at once after a change. */
const FAILED_AGAIN_MS = 60_000;

/** What one process remembers of an Extension that it looks after; times are monotonic milliseconds. */
interface Memory {
  /** Its last operation ended, or it needed none. */
  seen?: true;
  deletingSince?: number;
  conditionAt?: number;
  failed?: { readonly generation: number | undefined; readonly at: number } | undefined;
}

/** The key is `namespace/name` of an Extension. */
export const createExtensionController = (
  options: Pick<ControllerContext, 'client' | 'clock' | 'logger'> &
    Parameters<typeof createSubjects>[0] & {
      readonly config: { readonly extensions: { readonly conditionIntervalSeconds: number } };
      readonly caches: SettingsCaches;
    },
): ControllerSpec => {
  const { config, caches, client, clock, logger } = options;
  const { modes } = config;
  const classes = extensionClassesOf(modes);
  const subjects = createSubjects(options);
  const project = createExtensionProjection(createRoutingConfigReader());
  const known = new Map<string, Memory>();
  const memoryOf = (key: string): Memory => keptIn(known, key, () => ({}));
  /** At least this long between two writes of a condition by itself. */
  const conditionIntervalMs = config.extensions.conditionIntervalSeconds * 1_000;

  const patch = async (
    before: ReadExtension,
    body: object | undefined,
    subresource: 'status' | undefined,
    signal: AbortSignal,
  ): Promise<ReadExtension> => {
    if (body === undefined) return before;
    const key = keyOf(before);
    const write = defined({ subresource });
    return project(await client.patch<Extension>(EXTENSIONS, refOfKey(key), 'merge', body, write, signal));
  };

  const decide = (extension: ReadExtension) =>
    decideOperation({
      extension,
      shoot: caches.clusters?.get({ name: extension.metadata?.namespace ?? '' })?.spec?.shoot,
      firstSight: memoryOf(keyOf(extension)).seen !== true,
    });

  const conditionFor = (extension: ReadExtension): Condition | undefined => {
    const input = {
      name: keyOf(extension),
      reading: extension.reading ?? ({ kind: 'absent' } as const),
      namespaces: subjects.seen(extension),
    };
    return nextCondition(conditionOf(extension), decideCondition(input), clock.now());
  };

  /** A deletion waits until the caches show that nothing is left, for as long as its patience lasts. */
  const waits = (cached: ReadExtension, key: string): boolean => {
    const since = (memoryOf(key).deletingSince ??= clock.monotonic());
    if (clock.monotonic() - since >= REVERT_PATIENCE_MS) {
      logger.warn('Extension is being deleted while its settings are still being removed', { extension: key });
      return false;
    }
    return cached.metadata?.deletionTimestamp === undefined || subjects.isReverting(cached);
  };

  const begin = (live: ReadExtension, type: OperationType, signal: AbortSignal): Promise<ReadExtension> => {
    const last = live.status?.lastOperation;
    const begun = last?.type === type && last.state === 'Processing';
    return patch(live, begun ? undefined : beginPatch(live, type, clock.now()), 'status', signal);
  };

  const run = async (
    cached: ReadExtension,
    live: ReadExtension,
    type: OperationType,
    signal: AbortSignal,
  ): Promise<Result> => {
    const key = keyOf(live);
    let current = await begin(live, type, signal);
    current = await patch(current, takeUpPatch(current, type), undefined, signal);
    if (type === 'Delete' && waits(cached, key)) return { kind: 'requeue', afterMs: LOOK_AGAIN_MS };
    const own = extensionClassOf(current) ?? 'shoot';
    const here = current.metadata?.namespace ?? '';
    const problem = misconfiguration({
      extension: current,
      type,
      namespace: extensionNamespaceOf(own, here, modes),
      governing: governingOf(caches, own, here, modes),
    });
    const condition = type === 'Delete' || type === 'Migrate' ? undefined : conditionFor(current);
    current = await patch(current, endPatch(current, type, problem, condition, clock.now()), 'status', signal);
    if (problem === undefined) {
      memoryOf(key).failed = undefined;
      await patch(current, letGoPatch(current, type), undefined, signal);
    } else memoryOf(key).failed = { generation: live.metadata?.generation, at: clock.monotonic() };
    logger.info('operation on the Extension ended', {
      extension: key,
      operation: type,
      ...(problem === undefined ? { outcome: 'succeeded' } : { outcome: 'failed', detail: problem }),
    });
    memoryOf(key).seen = true;
    return DONE;
  };

  /** After an operation the condition follows what the Services do, and nothing else is written. */
  const follow = async (extension: ReadExtension, signal: AbortSignal): Promise<Result> => {
    const memory = memoryOf(keyOf(extension));
    memory.seen = true;
    const condition = conditionFor(extension);
    if (condition === undefined) return DONE;
    const afterMs = (memory.conditionAt ?? -Infinity) + conditionIntervalMs - clock.monotonic();
    if (afterMs > 0) return { kind: 'requeue', afterMs };
    await patch(extension, conditionPatch(extension, condition), 'status', signal);
    memory.conditionAt = clock.monotonic();
    return DONE;
  };

  /** How long a restoration that failed waits for its next try: its order stays, and our own writes bring it back to us. */
  const restWaitMs = (key: string, { metadata }: ReadExtension, type: string): number => {
    const { failed } = memoryOf(key);
    if (type !== 'Restore' || failed === undefined || failed.generation !== metadata?.generation) return 0;
    return failed.at + FAILED_AGAIN_MS - clock.monotonic();
  };

  const look = async (key: string, cached: ReadExtension, signal: AbortSignal): Promise<Result> => {
    const due = decide(cached);
    const afterMs = restWaitMs(key, cached, due);
    if (afterMs > 0) return { kind: 'requeue', afterMs };
    if (isOperation(due)) {
      // The operation is decided on what the server holds: the cache may be behind our own last write.
      const live = project(await client.get<Extension>(EXTENSIONS, refOfKey(key), signal));
      const type = decide(live);
      if (isOperation(type)) return run(cached, live, type, signal);
    }
    return decide(cached) === 'settled' ? follow(cached, signal) : DONE;
  };

  return {
    watches: [
      ...objects(caches.extensions, (extension) => (extension.reading === undefined ? [] : [keyOf(extension)])),
      subjects.watch,
    ],
    async reconcile(key, signal) {
      const cached = caches.extensions?.get(refOfKey(key));
      if (cached === undefined || !isResponsible(cached, classes)) {
        known.delete(key);
        return DONE;
      }
      try {
        return await look(key, cached, signal);
      } catch (error) {
        if (isNotFound(error)) return DONE;
        // A concurrent write; what it stored is looked at first.
        if (isConflict(error)) return { kind: 'requeue', afterMs: LOOK_AGAIN_MS };
        throw error;
      }
    },
  };
};
