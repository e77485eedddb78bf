// What the parts of one bed share: its record, its API client and who it may run things as.
import { join } from 'node:path';
import type { Api } from './api.ts';
import type { Binaries, Program } from './binaries.ts';
import type { UserOptions } from './kubeconfig.ts';
import type { BedRecord } from './state.ts';

export interface BedContext {
  readonly record: BedRecord;
  /** Network namespace of the control plane. */
  readonly controlPlane: string;
  readonly api: Api;
  /** Writes the kubeconfig of a user and returns its path; the same user gets the same file. */
  readonly kubeconfig: (user: UserOptions) => Promise<string>;
  /** These binaries of any version, built where they are missing. */
  readonly binariesOf: (version: string, programs: readonly Program[]) => Promise<Binaries>;
  readonly defaultVersion: string;
}

/** Path of a log file of the bed. */
export const logOf = ({ record }: Pick<BedContext, 'record'>, name: string): string =>
  join(record.directory, 'logs', `${name}.log`);
