import type { LaneView, ModelView } from '../../src/catalogue';
import { maxCostOf, parseUsd, parseUsdPerMillion, priceRates, type UseCounts } from '#product/kernel';
import { describeCall } from '#inside/gateway/intake/describe';
import type { Inbound } from '../../src/gateway/intake/inbound';
import { inputBoundOf } from '#inside/gateway/admission/input-bound';
import { operations, type TextOperation } from '#inside/gateway/operations/operation';
import { SupplierStyles } from '#product/routing';
import { laneFacts, ADDITIONAL_THINKING_FIELDS } from '#product/vendors';
import { dollars, percent, type Proof, usd } from './proof';

const CALLERS = 400;
const CONTEXT_TOKENS = 128_000;
const output = 300;
const price = priceRates({
  input: parseUsdPerMillion('0.5'),
  output: parseUsdPerMillion('2'),
  uses: {
    web_search: parseUsd('0.01'),
    web_search_high: parseUsd('0.05'),
    file_search: parseUsd('0.0025'),
    code_execution: parseUsd('0.03'),
  },
  modes: { 'service_tier=priority': { multiplier: 2_000_000n } },
});
const styles = new SupplierStyles();

/** A request and the maximum input its vendor would bill for it. */
interface BoundCase {
  readonly what: string;
  readonly operation: TextOperation;
  readonly body: object;
  readonly billedTokens: number;
  /** Maximum billed tokens per choice, if different from the output limit. */
  readonly billedOutput?: number;
  /** Maximum billed uses in addition to tokens. */
  readonly billedUses?: UseCounts;
  /** Service tier that the supplier applies. */
  readonly servedTier?: string;
  /** Minimum share of the dollar that must be used; null if a single request may need most of it. */
  readonly minUsedShare: number | null;
}

const chat = (content: unknown, overrides: object = {}): Pick<BoundCase, 'operation' | 'body'> => ({
  operation: operations.chat,
  body: { messages: [{ role: 'user', content }], max_tokens: output, ...overrides },
});
const responses = (input: unknown, overrides: object = {}): Pick<BoundCase, 'operation' | 'body'> => ({
  operation: operations.responses,
  body: { input, max_output_tokens: output, ...overrides },
});
const messages = (content: string, overrides: object = {}): Pick<BoundCase, 'operation' | 'body'> => ({
  operation: operations.messages,
  body: { messages: [{ role: 'user', content }], max_tokens: output, ...overrides },
});
const picture = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } };
const inline = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400_000)}` } };
const pdf = { type: 'input_file', file_url: 'https://papers.example/a.pdf' };
const text = 'What every caller asks. '.repeat(400);

const nested = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

const rows: readonly BoundCase[] = [
  { what: 'text', ...chat(text), billedTokens: 4_800, minUsedShare: 0.9 },
  // Worst case of a tokeniser that makes every digit a token.
  { what: 'digits', ...chat('7'.repeat(9_600)), billedTokens: 9_600, minUsedShare: 0.9 },
  {
    what: 'four pictures by address',
    ...chat([picture, picture, picture, picture]),
    billedTokens: 4 * 1_445,
    minUsedShare: 0.9,
  },
  { what: 'a picture within', ...chat([inline, inline, inline]), billedTokens: 3 * 1_445, minUsedShare: 0.9 },
  { what: 'four answers', ...chat('x', { n: 4 }), billedTokens: 10, minUsedShare: 0.9 },
  {
    what: 'a PDF by address',
    ...responses([{ role: 'user', content: [pdf] }]),
    billedTokens: CONTEXT_TOKENS,
    minUsedShare: null,
  },
  {
    what: 'a file by its id',
    ...chat([{ type: 'file', file: { file_id: 'file-1' } }]),
    billedTokens: CONTEXT_TOKENS,
    minUsedShare: null,
  },
  {
    what: 'an earlier answer',
    ...responses('x', { previous_response_id: 'resp_1' }),
    billedTokens: CONTEXT_TOKENS,
    minUsedShare: null,
  },
  {
    what: 'two web searches and their fees',
    ...responses('x', { tools: [{ type: 'web_search' }], max_tool_calls: 2 }),
    billedTokens: 2 * CONTEXT_TOKENS + 200,
    billedUses: { web_search: 2 },
    minUsedShare: null,
  },
  {
    what: 'web searches without a limit of the caller, by the fee of a large context',
    ...responses('x', { tools: [{ type: 'web_search', search_context_size: 'high' }] }),
    billedTokens: 5 * CONTEXT_TOKENS,
    billedUses: { web_search_high: 5 },
    minUsedShare: null,
  },
  {
    what: 'three web searches of messages and their fees',
    ...messages('x', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }),
    billedTokens: 3 * CONTEXT_TOKENS,
    billedUses: { web_search: 3 },
    minUsedShare: null,
  },
  {
    what: 'two file searches and their fees',
    ...responses('x', {
      tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
      max_tool_calls: 2,
    }),
    billedTokens: 2 * CONTEXT_TOKENS + 200,
    billedUses: { file_search: 2 },
    minUsedShare: null,
  },
  {
    what: 'a container and its fee',
    ...responses('x', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }),
    billedTokens: 5 * CONTEXT_TOKENS,
    billedUses: { code_execution: 1 },
    minUsedShare: null,
  },
  {
    what: 'a search in chat, in two answers',
    ...chat('x', { web_search_options: {}, n: 2 }),
    billedTokens: CONTEXT_TOKENS,
    billedUses: { web_search: 2 },
    minUsedShare: null,
  },
  {
    what: 'text in the priority tier',
    ...chat(text, { service_tier: 'priority' }),
    billedTokens: 4_800,
    servedTier: 'priority',
    minUsedShare: 0.9,
  },
  ...ADDITIONAL_THINKING_FIELDS.map(({ path }) => ({
    what: `thinking beside the answer by ${path.join('.')}`,
    ...chat('x', nested(path, 900)),
    billedTokens: 10,
    billedOutput: output + 900,
    minUsedShare: 0.9,
  })),
];

const lane = {
  upstreamModel: 'gpt-4o',
  facts: { ...laneFacts('gpt-4o', {}), window: CONTEXT_TOKENS },
  provider: { style: 'openai-style', settings: { profile: 'openai' } },
} as unknown as LaneView;
const model = { contextTokens: CONTEXT_TOKENS, bounds: {} } as ModelView;

/** Four hundred concurrent calls on one dollar, half at each node; the supplier bills the maximum. */
export async function proveBounds(proof: Proof): Promise<void> {
  for (const row of rows) await raceCase(proof, row);
}

async function raceCase(proof: Proof, row: BoundCase): Promise<void> {
  const {
    what,
    operation,
    body,
    billedTokens,
    billedOutput = output,
    billedUses = {},
    servedTier,
    minUsedShare: used,
  } = row;
  const request = { model: 'm', ...body };
  const bytes = Buffer.from(JSON.stringify(request));
  const members = Object.keys(request).map((name) => ({ name }));
  const inbound = { bytes, body: request, members, form: null, headers: {} } as unknown as Inbound;
  const call = describeCall(inbound, operation);
  const inputTokens = inputBoundOf(call, model, lane, () => styles.picturesFor(lane), true);
  // The lane of this proof supports every thinking mode.
  const maxOutputTokens = (output + call.extraOutputTokens + call.extraThinkingTokens) * call.choices;
  const modes = servedTier === undefined ? {} : { service_tier: servedTier };
  const billed = { uses: billedUses, modes, image: null };
  const bound = maxCostOf({ inputTokens, maxOutputTokens, fees: call.fees }, [price]);
  const outputTokens = billedOutput * call.choices;
  const cost = maxCostOf({ inputTokens: billedTokens, maxOutputTokens: outputTokens, fees: billed }, [price]);
  const walletId = await proof.wallet(usd);
  const answers = await Promise.all(
    Array.from({ length: CALLERS }, (_, caller) =>
      proof.call(caller % 2, walletId, { bound: String(bound), cost: String(cost) }),
    ),
  );
  await proof.waitUntilSettled();
  const spent = usd - (await proof.balance(walletId));
  const served = answers.filter(({ code }) => code === 'ok').length;
  const name = `400 callers on $1.00, ${what}`;
  proof.add(`${name}: spent, ${served} served`, '≤ $1.0000', dollars(spent), spent <= usd && cost <= bound);
  const share = Number(spent) / Number(usd);
  const minShare = used ?? (bound <= usd ? Number(cost) / Number(usd) : 0);
  proof.add(`${name}: used`, `≥ ${percent(minShare)}`, percent(share), share >= minShare);
}
