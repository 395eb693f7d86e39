/** Bills a response by the vendor's own rules, from the bytes it received and sent. */
import type { BilledCounts } from './bill';
import { asJson, eventsOf, type Json } from './response-reader';

/** An exchange as seen by the supplier. */
export interface AuditedExchange {
  readonly number: number;
  readonly provider: string;
  readonly path: string;
  readonly request: string;
  readonly answer: string;
}

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(asJson) : []);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** JSON of a response, or of each event of a stream. */
function partsOf(answer: string): readonly Json[] {
  if (answer.startsWith('{')) return [asJson(JSON.parse(answer))];
  return eventsOf(answer).flatMap((event) => {
    const data = event.split('\n').find((line) => line.startsWith('data: {'));
    return data === undefined ? [] : [asJson(JSON.parse(data.slice('data: '.length)))];
  });
}

const countsOf = (counts: Partial<BilledCounts>): BilledCounts => ({
  tokens: {},
  calls: 1,
  milliseconds: 0,
  uses: {},
  images: {},
  modes: {},
  ...counts,
});

const modesIn = (fields: Json): BilledCounts['modes'] =>
  Object.fromEntries(
    ['service_tier', 'speed', 'inference_geo'].flatMap((name) => {
      const value = text(fields[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** The field's value in the last part that names it. */
const lastOf = (parts: readonly Json[], name: string): unknown =>
  parts.findLast((part) => part[name] !== undefined && part[name] !== null)?.[name];

/** Totals that include their parts; the excess of a grand total is reasoning. */
function totals(usage: Json, input: string, output: string): BilledCounts['tokens'] {
  const inputDetails = asJson(usage[`${input}_details`]);
  const outputDetails = asJson(usage[`${output}_details`]);
  const reasoningTokens = count(outputDetails['reasoning_tokens']);
  const unreportedTokens =
    usage['total_tokens'] === undefined
      ? 0
      : count(usage['total_tokens']) - count(usage[input]) - count(usage[output]);
  const [cacheRead, cacheWrite, audio, image] = [
    count(inputDetails['cached_tokens']),
    count(inputDetails['cache_write_tokens']),
    count(inputDetails['audio_tokens']),
    count(inputDetails['image_tokens']),
  ];
  const [audioOut, imageOut] = [count(outputDetails['audio_tokens']), count(outputDetails['image_tokens'])];
  return {
    input: count(usage[input]) - cacheRead - cacheWrite - audio - image,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    audio_input: audio,
    image,
    output: count(usage[output]) - audioOut - imageOut - (unreportedTokens > 0 ? 0 : reasoningTokens),
    audio_output: audioOut,
    image_output: imageOut,
    reasoning: unreportedTokens > 0 ? unreportedTokens : reasoningTokens,
  };
}

function ofChat(parts: readonly Json[], requestFields: Json): BilledCounts {
  const tier = lastOf(parts, 'service_tier') ?? requestFields['service_tier'];
  const options = requestFields['web_search_options'];
  const size = text(asJson(options)['search_context_size']);
  return countsOf({
    tokens: totals(asJson(lastOf(parts, 'usage')), 'prompt_tokens', 'completion_tokens'),
    uses: options === undefined ? {} : { [size === undefined ? 'web_search' : `web_search_${size}`]: 1 },
    modes: modesIn({ service_tier: tier }),
  });
}

function ofResponses(parts: readonly Json[], requestFields: Json): BilledCounts {
  const response = asJson(parts.findLast((part) => part['response'] !== undefined)?.['response'] ?? parts[0]);
  const items = listOf(response['output']);
  const searches = items.filter(
    ({ type, action }) => type === 'web_search_call' && asJson(action)['type'] === 'search',
  ).length;
  const files = items.filter(({ type }) => type === 'file_search_call').length;
  const containers = new Set(
    items.filter(({ type }) => type === 'code_interpreter_call').map((item) => item['container_id']),
  ).size;
  const tool = listOf(requestFields['tools']).find(({ type }) => String(type).startsWith('web_search'));
  const size = text(tool?.['search_context_size']);
  return countsOf({
    tokens: totals(asJson(response['usage']), 'input_tokens', 'output_tokens'),
    uses: {
      ...(searches > 0 ? { [size === undefined ? 'web_search' : `web_search_${size}`]: searches } : {}),
      ...(files > 0 ? { file_search: files } : {}),
      ...(containers > 0 ? { code_execution: containers } : {}),
    },
    modes: modesIn({ service_tier: response['service_tier'] ?? requestFields['service_tier'] }),
  });
}

/** Later figures of a stream override those of its start. */
function ofMessages(parts: readonly Json[], requestFields: Json): BilledCounts {
  const reports = parts.map((part) => asJson(asJson(part['message'])['usage'] ?? part['usage']));
  const usage = Object.assign({}, ...reports) as Json;
  const cacheWrites = asJson(usage['cache_creation']);
  const longCacheWrites = count(cacheWrites['ephemeral_1h_input_tokens']);
  const reasoningTokens = count(asJson(usage['output_tokens_details'])['thinking_tokens']);
  const tools = asJson(usage['server_tool_use']);
  const blocks = parts.flatMap((part) => [asJson(part['content_block']), ...listOf(part['content'])]);
  const hasCodeExecution = blocks.some(
    ({ type, name }) => type === 'server_tool_use' && name === 'code_execution',
  );
  const searches = count(tools['web_search_requests']);
  return countsOf({
    tokens: {
      input: count(usage['input_tokens']),
      cache_read: count(usage['cache_read_input_tokens']),
      cache_write: count(usage['cache_creation_input_tokens']) - longCacheWrites,
      cache_write_long: longCacheWrites,
      output: count(usage['output_tokens']) - reasoningTokens,
      reasoning: reasoningTokens,
    },
    uses: {
      ...(searches > 0 ? { web_search: searches } : {}),
      ...(hasCodeExecution ? { code_execution: 1 } : {}),
    },
    modes: modesIn({ ...modesIn(requestFields), ...modesIn(usage) }),
  });
}

function ofGemini(parts: readonly Json[]): BilledCounts {
  const usage = asJson(lastOf(parts, 'usageMetadata'));
  const tokensOf = (kind: string, details: unknown): number =>
    listOf(details)
      .filter(({ modality }) => modality === kind)
      .reduce((sum, { tokenCount }) => sum + count(tokenCount), 0);
  const [audio, image] = ['AUDIO', 'IMAGE'].map((kind) => tokensOf(kind, usage['promptTokensDetails']));
  const imageOut = tokensOf('IMAGE', usage['candidatesTokensDetails']);
  const cached = count(usage['cachedContentTokenCount']);
  const grounding = parts
    .flatMap(({ candidates }) => listOf(candidates))
    .map(({ groundingMetadata }) => asJson(groundingMetadata));
  const queries = new Set(grounding.flatMap(({ webSearchQueries }) => webSearchQueries ?? [])).size;
  return countsOf({
    tokens: {
      input:
        count(usage['promptTokenCount']) -
        cached -
        (audio ?? 0) -
        (image ?? 0) +
        count(usage['toolUsePromptTokenCount']),
      cache_read: cached,
      audio_input: audio ?? 0,
      image: image ?? 0,
      output: count(usage['candidatesTokenCount']) - imageOut,
      image_output: imageOut,
      reasoning: count(usage['thoughtsTokenCount']),
    },
    uses: queries === 0 ? {} : { grounded_prompt: 1, grounding_query: queries },
  });
}

function ofImages([answer = {}]: readonly Json[], requestFields: Json): BilledCounts {
  const imageCount = listOf(answer['data']).length;
  const usage = asJson(answer['usage']);
  const inputDetails = asJson(usage['input_tokens_details']);
  const outputTextTokens = count(asJson(usage['output_tokens_details'])['text_tokens']);
  const quality = text(answer['quality']) ?? text(requestFields['quality']) ?? 'standard';
  const size = text(answer['size']) ?? text(requestFields['size']) ?? '1024x1024';
  return countsOf({
    tokens: {
      input:
        count(usage['input_tokens']) -
        count(inputDetails['image_tokens']) -
        count(inputDetails['cached_tokens']),
      cache_read: count(inputDetails['cached_tokens']),
      image: count(inputDetails['image_tokens']),
      output: outputTextTokens,
      image_output: count(usage['output_tokens']) - outputTextTokens,
    },
    calls: imageCount,
    images: { [`${quality}/${size}`]: imageCount },
  });
}

function ofTranscription([answer = {}]: readonly Json[]): BilledCounts {
  const usage = asJson(answer['usage'] ?? { seconds: answer['duration'] });
  const audio = count(asJson(usage['input_token_details'])['audio_tokens']);
  // Seconds in decimal; a started millisecond counts as complete.
  const [seconds = '0', part = ''] = String(count(usage['seconds'])).split('.');
  const started = part.length > 3 && /[1-9]/.test(part.slice(3)) ? 1 : 0;
  return countsOf({
    tokens: {
      input: count(usage['input_tokens']) - audio,
      audio_input: audio,
      output: count(usage['output_tokens']),
    },
    milliseconds: Number(seconds) * 1_000 + Number(part.slice(0, 3).padEnd(3, '0')) + started,
  });
}

const rules: readonly (readonly [RegExp, (parts: readonly Json[], requestFields: Json) => BilledCounts])[] = [
  [/\/chat\/completions$/, ofChat],
  [/\/responses$/, ofResponses],
  [/\/messages$/, ofMessages],
  [/:(?:streamG|g)enerateContent/, ofGemini],
  [/\/images\/generations$/, ofImages],
  [/\/audio\/transcriptions$/, ofTranscription],
  [
    /\/embeddings$/,
    ([answer]) => countsOf({ tokens: { input: count(asJson(answer?.['usage'])['prompt_tokens']) } }),
  ],
  [
    /\/rerank$/,
    ([answer]) => {
      const units = count(asJson(asJson(answer?.['meta'])['billed_units'])['search_units']);
      const tokens = count(asJson(answer?.['usage'])['total_tokens']);
      return countsOf({ calls: units > 0 ? units : 1, tokens: { input: tokens } });
    },
  ],
  [
    /\/audio\/speech$/,
    (_parts, requestFields) => countsOf({ tokens: { input: [...String(requestFields['input'])].length } }),
  ],
  [/\/moderations$/, () => countsOf({})],
];

export function billedBy({ path, request, answer }: AuditedExchange): BilledCounts {
  const rule = rules.find(([pattern]) => pattern.test(path));
  if (rule === undefined) throw new Error(`no rule for ${path}`);
  const requestFields = request.startsWith('{') ? asJson(JSON.parse(request)) : {};
  return rule[1](/\/audio\/speech$/.test(path) ? [] : partsOf(answer), requestFields);
}
