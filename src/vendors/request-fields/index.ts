import type { DialectName } from '#extension';
import { chatFields, openaiChatFields } from './chat-fields';
import type { FieldTable } from './field-table';
import { anthropicMessagesFields, messagesFields } from './messages-fields';
import { responsesFields } from './responses-fields';

export { isKnownBeta } from './betas';
export type { FieldTable } from './field-table';
export { type MeaningfulField, meaningOfField } from './meaning';

/** Every name that is known below the body of a dialect, with what other services add to the vendor's own. */
export const requestFields: Readonly<Record<DialectName, FieldTable>> = {
  chat: chatFields,
  messages: messagesFields,
  responses: responsesFields,
};

const own: Readonly<Record<DialectName, FieldTable>> = {
  chat: openaiChatFields,
  messages: anthropicMessagesFields,
  responses: responsesFields,
};

/** The names of a body's top level, as the vendor of the dialect documents them. */
export const bodyFields = (dialect: DialectName): readonly string[] => [
  ...(own[dialect].names.get('') ?? []),
];
