// Prepares the namespace of a control plane: a new one, or one that the caller (the suite's runner) lives in already.
import { controlPlaneAddresses } from './addresses.ts';
import { createNamespace } from './namespaces.ts';
import { createBridge, removeBridge } from './network.ts';
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
