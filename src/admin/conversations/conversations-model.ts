import type { ConversationHead, ConversationMessage, OverseenConversation } from '../../chat';
import { formatUsd } from '../../kernel';
import { column, type LabelledFigure, type MessageModel, mixedColumn, type Translate } from '../../views';
import { type CsvColumns, type HttpRequest, type ListDescription, describeScope } from '../../web';
import type { ConversationsQuery } from './conversations.dto';

const PATH = '/dashboard/admin/conversations';

export const conversationsList = (
  request: HttpRequest,
  query: ConversationsQuery,
  translate: Translate,
): ListDescription<OverseenConversation> => ({
  heading: translate('conversations.heading'),
  scope: `${describeScope(request, translate)} · ${translate('conversations.privacy')}`,
  columns: [
    mixedColumn('conversations.number', ({ id }) => ({
      kind: 'link',
      value: translate('chat.untitled', { id }),
      href: `${PATH}/${id}`,
    })),
    column('conversations.person', 'text', ({ person }) => person),
    column('chat.model', 'code', ({ model }) => model, 'minor'),
    column('conversations.messages', 'number', ({ messages }) => messages, 'minor'),
    column('conversations.cost', 'cost', ({ costNano }) => costNano),
    column('conversations.updated', 'time', ({ updatedAt }) => updatedAt, 'minor'),
  ],
  fields: [
    {
      id: 'filter-person',
      name: 'q',
      type: 'search',
      label: translate('conversations.search'),
      value: query.q ?? '',
      filterKey: true,
    },
    { id: 'filter-model', name: 'model', label: translate('chat.model'), value: query.model ?? '' },
  ],
  nothingYet: {
    title: translate('conversations.none-title'),
    text: translate('conversations.none-text'),
  },
});

export function conversationFigures(
  { person, model, messages, costNano, createdAt, updatedAt }: OverseenConversation,
  translate: Translate,
): LabelledFigure[] {
  return [
    { label: translate('conversations.person'), figure: { kind: 'text', value: person } },
    { label: translate('chat.model'), figure: { kind: 'code', value: model } },
    { label: translate('conversations.messages'), figure: { kind: 'number', value: messages } },
    { label: translate('conversations.cost'), figure: { kind: 'cost', value: costNano } },
    { label: translate('conversations.created'), figure: { kind: 'time', value: createdAt } },
    { label: translate('conversations.updated'), figure: { kind: 'time', value: updatedAt } },
  ];
}

export interface ContentModel {
  readonly title: string;
  readonly messages: readonly MessageModel[];
}

export const contentOf = (
  { id, title }: ConversationHead,
  oldestFirst: readonly ConversationMessage[],
  userName: string,
  translate: Translate,
): ContentModel => ({
  title: title ?? translate('chat.untitled', { id }),
  messages: oldestFirst
    .filter(({ role }) => role !== 'model')
    .map((message) => messageOf(message, userName, translate)),
});

function messageOf(message: ConversationMessage, userName: string, translate: Translate): MessageModel {
  const { role, model, text, attachments, supplier, region, outputTokens, costNano, latencyMs } = message;
  // The service's own error text is not attributed to the model.
  if (message.state === 'failed')
    return {
      role: 'assistant',
      author: translate('chat.alert.failed'),
      blocks: message.code === null ? [] : [{ text: message.code }],
    };
  const lines = [...text.split('\n'), ...attachments.map(({ name }) => name)];
  return {
    role: role === 'user' ? 'user' : 'assistant',
    author: role === 'user' ? userName : model,
    blocks: lines.filter((line) => line.trim() !== '').map((line) => ({ text: line })),
    ...(supplier === null
      ? {}
      : {
          route: { hops: [{ supplier, outcome: 'served' as const, ...(region === null ? {} : { region }) }] },
          tokens: outputTokens ?? 0,
          ...(costNano === null ? {} : { price: costNano }),
          ...(latencyMs === null ? {} : { duration: latencyMs }),
        }),
  };
}

export const conversationCsvColumns: CsvColumns<OverseenConversation> = {
  conversation_id: ({ id }) => id,
  user_id: ({ userId }) => userId,
  person: ({ person }) => person,
  model: ({ model }) => model,
  messages: ({ messages }) => messages,
  cost_usd: ({ costNano }) => formatUsd(costNano),
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
};
