import { randomUUID } from 'node:crypto';
import type { ChatModel, ConversationHead, ConversationMessage } from '../../chat';
import { catalogue, isErrorCode, resolvePeriod } from '../../kernel';
import type { Page } from '../../platform';
import { type ModelChoice, DECISION_REASONS } from '../../autorouter';
import type { Thumb } from '../../quality';
import { AUTO } from '../../gateway';
import {
  type BadgeModel,
  type ChoiceModel,
  formatCost,
  formatLatency,
  formatMoney,
  type Locale,
  type PagerModel,
  type RouteLineModel,
  type ThumbsModel,
  type Translate,
} from '../../views';

export interface ChatLocalisation {
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

interface ListedConversation {
  readonly title: string;
  readonly href: string;
  readonly current: boolean;
}

export interface ConversationListModel {
  readonly groups: readonly { readonly label: string; readonly items: readonly ListedConversation[] }[];
  readonly olderHref: string | null;
  readonly newestHref: string | null;
  /** Target of the search form, and its current text. */
  readonly action: string;
  readonly words: string;
  /** Shown if the search found nothing. */
  readonly nothing: string | null;
}

/** An error, in the words of the service and never of the model. */
export interface AlertModel {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly next: string | null;
  readonly code: string | null;
  readonly requestId: string | null;
  /** Announced immediately by screen readers. */
  readonly isNews: boolean;
}

interface ThreadMessage {
  readonly id: string;
  /** Text in place of a message that marks a change of the model. */
  readonly divider?: string;
  readonly role: 'user' | 'assistant';
  readonly author: string;
  readonly text: string;
  readonly badge: BadgeModel | null;
  /** Shown instead of a reply. */
  readonly failure: AlertModel | null;
  /** Shown below an incomplete reply. */
  readonly breach: AlertModel | null;
  /** Why `auto` chose the model. */
  readonly why: string | null;
  readonly thumbs: ThumbsModel | null;
  readonly files: readonly string[];
  readonly route: RouteLineModel | null;
  readonly facts: readonly string[];
}

export interface ThreadModel {
  readonly id: number;
  readonly title: string;
  readonly ownTitle: string;
  readonly messages: readonly ThreadMessage[];
  readonly older: PagerModel | null;
  readonly total: string;
  readonly model: string;
  readonly models: readonly ChoiceModel[];
  readonly takesImages: boolean;
  /** Id for the turn that the page sends next. */
  readonly turn: string;
  /** Whether the last message can be sent again. */
  readonly mayRetry: boolean;
  readonly isEmpty: boolean;
  /** Thumbs for the next reply. */
  readonly newThumbs: ThumbsModel;
}

const PATH = '/dashboard/webchat';

export const titleOf = (
  { id, title }: Pick<ConversationHead, 'id' | 'title'>,
  translate: Translate,
): string => title ?? translate('chat.untitled', { id });

export function conversationList(
  page: Page<ConversationHead>,
  current: number | null,
  searchText: string,
  { timeZone, translate }: ChatLocalisation,
): ConversationListModel {
  const currentPath = current === null ? PATH : `${PATH}/${current}`;
  const groups = Map.groupBy(page.rows, ({ updatedAt }) => ageOf(updatedAt, Date.now(), timeZone));
  return {
    groups: ages.flatMap((age) => {
      const conversations = groups.get(age);
      if (conversations === undefined) return [];
      const items = conversations.map((conversation) => ({
        title: titleOf(conversation, translate),
        href: `${PATH}/${conversation.id}`,
        current: conversation.id === current,
      }));
      return [{ label: translate(`chat.age.${age}`), items }];
    }),
    olderHref: page.next === null ? null : `${currentPath}?list=${encodeURIComponent(page.next)}`,
    newestHref: page.previous === null ? null : currentPath,
    action: currentPath,
    words: searchText,
    nothing:
      searchText !== '' && page.rows.length === 0 ? translate('chat.not-found', { words: searchText }) : null,
  };
}

const ages = ['today', 'week', 'older'] as const;

function ageOf(at: Date, now: number, timeZone: string): (typeof ages)[number] {
  const startOf = (days: number): Date => resolvePeriod({ days }, timeZone, now).from;
  if (at >= startOf(1)) return 'today';
  return at >= startOf(7) ? 'week' : 'older';
}

export const modelChoices = (
  models: readonly ChatModel[],
  selected: string,
  localisation: ChatLocalisation,
): ChoiceModel[] =>
  models.map((model) => ({
    value: model.name,
    label: modelLabel(model, localisation),
    selected: model.name === selected,
  }));

function modelLabel({ name, price }: ChatModel, { locale, translate }: ChatLocalisation): string {
  if (name === AUTO) return `${name} · ${translate('chat.auto-label')}`;
  if (price === null) return name;
  return `${name} · ${formatMoney(locale, price.input)} / ${formatMoney(locale, price.output)}`;
}

export interface ThreadInput {
  readonly conversation: ConversationHead;
  readonly page: Page<ConversationMessage>;
  readonly models: readonly ChatModel[];
  /** Keyed by request id. */
  readonly thumbs: ReadonlyMap<string, Thumb>;
  readonly choices: ReadonlyMap<string, ModelChoice>;
}

export function threadModel(input: ThreadInput, localisation: ChatLocalisation): ThreadModel {
  const { conversation, page, models } = input;
  const { translate, locale } = localisation;
  const { id, model } = conversation;
  const oldestFirst = [...page.rows].reverse();
  const lastMessage =
    page.previous === null ? oldestFirst.findLast(({ role }) => role !== 'model') : undefined;
  const address = (cursor: string): string => `${PATH}/${id}?cursor=${encodeURIComponent(cursor)}`;
  return {
    id,
    title: titleOf(conversation, translate),
    ownTitle: conversation.title ?? '',
    messages: oldestFirst.map((message) =>
      threadMessage(message, message === lastMessage, input, localisation),
    ),
    older:
      page.next === null && page.previous === null
        ? null
        : {
            label: translate('chat.pages'),
            summary: translate('list.shown', { count: page.rows.length }),
            ...(page.previous === null ? {} : { newerHref: address(page.previous) }),
            ...(page.next === null ? {} : { olderHref: address(page.next) }),
          },
    total: formatCost(locale, conversation.costNano),
    model,
    models: modelChoices(models, model, localisation),
    takesImages: models.some(({ name, takesImages }) => name === model && takesImages),
    turn: randomUUID(),
    mayRetry: lastMessage?.role === 'assistant' && lastMessage.state !== 'open',
    isEmpty: page.rows.length === 0 && page.previous === null,
    newThumbs: {
      action: `/api/chat/${id}/feedback`,
      name: 'message',
      value: '',
      given: null,
      isHidden: true,
    },
  };
}

function threadMessage(
  message: ConversationMessage,
  isLast: boolean,
  input: ThreadInput,
  localisation: ChatLocalisation,
): ThreadMessage {
  const { translate } = localisation;
  const { id, role, model, text, state } = message;
  return {
    id,
    ...(role === 'model' ? { divider: translate('chat.model-changed', { model }) } : {}),
    role: role === 'user' ? 'user' : 'assistant',
    author: role === 'user' ? translate('chat.you') : model,
    text,
    badge: badgeOf(message, translate),
    failure:
      state === 'failed' ? { ...alertOf(message, translate), id: `message-${id}`, isNews: isLast } : null,
    breach:
      state === 'incomplete' ? { ...alertOf(message, translate), id: `alert-${id}`, isNews: isLast } : null,
    why: choiceReason(message, input, translate),
    thumbs: thumbsOf(message, input),
    files: message.attachments.map(({ name }) => name),
    route: routeOf(message, translate),
    facts: replyFigures(message, localisation),
  };
}

const badges = {
  open: { tone: 'info', key: 'chat.state.open' },
  stopped: { tone: 'neutral', key: 'chat.state.stopped' },
  incomplete: { tone: 'warn', key: 'chat.state.incomplete' },
  failed: { tone: 'bad', key: 'chat.state.failed' },
} as const;

export function badgeOf(
  { state }: Pick<ConversationMessage, 'state'>,
  translate: Translate,
): BadgeModel | null {
  if (state === 'complete') return null;
  const { tone, key } = badges[state];
  return { tone, label: translate(key) };
}

export function alertOf(
  { state, code, requestId }: Pick<ConversationMessage, 'state' | 'code' | 'requestId'>,
  translate: Translate,
): Omit<AlertModel, 'id' | 'isNews'> {
  const title = translate(state === 'failed' ? 'chat.alert.failed' : 'chat.alert.incomplete');
  const entry = isErrorCode(code) ? catalogue.get(code) : undefined;
  if (entry === undefined) return { title, text: translate('chat.failed'), next: null, code, requestId };
  const key = `error.message.${entry.code}`;
  const translated = translate(key);
  return {
    title,
    text: translated === key ? entry.humanMessage : translated,
    next: translate(state === 'failed' ? `error.class.${entry.actionClass}` : 'chat.alert.again'),
    code,
    requestId,
  };
}

const reasons: ReadonlySet<string> = new Set(DECISION_REASONS);

function choiceReason(
  { requestId }: ConversationMessage,
  { choices }: Pick<ThreadInput, 'choices'>,
  translate: Translate,
): string | null {
  const choice = requestId === null ? undefined : choices.get(requestId);
  if (choice === undefined) return null;
  const reason = reasons.has(choice.reason) ? choice.reason : 'fallback';
  return translate('chat.auto-chose', {
    model: choice.model,
    why: translate(`request-log.auto.reasons.${reason}`),
  });
}

function thumbsOf(
  { id, role, state, requestId }: ConversationMessage,
  input: ThreadInput,
): ThumbsModel | null {
  if (role !== 'assistant' || requestId === null || state === 'open' || state === 'failed') return null;
  return {
    action: `/api/chat/${input.conversation.id}/feedback`,
    name: 'message',
    value: id,
    given: input.thumbs.get(requestId) ?? null,
  };
}

const routeOf = (
  { supplier, region, failover }: ConversationMessage,
  translate: Translate,
): RouteLineModel | null =>
  supplier === null
    ? null
    : {
        hops: [
          {
            supplier,
            outcome: 'served',
            ...(region === null ? {} : { region }),
            ...(failover ? { reason: translate('chat.moved') } : {}),
          },
        ],
      };

export function replyFigures(
  reply: Pick<ConversationMessage, 'outputTokens' | 'costNano' | 'latencyMs'>,
  { locale, translate }: ChatLocalisation,
): string[] {
  const { outputTokens, costNano, latencyMs } = reply;
  return [
    ...(outputTokens === null ? [] : [translate('message.tokens', { count: outputTokens })]),
    ...(costNano === null ? [] : [formatCost(locale, costNano)]),
    ...(latencyMs === null ? [] : [formatLatency(locale, latencyMs)]),
  ];
}
