// The parts of KubeEdge's resources that this project reads; nothing of them is ever written.
import type { KubernetesObject, StringMap } from './meta.ts';

/** apps.kubeedge.io/v1alpha1 NodeGroup, cluster-scoped. */
export interface NodeGroup extends KubernetesObject {
  spec?: {
    /** Names of Nodes that belong to the group, whatever their labels. */
    nodes?: string[] | null;
    /** Nodes with all of these labels belong to it as well. */
    matchLabels?: StringMap | null;
    /** Its Nodes get the name of the group as their zone. KubeEdge 1.21 and newer know the field; default false. */
    topologyEnabled?: boolean;
  };
}
