import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { startTestApp, type TestApp } from '../../../support/app';
import { builtExtension, type ExtensionFolder } from '../../../support/extension-folder';
import { ModelShelf } from '../model-shelf';
import { chunk, type Json, messageEnd, messageStart, named, stop } from '../streams/stream-house';
import { block, charactersOf, chatStream, responsesStream } from './mask-house';

const SECRETS = [
  'jane.doe@example.com',
  'DE89 3704 0044 0532 0130 00',
  '4111 1111 1111 1111',
  '+49 151 2345678',
];
const TEXT = `Ümit 😀 wrote: ${SECRETS.join('; ')}.`;
const LEAK = /jane|example|3704|1111|2345678/;

const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const;
type Surface = keyof typeof paths;
const surfaces = Object.keys(paths) as Surface[];

const streams: Record<Surface, string> = {
  chat: chatStream(...charactersOf(TEXT).map((content) => chunk({ content })), stop),
  messages: named(
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

describe('the example that blanks out personal data', () => {
  let app: TestApp;
  let example: ExtensionFolder;
  let supplier: Server;
  const heard: string[] = [];

  beforeAll(async () => {
    supplier = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      request.on('end', () => {
        heard.push(body);
        const surface = surfaces.find((each) => request.url?.endsWith(paths[each].slice(3)))!;
        response.setHeader('content-type', 'text/event-stream');
        void byteByByte(streams[surface], (byte) => response.write(byte)).then(() => response.end());
      });
    });
    await new Promise<void>((resolve) => supplier.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(supplier.address() as AddressInfo).port}`;
    example = builtExtension('examples/extensions/personal-data');
    app = await startTestApp({
      environment: {
        SUPPLIER_ALLOW: '127.0.0.1',
        EXTENSIONS: example.path,
        EXT_PERSONAL_DATA_SECRET: 'a secret of some length',
      },
    });
    const shelf = new ModelShelf(app);
    const credential = { label: 'key', secret: 'their-key' } as const;
    const bearer = [{ ...credential, kind: 'bearer' }] as const;
    await shelf.provider({ name: 'chat', baseUrl, style: 'openai-style', credentials: bearer });
    await shelf.provider({
      name: 'messages',
      baseUrl,
      style: 'messages-style',
      credentials: [{ ...credential, kind: 'header' }],
    });
    await shelf.provider({
      name: 'responses',
      baseUrl,
      style: 'openai-style',
      settings: { profile: 'openai' },
      credentials: bearer,
    });
    for (const surface of surfaces) await shelf.model(surface, [{ provider: surface }]);
  });
  afterAll(async () => {
    await app.close();
    example.remove();
    supplier.closeAllConnections();
    await new Promise((resolve) => supplier.close(resolve));
  });

  const ask = async (surface: Surface): Promise<string> => {
    const said = [{ role: 'user', content: TEXT }];
    const fields: Json = surface === 'responses' ? { input: said } : { messages: said, max_tokens: 100 };
    const answer = await fetch(app.url + paths[surface], {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: surface, stream: true, ...fields }),
    });
    return answer.text();
  };

  test.each(surfaces)(
    '%s: neither the supplier nor the caller sees any, and both see the same placeholders',
    async (surface) => {
      const raw = await ask(surface);
      const sent = heard.at(-1)!;
      expect(raw).toMatch(/\[DONE\]|message_stop|response\.completed/);
      expect(raw).not.toMatch(LEAK);
      expect(sent).not.toMatch(LEAK);
      const marks = sent.match(/\[(?:email|iban|card|phone) [0-9a-f]{6}\]/g);
      expect(marks).toHaveLength(SECRETS.length);
      const texts = [...raw.matchAll(/"(?:content|text|delta)":("(?:[^"\\]|\\.)*")/g)].map(
        ([, text]) => JSON.parse(text!) as string,
      );
      expect(texts.join('')).toContain(`Ümit 😀 wrote: ${marks!.join('; ')}.`);
    },
  );
});

async function byteByByte(text: string, write: (byte: Buffer) => void): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1) {
    write(bytes.subarray(at, at + 1));
    if (at % 64 === 0) await setImmediate();
  }
}
