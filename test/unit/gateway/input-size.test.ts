import fc from 'fast-check';
import type { LaneView, ModelView } from '../../../src/catalogue';
import { describeCall, withSound } from '../../../src/gateway/intake/describe';
import type { Inbound } from '../../../src/gateway/intake/inbound';
import { objectText } from '../../../src/kernel/json/read-json-object';
import { soundTokensOf } from '../../../src/gateway/media/audio';
import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { inputBoundOf } from '../../../src/gateway/admission/input-bound';
import { type GatewayOperation, operations, type TextOperation } from '../../../src/gateway/operations/operation';
import { SupplierStyles } from '../../../src/routing';
import { laneFacts, UNKNOWN_FACTS } from '../../../src/vendors';
import { wavOf } from '../../support/recordings';
import { jpegOf, pngOf } from '../../support/pictures';

const styles = new SupplierStyles();
const WINDOW = 200_000;
/** A vendor that says what its model reads. */
const TOLD = { window: WINDOW, widened: {} };

const modelOf = (bounds: ModelView['bounds'] = {}, contextTokens: number | null = WINDOW): ModelView =>
  ({ contextTokens, bounds }) as ModelView;

const laneOf = (style: string, upstreamModel: string, profile?: string): LaneView =>
  ({
    upstreamModel,
    facts: { ...laneFacts(upstreamModel, {}), ...TOLD },
    provider: { id: 1, name: 'p', style, settings: profile === undefined ? {} : { profile } },
  }) as unknown as LaneView;

const ofUnknown = (lane: LaneView): LaneView => ({
  ...lane,
  facts: { ...UNKNOWN_FACTS, ...(lane.facts.pictures && { pictures: lane.facts.pictures }) },
});

const callOf = (operation: GatewayOperation, body: Record<string, unknown>, written = JSON.stringify(body)) => {
  const bytes = Buffer.from(written);
  const inbound = { ...objectText(bytes, body), form: null, headers: {} };
  return describeCall(inbound as unknown as Inbound, operation);
};

const boundOf = (
  operation: TextOperation,
  body: object,
  lane: LaneView,
  model = modelOf(),
  runsTools = true,
): number =>
  inputBoundOf(
    callOf(operation, { model: 'm', ...body }),
    model,
    lane,
    () => styles.picturesFor(lane),
    runsTools,
  );

interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** So many squares cover an edge: 5456 * (3072 / 5456) / 768 is four, whatever floating point adds to it. */
const squaresOf = (edge: number, side: number): number => Math.ceil(Number((edge / side).toFixed(6)));

/** Vendors' documents say that a picture is billed these, worked out from its true size. */
const billed = {
  claude: ({ width, height }: Pixels, edge: number, most: number): number => {
    const scale = Math.min(1, edge / Math.max(width, height));
    const [w, h] = [width * scale, height * scale];
    return Math.min(most, squaresOf(w, 28) * squaresOf(h, 28));
  },
  tiles: ({ width, height }: Pixels, base: number, tile: number): number => {
    const fit = Math.min(1, 2_048 / Math.max(width, height));
    const short = Math.min(1, 768 / (Math.min(width, height) * fit));
    const [w, h] = [width * fit * short, height * fit * short];
    return base + squaresOf(w, 512) * squaresOf(h, 512) * tile;
  },
  patches: ({ width, height }: Pixels, most: number, factor: number): number =>
    Math.ceil(Math.min(most, Math.ceil(width / 32) * Math.ceil(height / 32)) * factor),
  gemini: ({ width, height }: Pixels): number => {
    if (width <= 384 && height <= 384) return 258;
    const scale = Math.min(1, 3_072 / Math.max(width, height));
    return 258 * squaresOf(width * scale, 768) * squaresOf(height * scale, 768);
  },
};

const vendors: readonly (readonly [string, TextOperation, LaneView, (pixels: Pixels) => number])[] = [
  ['gpt-4o', operations.chat, laneOf('openai-style', 'gpt-4o', 'openai'), (p) => billed.tiles(p, 85, 170)],
  [
    'gpt-4o-mini',
    operations.chat,
    laneOf('openai-style', 'gpt-4o-mini', 'openai'),
    (p) => billed.tiles(p, 2_833, 5_667),
  ],
  ['o3', operations.responses, laneOf('openai-style', 'o3', 'openai'), (p) => billed.tiles(p, 75, 150)],
  [
    'gpt-4.1-mini',
    operations.responses,
    laneOf('openai-style', 'gpt-4.1-mini', 'openai'),
    (p) => billed.patches(p, 1_536, 2.46),
  ],
  [
    'gpt-5.5',
    operations.responses,
    laneOf('openai-style', 'gpt-5.5', 'openai'),
    (p) => billed.patches(p, 10_000, 1.2),
  ],
  [
    'an unknown one of OpenAI',
    operations.chat,
    laneOf('openai-style', 'gpt-6', 'openai'),
    (p) => billed.patches(p, 30_000, 1.2),
  ],
  [
    'claude-sonnet-4-5',
    operations.messages,
    laneOf('messages-style', 'claude-sonnet-4-5-20250929'),
    (p) => billed.claude(p, 1_568, 1_568),
  ],
  [
    'claude-opus-4-8',
    operations.messages,
    laneOf('bedrock', 'anthropic.claude-opus-4-8-v1:0'),
    (p) => billed.claude(p, 2_576, 4_784),
  ],
  ['gemini', operations.messages, laneOf('gemini', 'gemini-2.5-pro'), billed.gemini],
  [
    'any',
    operations.chat,
    laneOf('openai-style', 'some-vision'),
    (p) => Math.min(16_384, billed.patches(p, 1e9, 1)),
  ],
];

const base64 = (file: Buffer): string => file.toString('base64');
const dataUrl = (data: string): string => `data:image/png;base64,${data}`;
const pictureParts: Readonly<Record<string, (url: string, data: string | null) => object>> = {
  chat: (url) => ({ type: 'image_url', image_url: { url } }),
  responses: (url) => ({ type: 'input_image', image_url: url }),
  messages: (url, data) => ({
    type: 'image',
    source: data === null ? { type: 'url', url } : { type: 'base64', media_type: 'image/png', data },
  }),
};
const requestOf = ({ name }: TextOperation, parts: readonly object[], rest: object = {}): object => {
  const turn = [{ role: 'user', content: parts }];
  return name === 'responses' ? { input: turn, ...rest } : { messages: turn, ...rest };
};
const textPart = ({ name }: TextOperation, text: string): object => ({
  type: name === 'responses' ? 'input_text' : 'text',
  text,
});

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

describe('the bound on what goes in', () => {
  test.each(vendors)(
    'of %s is never less than its pictures and texts are billed',
    (_n, operation, lane, price) => {
      const picture = fc.record({
        width: fc.integer({ min: 1, max: 8_000 }),
        height: fc.integer({ min: 1, max: 8_000 }),
        as: fc.constantFrom('png', 'jpeg', 'url'),
      });
      fc.assert(
        fc.property(fc.array(picture, { maxLength: 6 }), fc.lorem({ maxCount: 60 }), (pictures, text) => {
          const parts = pictures.map(({ as, ...size }) => {
            const data = as === 'url' ? null : base64(as === 'png' ? pngOf(size) : jpegOf(size));
            return pictureParts[operation.name]!(data === null ? 'https://p.example/a' : dataUrl(data), data);
          });
          const body = requestOf(operation, [textPart(operation, text), ...parts]);
          const cost = pictures.reduce((sum, one) => sum + price(one), 0) + Math.ceil(text.length / 3);
          expect(boundOf(operation, body, lane)).toBeGreaterThanOrEqual(Math.min(cost, WINDOW));
          const unlimited = boundOf(operation, body, ofUnknown(lane));
          expect(unlimited).toBeGreaterThanOrEqual(cost);
        }),
        { numRuns: 60 },
      );
    },
  );

  const gpt4o = laneOf('openai-style', 'gpt-4o', 'openai');
  const sonnet = laneOf('messages-style', 'claude-sonnet-4-5');
  const screenshot = base64(pngOf({ width: 1_920, height: 1_080 }, 500_000));

  test('does not count a picture as text', () => {
    const parts = [pictureParts['messages']!('', screenshot)];
    const call = callOf(operations.messages, { model: 'm', ...requestOf(operations.messages, parts) });
    expect(boundOf(operations.messages, requestOf(operations.messages, parts), sonnet)).toBeLessThan(2_000);
    expect(call.inputEstimate).toBeLessThan(1_500);
    expect(call.inputEstimate).toBeGreaterThan(1_000);
  });

  test.each([
    [
      'a PDF by its address',
      operations.responses,
      { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://p.example/a.pdf' }] }] },
    ],
    [
      'a PDF within',
      operations.messages,
      requestOf(operations.messages, [{ type: 'document', source: { type: 'base64', data: 'JVBERi0=' } }]),
    ],
    [
      'a file by its id',
      operations.chat,
      requestOf(operations.chat, [{ type: 'file', file: { file_id: 'file-1' } }]),
    ],
    ['an earlier answer', operations.responses, { input: 'x', previous_response_id: 'resp_1' }],
    ['a conversation', operations.responses, { input: 'x', conversation: { id: 'conv_1' } }],
    ['a stored prompt', operations.responses, { input: 'x', prompt: { id: 'pmpt_1' } }],
    [
      'a part that is unknown here',
      operations.chat,
      requestOf(operations.chat, [{ type: 'video_url', video_url: { url: 'https://p' } }]),
    ],
  ])('of %s is all that the model can read', (_what, operation, body) => {
    expect(boundOf(operation, body, gpt4o)).toBe(WINDOW);
    expect(boundOf(operation, body, ofUnknown(gpt4o))).toBeGreaterThan(1_999_999);
    const lowered = modelOf({ documentTokens: 30_000, referenceTokens: 30_000 });
    const bound = boundOf(operation, body, gpt4o, lowered);
    expect([bound > 30_000, bound < 31_000]).toEqual([true, true]);
  });

  test('of a model that bills pictures beyond its window follows what it bills', () => {
    const mini = laneOf('openai-style', 'gpt-4o-mini', 'openai');
    const parts = Array.from({ length: 20 }, () => pictureParts['chat']!('https://p.example/a', null));
    expect(boundOf(operations.chat, requestOf(operations.chat, parts), mini)).toBeGreaterThan(20 * 48_000);
  });

  test('of texts is a token for every byte, however they are written, and what a template puts around them', () => {
    const word = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^[0-9]*$/),
      fc.string({ unit: fc.constantFrom('\n', '"', '\\', '\u0000', 'é', '၍', '𒀀', '\ud800') }),
    );
    const template = { message: 8, tool: 16 };
    const pictures = () => styles.picturesFor(gpt4o);
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1 }),
        fc.array(word),
        fc.boolean(),
        (texts, names, isEscaped) => {
          const messages = texts.map((content) => ({ role: 'user', content }));
          const tools = names.map((name) => ({ type: 'function', function: { name } }));
          const body = { model: 'm', messages, tools };
          const printed = JSON.stringify(body);
          const written = isEscaped ? printed.replace(/[^ -~]/g, escaped) : printed;
          const read = [...texts, ...names].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
          const cost = read + texts.length * template.message + names.length * template.tool;
          const call = callOf(operations.chat, body, written);
          const small = { facts: { known: null, window: 300 } };
          const model = modelOf({}, null);
          expect(inputBoundOf(call, model, ofUnknown(gpt4o), pictures, true)).toBeGreaterThanOrEqual(cost);
          expect(inputBoundOf(call, model, small, pictures, true)).toBeLessThanOrEqual(300);
          expect(call.inputEstimate).toBe(Math.ceil(Buffer.byteLength(written) / 4));
        },
      ),
    );
  });

  test('of a rerank counts the question once for every document', () => {
    const [query, documents] = ['7'.repeat(1_000), ['1', '2', '3']];
    const call = callOf(operations.rerank, { model: 'm', query, documents });
    expect(call.textBound).toBeGreaterThanOrEqual(3 * 1_000 + 3);
    expect(call.textBound).toBeLessThan(4_200);
  });

  test('of a text is no more than the model can read', () => {
    const body = requestOf(operations.chat, [textPart(operations.chat, 'x'.repeat(3_000_000))]);
    expect(boundOf(operations.chat, body, gpt4o)).toBe(WINDOW);
  });

  test('of a text follows the window that the vendor tells, never one that only the operator wrote', () => {
    const long = requestOf(operations.messages, [textPart(operations.messages, 'x'.repeat(900_000))]);
    const told = boundOf(operations.messages, long, sonnet, modelOf({}, 1_000));
    const untold = boundOf(operations.messages, long, ofUnknown(sonnet), modelOf({}, 1_000));
    const larger = boundOf(operations.messages, long, sonnet, modelOf({}, 500_000));
    expect([told, untold > 900_000, larger]).toEqual([WINDOW, true, 500_000]);
  });

  test.each([
    ['context-1m-2025-08-07', 1_000_000],
    ['files-api-2025-04-14, context-1m-2025-08-07', 1_000_000],
    [['files-api-2025-04-14', 'context-1m-2025-08-07'], 1_000_000],
    ['files-api-2025-04-14', WINDOW],
    ['context-1m', WINDOW],
  ])('of a request with the betas %s is as wide as they make the window', (betas, window) => {
    const long = {
      model: 'm',
      ...requestOf(operations.messages, [textPart(operations.messages, 'x'.repeat(2_000_000))]),
    };
    const bytes = Buffer.from(JSON.stringify(long));
    const headers = { 'anthropic-beta': betas };
    const inbound = { ...objectText(bytes, long), form: null, headers };
    const call = describeCall(inbound as unknown as Inbound, operations.messages);
    const facts = { known: null, ...TOLD, widened: { 'context-1m-2025-08-07': 1_000_000 } };
    expect(inputBoundOf(call, modelOf(), { facts }, () => styles.picturesFor(sonnet), true)).toBe(window);
  });

  test('of a recording follows its length', () => {
    const part = (data: string): object => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
    const of = (file: Buffer): number => {
      const call = callOf(operations.chat, {
        model: 'm',
        ...requestOf(operations.chat, [part(base64(file))]),
      });
      const heard = withSound(call, soundTokensOf([audioLengthOf(audioKindOf(file) ?? 'webm', file)]));
      return inputBoundOf(heard, modelOf(), gpt4o, () => styles.picturesFor(gpt4o), true);
    };
    expect(of(wavOf({ seconds: 60 }))).toBeGreaterThan(60 * 32);
    expect(of(wavOf({ seconds: 60 }))).toBeLessThan(60 * 60);
    expect(of(Buffer.alloc(30_000))).toBeGreaterThan(30 * 32);
  });

  test('of tools that the supplier runs counts every round, and the rounds are limited', () => {
    const search = { type: 'web_search_20250305', name: 'web_search' };
    const ask = (tools: object[]) => ({ messages: [{ role: 'user', content: 'x' }], tools });
    const limited = callOf(operations.messages, { model: 'm', ...ask([search]) });
    expect(limited.serverTools).toMatchObject({
      tools: [{ type: 'web_search_20250305', index: 0, maxUses: 5 }],
      uses: 5,
    });
    expect(limited.serverTools.limits?.(ask([search]))).toEqual({ tools: [{ ...search, max_uses: 5 }] });
    const own = callOf(operations.messages, { model: 'm', ...ask([{ ...search, max_uses: 2 }]) });
    expect(own.serverTools).toMatchObject({ uses: 2, limits: null });
    expect(boundOf(operations.messages, ask([{ ...search, max_uses: 2 }]), sonnet)).toBeGreaterThan(
      2 * WINDOW,
    );
    const lowered = boundOf(
      operations.messages,
      ask([{ ...search, max_uses: 2 }]),
      sonnet,
      modelOf({ roundTokens: 10_000 }),
    );
    expect([lowered > 30_000, lowered < 60_000]).toEqual([true, true]);
    // A translation leaves them out.
    expect(boundOf(operations.messages, ask([search]), gpt4o, modelOf(), false)).toBeLessThan(5_000);
    // The supplier hands the turn back after ten rounds, whatever it runs.
    const code = { type: 'code_execution_20250825', name: 'code_execution' };
    expect(callOf(operations.messages, { model: 'm', ...ask([code, search]) }).serverTools.uses).toBe(10);
    const responses = callOf(operations.responses, {
      model: 'm',
      input: 'x',
      tools: [{ type: 'file_search' }],
    });
    expect(responses.serverTools.uses).toBe(5);
    expect(responses.serverTools.limits?.({})).toEqual({ max_tool_calls: 5 });
    const few = { model: 'm', input: 'x', tools: [{ type: 'file_search' }], max_tool_calls: 1 };
    expect(callOf(operations.responses, few).serverTools).toMatchObject({ uses: 1, limits: null });
  });

  test.each([0, -1, 1.5, 1_000_001])('takes %p for no limit of a tool', (count) => {
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: count };
    const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], tools: [search] };
    expect(() => callOf(operations.messages, body)).toThrow('tools[0].max_uses');
    const responses = { model: 'm', input: 'x', tools: [{ type: 'mcp' }], max_tool_calls: count };
    expect(() => callOf(operations.responses, responses)).toThrow('max_tool_calls');
  });
});
