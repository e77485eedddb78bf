// Valid files of clusters: the fixtures that the tests of `kubectl topology` read.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CLUSTERS } from '../../fixtures/topology-command.ts';
import type { Sample } from '../types.ts';

/** Small ones are as rich in fields, and leave time for more of them. */
const MAX_BYTES = 12_000;

const listIn = (file: string): object => {
  const items = parseAllDocuments(readFileSync(join(CLUSTERS, file), 'utf8')).map(
    (document) => document.toJS() as unknown,
  );
  return { apiVersion: 'v1', kind: 'List', items: items.filter((item) => item !== null) };
};

/** The same with zones and Pods that are called like what every object has from its prototype: valid names, all of them. */
const underOtherNames = (value: object): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll('eu-1a', 'constructor')
      .replaceAll('eu-1b', 'toString')
      .replaceAll('eu-1c', 'hasOwnProperty'),
  );

/** Each file as one List, so that one value holds all its objects. */
export const clusterSamples = (): Sample[] =>
  readdirSync(CLUSTERS)
    .filter((file) => statSync(join(CLUSTERS, file)).size <= MAX_BYTES)
    .flatMap((file, index) => {
      const value = listIn(file);
      const other = { name: `${file}, other names`, value: underOtherNames(value) };
      return index % 4 === 0 ? [{ name: file, value }, other] : [{ name: file, value }];
    });
