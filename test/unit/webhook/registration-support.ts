// A registration whose options a test may change.
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import type { RegistrationOptions } from '../../../pkg/webhook/registration-types.ts';
import { buildRegistration } from '../../../pkg/webhook/register.ts';

export const build = (more: Partial<RegistrationOptions> = {}): MutatingWebhookConfiguration =>
  buildRegistration({
    name: 'webhooks',
    version: { major: 1, minor: 36 },
    address: { kind: 'url', url: 'https://127.0.0.1:1' },
    caBundle: 'PEM',
    excludedNamespaces: ['default'],
    timeoutSeconds: 5,
    settingsReconcilerUser: 'reconciler',
    strategyAnnotation: true,
    keepSettings: true,
    ...more,
  });
