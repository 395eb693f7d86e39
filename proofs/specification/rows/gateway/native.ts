import { expect } from '../../../operations/http';
import { openPoint, row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  sendRequest,
  at,
  sendAndCapture,
  uniqueWord,
  native,
  nativeOf,
  expectRejected,
  same,
  stream,
} from './gateway-calls';

const SECTION = '4.4';
const sendNative = (world: SpecificationWorld, more: object = {}) =>
  sendRequest(world, native, nativeOf('Hello', more));

export const nativeRows: readonly SpecificationRow[] = [
  row(SECTION, 'it is served at `/v1/native/responses` and answers a stream', async (world) => {
    const { client } = await world.caller();
    const { status, headers, events } = await stream(world, client, native, nativeOf());
    same([status, headers['content-type']?.split(';')[0]], [200, 'text/event-stream'], 'head');
    same([events[0]?.type, events.at(-1)?.type], ['response.created', 'response.completed'], 'events');
  }),
  row(
    SECTION,
    'requests go only to native tokens, also when those fail and another supplier is well',
    async (world) => {
      const upstreamRequest = await sendAndCapture(world, native, (text) => nativeOf(text));
      same(
        [upstreamRequest.at, upstreamRequest.headers['authorization']],
        ['native', 'Bearer sim-proof'],
        'the supplier',
      );
      const { name, upstream } = await world.newModel({
        lanes: [{ at: 'first' }, { at: 'native' }],
        fields: { capabilities: ['tools', 'native'], max_output_tokens: 4_000 },
      });
      const suppliers = await world.suppliers();
      await stream(world, (await world.caller()).client, native, nativeOf('Hello', { model: name }));
      same(
        (await suppliers.requestsFor('native', upstream[1] ?? '')).length,
        1,
        'requests with native tokens',
      );
      await suppliers.fault('native', upstream[1] ?? '', { kind: 'status', status: 500 });
      const answer = await sendRequest(world, native, nativeOf('Hello', { model: name }));
      expect(answer.status >= 500, `status ${answer.status}`);
      same(
        (await suppliers.requestsFor('first', upstream[0] ?? '')).length,
        0,
        'requests without native tokens',
      );
    },
  ),
  row(SECTION, 'a model that no supplier with native tokens serves is refused', async (world) => {
    await expectRejected(sendNative(world, { model: 'spec-chat' }), 404, 'model_not_available', 'model');
  }),
  row(SECTION, 'the body is forwarded without the transformation of chat', async (world) => {
    const { client } = await world.caller();
    const knownFields = {
      instructions: 'Be short.',
      include: ['reasoning.encrypted_content'],
      parallel_tool_calls: true,
    };
    // The supplier rejects the second request because of an unknown field.
    for (const [more, status] of [
      [knownFields, 200],
      [{ ...knownFields, a_field_of_tomorrow: { deep: [1, null, 'text'] } }, 400],
    ] as const) {
      const text = uniqueWord();
      const json = nativeOf(text, more);
      const streamedResponse = await stream(world, client, native, json);
      same(streamedResponse.status, status, `status of ${streamedResponse.text.slice(0, 300)}`);
      const [heard] = await (await world.suppliers()).requestsWith(text);
      same(heard?.body, { ...json, model: 'sim-spec-native' }, 'the body');
      expect(heard?.path.endsWith('/responses') ?? false, `sent to ${heard?.path}`);
    }
  }),
  row(SECTION, '`model` is required, and a string', async (world) => {
    await expectRejected(sendNative(world, { model: undefined }), 400, 'missing_model', 'model');
    await expectRejected(sendNative(world, { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row(SECTION, '`instructions` may be left out, and reach the supplier', async (world) => {
    const upstreamRequest = await sendAndCapture(world, native, (text) =>
      nativeOf(text, { instructions: 'Be short.' }),
    );
    same(at(upstreamRequest.body, 'instructions'), 'Be short.', 'instructions');
    const without = await sendAndCapture(world, native, (text) => nativeOf(text));
    same(at(without.body, 'instructions'), undefined, 'instructions');
  }),
  row(SECTION, '`instructions` are a string', async (world) => {
    await expectRejected(sendNative(world, { instructions: 7 }), 400, 'invalid_request', 'instructions');
  }),
  row(
    SECTION,
    '`input` has to be a list',
    async (world) => {
      for (const invalidValue of ['Hello', {}, 7, undefined])
        await expectRejected(sendNative(world, { input: invalidValue }), 400, 'invalid_input', 'input');
    },
    {
      decided: openPoint(
        'misuse of the native route is 400 invalid_request (stream) or invalid_input (input)',
      ),
    },
  ),
  row(
    SECTION,
    '`stream` has to be true',
    async (world) => {
      for (const invalidValue of [false, undefined, 'true'])
        await expectRejected(sendNative(world, { stream: invalidValue }), 400, 'invalid_request', 'stream');
    },
    {
      decided: openPoint(
        'misuse of the native route is 400 invalid_request (stream) or invalid_input (input)',
      ),
    },
  ),
  row(SECTION, '`store` is passed through as given', async (world) => {
    for (const store of [true, false]) {
      const upstreamRequest = await sendAndCapture(world, native, (text) => nativeOf(text, { store }));
      same(at(upstreamRequest.body, 'store'), store, 'store');
    }
    const without = await sendAndCapture(world, native, (text) => nativeOf(text));
    same(at(without.body, 'store'), undefined, 'store');
  }),
  row(
    '5.1',
    'the native route uses native tokens towards the supplier, and the Bearer token of the caller stays here',
    async (world) => {
      const upstreamRequest = await sendAndCapture(world, native, (text) => nativeOf(text));
      const { text } = await world.caller();
      same(upstreamRequest.headers['authorization'], 'Bearer sim-proof', 'authorization');
      expect(!JSON.stringify(upstreamRequest).includes(text), 'the key of the caller was sent on');
    },
  ),
];
