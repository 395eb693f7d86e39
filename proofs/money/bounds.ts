import type { LaneView, ModelView } from '../../src/catalogue';
import { maxCostOf, parseUsd, parseUsdPerMillion, priceRates, type UseCounts } from '#product/kernel';
import { describeCall } from '#inside/gateway/intake/describe';
import type { Inbound } from '../../src/gateway/intake/inbound';
import { inputBoundOf } from '#inside/gateway/admission/input-bound';
import { operations, type TextOperation } from '#inside/gateway/operations/operation';
import { SupplierStyles } from '#product/routing';
import { laneFacts, ADDITIONAL_THINKING_FIELDS } from '#product/vendors';
import { dollars, percent, type Proof, usd } from './proof';

const callers = 400;
const window = 128_000;
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

/** A request, and the most input its vendor would bill for it. */
interface Row {
  readonly what: string;
  readonly operation: TextOperation;
  readonly body: object;
  readonly billedTokens: number;
  /** The most tokens that are billed for each answer, where that is not its limit. */
  readonly billedOutput?: number;
  /** It bills at most these beside tokens. */
  readonly billedUses?: UseCounts;
  /** The tier it serves. */
  readonly servedTier?: string;
  /** So much of the dollar has to be used; null where a single request may need most of it. */
  readonly used: number | null;
}

const chat = (content: unknown, rest: object = {}): Pick<Row, 'operation' | 'body'> => ({
  operation: operations.chat,
  body: { messages: [{ role: 'user', content }], max_tokens: output, ...rest },
});
const responses = (input: unknown, rest: object = {}): Pick<Row, 'operation' | 'body'> => ({
  operation: operations.responses,
  body: { input, max_output_tokens: output, ...rest },
});
const messages = (content: string, rest: object = {}): Pick<Row, 'operation' | 'body'> => ({
  operation: operations.messages,
  body: { messages: [{ role: 'user', content }], max_tokens: output, ...rest },
});
const picture = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } };
const inline = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400_000)}` } };
const pdf = { type: 'input_file', file_url: 'https://papers.example/a.pdf' };
const text = 'What every caller asks. '.repeat(400);

const nested = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

const rows: readonly Row[] = [
  { what: 'text', ...chat(text), billedTokens: 4_800, used: 0.9 },
  // A tokenizer that makes a token of every digit.
  { what: 'digits', ...chat('7'.repeat(9_600)), billedTokens: 9_600, used: 0.9 },
  {
    what: 'four pictures by address',
    ...chat([picture, picture, picture, picture]),
    billedTokens: 4 * 1_445,
    used: 0.9,
  },
  { what: 'a picture within', ...chat([inline, inline, inline]), billedTokens: 3 * 1_445, used: 0.9 },
  { what: 'four answers', ...chat('x', { n: 4 }), billedTokens: 10, used: 0.9 },
  {
    what: 'a PDF by address',
    ...responses([{ role: 'user', content: [pdf] }]),
    billedTokens: window,
    used: null,
  },
  {
    what: 'a file by its id',
    ...chat([{ type: 'file', file: { file_id: 'file-1' } }]),
    billedTokens: window,
    used: null,
  },
  {
    what: 'an earlier answer',
    ...responses('x', { previous_response_id: 'resp_1' }),
    billedTokens: window,
    used: null,
  },
  {
    what: 'two web searches and their fees',
    ...responses('x', { tools: [{ type: 'web_search' }], max_tool_calls: 2 }),
    billedTokens: 2 * window + 200,
    billedUses: { web_search: 2 },
    used: null,
  },
  {
    what: 'web searches without a limit of the caller, by the fee of a large context',
    ...responses('x', { tools: [{ type: 'web_search', search_context_size: 'high' }] }),
    billedTokens: 5 * window,
    billedUses: { web_search_high: 5 },
    used: null,
  },
  {
    what: 'three web searches of messages and their fees',
    ...messages('x', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] }),
    billedTokens: 3 * window,
    billedUses: { web_search: 3 },
    used: null,
  },
  {
    what: 'two file searches and their fees',
    ...responses('x', {
      tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
      max_tool_calls: 2,
    }),
    billedTokens: 2 * window + 200,
    billedUses: { file_search: 2 },
    used: null,
  },
  {
    what: 'a container and its fee',
    ...responses('x', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }),
    billedTokens: 5 * window,
    billedUses: { code_execution: 1 },
    used: null,
  },
  {
    what: 'a search in chat, in two answers',
    ...chat('x', { web_search_options: {}, n: 2 }),
    billedTokens: window,
    billedUses: { web_search: 2 },
    used: null,
  },
  {
    what: 'text in the priority tier',
    ...chat(text, { service_tier: 'priority' }),
    billedTokens: 4_800,
    servedTier: 'priority',
    used: 0.9,
  },
  ...ADDITIONAL_THINKING_FIELDS.map(({ path }) => ({
    what: `thinking beside the answer by ${path.join('.')}`,
    ...chat('x', nested(path, 900)),
    billedTokens: 10,
    billedOutput: output + 900,
    used: 0.9,
  })),
];

const lane = {
  upstreamModel: 'gpt-4o',
  facts: { ...laneFacts('gpt-4o', {}), window },
  provider: { style: 'openai-style', settings: { profile: 'openai' } },
} as unknown as LaneView;
const model = { contextTokens: window, bounds: {} } as ModelView;

/** Four hundred at once on one dollar, half of them at each node; the supplier bills the most it may. */
export async function proveBounds(proof: Proof): Promise<void> {
  for (const row of rows) await race(proof, row);
}

async function race(proof: Proof, row: Row): Promise<void> {
  const {
    what,
    operation,
    body,
    billedTokens,
    billedOutput = output,
    billedUses = {},
    servedTier,
    used,
  } = row;
  const request = { model: 'm', ...body };
  const bytes = Buffer.from(JSON.stringify(request));
  const members = Object.keys(request).map((name) => ({ name }));
  const inbound = { bytes, body: request, members, form: null, headers: {} } as unknown as Inbound;
  const call = describeCall(inbound, operation);
  const inputTokens = inputBoundOf(call, model, lane, () => styles.picturesFor(lane), true);
  // The lane of this proof gets every switch of thinking.
  const maxOutputTokens = (output + call.extraOutputTokens + call.extraThinkingTokens) * call.choices;
  const modes = servedTier === undefined ? {} : { service_tier: servedTier };
  const billed = { uses: billedUses, modes, image: null };
  const bound = maxCostOf({ inputTokens, maxOutputTokens, fees: call.fees }, [price]);
  const written = billedOutput * call.choices;
  const cost = maxCostOf({ inputTokens: billedTokens, maxOutputTokens: written, fees: billed }, [price]);
  const walletId = await proof.wallet(usd);
  const answers = await Promise.all(
    Array.from({ length: callers }, (_, caller) =>
      proof.call(caller % 2, walletId, { bound: String(bound), cost: String(cost) }),
    ),
  );
  await proof.quiet();
  const spent = usd - (await proof.balance(walletId));
  const served = answers.filter(({ code }) => code === 'ok').length;
  const name = `400 callers on $1.00, ${what}`;
  proof.add(`${name}: spent, ${served} served`, '≤ $1.0000', dollars(spent), spent <= usd && cost <= bound);
  const share = Number(spent) / Number(usd);
  const least = used ?? (bound <= usd ? Number(cost) / Number(usd) : 0);
  proof.add(`${name}: used`, `≥ ${percent(least)}`, percent(share), share >= least);
}
