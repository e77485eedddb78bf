// Compares labels with a label selector as Kubernetes does.
import type { LabelSelector } from '../apis/admission.ts';
import type { StringMap } from '../apis/meta.ts';

/** An empty selector matches everything. Own keys only: labels come from other people's JSON. */
export const matchesSelector = (
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<StringMap>,
): boolean => {
  const valueOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key);
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      const included = value !== undefined && values.includes(value);
      return operator === 'In' ? included : !included;
    })
  );
};
