// Nodes and groups for the tests of zones.
import { ANNOTATION_GROUP_ZONE, LABEL_ZONE } from '../../../pkg/apis/names.ts';
import { type GroupNode, type ZoneRecord, formatRecord } from '../../../pkg/kubeedge/decide.ts';

export const NOW = 1_800_000_000;

export interface NodeState {
  readonly zone?: string | undefined;
  readonly record?: ZoneRecord | undefined;
  readonly zoneManagers?: readonly string[];
  readonly memberManagers?: readonly string[];
}

export const edge = ({ zone, record, zoneManagers = [], memberManagers = [] }: NodeState = {}): GroupNode => ({
  metadata: {
    name: 'n1',
    labels: { site: 'north', ...(zone === undefined ? {} : { [LABEL_ZONE]: zone }) },
    annotations: record === undefined ? {} : { [ANNOTATION_GROUP_ZONE]: formatRecord(record) },
  },
  zoneManagers,
  memberManagers,
});
