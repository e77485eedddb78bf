// SPDX-License-Identifier: Apache-2.0
// Whose load is asked for: the Pods of a Service that have ready endpoints.
import { endpointsOf } from '../../flow/assemble/endpoints.ts';
import type { LoadQuery } from '../../metrics/types.ts';
import type { Snapshot } from './types.ts';

export const loadQueryOf = ({ service, slices }: Snapshot): LoadQuery => {
  const { metadata, spec } = service;
  const ready = endpointsOf(slices).filter((endpoint) => endpoint.ready);
  return {
    namespace: metadata?.namespace ?? '',
    service: metadata?.name ?? '',
    pods: new Set(ready.map(({ name, pod }) => (pod === '' ? name : pod))),
    ...(spec?.selector === undefined ? {} : { selector: { matchLabels: spec.selector } }),
  };
};
