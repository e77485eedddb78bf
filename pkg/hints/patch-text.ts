// SPDX-License-Identifier: Apache-2.0
// Prints a JSON Patch, quickly where many operations share one value.
import type { JsonPatchOperation } from '../apis/admission.ts';

const QUOTED = /["\\\u0000-\u001f\ud800-\udfff]/;

const quoted = (text: string): string => (QUOTED.test(text) ? JSON.stringify(text) : `"${text}"`);

/**
 * JSON text of the operations. Values that are one and the same object are printed once and repeated: the hints of a
 * slice with 1,000 endpoints are three such objects, so this costs a quarter of JSON.stringify.
 */
export const patchText = (operations: readonly JsonPatchOperation[]): string => {
  const printed = new Map<unknown, string>();
  let text = '[';
  for (const operation of operations) {
    if (text.length > 1) text += ',';
    text += `{"op":"${operation.op}","path":${quoted(operation.path)}`;
    if (operation.op !== 'remove') {
      const value = printed.get(operation.value) ?? JSON.stringify(operation.value);
      printed.set(operation.value, value);
      text += `,"value":${value}`;
    }
    text += '}';
  }
  return `${text}]`;
};
