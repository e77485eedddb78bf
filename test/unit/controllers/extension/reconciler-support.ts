// The extension reconciler on a server in memory.
import { beforeEach } from 'mocha';
import type { ExtensionStatus } from '../../../../pkg/apis/gardener.ts';
import { ANNOTATION_OPERATION, CONDITION_EFFECTIVE } from '../../../../pkg/apis/names.ts';
import { extension } from '../../../fixtures/gardener.ts';
import { type World, createWorld } from './support.ts';

export const DELETED = '2026-01-01T00:00:00Z';

export const DONE = { kind: 'done' };

export const useExtension = () => {
  let world: World;
  beforeEach(() => (world = createWorld()));
  const status = (): ExtensionStatus => world.stored()?.status ?? {};
  const last = (): string => `${status().lastOperation?.type} ${status().lastOperation?.state}`;
  const operation = (): string | undefined => world.stored()?.metadata?.annotations?.[ANNOTATION_OPERATION];
  const finalizers = (): string[] => world.stored()?.metadata?.finalizers ?? [];
  const condition = (): string => {
    const found = status().conditions?.find(({ type }) => type === CONDITION_EFFECTIVE);
    return `${found?.status} ${found?.reason}`;
  };
  const change = (overrides: { metadata?: object; spec?: object; status?: object }): void => {
    const before = world.stored();
    if (before === undefined) throw new Error('there is no Extension to change');
    const { metadata, spec, status: own, ...rest } = before;
    const next = { ...rest, metadata: { ...metadata, ...overrides.metadata }, spec: { ...spec, ...overrides.spec } };
    const written =
      overrides.status === undefined && own === undefined ? {} : { status: { ...own, ...overrides.status } };
    world.put({ ...next, ...written });
  };
  const order = (value: string): void => change({ metadata: { annotations: { [ANNOTATION_OPERATION]: value } } });
  const put = (overrides: Parameters<typeof extension>[0] = {}): void =>
    world.put(extension({ ...overrides, metadata: { generation: 1, uid: 'u', ...overrides.metadata } }));
  const settle = async (): Promise<void> => {
    put();
    await world.process().turn();
    world.server.calls.length = 0;
  };
  return {
    get world() {
      return world;
    },
    status,
    last,
    operation,
    finalizers,
    condition,
    change,
    order,
    put,
    settle,
  };
};
