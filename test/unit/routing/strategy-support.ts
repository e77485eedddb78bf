// Services for the tests of strategies.
import type { StringMap } from '../../../pkg/apis/meta.ts';
import type { ServiceLike } from '../../../pkg/routing/types.ts';
import { APPLIED, deepFreeze } from './support.ts';

export const PREFIX = 'topology.extensions.gardener.cloud/';

export const build = (labels: StringMap, annotations: StringMap, applied?: object): ServiceLike =>
  deepFreeze({
    metadata: {
      labels,
      annotations: { ...annotations, ...(applied === undefined ? {} : { [APPLIED]: JSON.stringify(applied) }) },
    },
  });
