import { startTestApp, type TestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { until } from '../../support/until';
import { TestCatalogue } from '../gateway/test-catalogue';

export interface GateFixture {
  readonly app: TestApp;
  readonly supplier: ScriptedSupplier;
  readonly catalogue: TestCatalogue;
  post(path: string, body: object | string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Returns and clears the request bodies that the supplier received. */
  takeSupplierBodies(): string[];
  recordOf(answer: Response): Promise<Record<string, unknown> | undefined>;
  /** Returns the log entries of the service with this message. */
  logEntries(message: string): Record<string, unknown>[];
  close(): Promise<void>;
}

/** Starts the service with these extensions in front of a scripted supplier. */
export async function openGateFixture(
  environment: Readonly<Record<string, string>> = { EXTENSIONS: './test/fixtures/extensions/gates.cjs' },
): Promise<GateFixture> {
  const supplier = await ScriptedSupplier.start();
  const app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.1', ...environment } });
  const catalogue = new TestCatalogue(app);
  for (const style of ['openai', 'messages'] as const)
    await catalogue.provider({
      name: style,
      style: `${style}-style`,
      baseUrl: supplier.url,
      credentials: [{ label: 'key', kind: style === 'openai' ? 'bearer' : 'header', secret: 'scripted' }],
    });
  return {
    app,
    supplier,
    catalogue,
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
    takeSupplierBodies: () => supplier.requests.splice(0).map(({ body }) => body),
    recordOf: async (answer) => {
      const [row] = await app.database.query<Record<string, unknown>>(
        'SELECT * FROM request_record WHERE request_id = $1',
        [answer.headers.get('x-request-id')],
      );
      return row;
    },
    logEntries: (message) =>
      app.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === message),
    close: async () => {
      await app.close();
      await supplier.stop();
    },
  };
}

/** Waits until the service has logged this message at least `count` times. */
export const waitForLogEntries = (fixture: GateFixture, message: string, count = 1): Promise<number> =>
  until(() => fixture.logEntries(message).length >= count, undefined, message);

export const supplierReplies = {
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
