import { AddressGuard, WireTransport } from '../../../src/platform';
import { bedrock } from '../../../src/routing/suppliers/bedrock/bedrock';
import { cohereRerank } from '../../../src/routing/suppliers/cohere-rerank/cohere-rerank';
import { geminiStyle } from '../../../src/routing/suppliers/gemini/gemini-style';
import {
  describeSupplierContract,
  type StyleCall,
  type PreparedStyleCall,
} from '../../../src/routing/suppliers/kit';
import { messagesStyle } from '../../../src/routing/suppliers/messages-style/messages-style';
import { nativeOauth } from '../../../src/routing/suppliers/native-oauth/native-oauth';
import { openaiStyle } from '../../../src/routing/suppliers/openai-style/openai-style';
import { sandbox } from '../../../src/routing/suppliers/sandbox/sandbox';
import { SupplierExchange } from '../../../src/routing/suppliers/supplier-exchange';
import { startSimulator, type Simulator } from '../../support/simulator';
import * as fixtures from './contract-fixtures';
import { chunkFrame, frame } from '../../support/frames';

let simulator: Simulator;
let pools: WireTransport;
beforeAll(async () => {
  simulator = await startSimulator({ modelPrefix: '' });
  const guard = new AddressGuard([{ address: '127.0.0.1', prefix: 32, family: 'ipv4' }]);
  const settings = {
    supplierConnections: 4,
    supplierRestMs: 0,
    supplierConnectTimeoutMs: 1_000,
    supplierFirstByteTimeoutMs: 5_000,
    supplierIdleTimeoutMs: 5_000,
    supplierTotalTimeoutMs: 10_000,
  };
  pools = new WireTransport(settings, guard);
});
afterAll(async () => {
  pools.close();
  await simulator.stop();
});

const formOperations: ReadonlySet<string> = new Set(['transcription', 'translation']);

/** Sends the request to the simulator, which is as strict as the suppliers that it simulates. */
async function exchange(call: StyleCall, prepared: PreparedStyleCall): Promise<void> {
  // Transcriptions are sent as forms, which have a separate test.
  if (formOperations.has(call.operation)) return;
  const url = new URL(prepared.url.pathname, simulator.url);
  const pendingExchange = new SupplierExchange().start((handler) =>
    pools.dispatch({ ...prepared, url }, handler),
  );
  const { status, headers } = await pendingExchange.head;
  const body = (await pendingExchange.readBody()).toString('latin1');
  expect([status, status === 200 ? '' : body]).toEqual([200, '']);
  expect(String(headers['content-type']).startsWith('text/event-stream')).toBe(call.stream);
  if (call.stream && call.operation === 'chat') expect(body).toContain('"prompt_tokens"');
}

const runner = { describe, test };
const messageStart = { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 3 } } };
const framedSettings = {
  bytes: Buffer.concat([
    chunkFrame(messageStart),
    frame({ ':event-type': 'initial-response', ':message-type': 'event' }, '{}'),
    chunkFrame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße' } }),
    frame(
      { ':exception-type': 'throttlingException', ':message-type': 'exception' },
      '{"message":"slow down"}',
    ),
  ]),
  events: [
    `event: message_start\ndata: ${JSON.stringify(messageStart)}\n\n`,
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße"}}\n\n',
    'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}\n\n',
  ].join(''),
};

describeSupplierContract(openaiStyle, { ...fixtures.openai, exchange }, runner);
describeSupplierContract(openaiStyle, { ...fixtures.generic, exchange }, runner);
describeSupplierContract(openaiStyle, fixtures.azure, runner);
describeSupplierContract(messagesStyle, { ...fixtures.messagesStyle, exchange }, runner);
describeSupplierContract(sandbox, { ...fixtures.sandbox, exchange }, runner);
describeSupplierContract(cohereRerank, { ...fixtures.cohere, exchange }, runner);
describeSupplierContract(geminiStyle, fixtures.gemini, runner);
describeSupplierContract(bedrock, { ...fixtures.bedrock, framed: framedSettings }, runner);
describeSupplierContract(nativeOauth, fixtures.nativeOauth, runner);
