// SPDX-License-Identifier: Apache-2.0
// By which object files are known to be a bundle of `kubectl topology status`.
import { isFields } from '../../../pkg/diagnosis/project/fields.ts';
import type { Fields } from '../../../pkg/diagnosis/project/fields.ts';

export const OBSERVATIONS_KIND = 'TopologyObservations';

export const isObservations = (object: unknown): object is Fields =>
  isFields(object) && object['kind'] === OBSERVATIONS_KIND;
