/** Parses responses of the three dialects by hand, without code of the gateway. */

import type { CallDialect } from '../evidence';

export type Json = Readonly<Record<string, unknown>>;

export interface ParsedUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

export interface AuditedResponse {
  /** Bytes of generated text, reasoning, and names and arguments of tools. */
  readonly textBytes: number;
  /** Last complete usage report; null if none arrived. */
  readonly reported: ParsedUsage | null;
  /** Usage reported at the start of a stream, if the dialect does so. */
  readonly startUsage: ParsedUsage | null;
}

export const asJson = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {};
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(asJson) : []);
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const bytesOf = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0);
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** Events of a stream as framed; the last one only if it is complete. */
export function eventsOf(text: string): readonly string[] {
  return text.replaceAll('\r\n', '\n').split('\n\n').slice(0, -1);
}

export function readComplete(dialect: CallDialect, text: string): AuditedResponse {
  const answer = asJson(JSON.parse(text));
  return {
    textBytes: wholeBytes[dialect](answer),
    reported: usageIn[dialect](answer['usage']),
    startUsage: null,
  };
}

export function readStream(dialect: CallDialect, events: readonly string[]): AuditedResponse {
  let textBytes = 0;
  let reported: ParsedUsage | null = null;
  let startUsage: ParsedUsage | null = null;
  for (const event of events) {
    const data = event
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trim())
      .join('\n');
    if (data === '' || data === '[DONE]') continue;
    const value = asJson(JSON.parse(data));
    textBytes += deltaBytes[dialect](value);
    const nested = asJson(value[dialect === 'messages' ? 'message' : 'response']);
    const usage = usageIn[dialect](nested['usage'] ?? value['usage']);
    if (value['type'] === 'message_start') startUsage = usage;
    else reported = usage ?? reported;
  }
  return { textBytes, reported, startUsage };
}

const wholeBytes: Readonly<Record<CallDialect, (answer: Json) => number>> = {
  chat: (answer) => sum(listOf(answer['choices']).map(({ message }) => messageBytes(asJson(message)))),
  messages: (answer) =>
    sum(
      listOf(answer['content']).map(({ type, name, text, thinking, input }) =>
        type === 'tool_use'
          ? bytesOf(name) + bytesOf(JSON.stringify(input))
          : bytesOf(text) + bytesOf(thinking),
      ),
    ),
  responses: (answer) =>
    sum(
      listOf(answer['output']).map(({ type, name, content, summary, arguments: given }) =>
        type === 'function_call'
          ? bytesOf(name) + bytesOf(given)
          : sum([...listOf(content), ...listOf(summary)].map(({ text }) => bytesOf(text))),
      ),
    ),
};

const deltaBytes: Readonly<Record<CallDialect, (event: Json) => number>> = {
  chat: (event) => sum(listOf(event['choices']).map(({ delta }) => messageBytes(asJson(delta)))),
  messages: ({ delta, content_block: block }) => {
    const { text, thinking, partial_json: json } = asJson(delta);
    return bytesOf(asJson(block)['name']) + bytesOf(text) + bytesOf(thinking) + bytesOf(json);
  },
  responses: ({ type, delta, item }) => {
    if (type === 'response.output_item.added') return bytesOf(asJson(item)['name']);
    return String(type).endsWith('.delta') ? bytesOf(delta) : 0;
  },
};

const messageBytes = ({ content, reasoning_content: reasoning, tool_calls: calls }: Json): number =>
  bytesOf(content) +
  bytesOf(reasoning) +
  sum(
    listOf(calls).map((call) => {
      const { name, arguments: given } = asJson(call['function']);
      return bytesOf(name) + bytesOf(given);
    }),
  );

/** Dialects count differently; here each token appears in exactly one count. */
const usageIn: Readonly<Record<CallDialect, (usage: unknown) => ParsedUsage | null>> = {
  chat: (usage) => inclusive(asJson(usage), 'prompt_tokens', 'completion_tokens'),
  responses: (usage) => inclusive(asJson(usage), 'input_tokens', 'output_tokens'),
  messages: (usage) => {
    const report = asJson(usage);
    if (typeof report['input_tokens'] !== 'number') return null;
    return {
      input: numberOf(report['input_tokens']),
      output: numberOf(report['output_tokens']),
      cacheRead: numberOf(report['cache_read_input_tokens']),
      cacheWrite: numberOf(report['cache_creation_input_tokens']),
      reasoning: 0,
    };
  },
};

function inclusive(report: Json, input: string, output: string): ParsedUsage | null {
  if (typeof report[input] !== 'number') return null;
  const inputDetails = asJson(report[`${input}_details`]);
  const cacheRead = numberOf(inputDetails['cached_tokens']);
  const cacheWrite = numberOf(inputDetails['cache_write_tokens']);
  const reasoning = numberOf(asJson(report[`${output}_details`])['reasoning_tokens']);
  return {
    input: numberOf(report[input]) - cacheRead - cacheWrite,
    output: numberOf(report[output]) - reasoning,
    cacheRead,
    cacheWrite,
    reasoning,
  };
}
