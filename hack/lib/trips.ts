// Three things on their way through the files: a setting, an admission review, a sample of load. The docs' tables and picture are made of it.

export interface Step {
  /** Path from the project's root. */
  readonly file: string;
  /** Shown in the picture: a few words. */
  readonly does: string;
  /** One sentence. */
  readonly detail: string;
}

export interface Trip {
  readonly name: string;
  readonly example: string;
  readonly steps: readonly Step[];
}

const step = (file: string, does: string, detail: string): Step => ({ file, does, detail });

export const TRIPS: readonly Trip[] = [
  {
    name: 'One setting',
    example: 'A Seed enables `topologyAwareRouting`; the Cluster of a Shoot on it changes.',
    steps: [
      step(
        'pkg/kubernetes/cache.ts',
        'sees the change',
        'The watch brings the Cluster, reduced to the fields that are read.',
      ),
      step(
        'pkg/controllers/settings/controller.ts',
        'names the key',
        'The change concerns one key: the namespace of the Shoot.',
      ),
      step(
        'pkg/controllers/settings/reconciler.ts',
        'reconciles',
        'The queue hands out the namespace in the replica that leads.',
      ),
      step(
        'pkg/controllers/settings/decider.ts',
        'gathers',
        'Cluster, Services, Etcds, Nodes and Extensions come from the caches.',
      ),
      step('pkg/gardener/decide.ts', 'decides if', 'Pure: whether the Shoot routes by zone, or the reason why not.'),
      step(
        'pkg/routing/plan.ts',
        'decides how',
        'Pure: the label, annotation or field of the Kubernetes version, as a patch.',
      ),
      step(
        'pkg/controllers/settings/apply.ts',
        'writes',
        'One merge patch a Service that differs, guarded against rewrite fights.',
      ),
      step(
        'pkg/controllers/settings/reporter.ts',
        'reports',
        'A log line, an event and metrics where the decision changed.',
      ),
    ],
  },
  {
    name: 'One admission review',
    example: 'The EndpointSlice controller writes a slice of that Service; the API server asks the webhook.',
    steps: [
      step('pkg/webhook/app.ts', 'accepts', 'TLS with bounded connections and handshakes.'),
      step('pkg/webhook/app.ts', 'routes', 'Express finds the path; each path is one handler.'),
      step('pkg/webhook/exchange.ts', 'reads, answers', 'The body within its budget, and one answer whatever happens.'),
      step('pkg/webhook/review.ts', 'checks', 'What is no review, or none that can be served, changes nothing.'),
      step(
        'pkg/webhook/endpoint-slice-hints.ts',
        'asks the table',
        'The object and what is known of planner and version go in.',
      ),
      step('pkg/hints/decide.ts', 'decides', 'Pure: one JSON Patch operation for each endpoint whose hints differ.'),
      step('pkg/webhook/review.ts', 'writes', 'The AdmissionReview with the patch, as text.'),
    ],
  },
  {
    name: 'One sample of load',
    example: 'A Service asks for `load-aware`; its next reading is due.',
    steps: [
      step(
        'pkg/metrics/resource-metrics.ts',
        'reads',
        'CPU of the Pods from metrics.k8s.io (or Prometheus beside it).',
      ),
      step(
        'pkg/controllers/flow/loads.ts',
        'keeps',
        'One reading serves all Services of a namespace, and is bounded in time.',
      ),
      step('pkg/controllers/flow/reconciler.ts', 'reconciles', 'Ask, plan, apply, report; or leave.'),
      step(
        'pkg/controllers/flow/memory.ts',
        'makes the job',
        'The sample, the slices and the state of the loop, as data.',
      ),
      step(
        'pkg/controllers/flow/planning.ts',
        'plans elsewhere',
        'A thread of its own, in fair turns and within a deadline.',
      ),
      step('pkg/flow/loop/step.ts', 'decides', 'Pure: estimates demand, and changes the plan where that pays.'),
      step('pkg/controllers/flow/write.ts', 'writes', 'One JSON Patch a slice that differs from the plan.'),
      step('pkg/controllers/flow/reporter.ts', 'reports', 'Conditions of the FlowPolicy, events and metrics.'),
    ],
  },
];
