// SPDX-License-Identifier: Apache-2.0
// How the hints of EndpointSlices are registered: path, rules, and which slices are asked about.
import type { GroupVersionKind } from '../../apis/admission.ts';
import { GROUP, LABEL_NAMESPACE_NAME, LABEL_SERVICE_NAME } from '../../apis/names.ts';
import { ENDPOINT_SLICES } from '../../apis/resources.ts';
import { HINT_STRATEGIES, SELECTING_LABELS } from '../../hints/index.ts';
import type { RegistrationOptions, WebhookEntry } from '../registration-types.ts';

export const HINTS_NAME = 'endpoint-slice-hints';
export const HINTS_PATH = `/webhooks/${HINTS_NAME}`;

const { group, version, kind, plural } = ENDPOINT_SLICES;
export const HINTS_KINDS: readonly GroupVersionKind[] = [{ group, version, kind }];

const valuesOf = (key: string): string[] =>
  HINT_STRATEGIES.flatMap(({ labels }) => labels.filter((label) => label.key === key).map(({ value }) => value));

/**
 * A selector cannot say "this label or that one", so there is one entry a label. An entry leaves out what an earlier one
 * selects: no slice is asked about twice.
 */
export const hintsEntries = ({ address, excludedNamespaces }: RegistrationOptions): WebhookEntry[] =>
  SELECTING_LABELS.map((key, index) => ({
    name: `${index === 0 ? '' : `label-${index}.`}${HINTS_NAME}.${GROUP}`,
    path: HINTS_PATH,
    mayFail: true,
    rules: [
      {
        apiGroups: [group],
        apiVersions: [version],
        resources: [plural],
        operations: ['CREATE', 'UPDATE'],
        scope: 'Namespaced',
      },
    ],
    namespaceSelector: {
      matchExpressions: [{ key: LABEL_NAMESPACE_NAME, operator: 'NotIn', values: [...excludedNamespaces] }],
    },
    objectSelector: {
      matchExpressions: [
        { key, operator: 'In', values: valuesOf(key) },
        ...SELECTING_LABELS.slice(0, index).map((earlier) => ({
          key: earlier,
          operator: 'NotIn' as const,
          values: valuesOf(earlier),
        })),
        // Whatever is excluded or not: the slices of the Service through which we are reached never wait for us.
        ...(address.kind === 'service'
          ? [{ key: LABEL_SERVICE_NAME, operator: 'NotIn' as const, values: [address.name] }]
          : []),
      ],
    },
    matchConditions: [{ name: 'has-endpoints', expression: 'has(object.endpoints)' }],
  }));
