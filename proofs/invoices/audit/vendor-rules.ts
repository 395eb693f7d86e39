/** A vendor bills for an answer by its own rules, which read the bytes it sent and those it was sent. */
import type { Counts } from './bill';
import { asJson, eventsOf, type Json } from './reading';

/** One exchange as the supplier saw it. */
export interface Exchange {
  readonly number: number;
  readonly provider: string;
  readonly path: string;
  readonly request: string;
  readonly answer: string;
}

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(asJson) : []);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The JSON of an answer, or of each event of a stream. */
function partsOf(answer: string): readonly Json[] {
  if (answer.startsWith('{')) return [asJson(JSON.parse(answer))];
  return eventsOf(answer).flatMap((event) => {
    const data = event.split('\n').find((line) => line.startsWith('data: {'));
    return data === undefined ? [] : [asJson(JSON.parse(data.slice('data: '.length)))];
  });
}

const bill = (given: Partial<Counts>): Counts => ({
  tokens: {},
  calls: 1,
  milliseconds: 0,
  uses: {},
  images: {},
  modes: {},
  ...given,
});

const modesIn = (fields: Json): Counts['modes'] =>
  Object.fromEntries(
    ['service_tier', 'speed', 'inference_geo'].flatMap((name) => {
      const value = text(fields[name]);
      return value === undefined ? [] : [[name, value]];
    }),
  );

/** The last of the parts that names the field. */
const lastOf = (parts: readonly Json[], name: string): unknown =>
  parts.findLast((part) => part[name] !== undefined && part[name] !== null)?.[name];

/** Totals with their parts inside; what a grand total has beyond them are thoughts. */
function totals(usage: Json, input: string, output: string): Counts['tokens'] {
  const given = asJson(usage[`${input}_details`]);
  const made = asJson(usage[`${output}_details`]);
  const thought = count(made['reasoning_tokens']);
  const beyond =
    usage['total_tokens'] === undefined
      ? 0
      : count(usage['total_tokens']) - count(usage[input]) - count(usage[output]);
  const [cacheRead, cacheWrite, audio, image] = [
    count(given['cached_tokens']),
    count(given['cache_write_tokens']),
    count(given['audio_tokens']),
    count(given['image_tokens']),
  ];
  const [audioOut, imageOut] = [count(made['audio_tokens']), count(made['image_tokens'])];
  return {
    input: count(usage[input]) - cacheRead - cacheWrite - audio - image,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    audio_input: audio,
    image,
    output: count(usage[output]) - audioOut - imageOut - (beyond > 0 ? 0 : thought),
    audio_output: audioOut,
    image_output: imageOut,
    reasoning: beyond > 0 ? beyond : thought,
  };
}

function ofChat(parts: readonly Json[], asked: Json): Counts {
  const tier = lastOf(parts, 'service_tier') ?? asked['service_tier'];
  const options = asked['web_search_options'];
  const size = text(asJson(options)['search_context_size']);
  return bill({
    tokens: totals(asJson(lastOf(parts, 'usage')), 'prompt_tokens', 'completion_tokens'),
    uses: options === undefined ? {} : { [size === undefined ? 'web_search' : `web_search_${size}`]: 1 },
    modes: modesIn({ service_tier: tier }),
  });
}

function ofResponses(parts: readonly Json[], asked: Json): Counts {
  const response = asJson(parts.findLast((part) => part['response'] !== undefined)?.['response'] ?? parts[0]);
  const items = listOf(response['output']);
  const searches = items.filter(
    ({ type, action }) => type === 'web_search_call' && asJson(action)['type'] === 'search',
  ).length;
  const files = items.filter(({ type }) => type === 'file_search_call').length;
  const containers = new Set(
    items.filter(({ type }) => type === 'code_interpreter_call').map((item) => item['container_id']),
  ).size;
  const tool = listOf(asked['tools']).find(({ type }) => String(type).startsWith('web_search'));
  const size = text(tool?.['search_context_size']);
  return bill({
    tokens: totals(asJson(response['usage']), 'input_tokens', 'output_tokens'),
    uses: {
      ...(searches > 0 ? { [size === undefined ? 'web_search' : `web_search_${size}`]: searches } : {}),
      ...(files > 0 ? { file_search: files } : {}),
      ...(containers > 0 ? { code_execution: containers } : {}),
    },
    modes: modesIn({ service_tier: response['service_tier'] ?? asked['service_tier'] }),
  });
}

/** Later figures of a stream stand over those of its beginning. */
function ofMessages(parts: readonly Json[], asked: Json): Counts {
  const reports = parts.map((part) => asJson(asJson(part['message'])['usage'] ?? part['usage']));
  const usage = Object.assign({}, ...reports) as Json;
  const written = asJson(usage['cache_creation']);
  const long = count(written['ephemeral_1h_input_tokens']);
  const thought = count(asJson(usage['output_tokens_details'])['thinking_tokens']);
  const tools = asJson(usage['server_tool_use']);
  const blocks = parts.flatMap((part) => [asJson(part['content_block']), ...listOf(part['content'])]);
  const runs = blocks.some(({ type, name }) => type === 'server_tool_use' && name === 'code_execution');
  const searches = count(tools['web_search_requests']);
  return bill({
    tokens: {
      input: count(usage['input_tokens']),
      cache_read: count(usage['cache_read_input_tokens']),
      cache_write: count(usage['cache_creation_input_tokens']) - long,
      cache_write_long: long,
      output: count(usage['output_tokens']) - thought,
      reasoning: thought,
    },
    uses: {
      ...(searches > 0 ? { web_search: searches } : {}),
      ...(runs ? { code_execution: 1 } : {}),
    },
    modes: modesIn({ ...modesIn(asked), ...modesIn(usage) }),
  });
}

function ofGemini(parts: readonly Json[]): Counts {
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
  return bill({
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

function ofImages([answer = {}]: readonly Json[], asked: Json): Counts {
  const made = listOf(answer['data']).length;
  const usage = asJson(answer['usage']);
  const given = asJson(usage['input_tokens_details']);
  const written = count(asJson(usage['output_tokens_details'])['text_tokens']);
  const quality = text(answer['quality']) ?? text(asked['quality']) ?? 'standard';
  const size = text(answer['size']) ?? text(asked['size']) ?? '1024x1024';
  return bill({
    tokens: {
      input: count(usage['input_tokens']) - count(given['image_tokens']) - count(given['cached_tokens']),
      cache_read: count(given['cached_tokens']),
      image: count(given['image_tokens']),
      output: written,
      image_output: count(usage['output_tokens']) - written,
    },
    calls: made,
    images: { [`${quality}/${size}`]: made },
  });
}

function ofTranscription([answer = {}]: readonly Json[]): Counts {
  const usage = asJson(answer['usage'] ?? { seconds: answer['duration'] });
  const audio = count(asJson(usage['input_token_details'])['audio_tokens']);
  // Seconds in decimal: a millisecond that has begun counts.
  const [seconds = '0', part = ''] = String(count(usage['seconds'])).split('.');
  const started = part.length > 3 && /[1-9]/.test(part.slice(3)) ? 1 : 0;
  return bill({
    tokens: {
      input: count(usage['input_tokens']) - audio,
      audio_input: audio,
      output: count(usage['output_tokens']),
    },
    milliseconds: Number(seconds) * 1_000 + Number(part.slice(0, 3).padEnd(3, '0')) + started,
  });
}

const rules: readonly (readonly [RegExp, (parts: readonly Json[], asked: Json) => Counts])[] = [
  [/\/chat\/completions$/, ofChat],
  [/\/responses$/, ofResponses],
  [/\/messages$/, ofMessages],
  [/:(?:streamG|g)enerateContent/, ofGemini],
  [/\/images\/generations$/, ofImages],
  [/\/audio\/transcriptions$/, ofTranscription],
  [
    /\/embeddings$/,
    ([answer]) => bill({ tokens: { input: count(asJson(answer?.['usage'])['prompt_tokens']) } }),
  ],
  [
    /\/rerank$/,
    ([answer]) => {
      const units = count(asJson(asJson(answer?.['meta'])['billed_units'])['search_units']);
      const tokens = count(asJson(answer?.['usage'])['total_tokens']);
      return bill({ calls: units > 0 ? units : 1, tokens: { input: tokens } });
    },
  ],
  [/\/audio\/speech$/, (_parts, asked) => bill({ tokens: { input: [...String(asked['input'])].length } })],
  [/\/moderations$/, () => bill({})],
];

export function billedBy({ path, request, answer }: Exchange): Counts {
  const rule = rules.find(([pattern]) => pattern.test(path));
  if (rule === undefined) throw new Error(`no rule for ${path}`);
  const asked = request.startsWith('{') ? asJson(JSON.parse(request)) : {};
  return rule[1](/\/audio\/speech$/.test(path) ? [] : partsOf(answer), asked);
}
