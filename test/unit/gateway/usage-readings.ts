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
import type { SeededRandom } from '../../system/seeded-random';

/** Maximum usage of the request in these reports. */
export const bounds = { input: 3_000, output: 1_000, calls: 4, searches: 3 };

export type Json = Record<string, unknown>;
export type Path = readonly string[];

/** Tokens by rate (nano-USD each), and fixed charges. */
export interface ConsistentUsage {
  readonly input: readonly (readonly [tokens: number, rate: number])[];
  readonly output: readonly (readonly [tokens: number, rate: number])[];
  readonly fixed?: number;
  /** Tokens of a grand total that belong to either side. */
  readonly rest?: number;
}

export interface UsageDialect {
  readonly read: (body: Json) => UsageReading;
  readonly report: (chance: SeededRandom) => Json;
  /** Returns the smallest usage that covers every usable figure. */
  readonly smallest: (figure: Figures) => ConsistentUsage;
  /** Reports whether the figures are consistent in a way that a supplier uses. */
  readonly agrees: (figure: Figures) => boolean;
  readonly figures: readonly Path[];
}
/** Returns a usable figure of a report; undefined if it is missing or not a count. */
export type Figures = (...path: string[]) => number | undefined;

export const INPUT_RATE = 2_000;
export const OUTPUT_RATE = 8_000;
const CACHE_READ_RATE = 200;
const CACHE_WRITE_RATE = 2_500;
const LONG_CACHE_WRITE_RATE = 4_000;
const REASONING_RATE = 10_000;
const AUDIO_RATE = 30_000;

const excessOver = (total: number, ...parts: number[]): number =>
  Math.max(0, total - parts.reduce((sum, part) => sum + part, 0));
export const sum = (list: ConsistentUsage['input']): number =>
  list.reduce((all, [tokens]) => all + tokens, 0);

/** Totals that include their parts, as Chat Completions and Responses report them. */
function totalsOf(names: { readonly input: string; readonly output: string }): Omit<UsageDialect, 'read'> {
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
      const [input, output] = [chance.integer(100, 2_500), chance.integer(20, 900)];
      return {
        usage: {
          [names.input]: input,
          [names.output]: output,
          total_tokens: input + output,
          [read]: { cached_tokens: chance.integer(0, 60), audio_tokens: chance.integer(0, 40) },
          [wrote]: { reasoning_tokens: chance.integer(0, 20) },
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
      const uncachedAudio = excessOver(audio, cached);
      const reading: ConsistentUsage = {
        input: [
          [cached, CACHE_READ_RATE],
          [uncachedAudio, AUDIO_RATE],
          [excessOver(input, cached, uncachedAudio), INPUT_RATE],
        ],
        output: [
          [thought, REASONING_RATE],
          [excessOver(output, thought), OUTPUT_RATE],
        ],
      };
      return { ...reading, rest: excessOver(total, sum(reading.input), sum(reading.output)) };
    },
    agrees: (figure) => {
      const { input, output, total, cached, audio, thought } = parts(figure);
      if (input === undefined || output === undefined) return total !== undefined;
      if (audio > Math.max(input, input + cached)) return false;
      const unexplained = total === undefined || total === 0 ? null : total - input - output;
      if (unexplained === null) return true;
      if (unexplained === 0) return cached <= input && thought <= output;
      return [thought, cached, cached + thought].includes(unexplained) || (unexplained > 0 && thought === 0);
    },
  };
}

/** Reports of six dialects, read independently of the gateway. */
export const dialects: Readonly<Record<string, UsageDialect>> = {
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
      const [short, long] = [chance.integer(0, 200), chance.integer(0, 100)];
      return {
        usage: {
          input_tokens: chance.integer(100, 1_500),
          output_tokens: chance.integer(20, 900),
          cache_read_input_tokens: chance.integer(0, 300),
          cache_creation_input_tokens: short + long,
          cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
          output_tokens_details: { thinking_tokens: chance.integer(0, 20) },
          server_tool_use: { web_search_requests: chance.integer(0, 3) },
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
      const longWrites = figure('cache_creation', 'ephemeral_1h_input_tokens') ?? 0;
      const shortWrites = figure('cache_creation', 'ephemeral_5m_input_tokens') ?? 0;
      const thinkingTokens = figure('output_tokens_details', 'thinking_tokens') ?? 0;
      const searches = figure('server_tool_use', 'web_search_requests') ?? 0;
      return {
        input: [
          [figure('input_tokens') ?? 0, INPUT_RATE],
          [figure('cache_read_input_tokens') ?? 0, CACHE_READ_RATE],
          [
            Math.max(shortWrites, excessOver(figure('cache_creation_input_tokens') ?? 0, longWrites)),
            CACHE_WRITE_RATE,
          ],
          [longWrites, LONG_CACHE_WRITE_RATE],
        ],
        output: [
          [thinkingTokens, REASONING_RATE],
          [excessOver(figure('output_tokens') ?? 0, thinkingTokens), OUTPUT_RATE],
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
      const [prompt, candidateTokens, thoughtTokens] = [
        chance.integer(100, 2_000),
        chance.integer(20, 500),
        chance.integer(0, 300),
      ];
      const toolTokens = chance.integer(0, 200);
      return {
        usageMetadata: {
          promptTokenCount: prompt,
          candidatesTokenCount: candidateTokens,
          thoughtsTokenCount: thoughtTokens,
          toolUsePromptTokenCount: toolTokens,
          cachedContentTokenCount: chance.integer(0, 90),
          totalTokenCount: prompt + candidateTokens + thoughtTokens + toolTokens,
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
      const reading: ConsistentUsage = {
        input: [
          [cached, CACHE_READ_RATE],
          [excessOver(figure('promptTokenCount') ?? 0, cached), INPUT_RATE],
          // Without a prompt count, the tools' share belongs to an unknown input.
          [figure('promptTokenCount') === undefined ? 0 : tool, INPUT_RATE],
        ],
        output: [
          [figure('thoughtsTokenCount') ?? 0, REASONING_RATE],
          [figure('candidatesTokenCount') ?? 0, OUTPUT_RATE],
        ],
      };
      return {
        ...reading,
        rest: excessOver(figure('totalTokenCount') ?? 0, sum(reading.input), sum(reading.output)),
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
      const knownTokens = parts.reduce((all, name) => all + (figure(name) ?? 0), 0);
      if (figure('promptTokenCount') === undefined) return total !== undefined;
      return (
        total === undefined ||
        total === 0 ||
        total === knownTokens ||
        (total > knownTokens && (figure('thoughtsTokenCount') ?? 0) === 0)
      );
    },
  },
  embeddings: {
    read: (body) => normaliseEmbeddingsUsage(findEmbeddingsUsage(body)),
    report: (chance) => {
      const tokens = chance.integer(1, 2_500);
      return { usage: { prompt_tokens: tokens, total_tokens: tokens } };
    },
    figures: [
      ['usage', 'prompt_tokens'],
      ['usage', 'total_tokens'],
    ],
    smallest: (figure) => ({
      input: [[Math.max(figure('prompt_tokens') ?? 0, figure('total_tokens') ?? 0), INPUT_RATE]],
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
      meta: { billed_units: { search_units: chance.integer(1, 4), input_tokens: chance.integer(1, 2_000) } },
    }),
    figures: [
      ['meta', 'billed_units', 'search_units'],
      ['meta', 'billed_units', 'input_tokens'],
    ],
    smallest: (figure) => ({
      input: [[figure('input_tokens') ?? 0, INPUT_RATE]],
      output: [],
      fixed: Math.min(Math.max(1, figure('search_units') ?? 0), bounds.calls) * 1_000_000,
    }),
    agrees: () => true,
  },
};
