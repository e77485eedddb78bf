// SPDX-License-Identifier: Apache-2.0
// Writes a label selector as the query of a list wants it.
import type { LabelSelector, LabelSelectorRequirement } from '../apis/admission.ts';

const requirementText = ({ key, operator, values = [] }: LabelSelectorRequirement): string => {
  switch (operator) {
    case 'In':
      return `${key} in (${[...values].sort().join(',')})`;
    case 'NotIn':
      return `${key} notin (${[...values].sort().join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
  }
};

/** `a=b,c in (d,e)`, in an order that depends on the content alone; undefined where the selector selects everything. */
export const selectorText = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string | undefined => {
  const equalities = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const parts = [...equalities, ...matchExpressions.map(requirementText)].sort();
  return parts.length === 0 ? undefined : parts.join(',');
};
