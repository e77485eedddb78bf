// What the loader must know about one kind of configuration file: its name, its schema and its type.
import type { SchemaObject } from 'ajv';
import { CONFIG_GROUP } from '../names.ts';

/** apiVersion of every configuration file. */
export const CONFIG_API_VERSION = `${CONFIG_GROUP}/v1alpha1`;

/**
 * One kind of configuration file. `schema` describes the fields beside apiVersion and kind: a JSON Schema object whose
 * `default`s are filled in by the loader, so that `T` is the type after defaulting.
 */
export interface ConfigKind<T> {
  /** Default: that of configuration files. */
  readonly apiVersion?: string;
  readonly kind: string;
  readonly schema: SchemaObject & { readonly properties: Readonly<Record<string, SchemaObject>> };
  /** Checks that a schema cannot express (one field against another), on the defaulted value. */
  readonly check?: (config: T) => readonly CrossFieldProblem[];
}

/** A problem between fields; `path` leads to the node that the error should point at. */
export interface CrossFieldProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly allowed?: readonly string[];
}

/** What every loaded configuration carries. */
export interface ConfigHeader {
  readonly apiVersion: string;
  readonly kind: string;
}
