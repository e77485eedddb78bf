// What the write path asks of admission.
import type { StoredObject } from './object.ts';
import type { ServedResource } from './served-resource.ts';
import type { WriteContext } from './writer.ts';

export interface AdmissionInput {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly resource: ServedResource;
  readonly namespace: string;
  readonly name: string;
  /** Absent for DELETE. */
  readonly object?: StoredObject;
  /** Absent for CREATE. */
  readonly old?: StoredObject;
  readonly context: WriteContext;
}

export interface Admission {
  /** Returns the object as webhooks left it (for DELETE an empty one); throws StatusError when a webhook says no. */
  admit(input: AdmissionInput): Promise<StoredObject>;
  /** Closes connections to webhooks. */
  close(): void;
}
