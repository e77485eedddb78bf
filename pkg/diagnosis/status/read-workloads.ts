// Deployments, Pods and Leases of an installation reduced to what a status says of them.
import { defined } from '../../apis/defined.ts';
import { ANNOTATION_INSTALLATION } from '../../apis/names.ts';
import { asFields, fieldsAt, listAt, objectAt, stringsAt, textAt, wholeAt } from '../project/fields.ts';
import { DEFAULT_NAMESPACE, metadataOf } from '../project/metadata.ts';
import type { ComponentPod, DeployedComponent, LeaseFacts, Termination } from './evidence.ts';
import type { Fields } from '../../apis/fields.ts';

export const LABEL_NAME = 'app.kubernetes.io/name';
const LABEL_INSTANCE = 'app.kubernetes.io/instance';
const LABEL_COMPONENT = 'app.kubernetes.io/component';
const LABEL_VERSION = 'app.kubernetes.io/version';

const itemsAt = (object: Fields, key: string): Fields[] => listAt(object, key, asFields) ?? [];

/** What labels of the chart say. */
const identityOf = (object: Fields) => {
  const { namespace = DEFAULT_NAMESPACE, name, labels = {} } = metadataOf(object, true);
  return {
    namespace,
    name,
    instance: labels[LABEL_INSTANCE] ?? '',
    component: labels[LABEL_COMPONENT] ?? name,
    version: labels[LABEL_VERSION] ?? '',
  };
};

/** Conditions of a Deployment that show trouble: it cannot make Pods, or an upgrade has come to a standstill. */
const problemsOf = (status: Fields): string[] =>
  itemsAt(status, 'conditions').flatMap((condition) => {
    const [type, state, message = ''] = [
      textAt(condition, 'type'),
      textAt(condition, 'status'),
      textAt(condition, 'message'),
    ];
    const bad = type === 'ReplicaFailure' ? state === 'True' : type === 'Progressing' && state === 'False';
    return bad ? [message] : [];
  });

export const deploymentOf = (object: Fields): DeployedComponent => {
  const [spec, status] = [fieldsAt(object, 'spec'), fieldsAt(object, 'status')];
  const [container] = itemsAt(fieldsAt(fieldsAt(spec, 'template'), 'spec'), 'containers');
  return {
    ...identityOf(object),
    image: container === undefined ? '' : (textAt(container, 'image') ?? ''),
    desired: wholeAt(spec, 'replicas') ?? 1,
    ready: wholeAt(status, 'readyReplicas') ?? 0,
    updated: wholeAt(status, 'updatedReplicas') ?? 0,
    problems: problemsOf(status),
  };
};

const terminationOf = (container: Fields): Termination | undefined =>
  objectAt(container, 'lastState', (state) =>
    objectAt(state, 'terminated', (ended) => ({
      reason: textAt(ended, 'reason') ?? '',
      exitCode: wholeAt(ended, 'exitCode') ?? 0,
      finishedAt: textAt(ended, 'finishedAt') ?? '',
    })),
  );

const waitingOf = (container: Fields): string =>
  objectAt(container, 'state', (state) => objectAt(state, 'waiting', (waiting) => textAt(waiting, 'reason'))) ?? '';

export const componentPodOf = (object: Fields): ComponentPod => {
  const { namespace, name, instance, component } = identityOf(object);
  const status = fieldsAt(object, 'status');
  const containers = itemsAt(status, 'containerStatuses');
  const ended = containers.map(terminationOf).filter((end) => end !== undefined);
  return {
    namespace,
    name,
    instance,
    component,
    nodeName: textAt(fieldsAt(object, 'spec'), 'nodeName') ?? '',
    ready: itemsAt(status, 'conditions').some(({ type, status: state }) => type === 'Ready' && state === 'True'),
    restarts: containers.reduce((sum, container) => sum + (wholeAt(container, 'restartCount') ?? 0), 0),
    waiting: containers.map(waitingOf).find((reason) => reason !== '' && reason !== 'ContainerCreating') ?? '',
    ...defined({ lastTermination: ended.toSorted((a, b) => b.finishedAt.localeCompare(a.finishedAt))[0] }),
  };
};

/** Holders renew every few seconds, whatever else the Lease says. */
const DEFAULT_DURATION_SECONDS = 15;

export const leaseOf = (object: Fields): LeaseFacts => {
  const { namespace = DEFAULT_NAMESPACE, name, annotations = {} } = metadataOf(object, true);
  const spec = fieldsAt(object, 'spec');
  const renewedAt = Date.parse(textAt(spec, 'renewTime') ?? '');
  return {
    namespace,
    name,
    holder: textAt(spec, 'holderIdentity') ?? '',
    durationSeconds: wholeAt(spec, 'leaseDurationSeconds') ?? DEFAULT_DURATION_SECONDS,
    installation: annotations[ANNOTATION_INSTALLATION] ?? '',
    ...(Number.isNaN(renewedAt) ? {} : { renewedAt }),
  };
};

/** Whether the object carries the chart's name. */
export const isOfChart = (object: Fields, name: string): boolean =>
  objectAt(object, 'metadata', (metadata) => stringsAt(metadata, 'labels'))?.[LABEL_NAME] === name;
