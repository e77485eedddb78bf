// Reduced slices, so that a test names only what matters to it.
import type { FlowSlice, FlowSliceEndpoint } from '../../../../pkg/flow/assemble/slice.ts';

export const flowEndpoint = (zone: string, more: Partial<FlowSliceEndpoint> = {}): FlowSliceEndpoint => {
  const forZones = more.forZones ?? [];
  const hinted = forZones.length > 0;
  return { pod: `${zone}1`, address: `198.18.0.1`, zone, node: '', ready: true, hinted, ...more, forZones };
};

export const flowSlice = (endpoints: readonly FlowSliceEndpoint[], more: Partial<FlowSlice> = {}): FlowSlice => ({
  metadata: { namespace: 'shop', name: 'web-1', uid: 'u', resourceVersion: '7' },
  service: 'web',
  byControlPlane: true,
  strategy: 'load-aware',
  mark: undefined,
  annotated: false,
  addressType: 'IPv4',
  rebuilt: true,
  endpoints,
  ...more,
});
