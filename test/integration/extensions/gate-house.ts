import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { until } from '../../support/until';
import { ModelShelf } from '../gateway/model-shelf';

export interface GateHouse {
  readonly app: TestApp;
  readonly supplier: ScriptedSupplier;
  readonly shelf: ModelShelf;
  post(path: string, body: object | string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** The bodies that the supplier got since the last look. */
  heard(): string[];
  recordOf(answer: Response): Promise<Record<string, unknown> | undefined>;
  /** The entries of the service's log with this message. */
  said(message: string): Record<string, unknown>[];
  close(): Promise<void>;
}

/** The service with these extensions before a supplier that answers what a test says. */
export async function openGateHouse(
  environment: Readonly<Record<string, string>> = { EXTENSIONS: './test/fixtures/extensions/gates.cjs' },
): Promise<GateHouse> {
  const supplier = await ScriptedSupplier.start();
  const app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', ...environment } });
  const shelf = new ModelShelf(app);
  for (const style of ['openai', 'messages'] as const)
    await shelf.provider({
      name: style,
      style: `${style}-style`,
      baseUrl: supplier.url,
      credentials: [{ label: 'key', kind: style === 'openai' ? 'bearer' : 'header', secret: 'scripted' }],
    });
  return {
    app,
    supplier,
    shelf,
    post: (path, body, headers = {}) =>
      fetch(`${app.url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.firstKeys?.demo}`,
          'content-type': 'application/json',
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    heard: () => supplier.heard.splice(0).map(({ body }) => body),
    recordOf: async (answer) => {
      const [row] = await app.database.query<Record<string, unknown>>(
        'SELECT * FROM request_record WHERE request_id = $1',
        [answer.headers.get('x-request-id')],
      );
      return row;
    },
    said: (message) =>
      app.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === message),
    close: async () => {
      await app.close();
      await supplier.stop();
    },
  };
}

/** Waits until the service's log has so many entries with this message. */
export const untilSaid = (house: GateHouse, message: string, count = 1): Promise<number> =>
  until(() => house.said(message).length >= count, undefined, message);

export const answers = {
  chat: {
    id: 'a',
    object: 'chat.completion',
    created: 1,
    model: 'sim-large',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Good.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
  },
  messages: {
    id: 'a',
    type: 'message',
    role: 'assistant',
    model: 'sim-large',
    content: [{ type: 'text', text: 'Good.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 2 },
  },
  embeddings: {
    object: 'list',
    model: 'sim-large',
    data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }],
    usage: { prompt_tokens: 9, total_tokens: 9 },
  },
} as const;
