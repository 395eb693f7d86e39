import type { UsageReading } from '../../kernel';
import {
  type DialectName,
  findChatUsage,
  findMessagesUsage,
  findResponsesUsage,
  mergeMessagesUsage,
  normaliseChatUsage,
  normaliseMessagesUsage,
  normaliseResponsesUsage,
} from '../../protocol';
import type { SkimMarks } from './skim';

/** How a tap reads along in one dialect: what ends an answer, and which events are worth parsing. */
export interface TapRules {
  readonly ends: (data: Buffer) => boolean;
  /** Marks of the events that carry usage, a reason to stop, or an error. */
  readonly worthParsing: readonly Buffer[];
  readonly skimMarks: SkimMarks;
  readonly findUsage: (event: unknown) => unknown;
  /** Two reports of one request become one. */
  readonly mergeUsage: (earlier: unknown, later: unknown) => unknown;
  readonly normalise: (raw: unknown) => UsageReading;
  readonly finishReason: (event: Readonly<Record<string, unknown>>) => unknown;
  /** Whether no later event of the answer carries usage. */
  readonly isFinal: (event: Readonly<Record<string, unknown>>) => boolean;
  /** Stands in for a supplier that closes without one after the whole answer; null where the last event is the end. */
  readonly terminator: Buffer | null;
}

const marks = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text));
const latest = (earlier: unknown, later: unknown): unknown => later ?? earlier;
const at = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  );

const hasFinished = (choice: unknown): boolean => typeof at(choice, 'finish_reason') === 'string';

const done = Buffer.from('[DONE]');
const messageStop = Buffer.from('"message_stop"');
const responseMarks = marks(
  '"response.completed"',
  '"response.incomplete"',
  '"response.failed"',
  '"type":"error"',
);
const responseEnds = marks('"response.completed"', '"response.incomplete"');

export const tapRules: Readonly<Record<DialectName, TapRules>> = {
  chat: {
    ends: (data) => data.equals(done),
    worthParsing: marks('"finish_reason":"', '"usage":{', '"error":'),
    skimMarks: {
      notable: marks('"finish_reason":"', '"usage":{', '"error":'),
      text: marks('"content":"', '"arguments":"', '"reasoning_content":"', '"text":"'),
    },
    findUsage: findChatUsage,
    mergeUsage: latest,
    normalise: normaliseChatUsage,
    finishReason: (event) => at(event, 'choices', 0, 'finish_reason'),
    isFinal: ({ choices }) => Array.isArray(choices) && (choices.length === 0 || choices.some(hasFinished)),
    terminator: Buffer.from('data: [DONE]\n\n'),
  },
  messages: {
    ends: (data) => data.includes(messageStop),
    worthParsing: marks('"usage":{', '"type":"error"'),
    skimMarks: {
      notable: marks('"usage":{', '"type":"error"', '"message_stop"'),
      text: marks('"text":"', '"thinking":"', '"partial_json":"'),
    },
    findUsage: findMessagesUsage,
    mergeUsage: mergeMessagesUsage,
    normalise: normaliseMessagesUsage,
    finishReason: (event) => at(event, 'delta', 'stop_reason') ?? at(event, 'stop_reason'),
    isFinal: ({ type }) => type === 'message_delta',
    terminator: Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n'),
  },
  responses: {
    ends: (data) => responseEnds.some((mark) => data.includes(mark)),
    worthParsing: responseMarks,
    skimMarks: { notable: responseMarks, text: marks('"delta":"') },
    findUsage: findResponsesUsage,
    mergeUsage: latest,
    normalise: normaliseResponsesUsage,
    finishReason: (event) => at(event, 'response', 'status') ?? at(event, 'status'),
    isFinal: () => true,
    terminator: null,
  },
};
