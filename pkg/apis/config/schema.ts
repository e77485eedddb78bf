// SPDX-License-Identifier: Apache-2.0
// The pieces that the schemas of configuration files are built from.

/** A block of fields; others are refused. `more` are further keywords, such as its default and description. */
export const object = (properties: Record<string, object>, more: object = {}) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...more,
});

export const namespaceName = {
  type: 'string',
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
};

export const objectName = {
  type: 'string',
  minLength: 1,
  maxLength: 253,
  pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
};

export const userName = { type: 'string', minLength: 1, maxLength: 512 };

/** Distinct names of namespaces; none by default. */
export const namespaceList = (description: string) => ({
  type: 'array',
  items: namespaceName,
  uniqueItems: true,
  default: [],
  description,
});

/** A label selector; `more` are further keywords, such as its default and description. */
export const labelSelector = (more: object) =>
  object(
    {
      matchLabels: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Labels that must be equal.',
      },
      matchExpressions: {
        type: 'array',
        description: 'Requirements that must hold.',
        items: object(
          {
            key: { type: 'string', minLength: 1, description: 'Key of the label.' },
            operator: {
              type: 'string',
              enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
              description: 'How its value is compared.',
            },
            values: { type: 'array', items: { type: 'string' }, description: 'For `In` and `NotIn`.' },
          },
          { required: ['key', 'operator'] },
        ),
      },
    },
    more,
  );
