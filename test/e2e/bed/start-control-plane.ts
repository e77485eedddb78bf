// The network namespace of a bed's control plane.
import { controlPlaneAddresses, createBridge, createNamespace, removeBridge } from './machine.ts';
import type { BedRecord } from './state.ts';

export interface ControlPlaneNamespace {
  readonly name: string;
  /** Takes what the bed put into it out of a namespace that belongs to the caller; the bed's own goes with its record. */
  release(): Promise<void>;
}

/** Creates the namespace unless `existing` names one, and the bridge inside. */
export const prepareControlPlaneNamespace = async (
  record: BedRecord,
  existing: string | undefined,
): Promise<ControlPlaneNamespace> => {
  const name = existing ?? `topology-${record.id}-control-plane`;
  if (existing === undefined) {
    record.addNamespace(name);
    await createNamespace(name);
  }
  await createBridge(name, controlPlaneAddresses);
  return {
    name,
    release: async () => {
      if (existing !== undefined) await removeBridge(name);
    },
  };
};
