// SPDX-License-Identifier: Apache-2.0
// By which object files are known to be a bundle of `kubectl topology status`.
import type { Fields } from '../../../pkg/apis/fields.ts';
import { isFields } from '../../../pkg/apis/fields.ts';

export const OBSERVATIONS_KIND = 'TopologyObservations';

export const isObservations = (object: unknown): object is Fields =>
  isFields(object) && object['kind'] === OBSERVATIONS_KIND;
