import fc from 'fast-check';
import type { LaneView, ModelView } from '../../../src/catalogue';
import { describeCall, withSound } from '../../../src/gateway/intake/describe';
import type { Inbound } from '../../../src/gateway/intake/inbound';
import { objectText } from '../../../src/kernel/json/read-json-object';
import { soundTokensOf } from '../../../src/gateway/media/audio';
import { audioKindOf, audioLengthOf } from '../../../src/gateway/media/audio-length';
import { inputBoundOf } from '../../../src/gateway/admission/input-bound';
import {
  type GatewayOperation,
  operations,
  type TextOperation,
} from '../../../src/gateway/operations/operation';
import { SupplierStyles } from '../../../src/routing';
import { laneFacts, UNKNOWN_FACTS } from '../../../src/vendors';
import { wavOf } from '../../support/recordings';
import { jpegOf, pngOf } from '../../support/pictures';

const styles = new SupplierStyles();
const WINDOW = 200_000;
/** Facts of a vendor that documents the context window of its model. */
const DOCUMENTED_WINDOW = { window: WINDOW, widened: {} };

const modelOf = (bounds: ModelView['bounds'] = {}, contextTokens: number | null = WINDOW): ModelView =>
  ({ contextTokens, bounds }) as ModelView;

const laneOf = (style: string, upstreamModel: string, profile?: string): LaneView =>
  ({
    upstreamModel,
    facts: { ...laneFacts(upstreamModel, {}), ...DOCUMENTED_WINDOW },
    provider: { id: 1, name: 'p', style, settings: profile === undefined ? {} : { profile } },
  }) as unknown as LaneView;

const withUnknownModel = (lane: LaneView): LaneView => ({
  ...lane,
  facts: { ...UNKNOWN_FACTS, ...(lane.facts.pictures && { pictures: lane.facts.pictures }) },
});

const callOf = (
  operation: GatewayOperation,
  body: Record<string, unknown>,
  written = JSON.stringify(body),
) => {
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

interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Number of squares along an edge: 5456 * (3072 / 5456) / 768 is four, despite floating-point error. */
const squareCount = (edge: number, side: number): number => Math.ceil(Number((edge / side).toFixed(6)));

/** Image tokens that the vendors document, computed from the actual size. */
const billedTokens = {
  claude: ({ width, height }: PixelSize, edge: number, most: number): number => {
    const scale = Math.min(1, edge / Math.max(width, height));
    const [w, h] = [width * scale, height * scale];
    return Math.min(most, squareCount(w, 28) * squareCount(h, 28));
  },
  tiles: ({ width, height }: PixelSize, base: number, tile: number): number => {
    const fitScale = Math.min(1, 2_048 / Math.max(width, height));
    const shortScale = Math.min(1, 768 / (Math.min(width, height) * fitScale));
    const [w, h] = [width * fitScale * shortScale, height * fitScale * shortScale];
    return base + squareCount(w, 512) * squareCount(h, 512) * tile;
  },
  patches: ({ width, height }: PixelSize, most: number, factor: number): number =>
    Math.ceil(Math.min(most, Math.ceil(width / 32) * Math.ceil(height / 32)) * factor),
  gemini: ({ width, height }: PixelSize): number => {
    if (width <= 384 && height <= 384) return 258;
    const scale = Math.min(1, 3_072 / Math.max(width, height));
    return 258 * squareCount(width * scale, 768) * squareCount(height * scale, 768);
  },
};

const vendorCases: readonly (readonly [string, TextOperation, LaneView, (pixels: PixelSize) => number])[] = [
  [
    'gpt-4o',
    operations.chat,
    laneOf('openai-style', 'gpt-4o', 'openai'),
    (p) => billedTokens.tiles(p, 85, 170),
  ],
  [
    'gpt-4o-mini',
    operations.chat,
    laneOf('openai-style', 'gpt-4o-mini', 'openai'),
    (p) => billedTokens.tiles(p, 2_833, 5_667),
  ],
  ['o3', operations.responses, laneOf('openai-style', 'o3', 'openai'), (p) => billedTokens.tiles(p, 75, 150)],
  [
    'gpt-4.1-mini',
    operations.responses,
    laneOf('openai-style', 'gpt-4.1-mini', 'openai'),
    (p) => billedTokens.patches(p, 1_536, 2.46),
  ],
  [
    'gpt-5.5',
    operations.responses,
    laneOf('openai-style', 'gpt-5.5', 'openai'),
    (p) => billedTokens.patches(p, 10_000, 1.2),
  ],
  [
    'an unknown one of OpenAI',
    operations.chat,
    laneOf('openai-style', 'gpt-6', 'openai'),
    (p) => billedTokens.patches(p, 30_000, 1.2),
  ],
  [
    'claude-sonnet-4-5',
    operations.messages,
    laneOf('messages-style', 'claude-sonnet-4-5-20250929'),
    (p) => billedTokens.claude(p, 1_568, 1_568),
  ],
  [
    'claude-opus-4-8',
    operations.messages,
    laneOf('bedrock', 'anthropic.claude-opus-4-8-v1:0'),
    (p) => billedTokens.claude(p, 2_576, 4_784),
  ],
  ['gemini', operations.messages, laneOf('gemini', 'gemini-2.5-pro'), billedTokens.gemini],
  [
    'any',
    operations.chat,
    laneOf('openai-style', 'some-vision'),
    (p) => Math.min(16_384, billedTokens.patches(p, 1e9, 1)),
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

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

describe('Input bound', () => {
  test.each(vendorCases)(
    'bound of %s is never below the billed image and text tokens',
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
          const unlimitedBound = boundOf(operation, body, withUnknownModel(lane));
          expect(unlimitedBound).toBeGreaterThanOrEqual(cost);
        }),
        { numRuns: 60 },
      );
    },
  );

  const gpt4o = laneOf('openai-style', 'gpt-4o', 'openai');
  const sonnet = laneOf('messages-style', 'claude-sonnet-4-5');
  const screenshot = base64(pngOf({ width: 1_920, height: 1_080 }, 500_000));

  test('does not count an image as text', () => {
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
  ])('bound of %s is the context window of the model', (_what, operation, body) => {
    expect(boundOf(operation, body, gpt4o)).toBe(WINDOW);
    expect(boundOf(operation, body, withUnknownModel(gpt4o))).toBeGreaterThan(1_999_999);
    const loweredModel = modelOf({ documentTokens: 30_000, referenceTokens: 30_000 });
    const bound = boundOf(operation, body, gpt4o, loweredModel);
    expect([bound > 30_000, bound < 31_000]).toEqual([true, true]);
  });

  test('follows billed tokens for a model that bills images beyond its window', () => {
    const mini = laneOf('openai-style', 'gpt-4o-mini', 'openai');
    const parts = Array.from({ length: 20 }, () => pictureParts['chat']!('https://p.example/a', null));
    expect(boundOf(operations.chat, requestOf(operations.chat, parts), mini)).toBeGreaterThan(20 * 48_000);
  });

  test('counts one token per byte of text, however it is written, plus the chat template', () => {
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
          const json = JSON.stringify(body);
          const writtenJson = isEscaped ? json.replace(/[^ -~]/g, escapeUnit) : json;
          const byteCount = [...texts, ...names].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
          const cost = byteCount + texts.length * template.message + names.length * template.tool;
          const call = callOf(operations.chat, body, writtenJson);
          const smallWindow = { facts: { known: null, window: 300 } };
          const model = modelOf({}, null);
          expect(inputBoundOf(call, model, withUnknownModel(gpt4o), pictures, true)).toBeGreaterThanOrEqual(
            cost,
          );
          expect(inputBoundOf(call, model, smallWindow, pictures, true)).toBeLessThanOrEqual(300);
          expect(call.inputEstimate).toBe(Math.ceil(Buffer.byteLength(writtenJson) / 4));
        },
      ),
    );
  });

  test('bound of a rerank request counts the query once per document', () => {
    const [query, documents] = ['7'.repeat(1_000), ['1', '2', '3']];
    const call = callOf(operations.rerank, { model: 'm', query, documents });
    expect(call.textBound).toBeGreaterThanOrEqual(3 * 1_000 + 3);
    expect(call.textBound).toBeLessThan(4_200);
  });

  test('bound of a text is capped at the context window', () => {
    const body = requestOf(operations.chat, [textPart(operations.chat, 'x'.repeat(3_000_000))]);
    expect(boundOf(operations.chat, body, gpt4o)).toBe(WINDOW);
  });

  test("bound of a text follows the vendor's documented window, never one that only the operator set", () => {
    const longRequest = requestOf(operations.messages, [textPart(operations.messages, 'x'.repeat(900_000))]);
    const documentedBound = boundOf(operations.messages, longRequest, sonnet, modelOf({}, 1_000));
    const undocumentedBound = boundOf(
      operations.messages,
      longRequest,
      withUnknownModel(sonnet),
      modelOf({}, 1_000),
    );
    const largerBound = boundOf(operations.messages, longRequest, sonnet, modelOf({}, 500_000));
    expect([documentedBound, undocumentedBound > 900_000, largerBound]).toEqual([WINDOW, true, 500_000]);
  });

  test.each([
    ['context-1m-2025-08-07', 1_000_000],
    ['files-api-2025-04-14, context-1m-2025-08-07', 1_000_000],
    [['files-api-2025-04-14', 'context-1m-2025-08-07'], 1_000_000],
    ['files-api-2025-04-14', WINDOW],
    ['context-1m', WINDOW],
  ])('bound of a request with the betas %s is as wide as the extended window', (betas, window) => {
    const longBody = {
      model: 'm',
      ...requestOf(operations.messages, [textPart(operations.messages, 'x'.repeat(2_000_000))]),
    };
    const bytes = Buffer.from(JSON.stringify(longBody));
    const headers = { 'anthropic-beta': betas };
    const inbound = { ...objectText(bytes, longBody), form: null, headers };
    const call = describeCall(inbound as unknown as Inbound, operations.messages);
    const facts = { known: null, ...DOCUMENTED_WINDOW, widened: { 'context-1m-2025-08-07': 1_000_000 } };
    expect(inputBoundOf(call, modelOf(), { facts }, () => styles.picturesFor(sonnet), true)).toBe(window);
  });

  test('bound of audio follows its duration', () => {
    const part = (data: string): object => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
    const boundOfFile = (file: Buffer): number => {
      const call = callOf(operations.chat, {
        model: 'm',
        ...requestOf(operations.chat, [part(base64(file))]),
      });
      const callWithAudio = withSound(
        call,
        soundTokensOf([audioLengthOf(audioKindOf(file) ?? 'webm', file)]),
      );
      return inputBoundOf(callWithAudio, modelOf(), gpt4o, () => styles.picturesFor(gpt4o), true);
    };
    expect(boundOfFile(wavOf({ seconds: 60 }))).toBeGreaterThan(60 * 32);
    expect(boundOfFile(wavOf({ seconds: 60 }))).toBeLessThan(60 * 60);
    expect(boundOfFile(Buffer.alloc(30_000))).toBeGreaterThan(30 * 32);
  });

  test('bound of tools that the supplier runs counts every round, and the rounds are limited', () => {
    const searchTool = { type: 'web_search_20250305', name: 'web_search' };
    const bodyWith = (tools: object[]) => ({ messages: [{ role: 'user', content: 'x' }], tools });
    const limitedCall = callOf(operations.messages, { model: 'm', ...bodyWith([searchTool]) });
    expect(limitedCall.serverTools).toMatchObject({
      tools: [{ type: 'web_search_20250305', index: 0, maxUses: 5 }],
      uses: 5,
    });
    expect(limitedCall.serverTools.limits?.(bodyWith([searchTool]))).toEqual({
      tools: [{ ...searchTool, max_uses: 5 }],
    });
    const ownLimitCall = callOf(operations.messages, {
      model: 'm',
      ...bodyWith([{ ...searchTool, max_uses: 2 }]),
    });
    expect(ownLimitCall.serverTools).toMatchObject({ uses: 2, limits: null });
    expect(boundOf(operations.messages, bodyWith([{ ...searchTool, max_uses: 2 }]), sonnet)).toBeGreaterThan(
      2 * WINDOW,
    );
    const loweredBound = boundOf(
      operations.messages,
      bodyWith([{ ...searchTool, max_uses: 2 }]),
      sonnet,
      modelOf({ roundTokens: 10_000 }),
    );
    expect([loweredBound > 30_000, loweredBound < 60_000]).toEqual([true, true]);
    // A converted request omits server tools.
    expect(boundOf(operations.messages, bodyWith([searchTool]), gpt4o, modelOf(), false)).toBeLessThan(5_000);
    // The supplier returns the turn after ten rounds, regardless of the tool.
    const code = { type: 'code_execution_20250825', name: 'code_execution' };
    expect(
      callOf(operations.messages, { model: 'm', ...bodyWith([code, searchTool]) }).serverTools.uses,
    ).toBe(10);
    const responsesCall = callOf(operations.responses, {
      model: 'm',
      input: 'x',
      tools: [{ type: 'file_search' }],
    });
    expect(responsesCall.serverTools.uses).toBe(5);
    expect(responsesCall.serverTools.limits?.({})).toEqual({ max_tool_calls: 5 });
    const fewCalls = { model: 'm', input: 'x', tools: [{ type: 'file_search' }], max_tool_calls: 1 };
    expect(callOf(operations.responses, fewCalls).serverTools).toMatchObject({ uses: 1, limits: null });
  });

  test.each([0, -1, 1.5, 1_000_001])('ignores %p as a limit of a tool', (count) => {
    const searchTool = { type: 'web_search_20250305', name: 'web_search', max_uses: count };
    const body = { model: 'm', messages: [{ role: 'user', content: 'x' }], tools: [searchTool] };
    expect(() => callOf(operations.messages, body)).toThrow('tools[0].max_uses');
    const responsesCall = { model: 'm', input: 'x', tools: [{ type: 'mcp' }], max_tool_calls: count };
    expect(() => callOf(operations.responses, responsesCall)).toThrow('max_tool_calls');
  });
});
