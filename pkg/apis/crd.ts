// What the CustomResourceDefinitions of this project have in common.
import type { SchemaObject } from 'ajv';
import type { KubernetesObject } from './meta.ts';
import type { Resource } from './resources.ts';

/** A column of `kubectl get`; those with a priority are shown by `-o wide` alone. */
export const column = (name: string, type: string, jsonPath: string, description: string, priority = 0) => ({
  name,
  type,
  jsonPath,
  description,
  ...(priority === 0 ? {} : { priority }),
});

export const conditionPath = (type: string, field: string): string =>
  `.status.conditions[?(@.type=="${type}")].${field}`;

export type Definition = KubernetesObject & { readonly spec: object };

export interface DefinitionParts {
  readonly shortNames: readonly string[];
  readonly columns: readonly ReturnType<typeof column>[];
  readonly description: string;
  /** Fields that an object must have. Default: none. */
  readonly required?: readonly string[];
  readonly spec: SchemaObject;
  readonly status: SchemaObject;
}

/** An object may leave out what an API server fills in; what it answers has it. */
const asWritten = (schema: SchemaObject): SchemaObject => {
  const properties: Readonly<Record<string, SchemaObject>> = schema['properties'] ?? {};
  const required = ((schema['required'] ?? []) as string[]).filter(
    (name) => properties[name]?.['default'] === undefined,
  );
  const { required: _all, ...rest } = schema;
  return required.length === 0 ? rest : { ...rest, required };
};

/** One version, served and stored, with a status subresource. */
export const definitionOf = (
  { group, kind, plural, version, namespaced }: Resource,
  { shortNames, columns, description, required = [], spec, status }: DefinitionParts,
): Definition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), shortNames },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: columns,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description,
            ...(required.length === 0 ? {} : { required }),
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              metadata: { type: 'object' },
              spec: asWritten(spec),
              status,
            },
          },
        },
      },
    ],
  },
});
