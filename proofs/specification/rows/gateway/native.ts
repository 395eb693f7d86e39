import { expect } from '../../../operations/http';
import { openPoint, row, type Row } from '../../row';
import type { SpecificationWorld } from '../../world';
import { ask, at, heardOf, mark, native, nativeOf, refused, same, streamed } from './asking';

const S = '4.4';
const asked = (world: SpecificationWorld, more: object = {}) => ask(world, native, nativeOf('Hello', more));

export const nativeRows: readonly Row[] = [
  row(S, 'it is served at `/v1/native/responses` and answers a stream', async (world) => {
    const { client } = await world.caller();
    const { status, headers, events } = await streamed(world, client, native, nativeOf());
    same([status, headers['content-type']?.split(';')[0]], [200, 'text/event-stream'], 'head');
    same([events[0]?.type, events.at(-1)?.type], ['response.created', 'response.completed'], 'events');
  }),
  row(
    S,
    'requests go only to native tokens, also when those fail and another supplier is well',
    async (world) => {
      const heard = await heardOf(world, native, (text) => nativeOf(text));
      same([heard.at, heard.headers['authorization']], ['native', 'Bearer sim-proof'], 'the supplier');
      const { name, upstream } = await world.newModel({
        lanes: [{ at: 'first' }, { at: 'native' }],
        fields: { capabilities: ['tools', 'native'], max_output_tokens: 4_000 },
      });
      const suppliers = await world.suppliers();
      await streamed(world, (await world.caller()).client, native, nativeOf('Hello', { model: name }));
      same((await suppliers.heard('native', upstream[1] ?? '')).length, 1, 'requests with native tokens');
      await suppliers.fault('native', upstream[1] ?? '', { kind: 'status', status: 500 });
      const answer = await ask(world, native, nativeOf('Hello', { model: name }));
      expect(answer.status >= 500, `status ${answer.status}`);
      same((await suppliers.heard('first', upstream[0] ?? '')).length, 0, 'requests without native tokens');
    },
  ),
  row(S, 'a model that no supplier with native tokens serves is refused', async (world) => {
    await refused(asked(world, { model: 'spec-chat' }), 404, 'model_not_available', 'model');
  }),
  row(S, 'the body is forwarded without the transformation of chat', async (world) => {
    const { client } = await world.caller();
    const known = {
      instructions: 'Be short.',
      include: ['reasoning.encrypted_content'],
      parallel_tool_calls: true,
    };
    // The supplier refuses the second one, as it knows no such field.
    for (const [more, status] of [
      [known, 200],
      [{ ...known, a_field_of_tomorrow: { deep: [1, null, 'text'] } }, 400],
    ] as const) {
      const text = mark();
      const json = nativeOf(text, more);
      const sent = await streamed(world, client, native, json);
      same(sent.status, status, `status of ${sent.text.slice(0, 300)}`);
      const [heard] = await (await world.suppliers()).heardWith(text);
      same(heard?.body, { ...json, model: 'sim-spec-native' }, 'the body');
      expect(heard?.path.endsWith('/responses') ?? false, `sent to ${heard?.path}`);
    }
  }),
  row(S, '`model` is required, and a string', async (world) => {
    await refused(asked(world, { model: undefined }), 400, 'missing_model', 'model');
    await refused(asked(world, { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row(S, '`instructions` may be left out, and reach the supplier', async (world) => {
    const heard = await heardOf(world, native, (text) => nativeOf(text, { instructions: 'Be short.' }));
    same(at(heard.body, 'instructions'), 'Be short.', 'instructions');
    const without = await heardOf(world, native, (text) => nativeOf(text));
    same(at(without.body, 'instructions'), undefined, 'instructions');
  }),
  row(S, '`instructions` are a string', async (world) => {
    await refused(asked(world, { instructions: 7 }), 400, 'invalid_request', 'instructions');
  }),
  row(
    S,
    '`input` has to be a list',
    async (world) => {
      for (const wrong of ['Hello', {}, 7, undefined])
        await refused(asked(world, { input: wrong }), 400, 'invalid_input', 'input');
    },
    {
      decided: openPoint(
        'misuse of the native route is 400 invalid_request (stream) or invalid_input (input)',
      ),
    },
  ),
  row(
    S,
    '`stream` has to be true',
    async (world) => {
      for (const wrong of [false, undefined, 'true'])
        await refused(asked(world, { stream: wrong }), 400, 'invalid_request', 'stream');
    },
    {
      decided: openPoint(
        'misuse of the native route is 400 invalid_request (stream) or invalid_input (input)',
      ),
    },
  ),
  row(S, '`store` is passed through as given', async (world) => {
    for (const store of [true, false]) {
      const heard = await heardOf(world, native, (text) => nativeOf(text, { store }));
      same(at(heard.body, 'store'), store, 'store');
    }
    const without = await heardOf(world, native, (text) => nativeOf(text));
    same(at(without.body, 'store'), undefined, 'store');
  }),
  row(
    '5.1',
    'the native route uses native tokens towards the supplier, and the Bearer token of the caller stays here',
    async (world) => {
      const heard = await heardOf(world, native, (text) => nativeOf(text));
      const { text } = await world.caller();
      same(heard.headers['authorization'], 'Bearer sim-proof', 'authorization');
      expect(!JSON.stringify(heard).includes(text), 'the key of the caller was sent on');
    },
  ),
];
