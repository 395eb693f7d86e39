import { randomUUID } from 'node:crypto';
import type { ChatModel, ConversationHead, Message } from '../../chat';
import { catalogue, isErrorCode, periodNamed } from '../../kernel';
import type { Page } from '../../platform';
import { type ChoiceMade, DECISION_REASONS } from '../../autorouter';
import type { Thumb } from '../../quality';
import { AUTO } from '../../gateway';
import {
  type BadgeModel,
  type Choice,
  formatCost,
  formatLatency,
  formatMoney,
  type Locale,
  type PagerModel,
  type RouteLineModel,
  type ThumbsModel,
  type Translate,
} from '../../views';

export interface Localisation {
  readonly locale: Locale;
  readonly timeZone: string;
  readonly translate: Translate;
}

interface ListedConversation {
  readonly title: string;
  readonly href: string;
  readonly current: boolean;
}

/** The list beside the thread. */
export interface ConversationListModel {
  readonly groups: readonly { readonly label: string; readonly items: readonly ListedConversation[] }[];
  readonly olderHref: string | null;
  readonly newestHref: string | null;
  /** The search leads to this address with this text. */
  readonly action: string;
  readonly words: string;
  /** It is said where nothing was found. */
  readonly nothing: string | null;
}

/** Something went wrong; the words are the service's and never the model's. */
export interface AlertModel {
  /** It is the id of the element. */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly next: string | null;
  readonly code: string | null;
  readonly requestId: string | null;
  /** It is read out at once. */
  readonly isNews: boolean;
}

interface ThreadMessage {
  readonly id: string;
  /** It is said instead of a message: from here another model answers. */
  readonly divider?: string;
  readonly role: 'user' | 'assistant';
  readonly author: string;
  readonly text: string;
  readonly badge: BadgeModel | null;
  /** It is shown in place of an answer. */
  readonly failure: AlertModel | null;
  /** It is shown below an answer that broke off. */
  readonly breach: AlertModel | null;
  /** It says why auto chose the model. */
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
  readonly models: readonly Choice[];
  readonly takesImages: boolean;
  /** A new name for the turn that the page sends next. */
  readonly turn: string;
  /** The last message may be asked again. */
  readonly mayRetry: boolean;
  readonly isEmpty: boolean;
  /** They belong to an answer that is still to come. */
  readonly newThumbs: ThumbsModel;
}

const PATH = '/dashboard/webchat';

export const titleOf = (
  { id, title }: Pick<ConversationHead, 'id' | 'title'>,
  translate: Translate,
): string => title ?? translate('chat.untitled', { id });

/** A page of them, or what was found by words. */
export function conversationList(
  page: Page<ConversationHead>,
  current: number | null,
  words: string,
  { timeZone, translate }: Localisation,
): ConversationListModel {
  const here = current === null ? PATH : `${PATH}/${current}`;
  const groups = Map.groupBy(page.rows, ({ updatedAt }) => ageOf(updatedAt, Date.now(), timeZone));
  return {
    groups: ages.flatMap((age) => {
      const found = groups.get(age);
      if (found === undefined) return [];
      const items = found.map((conversation) => ({
        title: titleOf(conversation, translate),
        href: `${PATH}/${conversation.id}`,
        current: conversation.id === current,
      }));
      return [{ label: translate(`chat.age.${age}`), items }];
    }),
    olderHref: page.next === null ? null : `${here}?list=${encodeURIComponent(page.next)}`,
    newestHref: page.previous === null ? null : here,
    action: here,
    words,
    nothing: words !== '' && page.rows.length === 0 ? translate('chat.not-found', { words }) : null,
  };
}

const ages = ['today', 'week', 'older'] as const;

function ageOf(at: Date, now: number, timeZone: string): (typeof ages)[number] {
  const begins = (days: number): Date => periodNamed({ days }, timeZone, now).from;
  if (at >= begins(1)) return 'today';
  return at >= begins(7) ? 'week' : 'older';
}

/** Models as the picker offers them, with what a million tokens cost. */
export const modelChoices = (
  models: readonly ChatModel[],
  selected: string,
  localisation: Localisation,
): Choice[] =>
  models.map((model) => ({
    value: model.name,
    label: modelLabel(model, localisation),
    selected: model.name === selected,
  }));

function modelLabel({ name, price }: ChatModel, { locale, translate }: Localisation): string {
  if (name === AUTO) return `${name} · ${translate('chat.auto-label')}`;
  if (price === null) return name;
  return `${name} · ${formatMoney(locale, price.input)} / ${formatMoney(locale, price.output)}`;
}

export interface ThreadFacts {
  readonly conversation: ConversationHead;
  readonly page: Page<Message>;
  readonly models: readonly ChatModel[];
  /** They are found by their request. */
  readonly thumbs: ReadonlyMap<string, Thumb>;
  readonly choices: ReadonlyMap<string, ChoiceMade>;
}

export function thread(facts: ThreadFacts, localisation: Localisation): ThreadModel {
  const { conversation, page, models } = facts;
  const { translate, locale } = localisation;
  const { id, model } = conversation;
  const oldestFirst = [...page.rows].reverse();
  const last = page.previous === null ? oldestFirst.findLast(({ role }) => role !== 'model') : undefined;
  const address = (cursor: string): string => `${PATH}/${id}?cursor=${encodeURIComponent(cursor)}`;
  return {
    id,
    title: titleOf(conversation, translate),
    ownTitle: conversation.title ?? '',
    messages: oldestFirst.map((message) => threadMessage(message, message === last, facts, localisation)),
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
    mayRetry: last?.role === 'assistant' && last.state !== 'open',
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
  message: Message,
  isNews: boolean,
  facts: ThreadFacts,
  localisation: Localisation,
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
    failure: state === 'failed' ? { ...alertOf(message, translate), id: `message-${id}`, isNews } : null,
    breach: state === 'incomplete' ? { ...alertOf(message, translate), id: `alert-${id}`, isNews } : null,
    why: choiceReasonOf(message, facts, translate),
    thumbs: thumbsOf(message, facts),
    files: message.attachments.map(({ name }) => name),
    route: routeOf(message, translate),
    facts: factsOf(message, localisation),
  };
}

const badges = {
  open: { tone: 'info', key: 'chat.state.open' },
  stopped: { tone: 'neutral', key: 'chat.state.stopped' },
  incomplete: { tone: 'warn', key: 'chat.state.incomplete' },
  failed: { tone: 'bad', key: 'chat.state.failed' },
} as const;

export function badgeOf({ state }: Pick<Message, 'state'>, translate: Translate): BadgeModel | null {
  if (state === 'complete') return null;
  const { tone, key } = badges[state];
  return { tone, label: translate(key) };
}

/** It belongs to an answer that failed or broke off. */
export function alertOf(
  { state, code, requestId }: Pick<Message, 'state' | 'code' | 'requestId'>,
  translate: Translate,
): Omit<AlertModel, 'id' | 'isNews'> {
  const title = translate(state === 'failed' ? 'chat.alert.failed' : 'chat.alert.incomplete');
  const entry = isErrorCode(code) ? catalogue.get(code) : undefined;
  if (entry === undefined) return { title, text: translate('chat.failed'), next: null, code, requestId };
  const key = `error.message.${entry.code}`;
  const said = translate(key);
  return {
    title,
    text: said === key ? entry.humanMessage : said,
    next: translate(state === 'failed' ? `error.class.${entry.actionClass}` : 'chat.alert.again'),
    code,
    requestId,
  };
}

const reasons: ReadonlySet<string> = new Set(DECISION_REASONS);

/** It is in the words of the request log; the model stands above as who answered. */
function choiceReasonOf(
  { requestId }: Message,
  { choices }: Pick<ThreadFacts, 'choices'>,
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

function thumbsOf({ id, role, state, requestId }: Message, facts: ThreadFacts): ThumbsModel | null {
  if (role !== 'assistant' || requestId === null || state === 'open' || state === 'failed') return null;
  return {
    action: `/api/chat/${facts.conversation.id}/feedback`,
    name: 'message',
    value: id,
    given: facts.thumbs.get(requestId) ?? null,
  };
}

const routeOf = ({ supplier, region, failover }: Message, translate: Translate): RouteLineModel | null =>
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

/** The facts are tokens, cost and time of an answer, in the reader's language. */
export function factsOf(
  facts: Pick<Message, 'outputTokens' | 'costNano' | 'latencyMs'>,
  { locale, translate }: Localisation,
): string[] {
  const { outputTokens, costNano, latencyMs } = facts;
  return [
    ...(outputTokens === null ? [] : [translate('message.tokens', { count: outputTokens })]),
    ...(costNano === null ? [] : [formatCost(locale, costNano)]),
    ...(latencyMs === null ? [] : [formatLatency(locale, latencyMs)]),
  ];
}
