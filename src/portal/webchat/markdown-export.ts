import type { ConversationHead, Message } from '../../chat';
import { formatUsd } from '../../kernel';
import type { Translate } from '../../views';
import { alertOf, badgeOf, titleOf } from './webchat-model';

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
  const { role, model, text, state: ending, attachments, createdAt, costNano } = message;
  if (role === 'model') return `*${translate('chat.model-changed', { model })}*`;
  const state = badgeOf(message, translate)?.label;
  const facts = [
    createdAt.toISOString(),
    ...(costNano === null ? [] : [`$${formatUsd(costNano)}`]),
    ...(state === undefined ? [] : [state]),
  ].join(' · ');
  const files = attachments.map(({ name }) => `- ${name}`).join('\n');
  const problem = ending === 'failed' || ending === 'incomplete' ? problemOf(message, translate) : '';
  if (ending === 'failed') return [`*${facts}*`, problem].join('\n\n');
  const author = role === 'user' ? translate('chat.you') : model;
  return [`## ${author}`, `*${facts}*`, text, files, problem].filter((part) => part !== '').join('\n\n');
}

/** It stands as a quotation: it is not what the model said. */
function problemOf(message: Message, translate: Translate): string {
  const { title, text, code, requestId } = alertOf(message, translate);
  const marks = [code, requestId].filter((mark) => mark !== null).map((mark) => `\`${mark}\``);
  return `> ${[title, text, ...marks].join(' ')}`;
}
