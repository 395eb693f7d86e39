import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { startTestApp, type TestApp } from '../../../support/app';
import { buildExtension, type ExtensionFolder } from '../../../support/extension-folder';
import { TestCatalogue } from '../test-catalogue';
import { chunk, type Json, messageEnd, messageStart, namedEvents, stop } from '../streams/stream-fixture';
import { block, charactersOf, chatStream, responsesStream } from './mask-fixture';

const SECRETS = [
  'jane.doe@example.com',
  'DE89 3704 0044 0532 0130 00',
  '4111 1111 1111 1111',
  '+49 151 2345678',
];
const TEXT = `Ümit 😀 wrote: ${SECRETS.join('; ')}.`;
const LEAK = /jane|example|3704|1111|2345678/;

const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const;
type PersonalDataSurface = keyof typeof paths;
const surfaces = Object.keys(paths) as PersonalDataSurface[];

const streams: Record<PersonalDataSurface, string> = {
  chat: chatStream(...charactersOf(TEXT).map((content) => chunk({ content })), stop),
  messages: namedEvents(
    messageStart,
    ...block(
      0,
      { type: 'text', text: '' },
      ...charactersOf(TEXT).map((text) => ({ type: 'text_delta', text })),
    ),
    ...messageEnd,
  ),
  responses: responsesStream(TEXT, JSON.stringify({ to: TEXT, card: 4111111111111111 })),
};

describe('Example extension for personal data', () => {
  let app: TestApp;
  let example: ExtensionFolder;
  let supplier: Server;
  const requestBodies: string[] = [];

  beforeAll(async () => {
    supplier = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      request.on('end', () => {
        requestBodies.push(body);
        const surface = surfaces.find((each) => request.url?.endsWith(paths[each].slice(3)))!;
        response.setHeader('content-type', 'text/event-stream');
        void writeByteByByte(streams[surface], (byte) => response.write(byte)).then(() => response.end());
      });
    });
    await new Promise<void>((resolve) => supplier.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(supplier.address() as AddressInfo).port}`;
    example = buildExtension('examples/extensions/personal-data');
    app = await startTestApp({
      environment: {
        SUPPLIER_ALLOW: '127.0.0.1',
        EXTENSIONS: example.path,
        EXT_PERSONAL_DATA_SECRET: 'a secret of some length',
      },
    });
    const catalogue = new TestCatalogue(app);
    const credential = { label: 'key', secret: 'their-key' } as const;
    const bearer = [{ ...credential, kind: 'bearer' }] as const;
    await catalogue.provider({ name: 'chat', baseUrl, style: 'openai-style', credentials: bearer });
    await catalogue.provider({
      name: 'messages',
      baseUrl,
      style: 'messages-style',
      credentials: [{ ...credential, kind: 'header' }],
    });
    await catalogue.provider({
      name: 'responses',
      baseUrl,
      style: 'openai-style',
      settings: { profile: 'openai' },
      credentials: bearer,
    });
    for (const surface of surfaces) await catalogue.model(surface, [{ provider: surface }]);
  });
  afterAll(async () => {
    await app.close();
    example.remove();
    supplier.closeAllConnections();
    await new Promise((resolve) => supplier.close(resolve));
  });

  const sendRequest = async (surface: PersonalDataSurface): Promise<string> => {
    const messages = [{ role: 'user', content: TEXT }];
    const fields: Json =
      surface === 'responses' ? { input: messages } : { messages: messages, max_tokens: 100 };
    const answer = await fetch(app.url + paths[surface], {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: surface, stream: true, ...fields }),
    });
    return answer.text();
  };

  test.each(surfaces)(
    '%s: neither supplier nor caller sees personal data, and both see the same placeholders',
    async (surface) => {
      const raw = await sendRequest(surface);
      const supplierBody = requestBodies.at(-1)!;
      expect(raw).toMatch(/\[DONE\]|message_stop|response\.completed/);
      expect(raw).not.toMatch(LEAK);
      expect(supplierBody).not.toMatch(LEAK);
      const placeholders = supplierBody.match(/\[(?:email|iban|card|phone) [0-9a-f]{6}\]/g);
      expect(placeholders).toHaveLength(SECRETS.length);
      const texts = [...raw.matchAll(/"(?:content|text|delta)":("(?:[^"\\]|\\.)*")/g)].map(
        ([, text]) => JSON.parse(text!) as string,
      );
      expect(texts.join('')).toContain(`Ümit 😀 wrote: ${placeholders!.join('; ')}.`);
    },
  );
});

async function writeByteByByte(text: string, write: (byte: Buffer) => void): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1) {
    write(bytes.subarray(at, at + 1));
    if (at % 64 === 0) await setImmediate();
  }
}
