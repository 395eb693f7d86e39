import type { UsageReading } from '../../../src/kernel';
import {
  findEmbeddingsUsage,
  findMessagesUsage,
  findRerankUsage,
  normaliseEmbeddingsUsage,
  normaliseMessagesUsage,
  normaliseRerankUsage,
} from '../../../src/protocol';
import { findChatUsage, normaliseChatUsage } from '../../../src/protocol/chat/usage';
import { findGeminiUsage, normaliseGeminiUsage } from '../../../src/protocol/gemini/usage';
import { findResponsesUsage, normaliseResponsesUsage } from '../../../src/protocol/responses/usage';
import type { Chance } from '../../system/chance';

/** Most that the request of these reports can use. */
export const bounds = { input: 3_000, output: 1_000, calls: 4, searches: 3 };

export type Json = Record<string, unknown>;
export type Path = readonly string[];

/** Tokens by rate (nano-USD each), and what is charged by the piece. */
export interface Consistent {
  readonly input: readonly (readonly [tokens: number, rate: number])[];
  readonly output: readonly (readonly [tokens: number, rate: number])[];
  readonly fixed?: number;
  /** Tokens of a grand total that are on either side. */
  readonly rest?: number;
}

export interface Dialect {
  readonly read: (body: Json) => UsageReading;
  readonly report: (chance: Chance) => Json;
  /** The smallest usage that covers every usable figure. */
  readonly smallest: (figure: Figures) => Consistent;
  /** The figures agree with one another in a way that a supplier uses. */
  readonly agrees: (figure: Figures) => boolean;
  readonly figures: readonly Path[];
}
/** A usable figure of a report; undefined if it is missing or no count. */
export type Figures = (...path: string[]) => number | undefined;

export const IN = 2_000;
export const OUT = 8_000;
const CACHED = 200;
const WRITTEN = 2_500;
const WRITTEN_LONG = 4_000;
const THOUGHT = 10_000;
const HEARD = 30_000;

const over = (total: number, ...parts: number[]): number =>
  Math.max(0, total - parts.reduce((sum, part) => sum + part, 0));
export const sum = (list: Consistent['input']): number => list.reduce((all, [tokens]) => all + tokens, 0);

/** Totals with parts inside them, as chat and responses report them. */
function totalsOf(names: { readonly input: string; readonly output: string }): Omit<Dialect, 'read'> {
  const usage = (...path: string[]): string[] => ['usage', ...path];
  const [read, wrote] = [`${names.input}_details`, `${names.output}_details`];
  const parts = (figure: Figures) => ({
    input: figure(names.input),
    output: figure(names.output),
    total: figure('total_tokens'),
    cached: figure(read, 'cached_tokens') ?? 0,
    audio: figure(read, 'audio_tokens') ?? 0,
    thought: figure(wrote, 'reasoning_tokens') ?? 0,
  });
  return {
    report: (chance) => {
      const [input, output] = [chance.whole(100, 2_500), chance.whole(20, 900)];
      return {
        usage: {
          [names.input]: input,
          [names.output]: output,
          total_tokens: input + output,
          [read]: { cached_tokens: chance.whole(0, 60), audio_tokens: chance.whole(0, 40) },
          [wrote]: { reasoning_tokens: chance.whole(0, 20) },
        },
      };
    },
    figures: [
      usage(names.input),
      usage(names.output),
      usage('total_tokens'),
      usage(read, 'cached_tokens'),
      usage(read, 'audio_tokens'),
      usage(wrote, 'reasoning_tokens'),
      usage(read),
      usage(wrote),
    ],
    smallest: (figure) => {
      const { input = 0, output = 0, total = 0, cached, audio, thought } = parts(figure);
      const heard = over(audio, cached);
      const reading: Consistent = {
        input: [
          [cached, CACHED],
          [heard, HEARD],
          [over(input, cached, heard), IN],
        ],
        output: [
          [thought, THOUGHT],
          [over(output, thought), OUT],
        ],
      };
      return { ...reading, rest: over(total, sum(reading.input), sum(reading.output)) };
    },
    agrees: (figure) => {
      const { input, output, total, cached, audio, thought } = parts(figure);
      if (input === undefined || output === undefined) return total !== undefined;
      if (audio > Math.max(input, input + cached)) return false;
      const surplus = total === undefined || total === 0 ? null : total - input - output;
      if (surplus === null) return true;
      if (surplus === 0) return cached <= input && thought <= output;
      return [thought, cached, cached + thought].includes(surplus) || (surplus > 0 && thought === 0);
    },
  };
}

/** Reports of six dialects, read apart from the gateway. */
export const dialects: Readonly<Record<string, Dialect>> = {
  chat: {
    read: (body) => normaliseChatUsage(findChatUsage(body)),
    ...totalsOf({ input: 'prompt_tokens', output: 'completion_tokens' }),
  },
  responses: {
    read: (body) => normaliseResponsesUsage(findResponsesUsage(body)),
    ...totalsOf({ input: 'input_tokens', output: 'output_tokens' }),
  },
  messages: {
    read: (body) => normaliseMessagesUsage(findMessagesUsage(body)),
    report: (chance) => {
      const [short, long] = [chance.whole(0, 200), chance.whole(0, 100)];
      return {
        usage: {
          input_tokens: chance.whole(100, 1_500),
          output_tokens: chance.whole(20, 900),
          cache_read_input_tokens: chance.whole(0, 300),
          cache_creation_input_tokens: short + long,
          cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
          output_tokens_details: { thinking_tokens: chance.whole(0, 20) },
          server_tool_use: { web_search_requests: chance.whole(0, 3) },
        },
      };
    },
    figures: [
      ['usage', 'input_tokens'],
      ['usage', 'output_tokens'],
      ['usage', 'cache_read_input_tokens'],
      ['usage', 'cache_creation_input_tokens'],
      ['usage', 'cache_creation', 'ephemeral_5m_input_tokens'],
      ['usage', 'cache_creation', 'ephemeral_1h_input_tokens'],
      ['usage', 'output_tokens_details', 'thinking_tokens'],
      ['usage', 'server_tool_use', 'web_search_requests'],
      ['usage', 'cache_creation'],
      ['usage', 'server_tool_use'],
    ],
    smallest: (figure) => {
      const long = figure('cache_creation', 'ephemeral_1h_input_tokens') ?? 0;
      const short = figure('cache_creation', 'ephemeral_5m_input_tokens') ?? 0;
      const thought = figure('output_tokens_details', 'thinking_tokens') ?? 0;
      const searches = figure('server_tool_use', 'web_search_requests') ?? 0;
      return {
        input: [
          [figure('input_tokens') ?? 0, IN],
          [figure('cache_read_input_tokens') ?? 0, CACHED],
          [Math.max(short, over(figure('cache_creation_input_tokens') ?? 0, long)), WRITTEN],
          [long, WRITTEN_LONG],
        ],
        output: [
          [thought, THOUGHT],
          [over(figure('output_tokens') ?? 0, thought), OUT],
        ],
        fixed: Math.min(searches, bounds.searches) * 10_000_000,
      };
    },
    agrees: (figure) => {
      const output = figure('output_tokens');
      return (
        figure('input_tokens') !== undefined &&
        output !== undefined &&
        (figure('output_tokens_details', 'thinking_tokens') ?? 0) <= output
      );
    },
  },
  gemini: {
    read: (body) => normaliseGeminiUsage(findGeminiUsage(body)),
    report: (chance) => {
      const [prompt, made, thought] = [chance.whole(100, 2_000), chance.whole(20, 500), chance.whole(0, 300)];
      const tool = chance.whole(0, 200);
      return {
        usageMetadata: {
          promptTokenCount: prompt,
          candidatesTokenCount: made,
          thoughtsTokenCount: thought,
          toolUsePromptTokenCount: tool,
          cachedContentTokenCount: chance.whole(0, 90),
          totalTokenCount: prompt + made + thought + tool,
          promptTokensDetails: { 0: { modality: 'AUDIO', tokenCount: 7 } },
        },
      };
    },
    figures: [
      ['usageMetadata', 'promptTokenCount'],
      ['usageMetadata', 'candidatesTokenCount'],
      ['usageMetadata', 'thoughtsTokenCount'],
      ['usageMetadata', 'toolUsePromptTokenCount'],
      ['usageMetadata', 'cachedContentTokenCount'],
      ['usageMetadata', 'totalTokenCount'],
    ],
    smallest: (figure) => {
      const [cached, tool] = [figure('cachedContentTokenCount') ?? 0, figure('toolUsePromptTokenCount') ?? 0];
      const reading: Consistent = {
        input: [
          [cached, CACHED],
          [over(figure('promptTokenCount') ?? 0, cached), IN],
          // Without a prompt the tools' part of it is part of an unknown input.
          [figure('promptTokenCount') === undefined ? 0 : tool, IN],
        ],
        output: [
          [figure('thoughtsTokenCount') ?? 0, THOUGHT],
          [figure('candidatesTokenCount') ?? 0, OUT],
        ],
      };
      return {
        ...reading,
        rest: over(figure('totalTokenCount') ?? 0, sum(reading.input), sum(reading.output)),
      };
    },
    agrees: (figure) => {
      const parts = [
        'promptTokenCount',
        'candidatesTokenCount',
        'thoughtsTokenCount',
        'toolUsePromptTokenCount',
      ];
      const total = figure('totalTokenCount');
      const known = parts.reduce((all, name) => all + (figure(name) ?? 0), 0);
      if (figure('promptTokenCount') === undefined) return total !== undefined;
      return (
        total === undefined ||
        total === 0 ||
        total === known ||
        (total > known && (figure('thoughtsTokenCount') ?? 0) === 0)
      );
    },
  },
  embeddings: {
    read: (body) => normaliseEmbeddingsUsage(findEmbeddingsUsage(body)),
    report: (chance) => {
      const tokens = chance.whole(1, 2_500);
      return { usage: { prompt_tokens: tokens, total_tokens: tokens } };
    },
    figures: [
      ['usage', 'prompt_tokens'],
      ['usage', 'total_tokens'],
    ],
    smallest: (figure) => ({
      input: [[Math.max(figure('prompt_tokens') ?? 0, figure('total_tokens') ?? 0), IN]],
      output: [],
    }),
    agrees: (figure) => {
      const [prompt, total] = [figure('prompt_tokens'), figure('total_tokens')];
      return prompt === undefined || total === undefined || prompt === total;
    },
  },
  rerank: {
    read: (body) => normaliseRerankUsage(findRerankUsage(body)),
    report: (chance) => ({
      meta: { billed_units: { search_units: chance.whole(1, 4), input_tokens: chance.whole(1, 2_000) } },
    }),
    figures: [
      ['meta', 'billed_units', 'search_units'],
      ['meta', 'billed_units', 'input_tokens'],
    ],
    smallest: (figure) => ({
      input: [[figure('input_tokens') ?? 0, IN]],
      output: [],
      fixed: Math.min(Math.max(1, figure('search_units') ?? 0), bounds.calls) * 1_000_000,
    }),
    agrees: () => true,
  },
};
