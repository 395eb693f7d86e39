import type { ConversationHead, Message } from '../../chat';
import { formatUsd } from '../../kernel';
import type { Translate } from '../../views';
import { badgeOf, titleOf } from './webchat-model';

/** A conversation as a file: what was said as it was written, and what each answer cost. */
export function markdownOf(
  conversation: ConversationHead,
  oldestFirst: readonly Message[],
  translate: Translate,
): string {
  const parts = oldestFirst.map((message) => partOf(message, translate));
  return [`# ${titleOf(conversation, translate)}`, ...parts].join('\n\n').concat('\n');
}

function partOf(message: Message, translate: Translate): string {
  const { role, model, text, attachments, createdAt, costNano } = message;
  if (role === 'model') return `*${translate('chat.model-changed', { model })}*`;
  const state = badgeOf(message, translate)?.label;
  const facts = [
    createdAt.toISOString(),
    ...(costNano === null ? [] : [`$${formatUsd(costNano)}`]),
    ...(state === undefined ? [] : [state]),
  ].join(' · ');
  const author = role === 'user' ? translate('chat.you') : model;
  const files = attachments.map(({ name }) => `- ${name}`).join('\n');
  return [`## ${author}`, `*${facts}*`, text, files].filter((part) => part !== '').join('\n\n');
}
