// Extensions as decisions get them: read, and in a state that a test names.
import type { Extension, ExtensionStatus, LastOperation } from '../../../../pkg/apis/gardener.ts';
import type { ObjectMeta } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_OPERATION, EXTENSION_FINALIZER } from '../../../../pkg/apis/names.ts';
import { createRoutingConfigReader } from '../../../../pkg/apis/routing-config-reader.ts';
import type { RoutingConfigReading } from '../../../../pkg/apis/routing-config.ts';
import type { Governing, ReadExtension } from '../../../../pkg/gardener/extension/select.ts';
import { extension, routingConfig } from '../../../fixtures/gardener.ts';

export const NAME = 'shoot--foo--bar/topology-aware-routing';
export const NOW = Date.UTC(2026, 0, 1, 12, 0, 0, 789);
export const NOW_TEXT = '2026-01-01T12:00:00Z';

export const read = createRoutingConfigReader();

export const readingOf = (fields: object): RoutingConfigReading => read(routingConfig(fields));

export const governing = (fields: object, overrides: Partial<Governing> = {}): Governing => ({
  name: NAME,
  class: 'shoot',
  reading: readingOf(fields),
  ...overrides,
});

export const lastOperation = (
  type: LastOperation['type'],
  state: LastOperation['state'] = 'Succeeded',
): LastOperation => ({ type, state, progress: 100, description: 'as it was', lastUpdateTime: '2025-12-31T00:00:00Z' });

interface State {
  operation?: string;
  finalizer?: boolean;
  status?: ExtensionStatus;
  metadata?: ObjectMeta;
  spec?: Extension['spec'];
  reading?: RoutingConfigReading;
}

/** At generation 2, without an order of Gardener's unless one is named. */
export const extensionIn = (state: State = {}): ReadExtension => {
  const { operation, finalizer = false, status, metadata = {}, spec = {}, reading } = state;
  return {
    ...extension({
      metadata: {
        generation: 2,
        resourceVersion: '7',
        ...metadata,
        annotations: operation === undefined ? {} : { [ANNOTATION_OPERATION]: operation },
        ...(finalizer ? { finalizers: ['example.com/other', EXTENSION_FINALIZER] } : {}),
      },
      spec,
    }),
    ...(status === undefined ? {} : { status }),
    ...(reading === undefined ? {} : { reading }),
  };
};

/** Reconciled at its generation. */
export const settled: ExtensionStatus = { lastOperation: lastOperation('Reconcile'), observedGeneration: 2 };
