// SPDX-License-Identifier: Apache-2.0
// Collects the evidence for L7 load balancing of one namespace: the Service beside, the Shoot's opt-out, gate, version, configuration. Pure.
import type { GardenerInformation } from '../../../apis/config/settings-reconciler.ts';
import type { Service } from '../../../apis/core.ts';
import type { StringMap } from '../../../apis/meta.ts';
import { decideLayerSeven, mtlsServiceName } from '../../../gardener/layer-seven.ts';
import type { LayerSevenDecision } from '../../../gardener/layer-seven.ts';

/** Answers for each kube-apiserver Service of the namespace. */
export const layerSevenOf =
  (services: readonly Service[], gardener: GardenerInformation, shootAnnotations?: StringMap) =>
  (serviceName: string): LayerSevenDecision => {
    const beside = mtlsServiceName(serviceName);
    const featureGate = gardener.featureGates?.['IstioTLSTermination'];
    return decideLayerSeven({
      serviceName,
      mtlsServicePresent: services.some(({ metadata }) => metadata?.name === beside),
      ...(shootAnnotations === undefined ? {} : { shootAnnotations }),
      ...(featureGate === undefined ? {} : { featureGate }),
      ...(gardener.version === undefined ? {} : { gardenerVersion: gardener.version }),
      ...(gardener.layerSevenDefault === undefined ? {} : { configured: gardener.layerSevenDefault }),
    });
  };
