import type { DialectName } from '#extension';
import { chatFields, openaiChatFields } from './chat-fields';
import type { FieldTable } from './field-table';
import { anthropicMessagesFields, messagesFields } from './messages-fields';
import { responsesFields } from './responses-fields';

export { isKnownBeta } from './betas';
export type { FieldTable } from './field-table';
export { type MeaningfulField, meaningOfField } from './meaning';

/** All known names below the body of a dialect, including those of other suppliers. */
export const requestFields: Readonly<Record<DialectName, FieldTable>> = {
  chat: chatFields,
  messages: messagesFields,
  responses: responsesFields,
};

const vendorFields: Readonly<Record<DialectName, FieldTable>> = {
  chat: openaiChatFields,
  messages: anthropicMessagesFields,
  responses: responsesFields,
};

/** The top-level field names, as documented by the dialect's vendor. */
export const bodyFields = (dialect: DialectName): readonly string[] => [
  ...(vendorFields[dialect].names.get('') ?? []),
];
