import { expect } from '../../../operations/http';
import { openPoint, row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  at,
  expectRejected,
  ok,
  sendAndCapture,
  sendRequest,
  same,
  speech,
  speechOf,
  uniqueWord,
} from './gateway-calls';

export const sendSpeech = (world: SpecificationWorld, input = 'Hello', more: object = {}) =>
  sendRequest(world, speech, speechOf(input, more));

export const speechRows: readonly SpecificationRow[] = [
  row('4.8', '`model` is required, and a string', async (world) => {
    await expectRejected(sendSpeech(world, 'Hello', { model: undefined }), 400, 'missing_model', 'model');
    await expectRejected(sendSpeech(world, 'Hello', { model: 7 }), 400, 'invalid_request', 'model');
  }),
  row('4.8', '`input` is required, and a string', async (world) => {
    await expectRejected(
      sendRequest(world, speech, { model: 'spec-speech' }),
      400,
      'invalid_request',
      'input',
    );
    await expectRejected(
      sendRequest(world, speech, { model: 'spec-speech', input: 7 }),
      400,
      'invalid_request',
      'input',
    );
  }),
  row('4.8', '`voice` reaches the supplier', async (world) => {
    const upstreamRequest = await sendAndCapture(world, speech, (text) => speechOf(text, { voice: 'nova' }));
    same(at(upstreamRequest.body, 'voice'), 'nova', 'voice');
  }),
  row('4.8', '`voice` left out is left to the model', async (world) => {
    const { name, upstream } = await world.newModel({ kind: 'speech' });
    // A speech model with its own voice.
    const voiced = {
      kind: 'status',
      status: 200,
      headers: { 'content-type': 'audio/mpeg' },
      body: 'ID3 sound',
    };
    await (await world.suppliers()).fault('first', upstream[0] ?? '', voiced);
    const upstreamRequest = await sendAndCapture(world, speech, (text) => speechOf(text, { model: name }));
    same(at(upstreamRequest.body, 'voice'), undefined, 'voice');
  }),
  ...(['mp3', 'wav'] as const).map((format) =>
    row('4.8', `\`response_format\` may be \`${format}\`, and the content type says so`, async (world) => {
      const answer = await ok(sendSpeech(world, 'Hello', { response_format: format, voice: 'nova' }));
      same(answer.headers.get('content-type'), format === 'mp3' ? 'audio/mpeg' : 'audio/wav', 'content type');
      const begins = format === 'mp3' ? /^(ID3|\xff[\xe0-\xff])/ : /^RIFF....WAVE/s;
      expect(
        begins.test(answer.bytes.toString('latin1', 0, 16)),
        `begins with ${answer.bytes.toString('hex', 0, 8)}`,
      );
    }),
  ),
  row('4.8', '`response_format` left out means `mp3`, for the supplier too', async (world) => {
    const text = uniqueWord();
    const answer = await ok(sendSpeech(world, text, { voice: 'nova' }));
    same(answer.headers.get('content-type'), 'audio/mpeg', 'content type');
    const [heard] = await (await world.suppliers()).requestsWith(text);
    same(at(heard?.body, 'response_format'), 'mp3', 'response_format');
  }),
  row('4.8', 'another `response_format` than the supplier knows is refused', async (world) => {
    await expectRejected(
      sendSpeech(world, 'Hello', { response_format: 'text' }),
      400,
      'invalid_request',
      'response_format',
    );
  }),
  row(
    '4.8',
    '`speed` left out means 1.0',
    async (world) => {
      const upstreamRequest = await sendAndCapture(world, speech, (text) =>
        speechOf(text, { voice: 'nova' }),
      );
      expect([undefined, 1].includes(at(upstreamRequest.body, 'speed') as number), 'another speed was sent');
    },
    {
      decided: openPoint(
        'defaults of 1.0 are left to the supplier: a parameter that the request leaves out is not sent',
      ),
    },
  ),
  row('4.8', '`speed` is a number', async (world) => {
    await expectRejected(sendSpeech(world, 'Hello', { speed: 'fast' }), 400, 'invalid_request', 'speed');
  }),
  row('4.8', 'the body is the audio of the supplier, byte for byte', async (world) => {
    const suppliers = await world.suppliers();
    for (const response_format of ['mp3', 'wav']) {
      const input = uniqueWord();
      const answer = await ok(sendSpeech(world, input, { voice: 'nova', response_format }));
      const body = { model: 'sim-spec-speech', input, voice: 'nova', response_format };
      const own = await suppliers.directly('first', speech, body);
      expect(own.length > 100 && answer.bytes.equals(own), `${answer.bytes.length} bytes of ${own.length}`);
    }
  }),
];
