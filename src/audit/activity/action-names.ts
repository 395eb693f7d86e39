import { InputField, oneOf } from '../../kernel';

/**
 * Every logged change as object.action. The texts are `activity.action.<name>` in the locales. Names are never reused
 * or renamed, since old entries keep them.
 */
export const actionNames = [
  'account.data-exported',
  'account.email-changed',
  'account.email-verified',
  'account.identity-linked',
  'account.identity-unlinked',
  'account.passkey-added',
  'account.passkey-removed',
  'account.password-changed',
  'account.password-reset',
  'account.password-reset-requested',
  'account.registered',
  'account.settings-changed',
  'account.sign-in-link-made',
  'account.terms-accepted',
  'account.two-factor-disabled',
  'account.two-factor-enabled',
  'admin-mode.entered',
  'admin-mode.left',
  'admin-mode.organisation-chosen',
  'alert.acknowledged',
  'alert.channel-added',
  'alert.channel-changed',
  'alert.channel-removed',
  'alert.channel-tested',
  'alert.rule-changed',
  'alert.settings-changed',
  'autorouter.changed',
  'billing.adjusted',
  'billing.auto-top-up-changed',
  'billing.auto-top-up-paused',
  'billing.auto-top-up-started',
  'billing.card-added',
  'billing.card-removed',
  'billing.checkout-started',
  'billing.default-card-changed',
  'billing.dispute-closed',
  'billing.dispute-opened',
  'billing.event-resolved',
  'billing.invoice-details-changed',
  'billing.low-balance-changed',
  'billing.payment-failed',
  'billing.provider-account-linked',
  'billing.refund-failed',
  'billing.refund-ordered',
  'billing.refunded',
  'billing.rerated',
  'billing.topped-up',
  'catalogue.imported',
  'conversation.content-viewed',
  'conversation.deleted',
  'conversation.expired',
  'credential.added',
  'credential.changed',
  'credential.removed',
  'credential.rewrapped',
  'department.changed',
  'department.created',
  'department.deleted',
  'department.model-access-changed',
  'extension.dropped',
  'invite.accepted',
  'invite.created',
  'invite.revoked',
  'journal.forgotten',
  'key.budget-raise-ended',
  'key.budget-raised',
  'key.changed',
  'key.created',
  'key.disabled',
  'key.enabled',
  'key.restored',
  'key.revoked',
  'key.rotated',
  'limit.reached',
  'log.break-examined',
  'log.break-found',
  'log.exported',
  'log.forgotten',
  'log.requests-forgotten',
  'model.alias-added',
  'model.alias-removed',
  'model.changed',
  'model.created',
  'model.deleted',
  'model.organisation-access-changed',
  'model.policy-changed',
  'model.price-changed',
  'model.redirect-changed',
  'model.reordered',
  'model.replay-changed',
  'model.state-changed',
  'organisation.changed',
  'organisation.created',
  'organisation.deleted',
  'organisation.markup-changed',
  'organisation.domain-proof-ended',
  'organisation.domain-proven',
  'organisation.domain-removed',
  'organisation.domain-set',
  'organisation.merged',
  'project.archived',
  'project.changed',
  'project.created',
  'project.member-added',
  'project.member-removed',
  'promotion.changed',
  'promotion.granted',
  'provider.changed',
  'provider.created',
  'provider.deleted',
  'provider.visibility-changed',
  'qualitative.content-viewed',
  'qualitative.settings-changed',
  'quarantine.begun',
  'quarantine.decided',
  'quarantine.released',
  'retention.changed',
  'session.ended',
  'session.sign-in-failed',
  'session.signed-in',
  'session.signed-out',
  'tap.forgotten',
  'tap.letters-dropped',
  'tap.letters-replayed',
  'tap.tested',
  'user.billing-config-changed',
  'user.billing-exempt-changed',
  'user.budget-raised',
  'user.credit-limit-changed',
  'user.deleted',
  'user.department-changed',
  'user.invoice-paid',
  'user.invoice-payment-undone',
  'user.monthly-budget-changed',
  'user.organisation-changed',
  'user.role-changed',
  'user.second-factor-reset',
  'user.status-changed',
] as const;

export type ActionName = (typeof actionNames)[number];

/** An extension's action as `ext.<id>.<verb>`; its text comes from the extension. */
export type ExtensionAction = `ext.${string}`;
export type LoggedAction = ActionName | ExtensionAction;

const MAX_NAME_LENGTH = 120;
const hostAction = oneOf(actionNames);

const isExtensionAction = (input: unknown): input is ExtensionAction =>
  typeof input === 'string' && input.length <= MAX_NAME_LENGTH && /^ext\.[a-z0-9-]+\.[\w.-]+$/.test(input);

export const loggedAction = new InputField<LoggedAction>({
  schema: { type: 'string', maxLength: MAX_NAME_LENGTH },
  read: (input) => (isExtensionAction(input) ? input : hostAction.read(input)),
});

/** The type of object that an entry is about; the texts are `activity.object.<type>`. */
export const objectTypes = [
  'account',
  'alert',
  'alias',
  'card',
  'conversation',
  'credential',
  'department',
  'extension',
  'invite',
  'journal',
  'key',
  'limit',
  'log',
  'model',
  'organisation',
  'payment',
  'project',
  'promotion',
  'provider',
  'quarantine',
  'session',
  'setting',
  'tap',
] as const;

export type ObjectType = (typeof objectTypes)[number];

/**
 * Returns the text of an action in the reader's language. A removed extension has no texts, so its raw names are used.
 */
export function actionText(action: LoggedAction, translate: (key: string) => string): string {
  const [, extension, verb] = /^ext\.([^.]+)\.(.+)$/.exec(action) ?? [];
  if (extension === undefined || verb === undefined) return translate(`activity.action.${action}`);
  const key = `ext.${extension}.activity.${verb}`;
  const text = translate(key);
  return text === key ? `${extension}: ${verb}` : text;
}
export const objectTextKey = (type: ObjectType): string => `activity.object.${type}`;
