// What an evacuation costs the control plane: slices that are written, what of them every proxy receives, and the answers of the
// EndpointSlice controller.
import type { EndpointSlice } from '../../apis/core.ts';
import { isControllerSlice } from '../../upstream/index.ts';

export interface WritesEstimate {
  /** Slices that are written, once each. */
  readonly slices: number;
  /** Of these as JSON, as far as they are known here: about what they are in storage without managed fields. */
  readonly bytes: number;
  /** Proxies that watch slices: one on each ready Node. */
  readonly proxies: number;
  /** To all proxies together; kube-proxy reads protobuf, which is smaller. */
  readonly fanOutBytes: number;
  /**
   * The EndpointSlice controller answers each write of another author with one PUT a second later, which changes nothing and so
   * reaches no watch (pkg/controller/endpointslice of kubernetes/kubernetes; seen on 1.36.3).
   */
  readonly echo: {
    readonly puts: number;
    /** What kube-controller-manager allows its controllers together: --kube-api-qps. */
    readonly requestsPerSecond: number;
    /** For so long the controller's other work, new Pods among it, waits its turn. */
    readonly seconds: number;
  };
}

/** Default of --kube-api-qps of kube-controller-manager; Gardener sets 100 for Shoots. */
export const CONTROLLER_REQUESTS_PER_SECOND = 20;

const ENCODER = new TextEncoder();

/** `slices`: those that would be written, as they would be. */
export const estimateWrites = (
  slices: readonly EndpointSlice[],
  {
    proxies,
    requestsPerSecond = CONTROLLER_REQUESTS_PER_SECOND,
  }: { readonly proxies: number; readonly requestsPerSecond?: number },
): WritesEstimate => {
  const bytes = slices.reduce((sum, slice) => sum + ENCODER.encode(JSON.stringify(slice)).length, 0);
  const puts = slices.filter(isControllerSlice).length;
  return {
    slices: slices.length,
    bytes,
    proxies,
    fanOutBytes: bytes * proxies,
    echo: { puts, requestsPerSecond, seconds: puts / requestsPerSecond },
  };
};
