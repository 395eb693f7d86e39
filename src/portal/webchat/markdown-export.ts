import type { ConversationHead, ConversationMessage } from '../../chat';
import { formatUsd } from '../../kernel';
import type { Translate } from '../../views';
import { alertOf, badgeOf, titleOf } from './webchat-model';

export function exportMarkdown(
  conversation: ConversationHead,
  oldestFirst: readonly ConversationMessage[],
  translate: Translate,
): string {
  const parts = oldestFirst.map((message) => messageMarkdown(message, translate));
  return [`# ${titleOf(conversation, translate)}`, ...parts].join('\n\n').concat('\n');
}

function messageMarkdown(message: ConversationMessage, translate: Translate): string {
  const { role, model, text, state: messageState, attachments, createdAt, costNano } = message;
  if (role === 'model') return `*${translate('chat.model-changed', { model })}*`;
  const state = badgeOf(message, translate)?.label;
  const details = [
    createdAt.toISOString(),
    ...(costNano === null ? [] : [`$${formatUsd(costNano)}`]),
    ...(state === undefined ? [] : [state]),
  ].join(' · ');
  const files = attachments.map(({ name }) => `- ${name}`).join('\n');
  const problem =
    messageState === 'failed' || messageState === 'incomplete' ? problemQuote(message, translate) : '';
  if (messageState === 'failed') return [`*${details}*`, problem].join('\n\n');
  const author = role === 'user' ? translate('chat.you') : model;
  return [`## ${author}`, `*${details}*`, text, files, problem].filter((part) => part !== '').join('\n\n');
}

/** Rendered as a quote, because it is not part of the model's reply. */
function problemQuote(message: ConversationMessage, translate: Translate): string {
  const { title, text, code, requestId } = alertOf(message, translate);
  const marks = [code, requestId].filter((mark) => mark !== null).map((mark) => `\`${mark}\``);
  return `> ${[title, text, ...marks].join(' ')}`;
}
