// What a namespace of a seed or garden runtime cluster is, by the labels and annotations that Gardener puts on it.
import type { Namespace } from '../apis/core.ts';
import { LABEL_GARDENER_ROLE } from '../apis/names.ts';

const ANNOTATION_ZONES = 'high-availability-config.resources.gardener.cloud/zones';
const ANNOTATION_FAILURE_TOLERANCE = 'high-availability-config.resources.gardener.cloud/failure-tolerance-type';

/**
 * `shoot`: control plane of a shoot, named like its Cluster. `selfHosted`: kube-system of a shoot that hosts itself.
 * `garden`: Gardener's own components. `extension`: one extension. `other`: none of Gardener's.
 *
 * `zones` comes from the annotation; old shoots list several without being zone-HA, so nothing is inferred from the count.
 */
export type NamespaceClass =
  | {
      readonly kind: 'shoot';
      readonly zones: readonly string[];
      /** `node`, `zone`, or empty for no high availability; undefined without the annotation. */
      readonly failureToleranceType: string | undefined;
    }
  | { readonly kind: 'selfHosted' }
  | { readonly kind: 'garden'; readonly zones: readonly string[] }
  | { readonly kind: 'extension'; readonly zones: readonly string[] }
  | { readonly kind: 'other' };

const parseZones = (value: string | undefined): readonly string[] =>
  (value ?? '')
    .split(',')
    .map((zone) => zone.trim())
    .filter((zone) => zone !== '');

/** Recognises a namespace by its role label; names only show a self-hosted shoot's. */
export const classifyNamespace = ({ metadata = {} }: Namespace): NamespaceClass => {
  const { name, labels = {}, annotations = {} } = metadata;
  const zones = parseZones(annotations[ANNOTATION_ZONES]);
  switch (labels[LABEL_GARDENER_ROLE]) {
    case 'shoot':
      if (name === 'kube-system') return { kind: 'selfHosted' };
      return { kind: 'shoot', zones, failureToleranceType: annotations[ANNOTATION_FAILURE_TOLERANCE] };
    case 'garden':
      return { kind: 'garden', zones };
    case 'extension':
      return { kind: 'extension', zones };
    case undefined:
    default:
      return { kind: 'other' };
  }
};
